// What the viewer's page is told, as JSON. Times are ns after the run's zero; texts are UTF-8.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/view/details.hpp"
#include "libprof/view/model.hpp"
#include "libprof/view/stops.hpp"

namespace gpuprof::view {

// How often a file was read that is being recorded. Tracks and records have other numbers each
// time, names keep theirs.
struct Growth {
  std::int64_t version = 1;
  bool grows = false;
};
std::string growth_answer(Growth growth);
// The run's tracks (the first so many), its window, what is lost. `notes`: what the reader of the
// file should know. `runs`: how many are shown.
struct RunPart {
  Window window;
  std::int64_t drawn = 0;
  std::int64_t records = 0;  // of the file or, of a part of a run, those that are drawn
};
std::string run_answer(const Model& model, const RunPart& part, std::string_view title,
                       std::span<const std::string> notes, std::size_t runs = 1, Growth growth = {},
                       std::size_t most_tracks = 4096);
// Tiles of these tracks: [track, rows, points] of each. A row has the place of its first record;
// the pieces follow, each with the records behind those of the one before: pixels since the end of
// that one and 1, its pixels, how many records; or, right behind it and one pixel wide, the
// negative of how many. Then the name and the length of the longest, and of a bucket the time in
// which it was busy, ns. A counter has for each point: pixel (-1: before the window), least, most
// and last value.
std::string tiles_answer(const Model& model, std::span<const std::uint32_t> tracks,
                         std::int64_t from, std::int64_t to, std::uint32_t width,
                         std::vector<bool>* used_names = nullptr);
std::string names_answer(const Model& model, std::span<const std::uint32_t> names);
std::string statistics_answer(const Model& model, const Window& window,
                              const Statistics& statistics, std::size_t most);
// Of gaps and losses also the first track of their device, of steps that of the range, -1: none.
std::string stops_answer(const Model& model, const Stops& stops);
// GPU work of windows of two runs, of which the second has the names of both. `lasted`: the part of
// its window that each run was there for.
std::string differences_answer(const Model& first, Window in_first, const Model& second,
                               Window in_second, std::size_t most);
std::string occurrence_answer(const Model& model, const Occurrence& found);
std::string found_answer(const Model& model, const Found& found);
std::string details_answer(const Model& model, const Place& place, const Item& item,
                           const Details& details);
// No longer than so many bytes: the middle goes. UTF-8.
std::string shortened(std::string_view text, std::size_t most);
std::string error_answer(std::string_view message);

}  // namespace gpuprof::view
