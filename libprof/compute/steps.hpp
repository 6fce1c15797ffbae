// The steps of a program, e.g. training steps: table STEP.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "libprof/compute/gpu_work.hpp"
#include "libprof/compute/intervals/busy.hpp"
#include "libprof/compute/launch_period.hpp"
#include "libprof/compute/step_names.hpp"
#include "libprof/read/columns/chunk.hpp"
#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Ranges whose name matches a regular expression: RUN's "step". If the file has none, ranges with
// the usual names of steps. If no range matches, the windows between cudaProfilerStart and Stop; if
// there are none, what the sequence of launches repeats. Used by one thread. Memory: some 60 bytes
// per step, steps beyond most_steps are ignored; and see LaunchPeriod.
class Steps {
 public:
  static constexpr std::size_t most_steps = std::size_t{1} << 20;

  explicit Steps(store::Database& database);

  // First of all.
  void read_ranges(store::Snapshot& snapshot, const std::function<void()>& check);
  // In start order.
  void add(const GpuWork& work) {
    if (steps_.empty()) period_->add(work);
  }
  // Forgets all work.
  void restart() { period_.emplace(); }
  // Calls from RUNTIME or DRIVER, with their columns.
  struct Calls {
    bool runtime = false;
    const columns::Column &cbid, &correlation, &start, &end, &process, &thread;
  };
  void add(const Calls& calls);

  // If there are no ranges: finds the windows or periods, and their work. Nothing may be added
  // afterwards.
  void read_windows(store::Snapshot& snapshot, const std::function<void()>& check);
  // Fills the table, inside the caller's transaction.
  void write(store::Database& database);

 private:
  struct Step {
    std::int64_t range = 0;            // NVTX_RANGE._id_; 0: a window
    std::int32_t name = 0;             // StringTable id
    std::int64_t start = 0, stop = 0;  // stop 0: never closed
    std::int64_t thread = 0, process = 0;
  };
  struct ProfilerCall {
    bool starts = false;
    std::int64_t begin = 0, end = 0, thread = 0, process = 0;
  };

  struct Window {
    std::int64_t first = 0, last = 0;  // correlation ids
    std::int64_t start = 0, stop = 0;  // stop 0: until the end
    std::int64_t thread = 0, process = 0;
    std::int64_t work = 0, kernels = 0;
    std::map<std::int64_t, intervals::Busy> busy = {};  // by device
  };

  void find_windows();
  void find_periods();

  const StepNames step_names_;
  std::vector<Step> steps_;
  std::unordered_map<std::int64_t, bool> starts_[2];  // by cbid, for driver and runtime
  // By correlation id, so in the order in which a process made them.
  std::map<std::int64_t, ProfilerCall> calls_;
  std::optional<LaunchPeriod> period_{std::in_place};
  std::vector<Window> windows_;
  std::string periods_;  // what the windows are, if they are periods
};

}  // namespace gpuprof::compute
