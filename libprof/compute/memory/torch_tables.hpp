// Compares PyTorch's segments with what a file knows about the same memory.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "libprof/compute/memory/sweep.hpp"
#include "libprof/compute/memory/tables.hpp"

namespace gpuprof::memory {

// Memory that PyTorch's allocator requested and hands out in blocks. Sizes in bytes.
struct TorchSegment {
  std::int64_t device = 0, address = 0, bytes = 0;
  std::int64_t stream = 0;
  std::string type = {};    // small or large; empty: unknown
  bool expandable = false;  // consists of mapped pieces
  std::int64_t blocks = 0;
  std::int64_t allocated = 0;     // in use
  std::int64_t active = 0;        // … or waiting for a stream that uses it
  std::int64_t requested = 0;     // of active: originally requested, before rounding
  std::int64_t largest_free = 0;  // block

  std::int64_t end() const { return address + bytes; }
  std::int64_t free() const { return bytes - active; }
};

struct TorchSnapshot {
  std::vector<TorchSegment> segments;    // by device and address, not overlapping
  std::optional<std::int64_t> taken_at;  // ns since 1970; nullopt: no history was recorded
};

// What a process had allocated at a moment, by address.
struct Overlay {
  enum class From { asked, snapshot, fit };

  struct Range {
    std::int64_t device = 0, address = 0, bytes = 0, time = 0;
  };

  std::optional<std::int64_t> process;  // nullopt: nothing in the file is where the segments are
  std::optional<std::int64_t> time;     // likewise
  From from = From::fit;
  std::vector<Range> ranges;                    // by device and address
  std::map<std::int64_t, std::int64_t> in_use;  // bytes, by device
};

// What existed at `time`; if not given, when the segments were first covered best. Without
// `process`, the process that covered them best; throws Error if several tie. Operations are as for
// sweep(), but memory from cuMemCreate comes twice: when created, without an address, and as
// mapped_kind at each address where it is mapped. `for_each` visits them in time order, twice.
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

// The columns are listed in docs/memory.md. Throws Error if allocations were not recorded.
TorchTables torch_tables(reading::Profile& profile, const TorchSnapshot& snapshot,
                         const TorchQuestion& question, const std::function<void()>& check);

}  // namespace gpuprof::memory
