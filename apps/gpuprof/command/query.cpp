#include <algorithm>
#include <array>
#include <cctype>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <thread>
#include <utility>

#include "apps/gpuprof/commands.hpp"
#include "apps/gpuprof/device_probe.hpp"
#include "libprof/base/driver_library.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/pattern.hpp"
#include "libprof/base/text.hpp"
#include "libprof/launch/installation.hpp"
#include "libprof/metrics/catalogue.hpp"
#include "libprof/metrics/chip_names.hpp"
#include "libprof/metrics/nearest.hpp"

namespace gpuprof::app {
namespace {

using Json = nlohmann::ordered_json;
using metrics::BaseMetric;
using metrics::Catalogue;
using metrics::Metric;
using report::Layout;
using schema::NvprofFormula;
using Library = std::shared_ptr<const cupti::HostLibrary>;

constexpr std::array type_names{"counter", "ratio", "throughput"};

std::string_view type_name(cupti::MetricType type) {
  return type_names.at(static_cast<std::size_t>(type));
}

// A name of nvprof's on the chip in question.
struct NvprofRow {
  const NvprofFormula* formula;
  std::optional<Metric> metric;  // nothing: the chip does not have it
};

struct BaseRow {
  BaseMetric metric;
  cupti::MetricProperties properties;
  std::optional<std::size_t> passes;  // of its most common roll-up; nothing: not asked for
};

struct Listing {
  std::string chip;
  std::vector<ProbedDevice> devices;  // that have this chip; empty: it was asked for by name
  std::vector<NvprofRow> metrics;
  std::vector<NvprofRow> events;
  std::vector<BaseRow> bases;
};

// Finds text in names: as it stands, or as a regular expression if it is one.
class Filter {
 public:
  explicit Filter(const std::string& text) : text_(text) {
    try {
      expression_.emplace(text);
    } catch (const Error&) {
      // Text only.
    }
  }

  bool empty() const { return text_.empty(); }
  bool takes(const std::string& name) const {
    return name.find(text_) != name.npos || (expression_ && expression_->found_in(name));
  }

  // What is taken of `rows`: the one of this name if there is one.
  template <class Row, class Name>
  std::vector<Row> choose(const std::vector<Row>& rows, const Name& name_of) const {
    std::vector<Row> result;
    for (const Row& row : rows) {
      const std::string name(name_of(row));
      if (name == text_) return {row};
      if (takes(name)) result.push_back(row);
    }
    return result;
  }

