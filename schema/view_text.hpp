// Parses a file of schema/views: the docs of a view, and the SQL that creates it.
#pragma once

#include <algorithm>
#include <string>
#include <string_view>
#include <vector>

#include "schema/column.hpp"
#include "schema/traits.hpp"
#include "schema/views.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

struct ViewColumn {
  std::string name;
  std::string type;  // TEXT, INTEGER, REAL; ANY: differs between rows
  std::string unit;  // one of schema::units; empty: none
  std::string doc;
};

struct ViewText {
  std::string name;
  std::string doc;
  std::vector<ViewColumn> columns;
};

namespace detail {

// "{stacks k}" or "{stacks k node}".
inline constexpr std::string_view stacks_placeholder = "{stacks ";

// "start INTEGER [ns]: when it began".
inline ViewColumn view_column(std::string_view line, std::size_t colon) {
  ViewColumn column{.name = {}, .type = {}, .unit = {}, .doc = std::string(line.substr(colon + 2))};
  std::string_view head = line.substr(0, colon);
  const auto word = [&head] {
    const std::string_view first = head.substr(0, head.find(' '));
    head.remove_prefix(std::min(first.size() + 1, head.size()));
    return std::string(first);
  };
  column.name = word();
  column.type = word();
  if (head.size() > 2 && head.front() == '[' && head.back() == ']') {
    column.unit = head.substr(1, head.size() - 2);
  }
  return column;
}

}  // namespace detail

// A file of schema/views begins with a comment:
//
//   -- What a row is, on one or more lines.
//   --
//   -- column TYPE: its meaning, one line per column, in order;
//   --   continuation lines are indented by two more blanks
//   -- column TYPE [unit]: the same for a column with a unit
//   CREATE VIEW name AS
//
// `with_stacks`: as it is in a file with stacks, if it has the placeholder for them.
inline ViewText describe_view(std::string_view sql, bool with_stacks = false) {
  ViewText view;
  if (sql.find(detail::stacks_placeholder) == sql.npos) with_stacks = false;
  bool in_columns = false;
  const auto append = [](std::string& text, std::string_view more) {
    if (!text.empty()) text += ' ';
    text += more;
  };
  while (sql.starts_with("--")) {
    std::string_view line = sql.substr(0, sql.find('\n'));
    sql.remove_prefix(std::min(line.size() + 1, sql.size()));
    line.remove_prefix(2);
    if (line.empty()) {
      in_columns = true;
      continue;
    }
    const std::size_t text = line.find_first_not_of(' ');
    if (text == std::string_view::npos) continue;
    line.remove_prefix(text);
    const std::size_t colon = line.find(": ");
    if (!in_columns)
      append(view.doc, line);
    else if (text > 1 && !view.columns.empty())
      append(view.columns.back().doc, line);
    else if (colon != std::string_view::npos)
      view.columns.push_back(detail::view_column(line, colon));
  }
  constexpr std::string_view create = "CREATE VIEW ";
  if (const std::size_t at = sql.find(create); at != std::string_view::npos) {
    sql.remove_prefix(at + create.size());
    view.name = sql.substr(0, sql.find_first_of(" \n("));
  }
  if (with_stacks) {
    view.columns.push_back(
        {.name = "stack_id",
         .type = "INTEGER",
         .unit = {},
         .doc =
             "stack of the call that asked for it, of a graph's node of the call that made that: "
             "joins call_stacks.stack of the process; NULL = none"});
    view.columns.push_back({.name = "python_line",
                            .type = "TEXT",
                            .unit = {},
                            .doc = "FILE:LINE of that stack's innermost function in the program's "
                                   "own files, or else of all; NULL = none"});
  }
  return view;
}

