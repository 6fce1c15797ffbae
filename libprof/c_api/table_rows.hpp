// Rows of the tables that the schema knows: by columns::Reader, with names for ids and numbers.
#pragma once

#include <functional>
#include <vector>

#include "libprof/c_api/arrow_column.hpp"
#include "libprof/c_api/request.hpp"
#include "libprof/columns/table_info.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::c_api {

// The rows that the request asks for, behind its columns in front. `check` is called now and then
// and may throw. Throws Error for what the table has no column for.
std::vector<ArrowColumn> read_table(store::Database& database, const columns::TableInfo& table,
                                    const Request& request, const std::function<void()>& check);

}  // namespace gpuprof::c_api
