#include "libprof/collect/policy.hpp"

#include <algorithm>

#include "libprof/cupti/first_start.hpp"

namespace gpuprof::collect {
namespace {

constexpr std::int64_t callback_ns = 500;    // of an unmeasured launch (measured)
constexpr std::uint64_t look_at_clock = 64;  // launches
constexpr int phase_switches = 3;            // a phase may cost this many first Starts
constexpr int short_window = 16;             // launches that must be affordable at least
constexpr double largest_batch = 512;        // multiplexing
constexpr std::uint32_t largest_growth = 16;
// For another launch of a shape, which may come once in a long step.
constexpr std::int64_t least_wait_ns = 2'000'000'000;

template <class T>
auto at(T&& list, int place) -> decltype(list[0]) {
  return list[static_cast<std::size_t>(place)];
}

}  // namespace

// --- what measuring may cost

void Budget::begin() {
  if (began_ns_.load(std::memory_order_relaxed) == 0) began_ns_.store(now());
}

bool Budget::affords(double us) const {
  const auto elapsed = static_cast<double>(now() - began_ns_.load());
  const auto spent = static_cast<double>(spent_ns_.load(std::memory_order_relaxed));
  return spent + us * 1000 <= (elapsed - spent) * permille_ / 1000;
}

std::int64_t Budget::spent_permille() const {
  const std::int64_t elapsed = now() - began_ns_.load();
  return elapsed > 0 ? spent_ns_.load() * 1000 / elapsed : -1;
}

// --- all modes

std::unique_ptr<Policy> Policy::make(const wire::CollectConfig& config, std::string chip,
                                     Budget& budget) {
  switch (config.mode) {
    case wire::ReplayMode::multiplex:
      return std::make_unique<MultiplexPolicy>(config, std::move(chip), budget);
    case wire::ReplayMode::kernel:
      return std::make_unique<KernelPolicy>(config, std::move(chip), budget);
    case wire::ReplayMode::range:
      return std::make_unique<UserRangePolicy>(config, std::move(chip), budget);
    default: return std::make_unique<ApplicationPolicy>(config, std::move(chip), budget);
  }
}

int Policy::group_of_scope(std::uint32_t scope) const {
  for (std::size_t i = 0; i < config_.groups.size(); ++i) {
    if (config_.groups[i].scope == scope && config_.groups[i].chip == chip_) {
      return static_cast<int>(i);
    }
  }
  return -1;
}

Decision Policy::decide(std::uint32_t scope, std::span<const std::uint32_t>, const Window&) {
  const int group = group_of_scope(scope);
  if (group >= 0) wasted_us_ = 0;
  return {group};
}

bool Policy::leaves(const wire::CollectGroup& group) {
  wasted_us_ += group.launch_us;
  return wasted_us_ > group.switch_us;
}

// --- application

// Stopping and starting again costs 24 ms for some counters (measured), and a larger batch makes
// the first Start more expensive. So a context that keeps launching gets larger batches, whenever
// stops and starts have cost as much.
bool ApplicationPolicy::grows(const wire::CollectGroup& group, std::uint32_t batch) {
  if (!config_.grows || group.passes > 1) return false;
  growth_.measured += batch;
  const double start_us = cupti::first_start_us + cupti::first_start_range_us * 4 * batch;
  const double saved_us = group.switch_us * 3 / 4 / batch * double(growth_.measured);
  if (saved_us < start_us || growth_.factor >= largest_growth || batch < config_.batch) {
    return false;
  }
  growth_.factor *= 4;
  growth_.measured = 0;
  return true;
}

// --- multiplexing

bool MultiplexPolicy::needs(int group, std::span<const std::uint32_t> samples) const {
  return at(config_.groups, group).chip == chip_ &&
         at(samples, group) < std::min(level_, config_.samples);
}

void MultiplexPolicy::needed() {
  phase_.unneeded = 0;
  phase_.fruitless = false;
  phase_.needed_at_ns = budget_.now();
}

bool MultiplexPolicy::idle(int first_starts) const {
  return budget_.has_earned(budget_.now() - phase_.needed_at_ns,
                            first_starts * budget_.first_cost_us());
}

Decision MultiplexPolicy::decide(std::uint32_t, std::span<const std::uint32_t> samples,
                                 const Window& window) {
  budget_.begin();
  const double first_us = budget_.first_cost_us();
  const auto measure = [&](int group, bool release) {
    wasted_us_ = 0;
    return Decision{group, release};
  };
  if (window.open) {
    if (!needs(window.group, samples)) return {};
    needed();
    return measure(window.group, false);
  }
  if (++phase_.unneeded % look_at_clock == 0) phase_.fruitless = idle(1);
  const bool over = window.group < 0 || phase_.fruitless ||
                    phase_.spent_ns > static_cast<std::int64_t>(phase_switches * first_us * 1000);
  if (over) {
    // The group with the fewest samples of this shape, if there is one besides the current group.
    int best = -1;
    for (int i = 0; i < static_cast<int>(config_.groups.size()); ++i) {
      if (!needs(i, samples) || i == window.group) continue;
      if (best < 0 || at(samples, i) < at(samples, best)) best = i;
    }
    if (best >= 0) {
      if (!budget_.affords(first_us)) return {};  // wait until it is earned
      needed();
      return measure(best, true);
    }
    phase_.spent_ns = 0;  // continue the phase
  }
  if (window.group >= 0 && needs(window.group, samples)) {
    needed();
    const wire::CollectGroup& group = at(config_.groups, window.group);
    const double start_us = window.enabled ? 0 : first_us - group.switch_us;
    // The launches of several passes must not wait for one another.
    const double window_us = takes_launches(group)
                                 ? group.passes * (group.switch_us + group.launch_us)
                                 : group.switch_us + short_window * group.launch_us;
    if (!budget_.affords(start_us + window_us)) return {};
    return measure(window.group, false);
  }
  if (!phase_.fruitless) return {};
  // This shape is known in all groups. Others may not be, and get the same time again to appear.
  if (level_ == config_.samples) return {Decision::nothing, true};
  if (idle(2)) {
    level_ = config_.samples;
    needed();
  }
  return {};
}

bool MultiplexPolicy::keeps(int group, std::span<const std::uint32_t> samples) const {
  return at(samples, group) < config_.samples;
}

void MultiplexPolicy::launched() {
  budget_.begin();
  budget_.spend(callback_ns);
}

void MultiplexPolicy::measured(int group, std::int64_t ns) {
  const auto expected_ns = static_cast<std::int64_t>(at(config_.groups, group).launch_us * 1000);
  const std::int64_t took = std::max(ns, expected_ns);
  budget_.spend(took);
  phase_.spent_ns += took;
}

void MultiplexPolicy::sampled(int group, std::span<std::uint32_t> samples) {
  if (takes_launches(at(config_.groups, group))) needed();
  ++at(samples, group);
}

bool MultiplexPolicy::stops_waiting(std::int64_t since_ns) const {
  const std::int64_t waited = budget_.now() - since_ns;
  return waited > least_wait_ns && budget_.has_earned(waited, budget_.first_cost_us());
}

// Enough launches that measuring them costs as much as a switch.
std::uint32_t MultiplexPolicy::batch(const wire::CollectGroup& group) const {
  if (takes_launches(group)) return 1;
  if (!config_.grows) return config_.batch;
  return static_cast<std::uint32_t>(
      std::clamp(group.switch_us / group.launch_us, double(config_.batch), largest_batch));
}

void MultiplexPolicy::begun(std::int64_t ns, bool first) {
  // A profiler object's first Start begins a phase.
  phase_.spent_ns = first ? ns : phase_.spent_ns + ns;
}

}  // namespace gpuprof::collect
