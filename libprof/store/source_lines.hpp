// Source lines of instructions that have PC samples or SASS metrics: fills SOURCE_LOCATOR and the
// references to it in PC_SAMPLING and SASS_INSTRUCTION.
#pragma once

#include <cstdint>
#include <functional>
#include <string_view>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::store {

// Reads the cubins in MODULE, one at a time. Call inside a transaction. `string_id` returns
// StringTable ids.
void compute_source_lines(Database& database,
                          const std::function<std::int64_t(std::string_view)>& string_id);

// Keeps cubins that several processes loaded in one row only: the first.
void keep_cubins_once(Database& database);

}  // namespace gpuprof::store
