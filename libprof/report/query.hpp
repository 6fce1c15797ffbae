// SQL queries of a profile: the named ones of examples/queries, and the user's own.
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

  // The first line of the query's leading comment.
  std::string_view question() const;
};

// The queries of examples/queries/*.sql, embedded by the build, by name.
std::span<const NamedQuery> named_queries();
const NamedQuery* find_query(std::string_view name);  // null: no such query

// Adds, for this connection only, tables that named queries need but the file lacks: those of newer
// gpuprof versions, which are empty, and those that only files with stacks have, computed as far as
// the run has come.
void add_computed_tables(store::Database& database);

enum class QueryLayout { text, csv, json, markdown };

struct Query {
  std::string_view name;  // JSON's "table"
  std::string_view sql;
  bool endless = false;  // the user's own query: any amount of work is allowed
  QueryLayout layout = QueryLayout::text;
  std::size_t width = 0;  // terminal width that text must fit into; 0: no terminal
};

// Prints the rows. Throws what Database::ask and stepping the statement throw, and Error with
// ExitCode::import_failed if the file proves damaged after rows were printed. If it proves damaged
// earlier, DatabaseError is thrown and the caller may retry with a copy.
void print_query(store::Database& database, std::ostream& out, const Query& query);

}  // namespace gpuprof::report
