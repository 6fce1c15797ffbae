#include "libprof/conclude/kernels/code.hpp"

#include <algorithm>
#include <functional>
#include <set>

#include "libprof/base/saturating.hpp"
#include "libprof/report/pc_samples.hpp"
#include "libprof/report/sass_lines.hpp"

namespace gpuprof::kernels {
namespace {

// A warp with this reason went on.
bool is_no_stall(const std::string& reason) { return reason == "selected" || reason == "none"; }

std::string text_of(report::Session& session, const report::SourcePlace& place) {
  return report::place_text(place, place.file > 0 ? session.names().text(place.file) : "");
}

std::string mostly(const report::SampledLines& sampled, const report::SampledPlace& place) {
  for (const std::int64_t number : place.order()) {
    std::string reason = sampled.reason(number);
    if (!is_no_stall(reason)) return reason;
  }
  return {};
}

void add_samples(report::Session& session, const std::set<std::int64_t>& wanted,
                 CodeByKernel& found) {
  const report::SampledLines sampled(session);
  found.any |= sampled.samples() > 0;
  for (const report::SampledFunction& function : sampled.functions()) {
    if (!wanted.contains(function.name)) continue;
    Code& code = found.by_name[function.name];
    code.samples = saturating_add(code.samples, function.all.all.samples);
    for (const auto& [number, counts] : function.all.reasons) {
      code.stalls.push_back({sampled.reason(number), counts.samples});
    }
    for (const auto& [place, its] : function.places) {
      code.lines.push_back({text_of(session, place), its.all.samples, mostly(sampled, its)});
    }
  }
}

void add_counts(report::Session& session, const std::set<std::int64_t>& wanted,
                CodeByKernel& found) {
  const report::SassLines counted(session);
  constexpr auto section = report::SassSection::instructions;
  found.any |= counted.executed() > 0;
  for (const report::SassFunction& function : counted.functions()) {
    if (!wanted.contains(function.name)) continue;
    Code& code = found.by_name[function.name];
    if (code.samples > 0) continue;
    code.executed = saturating_add(code.executed, function.all.of(section).executed);
    for (const auto* place : function.order(section)) {
      code.lines.push_back({text_of(session, place->first), place->second.of(section).executed});
    }
  }
}

// A function may have been sampled on several devices.
template <class Each, class Name, class Count>
void add_up(std::vector<Each>& all, Name name, Count count) {
  std::ranges::stable_sort(all, {}, name);
  std::vector<Each> sums;
  for (Each& each : all) {
    if (!sums.empty() && sums.back().*name == each.*name) {
      sums.back().*count = saturating_add(sums.back().*count, each.*count);
    } else {
      sums.push_back(std::move(each));
    }
  }
  std::ranges::stable_sort(sums, std::greater{}, count);
  all = std::move(sums);
}

}  // namespace

CodeByKernel read_code(report::Session& session, const std::vector<std::int64_t>& names) {
  CodeByKernel found;
  std::set<std::int64_t> wanted(names.begin(), names.end());
  wanted.erase(0);  // a function whose name is not known
  if (session.has_rows("PC_SAMPLING")) add_samples(session, wanted, found);
  if (report::has_sass_metrics(session)) add_counts(session, wanted, found);
  for (auto& [name, code] : found.by_name) {
    add_up(code.stalls, &Stall::reason, &Stall::samples);
    add_up(code.lines, &Line::place, &Line::count);
  }
  return found;
}

}  // namespace gpuprof::kernels
