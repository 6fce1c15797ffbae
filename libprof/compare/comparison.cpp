#include "libprof/compare/comparison.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "libprof/base/text.hpp"
#include "libprof/compare/statistics.hpp"
#include "libprof/compute/display_names.hpp"

namespace gpuprof::compare {
namespace {

constexpr std::size_t enough_for_statistics = 4;
constexpr double significant = 0.05;
// Kernels below this share of the step on both sides have no verdict.
constexpr double least_share_of_kernel = 0.01;
// Sides with less in common do not do the same work: shared kernels' time, of all.
constexpr double least_common = 0.9;

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

Verdict direction(double shift) { return shift > 0 ? Verdict::slower : Verdict::faster; }

// Of samples that are large enough to have limits.
Verdict by_statistics(const Change& change, double least, double significance) {
  const auto [low, high] = *change.limits;
  if (low > -least && high < least) return Verdict::same;
  if (significance < significant && std::abs(change.shift) > least) return direction(change.shift);
  return Verdict::unknown;
}

// Of 2 or 3 runs, all have to be above, or below.
Verdict by_order(const std::vector<double>& a, const std::vector<double>& b, double shift,
                 double least) {
  const auto [low_a, high_a] = std::ranges::minmax(a);
  const auto [low_b, high_b] = std::ranges::minmax(b);
  if (high_b - low_a < least && high_a - low_b < least) return Verdict::same;
  const bool apart = low_b > high_a || high_b < low_a;
  return apart && std::abs(shift) > least ? direction(shift) : Verdict::unknown;
}

// A figure of which each run has one, without a verdict.
Change measured(const std::vector<double>& a, const std::vector<double>& b) {
  Change change{.a = mean(a), .b = mean(b), .shift = shift(a, b)};
  if (std::min(a.size(), b.size()) >= enough_for_statistics) change.limits = shift_limits(a, b);
  return change;
}

Verdict verdict_of(const Change& change, const std::vector<double>& a, const std::vector<double>& b,
                   const Rules& rules) {
  const double least = rules.threshold * change.a;
  if (change.p) return by_statistics(change, least, *change.p);
  if (std::min(a.size(), b.size()) > 1) return by_order(a, b, change.shift, least);
  if (!rules.trust_single_runs) return Verdict::unknown;
  return std::abs(change.shift) <= least ? Verdict::same : direction(change.shift);
}

void judge(Change& change, const std::vector<double>& a, const std::vector<double>& b,
           const Rules& rules) {
  if (change.limits) change.p = permutation_p(a, b);
  change.verdict = verdict_of(change, a, b, rules);
}

Change judged(const std::vector<double>& a, const std::vector<double>& b, const Rules& rules) {
  Change change = measured(a, b);
  judge(change, a, b, rules);
  return change;
}

std::vector<double> each(const std::vector<Run>& runs, const auto& figure) {
  std::vector<double> values;
  for (const Run& run : runs) values.push_back(figure(run));
  return values;
}

// What is not there is 0.
template <class Map>
typename Map::mapped_type value_in(const Map& map, const typename Map::key_type& key) {
  const auto found = map.find(key);
  return found == map.end() ? typename Map::mapped_type() : found->second;
}

// Large changes come first, then what takes long.
std::pair<double, double> importance(const Change& change) {
  return {std::abs(change.difference()), change.a + change.b};
}

std::vector<PartChange> compare_parts(const Comparison& sides) {
  std::set<PartName> names;
  for (const auto* runs : {&sides.a, &sides.b}) {
    for (const Run& run : *runs) {
      for (const auto& [name, time] : run.parts) names.insert(name);
    }
  }
  std::vector<PartChange> parts;
  for (const PartName& name : names) {
    const auto time = [&](const Run& run) { return value_in(run.parts, name); };
    parts.push_back({name, judged(each(sides.a, time), each(sides.b, time), sides.rules)});
  }
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

std::vector<KernelChange> compare_kernels(const Comparison& sides) {
  std::map<std::string, std::string> functions;  // by name
  for (const auto* runs : {&sides.a, &sides.b}) {
    for (const Run& run : *runs) {
      for (const auto& [name, use] : run.kernels) functions[name] = use.function;
    }
  }
  std::vector<KernelChange> kernels;
  for (const auto& function : functions) {
    const std::string& name = function.first;
    const auto time = [&](const Run& run) { return value_in(run.kernels, name).time; };
    const auto launches = [&](const Run& run) { return value_in(run.kernels, name).launches; };
    const auto a = each(sides.a, time), b = each(sides.b, time);
    KernelChange& kernel =
        kernels.emplace_back(KernelChange{.name = name,
                                          .display = {},
                                          .time = measured(a, b),
                                          .launches_a = mean(each(sides.a, launches)),
                                          .launches_b = mean(each(sides.b, launches))});
    const double share = std::max(kernel.time.a / sides.step.a, kernel.time.b / sides.step.b);
    if (share >= least_share_of_kernel) judge(kernel.time, a, b, sides.rules);
  }
  name_them(kernels, functions);
  // The question whether any of them changed is asked once for each that matters.
  std::vector<KernelChange*> asked;
  std::vector<double> p;
  for (KernelChange& kernel : kernels) {
    if (!kernel.time.p) continue;
    asked.push_back(&kernel);
    p.push_back(*kernel.time.p);
  }
  const std::vector<double> of_all = adjusted(p);
  for (std::size_t i = 0; i < asked.size(); ++i) {
    Change& time = asked[i]->time;
    time.p = of_all[i];
    time.verdict = by_statistics(time, sides.rules.threshold * time.a, of_all[i]);
  }
  std::ranges::stable_sort(kernels, std::greater{},
                           [](const KernelChange& kernel) { return importance(kernel.time); });
  return kernels;
}

// The time of kernels that both sides run, as a share of that of all.
double common_share(const std::vector<KernelChange>& kernels) {
  double common = 0, all = 0;
  for (const KernelChange& kernel : kernels) {
    if (kernel.launches_a > 0 && kernel.launches_b > 0) common += kernel.time.a + kernel.time.b;
    all += kernel.time.a + kernel.time.b;
  }
  return all > 0 ? common / all : 1;
}

class Differences {
 public:
  Differences(const Comparison& sides, std::vector<Difference>& found)
      : sides_(sides), found_(found) {}

  // `common`: see common_share().
  void find(double common) {
    facts("the GPUs", true, [](const Run& run) { return run.devices; });
    facts("the number of GPUs at work", true,
          [](const Run& run) { return std::to_string(run.device_count); });
    facts("the number of processes", true,
          [](const Run& run) { return run.processes ? std::to_string(run.processes) : ""; });
    facts("whether there are steps", true,
          [](const Run& run) { return std::string(run.steps > 0 ? "yes" : "no"); });
    facts("the driver", false, [](const Run& run) { return run.driver; });
    facts("CUPTI", false,
          [](const Run& run) { return run.cupti ? std::to_string(run.cupti) : ""; });
    each_run([&](const Run& run) {
      if (run.lost) {
        add(run.file + " lacks records: see gpuprof info", true);
      } else if (run.kernels_without_times > 0) {
        add(run.file + " has " + count_of(run.kernels_without_times, "kernel") + " without times",
            true);
      }
    });
    if (common < least_common) {
      add("kernels that only one side runs take " + percent(1 - common) +
              " of the time of all kernels",
          false);
    }
  }

 private:
  void add(std::string text, bool matters) { found_.push_back({std::move(text), matters}); }

  static std::string percent(double share) {
    return std::to_string(static_cast<int>(std::lround(100 * share))) + " %";
  }

  void each_run(const auto& visit) {
    for (const auto* runs : {&sides_.a, &sides_.b}) {
      for (const Run& run : *runs) visit(run);
    }
  }

  // What is empty is not known.
  void facts(std::string_view what, bool matters, const auto& fact) {
    const Run* first = nullptr;
    each_run([&](const Run& run) {
      const std::string value = fact(run);
      if (value.empty()) return;
      if (!first) {
        first = &run;
      } else if (const std::string before = fact(*first); value != before) {
        add(std::string(what) + ": " + before + " in " + first->file + ", " + value + " in " +
                run.file,
            matters);
      }
    });
  }

  const Comparison& sides_;
  std::vector<Difference>& found_;
};

void judge(Comparison& sides, double common) {
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
        "a single run does not show how much runs differ; 5 of each side do, or --threshold "
        "decides";
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

Comparison compare(std::vector<Run> a, std::vector<Run> b, const Rules& rules) {
  Comparison sides{.a = std::move(a), .b = std::move(b), .rules = rules};
  const auto time = [](const Run& run) { return run.time; };
  sides.step = judged(each(sides.a, time), each(sides.b, time), rules);
  sides.parts = compare_parts(sides);
  sides.kernels = compare_kernels(sides);
  const double common = common_share(sides.kernels);
  Differences(sides, sides.differences).find(common);
  judge(sides, common);
  return sides;
}

}  // namespace gpuprof::compare
