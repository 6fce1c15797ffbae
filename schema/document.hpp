// Generates the documentation of the database from its definitions: rows for TABLE_DOC and
// COLUMN_DOC, and docs/schema.md. Requires the views, which the build embeds (target
// gpuprof_views).
#pragma once

#include <algorithm>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "schema/activity/all.hpp"
#include "schema/database.hpp"
#include "schema/enums.hpp"
#include "schema/query_calls.hpp"
#include "schema/statistics.hpp"
#include "schema/tables.hpp"
#include "schema/view_text.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

// The tables and views to look at first, in this order: TABLE_DOC.look_first.
inline constexpr std::string_view look_first[]{
    "gpu_utilization", "kernel_summary", "api_summary", "nvtx_gpu",    "steps",   "gpu_gaps",
    "blocking_calls",  "kernels",        "memcpys",     "memory_peak", "devices", "losses",
};

// A row of COLUMN_DOC, or of TABLE_DOC if `column` is empty.
struct DocRow {
  std::string table;
  std::string column;
  std::string doc;
  std::string unit = {};       // of a column; empty: none
  bool is_view = false;        // of a table
  std::size_t look_first = 0;  // of a table; 0: not in the list
};

inline std::vector<DocRow> doc_rows() {
  std::vector<DocRow> rows;
  const auto add_table = [&](std::string_view table, std::string_view doc, bool is_view) {
    const auto place = std::ranges::find(look_first, table);
    const auto index = static_cast<std::size_t>(place - std::begin(look_first));
    rows.push_back({.table = std::string(table),
                    .column = {},
                    .doc = std::string(doc),
                    .is_view = is_view,
                    .look_first = place == std::end(look_first) ? 0 : index + 1});
  };
  const auto add = [&](std::string_view table, std::string_view column, std::string_view doc,
                       std::string_view unit) {
    rows.push_back({.table = std::string(table),
                    .column = std::string(column),
                    .doc = std::string(doc),
                    .unit = std::string(unit)});
  };
  for (const Table* table : all_tables) {
    add_table(table->name, table->doc, table->is_view);
    if (table->origin == Origin::legacy) continue;  // it never has rows
    for_each_column(*table, true, [&](const Column& column) {
      add(table->name, column.name, column.doc, column.unit);
    });
  }
  for (const ViewSql& sql : views()) {
    const ViewText view = describe_view(sql.sql);
    add_table(view.name, view.doc, true);
    for (const ViewColumn& column : view.columns) {
      add(view.name, column.name, column.doc, column.unit);
    }
  }
  return rows;
}

// Rows of TABLE_DOC, in the order of look_first.
inline std::vector<DocRow> doc_rows_to_look_at_first() {
  std::vector<DocRow> rows = doc_rows();
  std::erase_if(rows, [](const DocRow& row) { return row.look_first == 0; });
  std::ranges::sort(rows, {}, &DocRow::look_first);
  return rows;
}

namespace markdown {

inline std::string cell(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    if (c == '|') escaped += '\\';
    if (c == '<')
      escaped += "&lt;";
    else
      escaped += c;
  }
  return escaped;
}

inline std::string row(std::string_view a, std::string_view b) {
  return "| " + cell(a) + " | " + cell(b) + " |\n";
}

inline std::string row(std::string_view a, std::string_view b, std::string_view c) {
  return "| " + cell(a) + " | " + cell(b) + " | " + cell(c) + " |\n";
}

// A table row for a column. `behind` follows the doc: a field's `since`.
inline std::string column_row(std::string_view name, std::string_view type, std::string_view unit,
                              std::string_view doc, std::string_view behind = {}) {
  return "| `" + std::string(name) + "` | " + std::string(type) + " | " + std::string(unit) +
         " | " + cell(doc) + std::string(behind) + " |\n";
}
inline constexpr std::string_view column_head =
    "| column | type | unit | meaning |\n|---|---|---|---|\n";

inline std::string code(std::string_view text) { return "`" + std::string(text) + "`"; }

