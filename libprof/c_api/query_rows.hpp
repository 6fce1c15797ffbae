// Rows of views, of tables that the schema does not know, of questions.
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

// Rows of the file's view or table of that name. A column that `known` declares has that type, the
// others that of all their values. Throws Error for what it has no column for.
std::vector<ArrowColumn> read_view(store::Database& database, const std::string& name,
                                   const KnownTable* known, const Request& request,
                                   const std::function<void()>& check);

// Rows of a question of the user's, see Database::ask().
std::vector<ArrowColumn> read_answer(store::Database& database, std::string_view sql,
                                     const std::function<void()>& check);

}  // namespace gpuprof::c_api
