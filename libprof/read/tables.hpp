// Which tables and columns a file has, and their names.
#pragma once

#include <map>
#include <string>
#include <string_view>

#include "libprof/base/letter_case.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::reading {

inline constexpr std::string_view kind_prefix = "CUPTI_ACTIVITY_KIND_";

// "MEMCPY" -> "CUPTI_ACTIVITY_KIND_MEMCPY".
std::string table_name(std::string_view kind);
// The inverse; empty for a table that belongs to no kind.
std::string_view kind_of(std::string_view table);

// The tables of one database and their columns, each looked up once. Names are case-insensitive, as
// in SQLite; views do not count, as in nvprof. Belongs to the database's thread and must not
// outlive it.
class Tables {
 public:
  // `schema`: "main", or the name of an attached database.
  explicit Tables(store::Database& database, std::string schema = "main")
      : database_(database), schema_(std::move(schema)) {}

  store::Database& database() { return database_; }
  const std::string& schema() const { return schema_; }

  // Maps a column's name to whether it is computed. Empty: there is no such table.
  using Columns = std::map<std::string, bool, NameLess>;
  const Columns& columns(std::string_view table);

  bool has(std::string_view table) { return !columns(table).empty(); }
  bool has(std::string_view table, std::string_view column) {
    return columns(table).contains(column);
  }
  // The columns that say when a row began and ended. Empty: there is none.
  std::string_view begin_column(std::string_view table);
  std::string_view end_column(std::string_view table);

 private:
  store::Database& database_;
  const std::string schema_;
  std::map<std::string, Columns, NameLess> columns_;  // of tables asked for
};

}  // namespace gpuprof::reading
