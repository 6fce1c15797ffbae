// How the columns of views that can have millions of rows follow from those of their tables.
// Reading them that way takes a sixth of SQLite's time (view_rows.hpp).
//
// schema/views has their SQL. tests/unit/test_c_api_views.cpp and tests/fuzz/views.cpp compare.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gpuprof::c_api {

struct ViewColumn {
  enum class Is : std::uint8_t {
    number,      // of[0]
    difference,  // of[0] - of[1]
    rate,        // of[0] * 1e9 / (of[1] - of[2]) without a fraction; NULL if that divides by 0
    run_ms,      // (of[0] - zero_ns) / 1e6
    answer,      // whatever the view makes of these values and of no others
  };
  std::string_view name;
  Is is;
  // Columns of the table, or TABLE.column of a table in `look_ups`. A view has a constant for a
  // column that its table lacks.
  std::vector<std::string> of;
  std::optional<std::int64_t> none = {};  // the number in `of` that stands for NULL
};

// One of the tables that a view has the rows of.
struct ViewTable {
  std::string name;
  std::vector<ViewColumn> columns;
};

// In the view's order. Empty: SQLite reads the view.
std::vector<ViewTable> tables_of_view(std::string_view view);

// Tables that views join by a key, so that each row of a view is one of its table. The key is equal
// to the column `by` of the view's table; empty: they are joined in other ways.
struct ViewLookUp {
  std::string_view table, key, by;
};
inline constexpr ViewLookUp look_ups[]{{"LAUNCH_RANGE", "correlationId", "correlationId"},
                                       {"MEMORY_USE", "operation", "_id_"},
                                       {"NVTX_PATH", "range", ""},
                                       {"NVTX_RANGE", "_id_", ""},
                                       {"StringTable", "_id_", ""}};

}  // namespace gpuprof::c_api
