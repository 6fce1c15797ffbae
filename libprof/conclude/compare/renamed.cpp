#include "libprof/conclude/compare/renamed.hpp"

#include <algorithm>
#include <cmath>
#include <optional>
#include <vector>

#include "libprof/conclude/compare/judge.hpp"

namespace gpuprof::compare {
namespace {

constexpr double least_renamed = 0.01, most_times_as_long = 2, same_launches = 0.01;
// Kernels that only one side has and that are looked at.
constexpr std::size_t most_looked_at = 100;

// A kernel of one side: means of its runs.
struct Kernel {
  std::string name;
  double time = 0, launches = 0;
  std::string shape;  // empty: not known, or the runs differ
};

// Those that all runs of one side have and none of the other's.
std::vector<Kernel> only_in(const std::vector<Run>& runs, const std::vector<Run>& others) {
  std::vector<Kernel> kernels;
  const auto has = [](const std::string& name) {
    return [&name](const Run& run) { return run.kernels.contains(name); };
  };
  for (const auto& [name, first] : runs.front().kernels) {
    if (first.time < least_renamed * runs.front().time) continue;
    if (!std::ranges::all_of(runs, has(name)) || std::ranges::any_of(others, has(name))) continue;
    const auto use = [&name](const Run& run) -> const KernelUse& { return run.kernels.at(name); };
    kernels.push_back(
        {.name = name,
         .time = mean(each(runs, [&](const Run& run) { return use(run).time; })),
         .launches = mean(each(runs, [&](const Run& run) { return use(run).launches; })),
         .shape = shape_in(runs, name)});
    if (kernels.size() == most_looked_at) break;
  }
  return kernels;
}

// How far apart the times are, as a logarithm; nullopt: they are not the same kernel.
std::optional<double> distance(const Kernel& a, const Kernel& b) {
  if (a.time <= 0 || b.time <= 0 || a.launches <= 0) return std::nullopt;
  if (std::abs(a.launches - b.launches) > same_launches * a.launches) return std::nullopt;
  if (!a.shape.empty() && !b.shape.empty() && a.shape != b.shape) return std::nullopt;
  const double apart = std::abs(std::log(b.time / a.time));
  return apart > std::log(most_times_as_long) ? std::nullopt : std::optional(apart);
}

const Kernel* nearest(const Kernel& kernel, const std::vector<Kernel>& others) {
  const Kernel* found = nullptr;
  double least = 0;
  for (const Kernel& other : others) {
    const auto apart = distance(kernel, other);
    if (!apart || (found && *apart >= least)) continue;
    found = &other;
    least = *apart;
  }
  return found;
}

}  // namespace

std::map<std::string, std::string> find_renamed(const Comparison& sides) {
  std::map<std::string, std::string> renamed;
  const std::vector<Kernel> gone = only_in(sides.a, sides.b), fresh = only_in(sides.b, sides.a);
  for (const Kernel& kernel : fresh) {
    const Kernel* const before = nearest(kernel, gone);
    if (before && nearest(*before, fresh) == &kernel) renamed.emplace(kernel.name, before->name);
  }
  return renamed;
}

}  // namespace gpuprof::compare
