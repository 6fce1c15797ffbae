// Generates CREATE TABLE and CREATE INDEX statements from the definitions.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "schema/column.hpp"

namespace gpuprof::schema {

// own_times: the names of columns with times.
//
// nvprof's tables have "start" and "end", or "timestamp". To find a file's time range, the Visual
// Profiler queries all tables whose CREATE text contains both of the first two words, or the third.
// It does so in one SQL text in an unchecked buffer of 4096 bytes: nvprof's tables use 3345 of
// them, and overflow crashes the program. Tables that nvprof does not have therefore use other
// words: "start" and "stop", or "time". Views use the usual names.
struct TimeName {
  std::string_view nvprofs;
  std::string_view own;
};
inline constexpr TimeName own_times[]{{"end", "stop"}, {"timestamp", "time"}};

// The possible columns of a row's times: the first one that the table has.
inline constexpr std::string_view begin_columns[]{"start", "timestamp", "time"};
inline constexpr std::string_view end_columns[]{"end", "stop"};

// The current name of a column of that table: gpuprof 0.1.0 used nvprof's words in all tables.
constexpr std::string_view current_name(const Table& table, std::string_view column) {
  for (const TimeName& time : own_times) {
    if (column == time.nvprofs && !has_column(table, column) && has_column(table, time.own)) {
      return time.own;
    }
  }
  return column;
}

// Quotes a name for SQL if needed; plain words stay bare, as nvprof writes them.
inline std::string sql_name(std::string_view name) {
  for (const std::string_view keyword : {"table", "column", "index", "group", "order"}) {
    if (name == keyword) return "\"" + std::string(name) + "\"";
  }
  return std::string(name);
}

// The statement that creates the table, whatever its origin, or the empty view that replaces it.
//
// nvprof declares _id_ AUTOINCREMENT and its columns NOT NULL. Both are omitted: they cost time on
// every row, the loader numbers rows itself, and no reader depends on them. `with_process`: for
// gpuprof's files; nvprof's lack that column. `quoted`: quotes names for SQL.
inline std::string create_table_sql(const Table& table, bool with_process = true,
                                    std::string (*quoted)(std::string_view) = sql_name) {
  std::string columns, zeros;
  for_each_column(table, with_process, [&](const Column& column) {
    if (!columns.empty()) columns += ",";
    if (table.is_view) {
      // DuckDB treats these as keywords in such a list.
      const bool keyword = column.name == "end" || column.name == "offset";
      columns += keyword ? "\"" + std::string(column.name) + "\"" : quoted(column.name);
      zeros += zeros.empty() ? "0" : ",0";
      return;
    }
    columns += quoted(column.name);
    if (!sql_type(column.type).empty()) columns += " " + std::string(sql_type(column.type));
    if (column.name == table.key || column.name == row_id) columns += " PRIMARY KEY";
  });
  const std::string name = quoted(table.name);
  if (table.is_view) {
    return "CREATE VIEW IF NOT EXISTS " + name + "(" + columns + ") AS SELECT " + zeros +
           " WHERE 0";
  }
  if (table.key.find(',') != std::string_view::npos) {
    columns += ",PRIMARY KEY(" + std::string(table.key) + ")";
  }
  if (!table.constraint.empty()) columns += "," + std::string(table.constraint);
  return "CREATE TABLE IF NOT EXISTS " + name + "(" + columns +
         (table.without_rowid ? ") WITHOUT ROWID" : ")");
}

// Creates the table that nvprof has where gpuprof has an empty view.
inline std::string create_nvprof_table_sql(Table table) {
  table.is_view = false;
  return create_table_sql(table, false);
}

}  // namespace gpuprof::schema
