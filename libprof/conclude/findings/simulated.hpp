// What mending saves in the simulated schedule.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <future>
#include <vector>

#include "libprof/conclude/findings/findings.hpp"
#include "libprof/conclude/simulate/schedule.hpp"
#include "libprof/read/window.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::findings {

// Fills in what mending saves. If the snapshot has another one, the schedule is read by a thread
// from the beginning on: nearly all runs have something to mend, and the rest takes as long.
// Memory: that of simulate::read_schedule().
class Simulated {
 public:
  Simulated(store::Snapshot& snapshot, const reading::Window& window);
  // Ends the reading.
  ~Simulated();
  Simulated(const Simulated&) = delete;
  Simulated& operator=(const Simulated&) = delete;

  // Until then only the work is read, so that there is memory for what else reads.
  void go_on();
  // What findings have of the simulation, and Findings::together for devices with several findings
  // of which any is simulated. `check` is called now and then and may throw. `starts`: of the
  // steps.
  void fill_in(Findings& findings, const std::vector<std::int64_t>& starts,
               const std::function<void()>& check);

 private:
  simulate::Schedule schedule(const std::function<void()>& check);

  store::Snapshot& snapshot_;
  const reading::Window window_;
  std::atomic<bool> unwanted_ = false, goes_on_ = false;
  std::future<simulate::Schedule> early_;
};

}  // namespace gpuprof::findings
