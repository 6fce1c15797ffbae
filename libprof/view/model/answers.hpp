// JSON answers for the viewer's page. Times are ns after the run's zero; texts are UTF-8.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/view/model/details.hpp"
#include "libprof/view/model/model.hpp"
#include "libprof/view/model/stops.hpp"

namespace gpuprof::view {

// How often a file that is being recorded was read. Each reading renumbers tracks and records;
// names keep their numbers.
struct Growth {
  std::int64_t version = 1;
  bool grows = false;
  bool is_part = false;  // the rest of the file is still being read
};
std::string growth_answer(Growth growth);
// The run's tracks (up to a limit), its window and its losses. `notes`: remarks for the file's
// reader. `runs`: how many runs are shown.
struct RunPart {
  Window window, first_view;
  std::int64_t drawn = 0;
  std::int64_t records = 0;    // in the file; for a part of a run, those drawn
  std::string_view path = {};  // of the file; empty: the page does not get it
};
std::string run_answer(const Model& model, const RunPart& part, std::string_view title,
                       std::span<const std::string> notes, std::size_t runs = 1, Growth growth = {},
                       std::size_t most_tracks = 4096);
// The tiles of these tracks, in the format of view/TILES.md.
std::string tiles_answer(const Model& model, std::span<const std::uint32_t> tracks,
                         std::int64_t from, std::int64_t to, std::uint32_t width,
                         std::vector<bool>* used_names = nullptr);
std::string names_answer(const Model& model, std::span<const std::uint32_t> names);
std::string statistics_answer(const Model& model, const Window& window,
                              const Statistics& statistics, std::size_t most);
// Of each kind the most_stops longest. Gaps and losses also have the first track of their device;
// steps, the track of their range; -1: none.
std::string stops_answer(const Model& model, const Stops& stops);
// The longest gaps that reach into the window.
std::string gaps_answer(const Model& model, const Stops& stops, const Window& window,
                        std::size_t most);
// Compares GPU work, NVTX ranges and calls in windows of two runs; the second model includes the
// names of both. `lasted`: the part of its window during which each run existed.
std::string differences_answer(const Model& first, Window in_first, const Model& second,
                               Window in_second, std::size_t most);
// `steady`: the number of the first step that is shown; 0: there is none.
std::string occurrence_answer(const Model& model, const Occurrence& found, std::int64_t steady = 0);
std::string found_answer(const Model& model, const Found& found);
std::string details_answer(const Model& model, const Place& place, const Item& item,
                           const Details& details);
// Shortens to at most `most` bytes by cutting out the middle. UTF-8.
std::string shortened(std::string_view text, std::size_t most);
std::string error_answer(std::string_view message);

}  // namespace gpuprof::view
