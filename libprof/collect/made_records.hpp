// The records in a thread's slot, which the collector makes itself. Those of calls are CUPTI's own
// structs. Those of NVTX are shorter, and refer to texts in the same slot: the program's own texts
// change, and die with it. Those of stacks (extra/launch_stacks.hpp) become rows of our own tables.
#pragma once

#include <cupti.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <type_traits>

#include "libprof/collect/arena.hpp"
#include "schema/activity/markers.hpp"
#include "schema/graph_nodes.hpp"
#include "schema/memory_calls.hpp"
#include "schema/nccl.hpp"

namespace gpuprof::collect {

// What an entry is: the low half of its first word, which in CUPTI's structs is the kind.
enum class Entry : std::uint16_t {
  bytes = 0x4e01,
  marker,
  marker_data,
  name,
  stack_frame,
  stack,
  call_stack,
  graph_node,
  nccl_operation,
  nccl_node,
  native_frame,
};

// A text, or a payload of `schema`. The bytes follow, and a zero, up to a multiple of 8.
struct BytesEntry {
  Entry entry;
  std::uint16_t padding;
  std::uint32_t length;
  std::uint64_t schema;
};

// Where a BytesEntry begins in the slot; no_bytes: nothing is referred to.
using BytesAt = std::uint32_t;
inline constexpr BytesAt no_bytes = 0xffffffff;

// CUpti_ActivityMarker2.
struct MarkerEntry {
  Entry entry;
  std::uint8_t flags;
  std::uint8_t object_kind;
  std::uint32_t id;
  std::uint64_t time;
  BytesAt name;
  BytesAt domain;
};

// CUpti_ActivityMarkerData2.
struct MarkerDataEntry {
  Entry entry;
  std::uint16_t flags;
  std::uint32_t id;
  std::uint64_t payload;  // of an extended payload: BytesAt
  std::uint32_t payload_kind;
  std::uint32_t color;
  std::uint32_t category;
  std::uint32_t domain;
};

// CUpti_ActivityName.
struct NameEntry {
  Entry entry;
  std::uint16_t object_kind;
  std::uint32_t object[3];
  BytesAt name;
  std::uint32_t padding;
};

// schema::StackFrame
struct StackFrameEntry {
  Entry entry;
  std::uint16_t padding;
  std::uint32_t number;
  std::uint32_t line;
  BytesAt file;
  BytesAt function;
  std::uint32_t more_padding;
};

// schema::StackFrame, of native code
struct NativeFrameEntry {
  Entry entry;
  std::uint16_t padding;
  std::uint32_t number;
  std::uint64_t offset;
  BytesAt module;
  std::uint32_t more_padding;
};

// A schema::StackEntry for each of `count` numbers of frames, which follow, up to a multiple of 8.
struct StackEntry {
  Entry entry;
  std::uint16_t count;
  std::uint32_t number;
};

// schema::CallStack
struct CallStackEntry {
  Entry entry;
  std::uint16_t padding;
  std::uint32_t correlation;
  std::uint32_t stack;
  std::uint32_t more_padding;
};

// A schema::GraphNode for each of the node's numbers (NodeNumbers): CUPTI's and ours; 0: none.
struct GraphNodeEntry {
  Entry entry;
  std::uint16_t padding;
  std::uint32_t correlation;
  std::uint64_t node, own;
  std::uint64_t source;  // 0: none
};

// schema::NcclOperation. Texts end with a zero or where there is no more room; numbers below 0 are
// not known.
struct NcclOperationEntry {
  enum Flag : std::uint16_t { says_captured = 1, captured = 2 };

