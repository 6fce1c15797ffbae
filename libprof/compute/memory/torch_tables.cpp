#include "libprof/compute/memory/torch_tables.hpp"

#include <algorithm>
#include <cstdlib>
#include <string_view>
#include <tuple>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/read/clocks.hpp"

namespace gpuprof::memory {
namespace {

using DeviceAddress = std::pair<std::int64_t, std::int64_t>;

// How many bytes of address ranges are in a device's segments.
class Segments {
 public:
  explicit Segments(const std::vector<TorchSegment>& segments) {
    for (const TorchSegment& each : segments) {
      std::vector<Part>& parts = devices_[each.device];
      const std::int64_t before = parts.empty() ? 0 : parts.back().before + parts.back().bytes;
      parts.push_back({each.address, each.bytes, before});
    }
  }

  std::int64_t within(std::int64_t device, std::int64_t address, std::int64_t bytes) const {
    const auto found = devices_.find(device);
    if (found == devices_.end()) return 0;
    return below(found->second, saturating_add(address, bytes)) - below(found->second, address);
  }

 private:
  struct Part {
    std::int64_t address = 0, bytes = 0, before = 0;  // total bytes before it
  };

  static std::int64_t below(const std::vector<Part>& parts, std::int64_t address) {
    const auto next = std::ranges::upper_bound(parts, address, {}, &Part::address);
    if (next == parts.begin()) return 0;
    const Part& part = *(next - 1);
    return part.before + std::min(part.bytes, address - part.address);
  }

  std::map<std::int64_t, std::vector<Part>> devices_;
};

// A process's allocations.
class Allocated {
 public:
  void apply(const Operation& operation, const Segments& segments) {
    const bool comes = operation.what == Operation::What::allocation;
    if (!comes && operation.what != Operation::What::release) return;
    const DeviceAddress place{operation.device, operation.address};
    // Memory from cuMemCreate counts from its creation, and is located where it is mapped.
    auto& held = operation.kind == created_kind ? made_ : placed_;
    if (const auto found = held.find(place); found != held.end()) {
      change(operation, -found->second.bytes, segments);
      held.erase(found);
    }
    if (!comes) return;
    held[place] = {operation.device, operation.address, operation.bytes, operation.time};
    change(operation, operation.bytes, segments);
  }

  std::int64_t covered() const { return covered_; }
  const std::map<DeviceAddress, Overlay::Range>& placed() const { return placed_; }
  const std::map<std::int64_t, std::int64_t>& in_use() const { return in_use_; }

 private:
  void change(const Operation& operation, std::int64_t bytes, const Segments& segments) {
    if (operation.kind != mapped_kind) {
      std::int64_t& in_use = in_use_[operation.device];
      in_use = saturating_add(in_use, bytes);
    }
    if (operation.kind == created_kind) return;
    const std::int64_t size = std::abs(bytes);
    const std::int64_t within = segments.within(operation.device, operation.address, size);
    covered_ = saturating_add(covered_, bytes < 0 ? -within : within);
  }

