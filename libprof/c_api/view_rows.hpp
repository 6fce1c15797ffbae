// Rows of views, read from the columns of their tables (view_columns.hpp).
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "libprof/c_api/arrow_column.hpp"
#include "libprof/c_api/request.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::c_api {

// Columns are named as in the file.
struct ViewRequest {
  std::string view;
  struct Column {
    std::string name;
    std::optional<Kind> kind;  // the declared type
  };
  std::vector<Column> columns;
  // Conditions that must all hold.
  struct Range {
    std::string column;
    std::optional<std::int64_t> from, to;  // from <= value < to
  };
  std::vector<Range> ranges;
  std::vector<std::pair<std::string, std::vector<Constant>>> equals;
  std::vector<std::pair<std::string, std::string>> matches;  // regular expressions
};

// Builds a WHERE clause with parameters.
class Conditions {
 public:
  // `column` must be quoted for SQL.
  void compare(const std::string& column, const char* with, std::int64_t value);
  void one_of(const std::string& column, const std::vector<Constant>& values);
  const std::vector<std::string>& all() const { return all_; }  // must all hold
  void bind(store::Statement& statement, int first = 1) const;  // first: the first parameter

 private:
  std::vector<std::string> all_;
  std::vector<Constant> values_;
};

// All rows, table by table in id order: SQLite's values at a sixth of its time. Returns nullopt if
// SQLite has to read them: the view is not this build's or not in view_columns.hpp, the file lacks
// what it needs, keys of joined tables may repeat, values are not of their columns' types or
// overflow, hardly any row is like another, or an index finds the rows that the conditions want.
std::optional<std::vector<ArrowColumn>> read_by_columns(store::Database& database,
                                                        const ViewRequest& request,
                                                        const std::function<void()>& check);
std::vector<ArrowColumn> read_by_sqlite(store::Database& database, const ViewRequest& request,
                                        std::size_t limit, const std::function<void()>& check);

}  // namespace gpuprof::c_api
