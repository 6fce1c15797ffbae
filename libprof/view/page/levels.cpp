#include "libprof/view/page/levels.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/view/model/answers.hpp"
#include "libprof/view/page/packed.hpp"
#include "libprof/view/page/records.hpp"

namespace gpuprof::view {
namespace {

// How many records a browser can convert to pixels on every redraw.
constexpr std::int64_t drawn_at_once = 100'000;
constexpr std::uint32_t narrowest = 256, widest_cell = 1u << 28, overview = 1u << 14;  // pixels
// The least packed text that a record needs.
constexpr std::int64_t least_bytes_of_record = 1;
// The margin around a gap or step, as a fraction of it: what the page shows when jumping to it.
constexpr std::int64_t margin_parts = 3;

class Drawing {
 public:
  Drawing(const Model& model, const Window& window, std::size_t most_tracks)
      : records(count_records(model, window)),
        model_(model),
        window_(window),
        tracks_(std::min(model.tracks.size(), most_tracks)) {
    levels.names.resize(model.names.size());
    std::iota(tracks_.begin(), tracks_.end(), 0);
  }

  // Returns the packed size. The records are kept only if they fit.
  std::size_t add_records(std::int64_t from, std::int64_t to, std::size_t most) {
    Packed packed(most);
    std::vector<bool> names = levels.names;
    pack_records(model_, tracks_, from, to, packed, names);
    packed.finish();
    if (packed.fits()) {
      levels.names = std::move(names);
      levels.all.push_back({.from = from, .to = to, .width = 0, .text = packed.take()});
    }
    return packed.size();
  }
  std::size_t add_all_records(std::size_t most) {
    return add_records(window_.from, window_.to, most);
  }

  // The whole window in as many pixels as fit; the page reduces them.
  void add_whole(std::size_t most, std::uint32_t most_pixels) {
    Level best;
    std::vector<bool> used;
    const auto fits = [&](std::uint32_t width) {
      std::vector<bool> names(model_.names.size());
      const std::string tiles =
          tiles_answer(model_, tracks_, window_.from, window_.to, width, &names);
      Packed text(best.width == 0 ? SIZE_MAX : most);
      text.add(tiles);
      text.finish();
      if (!text.fits()) return false;
      best = {.from = window_.from, .to = window_.to, .width = width, .text = text.take()};
      used = std::move(names);
      return best.text.size() <= most;
    };
    std::uint32_t width = std::min(narrowest, most_pixels);
    while (fits(width) && width <= most_pixels / 4) width *= 4;
    if (best.width > 0 && best.width < width) fits(width / 2);
    for (std::size_t i = 0; i < used.size(); ++i) {
      if (used[i]) levels.names[i] = true;
    }
    levels.all.insert(levels.all.begin(), std::move(best));
  }

  // The records of a gap or step and of its margin, if they fit into `room`.
  void add_stop(std::int64_t at, std::int64_t time, std::size_t& room) {
    const std::int64_t margin = time / margin_parts + 100;
    const std::int64_t begin = saturating_add(at, model_.zero);
    const std::int64_t from = std::max(saturating_subtract(begin, margin), window_.from);
    const std::int64_t to =
        std::min(saturating_add(saturating_add(begin, time), margin), window_.to);
    if (from >= to) return;
    for (const Level& level : levels.all) {
      if (level.from <= from && level.to >= to) return;
    }
    const std::size_t bytes = add_records(from, to, room);
    if (bytes <= room) {
      room -= bytes;
    } else {
      ++levels.without_room;
    }
  }

  const std::int64_t records;
  Levels levels;

 private:
  const Model& model_;
  const Window window_;
  std::vector<std::uint32_t> tracks_;
};

}  // namespace

std::int64_t count_records(const Model& model, const Window& window) {
  std::int64_t count = 0;
  for (const Track& track : model.tracks) {
    for (const auto& row : track.rows) {
      const TrackRow::Places places = row->within(window.from, window.to);
      count += static_cast<std::int64_t>(places.end - places.first);
    }
    const auto first = std::ranges::lower_bound(track.counter.time, window.from);
    count += std::ranges::lower_bound(first, track.counter.time.end(), window.to) - first;
  }
  return count;
}

Levels draw_levels(const Model& model, const Window& window, const Stops& stops,
                   std::size_t most_tracks, std::size_t most_bytes) {
  Drawing drawing(model, window, most_tracks);
  // So few records that they can be drawn at once need no overview.
  const std::size_t of_overview = drawing.records <= drawn_at_once ? 0 : most_bytes / 4;
  const std::size_t of_records = most_bytes - of_overview;
  if (drawing.records * least_bytes_of_record <= static_cast<std::int64_t>(of_records) &&
      drawing.add_all_records(of_records) <= of_records) {
    if (of_overview > 0) drawing.add_whole(of_overview, overview);
    return std::move(drawing.levels);
  }
  std::size_t room = most_bytes / 2;
  for (std::size_t i = 0; i < longest_in_full; ++i) {
    if (i < stops.gaps.size()) drawing.add_stop(stops.gaps[i].begin, stops.gaps[i].time, room);
    if (i < stops.steps.size()) drawing.add_stop(stops.steps[i].begin, stops.steps[i].time, room);
  }
  drawing.add_whole(most_bytes / 2 + room, widest_cell);
  return std::move(drawing.levels);
}

Levels draw_all(const Model& model, const Window& window, std::size_t most_tracks,
                std::size_t most_bytes) {
  Drawing drawing(model, window, most_tracks);
  const std::size_t of_overview = drawing.records <= drawn_at_once ? 0 : most_bytes / 20;
  const std::size_t bytes = drawing.add_all_records(most_bytes - of_overview);
  if (bytes > most_bytes - of_overview) {
    const auto megabytes = [](std::size_t size) {
      return std::to_string((size + 999'999) / 1'000'000) + " MB";
    };
    throw Error("a report with all records would have " + megabytes(bytes + of_overview) +
                    ", and " + megabytes(most_bytes) + " is the most",
                part_hint, ExitCode::output_failed);
  }
  if (of_overview > 0) drawing.add_whole(of_overview, overview);
  return std::move(drawing.levels);
}

}  // namespace gpuprof::view
