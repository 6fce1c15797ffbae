// The last part of a run that may still be recorded. For gpuprof serve.
#pragma once

#include <chrono>
#include <cstdint>
#include <optional>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::report {

// Up to the latest end of GPU work or calls, on CUPTI's clock. Belongs to one thread.
class LatestWindow {
 public:
  // `last`: how long, where the run is.
  explicit LatestWindow(std::chrono::nanoseconds last) : last_(last) {}

  struct Times {
    std::int64_t from = 0, to = 0;  // from <= time < to; both are 0 without records
  };
  // Of a file that may have grown since the last call.
  Times find(store::Database& database);

 private:
  void find_first(store::Database& database);

  const std::chrono::nanoseconds last_;
  std::optional<std::int64_t> first_;  // the run's earliest record
};

}  // namespace gpuprof::report
