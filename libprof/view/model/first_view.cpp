#include "libprof/view/model/first_view.hpp"

#include <algorithm>
#include <optional>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/timeline/records.hpp"
#include "libprof/read/tables.hpp"

namespace gpuprof::view {
namespace {

std::optional<Window> steady_steps(store::Database& database, std::int64_t median) {
  constexpr std::int64_t most = 100'000;
  constexpr int enough = 3;
  reading::Tables tables(database);
  if (!tables.has("STEP", "start") || !tables.has("STEP", "stop")) return std::nullopt;
  auto rows =
      database.prepare("SELECT start, stop FROM main.STEP WHERE stop > 0 ORDER BY start LIMIT ?1");
  std::optional<Window> longest;
  Window series;
  int steps = 0, most_steps = enough - 1;
  for (rows.bind(1, most); rows.step();) {
    const std::int64_t start = rows.integer(0), stop = rows.integer(1);
    if (!timeline::has_times(TrackKind::range, start, stop)) continue;
    if (intervals::length(start, stop) / 2 > static_cast<std::uint64_t>(median)) {
      steps = 0;
      continue;
    }
    if (steps++ == 0) series = {start, stop};
    series.to = std::max(series.to, stop);
    if (steps <= most_steps) continue;
    most_steps = steps;
    longest = series;
  }
  return longest;
}

std::optional<Window> time_of_work(const Model& model) {
  Window work{.from = INT64_MAX, .to = INT64_MIN};
  for (const Track& track : model.tracks) {
    if (track.kind != TrackKind::stream) continue;
    for (const auto& row : track.rows) {
      work.from = std::min(work.from, row->begin(0));
      work.to = std::max(work.to, row->end(row->size() - 1));
    }
  }
  return work.from < work.to ? std::optional(work) : std::nullopt;
}

std::size_t work_in(const Model& model, std::int64_t from, std::int64_t to) {
  std::size_t records = 0;
  for (const Track& track : model.tracks) {
    if (track.kind != TrackKind::stream) continue;
    for (const auto& row : track.rows) {
      const TrackRow::Places places = row->within(from, to);
      records += places.end - places.first;
    }
  }
  return records;
}

}  // namespace

Window find_first_view(store::Database& database, const Model& model, const Stops& stops) {
  if (const auto steps = steady_steps(database, stops.median_step)) return *steps;
  std::optional<Window> work = time_of_work(model);
  if (!work) return window_of(model);
  for (const Gap& gap : stops.gaps) {  // the longest first
    const std::int64_t begin = saturating_add(gap.begin, model.zero),
                       end = saturating_add(begin, gap.time);
    if (intervals::length(begin, end) < work->length() / 2) break;
    // Another GPU may have worked meanwhile.
    if (begin <= work->from || end >= work->to || work_in(model, begin, end) > 0) continue;
    if (work_in(model, work->from, begin) > work_in(model, end, work->to)) {
      work->to = begin;
    } else {
      work->from = end;
    }
  }
  return *work;
}

}  // namespace gpuprof::view
