// Source lines of instructions that have PC samples or SASS metrics: SOURCE_LOCATOR, and which of
// its rows those of PC_SAMPLING and SASS_INSTRUCTION have.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

// Reads the cubins of MODULE, one at a time. Inside the caller's transaction. `string_id` gives
// StringTable ids.
void compute_source_lines(Database& database,
                          const std::function<std::int64_t(std::string_view)>& string_id);

// Cubins that several processes loaded stay in one row: the first.
void keep_cubins_once(Database& database);

}  // namespace gpuprof::store
