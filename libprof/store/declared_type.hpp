// What SQLite knows of a statement's columns before there are rows.
#pragma once

#include <string_view>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

// As the table declares the column that this one is: "INTEGER"; empty: it is computed, or declared
// without type. Valid as long as the statement.
std::string_view declared_type(const Statement& statement, int index);

}  // namespace gpuprof::store