  std::map<DeviceAddress, Overlay::Range> placed_, made_;
  std::map<std::int64_t, std::int64_t> in_use_;  // by device
  std::int64_t covered_ = 0;                     // bytes of segments
};

struct Best {
  std::int64_t covered = 0, time = 0;
};

// Of several processes, the one with most.
std::optional<std::int64_t> choose(const std::map<std::int64_t, Best>& all) {
  if (all.size() == 1) return all.begin()->first;
  std::optional<std::int64_t> chosen;
  std::int64_t most = 0;
  for (const auto& [process, its] : all) {
    if (its.covered == 0 || its.covered < most) continue;
    if (its.covered == most) {
      throw Error("processes " + std::to_string(*chosen) + " and " + std::to_string(process) +
                      " had memory at the addresses of the snapshot",
                  "process says which of them the snapshot is of", ExitCode::bad_option);
    }
    chosen = process;
    most = its.covered;
  }
  return chosen;
}

std::string_view name_of(Overlay::From from) {
  switch (from) {
    case Overlay::From::asked: return "asked";
    case Overlay::From::snapshot: return "snapshot";
    case Overlay::From::fit: return "fit";
  }
  return "";
}

Value fragmentation(std::int64_t blocks, std::int64_t free, std::int64_t largest) {
  if (blocks == 0 || free <= 0) return {};
  return 1 - static_cast<double>(largest) / static_cast<double>(free);
}

Value known(const std::optional<std::int64_t>& number) { return number ? Value(*number) : Value(); }

// What allocations cover of a segment.
struct Cover {
  std::int64_t bytes = 0, allocations = 0;
  const Overlay::Range* whole = nullptr;  // the one that covers all of it
};

Cover cover_of(const TorchSegment& segment, const std::vector<Overlay::Range>& ranges) {
  const auto place = [](const Overlay::Range& range) {
    return DeviceAddress{range.device, range.address};
  };
  auto range =
      std::ranges::upper_bound(ranges, DeviceAddress{segment.device, segment.address}, {}, place);
  if (range != ranges.begin() && (range - 1)->device == segment.device) --range;
  Cover cover;
  for (; range != ranges.end() && range->device == segment.device && range->address < segment.end();
       ++range) {
    const std::int64_t end = saturating_add(range->address, range->bytes);
    const std::int64_t part =
        std::min(end, segment.end()) - std::max(range->address, segment.address);
    if (part <= 0) continue;
    cover.bytes = std::min(segment.bytes, saturating_add(cover.bytes, part));
    ++cover.allocations;
    if (part == segment.bytes) cover.whole = &*range;
  }
  return cover;
}

// Totals of one device, for its segments and the file.
struct Sums {
  std::int64_t segments = 0, blocks = 0, reserved = 0, allocated = 0, active = 0, requested = 0;
  std::int64_t largest_free = 0, covered = 0, uncovered_segments = 0;
};

// Appends the driver's reading closest to the moment.
void add_reading(const Table& readings, std::int64_t device, std::optional<std::int64_t> time,
                 std::vector<Value>& row) {
  const auto number = [&](const std::vector<Value>& of, std::string_view column) {
    return std::get<std::int64_t>(of[readings.place(column)]);
  };
  const std::vector<Value>* closest = nullptr;
  std::int64_t least = 0;
  for (const auto& reading : readings.rows) {
    if (!time || number(reading, "device_id") != device) continue;
    const std::int64_t when = number(reading, "time_ns");
    const std::int64_t away = saturating_subtract(std::max(when, *time), std::min(when, *time));
    if (closest && away >= least) continue;
    closest = &reading;
    least = away;
  }
  for (const char* column : {"time_ns", "used_bytes", "total_bytes", "unaccounted_bytes"}) {
    Value& value = row.emplace_back();
    if (closest) value = number(*closest, column);
  }
}

// Adds the operations on device memory, as lay_over() reads them.
void add_operations(reading::Profile& profile, const std::function<void()>& check,
                    compute::Sorted<Operation>& operations) {
  Recorded recorded;
  read_operations(profile.snapshot(), By::kind, recorded, check,
                  [&](const Operation& operation, const MemoryCall&) {
                    if (operation.kind != created_kind) return;
                    Operation mapping = operation;
                    mapping.kind = mapped_kind;
                    operations.add(mapping);
                  });
  recorded.operations.for_each([&](const Operation& operation) {
    if (on_device(operation.kind) && !is_static(operation.kind)) operations.add(operation);
  });
}

// `covers`: one for each segment.
Table segments_table(const std::vector<TorchSegment>& segments, const std::vector<Cover>& covers,
                     const Overlay& overlay) {
  Table table{.name = "torch_segments",
              .columns = {{"process_id"},
                          {"device_id"},
                          {"address"},
                          {"bytes", Type::bytes},
                          {"stream"},
                          {"segment_type", Type::text},
                          {"expandable"},
                          {"blocks"},
                          {"allocated_bytes", Type::bytes},
                          {"active_bytes", Type::bytes},
                          {"requested_bytes", Type::bytes},
                          {"free_bytes", Type::bytes},
                          {"largest_free_bytes", Type::bytes},
                          {"fragmentation", Type::real},
                          {"covered_bytes", Type::bytes},
                          {"allocations"},
                          {"allocation_address"},
                          {"allocation_bytes", Type::bytes},
                          {"allocation_time_ns"}}};
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const TorchSegment& segment = segments[i];
    const Cover& cover = covers[i];
    table.rows.push_back(
        {known(overlay.process), segment.device, segment.address, segment.bytes, segment.stream,
         segment.type.empty() ? Value() : Value(segment.type), std::int64_t{segment.expandable},
         segment.blocks, segment.allocated, segment.active, segment.requested, segment.free(),
         segment.largest_free, fragmentation(segment.blocks, segment.free(), segment.largest_free),
         cover.bytes, cover.allocations, cover.whole ? Value(cover.whole->address) : Value(),
         cover.whole ? Value(cover.whole->bytes) : Value(),
         cover.whole ? Value(cover.whole->time) : Value()});
  }
  return table;
}

std::map<std::int64_t, Sums> sums_by_device(const std::vector<TorchSegment>& segments,
                                            const std::vector<Cover>& covers) {
  std::map<std::int64_t, Sums> devices;
  for (std::size_t i = 0; i < segments.size(); ++i) {
    const TorchSegment& segment = segments[i];
    const std::int64_t covered = covers[i].bytes;
    Sums& sums = devices[segment.device];
    ++sums.segments;
    sums.blocks = saturating_add(sums.blocks, segment.blocks);
    sums.reserved = saturating_add(sums.reserved, segment.bytes);
    sums.allocated = saturating_add(sums.allocated, segment.allocated);
    sums.active = saturating_add(sums.active, segment.active);
    sums.requested = saturating_add(sums.requested, segment.requested);
    sums.largest_free = std::max(sums.largest_free, segment.largest_free);
    sums.covered = saturating_add(sums.covered, covered);
    sums.uncovered_segments += covered < segment.bytes;
  }
  return devices;
}

Table devices_table(reading::Profile& profile, const std::map<std::int64_t, Sums>& devices,
                    const Overlay& overlay, const Table& readings) {
  Table table{.name = "torch_devices",
              .columns = {{"process_id"},
                          {"device_id"},
                          {"device", Type::text},
                          {"time_ns"},
                          {"relative_time_ns"},
                          {"time_from", Type::text},
                          {"segments"},
                          {"reserved_bytes", Type::bytes},
                          {"allocated_bytes", Type::bytes},
                          {"active_bytes", Type::bytes},
                          {"requested_bytes", Type::bytes},
                          {"free_bytes", Type::bytes},
                          {"largest_free_bytes", Type::bytes},
                          {"fragmentation", Type::real},
                          {"covered_bytes", Type::bytes},
                          {"uncovered_segments"},
                          {"process_bytes", Type::bytes},
                          {"outside_bytes", Type::bytes},
                          {"reading_time_ns"},
                          {"driver_used_bytes", Type::bytes},
                          {"driver_total_bytes", Type::bytes},
                          {"unaccounted_bytes", Type::bytes}}};
  for (const auto& [device, sums] : devices) {
    const auto found = overlay.in_use.find(device);
    const std::int64_t in_use = found == overlay.in_use.end() ? 0 : found->second;
    const std::int64_t free = saturating_subtract(sums.reserved, sums.active);
    const bool placed = overlay.process && overlay.time;
    std::vector<Value> row{
        known(overlay.process),
        device,
        profile.names().device(device),
        known(overlay.time),
        placed ? Value(saturating_subtract(*overlay.time, profile.zero())) : Value(),
        placed ? Value(std::string(name_of(overlay.from))) : Value(),
        sums.segments,
        sums.reserved,
        sums.allocated,
        sums.active,
        sums.requested,
        free,
        sums.largest_free,
        fragmentation(sums.blocks, free, sums.largest_free),
        sums.covered,
        sums.uncovered_segments,
        placed ? Value(in_use) : Value(),
        placed ? Value(saturating_subtract(in_use, sums.covered)) : Value()};
    add_reading(readings, device, overlay.time, row);
    table.rows.push_back(std::move(row));
  }
  return table;
}

}  // namespace

