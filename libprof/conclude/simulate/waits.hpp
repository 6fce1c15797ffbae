// Calls in which the host waited, on their way to anchors of the schedule.
#pragma once

#include <cstdint>
#include <vector>

#include "libprof/conclude/simulate/change.hpp"
#include "libprof/conclude/simulate/read_schedule.hpp"

namespace gpuprof::simulate {

// A call in which the host waited: for what a synchronization says, or for work.
struct Wait {
  std::uint32_t call = 0;
  std::uint32_t synchronization = none, work = none;
  std::uint32_t mended_by = nothing;
};

// By call.
std::vector<Wait> read_waits(const Read& read);

// Fills in the anchors, those of works, and whether gaps began in a wait. Returns for each anchor
// the first of its waits; `none` for one that has none.
std::vector<std::uint32_t> find_anchors(Read& read, const std::vector<Wait>& waits);

// Fills in what anchors and works waited for.
void find_targets(Read& read, const std::vector<Wait>& waits,
                  const std::vector<std::uint32_t>& first_waits);

}  // namespace gpuprof::simulate
