// Rows of views, of tables unknown to the schema, and of SQL queries.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/c_api/arrow_column.hpp"
#include "libprof/c_api/known.hpp"
#include "libprof/c_api/request.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::c_api {

// Rows of the file's view or table `name`. A column that `known` declares has that type; any other
// has the type that fits all its values. Throws Error for a condition on a column that does not
// exist.
std::vector<ArrowColumn> read_view(store::Database& database, const std::string& name,
                                   const KnownTable* known, const Request& request,
                                   const std::function<void()>& check);

// Rows of a user's query, see Database::ask().
std::vector<ArrowColumn> read_answer(store::Database& database, std::string_view sql,
                                     const std::function<void()>& check);

}  // namespace gpuprof::c_api
