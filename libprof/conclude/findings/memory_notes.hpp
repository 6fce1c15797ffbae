// What memory says that costs no time yet.
#pragma once

#include <string>
#include <vector>

#include "libprof/read/steps_window.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::findings {

// A sentence for each process whose device memory, without pools, is more after the steps and grew
// in at least half of them, of five or more.
std::vector<std::string> memory_notes(store::Database& database,
                                      const reading::JudgedWindow& judged);

}  // namespace gpuprof::findings
