// What a report has of the timeline, in place of a server that answers for any window.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "libprof/view/model.hpp"
#include "libprof/view/stops.hpp"

namespace gpuprof::view {

// A window of time.
struct Level {
  std::int64_t from = 0, to = 0;
  std::uint32_t width = 0;  // of tiles_answer(), pixels; 0: records one by one
  std::string text;         // packed
};

struct Levels {
  std::vector<Level> all;        // the first is of the whole run
  std::vector<bool> names;       // that are in them
  std::size_t without_room = 0;  // of the longest gaps and steps
};

inline constexpr std::size_t longest_in_full = 5;  // gaps, and as many steps

// In no more than `most_bytes` of packed text: all records, or the whole run in as many pixels as
// find room and the records of the longest gaps and steps.
Levels draw_levels(const Model& model, const Stops& stops, std::size_t most_tracks,
                   std::size_t most_bytes);

// All records. Throws Error where they take more than `most_bytes`.
Levels draw_all(const Model& model, std::size_t most_tracks, std::size_t most_bytes);

}  // namespace gpuprof::view
