// What a report has of the timeline, in place of a server that answers for any window.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libprof/view/model.hpp"
#include "libprof/view/stops.hpp"

namespace gpuprof::view {

// A picture of a window of time.
struct Level {
  std::int64_t from = 0, to = 0;
  std::uint32_t width = 0;  // of tiles_answer(), pixels; 0: records one by one
  std::string text;         // packed
};

// What makes a report smaller.
inline constexpr const char* part_hint =
    "--from, --to and --nvtx make a report of a part of the run";

struct Levels {
  std::vector<Level> all;        // the first is of all of the window
  std::vector<bool> names;       // that are in them
  std::size_t without_room = 0;  // of the longest gaps and steps
};

inline constexpr std::size_t longest_in_full = 5;  // gaps, and as many steps

// What reaches into the window, in no more than `most_bytes` of packed text: all records, or the
// window in as many pixels as find room and the records of the longest gaps and steps.
Levels draw_levels(const Model& model, const Window& window, const Stops& stops,
                   std::size_t most_tracks, std::size_t most_bytes);

// All records of the window. Throws Error where they take more than `most_bytes`.
Levels draw_all(const Model& model, const Window& window, std::size_t most_tracks,
                std::size_t most_bytes);

// Records that reach into the window, and values of counters in it.
std::int64_t count_records(const Model& model, const Window& window);

}  // namespace gpuprof::view
