#include <algorithm>
#include <unordered_map>

#include "libprof/conclude/simulate/change.hpp"
#include "libprof/conclude/simulate/read_schedule.hpp"
#include "libprof/read/columns/reader.hpp"
#include "libprof/read/one_number.hpp"

namespace gpuprof::simulate {
namespace {

using compute::GpuWork;

std::uint16_t mend_of_copy(std::uint8_t copied) {
  return copied & GpuWork::pageable   ? pageable_copies
         : copied & GpuWork::blocking ? blocking_copies
                                      : other_copies;
}

// GPU work of the window as it comes, in start order.
class Works {
 public:
  explicit Works(Read& read) : read_(read) {
    names_.of(0);  // of work that is no kernel
    read_.schedule.names.push_back(0);
    read_.schedule.counts.push_back(0);
  }

  void add(const GpuWork& each) {
    Schedule& schedule = read_.schedule;
    const std::uint32_t device = device_of(each.device);
    Device& its = schedule.devices[device];
    if (schedule.from && each.begin < *schedule.from) {
      its.before = true;
      if (each.end <= *schedule.from) return;
    }
    const bool follows = schedule.to && each.begin >= *schedule.to;
    if (follows && its.after != none) return;
    const auto number = static_cast<std::uint32_t>(schedule.works.size());
    if (follows) its.after = number;
    Work work{.begin = each.begin, .device = device, .kind = each.kind};
    work.follows = follows;
    if (schedule.from && work.begin < *schedule.from) {
      work.begin = *schedule.from;
      work.fixed = true;
    }
    work.length = length_between(work.begin, each.end);
    work.stream = stream_of(each);
    work.name = name_of(each.name);
    if (each.direction == 1 || each.direction == 2) {
      work.direction = static_cast<std::uint8_t>(each.direction);
      work.copied = mend_of_copy(each.copied);
    }
    add_gap(number, work, its);
    put_after(number, work, each);
    schedule.works.push_back(work);
    read_.correlations.push_back(each.correlation);
  }

 private:
  std::uint32_t device_of(std::int64_t id) {
    const std::uint32_t device = read_.devices.of(id);
    if (device == read_.schedule.devices.size()) {
      read_.schedule.devices.push_back({.id = id});
      until_.push_back(read_.schedule.from.value_or(0));
    }
    return device;
  }

  std::uint32_t stream_of(const GpuWork& work) {
    const std::uint32_t stream = read_.streams.of({work.process, work.stream});
    if (stream == read_.schedule.streams.size()) {
      read_.schedule.streams.push_back({.process = read_.processes.of(work.process)});
      read_.context_of.push_back(read_.contexts.of({work.process, work.stream >> 32}));
      latest_.push_back(none);
    }
    return stream;
  }

  std::uint32_t name_of(std::int32_t id) {
    const std::uint32_t name = names_.of(id);
    if (name == read_.schedule.names.size()) {
      read_.schedule.names.push_back(id);
      read_.schedule.counts.push_back(0);
    }
    ++read_.schedule.counts[name];
    return name;
  }

  void add_gap(std::uint32_t number, const Work& work, const Device& device) {
    std::int64_t& until = until_[work.device];
    const bool first = until == 0 || (until == read_.schedule.from && !device.before);
    if (!first && work.begin > until) {
      read_.schedule.gaps.push_back({.begin = until, .work = number});
    }
    until = std::max(until, work.end());
  }

  // Work that overlaps the work before it in its stream without being of the same launch, as nodes
  // of a graph are, is a programmatic dependent launch, which only kernels can be.
  void put_after(std::uint32_t number, Work& work, const GpuWork& each) {
    std::uint32_t& latest = latest_[work.stream];
    if (latest != none && !work.fixed && read_.schedule.works[latest].end() > work.begin) {
      work.overlaps = each.is_kernel() && read_.schedule.works[latest].name != 0 &&
                      read_.correlations[latest] != each.correlation;
    }
    read_.before.push_back(latest);
    latest = number;
  }

