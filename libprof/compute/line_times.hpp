// GPU work, calls and idle time by the line of Python that asked for them.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "libprof/compute/code_lines.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::compute {

// Times in ns. Work of a graph is that of the line that made its node, where that is known. Of work
// that runs at the same time each counts. A runtime call counts for the driver calls that it makes.
struct LineTime {
  CodeLine line = {};  // without a function: of calls that came from no line
  std::int64_t gpu = 0, kernels = 0, copies = 0;  // copies: and sets
  std::int64_t call = 0, calls = 0;
  std::int64_t idle = 0;      // before work that the line asked for, of the gaps in GPU_GAP
  std::int64_t recorded = 0;  // calls that have a stack
};

// Most GPU time first; lines that asked for nothing are left out. `check` is called now and then
// and may throw. Memory: what Sorted uses.
std::vector<LineTime> read_line_times(store::Snapshot& snapshot, LineOf which,
                                      const std::function<void()>& check);

}  // namespace gpuprof::compute
