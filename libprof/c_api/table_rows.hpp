// Rows of the schema's tables, read with columns::Reader; ids and enum values become names.
#pragma once

#include <functional>
#include <vector>

#include "libprof/c_api/arrow_column.hpp"
#include "libprof/c_api/request.hpp"
#include "libprof/read/columns/table_info.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::c_api {

// The rows that the request asks for, without its `front` columns. `check` is called from time to
// time and may throw. Throws Error for a condition on a column that the table lacks.
std::vector<ArrowColumn> read_table(store::Database& database, const columns::TableInfo& table,
                                    const Request& request, const std::function<void()>& check);

}  // namespace gpuprof::c_api
