#include "libprof/derive/derive.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <utility>
#include <vector>

#include "libprof/columns/reader.hpp"
#include "libprof/derive/device_time.hpp"
#include "libprof/derive/gpu_work.hpp"
#include "libprof/derive/host_calls.hpp"
#include "libprof/derive/launch_ranges.hpp"
#include "libprof/derive/nvtx_paths.hpp"
#include "libprof/derive/range_index.hpp"
#include "libprof/intervals/busy.hpp"
#include "libprof/store/scan.hpp"
#include "schema/derived.hpp"
#include "schema/gpu_kinds.hpp"

namespace gpuprof::derive {
namespace {

// Empties the table. An INSERT with a parameter for each of its columns.
store::Statement fill(store::Database& database, const schema::Table& table) {
  const std::string name = "main." + std::string(table.name);
  database.execute("DELETE FROM " + name);
  std::string columns, values;
  for (const schema::Column& column : table.columns) {
    columns += (columns.empty() ? "" : ", ") + store::quoted_name(column.name);
    values += values.empty() ? "?" : ", ?";
  }
  return database.prepare("INSERT INTO " + name + "(" + columns + ") VALUES(" + values + ")");
}

void bind_or_null(store::Statement& statement, int index, std::int64_t value) {
  value == 0 ? statement.bind_null(index) : statement.bind(index, value);
}

// Work counts for so many ranges, from the innermost on. A program that opens ranges and never
// closes them nests them without end.
constexpr int most_levels = 32;

// What a device did for a range.
struct RangeWork {
  std::int64_t work = 0;
  std::int64_t kernels = 0;
  intervals::Busy busy;
};

std::string_view type_of(const GpuWork& work) { return schema::gpu_kinds[work.kind].type; }

struct Device {
  DeviceTime time;
  std::vector<Gap> gaps;
  std::vector<HostCalls::Call> calls;  // by gap
};

}  // namespace

struct Derivation::Found {
  Sorted<GpuWork> work;
  std::map<std::int64_t, Device> devices;
  LaunchRanges launches;
  // The ranges that have launches, and what is around these.
  std::unordered_map<std::int64_t, std::int64_t> around;

  void read(store::Snapshot& snapshot, const std::function<void()>& check);
  void read_calls(store::Snapshot& snapshot, const RangeIndex& ranges,
                  const CorrelationSet& asked_for, const std::function<void()>& check);
  void remember(const RangeIndex& ranges, std::int64_t range);
  void write_ranges(store::Database& database);
  void write_devices(store::Database& database);
};

void Derivation::Found::read(store::Snapshot& snapshot, const std::function<void()>& check) {
  CorrelationSet asked_for;
  read_gpu_work(snapshot, work, asked_for, check);
  work.for_each([&](const GpuWork& each) { devices[each.device].time.add(each); });
  for (auto& [number, device] : devices) {
    device.time.finish();
    device.gaps = device.time.gaps();
  }
  if (work.empty()) return;
  const RangeIndex ranges(snapshot);
  read_calls(snapshot, ranges, asked_for, check);
}

void Derivation::Found::remember(const RangeIndex& ranges, std::int64_t range) {
  while (range != 0 && !around.contains(range)) {
    range = around.emplace(range, ranges.around(range)).first->second;
  }
}

// Calls that asked for work, with their ranges; and what took the gaps.
void Derivation::Found::read_calls(store::Snapshot& snapshot, const RangeIndex& ranges,
                                   const CorrelationSet& asked_for,
                                   const std::function<void()>& check) {
  std::vector<HostCalls> hosts;
  for (const auto& [number, device] : devices) hosts.emplace_back(device.gaps);
  // Where both have a call of one id, that of the runtime counts.
  for (const char* table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"}) {
    columns::Reader reader(
        snapshot,
        {.table = table, .columns = {"correlationId", "start", "end", "processId", "threadId"}});
    reader.read([&](const columns::Chunk& chunk) {
      check();
      const auto correlation = chunk[0].int64s(), start = chunk[1].int64s(),
                 end = chunk[2].int64s(), process = chunk[3].int64s(), thread = chunk[4].int64s();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        for (HostCalls& host : hosts) {
          host.add(process[row], start[row], end[row], correlation[row]);
        }
        if (ranges.empty() || start[row] <= 0 || !asked_for.contains(correlation[row])) continue;
        const auto match = ranges.at(process[row], thread[row], start[row]);
        launches.add(correlation[row], match);
        if (match) remember(ranges, match->range);
      }
    });
  }
  auto host = hosts.begin();
  for (auto& [number, device] : devices) {
    const auto calls = (host++)->finish();
    device.calls.assign(calls.begin(), calls.end());
  }
}

