// What is judged of a run if the user chooses nothing: its steps.
#pragma once

#include <cstdint>

#include "libprof/read/window.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::reading {

// The steps of the process with most, without the first, which loads and allocates what all need,
// if there are at least this many.
inline constexpr std::int64_t few_steps = 3;

struct JudgedWindow {
  Window window;
  bool of_steps = false;       // because nothing was chosen
  bool without_first = false;  // of the steps
};

// The chosen window, or that of the steps, or, if none are known, everything. Throws gpuprof::Error
// if no NVTX range has the name that was chosen.
JudgedWindow judged_window(store::Database& database, const Moment& from, const Moment& to);

// The number of steps that begin in [first, last), of the process with most.
std::int64_t count_steps(store::Database& database, std::int64_t first, std::int64_t last);

}  // namespace gpuprof::reading
