#include "libprof/exchange/export/for_nvprof.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "libprof/base/letter_case.hpp"
#include "libprof/read/names.hpp"
#include "libprof/read/rescue.hpp"
#include "libprof/read/tables.hpp"
#include "schema/nvprof_api.hpp"
#include "schema/pc_sampling.hpp"
#include "schema/traits.hpp"

namespace gpuprof::exporting {
namespace {

using store::Database;

constexpr std::int64_t most = INT32_MAX;

// Qualified, because a temporary table may have the same name.
std::string in_main(std::string_view table) { return "main." + store::quoted_name(table); }

struct Table {
  std::string name;
  std::set<std::string, NameLess> columns;  // those that can be changed
  bool has(std::string_view column) const { return columns.contains(column); }
  std::string sql() const { return in_main(name); }
};

std::vector<Table> tables_of(Database& database) {
  std::vector<Table> tables;
  for (const reading::SchemaObject& object : reading::read_schema(database)) {
    if (object.type != "table") continue;
    Table& table = tables.emplace_back();
    table.name = object.name;
    for (Database::Column& column : database.columns(object.name)) {
      if (!column.computed) table.columns.insert(std::move(column.name));
    }
  }
  return tables;
}

class Change {
 public:
  explicit Change(Database& database) : database_(database), tables_(tables_of(database)) {}

  void run() {
    drop_samples();
    number_functions();
    number_correlations();
    number_markers();
    if (several_processes()) {
      number_devices();
      number_contexts();
    }
    for (const char* kind : {"NVLINK", "PCIE", "DEVICE_ATTRIBUTE"}) drop_repeated(kind);
  }

 private:
  const Table* find(std::string_view kind) const { return find_table(reading::table_name(kind)); }
  const Table* find_table(std::string_view name) const { return find_named(tables_, name); }

  bool several_processes() const {
    const Table* processes = find_table("PROCESS");
    return processes && processes->has("processId") &&
           database_.integer("SELECT count(DISTINCT processId) FROM main.PROCESS") > 1;
  }

  // nvprof looks up each sample's kernel in KERNEL and crashes if it is missing; an unknown reason
  // makes it exit. In files of the current gpuprof it does not find the table.
  void drop_samples() {
    const Table* samples = find("PC_SAMPLING");
    if (!samples || samples->name == schema::tables::pc_sampling.name) return;
    if (!samples->has("correlationId") || !samples->has("stallReason")) return;
    const Table* kernels = find("KERNEL");
    const bool has_kernels = kernels && kernels->has("correlationId");
    database_.execute("DELETE FROM " + samples->sql() + " WHERE " +
                      (has_kernels ? "correlationId NOT IN (SELECT correlationId FROM " +
                                         kernels->sql() + ") OR stallReason NOT BETWEEN 0 AND 12"
                                   : std::string("1")));
  }

  void number_functions() {
    for (const schema::ApiKind& calls : schema::api_kinds) {
      const auto domain = reading::domain_of(calls);
      const bool runtime = domain == reading::ApiDomain::runtime;
      const Table* table = find(calls.kind);
      if (!table || !table->has("cbid")) continue;
      const std::string name = table->sql();
      reading::ApiNames names(database_);
      std::map<std::int64_t, int> numbers;
      auto used = database_.prepare("SELECT DISTINCT cbid FROM " + name);
      while (used.step()) {
        const std::int64_t cbid = used.integer(0);
        numbers[cbid] = nvprof_cbid(runtime, names.find(domain, cbid));
      }
      if (std::ranges::all_of(numbers, [](const auto& n) { return n.first == n.second; })) continue;
      if (!table->has("cuptiCbid")) {
        database_.execute("ALTER TABLE " + name + " ADD COLUMN cuptiCbid INT");
      }
      std::string cases;
      for (const auto& [from, to] : numbers) {
        if (from == to) continue;
        cases += " WHEN " + std::to_string(from) + " THEN " + std::to_string(to);
      }
      database_.execute("UPDATE " + name + " SET cuptiCbid = cbid, cbid = CASE cbid" + cases +
                        " ELSE cbid END");
    }
  }

  // All tables with such an id, and the columns that hold it.
  std::vector<std::pair<std::string, std::string>> holders(
      const std::vector<std::string>& columns) const {
    std::vector<std::pair<std::string, std::string>> all;
    for (const Table& table : tables_) {
      for (const std::string& column : columns) {
        if (table.has(column)) all.emplace_back(table.sql(), column);
      }
    }
    return all;
  }

