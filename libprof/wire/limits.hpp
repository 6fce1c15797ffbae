// Limits on what a stream may cost its reader.
//
// A stream is sent by somebody else's program. Without limits one process could fill the launcher's
// memory or disk and end the recording of all the others. Each limit is far above what our
// collector sends in long runs, which is noted next to it. docs/design/road.md has them in one
// table, with what happens when each is reached.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libprof/wire/format.hpp"

namespace gpuprof::wire {

// --- in one payload: more is malformed. These bound the decoded size of a payload, which is
// several times its encoded size when it lists many small items.

// Bytes of a frame that holds neither rows nor images. The longest sensible one is a command line,
// for which the kernel accepts some MiB.
inline constexpr std::uint64_t max_small_payload = std::uint64_t{32} << 20;
// In an info or hello; a collector sends at most 6, the launcher some 20 about a run.
inline constexpr std::uint32_t max_fields = 1024;
// A collector sends one block per kind and two of strings: about 60.
inline constexpr std::uint32_t max_blocks = 4096;
// In one block. A slot of 1 MiB has some 20,000 records; salvage sends up to 65,536 in one.
inline constexpr std::uint32_t max_strings = 1 << 20;
// In one batch: MODULE has one per module.
inline constexpr std::size_t max_byte_strings = 1 << 16;
// A collector has some 30 counters.
inline constexpr std::uint32_t max_statistics = 4096;
// CUPTI 13 knows about 1,300 functions.
inline constexpr std::uint32_t max_api_names = 1 << 16;
// Ids of CUDA API functions count up from 1.
inline constexpr std::uint32_t max_callback_id = 1 << 16;
// Entries in one NVTX payload schema; NCCL's have up to 6.
inline constexpr std::uint32_t max_payload_entries = 4096;
// Metrics and groups of a run; the largest chip has about 2,500 metrics.
inline constexpr std::uint32_t max_metrics = 1 << 16;
// Green contexts that ranges of one counter data image ran in; a device has some 70 parts.
inline constexpr std::uint32_t max_partitions = 1024;
// Texts in one list, in addition to one per range in the payload.
inline constexpr std::uint32_t max_texts = 1 << 16;

// Instructions, and functions, in one frame of PC samples or SASS metrics. A collector sends up to
// 4096 at a time.
inline constexpr std::uint32_t max_code_places = 1 << 16;
// Stall reasons, or SASS metrics, of a device: a chip has some 40 reasons, and a collector names up
// to 14 metrics.
inline constexpr std::uint32_t max_code_counters = 1024;

// Bytes of a batch that travels in parts, and of all incomplete ones together. Such a batch holds a
// cubin, which becomes one value, and SQLite's limit for a value is 10^9 bytes.
inline constexpr std::size_t max_joined_batch = std::size_t{900} << 20;

// --- in one stream: the excess is left out and counted as stream_limited

// Table definitions in force at one time, and their bytes. A collector has one per kind, about 60,
// of 3 KB each.
inline constexpr std::size_t max_definitions = 1024;
inline constexpr std::size_t max_definition_bytes = 4 << 20;
// Tables unknown to this build, and columns in all definitions that received rows. All kinds
// together have about 800 columns.
inline constexpr std::size_t max_new_tables = 256;
inline constexpr std::size_t max_stream_columns = 8192;
// Distinct statistics, each a name and its table.
inline constexpr std::size_t max_counted = 1024;
// One every 10 s: 15 days.
inline constexpr std::size_t max_clocks = 1 << 17;
// The names of all functions are sent once.
inline constexpr std::size_t max_stream_api_names = 1 << 16;
// Entries in all NVTX payload schemas.
inline constexpr std::size_t max_stream_payload_entries = 1 << 14;
// Messages from a process to the user: usually one or two. Longer ones are truncated.
inline constexpr std::size_t max_diagnostics = 64;
inline constexpr std::size_t max_diagnostic_bytes = 4000;
// Contexts with PC sampling or SASS metrics, and functions that have samples or counts. A PyTorch
// process has some thousands of the latter.
inline constexpr std::size_t max_code_contexts = 1024;
inline constexpr std::size_t max_code_functions = 1 << 18;
// NVTX ranges open at one time, when they are paired at the end. Ranges that are never closed were
// forgotten by the program; this many take 60 MB.
inline constexpr std::size_t max_open_ranges = 1 << 18;

// --- in all streams of a run together

// Each process has one, which costs some 300 bytes after its end: one process per second for 6
// days.
inline constexpr std::size_t max_streams = 1 << 19;
// As above. Streams of the same kind of collector share their tables and definitions.
inline constexpr std::size_t max_run_tables = 1024;
inline constexpr std::size_t max_run_columns = 1 << 16;
inline constexpr std::size_t max_run_diagnostics = 4096;

// --- while a run is recorded (launch/listener.hpp)

// Per process, each with up to two descriptors of ours; further ones are closed. A process has one,
// and briefly a second when it executes another program.
inline constexpr std::size_t max_connections_of_process = 64;
// Bytes of incomplete frames, of all streams. Beyond that, the stream that holds most is ended. The
// longest legitimate frame is a module of 256 MiB, on its own.
inline constexpr std::size_t max_unfinished_bytes = 2 * max_payload;
// Launches of a run with --metrics that later runs can be joined with (metrics/launch_table.hpp),
// in blocks of 4096: 268 million per process, a billion in all.
inline constexpr std::size_t max_launch_blocks = 1 << 16;
inline constexpr std::size_t max_run_launch_blocks = 1 << 18;

// Whether a payload is longer than its type justifies. Unknown types are not decoded, so only the
// general limit applies.
constexpr bool is_oversized(FrameType type, std::uint64_t length) {
  switch (type) {
    case FrameType::hello:
    case FrameType::arena:
    case FrameType::info:
    case FrameType::table:
    case FrameType::api_names:
    case FrameType::payload_schema:
    case FrameType::pc_sampling:
    case FrameType::pc_samples:
    case FrameType::sass_metrics:
    case FrameType::sass_values:
    case FrameType::clock:
    case FrameType::statistics:
    case FrameType::goodbye:
    case FrameType::run:
    case FrameType::stream_end: return length > max_small_payload;
    default: return length > max_payload;
  }
}

}  // namespace gpuprof::wire
