// Questions to a profile in SQL: those of examples/queries by name, and any the user has.
#pragma once

#include <cstddef>
#include <ostream>
#include <span>
#include <string_view>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::report {

struct NamedQuery {
  std::string_view name;
  std::string_view sql;

  // The first line of the comment that it begins with.
  std::string_view question() const;
};

// examples/queries/*.sql, which the build embeds, by name.
std::span<const NamedQuery> named_queries();
const NamedQuery* find_query(std::string_view name);  // null: there is none

// Named queries ask for tables that a file of an older gpuprof lacks: they are there then, empty,
// as in a file whose run goes on. For the connection alone.
void add_computed_tables(store::Database& database);

enum class QueryLayout { text, csv, json, markdown };

struct Query {
  std::string_view name;  // JSON's "table"
  std::string_view sql;
  bool endless = false;  // it is the user's own: any amount of work
  QueryLayout layout = QueryLayout::text;
  std::size_t width = 0;  // of a terminal's line, which text has to fit; 0: it is for no terminal
};

// Prints the rows. Throws what Database::ask and the stepping of the statement throw, and Error
// with ExitCode::import_failed where the file proves damaged when rows are out already: before, a
// DatabaseError says so, and it may be called again with a copy.
void print_query(store::Database& database, std::ostream& out, const Query& query);

}  // namespace gpuprof::report
