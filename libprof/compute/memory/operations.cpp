#include "libprof/compute/memory/operations.hpp"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/memory/stacks.hpp"
#include "libprof/compute/range_index.hpp"
#include "libprof/read/columns/reader.hpp"
#include "libprof/read/tables.hpp"
#include "schema/enums.hpp"

namespace gpuprof::memory {
namespace {

using What = Operation::What;

// An allocation waiting for the range of its call.
struct Asked {
  std::int64_t correlation = 0;
  Operation operation;
  bool operator<(const Asked& other) const { return correlation < other.correlation; }
};

struct Call {
  std::int64_t correlation = 0;
  std::int64_t process = 0, thread = 0, time = 0;
  bool operator<(const Call& other) const { return correlation < other.correlation; }
};

// Paths of ranges: StringTable ids.
class Paths {
 public:
  explicit Paths(store::Database& database)
      : path_(database.prepare("SELECT path FROM main.NVTX_PATH WHERE range = ?1")) {}

  std::int64_t of(std::int64_t range) {
    const auto [found, is_new] = known_.try_emplace(range, 0);
    if (is_new) {
      path_.reset();
      if (path_.bind(1, range).step()) found->second = path_.integer(0);
    }
    return found->second;
  }

 private:
  store::Statement path_;
  std::unordered_map<std::int64_t, std::int64_t> known_;
};

void read_calls(store::Snapshot& snapshot, const compute::CorrelationSet& wanted,
                compute::Sorted<Call>& calls, const std::function<void()>& check) {
  // If both have a call with the same id, the runtime's counts.
  for (const char* table : {"CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER"}) {
    columns::Reader reader(
        snapshot, {.table = table, .columns = {"correlationId", "processId", "threadId", "start"}});
    reader.read([&](const columns::Chunk& chunk) {
      check();
      const auto correlation = chunk[0].int64s(), process = chunk[1].int64s(),
                 thread = chunk[2].int64s(), start = chunk[3].int64s();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        if (!wanted.contains(correlation[row])) continue;
        calls.add({correlation[row], process[row], thread[row], start[row]});
      }
    });
  }
}

// Assigns the paths of their calls' ranges to allocations.
void join_ranges(store::Snapshot& snapshot, compute::Sorted<Asked>& asked,
                 const compute::CorrelationSet& wanted, compute::Sorted<Operation>& operations,
                 const std::function<void()>& check) {
  compute::Sorted<Call> calls;
  read_calls(snapshot, wanted, calls, check);
  compute::RangeParents parents;
  const compute::RangeIndex index(snapshot, parents);
  Paths paths(snapshot.database());
  compute::Sorted<Call>::Cursor call(calls);
  asked.for_each([&](const Asked& each) {
    while (!call.at_end() && call.front().correlation < each.correlation) call.advance();
    Operation operation = each.operation;
    if (!call.at_end() && call.front().correlation == each.correlation) {
      const Call& made = call.front();
      const auto match = index.at(made.process, made.thread, made.time);
      if (match) operation.owner = paths.of(match->range);
    }
    operations.add(operation);
  });
}

// Assigns the stacks of their calls to allocations.
void join_stacks(store::Snapshot& snapshot, compute::Sorted<Asked>& asked,
                 compute::Sorted<Operation>& operations, const std::function<void()>& check) {
  compute::Sorted<CallStack> calls;
  read_call_stacks(snapshot, calls, check);
  compute::Sorted<CallStack>::Cursor call(calls);
  asked.for_each([&](const Asked& each) {
    while (!call.at_end() && call.front().correlation < each.correlation) call.advance();
    Operation operation = each.operation;
    if (!call.at_end() && call.front().correlation == each.correlation) {
      operation.owner = call.front().stack;
    }
    operations.add(operation);
  });
}

// Where and when memory from cuMemCreate was mapped. CUPTI (13.5) records it like any other
// allocation once it is accessible (measured), which would count it twice.
class Mappings {
 public:
  void take(const Operation& operation) {
    auto& all = mappings_[{operation.process, operation.address}];
    if (operation.what == What::allocation) {
      all.push_back({operation.time, INT64_MAX, operation.bytes});
    } else if (!all.empty()) {
      all.back().end = operation.time;
    }
  }

  // Whether a record in MEMORY2 is of mapped memory. Call in file order.
  bool has(const Operation& record) {
    if (mappings_.empty() || record.kind != schema::memory_kind("Device")) return false;
    const Key key{record.process, record.address};
    if (record.what == What::release) {
      const auto found = recorded_.find(key);
      if (found == recorded_.end()) return false;
      if (--found->second == 0) recorded_.erase(found);
      return true;
    }
    auto mapping = mappings_.upper_bound(key);
    if (mapping == mappings_.begin() || (--mapping)->first.first != record.process) return false;
    const std::int64_t offset = saturating_subtract(record.address, mapping->first.second);
    const bool mapped = std::ranges::any_of(mapping->second, [&](const Mapping& each) {
      return offset < each.bytes && each.begin <= record.time && record.time <= each.end;
    });
    if (mapped) ++recorded_[key];
    return mapped;
  }

