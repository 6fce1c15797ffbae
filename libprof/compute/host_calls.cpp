#include "libprof/compute/host_calls.hpp"

#include <algorithm>

namespace gpuprof::compute {
namespace {

// Functions distinguished within a gap, and in all: CUDA has fewer, but a forged file may have any
// number.
constexpr std::size_t most_functions = 4096;

}  // namespace

// The first gap that has not ended at that time.
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

void HostCalls::add(const HostCall& call) {
  if (call.begin <= 0 || call.end <= call.begin) return;
  processes_.insert(call.process);
  const std::size_t gap = first_after(call.begin);
  if (gap < gaps_.size() && gaps_[gap].begin < call.end) calls_.add(call);
}

void HostCalls::end_gap(Process& process) {
  if (process.functions.empty()) return;
  Split& split = splits_[process.gap];
  for (const auto& [function, its] : process.functions) {
    if (functions_.size() < most_functions || functions_.contains(function)) {
      Total& total = functions_[function];
      total.time += its.time;
      ++total.gaps;
    }
    // A tie must not be decided by the order of a hash table.
    if (std::pair(its.time, its.correlation) > std::pair(split.time, split.correlation)) {
      split.time = its.time;
      split.correlation = its.correlation;
    }
  }
  process.functions.clear();
}

void HostCalls::take(Process& process, const HostCall& call, std::int64_t begin) {
  const auto go_to = [&](std::size_t gap) {
    if (gap != process.gap) end_gap(process);
    process.gap = gap;
  };
  std::size_t gap = process.gap;
  while (gap < gaps_.size() && gaps_[gap].end <= begin) ++gap;
  go_to(gap);
  for (; gap < gaps_.size() && gaps_[gap].begin < call.end; ++gap) {
    go_to(gap);
    if (gaps_[gap].behind.process != call.process) continue;
    const std::int64_t time =
        std::min(call.end, gaps_[gap].end) - std::max(begin, gaps_[gap].begin);
    splits_[gap].in_calls += time;
    if (process.functions.size() == most_functions && !process.functions.contains(call.function)) {
      continue;
    }
    InFunction& its = process.functions[call.function];
    its.time += time;
    if (time > its.longest) {
      its.longest = time;
      its.correlation = call.correlation;
    }
  }
}

std::vector<std::optional<HostCalls::Split>> HostCalls::finish() {
  std::unordered_map<std::int64_t, Process> processes;
  calls_.for_each([&](const HostCall& call) {
    Process& process = processes[call.process];
    const std::int64_t begin = std::max(call.begin, process.until);
    if (call.end <= begin) return;
    process.until = call.end;
    take(process, call, begin);
  });
  for (auto& [id, process] : processes) end_gap(process);
  std::vector<std::optional<Split>> found(gaps_.size());
  for (std::size_t i = 0; i < gaps_.size(); ++i) {
    if (processes_.contains(gaps_[i].behind.process)) found[i] = splits_[i];
  }
  return found;
}

}  // namespace gpuprof::compute
