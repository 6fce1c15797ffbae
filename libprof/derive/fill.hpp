// How the tables of what is computed are filled.
#pragma once

#include "libprof/store/sqlite.hpp"
#include "schema/column.hpp"

namespace gpuprof::derive {

// Empties the table, inside the caller's transaction. An INSERT with a parameter for each of its
// columns; of rows with the same key, as a file that somebody changed may lead to, the last stays.
store::Statement fill(store::Database& database, const schema::Table& table);

}  // namespace gpuprof::derive