  void number_correlations() {
    const auto holding = holders({"correlationId", "runtimeCorrelationId"});
    std::int64_t largest = 0;
    for (const auto& [table, column] : holding) {
      largest = std::max(largest,
                         database_.integer("SELECT max(" + column + ") FROM " + table).value_or(0));
    }
    if (largest <= most) return;
    database_.execute("CREATE TEMP TABLE correlation(old PRIMARY KEY, new INT) WITHOUT ROWID");
    for (const auto& [table, column] : holding) {
      database_.execute("INSERT OR IGNORE INTO temp.correlation(old) SELECT " + column + " FROM " +
                        table + " WHERE " + column + " <> 0");
    }
    // In the order of the old ids, which is that of the processes.
    database_.execute("CREATE TEMP TABLE numbered(new INTEGER PRIMARY KEY, old)");
    database_.execute("INSERT INTO temp.numbered(old) SELECT old FROM temp.correlation ORDER BY 1");
    database_.execute(
        "INSERT OR REPLACE INTO temp.correlation(old, new) SELECT old, new FROM temp.numbered");
    for (const auto& [table, column] : holding) {
      database_.execute("UPDATE " + table + " SET " + column +
                        " = (SELECT new FROM temp.correlation WHERE old = " + column + ") WHERE " +
                        column + " <> 0");
    }
    database_.execute("DROP TABLE temp.numbered; DROP TABLE temp.correlation");
  }

  // nvprof finds a range by its id alone.
  void number_markers() {
    const Table* markers = find("MARKER");
    if (!markers || !markers->has("processId") || !markers->has("id")) return;
    const std::string name = markers->sql();
    const bool same = database_
                          .integer("SELECT 1 FROM " + name +
                                   " GROUP BY id HAVING count(DISTINCT processId) > 1 LIMIT 1")
                          .has_value();
    const auto largest = database_.integer("SELECT max(id) FROM " + name);
    if (!same && largest.value_or(0) <= most) return;
    database_.execute(
        "CREATE TEMP TABLE marker(new INTEGER PRIMARY KEY, process INT, old INT, UNIQUE(process, "
        "old)); INSERT INTO temp.marker(process, old) SELECT DISTINCT processId, id FROM " +
        name + " ORDER BY 1, 2");
    for (const char* table : {"CUPTI_ACTIVITY_KIND_MARKER", "CUPTI_ACTIVITY_KIND_MARKER_DATA",
                              "NVTX_RANGE", "NVTX_PAYLOAD"}) {
      const Table* there = find_table(table);
      if (!there || !there->has("id") || !there->has("processId")) continue;
      database_.execute("UPDATE " + there->sql() +
                        " SET id = coalesce((SELECT new FROM temp.marker WHERE process = "
                        "processId AND old = id), id)");
    }
    database_.execute("DROP TABLE temp.marker");
  }

  // temp.device: the new number of each process's device. Device 0 may be a different GPU in each
  // process.
  void number_devices() {
    const Table* devices = find("DEVICE");
    if (!devices || !devices->has("_id_") || !devices->has("id")) return;
    if (!devices->has("uuid") || !devices->has("processId")) return;
    const std::string name = devices->sql();
    const std::string gpu = devices->has("migUuid") ? "hex(uuid) || hex(migUuid)" : "hex(uuid)";
    std::map<std::string, std::int64_t> numbers;  // by GPU
    std::set<std::int64_t> taken;
    bool changes = false;
    database_.execute(
        "CREATE TEMP TABLE device(process INT, old INT, new INT, PRIMARY KEY(process, old))");
    auto add = database_.prepare("INSERT OR IGNORE INTO temp.device VALUES(?1, ?2, ?3)");
    auto rows =
        database_.prepare("SELECT processId, id, " + gpu + " FROM " + name + " ORDER BY _id_");
    while (rows.step()) {
      const std::int64_t old = rows.integer(1);
      const auto [known, is_new] = numbers.try_emplace(std::string(rows.text(2)), old);
      if (is_new && taken.contains(old)) known->second = *taken.rbegin() + 1;
      taken.insert(known->second);
      changes |= known->second != old;
      add.bind(1, rows.integer(0)).bind(2, old).bind(3, known->second).run();
    }
    if (changes) {
      replace(
          {"deviceId", "srcDeviceId", "dstDeviceId", "cuDeviceId", "endDeviceId", "objectDeviceId"},
          "device");
      replace_in(name, "id", "device");
      replace_in_objects("device", "3, 4, 5", 1);
      // Unified memory has devices in columns that may also hold the CPU.
      if (const Table* memory = find("UNIFIED_MEMORY_COUNTER")) {
        for (const char* column : {"srcId", "dstId"}) {
          replace_in(memory->sql(), column, "device");
        }
      }
    }
    database_.execute("DELETE FROM " + name + " WHERE _id_ NOT IN (SELECT min(_id_) FROM " + name +
                      " GROUP BY id)");
    database_.execute("DROP TABLE temp.device");
  }

