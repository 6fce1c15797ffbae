// Device memory of each process over time: table PROCESS_MEMORY.
#pragma once

#include <functional>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::memory {

// Replaces the contents of the table, in its own transaction. Files without the table or without
// allocations cost nothing. `check` is called now and then and may throw. Throws Error if there is
// no room for temporary data.
void write_process_memory(store::Database& database, const std::function<void()>& check);

}  // namespace gpuprof::memory