 private:
  std::string text_;
  std::optional<Pattern> expression_;
};

// The roll-up that passes are told of.
std::string usual(const BaseMetric& metric) {
  switch (metric.type) {
    case cupti::MetricType::counter: return metric.name + ".sum";
    case cupti::MetricType::ratio: return metric.name + ".ratio";
    case cupti::MetricType::throughput: return metric.name + ".avg.pct_of_peak_sustained_elapsed";
  }
  return {};
}

std::optional<std::size_t> passes(const cupti::HostChip& chip,
                                  const std::vector<std::string>& names) {
  auto image = chip.config_image(names);
  if (!image) return {};
  return chip.passes(*image);
}

// CUPTI takes 1.2 ms for the properties of one metric and 1.7 ms for its passes; GH100 has 3,650.
// A host object belongs to one thread, so each thread has its own.
std::vector<BaseRow> describe(const Library& library, const std::string& chip_name,
                              const std::vector<BaseMetric>& bases, bool with_passes) {
  std::vector<BaseRow> rows(bases.size());
  const std::size_t count = std::clamp<std::size_t>(
      bases.size() / 20, 1, std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::jthread> threads;
  for (std::size_t first = 0; first < count; ++first) {
    threads.emplace_back([&, first] {
      const cupti::HostChip chip(library, chip_name);
      for (std::size_t i = first; i < bases.size(); i += count) {
        rows[i].metric = bases[i];
        rows[i].properties = chip.properties(bases[i].name).value_or(cupti::MetricProperties());
        if (with_passes) rows[i].passes = passes(chip, {usual(bases[i])});
      }
    });
  }
  threads.clear();
  return rows;
}

std::vector<NvprofRow> nvprof_rows(const Catalogue& catalogue, const Filter& filter,
                                   std::span<const NvprofFormula> table, Metric::Origin origin) {
  std::vector<const NvprofFormula*> all;
  for (const NvprofFormula& formula : table) all.push_back(&formula);
  std::vector<NvprofRow> rows;
  for (const NvprofFormula* formula :
       filter.choose(all, [](const NvprofFormula* row) { return row->name; })) {
    rows.push_back({formula, catalogue.nvprof_metric(*formula, origin)});
  }
  return rows;
}

// ".{avg,max,min,sum}" and what may follow each, when it is the same for all.
std::string compact(const std::vector<std::string>& subs) {
  std::vector<std::string> firsts, rests;
  for (const std::string& sub : subs) {
    const std::size_t dot = sub.find('.', 1);
    const std::string first = sub.substr(0, dot);
    if (firsts.empty() || firsts.back() != first) firsts.push_back(first);
    if (firsts.size() == 1 && dot != sub.npos) rests.push_back(sub.substr(dot));
  }
  const bool alone = std::ranges::find(subs, firsts.empty() ? "" : firsts.front()) != subs.end();
  if (rests.empty() || firsts.size() * (rests.size() + (alone ? 1 : 0)) != subs.size()) {
    return joined(subs, " ");
  }
  return joined(firsts, " ") + (alone ? ", alone or with " : ", with ") + joined(rests, " ");
}

void print_nvprof(std::string_view heading, const Listing& listing,
                  const std::vector<NvprofRow>& rows, bool details) {
  std::cout << heading << "\n                            Name   Description\n";
  for (const ProbedDevice& device : listing.devices) {
    std::cout << "Device " << device.index << " (" << device.name << "), ";
  }
  std::cout << "Chip " << listing.chip << ":\n";
  for (const auto& [formula, metric] : rows) {
    if (!metric) continue;
    std::cout << "        " << metric->name << ":  " << metric->description;
    if (!metric->unit.empty()) std::cout << " (" << metric->unit << ")";
    if (!metric->note.empty()) std::cout << "; " << metric->note;
    std::cout << "\n";
    if (details) std::cout << "            = " << metric->formula << "\n";
    std::cout << "\n";
  }
  bool first = true;
  for (const auto& [formula, metric] : rows) {
    if (metric) continue;
    if (first) std::cout << "Not on this chip:\n";
    first = false;
    std::cout << "        " << formula->name;
    if (!formula->note.empty()) std::cout << ":  " << formula->note;
    std::cout << "\n";
  }
  std::cout << "\n";
}

void print_base(const BaseRow& row) {
  std::cout << "        " << row.metric.name << ":  " << row.properties.description << " ("
            << type_name(row.metric.type) << ", " << row.properties.unit;
  if (!row.properties.dimension.empty()) std::cout << ", " << row.properties.dimension;
  if (row.properties.device_level) std::cout << ", of the whole device";
  if (row.passes) std::cout << ", passes " << *row.passes;
  std::cout << ")\n";
}

void print_bases(const cupti::HostChip& chip, const std::vector<BaseRow>& rows) {
  std::cout << "CUPTI's Metrics:\n"
               "    A name takes one of these behind it:\n";
  for (std::size_t type = 0; type < type_names.size(); ++type) {
    const auto row = std::ranges::find_if(rows, [&](const BaseRow& each) {
      return static_cast<std::size_t>(each.metric.type) == type;
    });
    if (row == rows.end()) continue;
    std::cout << "        " << type_names.at(type) << ":  "
              << compact(chip.sub_metrics(row->metric.name, row->metric.type)) << "\n";
  }
  for (const BaseRow& row : rows) print_base(row);
}

// Everything of one metric.
void print_details(const cupti::HostChip& chip, const BaseRow& row) {
  const auto& [metric, properties, unused] = row;
  std::cout << metric.name << " on " << chip.name() << "\n"
            << "    description    " << properties.description << "\n"
            << "    type           " << type_name(metric.type) << "\n"
            << "    dimension      " << properties.dimension << "\n"
            << "    hardware unit  " << properties.unit << "\n"
            << "    counted for    "
            << (properties.device_level ? "the whole device, whatever runs there" : "a context")
            << "\n    sub-metrics\n";
  std::map<std::optional<std::size_t>, std::vector<std::string>> by_passes;
  for (const std::string& sub : chip.sub_metrics(metric.name, metric.type)) {
    by_passes[passes(chip, {metric.name + sub})].push_back(sub);
  }
  for (const auto& [needed, subs] : by_passes) {
    std::cout << "        "
              << (needed ? "passes " + std::to_string(*needed) : std::string("not to be collected"))
              << ": " << compact(subs) << "\n";
  }
  std::cout << "    passes together with\n";
  for (const char* other : {"sm__inst_executed.sum", "lts__t_sectors.sum",
                            "dram__throughput.avg.pct_of_peak_sustained_elapsed",
                            "smsp__sass_thread_inst_executed.sum", "pcie__read_bytes.sum"}) {
    if (!passes(chip, {other})) continue;
    const auto both = passes(chip, {usual(metric), other});
    std::cout << "        " << other << ": "
              << (both ? std::to_string(*both) : "cannot be combined") << "\n";
  }
}

Json json_of(const std::vector<NvprofRow>& rows) {
  Json list = Json::array();
  for (const auto& [formula, metric] : rows) {
    Json row{{"name", formula->name},
             {"description", formula->description},
             {"unit", schema::unit_of(*formula)},
             {"available", metric.has_value()},
             {"formula", nullptr},
             {"counters", Json::array()},
             {"note", nullptr}};
    if (metric) row["formula"] = metric->formula;
    if (metric) row["counters"] = metric->counters;
    if (!formula->note.empty()) row["note"] = formula->note;
    list.push_back(std::move(row));
  }
  return list;
}

Json json_of(const cupti::HostChip& chip, const Listing& listing, const Query& query) {
  Json document{{"chip", listing.chip}};
  for (const ProbedDevice& device : listing.devices) {
    document["devices"].push_back({{"index", device.index}, {"name", device.name}});
  }
  if (query.metrics) document["nvprof_metrics"] = json_of(listing.metrics);
  if (query.events) document["nvprof_events"] = json_of(listing.events);
  if (query.metrics) {
    Json list = Json::array();
    for (const auto& [metric, properties, passes] : listing.bases) {
      Json row{{"name", metric.name},
               {"type", type_name(metric.type)},
               {"description", properties.description},
               {"hardware_unit", properties.unit},
               {"dimension", properties.dimension},
               {"device_level", properties.device_level}};
      if (passes) row["passes"] = *passes;
      list.push_back(std::move(row));
    }
    document["metrics"] = std::move(list);
    Json& subs = document["sub_metrics"] = Json::object();
    for (const BaseRow& row : listing.bases) {
      Json& of_type = subs[std::string(type_name(row.metric.type))];
      if (of_type.is_null()) of_type = chip.sub_metrics(row.metric.name, row.metric.type);
    }
  }
  return document;
}

void print(const Json& document) {
  std::cout << document.dump(1, ' ', false, Json::error_handler_t::replace) << "\n";
}

void print_csv_heading() {
  std::cout << "\"Chip\",\"Name\",\"Kind\",\"Unit\",\"Hardware Unit\",\"Passes\",\"Formula\","
               "\"Description\"\n";
}

void print_csv(const Listing& listing) {
  const auto line = [&](std::initializer_list<std::string_view> cells) {
    std::cout << double_quoted(listing.chip);
    for (const std::string_view cell : cells) std::cout << "," << double_quoted(cell);
    std::cout << "\n";
  };
  const auto of_nvprof = [&](const std::vector<NvprofRow>& rows, std::string_view kind) {
    for (const auto& [formula, metric] : rows) {
      if (metric)
        line({metric->name, kind, metric->unit, "", "", metric->formula, metric->description});
    }
  };
  of_nvprof(listing.metrics, "nvprof metric");
  of_nvprof(listing.events, "nvprof event");
  for (const auto& [metric, properties, passes] : listing.bases) {
    line({metric.name, type_name(metric.type), properties.dimension, properties.unit,
          passes ? std::to_string(*passes) : "", "", properties.description});
  }
}

[[noreturn]] void nothing_found(const Catalogue& catalogue, const std::string& chip,
                                const Query& query) {
  std::vector<std::string> names;
  if (query.metrics) {
    for (const auto& formula : schema::nvprof_metric_formulas) names.emplace_back(formula.name);
    for (const BaseMetric& base : catalogue.base_metrics()) names.push_back(base.name);
  }
  if (query.events) {
    for (const auto& formula : schema::nvprof_event_formulas) names.emplace_back(formula.name);
  }
  std::string hint;
  for (const std::string& name : metrics::nearest(query.filter, names)) hint += " " + name;
  throw Error(chip + " has nothing with " + query.filter + " in its name",
              hint.empty() ? "" : "did you mean:" + hint, ExitCode::bad_option);
}

// JSON is returned, all else printed.
Json list_chip(const Library& library, const Options& options, const std::string& chip_name,
               std::vector<ProbedDevice> devices) {
  const Query& query = options.query;
  const cupti::HostChip chip(library, chip_name);
  const Catalogue catalogue(chip);
  const Filter filter(query.filter);
  Listing listing;
  listing.chip = chip_name;
  listing.devices = std::move(devices);
  if (query.metrics) {
    listing.metrics = nvprof_rows(catalogue, filter, schema::nvprof_metric_formulas,
                                  Metric::Origin::nvprof_metric);
    const auto name = [](const BaseMetric& base) { return base.name; };
    listing.bases = describe(library, chip_name, filter.choose(catalogue.base_metrics(), name),
                             !filter.empty());
  }
  if (query.events) {
    listing.events =
        nvprof_rows(catalogue, filter, schema::nvprof_event_formulas, Metric::Origin::nvprof_event);
  }
  if (listing.metrics.empty() && listing.events.empty() && listing.bases.empty()) {
    nothing_found(catalogue, chip_name, query);
  }

  const bool details = !filter.empty();
  if (options.reports.layout == Layout::json) return json_of(chip, listing, query);
  if (options.reports.layout == Layout::csv) {
    print_csv(listing);
    return {};
  }
  if (!listing.metrics.empty()) {
    print_nvprof("Available Metrics:", listing, listing.metrics, details);
  }
  if (!listing.events.empty()) {
    print_nvprof("Available Events:", listing, listing.events, details);
  }
  if (listing.bases.size() == 1) {
    print_details(chip, listing.bases.front());
  } else if (!listing.bases.empty()) {
    print_bases(chip, listing.bases);
  }
  return {};
}

std::string known_chips(const Options& options) {
  try {
    std::string names;
    for (const std::string& chip :
         cupti::HostLibrary(launch::host_cupti_candidates(options.cupti)).chips()) {
      names += " " + chip;
    }
    return names;
  } catch (const Error& error) {
    return std::string(" (") + error.what() + ")";
  }
}

// The chips of this machine's GPUs, those of --devices, each with its devices.
std::vector<std::pair<std::string, std::vector<ProbedDevice>>> chips_here(const Options& options) {
  if (!driver_found()) {
    throw NvprofError{{"Error: unable to locate cuda driver library.",
                       "Make sure nvidia driver is properly installed.",
                       "Name one of these chips with --chip:" + known_chips(options)},
                      ExitCode::no_driver};
  }
  std::vector<std::pair<std::string, std::vector<ProbedDevice>>> chips;
  const auto& wanted = options.reports.filter.devices;
  for (ProbedDevice& device : probe_devices(options.cupti, false)) {
    if (!wanted.empty() && std::ranges::find(wanted, device.index) == wanted.end()) continue;
    auto place = std::ranges::find(chips, device.chip, [](const auto& chip) { return chip.first; });
    if (place == chips.end()) place = chips.insert(place, {device.chip, {}});
    place->second.push_back(std::move(device));
  }
  if (chips.empty()) throw Error("no such device", "see --devices", ExitCode::bad_option);
  return chips;
}

}  // namespace

int query_command(const Options& options) {
  const bool json = options.reports.layout == Layout::json;
  const bool csv = options.reports.layout == Layout::csv;
  const auto open = [&] {
    return std::make_shared<const cupti::HostLibrary>(launch::host_cupti_candidates(options.cupti));
  };
  if (!options.query.chip.empty()) {
    const std::string chip = metrics::chip_named(options.query.chip);
    const Library library = open();
    if (csv) print_csv_heading();
    const Json document = list_chip(library, options, chip, {});
    if (json) print(document);
    return 0;
  }
  const auto chips = chips_here(options);
  const Library library = open();
  if (csv) print_csv_heading();
  Json documents = Json::array();
  for (const auto& [chip, devices] : chips) {
    documents.push_back(list_chip(library, options, chip, devices));
  }
  if (json) print(documents);
  return 0;
}

}  // namespace gpuprof::app
