// Rows of views, read from the columns of their tables.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "libprof/c_api/arrow_column.hpp"
#include "libprof/c_api/request.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::c_api {

struct ViewRequest {
  std::string view;
  struct Column {
    std::string name;
    std::optional<Kind> kind;  // the declared type
  };
  std::vector<Column> columns;
  // Conditions that must all hold, on columns by their names in the view.
  struct Range {
    std::string column;
    std::optional<std::int64_t> from, to;  // from <= value < to
  };
  std::vector<Range> ranges;
  std::vector<std::pair<std::string, std::vector<Constant>>> equals;
  std::vector<std::pair<std::string, std::string>> matches;  // regular expressions
};

// Returns nullopt if only SQLite can read the view: see ViewReader.
std::optional<std::vector<ArrowColumn>> read_by_columns(store::Database& database,
                                                        const ViewRequest& request,
                                                        const std::function<void()>& check);

}  // namespace gpuprof::c_api