  Read& read_;
  Numbers<std::int32_t, std::hash<std::int32_t>> names_;
  std::vector<std::int64_t> until_;    // by device: the latest end so far
  std::vector<std::uint32_t> latest_;  // by stream: its latest work
};

}  // namespace

void read_works(store::Snapshot& snapshot, Read& read, const Check& check) {
  const std::optional<std::int64_t> from = read.schedule.from, to = read.schedule.to;
  std::optional<Works> works;
  const std::size_t most = compute::most_gpu_work(snapshot.database());
  const auto restart = [&] {
    read = {};
    read.schedule.from = from;
    read.schedule.to = to;
    // Room that is not used takes no memory; what grows has, for a while, three times its size.
    read.schedule.works.reserve(most);
    read.schedule.gaps.reserve(most);
    read.correlations.reserve(most);
    read.before.reserve(most);
    read.calls.reserve(most);
    works.emplace(read);
  };
  restart();
  compute::read_gpu_work(snapshot, {.visit = [&](const GpuWork& work) { works->add(work); },
                                    .restart = restart,
                                    .check = check});
  read.schedule.queues = static_cast<std::uint32_t>(read.schedule.streams.size());
}

// Copies of pinned memory reach 0.8 of the link's rate: 51 GB/s were seen of 63
// (docs/measurements.md, the twin of pageable_results).
void read_pinned(store::Snapshot& snapshot, Read& read) {
  const auto is_pageable = [](const Work& work) { return work.copied == pageable_copies; };
  if (std::ranges::none_of(read.schedule.works, is_pageable)) return;
  try {
    auto rows = snapshot.database().prepare(R"(
      SELECT m.deviceId, m.copyKind, sum(m.bytes) / (0.8 * l.speed) / sum(m."end" - m.start)
      FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m
      JOIN (SELECT deviceId, max(linkWidth *
                     CASE pcieGeneration WHEN 1 THEN 0.25 WHEN 2 THEN 0.5 WHEN 3 THEN 0.985
                                         WHEN 4 THEN 1.969 WHEN 5 THEN 3.938 WHEN 6 THEN 7.563
                     END) AS speed
            FROM CUPTI_ACTIVITY_KIND_PCIE WHERE type = 0 GROUP BY deviceId) AS l
        ON l.deviceId = m.deviceId
      WHERE m.copyKind IN (1, 2) AND 1 IN (m.srcKind, m.dstKind) AND 0 < m.start AND m.start < m."end"
      GROUP BY m.deviceId, m.copyKind)");
    while (rows.step()) {
      const std::uint32_t device = read.devices.find(rows.integer(0));
      const double share = rows.real(2);
      if (device == none || !(share > 0 && share < 1)) continue;
      read.schedule.devices[device].pinned[rows.integer(1) - 1] = share;
    }
  } catch (const store::DatabaseError& error) {
    if (!reading::is_of_content(error)) throw;
  }
}

// Work of the default stream waits for that of streams that block with it, and they for it.
void read_stream_flags(store::Snapshot& snapshot, Read& read, const Check& check) {
  constexpr std::int64_t blocks = 1, is_default = 3;  // CUpti_ActivityStreamFlag
  Schedule& schedule = read.schedule;
  std::vector<std::int64_t> flags(schedule.streams.size());
  columns::Reader reader(snapshot, {.table = "CUPTI_ACTIVITY_KIND_STREAM",
                                    .columns = {"processId", "contextId", "streamId", "flag"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const std::int64_t stream = whole(chunk[1], row) << 32 | (whole(chunk[2], row) & 0xffffffff);
      const std::uint32_t number = read.streams.find({whole(chunk[0], row), stream});
      if (number != none) flags[number] = whole(chunk[3], row);
    }
  });
  // Two queues for each context with both kinds: of the default stream, and of all of these.
  std::unordered_map<std::uint32_t, std::uint32_t> kinds;  // by context
  for (std::size_t i = 0; i < flags.size(); ++i) {
    kinds[read.context_of[i]] |=
        (flags[i] == blocks ? 1U : 0U) | (flags[i] == is_default ? 2U : 0U);
  }
  std::unordered_map<std::uint32_t, std::uint32_t> queues;
  for (std::size_t i = 0; i < flags.size(); ++i) {
    const std::uint32_t context = read.context_of[i];
    if (kinds[context] != 3 || (flags[i] != blocks && flags[i] != is_default)) continue;
    const auto [queue, fresh] = queues.try_emplace(context, schedule.queues);
    if (fresh) schedule.queues += 2;
    schedule.streams[i].also_waits_for = queue->second + (flags[i] == is_default);
    schedule.streams[i].also_is_in = queue->second + (flags[i] != is_default);
  }
}

}  // namespace gpuprof::simulate
