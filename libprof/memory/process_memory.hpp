// How much memory of a device each process has over time: table PROCESS_MEMORY.
#pragma once

#include <functional>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::memory {

// Fills the table in place of what it holds, in a transaction of its own. Files without the table
// and without memory cost nothing. `check` is called now and then and may throw. Throws Error where
// there is no room for temporary data.
void write_process_memory(store::Database& database, const std::function<void()>& check);

}  // namespace gpuprof::memory
