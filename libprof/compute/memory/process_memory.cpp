#include "libprof/compute/memory/process_memory.hpp"

#include <map>
#include <string>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/fill.hpp"
#include "libprof/compute/memory/operations.hpp"
#include "schema/derived.hpp"

namespace gpuprof::memory {
namespace {

// A process's memory on a device.
struct Present {
  // By whether cuMemCreate created it, without an address, and by address.
  std::map<std::pair<bool, std::int64_t>, std::int64_t> bytes;
  std::int64_t in_use = 0;
};

void write_rows(store::Database& database, compute::Sorted<Operation>& operations,
                const std::function<void()>& check) {
  store::Statement insert = compute::fill(database, schema::tables::process_memory);
  std::map<std::pair<std::int64_t, std::int64_t>, Present> all;  // by process and device
  std::int64_t seen = 0;
  operations.for_each([&](const Operation& operation) {
    if (++seen % 65536 == 0) check();
    const bool comes = operation.what == Operation::What::allocation;
    if (!on_device(operation.kind) || (!comes && operation.what != Operation::What::release)) {
      return;
    }
    Present& present = all[{operation.process, operation.device}];
    const std::pair place{operation.kind == created_kind, operation.address};
    const std::int64_t now = comes ? operation.bytes : 0;
    std::int64_t before = 0;
    if (const auto found = present.bytes.find(place); found != present.bytes.end()) {
      before = found->second;
      present.bytes.erase(found);
    }
    if (now > 0) present.bytes[place] = now;
    if (now == before) return;  // e.g. the released memory was not seen being allocated
    present.in_use = saturating_add(present.in_use, saturating_subtract(now, before));
    // Of several at the same time, the last one stays.
    insert.bind(1, operation.process).bind(2, operation.device).bind(3, operation.time);
    insert.bind(4, present.in_use).run();
  });
}

}  // namespace

void write_process_memory(store::Database& database, const std::function<void()>& check) {
  if (!database.has_table(std::string(schema::tables::process_memory.name))) return;
  Recorded recorded;
  {
    store::Snapshot snapshot(database);
    read_operations(snapshot, By::kind, recorded, check);
  }
  database.execute("BEGIN");
  try {
    write_rows(database, recorded.operations, check);
  } catch (...) {
    if (database.in_transaction()) database.execute("ROLLBACK");
    throw;
  }
  database.execute("COMMIT");
}

}  // namespace gpuprof::memory
