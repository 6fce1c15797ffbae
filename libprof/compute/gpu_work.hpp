// All GPU work, in start order.
#pragma once

#include <array>
#include <bitset>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <span>
#include <string_view>
#include <tuple>
#include <unordered_map>
#include <utility>

#include "libprof/base/word_hash.hpp"
#include "libprof/compute/kernel_rows.hpp"
#include "libprof/compute/row_groups.hpp"
#include "libprof/compute/sorted.hpp"
#include "libprof/read/columns/chunk.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::compute {

struct GpuWork {
  static constexpr std::int16_t no_copy = -1;
  // The host's memory is pageable; the host waits for the copy, which is not a graph's.
  static constexpr std::uint8_t pageable = 1, blocking = 2;

  std::int64_t device = 0;
  std::int64_t begin = 0;  // ns on CUPTI's clock
  std::int64_t end = 0;    // after begin
  std::int64_t correlation = 0;
  std::int64_t stream = 0;  // and its context, unique within the process
  std::int64_t process = 0;
  std::int32_t name = 0;             // StringTable id of a kernel's name; 0: not a kernel
  std::uint8_t kind = 0;             // index in schema::gpu_kinds
  std::uint8_t copied = 0;           // of a copy between host and device, these bits
  std::int16_t direction = no_copy;  // of a copy: CUpti_ActivityMemcpyKind
  bool communicates = false;         // a kernel of NCCL

  bool is_kernel() const;
  bool computes() const;  // a kernel or a whole graph
  bool operator<(const GpuWork& other) const {
    return std::tie(begin, kind) < std::tie(other.begin, other.kind);
  }
};

using GpuStream = std::pair<std::int64_t, std::int64_t>;  // GpuWork's process and stream
struct GpuStreamHash {
  std::size_t operator()(const GpuStream& stream) const {
    return word_hash(static_cast<std::uint64_t>(stream.first),
                     static_cast<std::uint64_t>(stream.second));
  }
};

// A set of correlation ids, stored in blocks: the ids of a process are dense. With too many blocks,
// as only a forged file has, contains() returns true for all.
class CorrelationSet {
 public:
  CorrelationSet() = default;
  CorrelationSet(CorrelationSet&&) = default;
  CorrelationSet& operator=(CorrelationSet&&) = default;

  void add(std::int64_t correlation);
  bool contains(std::int64_t correlation) const {
    if (full_) return true;
    const std::int64_t number = block_of(correlation);
    Recent& recent = recent_of(number);
    if (recent.number != number) find(number, recent);
    return recent.block && (*recent.block)[place_of(correlation)];
  }
  bool is_full() const { return full_; }

 private:
  // Small, because of a process that seldom asks for work few ids are in a set.
  static constexpr int bits_of_place = 12;
  static constexpr std::size_t most_blocks = 1 << 17;  // of 512 bytes each
  using Block = std::bitset<1 << bits_of_place>;
  static std::int64_t block_of(std::int64_t correlation) { return correlation >> bits_of_place; }
  static std::size_t place_of(std::int64_t correlation) {
    return static_cast<std::size_t>(correlation & ((1 << bits_of_place) - 1));
  }
  // What was looked for: ids tend to be near the previous ones of their process.
  struct Recent {
    std::int64_t number = INT64_MIN;  // no block has it
    Block* block = nullptr;           // never moves; null: no block has that number
  };
  Recent& recent_of(std::int64_t number) const {
    // The upper half of an id is its process's.
    return recent_[static_cast<std::size_t>(number ^ number >> (32 - bits_of_place)) %
                   recent_.size()];
  }
  void find(std::int64_t number, Recent& recent) const;

  mutable std::unordered_map<std::int64_t, Block> blocks_;
  mutable std::array<Recent, 8> recent_;
  bool full_ = false;
};

// Rows of one table as they are read.
struct WorkRows {
  std::string_view table;
  const columns::Chunk& chunk;
  std::size_t row_id, correlation;    // columns of the chunk
  std::optional<KernelRows> kernels;  // of a table of kernels

  RowGroups::Rows for_groups() const;
};

// Calls visit(work) for all timed GPU work in start order, across all devices. If the file turns
// out to be far from that order, restart() is called and everything is visited again. `check` is
// called now and then and may throw.
//
// Most tables are nearly in order: at most some hundred thousand rows of the largest one are in
// memory at a time.
struct GpuWorkVisitor {
  std::function<void(const GpuWork& work)> visit;
  std::function<void()> restart;
  std::function<void()> check;
  // Receives the correlation ids of all rows, including those without times, before their work is
  // visited. May be empty.
  std::function<void(std::span<const std::int64_t> ids)> visit_ids = {};
  // Receives all rows once, including those without times, in file order, table by table, and has
  // to call `go_on`, which visits work. May be empty.
  std::function<void(const WorkRows&, const std::function<void()>& go_on)> visit_rows = {};
};
// `needed`: other work may be left out. Null: none may.
void read_gpu_work(store::Snapshot& snapshot, const GpuWorkVisitor& visitor,
                   const NeededRows* needed = nullptr);

// An upper bound of the works that have times, which a forged file may exceed. It is never more
// than fit into a file of that size.
std::size_t most_gpu_work(store::Database& database);

}  // namespace gpuprof::compute
