// Everything the GPUs did, in the order in which it began.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <tuple>
#include <unordered_map>
#include <vector>

#include "libprof/derive/sorted.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::derive {

struct GpuWork {
  std::int64_t device = 0;
  std::int64_t begin = 0;  // ns on CUPTI's clock
  std::int64_t end = 0;    // after begin
  std::int64_t correlation = 0;
  std::int64_t stream = 0;  // with its context, of the process
  std::int64_t process = 0;
  std::int32_t name = 0;  // of a kernel: StringTable id; 0: no kernel
  std::uint8_t kind = 0;  // place in schema::gpu_kinds

  bool is_kernel() const;
  bool computes() const;  // a kernel, or a graph as a whole
  bool operator<(const GpuWork& other) const {
    return std::tie(device, begin) < std::tie(other.device, other.begin);
  }
};

// Correlation ids, in blocks: those of a process are dense. Where there are too many blocks, as
// only a forged file has them, it says yes to all.
class CorrelationSet {
 public:
  void add(std::int64_t correlation);
  bool contains(std::int64_t correlation) const;

 private:
  static constexpr std::size_t most_blocks = 1 << 14;  // of 4 KiB each
  static constexpr std::int64_t ids_per_block = 1 << 15;
  std::unordered_map<std::int64_t, std::vector<bool>> blocks_;
  bool full_ = false;
};

// Reads all kinds of GPU work. What has no times is left out of `work`.
// `check` is called now and then and may throw.
void read_gpu_work(store::Snapshot& snapshot, Sorted<GpuWork>& work, CorrelationSet& asked_for,
                   const std::function<void()>& check);

}  // namespace gpuprof::derive
