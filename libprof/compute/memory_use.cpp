#include "libprof/compute/memory_use.hpp"

#include <unordered_map>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/fill.hpp"
#include "libprof/read/columns/reader.hpp"
#include "schema/derived.hpp"
#include "schema/enums.hpp"

namespace gpuprof::compute {
namespace {

constexpr std::int64_t allocation = schema::memory_operation("allocation"),
                       release = schema::memory_operation("release");

struct Live {
  std::int64_t bytes = 0;
  std::int64_t allocations = 0;
};

}  // namespace

void MemoryUse::read(store::Snapshot& snapshot, const std::function<void()>& check) {
  columns::Reader reader(
      snapshot, {.table = "CUPTI_ACTIVITY_KIND_MEMORY2",
                 .columns = {"_id_", "timestamp", "processId", "deviceId", "memoryKind", "poolType",
                             "memoryOperationType", "address", "bytes", "source"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    const auto id = chunk[0].int64s(), time = chunk[1].int64s(), process = chunk[2].int64s(),
               device = chunk[3].int64s(), address = chunk[7].int64s(), bytes = chunk[8].int64s();
    const auto kind = chunk[4].int32s(), pool = chunk[5].int32s(), type = chunk[6].int32s(),
               source = chunk[9].int32s();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (type[row] != allocation && type[row] != release) continue;
      operations_.add(
          {.time = time[row],
           .id = id[row],
           .place = {process[row], device[row], kind[row], pool[row]},
           .address = address[row],
           .change = type[row] == allocation ? bytes[row] : saturating_subtract(0, bytes[row]),
           .source = source[row]});
    }
  });
}

void MemoryUse::write_use(store::Database& database) {
  store::Statement insert = fill(database, schema::tables::memory_use);
  std::map<Place, std::int64_t> in_use;
  operations_.for_each([&](const Operation& operation) {
    std::int64_t& now = in_use[operation.place];
    now = saturating_add(now, operation.change);
    insert.bind(1, operation.id).bind(2, now).run();
    Peak& peak = peaks_[operation.place];
    if (operation.change > 0 && (peak.operation == 0 || now > peak.bytes)) {
      peak = {now, operation.id};
    }
  });
}

void MemoryUse::write_peaks(store::Database& database) {
  store::Statement peak = fill(database, schema::tables::memory_maximum);
  store::Statement owner = fill(database, schema::tables::memory_owner);
  struct Allocated {
    std::int64_t bytes;
    std::int32_t source;
  };
  // By address, up to the peak.
  std::map<Place, std::unordered_map<std::int64_t, Allocated>> live;
  const auto bind = [](store::Statement& statement, const Place& place) -> store::Statement& {
    return statement.bind(1, place.process)
        .bind(2, place.device)
        .bind(3, std::int64_t{place.kind})
        .bind(4, std::int64_t{place.pool});
  };
  operations_.for_each([&](const Operation& operation) {
    Peak& its = peaks_[operation.place];
    if (its.operation == 0) return;
    auto& there = live[operation.place];
    if (operation.change > 0) {
      there[operation.address] = {operation.change, operation.source};
    } else {
      there.erase(operation.address);
    }
    if (operation.id != its.operation) return;
    std::map<std::int32_t, Live> owners;
    for (const auto& [address, allocated] : there) {
      Live& of_source = owners[allocated.source];
      of_source.bytes = saturating_add(of_source.bytes, allocated.bytes);
      ++of_source.allocations;
    }
    bind(peak, operation.place).bind(5, its.bytes).bind(6, operation.id);
    peak.bind(7, static_cast<std::int64_t>(there.size())).run();
    for (const auto& [source, what] : owners) {
      bind(owner, operation.place).bind(5, std::int64_t{source}).bind(6, what.bytes);
      owner.bind(7, what.allocations).run();
    }
    its.operation = 0;  // already written
    live.erase(operation.place);
  });
}

void MemoryUse::write(store::Database& database) {
  peaks_.clear();
  write_use(database);
  write_peaks(database);
}

}  // namespace gpuprof::compute
