// What a stream may cost whoever reads it.
//
// A stream is what somebody else's program sends. Without limits one process could fill the
// launcher's memory or disk, and end the recording of all others. Each limit is far above what a
// collector of ours sends in long runs, which is noted next to it. docs/design/road.md has them as
// one table, with what happens when one is reached.
#pragma once

#include <cstddef>
#include <cstdint>

#include "libprof/wire/format.hpp"

namespace gpuprof::wire {

// --- in one payload: more is malformed. They bound what decoding makes of a payload, which is
// several times its size where many small things are listed.

// Bytes of frames that hold neither rows nor images. The longest that makes sense is a command
// line, of which the kernel takes some MiB.
inline constexpr std::uint64_t max_small_payload = std::uint64_t{32} << 20;
// Of an info or hello; a collector sends at most 6, the launcher some 20 about a run.
inline constexpr std::uint32_t max_fields = 1024;
// A collector sends one block per kind and two of strings: about 60.
inline constexpr std::uint32_t max_blocks = 4096;
// In one block. A slot of 1 MiB has some 20,000 records; salvage sends up to 65,536 in one.
inline constexpr std::uint32_t max_strings = 1 << 20;
// In one batch: MODULE has one per module.
inline constexpr std::size_t max_byte_strings = 1 << 16;
// A collector counts some 30 things.
inline constexpr std::uint32_t max_statistics = 4096;
// CUPTI 13 knows about 1,300 functions.
inline constexpr std::uint32_t max_api_names = 1 << 16;
// Ids of the CUDA API's functions count up from 1.
inline constexpr std::uint32_t max_callback_id = 1 << 16;
// Entries of one layout of NVTX payloads; NCCL's have up to 6.
inline constexpr std::uint32_t max_payload_entries = 4096;
// Metrics and groups of a run; the largest chip has about 2,500 metrics.
inline constexpr std::uint32_t max_metrics = 1 << 16;
// Texts of one list, besides one for each range that the payload has.
inline constexpr std::uint32_t max_texts = 1 << 16;

// Reasons for which a warp waits; a chip has some 40.
inline constexpr std::uint32_t max_stall_reasons = 1024;
// Instructions, and functions, in one frame of PC samples or SASS metrics. A collector sends up to
// 4096 at a time.
inline constexpr std::uint32_t max_code_places = 1 << 16;
// SASS metrics of a device, of which a collector names up to 14.
inline constexpr std::uint32_t max_sass_metrics = 1024;

// Of a batch that travels in parts, and of all such that are not whole yet: a cubin, which is one
// value in the end, and SQLite has none above 10^9 bytes.
inline constexpr std::size_t max_joined_batch = std::size_t{900} << 20;

// --- of one stream: what is above is left out and counted as stream_limited

// Definitions of tables that hold at a time, and their bytes. A collector has one per kind, about
// 60, of 3 KB each.
inline constexpr std::size_t max_definitions = 1024;
inline constexpr std::size_t max_definition_bytes = 4 << 20;
// Tables that this build does not know, and columns in all definitions that rows came for. All
// kinds together have about 800 columns.
inline constexpr std::size_t max_new_tables = 256;
inline constexpr std::size_t max_stream_columns = 8192;
// Names that statistics have, each with the table it is of.
inline constexpr std::size_t max_counted = 1024;
// Every 10 s: 15 days.
inline constexpr std::size_t max_clocks = 1 << 17;
// The names of all functions are sent once.
inline constexpr std::size_t max_stream_api_names = 1 << 16;
// Entries of all layouts of NVTX payloads.
inline constexpr std::size_t max_stream_payload_entries = 1 << 14;
// What a process has to tell the user, in words: one or two as a rule. Longer ones are cut.
inline constexpr std::size_t max_diagnostics = 64;
inline constexpr std::size_t max_diagnostic_bytes = 4000;
// Contexts whose program counters are sampled or whose instructions are counted, and functions that
// have samples or counts. A PyTorch process has some thousands of the latter.
inline constexpr std::size_t max_code_contexts = 1024;
inline constexpr std::size_t max_code_functions = 1 << 18;
// NVTX ranges that are open at a time, when they are paired at the end. Ranges that nobody closes
// are forgotten by the program; these take 60 MB.
inline constexpr std::size_t max_open_ranges = 1 << 18;

// --- of all streams of a run together

// Each process has one, and costs some 300 bytes after its end: a process per second for 6 days.
inline constexpr std::size_t max_streams = 1 << 19;
// As above. Streams of one kind of collector share their tables and definitions.
inline constexpr std::size_t max_run_tables = 1024;
inline constexpr std::size_t max_run_columns = 1 << 16;
inline constexpr std::size_t max_run_diagnostics = 4096;

// --- while a run is recorded (launch/listener.hpp)

// Of one process, each with up to two descriptors of ours; more are closed. It has one, and for a
// while another when it executes a second program.
inline constexpr std::size_t max_connections_of_process = 64;
// Bytes of frames that have not come to their end, of all streams. The stream with the next piece
// of a long one ends. The longest that can come is a module of 256 MiB, by itself.
inline constexpr std::size_t max_unfinished_bytes = 2 * max_payload;
// Launches that a run with --metrics can join later runs with (metrics/launch_table.hpp), in blocks
// of 4096: 268 million of each process, a billion in all.
inline constexpr std::size_t max_launch_blocks = 1 << 16;
inline constexpr std::size_t max_run_launch_blocks = 1 << 18;

// Whether a payload is longer than its type has reason to be. Of a type that is not known nothing
// is decoded, so it may be as long as any.
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
