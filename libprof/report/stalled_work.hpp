// Work of GPUs that does not end: operations of NCCL with the ranks that have entered them, and
// other work that was launched. For gpuprof top, info, and the end of a run.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libprof/report/finished_work.hpp"
#include "libprof/report/stalled_operations.hpp"
#include "libprof/report/stalled_places.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::report {

// Reads a file repeatedly, also while it grows. Used by one thread.
class StalledWork {
 public:
  static constexpr std::int64_t usual_time = 30'000'000'000;

  // Texts of a sentence or more about what has not ended for `after` ns; 0: none.
  std::vector<std::string> read(store::Database& database, std::int64_t after);

 private:
  FinishedWork finished_;
  StalledOperations operations_;
};

}  // namespace gpuprof::report
