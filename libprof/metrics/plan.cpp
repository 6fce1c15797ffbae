#include "libprof/metrics/plan.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/cupti/first_start.hpp"

namespace gpuprof::metrics {
namespace {

constexpr std::array costs{
    Cost{"device time", 5, 7'000},
    Cost{"patched code", 110, 12'000},
    Cost{"outside the SM", 46, 24'000},
    Cost{"inside the SM", 780, 2'500},
};

// The group with this metric added, if CUPTI can configure it.
std::optional<Group> with(const cupti::HostChip& chip, const Group& group,
                          std::span<const Metric> metrics, std::size_t metric) {
  Group larger = group;
  larger.metrics.push_back(metric);
  for (const std::string& counter : metrics[metric].counters) {
    if (std::ranges::find(larger.counters, counter) == larger.counters.end()) {
      larger.counters.push_back(counter);
    }
    larger.cost = std::max(larger.cost, cost_class(counter));
  }
  auto image = chip.config_image(larger.counters);
  if (!image) return {};
  larger.passes = chip.passes(*image);
  if (larger.passes == 0) return {};
  larger.config_image = std::move(*image);
  return larger;
}

bool may_share(CostClass a, CostClass b, Grouping grouping) {
  const auto one_is = [&](CostClass cost) { return a == cost || b == cost; };
  if (a == b) return true;
  if (grouping == Grouping::by_cost || one_is(CostClass::patched)) return false;
  return grouping == Grouping::fewest || !one_is(CostClass::device_time);
}

// If it takes no extra pass.
bool add_to(Group& group, const cupti::HostChip& chip, std::span<const Metric> metrics,
            std::span<const std::size_t> more) {
  std::optional<Group> larger = group;
  for (const std::size_t metric : more) {
    if (larger) larger = with(chip, *larger, metrics, metric);
  }
  if (!larger || larger->passes != group.passes) return false;
  group = std::move(*larger);
  return true;
}

[[noreturn]] void throw_cannot(const cupti::HostChip& chip, const Metric& metric) {
  throw Error(metric.name + " cannot be collected on " + chip.name(),
              "gpuprof --query-metrics --chip " + chip.name() + " lists what can",
              ExitCode::bad_option);
}

}  // namespace

const Cost& cost_of(CostClass cost) { return costs[static_cast<std::size_t>(cost)]; }

CostClass cost_class(std::string_view counter) {
  if (counter.find("sass") != counter.npos) return CostClass::patched;
  if (counter.starts_with("gpu__time_")) return CostClass::device_time;
  const std::string_view unit = counter.substr(0, counter.find("__"));
  for (const std::string_view inside : {"sm", "smsp", "l1tex", "idc", "tpc", "gpu"}) {
    if (unit == inside) return CostClass::inside_sm;
  }
  return CostClass::outside_sm;
}

std::uint32_t best_batch(const Group& group, std::uint64_t launches) {
  const double best = std::sqrt(cost_of(group.cost).switch_us * static_cast<double>(launches) /
                                cupti::first_start_range_us);
  return static_cast<std::uint32_t>(std::clamp(best, 64.0, 4096.0));
}

std::vector<Group> plan(const cupti::HostChip& chip, std::span<const Metric> metrics,
                        Grouping grouping) {
  std::vector<Group> groups;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    auto alone = with(chip, {}, metrics, i);
    if (!alone) throw_cannot(chip, metrics[i]);
    const auto fits = std::ranges::find_if(groups, [&](Group& group) {
      if (!may_share(group.cost, alone->cost, grouping)) return false;
      if (grouping == Grouping::by_cost && (group.passes == 1) != (alone->passes == 1))
        return false;
      auto larger = with(chip, group, metrics, i);
      // One pass must stay one pass; several may share.
      const bool good = larger && (group.passes == 1 || alone->passes == 1
                                       ? larger->passes == std::max(group.passes, alone->passes)
                                       : larger->passes < group.passes + alone->passes);
      if (!good) return false;
      group = std::move(*larger);
      return true;
    });
    if (fits == groups.end()) groups.push_back(std::move(*alone));
  }
  // In the order of the runs: groups that count events come first, those that measure time last.
  constexpr std::array order{3, 0, 1, 2};
  std::ranges::stable_sort(
      groups, {}, [&](const Group& group) { return order[static_cast<std::size_t>(group.cost)]; });
  if (grouping == Grouping::fewest_runs && groups.size() > 2 &&
      groups.back().cost == CostClass::device_time &&
      add_to(groups[groups.size() - 2], chip, metrics, groups.back().metrics)) {
    groups.pop_back();
  }
  return groups;
}

std::vector<std::string> most_of_one_pass(const cupti::HostChip& chip,
                                          std::span<const Metric> metrics) {
  std::vector<Metric> short_ones;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    const auto alone = with(chip, {}, metrics, i);
    if (alone && alone->passes == 1) short_ones.push_back(metrics[i]);
  }
  const std::vector<Group> groups = plan(chip, short_ones, Grouping::fewest);
  const auto most =
      std::ranges::max_element(groups, {}, [](const Group& group) { return group.metrics.size(); });
  std::vector<std::string> names;
  if (most == groups.end()) return names;
  for (const std::size_t metric : most->metrics) names.push_back(short_ones[metric].name);
  return names;
}

Group plan_together(const cupti::HostChip& chip, std::span<const Metric> metrics) {
  Group all;
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    auto larger = with(chip, all, metrics, i);
    if (!larger) throw_cannot(chip, metrics[i]);
    all = std::move(*larger);
  }
  return all;
}

}  // namespace gpuprof::metrics
