// CREATE TABLE and CREATE INDEX texts out of the definitions.
#pragma once

#include <string>

#include "schema/column.hpp"

namespace gpuprof::schema {

// Every table has this column last, unless one of its own has the name: rows of all processes of a
// run lie in one file.
inline constexpr std::string_view process_column = "processId";
inline constexpr std::string_view process_doc = "process the row came from: PROCESS.processId";

constexpr bool has_column(const Table& table, std::string_view name) {
  for (const Column& column : table.columns) {
    if (column.name == name) return true;
  }
  return false;
}

// A name as SQL wants it: bare where it is a plain word, as nvprof writes them.
inline std::string sql_name(std::string_view name) {
  for (const std::string_view keyword : {"table", "column", "index", "group", "order"}) {
    if (name == keyword) return "\"" + std::string(name) + "\"";
  }
  return std::string(name);
}

// nvprof declares _id_ AUTOINCREMENT and its columns NOT NULL. Both are left out: they cost time on
// every row, the loader numbers rows itself, and no reader looks at them.
inline std::string create_table_sql(const Table& table) {
  std::string sql =
      "CREATE TABLE IF NOT EXISTS " + sql_name(table.name) + "(_id_ INTEGER PRIMARY KEY";
  for (const Column& column : table.columns) {
    sql += ", " + sql_name(column.name) + " ";
    sql += sql_type(column.type);
  }
  if (!has_column(table, process_column)) sql += ", " + std::string(process_column) + " INT";
  return sql + ")";
}

}  // namespace gpuprof::schema
