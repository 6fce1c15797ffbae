// Packs CUPTI's records into rows, following the tables in schema/activity.
//
// A packer is used by one thread at a time. The same code packs in the target and in salvage; only
// the source of strings differs.
#pragma once

#include <cupti.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <span>
#include <vector>

#include "libprof/collect/arena.hpp"
#include "libprof/collect/channel.hpp"
#include "libprof/collect/strings.hpp"
#include "libprof/wire/messages.hpp"
#include "schema/graph_nodes.hpp"
#include "schema/memory_calls.hpp"
#include "schema/nccl.hpp"

namespace gpuprof::collect {

// Kinds are table ids on the wire.
inline constexpr std::size_t kind_limit = CUPTI_ACTIVITY_KIND_COUNT;

// Two kinds have the same records; which of them CUPTI traces changes while graphs are launched.
inline bool is_kernel(std::size_t kind) {
  return kind == CUPTI_ACTIVITY_KIND_KERNEL || kind == CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL;
}

// The definitions of all tables, as the running CUPTI fills them.
std::vector<wire::WireTable> wire_tables(std::uint32_t cupti_version);

class Packer {
 public:
  // Whether the process that the records came from is alive: their pointers are followed only if it
  // is.
  enum class Records { live, left_behind };

  Packer(std::uint32_t cupti_version, Strings& strings, Records records)
      : cupti_version_(cupti_version), strings_(strings), records_kind_(records) {
    wanted_.fill(true);
  }

  // Rows of an unwanted kind are left out, for example launch calls when only GPU work was
  // requested.
  void want(std::size_t kind, bool wanted) { wanted_[kind] = wanted; }
  // Driver calls of these threads are the collector's own and are left out.
  void leave_out_threads(const Arena& arena) { own_threads_ = &arena.own_threads(); }
  // The collector makes the records of calls, or of waits: CUPTI's own are left out.
  void make_calls(bool calls, bool waits) {
    makes_calls_ = calls;
    makes_waits_ = waits;
  }
  // CUPTI's range profiler launches its own kernels between the target's; they are left out, and
  // counted.
  void leave_out_profiler() { beside_profiler_ = true; }
  // Called with the domain and schema of each NVTX payload that has one, before it is packed.
  void on_payload(std::function<void(std::uint32_t, std::uint64_t)> told) {
    payload_schemas_ = std::move(told);
  }
  std::uint64_t profiler_kernels() const { return profiler_kernels_; }

  void add(const CUpti_Activity* record);
  // The same for a record that the collector made (made_records.hpp): what it points to is there,
  // but not for long.
  void add_made(const CUpti_Activity* record);
  void add_made(const schema::CallStack::Row& row) { add_row<schema::CallStack>(row); }
  void add_made(const schema::StackEntry::Row& row) { add_row<schema::StackEntry>(row); }
  void add_made(const schema::StackFrame::Row& row) { add_row<schema::StackFrame>(row); }
  void add_made(const schema::GraphNode::Row& row) { add_row<schema::GraphNode>(row); }
  void add_made(const schema::NcclOperation::Row& row) { add_row<schema::NcclOperation>(row); }
  void add_made(const schema::NcclNode::Row& row) { add_row<schema::NcclNode>(row); }
  // Counts a record that nobody will get in `by_kind`, unless add() would leave it out.
  void count(const CUpti_Activity* record, std::span<std::uint64_t> by_kind) const;

  struct Rows {
    std::uint32_t count = 0;
    std::vector<std::byte> bytes;
  };
  std::span<const Rows> rows() const { return rows_; }
  // Of our own tables, by number.
  const std::map<std::uint32_t, Rows>& own_rows() const { return own_rows_; }
  const Strings& strings() const { return strings_; }
  std::uint64_t records() const { return records_; }
  // Kernels of CUPTI's that have no times.
  std::uint64_t untimed_kernels() const { return untimed_kernels_; }
  std::uint64_t unknown() const { return unknown_; }  // kinds this build has no table for
  void clear();  // the rows and fresh strings, after sending; counters are kept
  // Only the rows, if they will not be sent: the next batch brings the strings.
  void clear_rows();

 private:
  void add(const CUpti_Activity* record, bool made);
  template <class T>
  void add_row(const typename T::Row& row);
  // The kind that a record is stored as; from kind_limit on: why it is not stored.
  std::size_t stored_as(const CUpti_Activity* record, bool made) const;

  std::uint32_t cupti_version_;
  Strings& strings_;
  Records records_kind_;
  std::array<Rows, kind_limit> rows_;
  std::map<std::uint32_t, Rows> own_rows_;
  std::array<bool, kind_limit> wanted_{};
  const std::array<std::atomic<std::uint32_t>, 6>* own_threads_ = nullptr;
  bool makes_calls_ = false, makes_waits_ = false;
  bool beside_profiler_ = false;
  std::function<void(std::uint32_t, std::uint64_t)> payload_schemas_;
  std::uint64_t profiler_kernels_ = 0;
  std::uint64_t untimed_kernels_ = 0;
  std::uint64_t records_ = 0;
  std::uint64_t unknown_ = 0;
};

// Walks a buffer that CUPTI filled and calls f(record). Stops at the end or at the first incomplete
// record. `next` is the running CUPTI's cuptiActivityGetNextRecord.
template <class F>
void walk_buffer(decltype(&::cuptiActivityGetNextRecord) next, std::byte* buffer, std::size_t size,
                 F&& f) {
  CUpti_Activity* record = nullptr;
  // MAX_LIMIT_REACHED is the end; INVALID_KIND is a record that was never finished, where a forced
  // flush or a dead target stopped. Either way nothing follows.
  while (next(reinterpret_cast<std::uint8_t*>(buffer), size, &record) == CUPTI_SUCCESS) f(record);
}

// A packer's content as the pieces of a batch. They point into the packer, which must not change
// meanwhile.
class Batch {
 public:
  Batch(const Packer& packer, wire::BatchHeader header);
  Batch(const Batch&) = delete;
  Batch& operator=(const Batch&) = delete;
  std::span<const iovec> pieces() const { return {pieces_.data(), piece_count_}; }

 private:
  void add_block(std::uint32_t table, std::uint32_t rows, const std::vector<std::byte>& bytes);

  static constexpr std::size_t most_blocks = kind_limit + 2 + schema::collected_tables.size() + 3;
  wire::BatchHeader header_;
  std::array<wire::BlockHeader, most_blocks> blocks_;
  std::array<iovec, 2 * most_blocks + 1> pieces_;
  std::size_t piece_count_ = 0;
};

}  // namespace gpuprof::collect
