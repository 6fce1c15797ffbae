#include "libprof/conclude/simulate/cuts.hpp"

#include <algorithm>
#include <utility>

#include "libprof/base/time_spans.hpp"
#include "libprof/conclude/simulate/read_schedule.hpp"

namespace gpuprof::simulate {
namespace {

// What the change takes from a gap that has this length until its work was ready.
std::int64_t cut_of(const Work& work, const HostInGap& host, std::int64_t length,
                    std::int64_t until_ready, const Change& change) {
  const bool is_short = length <= longest_short_gap;
  std::int64_t cut = 0;
  if (change.has(gaps) || (change.has(short_gaps) && is_short && !work.after_wait))
    cut = until_ready;
  if (change.has(away) && !is_short) cut += host.no_call;
  if (change.has(allocating)) cut += host.allocating;
  if (change.has(loading)) cut += host.loading;
  if (change.has(pools)) cut += host.pools;
  return std::min(cut, until_ready);
}

}  // namespace

Cuts::Cuts(const Schedule& schedule, const Change& change) {
  if (!change.has(gaps | short_gaps | away | allocating | loading | pools)) return;
  by_process_.resize(schedule.processes);
  std::uint32_t launched = 0;
  std::vector<const Work*> latest(schedule.streams.size());
  const auto cut_launches = [&](std::uint32_t last) {
    for (; change.has(short_gaps) && launched <= last; ++launched) {
      const Work& work = schedule.works[launched];
      cut_launch(schedule, work, latest[work.stream]);
    }
  };
  for (const Gap& gap : schedule.gaps) {
    cut_launches(gap.work);
    cut_gap(schedule, gap, change);
  }
  if (!schedule.works.empty()) {
    cut_launches(static_cast<std::uint32_t>(schedule.works.size() - 1));
  }
  if (change.has(allocating | loading)) cut_calls(schedule, change);
  for (OfProcess& process : by_process_) put_in_order(process.cuts);
}

void Cuts::cut_gap(const Schedule& schedule, const Gap& gap, const Change& change) {
  const Work& work = schedule.works[gap.work];
  const std::int64_t until_ready = work.ready - gap.begin;
  if (work.ready == 0 || until_ready <= 0) return;
  const HostInGap host = gap.host == none ? HostInGap() : schedule.hosts[gap.host];
  const std::int64_t length = work.begin - gap.begin;
  const std::uint32_t process = schedule.streams[work.stream].process;
  if (change.has(away) && length > longest_short_gap && host.no_call > 0) {
    cut(process, gap.begin - host.away_before, gap.begin);
  }
  cut(process, work.ready - cut_of(work, host, length, until_ready, change), work.ready);
}

void Cuts::cut_launch(const Schedule& schedule, const Work& work, const Work*& latest) {
  if (work.ready == 0) return;
  const Work* const before = std::exchange(latest, &work);
  if (!before || before->anchor != work.anchor) return;
  if (work.ready - before->ready > longest_short_gap) return;
  cut(schedule.streams[work.stream].process, before->ready, work.ready);
}

void Cuts::cut_calls(const Schedule& schedule, const Change& change) {
  const auto is_cut = [&](const CostlyCall& call) { return change.has(call.mended_by); };
  if (std::ranges::none_of(schedule.costly_calls, is_cut)) return;
  using Idle = std::pair<std::int64_t, std::int64_t>;
  std::vector<std::vector<Idle>> idle(schedule.processes);
  for (const Gap& gap : schedule.gaps) {
    const Work& work = schedule.works[gap.work];
    idle[schedule.streams[work.stream].process].emplace_back(gap.begin, work.begin);
  }
  for (auto& each : idle) std::ranges::sort(each);
  for (const CostlyCall& call : schedule.costly_calls) {
    if (!is_cut(call)) continue;
    const auto& gaps = idle[call.process];
    const auto next = std::ranges::upper_bound(gaps, call.begin, {}, &Idle::first);
    if (next != gaps.begin() && (next - 1)->second > call.begin) continue;  // it began in a gap
    const std::int64_t end = next == gaps.end() ? call.end : std::min(call.end, next->first);
    cut(call.process, call.begin, end);
  }
}

// Most come in order, and next to each other.
void Cuts::cut(std::uint32_t process, std::int64_t begin, std::int64_t end) {
  if (begin >= end) return;
  any_ = true;
  std::vector<Cut>& cuts = by_process_[process].cuts;
  if (!cuts.empty() && cuts.back().begin <= begin && begin <= cuts.back().end) {
    cuts.back().end = std::max(cuts.back().end, end);
  } else {
    cuts.push_back({.begin = begin, .end = end});
  }
}

void Cuts::put_in_order(std::vector<Cut>& cuts) {
  unite(cuts);
  std::int64_t before = 0;
  for (Cut& cut : cuts) {
    cut.before = before;
    before += cut.end - cut.begin;
  }
}

std::int64_t Cuts::cut_before(OfProcess& process, std::int64_t time) {
  const std::vector<Cut>& cuts = process.cuts;
  // The first cut that begins later; times are mostly asked for in order.
  std::size_t next = process.latest;
  if ((next > 0 && cuts[next - 1].begin > time) ||
      (next + 8 < cuts.size() && cuts[next + 8].begin <= time)) {
    next = static_cast<std::size_t>(std::ranges::upper_bound(cuts, time, {}, &Cut::begin) -
                                    cuts.begin());
  } else {
    while (next < cuts.size() && cuts[next].begin <= time) ++next;
  }
  process.latest = next;
  if (next == 0) return 0;
  const Cut& last = cuts[next - 1];
  return last.before + std::min(time, last.end) - last.begin;
}

}  // namespace gpuprof::simulate
