#include "libprof/compute/memory/driver_memory.hpp"

#include <algorithm>
#include <array>
#include <set>
#include <string_view>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/sorted.hpp"
#include "libprof/read/columns/reader.hpp"
#include "libprof/read/tables.hpp"
#include "schema/memory_calls.hpp"

namespace gpuprof::memory {
namespace {

using Meaning = MemoryCall::What;

constexpr std::size_t most_failed_calls = 1000;
constexpr std::size_t most_readings = 20'000;
constexpr std::int64_t no_memory = 2;  // cudaErrorMemoryAllocation, CUDA_ERROR_OUT_OF_MEMORY
using Reason = schema::DeviceMemory::Reason;

constexpr std::array<std::pair<std::string_view, Meaning>, 13> meanings{{
    {"cuMemCreate", Meaning::create},
    {"cuMemRelease", Meaning::release},
    {"cuMemMap", Meaning::map},
    {"cuMemUnmap", Meaning::unmap},
    {"cuMemRetainAllocationHandle", Meaning::retain},
    {"cuMemImportFromShareableHandle", Meaning::import_handle},
    {"cuMemHostRegister", Meaning::register_host},
    {"cudaHostRegister", Meaning::register_host},
    {"cuMemHostUnregister", Meaning::unregister_host},
    {"cudaHostUnregister", Meaning::unregister_host},
    {"cuIpcOpenMemHandle", Meaning::open},
    {"cudaIpcOpenMemHandle", Meaning::open},
    {"cuIpcCloseMemHandle", Meaning::close},
}};

Meaning meaning_of(std::string_view function) {
  // Without the version suffix: _v2, _v4000.
  const std::string_view name = function.substr(0, function.find("_v"));
  if (name == "cudaIpcCloseMemHandle") return Meaning::close;
  const auto found =
      std::ranges::find(meanings, name, &std::pair<std::string_view, Meaning>::first);
  return found == meanings.end() ? Meaning::other : found->second;
}

bool names_functions(store::Database& database) {
  reading::Tables tables(database);
  return tables.has("API_NAME", "domain") && tables.has("API_NAME", "cbid") &&
         tables.has("API_NAME", "name");
}

// By domain (1 = runtime) and cbid.
using Meanings = std::map<std::pair<std::int64_t, std::int64_t>, Meaning>;

Meanings read_meanings(store::Database& database) {
  Meanings all;
  if (!names_functions(database)) return all;
  auto row = database.prepare(
      "SELECT domain = 'runtime', cbid, name FROM main.API_NAME WHERE name LIKE 'cuMem%' OR "
      "name LIKE '%HostRegister%' OR name LIKE '%HostUnregister%' OR name LIKE '%IpcOpenMem%' OR "
      "name LIKE '%IpcCloseMem%' LIMIT 10000");
  while (row.step()) {
    const Meaning what = meaning_of(row.text(2));
    if (what != Meaning::other) all[{row.integer(0), row.integer(1)}] = what;
  }
  return all;
}

std::optional<std::int64_t> optional_in(const columns::Column& column, std::size_t row) {
  if (column.is_null(row)) return {};
  return columns::whole(column, row);
}

// Functions in which threads wait for work: they do not make memory appear.
std::set<std::int64_t> waiting_functions(store::Database& database, bool runtime) {
  std::set<std::int64_t> waiting;
  if (!names_functions(database)) return waiting;
  auto row = database.prepare(
      "SELECT cbid FROM main.API_NAME WHERE domain = ?1 AND (name LIKE '%Synchronize%' OR name "
      "LIKE '%EventQuery%' OR name LIKE '%StreamQuery%') LIMIT 1000");
  row.bind(1, std::string_view(runtime ? "runtime" : "driver"));
  while (row.step()) waiting.insert(row.integer(0));
  return waiting;
}

}  // namespace

// --- from calls to operations

void DriverMemory::apply(const MemoryCall& call) {
  const Key handle{call.process, call.handle};
  const Key address{call.process, call.address};
  const auto operation = [&](Operation::What what, std::int32_t kind, std::int64_t bytes) {
    emit_({.time = call.time,
           .process = call.process,
           .device = call.device,
           .address = call.address,
           .bytes = bytes,
           .kind = kind,
           .what = what},
          call);
  };
  switch (call.what) {
    case Meaning::create: return make(call);
    case Meaning::release:
      if (const auto found = handles_.find(handle); found != handles_.end()) {
        const std::int64_t object = found->second;
        if (--objects_[object].handles == 0) handles_.erase(found);
        let_go(object, call);
      }
      return;
    case Meaning::map:
      if (const auto found = handles_.find(handle); found != handles_.end()) {
        Object& object = objects_[found->second];
        ++object.mappings;
        object.mapped = saturating_add(object.mapped, call.bytes);
        mappings_[address] = {found->second, call.bytes};
        change(object, 0, call.bytes);
        tell_mapping(object, call.address, call.bytes, Operation::What::allocation, call);
      }
      return;
    case Meaning::unmap: return unmap(call);
    case Meaning::retain: {
      auto mapping = mappings_.upper_bound(address);
      if (mapping == mappings_.begin() || (--mapping)->first.first != call.process) return;
      ++objects_[mapping->second.object].handles;
      handles_[handle] = mapping->second.object;
      return;
    }
    case Meaning::register_host:
      registered_[address] = call.bytes;
      return operation(Operation::What::allocation, registered_kind, call.bytes);
    case Meaning::unregister_host:
      if (registered_.erase(address) > 0) {
        operation(Operation::What::release, registered_kind, 0);
      }
      return;
    case Meaning::open: return operation(Operation::What::allocation, opened_kind, 0);
    case Meaning::close: return operation(Operation::What::release, opened_kind, 0);
    default: return;  // imported memory belongs to its creator
  }
}

void DriverMemory::make(const MemoryCall& call) {
  const std::int64_t number = ++last_object_;
  Object& object = objects_[number];
  object = {.process = call.process,
            .device = call.device,
            .kind = call.of_host ? created_on_host_kind : created_kind,
            .bytes = call.bytes,
            .handles = 1};
  handles_[{call.process, call.handle}] = number;
  if (!call.of_host) ++uses_[{call.process, call.device}].allocations;
  change(object, call.bytes, 0);
  // Handles are reused while their memory is still mapped, so a unique number identifies it.
  emit_({.time = call.time,
         .process = call.process,
         .device = call.device,
         .address = number,
         .bytes = call.bytes,
         .owner = call.owner,
         .kind = object.kind},
        call);
}

void DriverMemory::unmap(const MemoryCall& call) {
  const Key end{call.process, saturating_add(call.address, call.bytes)};
  auto mapping = mappings_.lower_bound({call.process, call.address});
  while (mapping != mappings_.end() && mapping->first < end) {
    const Mapping gone = mapping->second;
    const std::int64_t address = mapping->first.second;
    mapping = mappings_.erase(mapping);
    Object& object = objects_[gone.object];
    tell_mapping(object, address, 0, Operation::What::release, call);
    --object.mappings;
    object.mapped = saturating_subtract(object.mapped, gone.bytes);
    change(object, 0, -gone.bytes);
    let_go(gone.object, call);
  }
}

void DriverMemory::let_go(std::int64_t number, const MemoryCall& call) {
  const auto found = objects_.find(number);
  if (found == objects_.end() || found->second.handles > 0 || found->second.mappings > 0) return;
  const Object object = found->second;
  objects_.erase(found);
  change(object, -object.bytes, 0);
  emit_({.time = call.time,
         .process = object.process,
         .device = object.device,
         .address = number,
         .kind = object.kind,
         .what = Operation::What::release},
        call);
}

void DriverMemory::tell_mapping(const Object& object, std::int64_t address, std::int64_t bytes,
                                Operation::What what, const MemoryCall& call) {
  if (!mapped_) return;
  mapped_({.time = call.time,
           .process = object.process,
           .device = object.device,
           .address = address,
           .bytes = bytes,
           .kind = object.kind,
           .what = what},
          call);
}

void DriverMemory::change(const Object& object, std::int64_t made, std::int64_t mapped) {
  if (object.kind != created_kind) return;
  VirtualUse& use = uses_[{object.process, object.device}];
  use.process = object.process;
  use.device = object.device;
  use.made = saturating_add(use.made, made);
  use.mapped = saturating_add(use.mapped, mapped);
  use.made_peak = std::max(use.made_peak, use.made);
  use.mapped_peak = std::max(use.mapped_peak, use.mapped);
  use.unmapped_peak = std::max(use.unmapped_peak, saturating_subtract(use.made, use.mapped));
}

std::vector<VirtualUse> DriverMemory::uses() const {
  std::vector<VirtualUse> all;
  for (const auto& [key, use] : uses_) all.push_back(use);
  return all;
}

// --- from files

CallsRead read_memory_calls(store::Snapshot& snapshot, const DriverMemory::Emit& emit,
                            const std::function<void()>& check, const DriverMemory::Emit& mapped) {
  CallsRead result;
  const Meanings known = read_meanings(snapshot.database());
  compute::Sorted<MemoryCall> calls;
  columns::Reader reader(snapshot,
                         {.table = "MEMORY_CALL",
                          .columns = {"time", "processId", "deviceId", "address", "handle", "bytes",
                                      "correlationId", "runtime", "cbid", "result"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      result.any = true;
      const std::int64_t runtime = columns::whole(chunk[7], row),
                         cbid = columns::whole(chunk[8], row);
      const std::int64_t code = columns::whole(chunk[9], row);
      const std::int64_t time = columns::whole(chunk[0], row),
                         process = columns::whole(chunk[1], row);
      if (code == no_memory) {
        ++result.failures;
        result.failed.push_back({runtime != 0, cbid, process, time, optional_in(chunk[5], row),
                                 optional_in(chunk[2], row)});
        if (result.failed.size() == 2 * most_failed_calls) {
          std::ranges::stable_sort(result.failed, {}, &FailedCall::time);
          result.failed.resize(most_failed_calls);
        }
      }
      const auto what = known.find({runtime, cbid});
      if (code != 0 || what == known.end()) continue;
      calls.add({.time = time,
                 .process = process,
                 .device = columns::whole(chunk[2], row),
                 .address = columns::whole(chunk[3], row),
                 .handle = columns::whole(chunk[4], row),
                 .bytes = std::max<std::int64_t>(columns::whole(chunk[5], row), 0),
                 .correlation = columns::whole(chunk[6], row),
                 .what = what->second,
                 .of_host = chunk[2].is_null(row)});
    }
  });
  std::ranges::stable_sort(result.failed, {}, &FailedCall::time);
  if (result.failed.size() > most_failed_calls) result.failed.resize(most_failed_calls);
  DriverMemory memory(emit, mapped);
  calls.for_each([&](const MemoryCall& call) { memory.apply(call); });
  result.uses = memory.uses();
  return result;
}

std::vector<DeviceReading> read_device_memory(store::Snapshot& snapshot,
                                              const std::function<void()>& check) {
  std::vector<DeviceReading> readings;
  const auto thin_out = [&](bool all) {
    std::ranges::stable_sort(readings, {}, &DeviceReading::time);
    std::vector<DeviceReading> kept;
    // Of two consecutive readings of a device, the one with more in use is kept.
    std::map<std::int64_t, std::size_t> open;
    for (const DeviceReading& reading : readings) {
      const auto before = open.find(reading.device);
      const bool stays = !all && (reading.reason == static_cast<std::int64_t>(Reason::failure) ||
                                  reading.reason == static_cast<std::int64_t>(Reason::end));
      if (before == open.end() || stays) {
        kept.push_back(reading);
        if (!stays) open[reading.device] = kept.size() - 1;
        continue;
      }
      DeviceReading& other = kept[before->second];
      if (other.used < reading.used) other = reading;
      open.erase(before);
    }
    readings = std::move(kept);
  };
  // Each time a good part is removed, or else this would run for every row.
  const auto make_room = [&] {
    constexpr std::size_t enough = most_readings * 3 / 4;
    thin_out(false);
    if (readings.size() > enough) thin_out(true);
    if (readings.size() > enough) readings.resize(enough);
  };
  columns::Reader reader(snapshot,
                         {.table = "DEVICE_MEMORY",
                          .columns = {"time", "deviceId", "freeBytes", "totalBytes", "reason"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const std::int64_t total = columns::whole(chunk[3], row);
      readings.push_back({columns::whole(chunk[0], row), columns::whole(chunk[1], row),
                          saturating_subtract(total, columns::whole(chunk[2], row)), total,
                          columns::whole(chunk[4], row)});
      if (readings.size() > most_readings) make_room();
    }
  });
  std::ranges::stable_sort(readings, {}, &DeviceReading::time);
  return readings;
}

void find_calls(store::Snapshot& snapshot, std::vector<Appeared>& appeared,
                const std::function<void()>& check) {
  if (appeared.empty()) return;
  for (const bool runtime : {true, false}) {
    const std::set<std::int64_t> waiting = waiting_functions(snapshot.database(), runtime);
    columns::Reader reader(
        snapshot, {.table = runtime ? "CUPTI_ACTIVITY_KIND_RUNTIME" : "CUPTI_ACTIVITY_KIND_DRIVER",
                   .columns = {"cbid", "start", "end", "processId"}});
    reader.read([&](const columns::Chunk& chunk) {
      check();
      const auto cbid = chunk[0].int64s(), start = chunk[1].int64s(), end = chunk[2].int64s(),
                 process = chunk[3].int64s();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        if (waiting.contains(cbid[row])) continue;
        for (Appeared& each : appeared) {
          const std::int64_t overlap =
              saturating_subtract(std::min(end[row], each.to), std::max(start[row], each.from));
          if (overlap <= each.overlap) continue;
          each.overlap = overlap;
          each.runtime = runtime;
          each.cbid = cbid[row];
          each.process = process[row];
        }
      }
    });
  }
}

}  // namespace gpuprof::memory
