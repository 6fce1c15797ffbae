#include "libprof/store/stream_tables.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include "libprof/base/letter_case.hpp"
#include "libprof/base/text.hpp"
#include "libprof/wire/limits.hpp"
#include "schema/database.hpp"
#include "schema/tables.hpp"
#include "schema/traits.hpp"

namespace gpuprof::store {
namespace {

// SQLite's limit is 2000.
constexpr std::size_t most_columns = 1500;

StreamTables::Times find_times(const wire::WireTable& table) {
  StreamTables::Times times;
  std::size_t at = 0;
  int found = 0;
  for (const wire::WireColumn& column : table.columns) {
    if (column.type == schema::Type::u64 && column.name == "start") times.start = at, ++found;
    const bool end = std::ranges::find(schema::end_columns, column.name) !=
                     std::ranges::end(schema::end_columns);
    if (column.type == schema::Type::u64 && end) times.end = at, ++found;
    at += column.width;
  }
  times.there = found == 2;
  at = 0;
  for (const wire::WireColumn& column : table.columns) {
    const bool counts =
        std::ranges::any_of(schema::first_times, [&](const schema::FirstTime& time) {
          return table.name == "CUPTI_ACTIVITY_KIND_" + std::string(time.kind) &&
                 column.name == time.column;
        });
    if (counts && column.type == schema::Type::u64 && column.present) times.of_run = at;
    at += column.width;
  }
  return times;
}

// Null: neither ours nor nvprof's.
const schema::Table* own_table(std::string_view name) {
  const auto found = std::ranges::find_if(
      schema::all_tables, [&](const schema::Table* each) { return same_name(each->name, name); });
  return found == schema::all_tables.end() ? nullptr : *found;
}

bool is_collected(const schema::Table& table) {
  return std::ranges::find(schema::collected_tables, &table) != schema::collected_tables.end();
}

}  // namespace

// Reserves the names of everything in the database so far, except for tables of activity kinds, and
// of SQLite's eponymous virtual tables, such as json_each.
StreamTables::StreamTables(Database& database) : database_(database), docs_(database) {
  for (const char* names : {"SELECT name FROM sqlite_master", "PRAGMA module_list"}) {
    Statement statement = database_.prepare(names);
    while (statement.step()) reserved_.insert(lower(statement.text(0)));
  }
  for (const schema::Table* table : schema::all_tables) {
    if (schema::takes_records(*table)) reserved_.erase(lower(table->name));
  }
  for (const schema::Table* table : schema::collected_tables) reserved_.erase(lower(table->name));
}

bool StreamTables::takes_own_rows(std::string_view table) {
  const schema::Table* own = own_table(table);
  return own && own->origin == schema::Origin::own;
}

bool StreamTables::takes_samples(std::string_view table) {
  return std::ranges::any_of(schema::sampled_tables, [&](const schema::Table* each) {
    return same_name(each->name, table);
  });
}

bool StreamTables::takes_rows(std::string_view table) const {
  const std::string name = lower(table);
  // index_: prefix of the indexes created at the end of the run.
  return !reserved_.contains(name) && !name.starts_with("sqlite_") &&
         !name.starts_with("pragma_") && !name.starts_with("index_");
}

bool StreamTables::is_known(std::string_view table) {
  return database_
      .prepare("SELECT 1 FROM main.sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE")
      .bind(1, table)
      .step();
}

void StreamTables::make_table(const wire::WireTable& brought) {
  std::vector<schema::Column> columns;
  for (const wire::WireColumn& column : brought.columns) {
    if (column.role != schema::Role::number) {
      columns.push_back(schema::stored(column.name, column.type, schema::read_doc(column.doc)));
    }
  }
  const schema::Table table{.name = brought.name,
                            .doc = brought.doc,
                            .columns = columns,
                            .origin = schema::Origin::activity,
                            .row_doc = schema::row_id_doc,
                            .with_process = true};
  database_.execute(schema::create_table_sql(table, true, quoted_name));
  docs_.add_table(table.name, table.doc);
  schema::for_each_column(table, true, [&](const schema::Column& column) {
    docs_.add_column(table.name, column.name, {column.unit, column.doc});
  });
}

void StreamTables::add_column(std::string_view table, std::string_view column,
                              std::string_view type, std::string_view doc) {
  database_.execute("ALTER TABLE main." + quoted_name(table) + " ADD COLUMN " +
                    quoted_name(column) + " " + std::string(type));
  docs_.add_column(table, column, schema::read_doc(doc));
}

StreamTables::Writer* StreamTables::writer_for(const wire::WireTable& table,
                                               std::string_view definition, Share& share) {
  const auto known = writers_.find(definition);
  if (known != writers_.end()) return known->second.get();

  const bool fresh = !is_known(table.name);
  const std::size_t columns = table.columns.size();
  if (share.columns + columns > wire::max_stream_columns ||
      columns_ + columns > wire::max_run_columns ||
      (fresh &&
       (share.new_tables >= wire::max_new_tables || new_tables_ >= wire::max_run_tables))) {
    return nullptr;
  }
  // A stream may bring tables and columns unknown to this build.
  if (fresh) make_table(table);
  std::set<std::string, std::less<>> there;
  Statement info = database_.prepare("PRAGMA main.table_info(" + quoted_name(table.name) + ")");
  while (info.step()) there.insert(lower(info.text(1)));
  info = Statement();
  if (there.size() + columns + 1 > most_columns) return nullptr;
  share.columns += columns;
  share.new_tables += fresh;
  columns_ += columns;
  new_tables_ += fresh;

  auto writer = std::make_unique<Writer>();
  writer->table = table.name;
  writer->times = find_times(table);
  writer->source.row_width = table.row_width();
  std::vector<std::string> names;
  const auto add = [&](std::string_view name, RowSource::Cell cell) {
    names.emplace_back(name);
    writer->source.cells.push_back(cell);
  };
  // SQLite numbers a row whose _id_ is NULL with last + 1, so it appends it to the table and
  // searches nothing. _id_ is listed so that the columns are in the table's order, which saves a
  // copy of each value.
  const schema::Table* own = own_table(table.name);
  const bool numbered = there.contains(schema::row_id);
  if (numbered) add(schema::row_id, {});
  std::uint32_t offset = 0;
  bool has_process = false;
  for (const auto& column : table.columns) {
    const std::string name = lower(column.name);
    has_process |= name == lower(schema::process_column);
    const auto cell = column.present
                          ? RowSource::cell(column.type, column.role, column.width, offset)
                          : RowSource::Cell{};
    offset += column.width;
    if (column.role == schema::Role::number) {
      // SQLite numbers the rows of all other tables: a forged number could exhaust the row ids.
      if (numbered && own && own->origin == schema::Origin::own && !is_collected(*own))
        writer->source.cells[0] = cell;
      continue;
    }
    if (!there.contains(name)) {
      add_column(table.name, column.name, schema::sql_type(column.type), column.doc);
    }
    add(column.name, cell);
  }
  if (!has_process && (!own || own->with_process)) {
    if (!there.contains(lower(schema::process_column))) {
      add_column(table.name, schema::process_column, "INT", schema::process_doc);
    }
    add(schema::process_column, {.how = RowSource::Cell::process_id});
  }

  // The space sets it apart from any name that a stream can use.
  const std::string source_name = "rows " + std::to_string(writers_.size());
  create_row_source(database_, source_name, writer->source, names);
  const std::string in_order = joined(names, ", ", quoted_name);
  // A key that already exists can only be forged: the row is skipped.
  writer->insert =
      database_.prepare("INSERT OR IGNORE INTO main." + quoted_name(table.name) + "(" + in_order +
                        ") SELECT " + in_order + " FROM temp." + quoted_name(source_name));
  return writers_.emplace(std::string(definition), std::move(writer)).first->second.get();
}

void StreamTables::close() {
  for (auto& [definition, writer] : writers_) writer->insert = Statement();
  docs_.close();
}

}  // namespace gpuprof::store
