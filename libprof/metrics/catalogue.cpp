#include "libprof/metrics/catalogue.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/nearest.hpp"
#include "libprof/base/text.hpp"
#include "libprof/metrics/formula.hpp"
#include "schema/nvprof_metrics.hpp"

namespace gpuprof::metrics {
namespace {

using Origin = Metric::Origin;
using schema::NvprofFormula;

Error wrong_name(const std::string& message, const std::string& hint) {
  return Error(message, hint, ExitCode::bad_option);
}

std::span<const NvprofFormula> table_of(Origin origin) {
  if (origin == Origin::nvprof_event) return schema::nvprof_event_formulas;
  return schema::nvprof_metric_formulas;
}

const NvprofFormula* find_formula(std::string_view name, Origin origin) {
  return origin == Origin::nvprof_event ? schema::find_event_formula(name)
                                        : schema::find_metric_formula(name);
}

// Suffixes a name may lack, the most common first.
std::string roll_ups(cupti::MetricType type) {
  switch (type) {
    case cupti::MetricType::counter: return ".sum, .avg, .min or .max";
    case cupti::MetricType::ratio: return ".ratio, .pct or .max_rate";
    case cupti::MetricType::throughput:
      return ".avg.pct_of_peak_sustained_elapsed or .avg.pct_of_peak_sustained_active";
  }
  return {};
}

}  // namespace

double Metric::value(std::span<const double> values) const { return computation->value(values); }

std::string unit_of(std::string_view name, std::string_view dimension) {
  const std::size_t dot = name.rfind('.');
  const std::string_view last = dot == name.npos ? std::string_view() : name.substr(dot + 1);
  if (last == "pct" || last.starts_with("pct_of_")) return "%";
  const std::string unit(dimension);
  if (last == "per_second") return unit + "/s";
  if (last.starts_with("per_cycle_")) return unit + "/cycle";
  return unit;
}

const std::vector<BaseMetric>& Catalogue::base_metrics() const {
  using enum cupti::MetricType;
  if (bases_.empty()) {
    for (const cupti::MetricType type : {counter, ratio, throughput}) {
      for (std::string& name : chip_.base_metrics(type)) bases_.push_back({std::move(name), type});
    }
    std::ranges::sort(bases_, {}, &BaseMetric::name);
  }
  return bases_;
}

const BaseMetric* Catalogue::find_base(std::string_view name) const {
  const auto& bases = base_metrics();
  for (;;) {
    const auto place = std::ranges::lower_bound(bases, name, {}, &BaseMetric::name);
    if (place != bases.end() && place->name == name) return &*place;
    const std::size_t dot = name.rfind('.');
    if (dot == name.npos) return nullptr;
    name = name.substr(0, dot);
  }
}

std::optional<std::size_t> Catalogue::formula_for(const NvprofFormula& metric) const {
  for (std::size_t i = 0; i < metric.formulas.size() && !metric.formulas[i].empty(); ++i) {
    if (chip_.can_collect(Formula(metric.formulas[i]).counters())) return i;
  }
  return {};
}

std::optional<Metric> Catalogue::nvprof_metric(const NvprofFormula& metric, Origin origin) const {
  const auto choice = formula_for(metric);
  if (!choice) return {};
  const bool is_event = origin == Origin::nvprof_event;
  Metric result{.name = std::string(metric.name),
                .unit = std::string(schema::unit_of(metric)),
                .description = std::string(metric.description),
                .formula = std::string(metric.formulas[*choice]),
                .counters = {},
                .origin = origin,
                .computation = std::make_shared<Formula>(metric.formulas[*choice]),
                .note = std::string(metric.note),
                .kind = is_event ? schema::MetricKind::count : schema::kind_of(metric),
                .nvprof_id = is_event ? schema::nvprof_event_id(metric.name)
                                      : schema::nvprof_metric_id(metric.name)};
  result.counters = result.computation->counters();
  return result;
}

Metric Catalogue::cupti_metric(const std::string& name) const {
  const BaseMetric* base = find_base(name);
  if (!base) unknown(name, Origin::nvprof_metric);
  if (name == base->name) {
    throw wrong_name("metric " + name + " lacks a roll-up",
                     "add " + roll_ups(base->type) + " to the name");
  }
  const std::vector<std::string> subs = chip_.sub_metrics(base->name, base->type);
  const std::string sub = name.substr(base->name.size());
  if (std::ranges::find(subs, sub) == subs.end()) {
    const auto meant = nearest(sub, subs);
    throw wrong_name("metric " + base->name + " has no " + sub,
                     meant.empty() ? "it has " + roll_ups(base->type) +
                                         " and more; see gpuprof "
                                         "--query-metrics --chip " +
                                         chip_.name() + " --filter " + base->name
                                   : "did you mean " + alternatives(meant) + "?");
  }
  if (!chip_.can_collect(std::array{name})) {
    throw wrong_name("CUPTI cannot collect " + name + " on " + chip_.name(),
                     "it names the metric without a way to count it");
  }
  const auto properties = chip_.properties(base->name).value_or(cupti::MetricProperties());
  Metric result{.name = name,
                .unit = unit_of(name, properties.dimension),
                .description = properties.description,
                .formula = name,
                .counters = {name},
                .origin = Origin::cupti,
                .computation = std::make_shared<Formula>(name),
                .note = {},
                .kind = schema::MetricKind::real,
                .nvprof_id = {}};
  return result;
}

void Catalogue::unknown(const std::string& name, Origin wanted) const {
  const bool event = wanted == Origin::nvprof_event;
  const std::string what = event ? "event" : "metric";
  const std::string option = event ? "--query-events" : "--query-metrics";
  const Origin other = event ? Origin::nvprof_metric : Origin::nvprof_event;
  if (find_formula(name, other)) {
    throw wrong_name(name + (event ? " is a metric, not an event" : " is an event, not a metric"),
                     event ? "use --metrics" : "use --events");
  }
  std::vector<std::string> names;
  std::vector<std::string> meant;
  const std::size_t underlines = name.find("__");
  if (event || underlines == name.npos) {
    for (const NvprofFormula& formula : table_of(wanted)) names.emplace_back(formula.name);
    meant = nearest(name, names);
  } else {
    // A roll-up in the wrong name is kept in the suggestions.
    const std::size_t dot = std::min(name.find('.', underlines), name.size());
    for (const BaseMetric& metric : base_metrics()) names.push_back(metric.name);
    meant = nearest(std::string_view(name).substr(0, dot), names);
    for (std::string& each : meant) each += name.substr(dot);
  }
  const std::string all = "gpuprof " + option + " --chip " + chip_.name() + " lists all";
  throw wrong_name(chip_.name() + " has no " + what + " " + name,
                   meant.empty() ? all : "did you mean " + alternatives(meant) + "? " + all);
}

Metric Catalogue::metric(const std::string& name) const {
  const NvprofFormula* formula = schema::find_metric_formula(name);
  if (!formula) return cupti_metric(name);
  if (auto metric = nvprof_metric(*formula, Origin::nvprof_metric)) return std::move(*metric);
  throw wrong_name(formula->computable() ? chip_.name() + " cannot count metric " + name
                                         : "metric " + name + " has no counterpart today",
                   std::string(formula->note));
}

bool Catalogue::has_metric(const std::string& name) const {
  if (const NvprofFormula* formula = schema::find_metric_formula(name)) {
    return formula_for(*formula).has_value();
  }
  const BaseMetric* base = find_base(name);
  return base && name != base->name && chip_.can_collect(std::array{name});
}

Metric Catalogue::event(const std::string& name) const {
  const NvprofFormula* formula = schema::find_event_formula(name);
  if (!formula) unknown(name, Origin::nvprof_event);
  if (auto event = nvprof_metric(*formula, Origin::nvprof_event)) return std::move(*event);
  throw wrong_name(formula->computable() ? chip_.name() + " cannot count event " + name
                                         : "event " + name + " has no counterpart today",
                   std::string(formula->note));
}

namespace {

std::vector<Metric> by_names(const Catalogue& catalogue, const std::vector<std::string>& names,
                             Origin origin) {
  std::vector<Metric> result;
  const auto add = [&](Metric metric) {
    const auto same = [&](const Metric& other) { return other.name == metric.name; };
    if (std::ranges::none_of(result, same)) result.push_back(std::move(metric));
  };
  for (const std::string& name : names) {
    if (name != "all") {
      add(origin == Origin::nvprof_event ? catalogue.event(name) : catalogue.metric(name));
      continue;
    }
    for (const NvprofFormula& formula : table_of(origin)) {
      if (auto metric = catalogue.nvprof_metric(formula, origin)) add(std::move(*metric));
    }
  }
  return result;
}

}  // namespace

std::vector<Metric> Catalogue::metrics(const std::vector<std::string>& names) const {
  return by_names(*this, names, Origin::nvprof_metric);
}

std::vector<Metric> Catalogue::events(const std::vector<std::string>& names) const {
  return by_names(*this, names, Origin::nvprof_event);
}

namespace {

struct ChipNames {
  ChipNames(const std::shared_ptr<const cupti::HostLibrary>& library, const std::string& name)
      : chip(library, name), catalogue(chip) {}

