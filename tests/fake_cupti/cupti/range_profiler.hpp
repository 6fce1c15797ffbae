// What the stand-in's range profiler has to know of launches. Any thread.
//
// As measured on an H200: a range for each launch that succeeds while the context is profiled, in
// the order of the launches; each node of a graph launch is a launch. Under user replay CUPTI's own
// kernel WaitNs runs before each of them; under kernel replay all passes are done at once and the
// kernel's record has no times.
//
// An auto range is called after its place among the profiled launches since SetConfig: "0", "1" …
// Nested user ranges are joined with "/".
#pragma once

#include <cstdint>

#include "tests/fake_cupti/hooks.hpp"

namespace fake {

// How long CUPTI's own kernel runs before a launch in this context, ns; 0: there is none.
std::uint64_t own_kernel_time(std::uint32_t context);
// PCIE was enabled where that keeps the range profiler from working: 13.0 and 13.1.
void pcie_breaks_profiler();
// A graph was launched while kernels are traced one at a time: nothing can be measured any more.
void graph_breaks_profiler(std::uint32_t context);

// Counts the launch. True: its record has no times.
bool profile(const Work& work);

void range_context_destroyed(std::uint32_t context);

}  // namespace fake
