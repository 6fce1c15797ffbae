#include "libprof/metrics/listing.hpp"

#include <algorithm>
#include <thread>

#include "libprof/base/error.hpp"
#include "libprof/base/nearest.hpp"
#include "libprof/base/pattern.hpp"
#include "libprof/metrics/sampling_plan.hpp"
#include "schema/nvprof_metrics.hpp"

namespace gpuprof::metrics {
namespace {

using schema::NvprofFormula;
using Library = std::shared_ptr<const cupti::HostLibrary>;

// Finds text in names: literally, or as a regular expression if it is a valid one.
class Filter {
 public:
  explicit Filter(const std::string& text) : text_(text) {
    try {
      expression_.emplace(text);
    } catch (const Error&) {
      // Literal text only.
    }
  }

  bool empty() const { return text_.empty(); }
  bool takes(const std::string& name) const {
    return name.find(text_) != name.npos || (expression_ && expression_->found_in(name));
  }

  // The matching `rows`, or only the one with exactly this name.
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

// CUPTI takes 1.2 ms for the properties of one metric and 1.7 ms for its passes; GH100 has 3,650.
// A host object belongs to one thread, so each thread has its own.
std::vector<BaseRow> describe(const Library& library, const std::string& chip_name,
                              cupti::Counting counting, const std::vector<BaseMetric>& bases,
                              bool with_passes) {
  std::vector<BaseRow> rows(bases.size());
  const std::size_t count = std::clamp<std::size_t>(
      bases.size() / 20, 1, std::max(1U, std::thread::hardware_concurrency()));
  std::vector<std::jthread> threads;
  for (std::size_t first = 0; first < count; ++first) {
    threads.emplace_back([&, first] {
      const cupti::HostChip chip(library, chip_name, counting);
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

[[noreturn]] void nothing_found(const Catalogue& catalogue, const std::string& chip,
                                const ListingOptions& options) {
  std::vector<std::string> names;
  if (options.metrics) {
    for (const auto& formula : schema::nvprof_metric_formulas) names.emplace_back(formula.name);
    for (const BaseMetric& base : catalogue.base_metrics()) names.push_back(base.name);
  }
  if (options.events) {
    for (const auto& formula : schema::nvprof_event_formulas) names.emplace_back(formula.name);
  }
  std::string hint;
  for (const std::string& name : nearest(options.filter, names)) hint += " " + name;
  throw Error(chip + " has nothing with " + options.filter + " in its name",
              hint.empty() ? "" : "did you mean:" + hint, ExitCode::bad_option);
}

}  // namespace

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
  if (chip.is_recorded()) return {};
  auto image = chip.config_image(names);
  if (!image) return {};
  return chip.passes(*image);
}

Listing list(const Library& library, const std::string& chip_name, const ListingOptions& options) {
  const cupti::HostChip chip(library, chip_name, options.counting);
  const Catalogue catalogue(chip);
  const Filter filter(options.filter);
  Listing listing;
  listing.chip = chip_name;
  if (options.metrics) {
    listing.metrics = nvprof_rows(catalogue, filter, schema::nvprof_metric_formulas,
                                  Metric::Origin::nvprof_metric);
    const auto name = [](const BaseMetric& base) { return base.name; };
    listing.bases = describe(library, chip_name, options.counting,
                             filter.choose(catalogue.base_metrics(), name), !filter.empty());
  }
  if (options.metrics && options.counting == cupti::Counting::samples && !chip.is_recorded()) {
    listing.usual_samples = default_samples(chip).names;
  }
  if (options.events) {
    listing.events =
        nvprof_rows(catalogue, filter, schema::nvprof_event_formulas, Metric::Origin::nvprof_event);
  }
  if (listing.metrics.empty() && listing.events.empty() && listing.bases.empty()) {
    nothing_found(catalogue, chip_name, options);
  }
  return listing;
}

}  // namespace gpuprof::metrics
