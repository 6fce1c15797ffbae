#include "libprof/compute/host_calls.hpp"

#include <algorithm>

#include "libprof/base/saturating.hpp"

namespace gpuprof::compute {
namespace {

// Functions distinguished within a gap, and in all: CUDA has fewer, but a forged file may have any
// number.
constexpr std::size_t most_functions = 4096;

void add_to(std::map<std::int64_t, IdleTime>& functions, std::int64_t function, std::int64_t time) {
  if (time == 0) return;
  if (functions.size() < most_functions || functions.contains(function)) {
    functions[function].add(time);
  }
}

bool is_soon_after(std::int64_t time, std::int64_t launched_until) {
  return time <= saturating_add(launched_until, close_launches);
}

}  // namespace

HostCalls::HostCalls(std::span<const Gap> gaps, std::vector<std::size_t> ends)
    : gaps_(gaps), splits_(gaps.size()), ends_(std::move(ends)) {
  if (ends_.empty()) ends_.push_back(gaps.size());
  blocks_.resize(ends_.size());
  for (std::size_t block = 0; block < ends_.size(); ++block) {
    block_of_.resize(ends_[block], static_cast<std::uint32_t>(block));
  }
}

// The first gap that has not ended at that time.
std::size_t HostCalls::first_after(std::int64_t time) {
  return latest_ = gpuprof::first_after(gaps_, time, latest_);
}

bool HostCalls::is_near_a_gap(std::int64_t begin, std::int64_t end) {
  const std::size_t gap = first_after(saturating_subtract(begin, close_launches + 1));
  return gap < gaps_.size() && is_soon_after(gaps_[gap].begin, end);
}

void HostCalls::add(const HostCall& call) {
  if (call.begin <= 0 || call.end <= call.begin) return;
  know(call.process);
  const std::size_t next = first_after(call.begin);
  const bool in_gap = next < gaps_.size() && gaps_[next].begin < call.end;
  const auto is_close = [&] {
    return (next < gaps_.size() && is_soon_after(gaps_[next].begin, call.end)) ||
           (next > 0 && is_soon_after(call.begin, gaps_[next - 1].end));
  };
  if (in_gap || (call.launches && is_close())) calls_.add(call);
}

TimeSpan HostCalls::before_launch(std::size_t gap, std::int64_t begin, std::int64_t end) const {
  begin = std::max(begin, gaps_[gap].begin);
  end = std::min(end, gaps_[gap].end);
  if (launches_[gap]) end = std::min(end, launches_[gap]->begin);
  return {begin, end};
}

std::int64_t HostCalls::in_launch(std::size_t gap) const {
  const auto& launch = launches_[gap];
  if (!launch) return 0;
  const std::int64_t begin = std::max(launch->begin, gaps_[gap].begin);
  return std::max<std::int64_t>(std::min(launch->arrival, gaps_[gap].end) - begin, 0);
}

void HostCalls::end_gap(Process& process) {
  if (process.functions.empty()) return;
  const std::size_t gap = process.gap;
  if (launches_[gap]) {
    // A function counts once for a gap.
    const auto its = process.functions.find(launches_[gap]->function);
    counted_[gap] = its != process.functions.end();
    if (counted_[gap]) its->second.launching += in_launch(gap);
  }
  Split& split = splits_[gap];
  for (const auto& [function, its] : process.functions) {
    add_to(parts(gap).launches, function, its.launching);
    add_to(parts(gap).calls, function, its.in_calls);
    // A tie must not be decided by the order of a hash table.
    if (std::pair(its.in_calls, its.correlation) > std::pair(split.time, split.correlation)) {
      split.time = its.in_calls;
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
    const TimeSpan its_part = before_launch(gap, begin, call.end);
    const std::int64_t time = its_part.length();
    if (time == 0) continue;
    take_moments(call.process, its_part);
    (call.launches ? splits_[gap].launching : splits_[gap].in_calls) += time;
    if (process.functions.size() == most_functions && !process.functions.contains(call.function)) {
      continue;
    }
    InFunction& its = process.functions[call.function];
    (call.launches ? its.launching : its.in_calls) += time;
    if (!call.launches && time > its.longest) {
      its.longest = time;
      its.correlation = call.correlation;
    }
  }
}

void HostCalls::take_free(Process& process, const HostCall& call) {
  if (!is_soon_after(call.begin, process.launched_until)) return process.free.clear();
  if (call.begin > process.until) process.free.emplace_back(process.until, call.begin);
  if (!call.launches) return;
  for (const auto& [begin, end] : process.free) {
    for (std::size_t gap = first_after(begin); gap < gaps_.size() && gaps_[gap].begin < end;
         ++gap) {
      if (gaps_[gap].behind.process != call.process) continue;
      const TimeSpan its_part = before_launch(gap, begin, end);
      between_[gap] += its_part.length();
      take_moments(call.process, its_part);
    }
  }
  process.free.clear();
}

void HostCalls::sweep() {
  std::unordered_map<std::int64_t, Process> processes;
  calls_.for_each([&](const HostCall& call) {
    Process& process = processes[call.process];
    take_free(process, call);
    if (call.launches) process.launched_until = std::max(process.launched_until, call.end);
    const std::int64_t begin = std::max(call.begin, process.until);
    if (call.end <= begin) return;
    process.until = call.end;
    take(process, call, begin);
  });
  for (auto& [id, process] : processes) end_gap(process);
}

// Adds what the calls in a gap do not show.
void HostCalls::end(std::size_t gap) {
  Split& split = splits_[gap];
  const std::int64_t own = in_launch(gap);
  split.launching += own + between_[gap];
  parts(gap).between_launches.add(between_[gap]);
  if (!launches_[gap]) return;
  if (!counted_[gap]) add_to(parts(gap).launches, launches_[gap]->function, own);
  const std::int64_t arrival = std::max(launches_[gap]->arrival, gaps_[gap].begin);
  split.queued = std::max<std::int64_t>(gaps_[gap].end - arrival, 0);
  IdleParts& its = parts(gap);
  (launches_[gap]->for_event ? its.queued_for_event : its.queued).add(split.queued);
}

void HostCalls::take_moments(std::int64_t process, const TimeSpan& time) {
  if (!moments_ || time.length() == 0) return;
  const auto all = moments_->of(process);
  auto moment = std::ranges::lower_bound(all, time.begin, {}, &HostMoments::Moment::time);
  if (moment == all.end() || moment->time >= time.end) return;
  std::vector<bool>& taken = taken_[process];
  taken.resize(all.size());
  for (; moment != all.end() && moment->time < time.end; ++moment) {
    taken[static_cast<std::size_t>(moment - all.begin())] = true;
  }
}

void HostCalls::divide_away(const std::vector<std::optional<Split>>& splits, std::size_t gap,
                            std::size_t end, Of& block) const {
  struct Away {
    std::int64_t time = 0;
    std::map<std::uint32_t, IdleTime> causes;  // of each the number of moments, and gaps
  };
  std::map<std::int64_t, Away> processes;
  IdleTime& unknown = block.away[""];
  for (; gap < end; ++gap) {
    const std::int64_t time = splits[gap] ? splits[gap]->no_call(gaps_[gap]) : 0;
    const std::int64_t process = gaps_[gap].behind.process;
    const auto all = moments_ ? moments_->of(process) : std::span<const HostMoments::Moment>();
    if (time <= 0 || all.empty()) {
      unknown.add(time);
      continue;
    }
    Away& away = processes[process];
    away.time += time;
    const TimeSpan its_part = before_launch(gap, gaps_[gap].begin, gaps_[gap].end);
    const auto taken = taken_.find(process);
    std::map<std::uint32_t, std::int64_t> counts;
    for (auto moment =
             std::ranges::lower_bound(all, its_part.begin, {}, &HostMoments::Moment::time);
         moment != all.end() && moment->time < its_part.end; ++moment) {
      const auto place = static_cast<std::size_t>(moment - all.begin());
      if (taken == taken_.end() || !taken->second[place]) ++counts[moment->cause];
    }
    for (const auto& [cause, count] : counts) away.causes[cause].add(count);
  }
  for (const auto& [process, away] : processes) {
    std::int64_t count = 0, before = 0;
    for (const auto& [cause, its] : away.causes) count += its.time;
    if (count == 0) unknown.add(away.time);
    // The parts add up to the time.
    for (const auto& [cause, its] : away.causes) {
      const auto until = [&](std::int64_t moments) {
        return static_cast<std::int64_t>(static_cast<__int128>(away.time) * moments / count);
      };
      IdleTime& part = block.away[moments_->words_of(cause)];
      part.time += until(before + its.time) - until(before);
      part.gaps += its.gaps;
      before += its.time;
    }
  }
}

std::vector<std::optional<HostCalls::Split>> HostCalls::finish(
    std::vector<std::optional<GapLaunch>> launches, const HostMoments* moments) {
  launches_ = std::move(launches);
  moments_ = moments;
  launches_.resize(gaps_.size());
  between_.resize(gaps_.size());
  counted_.resize(gaps_.size());
  sweep();
  std::vector<std::optional<Split>> found(gaps_.size());
  for (std::size_t gap = 0; gap < gaps_.size(); ++gap) {
    if (!processes_.contains(gaps_[gap].behind.process)) continue;
    end(gap);
    found[gap] = splits_[gap];
  }
  std::size_t first = 0;
  for (std::size_t block = 0; block < ends_.size(); ++block) {
    divide_away(found, first, ends_[block], blocks_[block]);
    first = ends_[block];
  }
  return found;
}

}  // namespace gpuprof::compute
