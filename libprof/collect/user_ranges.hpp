// The program's own ranges: NVTX push and pop, or from cudaProfilerStart to Stop. Decides which of
// them is measured.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <thread>
#include <vector>

namespace gpuprof::collect {

// One range is measured at a time: whatever lies inside it is part of it.
//
// One thread at a time, except for open().
class OpenRanges {
 public:
  // The number of the range being measured, from 1; 0: none. Any thread.
  std::uint64_t open() const { return open_.load(std::memory_order_relaxed); }

  // false: one is already being measured.
  bool begin();
  // false: none is being measured.
  bool end();

  // A thread opens a nested range. Returns whether it is measured from here on.
  bool push(std::thread::id thread, bool wanted);
  // The thread closes the innermost range. Returns whether that was the one being measured.
  bool pop(std::thread::id thread);

 private:
  std::map<std::thread::id, std::vector<bool>> pushed_;  // whether each open one is measured
  std::uint64_t seen_ = 0;
  std::atomic<std::uint64_t> open_{0};
};

}  // namespace gpuprof::collect
