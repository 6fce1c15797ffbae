#include "libprof/compute/communication.hpp"

#include <algorithm>
#include <initializer_list>
#include <string>

#include "schema/traits.hpp"

namespace gpuprof::compute {

std::unordered_set<std::int64_t> read_communication(store::Database& database) {
  std::unordered_set<std::int64_t> ids;
  if (!database.has_column("StringTable", "value")) return ids;
  std::string name = "value";  // nvprof's files have no other
  for (const char* column : {"demangled", "short"}) {
    if (database.has_column("StringTable", column)) {
      name = "coalesce(" + std::string(column) + ", " + name + ")";
    }
  }
  auto names = database.prepare("SELECT _id_, " + name + " FROM main.StringTable");
  while (names.step()) {
    if (schema::is_communication_kernel(names.text(1))) ids.insert(names.integer(0));
  }
  return ids;
}

Communication::Communication(store::Database& database) : names_(read_communication(database)) {
  read_operations(database);
  any_ |= !names_.empty() || !nodes_.empty();
}

void Communication::read_operations(store::Database& database) {
  const auto has = [&](const char* table, std::initializer_list<const char*> columns) {
    return std::ranges::all_of(
        columns, [&](const char* column) { return database.has_column(table, column); });
  };
  // The kernels of a captured operation are those of its nodes.
  if (has("NCCL_OPERATION", {"correlationId", "graphNode"})) {
    auto rows = database.prepare(
        "SELECT correlationId FROM main.NCCL_OPERATION "
        "WHERE graphNode IS NULL AND correlationId IS NOT NULL");
    for (; rows.step(); any_ = true) operations_.add(rows.integer(0));
  }
  if (has("NCCL_NODE", {"processId", "node"})) {
    auto rows = database.prepare("SELECT processId, node FROM main.NCCL_NODE");
    while (rows.step()) nodes_.insert({rows.integer(0), rows.integer(1)});
  }
}

}  // namespace gpuprof::compute
