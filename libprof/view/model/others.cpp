// A record compared with the others of its name.
#include <algorithm>
#include <vector>

#include "libprof/base/percentiles.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/view/model/labels.hpp"
#include "libprof/view/model/others.hpp"

namespace gpuprof::view {
namespace {

constexpr std::int64_t most_records = 4'000'000;  // to look at: some 40 ms

}  // namespace

Section read_others(const Model& model, const Place& place, const Item& item) {
  Section section{.title = "Among all of this name", .rows = {}};
  const Track& own = model.tracks[place.track];
  if (model.blocks || model.records > most_records) return section;
  std::vector<std::int64_t> durations;
  for (const Track& track : model.tracks) {
    if (track.kind != own.kind || track.device != own.device) continue;
    for (const auto& row : track.rows) {
      row->visit({0, row->size()}, [&](const Part& part, std::size_t) {
        for (std::size_t i = 0; i < part.size(); ++i) {
          if (part.names[i] != item.name) continue;
          durations.push_back(saturating_subtract(part.times.end[i], part.times.begin[i]));
        }
      });
    }
  }
  if (durations.size() < 2) return section;
  const std::int64_t its = saturating_subtract(item.end, item.begin);
  const auto longer =
      std::ranges::count_if(durations, [&](std::int64_t each) { return each > its; });
  const auto [least, most] = std::ranges::minmax(durations);
  const auto text = [](std::int64_t ns) { return time_text(static_cast<double>(ns)); };
  const auto at = [&](std::size_t number) { return at_place(durations, number); };
  section.rows = {{"rank", std::to_string(longer + 1) + " of " + std::to_string(durations.size()) +
                               ", the longest first"},
                  {"median", text(median(durations.size(), at))},
                  {"p90", text(percentile(durations.size(), 90, at))},
                  {"shortest", text(least)},
                  {"longest", text(most)}};
  return section;
}

}  // namespace gpuprof::view
