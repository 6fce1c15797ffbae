#include "libprof/derive/host_calls.hpp"

#include <algorithm>

namespace gpuprof::derive {
namespace {

// A call that lies in more gaps than this waits: of such calls only some are looked at, so that
// calls times gaps is bounded.
constexpr std::size_t many = 16;
constexpr std::size_t most_long = 1024;

}  // namespace

HostCalls::HostCalls(std::span<const Gap> gaps) : gaps_(gaps), calls_(gaps.size()) {}

// The first gap that is not over at that time. Calls come nearly in the order of time.
std::size_t HostCalls::first_after(std::int64_t time) {
  const auto is_it = [&](std::size_t place) {
    return (place == 0 || gaps_[place - 1].end <= time) &&
           (place == gaps_.size() || gaps_[place].end > time);
  };
  if (!is_it(latest_)) {
    const auto found = std::ranges::upper_bound(gaps_, time, {}, &Gap::end);
    latest_ = static_cast<std::size_t>(found - gaps_.begin());
  }
  return latest_;
}

std::size_t HostCalls::take(const Whole& call, std::size_t most) {
  auto gap = gaps_.begin() + static_cast<std::ptrdiff_t>(first_after(call.begin));
  std::size_t taken = 0;
  for (; gap != gaps_.end() && gap->begin < call.end && taken < most; ++gap, ++taken) {
    if (gap->behind.process != call.process) continue;
    const std::int64_t time = std::min(call.end, gap->end) - std::max(call.begin, gap->begin);
    Call& best = calls_[static_cast<std::size_t>(gap - gaps_.begin())];
    if (time > best.time) best = {call.correlation, time};
  }
  return taken;
}

void HostCalls::add(std::int64_t process, std::int64_t begin, std::int64_t end,
                    std::int64_t correlation) {
  if (begin <= 0 || end <= begin) return;
  const Whole call{process, begin, end, correlation};
  if (take(call, many) < many) return;
  const auto longer = [](const Whole& a, const Whole& b) { return a.length() > b.length(); };
  if (long_.size() == most_long) {
    if (!longer(call, long_.front())) return;
    std::ranges::pop_heap(long_, longer);
    long_.pop_back();
  }
  long_.push_back(call);
  std::ranges::push_heap(long_, longer);
}

std::span<const HostCalls::Call> HostCalls::finish() {
  for (const Whole& call : long_) take(call, gaps_.size());
  return calls_;
}

}  // namespace gpuprof::derive
