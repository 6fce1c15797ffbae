// Filling the tables of computed data.
#pragma once

#include <string_view>

#include "libprof/store/sqlite.hpp"
#include "schema/column.hpp"

namespace gpuprof::compute {

// Empties the table, inside the caller's transaction. Returns an INSERT with one parameter per
// column; of rows with the same key, which a modified file may produce, the last one stays. `in`:
// main or temp.
store::Statement fill(store::Database& database, const schema::Table& table,
                      std::string_view in = "main");

}  // namespace gpuprof::compute