// The CUDA release whose CUPTI has this API version, as far as fields.since needs it.
inline std::string_view cuda_release(std::uint32_t version) {
  switch (version) {
    case 26: return "12.8";
    case 27: return "12.9";
    case 28: return "12.9 update 1";
    case 130000: return "13.0";
    case 130001: return "13.0 update 1";
    case 130100: return "13.1";
    case 130200: return "13.2";
    case 130201: return "13.2 update 1";
    case 130300: return "13.3";
    case 130400: return "13.4";
    case 130500: return "13.5";
    default: return "";
  }
}

inline std::string collected(const KindInfo& kind) {
  for (const GroupInfo& group : groups) {
    if (group.group != kind.group) continue;
    if (kind.group == Group::topology) return "Always collected.";
    if (kind.group == Group::serial) return "Collected with `--concurrent-kernels off`.";
    return "Collected with `--trace " + std::string(group.name) + "`" +
           (group.by_default ? ", which is on by default." : ".");
  }
  return "";
}

inline std::string activity_tables() {
  std::string text;
  std::vector<std::string> by_id(kinds.size());
  for_each_kind([&]<class K>() {
    std::string& out = by_id[static_cast<std::size_t>(find_kind(K::info.id) - kinds.data())];
    out = "### " + std::string(K::table.name) + "\n\n" + std::string(K::table.doc) + " " +
          collected(K::info) + "\n\n" + std::string(column_head);
    for (const Field& field : K::fields) {
      const Column& column = field.column;
      std::string since;
      if (field.since != 0) since = " (CUDA " + std::string(cuda_release(field.since)) + ")";
      out += column_row(column.name, sql_type(column.type), column.unit, column.doc, since);
    }
    if (!has_column(K::table, process_column)) {
      out += column_row(process_column, "INT", "", process_doc);
    }
    out += "\n";
  });
  for (const std::string& table : by_id) text += table;
  return text;
}

inline std::string own_part() {
  std::string text;
  for (const Table* table : own_tables) {
    text += "### " + std::string(table->name) + "\n\n" + std::string(table->doc) + "\n\n" +
            std::string(column_head);
    for_each_column(*table, true, [&](const Column& column) {
      text += column_row(column.name, sql_type(column.type), column.unit, column.doc);
    });
    text += "\n";
    if (table->name == "RUN") {
      text += "| key | value |\n|---|---|\n";
      for (const KeyDoc& key : run_keys) text += row(code(key.key), key.doc);
      text += "\n";
    }
    if (table->name == "STATISTIC_DOC") {
      text += "| statistic | severity | meaning |\n|---|---|---|\n";
      for (const StatisticInfo& statistic : statistics)
        text += row(code(statistic.name), severity_name(statistic.severity), statistic.help);
      text += "\n";
    }
  }
  return text;
}

inline std::string view_part() {
  std::string text;
  for (const ViewSql& sql : views()) {
    const ViewText view = describe_view(sql.sql);
    text += "### " + view.name + "\n\n" + view.doc + "\n\n" + std::string(column_head);
    for (const ViewColumn& column : view.columns) {
      text += column_row(column.name, column.type, column.unit, column.doc);
    }
    text += "\n";
  }
  return text;
}

inline std::string look_first_part() {
  std::string text = "| view | what a row is |\n|---|---|\n";
  for (const DocRow& row : doc_rows_to_look_at_first()) {
    text += markdown::row("[" + row.table + "](#" + row.table + ")", row.doc);
  }
  return text + "\n";
}

inline std::string legacy_part() {
  std::string text = "| table | what nvprof has there, and why it is empty |\n|---|---|\n";
  for (const Table& table : legacy::tables) text += row(code(table.name), table.doc);
  return text + "\n";
}

inline std::string calls_part(std::span<const CallClass> classes) {
  std::string text = "| what they ask for | why | functions |\n|---|---|---|\n";
  for (const CallClass& type : classes) {
    std::string functions;
    for (const std::string_view function : type.functions) {
      functions += (functions.empty() ? "" : ", ") + code(function);
    }
    text += row(type.what, type.reason, functions);
  }
  return text + "\n";
}

