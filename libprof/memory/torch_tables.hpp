// PyTorch's segments beside what a file knows of the same memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

#include "libprof/memory/sweep.hpp"
#include "libprof/memory/tables.hpp"
#include "libprof/memory/torch_snapshot.hpp"

namespace gpuprof::memory {

// What a process had at a moment, at addresses.
struct Overlay {
  enum class From { asked, snapshot, fit };

  struct Range {
    std::int64_t device = 0, address = 0, bytes = 0, time = 0;
  };

  std::optional<std::int64_t> process;  // none: nothing in the file is where the segments are
  std::optional<std::int64_t> time;     // as process
  From from = From::fit;
  std::vector<Range> ranges;                    // by device and address
  std::map<std::int64_t, std::int64_t> in_use;  // bytes, by device
};

// What there was at `time`; without, when there was most of the segments first. Without `process`
// it is that which had most of them; throws Error where that are several. Operations are of memory
// as sweep() has them, but memory of cuMemCreate comes twice: when it is made, at no address, and
// under mapped_kind at each at which it is mapped. They come in the order of time, and twice.
inline constexpr std::int32_t mapped_kind = 1005;
Overlay lay_over(const Operations& for_each, const std::vector<TorchSegment>& segments,
                 std::optional<std::int64_t> time, std::optional<std::int64_t> process);

struct TorchQuestion {
  std::optional<std::int64_t> time;  // ns on CUPTI's clock
  std::optional<std::int64_t> process;
};

struct TorchTables {
  Table segments, devices;
};

// docs/memory.md lists the columns. Throws Error where allocations were not recorded.
TorchTables torch_tables(reading::Profile& profile, const TorchSnapshot& snapshot,
                         const TorchQuestion& question, const std::function<void()>& check);

}  // namespace gpuprof::memory
