// gpuprof query: SQL queries of a profile.
#include <algorithm>
#include <filesystem>
#include <iostream>
#include <iterator>

#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/command/with_profile.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/nearest.hpp"
#include "libprof/base/printable.hpp"
#include "libprof/base/shell.hpp"
#include "libprof/base/text.hpp"
#include "libprof/report/query.hpp"

namespace gpuprof::app {
namespace {

using report::QueryLayout;

struct QueryArguments {
  std::string file;
  std::string query;
  bool csv = false, json = false, markdown = false;

  QueryLayout layout() const {
    return csv        ? QueryLayout::csv
           : json     ? QueryLayout::json
           : markdown ? QueryLayout::markdown
                      : QueryLayout::text;
  }
};

std::vector<std::string> names(std::string_view argument) {
  std::vector<std::string> all;
  if (argument != "query") return all;
  for (const report::NamedQuery& query : report::named_queries()) all.emplace_back(query.name);
  return all;
}

int list(bool file_given) {
  std::size_t width = 0;
  for (const std::string& name : names("query")) width = std::max(width, name.size());
  for (const report::NamedQuery& query : report::named_queries()) {
    std::cout << query.name << std::string(width + 2 - query.name.size(), ' ') << query.question()
              << '\n';
  }
  std::cout << "\ngpuprof query " << (file_given ? "FILE" : "run.sqlite")
            << " NAME answers one of them; SQL, a view or a table may be given instead of NAME.\n";
  return 0;
}

// Whether the text is the name of a query, view or table rather than SQL.
bool is_name(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

std::vector<std::string> tables_and_views(store::Database& database) {
  std::vector<std::string> names;
  auto objects = database.prepare(
      "SELECT name FROM main.sqlite_master WHERE type IN ('table', 'view') LIMIT 10000");
  while (objects.step()) names.emplace_back(objects.text(0));
  return names;
}

// Turns the argument into SQL. `view` is storage for it.
report::Query chosen(const QueryArguments& arguments, store::Database& database,
                     std::string& view) {
  const std::string& given = arguments.query;
  report::Query query{.name = "query",
                      .sql = given,
                      .endless = true,
                      .layout = arguments.layout(),
                      .width = terminal_width()};
  if (!is_name(given)) return query;
  query.name = given;
  if (const report::NamedQuery* named = report::find_query(given)) {
    report::add_computed_tables(database);
    query.sql = named->sql;
    query.endless = false;
    return query;
  }
  std::vector<std::string> known = names("query");
  for (std::string& name : tables_and_views(database)) {
    if (lower(name) == lower(given)) {
      view = "SELECT * FROM main." + store::quoted_name(given);
      query.sql = view;
      return query;
    }
    known.push_back(std::move(name));
  }
  const auto near = nearest(given, known);
  throw Error("there is no query, view or table " + given,
              near.empty() ? "gpuprof query lists the queries, gpuprof schema the views and tables"
                           : "did you mean " + alternatives(near) + "?",
              ExitCode::bad_option);
}

// Handles SQLite's message for an unknown table or column: "no such table: kernel". Throws with a
// suggestion; does nothing if no name is close.
void throw_with_meant(const Error& error, store::Database& database, std::string_view sql) {
  const std::string_view text = error.what();
  constexpr std::string_view of_table = "no such table: ", of_column = "no such column: ";
  const bool table = text.starts_with(of_table);
  if (!table && !text.starts_with(of_column)) return;
  std::string_view wrong = text.substr((table ? of_table : of_column).size());
  wrong.remove_prefix(std::min(wrong.rfind('.') + 1, wrong.size()));
  std::vector<std::string> names = tables_and_views(database);
  if (!table) {
    std::erase_if(names, [sql = lower(sql)](const std::string& name) {
      return sql.find(lower(name)) == sql.npos;
    });
    std::vector<std::string> columns;
    for (const std::string& name : names) {
      const auto row =
          database.prepare("SELECT * FROM main." + store::quoted_name(name) + " LIMIT 0");
      for (int i = 0; i < row.column_count(); ++i) columns.emplace_back(row.column_name(i));
    }
    names = std::move(columns);
  }
  const auto near = nearest(wrong, names);
  if (!near.empty()) {
    throw Error(error.what(), "did you mean " + alternatives(near) + "?", error.exit_code());
  }
}

void print(store::Database& database, const QueryArguments& arguments) {
  std::string view;
  const report::Query query = chosen(arguments, database, view);
  try {
    print_query(database, std::cout, query);
  } catch (const store::DatabaseError&) {
    throw;
  } catch (const Error& error) {
    throw_with_meant(error, database, query.sql);
    throw;
  }
}

// Detects a query named before the profile.
void check_order(const QueryArguments& arguments) {
  std::error_code ignored;
  if (std::filesystem::exists(arguments.file, ignored)) return;
  const bool swapped = report::find_query(arguments.file) ||
                       (!arguments.query.empty() && !is_name(arguments.query) &&
                        std::filesystem::is_regular_file(arguments.query, ignored));
  if (!swapped) return;
  const std::string file = arguments.query.empty() ? "FILE" : arguments.query;
  throw Error("the profile comes first, then what is asked",
              printable(shell_line({"gpuprof", "query", file, arguments.file})),
              ExitCode::bad_option);
}

int answer(QueryArguments& arguments) {
  if (arguments.csv + arguments.json + arguments.markdown > 1) {
    throw Error("--csv, --json and --markdown exclude one another", "", ExitCode::bad_option);
  }
  if (arguments.file.empty()) return list(false);
  check_order(arguments);
  if (arguments.query.empty()) {
    const reading::ProfileFile file(arguments.file);
    if (file.problem()) throw Error(*file.problem());
    return list(true);
  }
  return with_profile(arguments.file, [&](const OpenProfile& open) {
    if (arguments.query == "-") {
      arguments.query.assign(std::istreambuf_iterator<char>(std::cin), {});
    }
    open.progress.clear();
    print(open.database, arguments);
  });
}

void declare_query(Grammar& grammar, QueryArguments& arguments) {
  grammar.take("file", &arguments.file, "A profile", "FILE");
  grammar.take("query", &arguments.query,
               "What to ask: the name of a query, view or table, or SQL; -: SQL from "
               "standard input; nothing: the names of queries are listed",
               "NAME|SQL");
  grammar.take("--csv", &arguments.csv,
               "Comma-separated values: one line of names, then a line for each row");
  grammar.take("--json", &arguments.json, "One JSON document");
  grammar.take("--markdown", &arguments.markdown, "A table for Markdown");
  grammar.footer(
      "\n"
      "  gpuprof query run.sqlite top_kernels\n"
      "  gpuprof query run.sqlite kernels --csv > kernels.csv\n"
      "  gpuprof query run.sqlite \"SELECT short_name, sum(duration) / 1e6 AS ms FROM kernels\n"
      "                            GROUP BY 1 ORDER BY ms DESC LIMIT 5\"\n"
      "\n"
      "The profile is only read: SQL is one SELECT, or WITH ... SELECT. Times in views are in ns;\n"
      "gpuprof schema describes views and columns. As text and Markdown, cells are cut after 80\n"
      "characters, and - is NULL; on a terminal a line fits, and numbers have four digits. Ctrl-C "
      "ends a query that takes too long.");
}

}  // namespace

extern const Subcommand query_command{
    .name = "query",
    .usage = "[FILE [NAME|SQL]]",
    .help = "Ask a profile in SQL, or one of the queries that have a name",
    .declare = command<QueryArguments, declare_query, answer>,
    .values = names,
};

}  // namespace gpuprof::app
