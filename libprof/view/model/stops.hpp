// Interesting places in a run, which the viewer's keys jump through.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "libprof/read/names.hpp"
#include "libprof/read/tables.hpp"
#include "libprof/store/sqlite.hpp"
#include "libprof/view/model/model.hpp"

namespace gpuprof::view {

// What the process whose work ended a gap was doing during a part of the gap.
struct HostPart {
  // "cudaMalloc", "no CUDA call", "launching work", "work was launched", "other CUDA calls"
  std::string name;
  std::int64_t time = 0;
};

// A time during which a device had no work.
struct Gap {
  std::int64_t begin = 0;  // ns after the run's zero
  std::int64_t time = 0;
  std::int64_t device = 0;
  std::string behind;          // the work that ended it
  std::vector<HostPart> host;  // empty: unknown

  // What took most of it: "call", "launch", "queued", "no-call" or "unknown".
  std::string_view cause() const;
};

// A completed step of the program.
struct Step {
  std::int64_t begin = 0;  // ns after the run's zero
  std::int64_t time = 0;
  std::string name;
  std::int64_t track = -1;  // draws its range; -1: the step is a window, or is not drawn
};

// A time for which data is missing.
struct TimedLoss {
  std::int64_t begin = 0;  // ns after the run's zero
  std::int64_t time = 0;
  std::int64_t device = 0;
  std::string text;
};

// The longest of each kind, longest first. A file that was never finished has no list of gaps and
// steps.
struct Stops {
  std::vector<Gap> gaps;  // up to most_read_gaps; of the rest at most most_stops
  std::vector<Step> steps;
  std::int64_t median_step = 0;  // ns, of all steps; for an even number, the lower median
  std::vector<TimedLoss> losses;
  // What a viewer shows first, on CUPTI's clock: see find_first_view().
  Window first_view;
  // When each step of the process with most begins, ns after the run's zero: the first most_begins.
  std::vector<std::int64_t> step_begins;
  std::int64_t steady_step = 0;  // the one with which the first view begins, from 1; 0: none
};
inline constexpr std::int64_t most_begins = 100'000;
inline constexpr int most_stops = 100, most_read_gaps = 10'000;

// For each of the `most` longest gaps that reach into the window: the function that took most of
// it, by correlation id.
using HostCalls = std::unordered_map<std::int64_t, std::string>;
HostCalls host_calls(reading::Tables& tables, reading::Names& names, const Window& window,
                     std::int64_t most = INT64_MAX);

std::vector<Gap> longest_gaps(store::Database& database, const Model& model, const Window& window,
                              int most);
// Those that reach into the window, and `most_gaps` of its gaps. The median is over all steps.
Stops find_stops(store::Database& database, const Model& model, const Window& window,
                 int most_gaps = most_read_gaps);
// `number` counts from 1.
Occurrence find_step(const Model& model, const Stops& stops, std::int64_t number);

}  // namespace gpuprof::view