  // temp.context: the new number of each process's context.
  void number_contexts() {
    const Table* contexts = find("CONTEXT");
    if (!contexts || !contexts->has("processId") || !contexts->has("contextId")) return;
    if (!contexts->has("_id_")) return;
    const std::string name = contexts->sql();
    const auto same =
        database_.integer("SELECT 1 FROM " + name +
                          " GROUP BY contextId HAVING count(DISTINCT processId) > 1 LIMIT 1");
    if (!same) return;
    const std::int64_t largest =
        database_.integer("SELECT max(contextId) FROM " + name).value_or(0);
    std::int64_t last = largest;
    std::set<std::int64_t> taken;
    database_.execute(
        "CREATE TEMP TABLE context(process INT, old INT, new INT, PRIMARY KEY(process, old))");
    auto add = database_.prepare("INSERT OR IGNORE INTO temp.context VALUES(?1, ?2, ?3)");
    auto rows = database_.prepare("SELECT processId, contextId FROM " + name +
                                  " GROUP BY 1, 2 ORDER BY min(_id_)");
    while (rows.step()) {
      const std::int64_t old = rows.integer(1);
      const bool is_free = taken.insert(old).second;
      add.bind(1, rows.integer(0)).bind(2, old).bind(3, is_free ? old : ++last).run();
    }
    replace({"contextId", "srcContextId", "dstContextId", "cuContextId", "endContextId",
             "parentContextId", "objectContextId"},
            "context");
    replace_in_objects("context", "4, 5", 2);
    database_.execute("DROP TABLE temp.context");
  }

  void replace(const std::vector<std::string>& columns, const std::string& numbers) {
    for (const Table& table : tables_) {
      if (!table.has("processId")) continue;
      for (const std::string& column : columns) {
        if (table.has(column)) replace_in(table.sql(), column, numbers);
      }
    }
  }

  void replace_in(const std::string& table, const std::string& column, const std::string& numbers) {
    database_.execute("UPDATE " + table + " SET " + column + " = coalesce((SELECT new FROM temp." +
                      numbers + " WHERE process = processId AND old = " + column + "), " + column +
                      ")");
  }

  // Replaces bytes 4 * (word - 1) to 4 * word of objectId, little-endian, for these kinds of
  // object.
  void replace_in_objects(const std::string& numbers, const std::string& kinds, int word) {
    for (const char* kind : {"NAME", "MARKER", "OVERHEAD"}) {
      const Table* table = find(kind);
      if (!table || !table->has("_id_") || !table->has("processId")) continue;
      if (!table->has("objectId") || !table->has("objectKind")) continue;
      const std::string name = table->sql();
      auto update = database_.prepare("UPDATE " + name + " SET objectId = ?2 WHERE _id_ = ?1");
      auto look_up =
          database_.prepare("SELECT new FROM temp." + numbers + " WHERE process = ?1 AND old = ?2");
      std::vector<std::pair<std::int64_t, std::vector<std::byte>>> changed;
      auto rows =
          database_.prepare("SELECT _id_, processId, objectId FROM " + name +
                            " WHERE objectKind IN (" + kinds + ") AND length(objectId) = 12");
      while (rows.step()) {
        const auto object = rows.blob(2);
        std::vector<std::byte> bytes(object.begin(), object.end());
        std::byte* place = bytes.data() + 4 * (word - 1);
        std::uint32_t old = 0;
        for (int i = 3; i >= 0; --i) old = old << 8 | std::to_integer<std::uint32_t>(place[i]);
        look_up.bind(1, rows.integer(1)).bind(2, std::int64_t{old});
        if (look_up.step()) {
          auto number = static_cast<std::uint32_t>(look_up.integer(0));
          for (int i = 0; i < 4; ++i, number >>= 8) place[i] = static_cast<std::byte>(number & 255);
          changed.emplace_back(rows.integer(0), std::move(bytes));
        }
        look_up.reset();
      }
      for (const auto& [row, bytes] : changed) update.bind(1, row).bind_blob(2, bytes).run();
    }
  }

  // Drops rows that differ only in their process.
  void drop_repeated(std::string_view kind) {
    const Table* table = find(kind);
    if (!table || !table->has("processId") || !table->has("_id_")) return;
    std::string columns;
    for (const std::string& column : table->columns) {
      if (same_name(column, "_id_") || same_name(column, "processId")) continue;
      columns += (columns.empty() ? "" : ", ") + store::quoted_name(column);
    }
    const std::string name = table->sql();
    database_.execute("DELETE FROM " + name + " WHERE _id_ NOT IN (SELECT min(_id_) FROM " + name +
                      " GROUP BY " + columns + ")");
  }

  Database& database_;
  const std::vector<Table> tables_;
};

}  // namespace

int nvprof_cbid(bool runtime, std::string_view name) {
  const auto known = schema::nvprof_api_names(runtime);
  const std::string_view base = schema::without_version(name);
  if (base.empty()) return 0;
  int nearest = 0;
  std::size_t most_alike = 0;
  for (std::size_t cbid = 1; cbid < known.size(); ++cbid) {
    if (schema::without_version(known[cbid]) != base) continue;
    // Of several versions, the one with the longest common prefix: _v2_ptsz rather than _v2.
    const auto [a, b] = std::ranges::mismatch(name, known[cbid]);
    const auto alike = static_cast<std::size_t>(a - name.begin());
    const bool equal = a == name.end() && b == known[cbid].end();
    if (equal) return static_cast<int>(cbid);
    if (alike > most_alike) {
      most_alike = alike;
      nearest = static_cast<int>(cbid);
    }
  }
  return nearest;
}

void make_readable_for_nvprof(store::Database& database) { Change(database).run(); }

}  // namespace gpuprof::exporting
