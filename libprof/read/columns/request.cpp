#include "libprof/read/columns/request.hpp"

#include <algorithm>
#include <span>
#include <string_view>

#include "libprof/base/error.hpp"
#include "libprof/base/letter_case.hpp"
#include "libprof/base/text.hpp"
#include "libprof/store/file_header.hpp"
#include "schema/database.hpp"

namespace gpuprof::columns {
namespace {

using store::Database;
using store::quoted_name;

// A column as the file declares it.
struct Declared {
  std::string name;
  bool has_real_affinity = false;  // SQLite converts integers to reals
  bool is_key = false;
  bool computed = false;
};

// SQLite's rules for declared types.
bool has_real_affinity(std::string_view type) {
  const auto has = [&](std::string_view word) {
    for (std::size_t i = 0; i + word.size() <= type.size(); ++i) {
      if (name_starts_with(type.substr(i), word)) return true;
    }
    return false;
  };
  if (has("INT") || has("CHAR") || has("CLOB") || has("TEXT") || has("BLOB")) return false;
  return has("REAL") || has("FLOA") || has("DOUB");
}

std::vector<Declared> declared_columns(Database& database, const std::string& table) {
  std::vector<Declared> columns;
  auto rows = database.prepare("PRAGMA main.table_xinfo(" + quoted_name(table) + ")");
  while (rows.step()) {
    const std::int64_t hidden = rows.integer(6);  // 2 and 3: computed
    if (hidden == 1) continue;
    columns.push_back({.name = std::string(rows.text(1)),
                       .has_real_affinity = has_real_affinity(rows.text(2)),
                       .is_key = rows.integer(5) > 0 && same_name(rows.text(2), "INTEGER"),
                       .computed = hidden != 0});
  }
  return columns;
}

// Index of the column that is an alias of the row id, or the number of columns if there is none.
// Such a key has no index.
std::size_t row_id_column(Database& database, const std::string& table,
                          const std::vector<Declared>& columns) {
  if (std::ranges::count(columns, true, &Declared::is_key) != 1) return columns.size();
  auto indexes = database.prepare("PRAGMA main.index_list(" + quoted_name(table) + ")");
  while (indexes.step()) {
    if (indexes.text(3) == "pk") return columns.size();
  }
  return static_cast<std::size_t>(std::ranges::find(columns, true, &Declared::is_key) -
                                  columns.begin());
}

// The first existing column of these names.
const Declared* find(const std::vector<Declared>& columns,
                     std::initializer_list<std::string_view> names) {
  for (const std::string_view name : names) {
    if (const Declared* found = find_named(columns, name)) return found;
  }
  return nullptr;
}

std::optional<Plan::Tree> find_tree(store::Snapshot& snapshot, const std::string& table) {
  Database& database = snapshot.database();
  store::FileHeader header;
  if (!snapshot.in_file() ||
      !database.read_file(0, std::as_writable_bytes(std::span(header.bytes))) ||
      !header.is_plain()) {
    return std::nullopt;
  }
  Plan::Tree tree{.page_size = static_cast<std::size_t>(header.page_size())};
  tree.pages = static_cast<std::uint32_t>(database.integer("PRAGMA page_count").value_or(0));
  int roots = 0;
  auto rows = database.prepare(
      "SELECT rootpage FROM main.sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE");
  rows.bind(1, table);
  while (rows.step()) {
    ++roots;
    const std::int64_t root = rows.integer(0);
    if (root < 2 || root > tree.pages) return std::nullopt;
    tree.root = static_cast<std::uint32_t>(root);
  }
  if (roots != 1) return std::nullopt;
  return tree;
}

}  // namespace

Condition::Condition(std::vector<std::int64_t> any_of) : listed_(true), any_of_(std::move(any_of)) {
  constexpr std::int64_t small = 1 << 20;
  std::ranges::sort(any_of_);
  for (const std::int64_t value : any_of_) {
    if (value < 0 || value >= small) continue;
    if (static_cast<std::size_t>(value) >= small_.size()) small_.resize(value + 1);
    small_[value] = true;
  }
}

bool Condition::accepts(std::int64_t value) const {
  if (from_ && value < *from_) return false;
  if (to_ && value >= *to_) return false;
  if (!listed_) return true;
  if (value >= 0 && static_cast<std::size_t>(value) < small_.size()) return small_[value];
  return std::ranges::binary_search(any_of_, value);
}

Plan make_plan(store::Snapshot& snapshot, const Request& request) {
  const TableInfo* known = find_table(request.table);
  if (!known) throw Error("no table " + request.table + " is known");
  Database& database = snapshot.database();
  Plan plan;
  auto there = database.prepare(
      "SELECT name FROM main.sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE");
  if (there.bind(1, known->name).step()) plan.table = there.text(0);
  there.reset();
  std::vector<Declared> declared;
  if (!plan.table.empty()) declared = declared_columns(database, plan.table);
  const std::size_t id_column =
      plan.table.empty() ? 0 : row_id_column(database, plan.table, declared);

  bool plain = std::ranges::none_of(declared, &Declared::computed);
  const auto source = [&](Type type, const Declared* column) {
    ColumnSource found{.type = type};
    if (!column) return found;
    found.name = column->name;
    found.index = static_cast<std::size_t>(column - declared.data());
    found.place =
        found.index == id_column ? ColumnSource::Place::row_id : ColumnSource::Place::record;
    plain &= !column->has_real_affinity || type == Type::float64;
    return found;
  };
  for (const std::string& name : request.columns) {
    const ColumnInfo* column = known->find(name);
    if (!column) throw Error("table " + request.table + " has no column " + name);
    const Declared* found = find(declared, {name});
    // Files of gpuprof 0.1.0 use nvprof's names for times in all tables.
    for (const schema::TimeName& time : schema::own_times) {
      if (!found && same_name(name, time.own)) found = find(declared, {time.nvprofs});
    }
    plan.columns.push_back(source(column->type, found));
  }
  const auto test = [&](std::initializer_list<std::string_view> names, Condition condition) {
    const Declared* column = find(declared, names);
    if (!column) return;
    plan.tests.push_back({source(Type::int64, column), std::move(condition)});
  };
  const Filter& filter = request.filter;
  if (filter.from || filter.to) {
    test({"start", "timestamp", "time"}, Condition(filter.from, filter.to));
  }
  if (!filter.devices.empty()) test({"deviceId"}, Condition(filter.devices));
  if (!filter.processes.empty()) test({"processId"}, Condition(filter.processes));
  if (filter.names) test({"name"}, Condition(*filter.names));

  if (plan.table.empty()) return plan;
  plan.needed = request.needed;
  plan.row_id = store::row_id_name(database, plan.table);
  if (plain && !plan.row_id.empty() && !request.only_sqlite) {
    plan.tree = find_tree(snapshot, plan.table);
  }
  return plan;
}

}  // namespace gpuprof::columns
