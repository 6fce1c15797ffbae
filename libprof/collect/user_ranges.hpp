// The program's own ranges: NVTX push and pop, or from cudaProfilerStart to Stop. Which of them is
// measured.
#pragma once

#include <cupti.h>

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <optional>
#include <thread>
#include <vector>

namespace gpuprof::collect {

// The NVTX calls that are to be told of, by CUPTI's numbers.
extern const std::array<CUpti_CallbackId, 5> nvtx_range_calls;

struct NvtxCall {
  bool pops = false;
  const char* message = nullptr;  // of a push; null: none that is plain text
};
// Nothing: none of these.
std::optional<NvtxCall> nvtx_call_of(CUpti_CallbackId id, const CUpti_NvtxData& call);

// One range is measured at a time: what lies inside it is part of it.
//
// One thread at a time, but for open().
class OpenRanges {
 public:
  // The number of the one that is measured, from 1; 0: none. Any thread.
  std::uint64_t open() const { return open_.load(std::memory_order_relaxed); }

  // false: one is measured already.
  bool begin();
  // false: none is.
  bool end();

  // A thread opens a range inside those it has open. Whether it is measured from here on.
  bool push(std::thread::id thread, bool wanted);
  // It closes the innermost. Whether that was the one that is measured.
  bool pop(std::thread::id thread);

 private:
  std::map<std::thread::id, std::vector<bool>> pushed_;  // which of them are measured
  std::uint64_t seen_ = 0;
  std::atomic<std::uint64_t> open_{0};
};

}  // namespace gpuprof::collect
