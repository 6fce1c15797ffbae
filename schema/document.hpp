// The documentation of the database out of its definitions: rows for TABLE_DOC and COLUMN_DOC, and
// docs/schema.md. Needs the views, which the build embeds (target gpuprof_views).
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "schema/activity/all.hpp"
#include "schema/database.hpp"
#include "schema/enums.hpp"
#include "schema/query_calls.hpp"
#include "schema/statistics.hpp"
#include "schema/tables.hpp"
#include "schema/views.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

struct ColumnText {
  std::string name;
  std::string doc;
};

struct ViewText {
  std::string name;
  std::string doc;
  std::vector<ColumnText> columns;
};

// A file of schema/views begins with a comment:
//
//   -- What a row is, one line or more.
//   --
//   -- column: what it means, one line for each column, in order;
//   --   a longer one goes on with two more blanks
//   CREATE VIEW name AS
inline ViewText describe_view(std::string_view sql) {
  ViewText view;
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
    const std::size_t colon = line.find(": ");
    if (!in_columns)
      append(view.doc, line.substr(text));
    else if (text > 1 && !view.columns.empty())
      append(view.columns.back().doc, line.substr(text));
    else if (colon != std::string_view::npos)
      view.columns.push_back(
          {std::string(line.substr(text, colon - text)), std::string(line.substr(colon + 2))});
  }
  constexpr std::string_view create = "CREATE VIEW ";
  if (const std::size_t at = sql.find(create); at != std::string_view::npos) {
    sql.remove_prefix(at + create.size());
    view.name = sql.substr(0, sql.find_first_of(" \n("));
  }
  return view;
}

// A row of COLUMN_DOC, or of TABLE_DOC where `column` is empty.
struct DocRow {
  std::string table;
  std::string column;
  std::string doc;
};

inline std::vector<DocRow> doc_rows() {
  std::vector<DocRow> rows;
  const auto add = [&](std::string_view table, std::string_view column, std::string_view doc) {
    rows.push_back({std::string(table), std::string(column), std::string(doc)});
  };
  for (const Table* table : all_tables) {
    add(table->name, "", table->doc);
    if (table->origin == Origin::legacy) continue;  // nobody has rows to ask about
    for_each_column(*table, true, [&](std::string_view column, Type, std::string_view doc) {
      add(table->name, column, doc);
    });
  }
  for (const ViewSql& sql : views()) {
    const ViewText view = describe_view(sql.sql);
    add(view.name, "", view.doc);
    for (const ColumnText& column : view.columns) add(view.name, column.name, column.doc);
  }
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
          collected(K::info) + "\n\n| column | type | meaning |\n|---|---|---|\n";
    for (const Field& field : K::fields) {
      std::string doc(field.column.doc);
      if (field.since != 0) doc += " (CUDA " + std::string(cuda_release(field.since)) + ")";
      out += row(code(field.column.name), sql_type(field.column.type), doc);
    }
    if (!has_column(K::table, process_column)) out += row(code(process_column), "INT", process_doc);
    out += "\n";
  });
  for (const std::string& table : by_id) text += table;
  return text;
}

inline std::string own_part() {
  std::string text;
  for (const Table* table : own_tables) {
    text += "### " + std::string(table->name) + "\n\n" + std::string(table->doc) +
            "\n\n| column | type | meaning |\n|---|---|---|\n";
    for_each_column(*table, true, [&](std::string_view column, Type type, std::string_view doc) {
      text += row(code(column), sql_type(type), doc);
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
    text += "### " + view.name + "\n\n" + view.doc + "\n\n| column | meaning |\n|---|---|\n";
    for (const ColumnText& column : view.columns) text += row(code(column.name), column.doc);
    text += "\n";
  }
  return text;
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
      "<!-- Written by `gpuprof schema`. Change schema/ in place of this file. -->\n"
      "# The database\n\n"
      "A run is one SQLite file. Its tables are nvprof's: same names, same columns in the same "
      "order, and what nvprof lacked behind them. Tools made for nvprof read it. Every table is "
      "there also when it is empty. Ask the [views](#views): they have demangled names, names in "
      "place of numbers, and joins. All times are ns on CUPTI's clock unless the column says "
      "otherwise; table [CLOCK](#clock) turns them into time of day. A 64-bit unsigned number is "
      "stored as SQLite's signed one.\n\n"
      "All this is in the file too: `SELECT * FROM TABLE_DOC`, `SELECT * FROM COLUMN_DOC`.\n\n"
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
      "nvprof has them, CUPTI can no longer fill them. Those of activity kinds are in every file, "
      "for readers that ask for them; the others in none.\n\n" +
      markdown::legacy_part();
  text.pop_back();
  return text;
}

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
