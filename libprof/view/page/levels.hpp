// The parts of the timeline that a report contains, instead of a server that answers for any
// window.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libprof/view/model/model.hpp"
#include "libprof/view/model/stops.hpp"

namespace gpuprof::view {

// A picture of one time window.
struct Level {
  std::int64_t from = 0, to = 0;
  std::uint32_t width = 0;  // in pixels, see tiles_answer(); 0: individual records
  std::string text;         // packed
};

// How to make a report smaller.
inline constexpr const char* part_hint =
    "--from, --to and --nvtx make a report of a part of the run";

struct Levels {
  std::vector<Level> all;        // the first covers the whole window
  std::vector<bool> names;       // whether the levels use the name
  std::size_t without_room = 0;  // longest gaps and steps that did not fit
};

inline constexpr std::size_t longest_in_full = 5;  // gaps, and the same number of steps

// Everything that reaches into the window, in at most `most_bytes` of packed text: all records, or
// the window in as many pixels as fit plus the records of the longest gaps and steps.
Levels draw_levels(const Model& model, const Window& window, const Stops& stops,
                   std::size_t most_tracks, std::size_t most_bytes);

// All records of the window. Throws Error if they need more than `most_bytes`.
Levels draw_all(const Model& model, const Window& window, std::size_t most_tracks,
                std::size_t most_bytes);

// The number of records that reach into the window plus counter values in it.
std::int64_t count_records(const Model& model, const Window& window);

}  // namespace gpuprof::view
