// What SQLite knows about a statement's columns before there are rows.
#pragma once

#include <string_view>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

// The declared type of the table column that this result column shows, e.g. "INTEGER"; empty if the
// column is computed or has no declared type. Valid as long as the statement.
std::string_view declared_type(const Statement& statement, int index);

}  // namespace gpuprof::store