  cupti::HostChip chip;
  Catalogue catalogue;
};

}  // namespace

void check_names(const std::shared_ptr<const cupti::HostLibrary>& library,
                 const std::vector<std::string>& metrics, const std::vector<std::string>& events) {
  const std::vector<std::string> chips = library->chips();
  std::vector<std::unique_ptr<ChipNames>> known;
  const auto check = [&](const std::string& name, Origin origin) {
    const bool event = origin == Origin::nvprof_event;
    if (name == "all") return;
    // Which chip has its counters does not matter here.
    const NvprofFormula* formula = find_formula(name, origin);
    if (formula && formula->computable()) return;
    std::optional<Error> why;
    bool half_known = false;  // only the suffix of the name is wrong
    for (std::size_t i = 0; i < chips.size(); ++i) {
      if (i == known.size()) known.push_back(std::make_unique<ChipNames>(library, chips[i]));
      const Catalogue& catalogue = known[i]->catalogue;
      try {
        event ? catalogue.event(name) : catalogue.metric(name);
        return;
      } catch (const Error& error) {
        const bool half = formula || (!event && catalogue.find_base(name));
        if (!why || half > half_known) why = error;
        half_known |= half;
      }
    }
    if (!why || half_known) throw why.value_or(wrong_name("CUPTI knows no chips", ""));
    throw wrong_name("no chip has " + std::string(event ? "event " : "metric ") + name,
                     why->hint());
  };
  for (const std::string& name : metrics) check(name, Origin::nvprof_metric);
  for (const std::string& name : events) check(name, Origin::nvprof_event);
}

}  // namespace gpuprof::metrics