  Entry entry;
  std::uint16_t flags;
  std::uint32_t correlation;
  std::uint64_t time;
  std::uint64_t communicator;
  std::uint64_t sequence;
  std::uint64_t count;
  std::uint64_t node;  // 0: none
  std::int32_t rank, ranks;
  std::int32_t root, peer;
  std::int32_t channels;
  std::uint32_t padding;
  std::array<char, 16> function, type, algorithm;
  std::array<char, 8> protocol;
  std::array<char, 32> name;
};

// schema::NcclNode
struct NcclNodeEntry {
  Entry entry;
  std::uint16_t padding;
  std::uint32_t more_padding;
  std::uint64_t node;
  std::uint64_t source;
};

static_assert(sizeof(NcclOperationEntry) == 160 && sizeof(NcclNodeEntry) == 24);
static_assert(sizeof(GraphNodeEntry) == 32);
static_assert(sizeof(StackFrameEntry) == 24 && sizeof(NativeFrameEntry) == 24 &&
              sizeof(StackEntry) == 8 && sizeof(CallStackEntry) == 16);
static_assert(sizeof(BytesEntry) == 16 && sizeof(MarkerEntry) == 24 &&
              sizeof(MarkerDataEntry) == 32 && sizeof(NameEntry) == 24);

constexpr std::size_t size_of_bytes_entry(std::size_t length) {
  return (sizeof(BytesEntry) + length + 1 + 7) / 8 * 8;
}

constexpr std::size_t size_of_stack_entry(std::size_t count) {
  return (sizeof(StackEntry) + count * sizeof(std::uint32_t) + 7) / 8 * 8;
}

// Whether the records of a kind point to bytes in the slot.
constexpr bool is_of_nvtx(int kind) {
  return kind == CUPTI_ACTIVITY_KIND_NAME || kind == CUPTI_ACTIVITY_KIND_MARKER ||
         kind == CUPTI_ACTIVITY_KIND_MARKER_DATA;
}

// Reads a slot. The memory may be that of a dead target: nothing in it is trusted.
class MadeRecords {
 public:
  MadeRecords(const Arena& arena, std::uint32_t slot)
      : bytes_(arena.slot(slot)),
        size_(arena.call_slot_size()),
        writer_(arena.slot_header(slot).writer) {}

  // Calls f(record) for each record between two positions, which are in bytes and divisible by 8:
  // a const CUpti_Activity* and, if f takes rows, those of schema::CallStack, StackEntry,
  // StackFrame, GraphNode, NcclOperation or NcclNode. What a record points to is valid until f
  // returns. Stops at what is not a record.
  template <class F>
  void for_each(std::size_t from, std::size_t end, F&& f) const {
    while (from + sizeof(std::uint64_t) <= end && end <= size_) {
      Record record;
      const std::size_t size = read(from, end, record);
      if (size == 0) return;
      if (record.activity) f(record.activity);
      if constexpr (std::is_invocable_v<F, const schema::CallStack::Row&>) {
        if (record.call) f(*record.call);
        if (record.frame) f(*record.frame);
        if (record.node) f(*record.node);
        if (record.own_node) f(*record.own_node);
        if (record.operation) f(*record.operation);
        if (record.nccl_node) f(*record.nccl_node);
        for (std::uint32_t i = 0; i < record.stack.count; ++i) {
          f(schema::StackEntry::Row{record.stack.number, i, frame_at(from, i)});
        }
      }
      from += size;
    }
  }

 private:
  struct Record {
    const CUpti_Activity* activity = nullptr;  // null: the entry is a part of others
    CUpti_ActivityMarker2 marker;
    CUpti_ActivityMarkerData2 data;
    CUpti_ActivityName name;
    schema::extract::ExtendedPayload payload;
    std::optional<schema::CallStack::Row> call;
    std::optional<schema::StackFrame::Row> frame;
    std::optional<schema::GraphNode::Row> node, own_node;
    NcclOperationEntry nccl;  // whose texts the row refers to
    std::optional<schema::NcclOperation::Row> operation;
    std::optional<schema::NcclNode::Row> nccl_node;
    StackEntry stack{};  // without frames: the entry is something else
  };

  // The size of the entry; 0: these bytes are not an entry.
  std::size_t read(std::size_t from, std::size_t end, Record& record) const;
  const BytesEntry* bytes_at(std::uint64_t place) const;
  const char* text_at(BytesAt place) const;
  // Of a frame. Empty: it is longer than any. Many entries of a forged slot may refer to one text.
  std::string_view short_text_at(BytesAt place) const;
  void make(const MarkerEntry& entry, Record& record) const;
  void make(const MarkerDataEntry& entry, Record& record) const;
  void make(const NameEntry& entry, Record& record) const;
  void make(const StackFrameEntry& entry, Record& record) const;
  void make(const NativeFrameEntry& entry, Record& record) const;
  static void make(const CallStackEntry& entry, Record& record);
  static void make(const GraphNodeEntry& entry, Record& record);
  void make(const NcclOperationEntry& entry, Record& record) const;
  static void make(const NcclNodeEntry& entry, Record& record);
  // Of the stack whose entry is at `from`.
  std::uint32_t frame_at(std::size_t from, std::uint32_t position) const;

  static constexpr std::size_t most_short_text = 256;

  const std::byte* bytes_;
  std::size_t size_;
  Writer writer_;
};

}  // namespace gpuprof::collect