namespace detail {

// The SELECTs of all `kinds`, joined with UNION ALL.
template <class Kinds, class Select>
std::string union_of(const Kinds& kinds, Select&& select) {
  std::string sql;
  for (const auto& kind : kinds) {
    const std::string one = select(kind, sql.empty());
    if (one.empty()) continue;
    if (!sql.empty()) sql += "\n      UNION ALL\n      ";
    sql += one;
  }
  return sql;
}

// Rows of one kind of GPU work: the parts of its name (a string, or text around the name of a
// number), times, bytes, device and owner. The first SELECT of a union names the columns.
inline std::string select_gpu_work(const GpuKind& work, bool first) {
  if (work.stays_empty) return "";
  const bool string = !work.named_by.empty() && work.named.empty();
  const std::size_t star = work.named.empty() ? work.name.size() : work.name.find('*');
  const auto quoted = [](std::string_view text) { return "'" + std::string(text) + "'"; };
  const auto as = [first](std::string_view name) {
    return first ? " AS " + std::string(name) : std::string();
  };
  // 0 (none) if the table lacks the column.
  const auto id = [&](std::string_view column) {
    return has_column(*work.table, column) ? std::string(column) : "0" + as(column);
  };
  const auto or_null = [&](std::string_view column, std::string_view name) {
    return (column.empty() ? "NULL" : std::string(column)) + as(name);
  };
  return "SELECT " + quoted(work.type) + as("type") + ", " +
         or_null(string ? work.named_by : "", "string") + ", " +
         (string ? "NULL" : quoted(work.name.substr(0, star))) + as("before") + ", " +
         (work.named.empty() ? "NULL" : quoted(work.named)) + as("named") + ", " +
         or_null(work.named.empty() ? "" : work.named_by, "number") + ", " +
         quoted(work.named.empty() ? "" : work.name.substr(star + 1)) + as("behind") +
         ", start, \"" + std::string(work.end) + "\"" + as("stop") + ", " +
         or_null(work.bytes, "bytes") + ", " + id("deviceId") + ", " + id("contextId") + ", " +
         id("streamId") + ", " + id("correlationId") + ", " + id("graphId") + ", " +
         id("graphNodeId") + ", processId FROM " + std::string(work.table->name);
}

inline std::string select_api_calls(const ApiKind& calls, bool first) {
  return "SELECT '" + std::string(calls.domain) + (first ? "' AS domain" : "'") +
         ", cbid, start, \"end\", processId, threadId, correlationId, returnValue FROM "
         "CUPTI_ACTIVITY_KIND_" +
         std::string(calls.kind);
}

// A column of LAUNCH_SHAPE for the kernel k. A subquery rather than a join: once a query
// aggregates, SQLite would look up the shape even if none of its columns is used.
inline std::string select_shape(std::string_view column) {
  return "(SELECT " + std::string(column) +
         " FROM LAUNCH_SHAPE AS o\n"
         "        WHERE blocks = k.gridX * k.gridY * k.gridZ\n"
         "          AND threadsPerBlock = k.blockX * k.blockY * k.blockZ\n"
         "          AND sharedMemory = k.staticSharedMemory + k.dynamicSharedMemory\n"
         "          AND registersPerThread = k.registersPerThread\n"
         "          AND carveout = CASE WHEN k.isSharedMemoryCarveoutRequested\n"
         "                              THEN k.sharedMemoryCarveoutRequested ELSE -1 END\n"
         "          AND deviceId = k.deviceId\n"
         "          AND processId = k.processId)";
}

// The columns stack_id and python_line of a row, "k", of calls or of work; "k node": work that may
// be a node of a graph.
inline std::string select_stacks(std::string_view argument) {
  const std::string row(argument.substr(0, argument.find(' ')));
  const std::string of_call =
      " FROM CALL_STACK AS c\n        WHERE c.correlationId = " + row + ".correlationId LIMIT 1)";
  std::string stack = "(SELECT c.stack" + of_call;
  std::string process = "(SELECT c.processId" + of_call;
  if (row.size() < argument.size()) {
    process = row + ".processId";
    stack =
        "coalesce((SELECT n.stack FROM NODE_STACK AS n\n        WHERE n.processId = " + process +
        " AND n.node = nullif(" + row + ".graphNodeId, 0)\n        AND n.since <= " + row +
        ".correlationId ORDER BY n.since DESC LIMIT 1), " + stack + ")";
  }
  return ",\n       {INTEGER " + stack +
         "} AS stack_id,\n       (SELECT s.line FROM STACK_LINE AS s\n" +
         "        WHERE s.processId = " + process + " AND s.stack = " + stack + ") AS python_line";
}

// The value of a metric, by any of these names, of the kernel k. Several groups may have measured
// it.
inline std::string select_measured(std::string_view names) {
  return "(SELECT max(v.value) FROM METRIC_RANGE AS r\n"
         "        JOIN METRIC_VALUE AS v ON v.range = r._id_\n"
         "        WHERE r.correlationId = k.correlationId AND r.kind = 'kernel'\n"
         "          AND coalesce(r.name, k.name) = k.name\n"
         "          AND v.metric IN (SELECT _id_ FROM METRIC WHERE name IN (" +
         std::string(names) + ")))";
}

// The column of NO_ROWS that is declared with the type.
inline std::string column_of_type(std::string_view type) {
  return type == "TEXT" ? "t" : type == "INTEGER" ? "i" : type == "REAL" ? "r" : "NULL";
}

// A SELECT without rows that defines the types of a view's columns: SQLite uses the declared types
// of a compound's last SELECT.
inline std::string select_types(const ViewText& view) {
  std::string columns;
  for (const ViewColumn& column : view.columns) {
    columns += (columns.empty() ? "" : ", ") + column_of_type(column.type);
  }
  return "SELECT " + columns + " FROM NO_ROWS WHERE 0";
}

// A guard that, followed by CROSS JOIN, decides whether the rest of a FROM is read: one row, unless
// the table computed at the end already has the totals. SQLite would not evaluate a plain condition
// before reading.
inline std::string select_unless(std::string_view table) {
  return "(SELECT 1 AS one WHERE NOT EXISTS (SELECT 1 FROM " + std::string(table) +
         " WHERE count IS NOT NULL)) AS u";
}

// Removes comments, unnecessary blanks, column aliases equal to the column's name, and AS before
// the alias of a table, since every file contains all views.
inline std::string without_blanks(std::string_view sql) {
  // The length of "AS x" after "a.x".
  const auto own_name = [](std::string_view text, std::string_view next) -> std::size_t {
    const std::size_t point = text.rfind('.');
    if (point == text.npos || !next.starts_with("AS ")) return 0;
    const std::string_view name = next.substr(3, next.find_first_of(", )\n", 3) - 3);
    return name == text.substr(point + 1) ? 3 + name.size() : 0;
  };
  // "AS " after "FROM x" or "JOIN x".
  const auto before_table_alias = [](std::string_view text, std::string_view next) {
    const std::size_t name = text.rfind(' ');
    if (name == text.npos || !next.starts_with("AS ")) return false;
    const std::string_view rest = text.substr(0, name);
    return rest.ends_with("FROM") || rest.ends_with("JOIN");
  };
  // A word before a quote may change the meaning of the quoted text: x'00'.
  const auto in_word = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '\'' || c == '"';
  };
  std::string text;
  for (std::size_t i = 0; i < sql.size();) {
    if (sql[i] == '\'' || sql[i] == '"') {
      const std::size_t end = std::min(sql.find(sql[i], i + 1), sql.size() - 1) + 1;
      text += sql.substr(i, end - i);
      i = end;
    } else if (sql.substr(i).starts_with("--")) {
      i = std::min(sql.find('\n', i), sql.size());
    } else if (sql[i] == ' ' || sql[i] == '\n') {
      std::size_t end = std::min(sql.find_first_not_of(" \n", i), sql.size());
      if (const std::size_t name = own_name(text, sql.substr(end)); name != 0) {
        i = end + name;
        continue;
      }
      if (before_table_alias(text, sql.substr(end))) end += 3;
      if (!text.empty() && end < sql.size() && in_word(text.back()) && in_word(sql[end]))
        text += ' ';
      i = end;
    } else {
      text += sql[i++];
    }
  }
  return text;
}

}  // namespace detail

