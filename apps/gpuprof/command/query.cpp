// gpuprof query: questions to a profile in SQL.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <memory>

#include "apps/gpuprof/command/progress.hpp"
#include "apps/gpuprof/command/standard_output.hpp"
#include "apps/gpuprof/commands.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"
#include "libprof/metrics/nearest.hpp"
#include "libprof/read/profile_file.hpp"
#include "libprof/report/query.hpp"

namespace gpuprof::app {
namespace {

using report::QueryLayout;

struct Arguments {
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
            << " NAME answers one of them; in place of NAME may stand SQL, a view or a table.\n";
  return 0;
}

// The name of a query, view or table; else it is SQL.
bool is_name(std::string_view text) {
  return std::ranges::all_of(text, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  });
}

// Makes SQL of what was given. `view`: room for it.
report::Query chosen(const Arguments& arguments, store::Database& database, std::string& view) {
  const std::string& given = arguments.query;
  report::Query query{.name = "query", .sql = given, .endless = true, .layout = arguments.layout()};
  if (!is_name(given)) return query;
  query.name = given;
  if (const report::NamedQuery* named = report::find_query(given)) {
    report::add_computed_tables(database);
    query.sql = named->sql;
    query.endless = false;
    return query;
  }
  std::vector<std::string> known = names("query");
  auto objects = database.prepare(
      "SELECT name FROM main.sqlite_master WHERE type IN ('table', 'view') LIMIT 10000");
  while (objects.step()) {
    known.emplace_back(objects.text(0));
    if (lower(known.back()) == lower(given)) {
      view = "SELECT * FROM main." + store::quoted_name(given);
      query.sql = view;
      return query;
    }
  }
  const auto near = metrics::nearest(given, known);
  throw Error("there is no query, view or table " + given,
              near.empty() ? "gpuprof query lists the queries, gpuprof schema the views and tables"
                           : "did you mean " + alternatives(near) + "?",
              ExitCode::bad_option);
}

int answer(Arguments& arguments) {
  if (arguments.csv + arguments.json + arguments.markdown > 1) {
    throw Error("--csv, --json and --markdown exclude one another", "", ExitCode::bad_option);
  }
  if (arguments.file.empty()) return list(false);
  reading::ProfileFile file(arguments.file);
  if (file.problem()) throw Error(*file.problem());
  if (arguments.query.empty()) return list(true);
  if (arguments.query == "-") {
    arguments.query.assign(std::istreambuf_iterator<char>(std::cin), {});
  }

  Progress progress;
  try {
    const int code = print_to_standard_output([&] {
      file.read(
          [&](store::Database& database) {
            progress.clear();
            database.watch(&Progress::is_interrupted);
            std::string view;
            print_query(database, std::cout, chosen(arguments, database, view));
          },
          [&](std::string_view what) { progress.show(what); });
    });
    if (code != 0) return code;
  } catch (const store::DatabaseError& error) {
    return code_of_interrupted(error);
  }
  return tell_notes(file);
}

std::function<int()> declare(Grammar& grammar) {
  auto arguments = std::make_shared<Arguments>();
  grammar.take(
      {.name = "file", .to = &arguments->file, .help = "A profile", .placeholder = "FILE"});
  grammar.take({.name = "query",
                .to = &arguments->query,
                .help = "What to ask: the name of a query, view or table, or SQL; -: SQL from "
                        "standard input; nothing: the names of queries are listed",
                .placeholder = "NAME|SQL"});
  grammar.take({.name = "--csv",
                .to = &arguments->csv,
                .help = "Comma-separated values: one line of names, then a line for each row"});
  grammar.take({.name = "--json", .to = &arguments->json, .help = "One JSON document"});
  grammar.take({.name = "--markdown", .to = &arguments->markdown, .help = "A table for Markdown"});
  grammar.footer(
      "\n"
      "  gpuprof query run.sqlite top_kernels\n"
      "  gpuprof query run.sqlite kernels --csv > kernels.csv\n"
      "  gpuprof query run.sqlite \"SELECT short_name, sum(duration) / 1e6 AS ms FROM kernels\n"
      "                            GROUP BY 1 ORDER BY ms DESC LIMIT 5\"\n"
      "\n"
      "The profile is only read: SQL is one SELECT, or WITH ... SELECT. Times in views are in ns;\n"
      "gpuprof schema describes views and columns. As text and Markdown, cells are cut after 80\n"
      "characters, and - is NULL. Ctrl-C ends a query that takes too long.");
  return [arguments] { return answer(*arguments); };
}

}  // namespace

extern const Subcommand query_command{
    .name = "query",
    .usage = "[FILE [NAME|SQL]] [--csv|--json|--markdown]",
    .help = "Ask a profile in SQL, or one of the queries that have a name",
    .declare = declare,
    .values = names,
};

}  // namespace gpuprof::app