void Derivation::Found::write_ranges(store::Database& database) {
  database.execute("DELETE FROM main.LAUNCH_RANGE");
  launches.write(database);
  // Of each device, by range. Ranges around which there is work that did not get to them.
  std::map<std::int64_t, std::unordered_map<std::int64_t, RangeWork>> ranges;
  std::unordered_set<std::int64_t> incomplete;
  if (!around.empty()) {
    work.for_each([&](const GpuWork& each) {
      std::int64_t range = launches.range_of(each.correlation);
      if (range == 0) return;
      auto& of_device = ranges[each.device];
      for (int level = 0; range != 0 && level < most_levels; ++level) {
        RangeWork& its = of_device[range];
        ++its.work;
        its.kernels += each.is_kernel();
        its.busy.add(each.begin, each.end);
        range = around.at(range);
      }
      while (range != 0 && incomplete.insert(range).second) range = around.at(range);
    });
  }
  store::Statement insert = fill(database, schema::tables::range_time);
  for (const auto& [device, of_device] : ranges) {
    std::vector<std::int64_t> in_order;
    for (const auto& [range, its] : of_device) {
      if (!incomplete.contains(range)) in_order.push_back(range);
    }
    std::ranges::sort(in_order);
    for (const std::int64_t range : in_order) {
      const RangeWork& its = of_device.at(range);
      insert.bind(1, range).bind(2, device).bind(3, its.work).bind(4, its.kernels);
      insert.bind(5, its.busy.ns()).bind(6, its.busy.first()).bind(7, its.busy.until()).run();
    }
  }
}

void Derivation::Found::write_devices(store::Database& database) {
  store::Statement insert = fill(database, schema::tables::device_time);
  for (const auto& [number, device] : devices) {
    const DeviceTime& time = device.time;
    insert.bind(1, number).bind(2, time.first()).bind(3, time.last()).bind(4, time.busy());
    insert.bind(5, time.kernels_only()).bind(6, time.copies_only()).bind(7, time.both());
    insert.bind(8, time.gap_count()).run();
  }
  insert = fill(database, schema::tables::stream_time);
  for (const auto& [number, device] : devices) {
    for (const auto& [streams, duration] : device.time.streams()) {
      insert.bind(1, number).bind(2, streams).bind(3, duration).run();
    }
  }
  insert = fill(database, schema::tables::gpu_gap);
  for (const auto& [number, device] : devices) {
    for (std::size_t i = 0; i < device.gaps.size(); ++i) {
      const Gap& gap = device.gaps[i];
      const HostCalls::Call& call = device.calls[i];
      insert.bind(1, number).bind(2, gap.begin).bind(3, gap.end);
      insert.bind(4, type_of(gap.before)).bind(5, std::int64_t{gap.before.name});
      insert.bind(6, type_of(gap.behind)).bind(7, std::int64_t{gap.behind.name});
      insert.bind(8, gap.behind.correlation);
      bind_or_null(insert, 9, call.correlation);
      bind_or_null(insert, 10, call.time);
      bind_or_null(insert, 11, launches.range_of(gap.behind.correlation));
      insert.run();
    }
  }
}

Derivation::Derivation(store::Database& database, const std::function<bool()>& stop)
    : found_(std::make_unique<Found>()) {
  store::Snapshot snapshot(database);
  found_->read(snapshot, [&] {
    if (stop && stop()) {
      throw store::DatabaseError("what follows from the records is not computed", "",
                                 ExitCode::internal, store::DatabaseError::Kind::interrupted);
    }
  });
}

Derivation::~Derivation() = default;

void Derivation::write(store::Database& database) {
  write_nvtx_paths(database);
  found_->write_ranges(database);
  found_->write_devices(database);
}

}  // namespace gpuprof::derive
