// Metric and event names for completion.
#include <set>

#include "apps/gpuprof/help/complete.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/installation.hpp"
#include "libprof/metrics/catalogue.hpp"
#include "schema/nvprof_metrics.hpp"

namespace gpuprof::app {
namespace {

using Names = std::vector<std::string>;

Names nvprof_names(std::span<const schema::NvprofFormula> table) {
  Names names{"all"};
  for (const schema::NvprofFormula& formula : table) {
    if (formula.computable()) names.emplace_back(formula.name);
  }
  return names;
}

// Adds a chip's names that begin with `part`. If `part` has a dot: one metric, with its suffixes.
void add_cupti_names(const cupti::HostChip& chip, std::string_view part,
                     std::set<std::string>& names) {
  using enum cupti::MetricType;
  const std::size_t dot = part.find('.');
  for (const cupti::MetricType type : {counter, ratio, throughput}) {
    for (std::string& base : chip.base_metrics(type)) {
      if (dot == part.npos) {
        if (base.starts_with(part)) names.insert(std::move(base));
      } else if (base == part.substr(0, dot)) {
        for (const std::string& sub : chip.sub_metrics(base, type)) names.insert(base + sub);
      }
    }
  }
}

}  // namespace

Names metric_names(std::string_view typed) {
  const std::size_t comma = typed.rfind(',');
  const std::string_view part = comma == typed.npos ? typed : typed.substr(comma + 1);
  Names names = nvprof_names(schema::nvprof_metric_formulas);
  if (part.size() < 3) return names;
  std::set<std::string> found;
  try {
    const auto library = std::make_shared<const cupti::HostLibrary>(host_cupti_candidates({}));
    for (const std::string& chip : library->chips()) {
      try {
        add_cupti_names(cupti::HostChip(library, chip), part, found);
      } catch (const Error&) {
        // CUPTI 13.0 lists chips that it does not know.
      }
    }
  } catch (const Error&) {
    // Without a libcupti, only nvprof's names are offered.
  }
  names.insert(names.end(), found.begin(), found.end());
  return names;
}

Names event_names(std::string_view) { return nvprof_names(schema::nvprof_event_formulas); }

}  // namespace gpuprof::app