// What times of the run count from. The column has type ANY, which DuckDB treats as bytes: those of
// a text.
inline constexpr std::string_view zero_sql =
    "(SELECT CAST(CAST(value AS TEXT) AS BIGINT) FROM RUN WHERE key = 'zero_ns')";

// Whether the view has more columns in files with stacks.
inline bool has_stacks(const ViewSql& view) {
  return view.sql.find(detail::stacks_placeholder) != view.sql.npos;
}

// The CREATE VIEW of a file of schema/views. Placeholders:
//   {gpu_work}, {api_calls}   the tables of all kinds that have the trait,
//   {shape column}            a column of the shape of the kernel k (LAUNCH_SHAPE),
//   {measured names}          the value of a metric of the kernel k, by any of these names,
//   {zero}                    what times of the run count from,
//   {unless TABLE}            one row, unless that table has the totals of the file's records,
//   {stacks k}, {stacks k node}   in files with stacks two columns for them, else nothing,
//   {types}                   at the end, after UNION ALL: the types of all columns,
//   {INTEGER expression}      the expression as a column of that type, or TEXT, or REAL.
// The last two serve readers that ask SQLite for a column's declared type, which an expression
// lacks. docs/design/decisions.md says what they cost.
inline std::string create_view_sql(const ViewSql& view, bool with_stacks = false) {
  std::string sql(view.sql);
  const auto replace = [&sql](std::string_view word, auto&& text) {
    if (const std::size_t at = sql.find(word); at != sql.npos) sql.replace(at, word.size(), text());
  };
  replace("{gpu_work}", [] { return detail::union_of(gpu_kinds, detail::select_gpu_work); });
  replace("{api_calls}", [] { return detail::union_of(api_kinds, detail::select_api_calls); });
  replace("{zero}", [] { return std::string(zero_sql); });
  replace("{types}", [&] { return detail::select_types(describe_view(view.sql, with_stacks)); });
  // {word argument}
  const auto replace_all = [&sql](std::string_view word, auto&& text) {
    const std::string begin = "{" + std::string(word) + " ";
    for (std::size_t at = sql.find(begin); at != sql.npos; at = sql.find(begin, at)) {
      const std::size_t end = sql.find('}', at);
      sql.replace(at, end + 1 - at, text(sql.substr(at + begin.size(), end - at - begin.size())));
    }
  };
  replace_all("stacks", [&](const std::string& argument) {
    return with_stacks ? detail::select_stacks(argument) : std::string();
  });
  replace_all("shape", detail::select_shape);
  replace_all("unless", detail::select_unless);
  replace_all("measured", detail::select_measured);
  for (const std::string_view type : {"INTEGER", "REAL", "TEXT"}) {
    replace_all(type, [&](const std::string& expression) {
      return "(SELECT x FROM (SELECT " + expression + " AS x UNION ALL SELECT " +
             detail::column_of_type(type) + " FROM NO_ROWS WHERE 0))";
    });
  }
  return detail::without_blanks(sql);
}

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
