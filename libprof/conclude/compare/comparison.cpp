#include "libprof/conclude/compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "libprof/compute/display_names.hpp"
#include "libprof/conclude/compare/checks.hpp"
#include "libprof/conclude/compare/differences.hpp"
#include "libprof/conclude/compare/judge.hpp"
#include "libprof/conclude/compare/renamed.hpp"
#include "libprof/conclude/compare/statistics.hpp"

namespace gpuprof::compare {
namespace {

// Parts and kernels below this share of the step on both sides have no verdict.
constexpr double least_share = 0.01;
// Fewer kernels, or one that takes more of their time, have no pace of their own.
constexpr std::size_t least_kernels_of_pace = 5;
constexpr double most_of_one_kernel = 0.5;

double time_of(const Run& run) { return run.time; }
double nowhere(const Run&) { return 0; }

// If some have abridged names, all need them.
void match_names(Comparison& sides) {
  std::vector<Run*> runs;
  for (auto* some : {&sides.a, &sides.b, &sides.rules.calibration}) {
    for (Run& run : *some) runs.push_back(&run);
  }
  if (std::ranges::none_of(runs, &Run::names_abridged)) return;
  for (Run* run : runs) abridge_names(*run);
}

// What is not there is 0.
template <class Map>
typename Map::mapped_type value_in(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type() : found->second;
}

void each_run(const Comparison& sides, const auto& visit) {
  for (const auto* runs : {&sides.a, &sides.b}) {
    for (const Run& run : *runs) visit(run);
  }
}

bool is_large(const Comparison& sides, const Change& change) {
  return std::max(change.a / sides.step.a, change.b / sides.step.b) >= least_share;
}

// Large changes come first, then what takes long.
std::pair<double, double> importance(const Change& change) {
  return {std::abs(change.difference()), change.a + change.b};
}

bool is_change(Verdict verdict) { return verdict == Verdict::slower || verdict == Verdict::faster; }

std::vector<PartChange> compare_parts(const Comparison& sides) {
  std::set<PartName> names;
  each_run(sides, [&](const Run& run) {
    for (const auto& [name, time] : run.parts) names.insert(name);
  });
  std::vector<PartChange> parts(names.size());
  std::vector<Question> questions;
  std::size_t next = 0;
  for (const PartName& name : names) {
    const auto time = [name](const Run& run) { return value_in(run.parts, name); };
    PartChange& part = parts[next++] = {name, measured(sides, time)};
    if (is_large(sides, part.time)) {
      questions.push_back({time, &part.time, 0, sides.rules.threshold});
    }
  }
  judge(sides, questions);
  std::ranges::stable_sort(parts, std::greater{},
                           [](const PartChange& part) { return importance(part.time); });
  return parts;
}

void name_them(std::vector<KernelChange>& kernels,
               const std::map<std::string, std::string>& functions) {
  std::vector<compute::KernelName> names;
  for (const KernelChange& kernel : kernels) {
    const std::string& function = functions.at(kernel.name);
    names.push_back({.id = static_cast<std::int64_t>(names.size()),
                     .value = kernel.name,
                     .demangled = function.empty() ? "" : kernel.name,
                     .short_form = function});
  }
  const std::vector<std::string> display = compute::display_names(names);
  for (std::size_t i = 0; i < kernels.size(); ++i) kernels[i].display = display[i];
}

// What a run has of a kernel under its name or the one that it had.
KernelUse use_in(const Run& run, const std::string& name, const std::string& was) {
  const auto found = run.kernels.find(name);
  return found != run.kernels.end() ? found->second : value_in(run.kernels, was);
}

// By name; without those that some of the runs do not list because they are small.
std::map<std::string, std::string> functions_of_kernels(const Comparison& sides) {
  double least = 0;
  each_run(sides, [&](const Run& run) { least = std::max(least, run.least_kernel); });
  std::map<std::string, std::string> functions;
  each_run(sides, [&](const Run& run) {
    for (const auto& [name, use] : run.kernels) {
      if (use.time >= least * run.time) functions[name] = use.function;
    }
  });
  return functions;
}

std::vector<KernelChange> compare_kernels(const Comparison& sides) {
  std::map<std::string, std::string> functions = functions_of_kernels(sides);
  const std::map<std::string, std::string> renamed = find_renamed(sides);
  for (const auto& [name, was] : renamed) functions.erase(was);
  std::vector<KernelChange> kernels(functions.size());
  std::vector<Question> questions;
  const KernelThresholds own(sides.rules);
  std::size_t next = 0;
  for (const auto& function : functions) {
    const std::string& name = function.first;
    const std::string was = value_in(renamed, name);
    const auto time = [name, was](const Run& run) { return use_in(run, name, was).time; };
    const auto launches = [&](const Run& run) { return use_in(run, name, was).launches; };
    KernelChange& kernel = kernels[next++];
    kernel.name = name;
    kernel.was = was;
    kernel.time = measured(sides, time);
    kernel.launches_a = mean(each(sides.a, launches));
    kernel.launches_b = mean(each(sides.b, launches));
    kernel.shape_a = shape_in(sides.a, was.empty() ? name : was);
    kernel.shape_b = shape_in(sides.b, name);
    const OwnThreshold* const rule = own.of(name);
    if (rule || is_large(sides, kernel.time)) {
      questions.push_back({time, &kernel.time, 0, rule ? rule->threshold : sides.rules.threshold});
    }
  }
  judge(sides, questions);
  name_them(kernels, functions);
  std::ranges::stable_sort(kernels, std::greater{},
                           [](const KernelChange& kernel) { return importance(kernel.time); });
  return kernels;
}

// Of a kernel that all runs have, what a launch of it takes in a run, as a share of the mean of all
// runs; and how much time it takes.
std::vector<std::pair<double, double>> relative_times(const Comparison& sides,
                                                      const std::string& name) {
  std::vector<std::pair<double, double>> times;
  double sum = 0;
  each_run(sides, [&](const Run& run) {
    const KernelUse use = value_in(run.kernels, name);
    if (use.launches <= 0 || use.time <= 0) return;
    times.emplace_back(use.time / use.launches, use.time);
    sum += use.time / use.launches;
  });
  const std::size_t runs = sides.a.size() + sides.b.size();
  if (times.size() != runs) return {};
  for (auto& each : times) each.first /= sum / static_cast<double>(runs);
  return times;
}

// The pace of each run, a's first. Empty: it is not known. It is found without looking at which
// side a run is of, so that a permutation test may be made of what remains without it.
std::vector<double> paces(const Comparison& sides) {
  if (std::min(sides.a.size(), sides.b.size()) < enough_for_statistics) return {};
  std::vector<std::vector<std::pair<double, double>>> by_run(sides.a.size() + sides.b.size());
  double all = 0, largest = 0;
  for (const auto& kernel : sides.a.front().kernels) {
    const auto times = relative_times(sides, kernel.first);
    double weight = 0;
    for (const auto& each : times) weight += each.second;
    for (std::size_t i = 0; i < times.size(); ++i) by_run[i].emplace_back(times[i].first, weight);
    all += weight;
    largest = std::max(largest, weight);
  }
  if (by_run.front().size() < least_kernels_of_pace || largest > most_of_one_kernel * all) {
    return {};
  }
  std::vector<double> paces;
  for (auto& run : by_run) paces.push_back(weighted_median(std::move(run)));
  return paces;
}

// Judges the step; as such, and at an equal pace if that is known. What the former leaves open, the
// latter may decide.
void judge_step(Comparison& sides) {
  const Question as_such{time_of, &sides.step, 0, sides.rules.threshold};
  const std::vector<double> pace = paces(sides);
  if (pace.empty()) return judge(sides, {as_such});
  std::map<const Run*, double> of_run;
  std::size_t next = 0;
  each_run(sides, [&](const Run& run) { of_run[&run] = pace[next++]; });
  const FigureOf pace_of = [&](const Run& run) { return of_run.at(&run); };
  sides.pace = measured(sides, pace_of);
  judge(sides, {{pace_of, &*sides.pace, 0, sides.rules.threshold, nowhere}});
  if (is_change(sides.pace->verdict)) return judge(sides, {as_such});
  // Only the time of computing follows the pace.
  const FigureOf steady = [&](const Run& run) {
    const double computed = value_in(run.parts, PartName{"compute", ""});
    return run.time - computed + computed / pace_of(run);
  };
  sides.at_equal_pace = measured(sides, steady);
  judge(sides, {as_such, {steady, &*sides.at_equal_pace, 0, sides.rules.threshold, time_of}});
  if (sides.step.verdict == Verdict::unknown && is_change(sides.at_equal_pace->verdict)) {
    sides.step.verdict = sides.at_equal_pace->verdict;
  }
}

void conclude(Comparison& sides, double common) {
  sides.verdict = sides.step.verdict;
  if (!sides.rules.force) {
    const auto matters = std::ranges::find_if(sides.differences, &Difference::matters);
    if (matters != sides.differences.end()) {
      sides.verdict = Verdict::inconclusive;
      sides.reason = matters->text;
      return;
    }
    if (sides.verdict == Verdict::same && common < least_common) {
      sides.verdict = Verdict::inconclusive;
      sides.reason = "the time is the same, but the kernels are others";
      return;
    }
  }
  if (sides.verdict != Verdict::unknown) return;
  const std::size_t runs = std::min(sides.a.size(), sides.b.size());
  if (runs == 1) {
    sides.reason =
        "a single run does not show how much runs differ; 5 of each side do, or --threshold or "
        "--floor decides";
  } else if (runs < enough_for_statistics) {
    sides.reason = "the runs of a side differ as much as the sides do; 5 of each side show more";
  } else {
    sides.reason = "the runs differ too much from one another";
  }
}

}  // namespace

std::string_view verdict_name(Verdict verdict) {
  switch (verdict) {
    case Verdict::same: return "same";
    case Verdict::faster: return "faster";
    case Verdict::slower: return "slower";
    case Verdict::unknown: return "unknown";
    case Verdict::inconclusive: return "inconclusive";
  }
  return "";
}

bool Comparison::is_worse() const {
  return verdict == Verdict::slower ||
         std::ranges::count(checks, Check::Outcome::broken, &Check::outcome) > 0;
}

Comparison compare(std::vector<Run> a, std::vector<Run> b, const Rules& rules) {
  Comparison sides{.a = std::move(a), .b = std::move(b), .rules = rules};
  match_names(sides);
  sides.step = measured(sides, time_of);
  judge_step(sides);
  sides.parts = compare_parts(sides);
  sides.kernels = compare_kernels(sides);
  const double common = common_share(sides.kernels);
  sides.differences = find_differences(sides, common);
  conclude(sides, common);
  sides.checks = check_rules(sides);
  return sides;
}

}  // namespace gpuprof::compare
