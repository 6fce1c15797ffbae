#include "libprof/store/database_schema.hpp"

#include <algorithm>
#include <string>
#include <vector>

#include "libprof/base/letter_case.hpp"
#include "libprof/store/docs.hpp"
#include "schema/document.hpp"
#include "schema/nccl.hpp"
#include "schema/run.hpp"
#include "schema/stack_lines.hpp"

namespace gpuprof::store {
namespace {

constexpr std::int64_t small_page = 512;
constexpr std::int64_t small_file = std::int64_t{4} << 20;

std::int64_t page_size(Database& database) {
  return database.integer("PRAGMA page_size").value_or(0);
}

void write_docs(Database& database) {
  Docs docs(database);
  for (const schema::DocRow& row : schema::doc_rows()) {
    if (row.column.empty()) {
      docs.add_table(row.table, row.doc, row.is_view, static_cast<std::int64_t>(row.look_first));
    } else {
      docs.add_column(row.table, row.column, {row.unit, row.doc});
    }
  }
}

void write_words(Database& database) {
  Statement statistic = database.prepare("INSERT INTO STATISTIC_DOC VALUES(?1, ?2, ?3)");
  for (const schema::StatisticInfo& info : schema::statistics) {
    statistic.bind(1, info.name).bind(2, schema::severity_name(info.severity)).bind(3, info.help);
    statistic.run();
  }
  Statement name = database.prepare("INSERT OR IGNORE INTO ENUM_NAME VALUES(?1, ?2, ?3)");
  for (const schema::EnumType& type : schema::enum_types) {
    for (const schema::EnumValue& value : type.values) {
      name.bind(1, type.name).bind(2, value.value).bind(3, value.name).run();
    }
  }
  write_docs(database);
}

// The view's name from that of its file: "19_losses" -> "losses".
std::string_view view_name(const schema::ViewSql& view) {
  return view.name.substr(view.name.find('_') + 1);
}

// Creates the tables and the indexes that are maintained while rows come in.
void create_tables(Database& database) {
  for (const schema::Table* table : schema::all_tables) {
    database.execute(schema::create_table_sql(*table));
  }
  for (const std::string_view index : schema::early_indexes) {
    database.execute(std::string(index));
  }
}

std::optional<std::string> own_table(std::string_view name, bool ours) {
  for (const schema::Table* table : schema::all_tables) {
    if (!same_name(table->name, name)) continue;
    return table->is_view ? schema::create_nvprof_table_sql(*table)
                          : schema::create_table_sql(*table, ours);
  }
  return std::nullopt;
}

std::optional<std::string> own_view(std::string_view name) {
  for (const schema::ViewSql& view : schema::views()) {
    if (same_name(view_name(view), name)) return schema::create_view_sql(view);
  }
  for (const schema::Table* table : schema::all_tables) {
    if (table->is_view && same_name(table->name, name)) return schema::create_table_sql(*table);
  }
  return std::nullopt;
}

std::optional<std::string> own_index(std::string_view name) {
  for (const schema::Index& index : schema::indexes) {
    if (same_name("INDEX_" + std::string(index.table), name)) {
      return schema::create_index_sql(index);
    }
  }
  const std::string begin = "CREATE INDEX IF NOT EXISTS " + std::string(name) + " ";
  for (const std::string_view index : schema::early_indexes) {
    if (name_starts_with(index, begin)) return std::string(index);
  }
  if (name_starts_with(schema::range_index, begin)) return std::string(schema::range_index);
  return std::nullopt;
}

// --- what only some files have

// As it is in a file with stacks.
void add_view(Database& database, const schema::ViewSql& sql) {
  Docs docs(database);
  const schema::ViewText view = schema::describe_view(sql.sql, true);
  database.execute(schema::create_view_sql(sql, true));
  docs.add_table(view.name, view.doc, true);
  for (const schema::ViewColumn& column : view.columns) {
    docs.add_column(view.name, column.name, {column.unit, column.doc});
  }
}

const schema::ViewSql& view_on_demand(std::string_view name) {
  return *std::ranges::find(schema::views_on_demand(), name, view_name);
}

}  // namespace

std::optional<std::string> own_sql(std::string_view type, std::string_view name, bool ours) {
  if (type == "table") return own_table(name, ours);
  if (type == "view") return own_view(name);
  return type == "index" ? own_index(name) : std::nullopt;
}

std::optional<std::string> own_table_sql(std::string_view name, bool ours,
                                         const std::function<bool(std::string_view)>& has) {
  const auto known = std::ranges::find_if(
      schema::all_tables, [&](const schema::Table* each) { return same_name(each->name, name); });
  if (known == schema::all_tables.end()) return std::nullopt;
  schema::Table table = **known;
  std::vector<schema::Column> columns;
  schema::for_each_column(table, ours, [&](schema::Column column) {
    for (const schema::TimeName& time : schema::own_times) {
      const bool older = !has(column.name) && column.name == time.own && has(time.nvprofs);
      if (older) column.name = time.nvprofs;
    }
    if (has(column.name)) columns.push_back(column);
  });
  if (columns.empty()) return std::nullopt;
  // If a key column is missing, rows have no unique key.
  std::string_view key = table.key;
  while (!key.empty()) {
    std::string_view column = key.substr(0, key.find(", "));
    key.remove_prefix(std::min(key.size(), column.size() + 2));
    if (column.starts_with('"')) column = column.substr(1, column.size() - 2);
    if (std::ranges::find(columns, column, &schema::Column::name) != columns.end()) continue;
    table.key = {};
    table.without_rowid = false;
  }
  table.columns = columns;
  table.row_doc = {};
  table.with_process = table.is_view = false;
  return schema::create_table_sql(table);
}

void complete_schema(Database& database) {
  create_tables(database);
  for (const schema::ViewSql& view : schema::views()) {
    if (!database.has_table(view_name(view))) database.execute(schema::create_view_sql(view));
  }
}

void add_table(Database& database, const schema::Table& table) {
  if (database.has_table(table.name)) return;
  Docs docs(database);
  database.execute(schema::create_table_sql(table));
  docs.add_table(table.name, table.doc);
  schema::for_each_column(table, true, [&](const schema::Column& column) {
    docs.add_column(table.name, column.name, {column.unit, column.doc});
  });
}

void add_nccl_view(Database& database) {
  constexpr std::string_view name = "collectives";
  const schema::Table& nodes = schema::NcclNode::table;
  // A stream may have brought other columns.
  const auto lacks_column = [&](const schema::Table& table) {
    return std::ranges::any_of(table.columns, [&](const schema::Column& column) {
      return !database.has_column(table.name, column.name);
    });
  };
  if (database.has_table(name) || lacks_column(schema::NcclOperation::table)) return;
  add_table(database, nodes);
  if (lacks_column(nodes)) return;
  add_view(database, view_on_demand(name));
}

std::optional<std::string> own_view_with_stacks(std::string_view name) {
  for (const schema::ViewSql& view : schema::views()) {
    if (schema::has_stacks(view) && same_name(view_name(view), name)) {
      return schema::create_view_sql(view, true);
    }
  }
  return std::nullopt;
}

std::string as_stored(std::string sql) {
  constexpr std::string_view unless = "IF NOT EXISTS ";
  sql.erase(0, std::min(sql.find("CREATE "), sql.size()));
  if (const std::size_t at = sql.find(unless); at < sql.find('(')) sql.erase(at, unless.size());
  while (!sql.empty() && (sql.back() == '\n' || sql.back() == ';')) sql.pop_back();
  return sql;
}

bool is_own_view(std::string_view name, std::string_view stored_sql) {
  const auto is = [&](std::optional<std::string> own) {
    return own && as_stored(std::move(*own)) == stored_sql;
  };
  return is(own_sql("view", name, true)) || is(own_view_with_stacks(name));
}

std::string graph_nodes_sql() { return schema::create_view_sql(view_on_demand("graph_nodes")); }

void add_native_lines(Database& database) { add_table(database, schema::tables::native_line); }

void add_stack_tables(Database& database) {
  for (const schema::Table* table : schema::tables::stack_tables) add_table(database, *table);
  database.execute(
      "CREATE INDEX IF NOT EXISTS CALL_STACK_BY_CORRELATION ON CALL_STACK(correlationId)");
  for (const schema::ViewSql& view : schema::views()) {
    if (!schema::has_stacks(view)) continue;
    database.execute("DROP VIEW IF EXISTS main." + std::string(view_name(view)));
    add_view(database, view);
  }
}

void add_graph_nodes(Database& database) {
  for (const schema::Table* table : schema::tables::stack_tables) add_table(database, *table);
  const schema::ViewSql& nodes = view_on_demand("graph_nodes");
  if (!database.has_table(view_name(nodes))) add_view(database, nodes);
}

void create_schema(Database& database) {
  create_tables(database);
  database.execute("INSERT INTO Version VALUES(" + std::to_string(schema::nvprof_version) + ")");
  for (const schema::ViewSql& view : schema::views())
    database.execute(schema::create_view_sql(view));
  write_words(database);
}

void create_words(Database& database) {
  using namespace schema::tables;
  for (const schema::Table* table :
       {&statistic_doc, &enum_name, &table_text, &column_text, &doc_text}) {
    database.execute(schema::create_table_sql(*table));
  }
  write_words(database);
}

bool is_small(Database& database) {
  return page_size(database) * database.integer("PRAGMA page_count").value_or(0) <= small_file;
}

void use_small_pages(Database& database) {
  if (page_size(database) <= small_page || !is_small(database)) return;
  try {
    database.rebuild(small_page);
  } catch (const DatabaseError&) {
    // The file stays as it was: it is open elsewhere, or the disk has no room for a second copy.
  }
}

void make_empty_profile(Database& database, bool live) {
  database.execute("PRAGMA page_size = 16384");
  database.execute("PRAGMA journal_mode = DELETE");
  database.execute("PRAGMA synchronous = OFF");
  database.execute("PRAGMA application_id = " + std::to_string(schema::application_id));
  database.execute("PRAGMA user_version = " + std::to_string(schema::schema_version));
  database.execute("BEGIN");
  create_schema(database);
  database.prepare("INSERT INTO RUN VALUES('schema_version', ?1), ('finished', 0)")
      .bind(1, std::int64_t{schema::schema_version})
      .run();
  database.execute("COMMIT");
  // With a write-ahead log others can read at any time. A crash of this process harms neither file
  // nor log; only a crash of the machine could, and then the run is lost anyway. This comes last,
  // so that the log is empty when the file is closed: folding it in would not report a full disk.
  if (live) database.execute("PRAGMA journal_mode = WAL");
}

void create_indexes(Database& database, std::span<const schema::Index> indexes) {
  for (const schema::Index& index : indexes) {
    const std::string table(index.table);
    if (!database.has_column(table, index.column)) continue;
    if (!database.integer("SELECT 1 FROM main." + table + " LIMIT 1")) continue;
    database.execute(schema::create_index_sql(index));
  }
}

}  // namespace gpuprof::store
