#include "libprof/read/tables.hpp"

#include <span>

#include "schema/database.hpp"

namespace gpuprof::reading {

std::string table_name(std::string_view kind) { return std::string(kind_prefix).append(kind); }

std::string_view kind_of(std::string_view table) {
  return name_starts_with(table, kind_prefix) ? table.substr(kind_prefix.size())
                                              : std::string_view();
}

const Tables::Columns& Tables::columns(std::string_view table) {
  const auto known = columns_.find(table);
  if (known != columns_.end()) return known->second;
  Columns& columns = columns_[std::string(table)];
  auto there =
      database_.prepare("SELECT 1 FROM " + schema_ +
                        ".sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE");
  if (!there.bind(1, table).step()) return columns;
  for (store::Database::Column& column : database_.columns(table, schema_)) {
    columns.emplace(std::move(column.name), column.computed);
  }
  return columns;
}

namespace {

std::string_view first_of(const Tables::Columns& columns, std::span<const std::string_view> names) {
  for (const std::string_view name : names) {
    if (columns.contains(name)) return name;
  }
  return {};
}

}  // namespace

std::string_view Tables::begin_column(std::string_view table) {
  return first_of(columns(table), schema::begin_columns);
}

std::string_view Tables::end_column(std::string_view table) {
  return first_of(columns(table), schema::end_columns);
}

}  // namespace gpuprof::reading
