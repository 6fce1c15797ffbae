// CREATE TABLE and CREATE INDEX texts out of the definitions.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "schema/column.hpp"
#include "schema/gpu_kinds.hpp"

namespace gpuprof::schema {

// Every table has this column last, unless one of its own has the name: rows of all processes of a
// run lie in one file.
inline constexpr std::string_view process_column = "processId";
inline constexpr std::string_view process_doc = "process the row came from: PROCESS.processId";

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

// A run's times count from the earliest of these: activity kinds, and where their time is.
struct FirstTime {
  std::string_view kind;  // without "CUPTI_ACTIVITY_KIND_"
  std::string_view column;
};
inline constexpr auto first_times = [] {
  std::array<FirstTime, nvprofs_gpu_kinds.size() + 3> all{
      {{"RUNTIME", "start"}, {"DRIVER", "start"}, {"MARKER", "timestamp"}}};
  for (std::size_t i = 0; i < nvprofs_gpu_kinds.size(); ++i) {
    all[i + 3] = {nvprofs_gpu_kinds[i].kind, "start"};
  }
  return all;
}();

constexpr bool has_column(const Table& table, std::string_view name) {
  for (const Column& column : table.columns) {
    if (column.name == name) return true;
  }
  return false;
}

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

// nvprof declares _id_ AUTOINCREMENT and its columns NOT NULL. Both are left out: they cost time on
// every row, the loader numbers rows itself, and no reader looks at them.
// `with_process`: in a file of ours; nvprof's lack that column.
inline std::string create_table_sql(const Table& table, bool with_process = true) {
  std::string sql =
      "CREATE TABLE IF NOT EXISTS " + sql_name(table.name) + "(_id_ INTEGER PRIMARY KEY";
  for (const Column& column : table.columns) {
    sql += ", " + sql_name(column.name) + " ";
    sql += sql_type(column.type);
  }
  if (with_process && !has_column(table, process_column))
    sql += ", " + std::string(process_column) + " INT";
  return sql + ")";
}

}  // namespace gpuprof::schema
