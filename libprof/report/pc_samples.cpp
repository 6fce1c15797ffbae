#include "libprof/report/pc_samples.hpp"

#include <algorithm>

#include "libprof/base/saturating.hpp"
#include "libprof/report/pc_summary.hpp"

namespace gpuprof::report {

std::size_t most_rows(const Session& session) {
  constexpr std::size_t usual = 10;
  const int top = session.options().top;
  return top > 0 ? static_cast<std::size_t>(top) : usual;
}

void say_of_the_rest(Output& output, std::size_t count, std::string_view what) {
  output.line("  and " + std::to_string(count) + " more " + std::string(what) + " (--top N)");
}

SampledFunctions::SampledFunctions(Session& session) : session_(session) {
  auto rows = session.select("FUNCTION", {"processId", "id", "name"});
  while (rows.step()) names_[{rows.integer(0), rows.integer(1)}] = rows.integer(2);
  const std::string& kernels = session.options().filter.kernels;
  if (!kernels.empty()) pattern_.emplace(kernels);
}

std::int64_t SampledFunctions::name(std::int64_t process, std::int64_t function) const {
  const auto found = names_.find({process, function});
  return found == names_.end() ? 0 : found->second;
}

bool SampledFunctions::wanted(std::int64_t name) {
  if (!pattern_) return true;
  const auto [place, is_new] = wanted_.try_emplace(name);
  if (is_new) place->second = pattern_->found_in(session_.names().kernel(name));
  return place->second;
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

SampledLines::SampledLines(Session& session) {
  constexpr std::string_view kind = "PC_SAMPLING";
  session.output().progress("reading CUPTI_ACTIVITY_KIND_PC_SAMPLING");
  read_reasons(session);
  SampledFunctions functions(session);
  std::map<std::int64_t, std::pair<std::int64_t, std::int64_t>> locators;  // file and line, by id
  auto lines = session.select("SOURCE_LOCATOR", {"id", "fileName", "lineNumber"});
  while (lines.step()) {
    if (lines.integer(1) > 0 && lines.integer(2) > 0) {
      locators[lines.integer(0)] = {lines.integer(1), lines.integer(2)};
    }
  }
  const bool ours = session.has_column(kind, "stallReasonId");
  std::map<std::pair<std::int64_t, std::int64_t>, SampledFunction> found;  // by device and name
  auto rows = session.select(kind,
                             {"deviceId", "processId", "functionId", "sourceLocatorId", "pcOffset",
                              ours ? "stallReasonId" : "stallReason", "samples", "latencySamples"},
                             "WHERE " + session.filter(kind));
  while (rows.step()) {
    const std::int64_t samples = rows.integer(6);
    if (samples < 0 || rows.integer(7) < 0) {
      session.skip("CUPTI_ACTIVITY_KIND_PC_SAMPLING with fewer samples than none");
      continue;
    }
    const std::int64_t device = rows.integer(0);
    const std::int64_t name = functions.name(rows.integer(1), rows.integer(2));
    if (!functions.wanted(name)) continue;
    SampledFunction& function = found[{device, name}];
    function.device = device;
    function.name = name;
    SourcePlace place;
    if (const auto line = locators.find(rows.integer(3)); line != locators.end()) {
      place.file = line->second.first;
      place.line = line->second.second;
    } else {
      place.pc = rows.integer(4);
    }
    function.places[place].add(rows.integer(5), samples, rows.integer(7));
    function.all.add(rows.integer(5), samples, rows.integer(7));
    samples_ = saturating_add(samples_, samples);
  }
  for (auto& [place, function] : found) functions_.push_back(std::move(function));
  std::ranges::stable_sort(functions_, std::ranges::greater(), [](const SampledFunction& function) {
    return function.all.all.samples;
  });
}

void SampledLines::read_reasons(Session& session) {
  if (!session.has_column("PC_SAMPLING", "stallReasonId")) {
    for (std::size_t i = 0; i < stall_reasons.size(); ++i) {
      reasons_[static_cast<std::int64_t>(i)] = stall_reasons[i].name;
    }
    return;
  }
  store::Database& database = session.database();
  constexpr std::string_view table = "PC_STALL_REASON";
  if (!database.has_column(table, "id") || !database.has_column(table, "reason")) return;
  auto rows = database.prepare("SELECT id, reason FROM PC_STALL_REASON");
  while (rows.step()) reasons_[rows.integer(0)] = rows.text(1);
}

std::string SampledLines::reason(std::int64_t number) const {
  const auto found = reasons_.find(number);
  const bool named = found != reasons_.end() && !found->second.empty();
  return named ? found->second : "<reason " + std::to_string(number) + ">";
}

}  // namespace gpuprof::report