inline std::string enum_part() {
  std::string text;
  for (const EnumType& type : enum_types) {
    text += "**" + std::string(type.name) + "**: ";
    for (const EnumValue& value : type.values) {
      if (&value != type.values.data()) text += ", ";
      text += std::to_string(value.value) + " " + std::string(value.name);
    }
    text += "\n\n";
  }
  return text;
}

}  // namespace markdown

// The text of docs/schema.md.
inline std::string schema_markdown() {
  std::string text =
      "<!-- Written by `gpuprof schema`. Change schema/ instead of this file. -->\n"
      "# The database\n\n"
      "A run is one SQLite file. Its tables are nvprof's: same names, same columns in the same "
      "order, and what nvprof lacked after them. Tools made for nvprof read it. Every table is "
      "there also when it is empty. Ask the [views](#views): they have demangled names, names "
      "instead of numbers, and joins. All times are ns on CUPTI's clock unless the column says "
      "otherwise; table [CLOCK](#clock) turns them into time of day. A 64-bit unsigned number is "
      "stored as SQLite's signed one.\n\n"
      "All this is in the file too: `SELECT * FROM TABLE_DOC`, `SELECT * FROM COLUMN_DOC`.\n\n"
      "DuckDB's `ATTACH` runs the SQL of views itself and may answer some wrongly: what holds in "
      "general there is `sqlite_scan`, and the Arrow streams of the [Python "
      "package](python.md).\n\n"
      "A number has the unit that is next to its column: `count` is of things, `share` goes "
      "from "
      "0 to 1. Ids, names, flags and what has another unit in each row have none.\n\n"
      "`PRAGMA application_id` is " +
      std::to_string(application_id) +
      " (\"gprf\"), `PRAGMA user_version` and `schema_version` in [RUN](#run) are " +
      std::to_string(schema_version) +
      ". That number is raised when something a query can rely on is no longer so: a table, view "
      "or "
      "column of our own is gone, or has another name, meaning or unit. New tables, views, columns "
      "and rows do not raise it, and nvprof's tables do not change.\n\n"
      "A column that is an id of a string says \"StringTable id\". `correlationId` joins the call "
      "of the CUDA API with the work it asked for, over all processes of the file: the low 32 bits "
      "are CUPTI's, the high ones count the processes.\n\n";
  text += "## Look first\n\nWhat to ask first (`TABLE_DOC.look_first`).\n\n" +
          markdown::look_first_part();
  text += "## Views\n\n" + markdown::view_part();
  text +=
      "## Activity tables\n\n"
      "One for each activity kind of CUPTI. Each begins with `_id_ INTEGER PRIMARY KEY`. "
      "\"(CUDA 13.0)\" says which CUPTI first had the column; with an older one it is 0 or "
      "NULL.\n\n" +
      markdown::activity_tables();
  text += "## Our own tables\n\n" + markdown::own_part();
  text += "## Enums\n\nWhat `ENUM_NAME` holds.\n\n" + markdown::enum_part();
  text +=
      "## Calls that are left out\n\n"
      "Calls of functions that only ask neither block, nor launch, nor change what a profile "
      "shows, "
      "and a program can make many of them for each launch. They have no rows in "
      "CUPTI_ACTIVITY_KIND_RUNTIME and CUPTI_ACTIVITY_KIND_DRIVER, unless `--trace +queries` asks "
      "for "
      "them, or the run was made with `--print-api-trace` or `--print-api-summary`. RUN's "
      "`calls_left_out` has those that a file lacks; a libcupti that cannot leave out single "
      "functions has them all. A function that is not named here is traced.\n\n" +
      markdown::calls_part(queries) + "These ask, and are traced all the same:\n\n" +
      markdown::calls_part(asks_and_is_traced);
  text +=
      "## Tables that stay empty\n\n"
      "nvprof has these tables, and CUPTI can no longer fill them. They are in every file, for "
      "readers that ask for them: CUPTI_ACTIVITY_KIND_CDP_KERNEL as a table, the others as empty "
      "views.\n\n" +
      markdown::legacy_part();
  text.pop_back();
  return text;
}

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
