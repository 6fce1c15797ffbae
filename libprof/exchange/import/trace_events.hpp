// Traces in Chrome's format, as written by PyTorch's profiler: JSON, event by event.
//
// Nothing of an event is kept when the next one arrives. Times are parsed from their digits: a
// double cannot hold ns since 1970.
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/exchange/import/text_stream.hpp"

namespace gpuprof::importing {

struct TraceEvent {
  std::string phase, category, name;
  std::optional<std::int64_t> start, duration;  // ns
  std::optional<std::int64_t> process, thread;
  // Arguments.
  std::optional<std::int64_t> device, context, stream, correlation, bytes, registers, callback,
      graph, graph_node, of_process;
  std::array<std::optional<std::int64_t>, 3> grid, block;
  std::string domain, wait;
  std::uint32_t odd_values = 0;  // not numbers, but should be
};

struct TraceDevice {
  std::string name;
  std::optional<std::int64_t> id, memory, major, minor, threads_per_block, registers_per_block,
      warp_size, shared_memory_per_block, multiprocessors, registers, shared_memory;
};

// The data around the events. In a Kineto trace it comes first.
struct TraceHead {
  std::optional<std::int64_t> base, rank, world_size;
  std::vector<TraceDevice> devices;
  std::string made_by;
};

// Calls `take` for each event until it returns false. Returns what is wrong with the text; empty:
// nothing.
std::string read_trace_events(TextStream& text, TraceHead& head,
                              const std::function<bool(TraceEvent&)>& take);

// "12.345" us -> 12345 ns, from its digits. Nullopt: not a number, or too large.
std::optional<std::int64_t> nanoseconds(std::string_view microseconds);

}  // namespace gpuprof::importing
