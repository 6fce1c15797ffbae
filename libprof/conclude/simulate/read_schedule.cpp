#include "libprof/conclude/simulate/read_schedule.hpp"

#include <algorithm>
#include <numeric>

#include "libprof/conclude/simulate/waits.hpp"

namespace gpuprof::simulate {

const Call* Read::find_call(std::int64_t correlation) const {
  const auto found = std::ranges::lower_bound(calls, correlation, {}, &Call::correlation);
  return found == calls.end() || found->correlation != correlation ? nullptr : &*found;
}

std::uint32_t find_before(const Read& read, std::uint32_t work, std::int64_t launched_before,
                          std::int64_t over_by, std::uint32_t most) {
  for (std::uint32_t steps = 0; work != none && steps < most; ++steps) {
    if (read.schedule.works[work].end() <= over_by && read.launched(work) < launched_before) {
      return work;
    }
    work = read.before[work];
  }
  return none;
}

namespace {

// Gives one number to processes that share a device.
void number_processes(Read& read) {
  std::vector<std::uint32_t> group(read.processes.count());
  std::iota(group.begin(), group.end(), 0U);
  const auto find = [&](std::uint32_t process) {
    while (group[process] != process) process = group[process] = group[group[process]];
    return process;
  };
  Schedule& schedule = read.schedule;
  std::vector<std::uint32_t> user(schedule.devices.size(), none);
  for (const Work& work : schedule.works) {
    const std::uint32_t process = schedule.streams[work.stream].process;
    if (user[work.device] == none) user[work.device] = process;
    if (user[work.device] != process) group[find(process)] = find(user[work.device]);
  }
  for (Stream& stream : schedule.streams) stream.process = find(stream.process);
  if (group.empty()) return;
  for (Anchor& anchor : schedule.anchors) anchor.process = find(anchor.process);
  for (CostlyCall& each : schedule.costly_calls) each.process = find(each.process);
  schedule.processes = read.processes.count();
}

}  // namespace

Schedule read_schedule(store::Snapshot& snapshot, std::optional<std::int64_t> from,
                       std::optional<std::int64_t> to, const std::function<void()>& check,
                       const std::function<void()>& before_calls) {
  if (from) from = std::max<std::int64_t>(*from, 0);  // so that no length overflows
  Read read;
  read.schedule.from = from;
  read.schedule.to = to;
  read_works(snapshot, read, check);
  // What reading took is as much as what comes of it.
  snapshot.database().release_memory();
  read_pinned(snapshot, read);
  read_stream_flags(snapshot, read, check);
  read_synchronizations(snapshot, read, check);
  if (before_calls) before_calls();
  read_calls(snapshot, read, check);
  snapshot.database().release_memory();
  join_launches(read);
  const std::vector<Wait> waits = read_waits(read);
  find_targets(read, waits, find_anchors(read, waits));
  number_processes(read);
  return std::move(read.schedule);
}

}  // namespace gpuprof::simulate
