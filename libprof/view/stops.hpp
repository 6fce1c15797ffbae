// Where in a run it is worth to look: what the viewer's keys jump through.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/view/model.hpp"

namespace gpuprof::view {

// Where the process was for a part of a gap whose work ended it.
struct HostPart {
  std::string name;  // "cudaMalloc", "no CUDA call", "other CUDA calls"
  std::int64_t time = 0;
};
// The parts of a gap of that length, the longest first: together they are all of it. `call`: the
// function that took `in_call` of it; empty: none is known.
std::vector<HostPart> host_parts(std::int64_t length, const std::string& call, std::int64_t in_call,
                                 std::int64_t in_none);
inline constexpr std::string_view no_call = "no CUDA call", other_calls = "other CUDA calls";

// A time in which a device had no work.
struct Gap {
  std::int64_t begin = 0;  // ns after the run's zero
  std::int64_t time = 0;
  std::int64_t device = 0;
  std::string behind;          // the work that ended it
  std::vector<HostPart> host;  // empty: this is not known
};

// A step of the program that began and ended.
struct Step {
  std::int64_t begin = 0;  // ns after the run's zero
  std::int64_t time = 0;
  std::string name;
  std::int64_t track = -1;  // that draws its range; -1: a window, or it is not drawn
};

// A time of which something is missing.
struct TimedLoss {
  std::int64_t begin = 0;  // ns after the run's zero
  std::int64_t time = 0;
  std::int64_t device = 0;
  std::string text;
};

// The longest of each, longest first. A file that was never finished has no list of gaps and steps.
struct Stops {
  std::vector<Gap> gaps;
  std::vector<Step> steps;
  std::int64_t median_step = 0;  // ns, of all steps; of an even number the lower one
  std::vector<TimedLoss> losses;
};

// The function that took most of each gap that reaches into the window, by its correlation id: of
// the longest so many.
using HostCalls = std::unordered_map<std::int64_t, std::string>;
HostCalls host_calls(reading::Tables& tables, reading::Names& names, const Window& window,
                     std::int64_t most = INT64_MAX);

std::vector<Gap> longest_gaps(store::Database& database, const Model& model, const Window& window,
                              int most);
// Those that reach into the window. The median step is that of all.
Stops find_stops(store::Database& database, const Model& model, const Window& window);

}  // namespace gpuprof::view
