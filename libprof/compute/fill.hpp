// Filling the tables of computed data.
#pragma once

#include "libprof/store/sqlite.hpp"
#include "schema/column.hpp"

namespace gpuprof::compute {

// Empties the table, inside the caller's transaction. Returns an INSERT with one parameter per
// column; of rows with the same key, which a modified file may produce, the last one stays.
store::Statement fill(store::Database& database, const schema::Table& table);

}  // namespace gpuprof::compute
