// The wire: what a stream of frames looks like. FORMAT.md next to this file describes it in prose.
// Shared by both ends; nothing here allocates or fails.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>

namespace gpuprof::wire {

// Raised when a reader of the old version would misread a stream. Unknown frames and table columns
// do not count: a reader skips the former and stores the latter as they come.
inline constexpr std::uint32_t version = 1;

// The first bytes of a capture file, followed by the file's u32 version.
inline constexpr std::string_view capture_magic{"gpcap\r\n\x1a", 8};
// 1: frames follow each other directly. 2: each is preceded by a CaptureHead.
inline constexpr std::uint32_t capture_version = 2;

enum class FrameType : std::uint32_t {
  hello = 1,          // collector: u32 wire version, then fields about the process
  config = 2,         // launcher -> collector: fields
  arena = 4,          // collector: fields; the arena's file descriptor travels with it
  info = 5,           // collector: fields discovered after hello (CUPTI's version, path, …)
  table = 6,          // collector: one table's definition
  api_names = 7,      // collector: names of API functions by callback id
  batch = 8,          // collector: the rows of one activity buffer, and the strings they need
  clock = 9,          // collector: the clocks read at one moment
  statistics = 10,    // collector: counters so far
  goodbye = 11,       // collector: the process is ending in order; little may follow
  run = 12,           // launcher: fields about the run as a whole
  stream_end = 13,    // launcher: the stream is over, salvage included
  counter_data = 14,  // collector: a counter data image and the launches it covers
  metrics = 15,       // launcher: the metrics collected, and their groups
  // 16 was metric values, which are now rows.
  question = 17,        // collector: fields; asks what only the launcher knows; a config answers
  batch_part = 18,      // collector: part of a batch that exceeds the longest payload
  payload_schema = 19,  // collector: how NVTX payloads are laid out
  rows = 20,            // launcher: rows of our own tables, with everything needed to read them
  pc_sampling = 21,     // collector: how a context's PCs are sampled
  pc_samples = 22,      // collector: samples read since the last such frame
  sass_metrics = 23,    // collector: what is counted of a context's instructions
  sass_values = 24,     // collector: counts read since the last such frame
};

// Frames a target must not send: it would speak for others, or for the launcher.
constexpr bool is_launchers(FrameType type) {
  return type == FrameType::config || type == FrameType::run || type == FrameType::stream_end ||
         type == FrameType::metrics || type == FrameType::rows;
}

// A file next to the launcher's socket: the payload of a config frame, without the fields meant for
// one process only. For collectors that get no answer because the launcher is stalled.
inline constexpr std::string_view config_file = "config";

// Precedes every frame. All integers are little-endian.
struct FrameHeader {
  std::uint32_t type;
  std::uint32_t stream;  // which process of the run; 0 on a collector's own socket
  std::uint64_t length;  // bytes of payload that follow
};
static_assert(sizeof(FrameHeader) == 16);

// Precedes every payload in a capture, and contains the frame's header: shows where a frame begins
// and whether it is intact, independent of what came before it.
struct CaptureHead {
  std::uint64_t marker;
  FrameHeader frame;
  std::uint64_t number;       // of the frame within its capture, from 0
  std::uint32_t payload_sum;  // CRC-32C
  std::uint32_t head_sum;     // CRC-32C of the preceding members
};
static_assert(sizeof(CaptureHead) == 40);

// Not valid UTF-8, not a small number, not a pointer.
inline constexpr std::uint64_t capture_marker = 0x9f'b7'70'6d'61'72'66'f5;
// Higher numbers are treated as damage.
inline constexpr std::uint64_t max_capture_number = std::uint64_t{1} << 48;

// The stream of frames that concern the run rather than one process.
inline constexpr std::uint32_t run_stream = 0xffffffff;

// Longer payloads are treated as damage; a longer batch travels in parts.
inline constexpr std::uint64_t max_payload = std::uint64_t{256} << 20;

// A batch: this header, then `blocks` blocks, each with its header and bytes.
struct BatchHeader {
  std::uint32_t slot;        // arena slot that held the records; no_slot: the collector's own rows
  std::uint32_t generation;  // how often that slot had been lent out, including this time
  std::uint32_t blocks;
  std::uint32_t flags;  // batch_salvaged, batch_discarded
};
static_assert(sizeof(BatchHeader) == 16);

inline constexpr std::uint32_t no_slot = 0xffffffff;
inline constexpr std::uint32_t batch_salvaged = 1;
// The rows were discarded: blocks of rows give their number but have no bytes. Strings are present,
// because later batches refer to them by id.
inline constexpr std::uint32_t batch_discarded = 2;

// Precedes each part of a batch. The parts follow each other with nothing in between.
struct BatchPartHeader {
  std::uint32_t number;  // from 0
  std::uint32_t parts;
};
static_assert(sizeof(BatchPartHeader) == 8);

// Rows of one table, packed; or strings when `table` is string_block or bytes_block.
struct BlockHeader {
  std::uint32_t table;
  std::uint32_t rows;
  std::uint64_t bytes;
};
static_assert(sizeof(BlockHeader) == 16);

// Blocks that hold, instead of rows, `rows` times { u32 id, u32 length, length bytes }: text for
// the string table, and bytes that belong to a row of the same batch. Ids count up from 1.
inline constexpr std::uint32_t string_block = 0;
inline constexpr std::uint32_t bytes_block = 0xffffffff;

// Names of tables and columns consist of [A-Za-z0-9_.], do not start with a digit, and have at most
// this length; the column names of a table are unique regardless of case.
inline constexpr std::size_t max_name = 128;
inline constexpr std::uint32_t max_columns = 1000;

// Higher ids are treated as damage.
inline constexpr std::uint32_t max_string_id = 1 << 26;
constexpr bool is_string_id(std::uint32_t id) { return id != 0 && id <= max_string_id; }

template <class T>
T load(const std::byte* bytes) {
  T value;
  std::memcpy(&value, bytes, sizeof value);
  return value;
}

template <class T>
void save(std::byte* bytes, T value) {
  std::memcpy(bytes, &value, sizeof value);
}

}  // namespace gpuprof::wire
