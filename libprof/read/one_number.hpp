// A number that a file is asked for, whose tables may be anybody's.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::reading {

// The result of a statement; nullopt also if the file's tables are not as gpuprof writes them.
std::optional<std::int64_t> number(store::Database& database, std::string_view sql);
// Whether an error is because tables or values of the file are not as gpuprof writes them: a column
// is missing, a sum overflows.
bool is_of_content(const store::DatabaseError& error);

}  // namespace gpuprof::reading