 private:
  using Key = std::pair<std::int64_t, std::int64_t>;  // process, address
  struct Mapping {
    std::int64_t begin, end, bytes;
  };
  std::map<Key, std::vector<Mapping>> mappings_;
  std::map<Key, std::int64_t> recorded_;  // recorded and still live
};

void refuse_uncomputed(store::Database& database) {
  reading::Tables tables(database);
  const auto count = [&](const char* table) {
    return tables.has(table)
               ? database.integer(std::string("SELECT EXISTS (SELECT 1 FROM main.") + table + ")")
                     .value_or(0)
               : 0;
  };
  if (!tables.has("NVTX_PATH", "path")) {
    throw Error("the file does not say in which NVTX ranges memory was allocated",
                "a file of gpuprof does");
  }
  if (count("NVTX_RANGE") > 0 && count("NVTX_PATH") == 0) {
    throw Error("the NVTX ranges of the file are not computed: its run was not finished",
                "gpuprof finish computes them");
  }
}

constexpr std::int64_t local_pool =
    schema::enum_number(schema::enums::CUpti_ActivityMemoryPoolType, "local");

void read_pools(store::Snapshot& snapshot, compute::Sorted<Operation>& operations,
                const std::function<void()>& check) {
  constexpr auto& types = schema::enums::CUpti_ActivityMemoryPoolOperationType;
  constexpr std::int64_t created = schema::enum_number(types, "created"),
                         trimmed = schema::enum_number(types, "trimmed");
  columns::Reader reader(
      snapshot, {.table = "CUPTI_ACTIVITY_KIND_MEMORY_POOL",
                 .columns = {"timestamp", "processId", "deviceId", "memoryPoolOperationType",
                             "memoryPoolType", "address", "size", "utilizedSize"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    const auto time = chunk[0].int64s(), process = chunk[1].int64s(), device = chunk[2].int64s(),
               address = chunk[5].int64s(), size = chunk[6].int64s(), used = chunk[7].int64s();
    const auto what = chunk[3].int32s(), type = chunk[4].int32s();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      if (what[row] < created || what[row] > trimmed) continue;
      const bool local = type[row] == local_pool;
      operations.add({.time = time[row],
                      .process = process[row],
                      .device = device[row],
                      .pool = address[row],
                      .pool_size = local ? size[row] : -1,
                      .pool_used = local ? used[row] : -1,
                      .pool_type = type[row],
                      .what = what[row] == created   ? What::pool_created
                              : what[row] == trimmed ? What::pool_trimmed
                                                     : What::pool_destroyed});
    }
  });
}

}  // namespace

void read_operations(store::Snapshot& snapshot, By by, Recorded& recorded,
                     const std::function<void()>& check, const DriverMemory::Emit& mapped) {
  if (by == By::nvtx) refuse_uncomputed(snapshot.database());
  if (by == By::stack && !has_stacks(snapshot.database())) {
    throw Error("the file has no stacks of calls for memory",
                "gpuprof --track-memory --stacks -o FILE records them", ExitCode::bad_option);
  }
  const bool by_call = by == By::nvtx || by == By::stack;
  compute::Sorted<Asked> asked;
  compute::CorrelationSet wanted;
  Mappings mappings;
  recorded.calls = read_memory_calls(
      snapshot,
      [&](const Operation& operation, const MemoryCall& call) {
        recorded.any = true;
        if (by_call && operation.what == What::allocation && call.correlation != 0) {
          wanted.add(call.correlation);
          asked.add({call.correlation, operation});
        } else {
          recorded.operations.add(operation);
        }
      },
      check,
      [&](const Operation& operation, const MemoryCall& call) {
        mappings.take(operation);
        if (mapped) mapped(operation, call);
      });
  columns::Reader reader(
      snapshot, {.table = "CUPTI_ACTIVITY_KIND_MEMORY2",
                 .columns = {"timestamp", "processId", "deviceId", "address", "bytes",
                             "poolAddress", "poolSize", "poolUtilizedSize", "correlationId",
                             "memoryKind", "poolType", "memoryOperationType", "source"}});
  reader.read([&](const columns::Chunk& chunk) {
    check();
    const auto time = chunk[0].int64s(), process = chunk[1].int64s(), device = chunk[2].int64s(),
               address = chunk[3].int64s(), bytes = chunk[4].int64s(), pool = chunk[5].int64s(),
               size = chunk[6].int64s(), used = chunk[7].int64s(), correlation = chunk[8].int64s();
    const auto kind = chunk[9].int32s(), pool_type = chunk[10].int32s(), type = chunk[11].int32s(),
               source = chunk[12].int32s();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const bool allocates = type[row] == schema::memory_operation("allocation");
      if (!allocates && type[row] != schema::memory_operation("release")) continue;
      const bool local = pool_type[row] == local_pool;
      Operation operation{.time = time[row],
                          .process = process[row],
                          .device = device[row],
                          .address = address[row],
                          // A negative size would turn an allocation into a release.
                          .bytes = bytes[row] < 0 ? 0 : bytes[row],
                          .pool = pool_type[row] != 0 ? pool[row] : 0,
                          .pool_size = local && !chunk[6].is_null(row) ? size[row] : -1,
                          .pool_used = local ? used[row] : -1,
                          .kind = kind[row],
                          .pool_type = pool_type[row],
                          .what = allocates ? What::allocation : What::release};
      if (mappings.has(operation)) continue;
      recorded.any = true;
      if (allocates && source[row] != 0) recorded.any_library = true;
      if (by == By::library) operation.owner = source[row];
      if (by == By::pool) operation.owner = operation.pool;
      if (by_call && allocates && correlation[row] != 0) {
        wanted.add(correlation[row]);
        asked.add({correlation[row], operation});
      } else {
        recorded.operations.add(operation);
      }
    }
  });
  if (by == By::nvtx) join_ranges(snapshot, asked, wanted, recorded.operations, check);
  if (by == By::stack) join_stacks(snapshot, asked, recorded.operations, check);
  read_pools(snapshot, recorded.operations, check);
}

}  // namespace gpuprof::memory
