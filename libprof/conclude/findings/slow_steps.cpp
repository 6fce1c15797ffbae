#include "libprof/conclude/findings/slow_steps.hpp"

#include <algorithm>
#include <cstddef>
#include <functional>
#include <utility>

#include "libprof/base/percentiles.hpp"
#include "libprof/base/saturating.hpp"

namespace gpuprof::findings {
namespace {

using Span = std::pair<std::int64_t, std::int64_t>;

std::int64_t length(const Span& span) { return saturating_subtract(span.second, span.first); }

std::int64_t median(std::vector<std::int64_t> values) {
  return at_place(values, values.size() / 2);
}

// In the order of time.
std::vector<Span> slow_of(const std::vector<Span>& steps) {
  std::vector<std::int64_t> times, deviations;
  for (const Span& step : steps) times.push_back(length(step));
  const std::int64_t usual = median(times);
  for (const std::int64_t time : times) {
    deviations.push_back(std::max(saturating_subtract(time, usual), usual - time));
  }
  const double least =
      static_cast<double>(usual) + std::max(0.2 * static_cast<double>(usual),
                                            5 * 1.4826 * static_cast<double>(median(deviations)));
  std::vector<Span> slow;
  for (const Span& step : steps) {
    if (static_cast<double>(length(step)) > least) slow.push_back(step);
  }
  if (slow.size() > std::max<std::size_t>(steps.size() / 10, 1)) return {};
  if (slow.size() > SlowSteps::most) {
    std::ranges::nth_element(slow, slow.begin() + SlowSteps::most, std::greater{}, length);
    slow.resize(SlowSteps::most);
    std::ranges::sort(slow);
  }
  return slow;
}

}  // namespace

SlowSteps read_slow_steps(store::Snapshot& snapshot, const reading::JudgedWindow& judged,
                          const Room& all, const std::function<void()>& check) {
  if (judged.starts.size() < SlowSteps::fewest_steps) return {};
  std::vector<Span> steps;
  for (std::size_t i = 0; i < judged.starts.size(); ++i) {
    const bool is_last = i + 1 == judged.starts.size();
    steps.emplace_back(judged.starts[i], is_last ? *judged.window.to : judged.starts[i + 1]);
  }
  const std::vector<Span> slow = slow_of(steps);
  if (slow.empty()) return {};
  std::vector<compute::TimeBounds> windows;
  for (const Span& step : slow) windows.push_back({step.first, step.second});
  const auto accounts = compute::read_accounts(snapshot, windows, check);
  SlowSteps found{.steps = {}, .usual = all};
  for (std::size_t i = 0; i < slow.size(); ++i) {
    Room parts = room_of(account_lines(accounts[i]));
    for (const auto& [device, its] : parts) {  // a part that only they have is there, too
      for (const auto& [part, ns] : its) found.usual[device][part] -= ns;
    }
    for (const auto& [device, its] : found.usual) {
      for (const auto& [part, ns] : its) parts[device].try_emplace(part, 0);
    }
    found.steps.push_back({slow[i].first, slow[i].second, std::move(parts)});
  }
  const auto others = static_cast<std::int64_t>(steps.size() - slow.size());
  for (auto& [device, its] : found.usual) {
    for (auto& [part, ns] : its) ns = std::max<std::int64_t>(ns, 0) / others;
  }
  return found;
}

}  // namespace gpuprof::findings
