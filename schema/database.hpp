// CREATE TABLE and CREATE INDEX texts out of the definitions.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "schema/column.hpp"

namespace gpuprof::schema {

// own_times: what columns with times are called.
//
// nvprof's tables have "start" and "end", or "timestamp". The Visual Profiler asks all tables whose
// CREATE text has both of the first words, or the third, for the time range of a file. It does so
// in one SQL text in a buffer of 4096 bytes, which it does not check: nvprof's tables take 3345 of
// them, and what does not fit ends the program. So tables that nvprof does not have use other
// words: "start" and "stop", or "time". In views the names are the usual ones.
struct TimeName {
  std::string_view nvprofs;
  std::string_view own;
};
inline constexpr TimeName own_times[]{{"end", "stop"}, {"timestamp", "time"}};

// The columns that a row's times may be in: the first of these that a table has.
inline constexpr std::string_view begin_columns[]{"start", "timestamp", "time"};
inline constexpr std::string_view end_columns[]{"end", "stop"};

// The name that `column` of that table has today: gpuprof 0.1.0 used nvprof's words in all tables.
constexpr std::string_view current_name(const Table& table, std::string_view column) {
  for (const TimeName& time : own_times) {
    if (column == time.nvprofs && !has_column(table, column) && has_column(table, time.own)) {
      return time.own;
    }
  }
  return column;
}

// A name as SQL wants it: bare where it is a plain word, as nvprof writes them.
inline std::string sql_name(std::string_view name) {
  for (const std::string_view keyword : {"table", "column", "index", "group", "order"}) {
    if (name == keyword) return "\"" + std::string(name) + "\"";
  }
  return std::string(name);
}

// What makes the table, whatever its origin; an empty view where that has the table's place.
//
// nvprof declares _id_ AUTOINCREMENT and its columns NOT NULL. Both are left out: they cost time on
// every row, the loader numbers rows itself, and no reader looks at them.
// `with_process`: in a file of ours; nvprof's lack that column. `quoted`: what makes a name fit for
// SQL.
inline std::string create_table_sql(const Table& table, bool with_process = true,
                                    std::string (*quoted)(std::string_view) = sql_name) {
  std::string columns, nulls;
  for_each_column(table, with_process, [&](const Column& column) {
    if (!columns.empty()) columns += ",";
    if (table.is_view) {
      // In such a list these are keywords for DuckDB.
      const bool keyword = column.name == "end" || column.name == "offset";
      columns += keyword ? "\"" + std::string(column.name) + "\"" : quoted(column.name);
      nulls += nulls.empty() ? "NULL" : ",NULL";
      return;
    }
    columns += quoted(column.name);
    if (!sql_type(column.type).empty()) columns += " " + std::string(sql_type(column.type));
    if (column.name == table.key || column.name == row_id) columns += " PRIMARY KEY";
  });
  const std::string name = quoted(table.name);
  if (table.is_view) {
    return "CREATE VIEW IF NOT EXISTS " + name + "(" + columns + ") AS SELECT " + nulls +
           " WHERE 0";
  }
  if (table.key.find(',') != std::string_view::npos) {
    columns += ",PRIMARY KEY(" + std::string(table.key) + ")";
  }
  if (!table.constraint.empty()) columns += "," + std::string(table.constraint);
  return "CREATE TABLE IF NOT EXISTS " + name + "(" + columns +
         (table.without_rowid ? ") WITHOUT ROWID" : ")");
}

// The same table where nvprof has one and ours is an empty view.
inline std::string create_nvprof_table_sql(Table table) {
  table.is_view = false;
  return create_table_sql(table, false);
}

}  // namespace gpuprof::schema
