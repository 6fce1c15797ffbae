#include "libprof/compute/communication.hpp"

#include <algorithm>
#include <string>

#include "libprof/compute/fill.hpp"
#include "libprof/store/database_schema.hpp"
#include "schema/nccl.hpp"
#include "schema/traits.hpp"

namespace gpuprof::compute {
namespace {

// StringTable ids of names that say it.
std::unordered_set<std::int64_t> read_names(store::Database& database) {
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

}  // namespace

Communication::Communication(store::Database& database, std::int64_t newest)
    : names_(read_names(database)) {
  read_operations(database, newest);
  any_ |= !names_.empty() || !nodes_.empty();
}

void Communication::read_operations(store::Database& database, std::int64_t newest) {
  if (!database.has_columns("NCCL_OPERATION",
                            {"processId", "correlationId", "graphNode", "algorithm"})) {
    return;
  }
  std::unordered_set<std::int64_t> some_unknown;
  // What copy engines do has no kernel.
  auto rows = database.prepare(
      "SELECT processId, correlationId, graphNode IS NOT NULL OR "
      "algorithm IN (SELECT _id_ FROM main.StringTable WHERE value = 'CE') "
      "FROM main.NCCL_OPERATION ORDER BY rowid DESC LIMIT ?1");
  rows.bind(1, newest);
  while (rows.step()) {
    const std::int64_t process = rows.integer(0);
    all_known_.insert(process);
    // The kernels of a captured operation are those of its nodes.
    if (rows.integer(2) == 1) continue;
    if (rows.is_null(1)) {
      some_unknown.insert(process);
    } else {
      operations_.add(rows.integer(1));
      any_ = true;
    }
  }
  std::erase_if(all_known_, [&](std::int64_t process) { return some_unknown.contains(process); });
  if (!database.has_columns("NCCL_NODE", {"processId", "node"})) return;
  auto nodes =
      database.prepare("SELECT processId, node FROM main.NCCL_NODE ORDER BY rowid DESC LIMIT ?1");
  nodes.bind(1, newest);
  while (nodes.step()) nodes_.insert({nodes.integer(0), nodes.integer(1)});
}

CommunicationNames::CommunicationNames(store::Database& database) {
  if (!database.has_column(schema::tables::nccl_kernel.name, "name")) return;
  auto names = database.prepare("SELECT name FROM main.NCCL_KERNEL");
  while (names.step()) ids_.insert(names.integer(0));
}

void write_communication_names(store::Database& database, const std::set<std::int32_t>& names) {
  if (!database.has_table(schema::NcclOperation::table.name)) return;
  store::add_table(database, schema::tables::nccl_kernel);
  store::Statement insert = fill(database, schema::tables::nccl_kernel);
  for (const std::int32_t name : names) insert.bind(1, std::int64_t{name}).run();
}

}  // namespace gpuprof::compute
