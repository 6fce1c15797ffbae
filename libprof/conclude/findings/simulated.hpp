// What mending saves in the simulated schedule.
#pragma once

#include <functional>

#include "libprof/conclude/findings/findings.hpp"
#include "libprof/read/window.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::findings {

// Fills in Finding::simulated, and Findings::together for devices with several findings of which
// any is simulated. `check` is called now and then and may throw.
void simulate_mending(store::Snapshot& snapshot, const reading::Window& window, Findings& findings,
                      const std::function<void()>& check);

}  // namespace gpuprof::findings
