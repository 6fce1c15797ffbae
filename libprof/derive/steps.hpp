// The steps of a program, of a training say: table STEP.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "libprof/base/pattern.hpp"
#include "libprof/columns/chunk.hpp"
#include "libprof/derive/gpu_work.hpp"
#include "libprof/intervals/busy.hpp"
#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::derive {

// Ranges whose name a regular expression is found in: RUN's "step". Where the file has none, those
// that are called as steps usually are. Where no range is one, the windows between
// cudaProfilerStart and Stop are. One thread. Memory: some 60 bytes for each; more than most_steps
// are left out.
class Steps {
 public:
  static constexpr std::size_t most_steps = std::size_t{1} << 20;

  explicit Steps(store::Database& database);

  void read_ranges(store::Snapshot& snapshot, const std::function<void()>& check);
  // Calls: RUNTIME or DRIVER, with their columns.
  struct Calls {
    bool runtime = false;
    const columns::Column &cbid, &correlation, &start, &end, &process, &thread;
  };
  void add(const Calls& calls);

  // Where there are no ranges: the windows, with their work. Nothing may be added afterwards.
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
    std::int64_t start = 0, stop = 0;  // stop 0: to the end
    std::int64_t thread = 0, process = 0;
    std::int64_t work = 0, kernels = 0;
    std::map<std::int64_t, intervals::Busy> busy = {};  // by device
  };

  bool is_step(const std::string& name) const;

  std::unique_ptr<Pattern> pattern_;  // null: usual names
  std::vector<Step> steps_;
  std::unordered_map<std::int64_t, bool> starts_[2];  // by cbid, of the driver and of the runtime
  // By correlation id: in the order in which a process made them.
  std::map<std::int64_t, ProfilerCall> calls_;
  std::vector<Window> windows_;
};

}  // namespace gpuprof::derive
