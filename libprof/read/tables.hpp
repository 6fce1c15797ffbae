// Which tables and columns a file has, and what they are called.
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
// The other way; empty for a table that is of no kind.
std::string_view kind_of(std::string_view table);

// The tables of one database and their columns, each looked at once. Names count in any case of
// letters, as for SQLite; views do not count, as for nvprof. Belongs to the database's thread and
// must not outlive it.
class Tables {
 public:
  // `schema`: "main", or the name of an attached database.
  explicit Tables(store::Database& database, std::string schema = "main")
      : database_(database), schema_(std::move(schema)) {}

  store::Database& database() { return database_; }
  const std::string& schema() const { return schema_; }

  // By name, with whether it is computed. None: there is no such table.
  using Columns = std::map<std::string, bool, NameLess>;
  const Columns& columns(std::string_view table);

  bool has(std::string_view table) { return !columns(table).empty(); }
  bool has(std::string_view table, std::string_view column) {
    return columns(table).contains(column);
  }
  // The columns that tell when a row began and ended. Empty: there is none.
  std::string_view begin_column(std::string_view table);
  std::string_view end_column(std::string_view table);

 private:
  store::Database& database_;
  const std::string schema_;
  std::map<std::string, Columns, NameLess> columns_;  // of tables that were asked for
};

}  // namespace gpuprof::reading