Overlay lay_over(const Operations& for_each, const std::vector<TorchSegment>& segments,
                 std::optional<std::int64_t> time, std::optional<std::int64_t> process) {
  const Segments places(segments);
  Overlay overlay{.process = {}, .time = time, .ranges = {}, .in_use = {}};
  std::map<std::int64_t, Best> best;
  {
    std::map<std::int64_t, Allocated> all;
    for_each([&](const Operation& operation) {
      if ((process && operation.process != *process) || (time && operation.time > *time)) return;
      Allocated& present = all[operation.process];
      present.apply(operation, places);
      Best& its = best[operation.process];
      if (time || present.covered() > its.covered) its = {present.covered(), operation.time};
    });
  }
  overlay.process = process ? process : choose(best);
  if (!overlay.process) return overlay;
  const auto its = best.find(*overlay.process);
  if (!time && its != best.end() && its->second.covered > 0) overlay.time = its->second.time;
  if (!overlay.time) return overlay;
  Allocated present;
  for_each([&](const Operation& operation) {
    if (operation.process != *overlay.process || operation.time > *overlay.time) return;
    present.apply(operation, places);
  });
  for (const auto& [place, range] : present.placed()) overlay.ranges.push_back(range);
  overlay.in_use = present.in_use();
  return overlay;
}

TorchTables torch_tables(reading::Profile& profile, const TorchSnapshot& snapshot,
                         const TorchQuestion& question, const std::function<void()>& check) {
  const Account account = memory::account(profile, {}, check);
  compute::Sorted<Operation> operations;
  add_operations(profile, check, operations);
  if (question.process && std::ranges::none_of(account.peaks.rows, [&](const auto& row) {
        return row[account.peaks.place("process_id")] == Value(*question.process);
      })) {
    throw Error("the file has no memory of process " + std::to_string(*question.process),
                "the table memory_processes lists its processes", ExitCode::bad_option);
  }
  auto time = question.time;
  if (!time && snapshot.taken_at) {
    time = reading::on_cuptis_clock(profile.database(), *snapshot.taken_at);
  }
  std::int64_t seen = 0;
  Overlay overlay = lay_over(
      [&](const std::function<void(const Operation&)>& visit) {
        operations.for_each([&](const Operation& operation) {
          if (++seen % 65536 == 0) check();
          visit(operation);
        });
      },
      snapshot.segments, time, question.process);
  overlay.from = question.time ? Overlay::From::asked
                 : time        ? Overlay::From::snapshot
                               : Overlay::From::fit;

  std::vector<Cover> covers;
  for (const TorchSegment& segment : snapshot.segments) {
    covers.push_back(cover_of(segment, overlay.ranges));
  }
  return {.segments = segments_table(snapshot.segments, covers, overlay),
          .devices = devices_table(profile, sums_by_device(snapshot.segments, covers), overlay,
                                   account.readings)};
}

}  // namespace gpuprof::memory
