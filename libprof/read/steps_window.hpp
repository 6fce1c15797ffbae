// What is judged of a run if the user chooses nothing: its steps. Findings, what-if, diff and gate
// have them from here.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libprof/read/window.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::reading {

// With fewer steps the first is judged too, though it loads and allocates what all need.
inline constexpr std::int64_t few_steps = 3;

// Steps of the view `steps`, of the thread with most of them.
struct JudgedWindow {
  // From the start of the first step that is judged to the start of the last, so that the time
  // between steps counts; with up to three steps, to the end of the last.
  Window window;
  std::int64_t steps = 0;    // in it; 0: the window was chosen, or no steps are known
  std::int64_t warm_up = 0;  // steps before it: the first, and those after it that also took more
                             // than 1.5 times the median; at most half of them
  bool from_start_to_start = false;
  std::vector<std::int64_t> starts = {};  // of the steps in it, if from_start_to_start

  bool of_steps() const { return steps > 0; }
};

// "without the first", "without the first 3"; empty: all are judged.
std::string warm_up_words(std::int64_t warm_up);

// The chosen window, or that of the steps, or, if none are known, everything. Throws gpuprof::Error
// if no NVTX range has the name that was chosen.
JudgedWindow judged_window(store::Database& database, const Moment& from, const Moment& to);

// The number of steps that begin in [first, last), of the thread with most.
std::int64_t count_steps(store::Database& database, std::int64_t first, std::int64_t last);

}  // namespace gpuprof::reading
