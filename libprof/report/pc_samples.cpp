#include "libprof/report/pc_samples.hpp"

#include <algorithm>

#include "libprof/base/saturating.hpp"
#include "libprof/report/pc_summary.hpp"

namespace gpuprof::report {

StallReasons::StallReasons(store::Database& database, bool ours) {
  if (!ours) {
    for (std::size_t i = 0; i < stall_reasons.size(); ++i) {
      names_[static_cast<std::int64_t>(i)] = stall_reasons[i].name;
    }
    return;
  }
  constexpr std::string_view table = "PC_STALL_REASON";
  if (!database.has_column(table, "id") || !database.has_column(table, "reason")) return;
  auto rows = database.prepare("SELECT id, reason FROM PC_STALL_REASON");
  while (rows.step()) names_[rows.integer(0)] = rows.text(1);
}

std::string StallReasons::name(std::int64_t number) const {
  const auto found = names_.find(number);
  const bool named = found != names_.end() && !found->second.empty();
  return named ? found->second : "<reason " + std::to_string(number) + ">";
}

void SampleCounts::add(std::int64_t more, std::int64_t more_not_issued) {
  samples = saturating_add(samples, more);
  not_issued = saturating_add(not_issued, more_not_issued);
}

void SampledPlace::add(std::int64_t reason, std::int64_t samples, std::int64_t not_issued) {
  all.add(samples, not_issued);
  reasons[reason].add(samples, not_issued);
}

std::vector<std::int64_t> SampledPlace::order() const {
  std::vector<std::int64_t> numbers;
  for (const auto& [number, counts] : reasons) numbers.push_back(number);
  std::ranges::stable_sort(numbers, std::ranges::greater(),
                           [&](std::int64_t number) { return reasons.at(number).samples; });
  return numbers;
}

std::vector<const std::pair<const SourcePlace, SampledPlace>*> SampledFunction::order() const {
  std::vector<const std::pair<const SourcePlace, SampledPlace>*> order;
  for (const auto& place : places) order.push_back(&place);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [](const auto* place) { return place->second.all.samples; });
  return order;
}

SampledLines::SampledLines(Session& session)
    : reasons_(session.database(), session.has_column("PC_SAMPLING", "stallReasonId")) {
  constexpr std::string_view kind = "PC_SAMPLING";
  session.output().progress("reading CUPTI_ACTIVITY_KIND_PC_SAMPLING");
  FunctionNames functions(session);
  const SourcePlaces places(session);
  const bool ours = session.has_column(kind, "stallReasonId");
  std::map<std::pair<std::int64_t, std::int64_t>, SampledFunction> found;  // by device and name
  auto rows = session.select(kind,
                             {"deviceId", "processId", "functionId", "sourceLocatorId", "pcOffset",
                              ours ? "stallReasonId" : "stallReason", "samples", "latencySamples"},
                             "WHERE " + session.filter(kind));
  while (rows.step()) {
    const std::int64_t samples = rows.integer(6);
    if (samples < 0 || rows.integer(7) < 0) {
      session.skip("CUPTI_ACTIVITY_KIND_PC_SAMPLING with a negative number of samples");
      continue;
    }
    const std::int64_t device = rows.integer(0);
    const std::int64_t name = functions.name(rows.integer(1), rows.integer(2));
    if (!functions.wanted(name)) continue;
    SampledFunction& function = found[{device, name}];
    function.device = device;
    function.name = name;
    const SourcePlace place = places.find(rows.integer(3), rows.integer(4));
    function.places[place].add(rows.integer(5), samples, rows.integer(7));
    function.all.add(rows.integer(5), samples, rows.integer(7));
    samples_ = saturating_add(samples_, samples);
  }
  for (auto& [place, function] : found) functions_.push_back(std::move(function));
  std::ranges::stable_sort(functions_, std::ranges::greater(), [](const SampledFunction& function) {
    return function.all.all.samples;
  });
}

}  // namespace gpuprof::report
