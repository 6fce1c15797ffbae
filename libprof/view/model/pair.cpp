// Queries on two runs shown side by side.
#include <algorithm>
#include <unordered_map>

#include "libprof/view/model/model.hpp"

namespace gpuprof::view {
namespace {

std::uint64_t apart(const Difference& each) {
  return std::max(each.time[0], each.time[1]) - std::min(each.time[0], each.time[1]);
}

std::vector<std::int64_t> begins_of(const Model& model, TrackKind kind, std::size_t name) {
  std::vector<std::int64_t> begins;
  for (const Track& track : model.tracks) {
    if (track.kind != kind) continue;
    for (const auto& row : track.rows) {
      row->visit({0, row->size()}, [&](const Part& part, std::size_t) {
        for (std::size_t i = 0; i < part.size(); ++i) {
          if (part.names[i] == name) begins.push_back(part.times.begin[i]);
        }
      });
    }
  }
  return begins;
}

Occurrence first_work(const Model& model) {
  Occurrence first;
  for (const Track& track : model.tracks) {
    if (track.kind != TrackKind::stream) continue;
    first.count += track.records;
    for (const auto& row : track.rows) {
      first.begin = std::min(first.begin.value_or(row->begin(0)), row->begin(0));
    }
  }
  return first;
}

}  // namespace

Occurrence find_occurrence(const Model& model, std::string_view name, std::int64_t nth) {
  if (name.empty()) return first_work(model);
  const auto known = std::ranges::find(model.names, name, &Name::text);
  const auto number = static_cast<std::size_t>(known - model.names.begin());
  for (const TrackKind kind : {TrackKind::range, TrackKind::api, TrackKind::stream}) {
    std::vector<std::int64_t> begins = begins_of(model, kind, number);
    if (begins.empty()) continue;
    Occurrence found{.count = static_cast<std::int64_t>(begins.size()), .begin = {}};
    if (nth < 1 || nth > found.count) return found;
    const auto place = begins.begin() + (nth - 1);
    std::ranges::nth_element(begins, place);
    found.begin = *place;
    return found;
  }
  return {};
}

std::vector<Difference> differences(const std::vector<Name>& names, TrackKind kind,
                                    const Statistics& first, const Statistics& second) {
  std::vector<Difference> result;
  std::unordered_map<std::string_view, std::size_t> places;
  for (const Statistics* side : {&first, &second}) {
    const int number = side == &second;
    for (const Statistics::Work& work : side->work) {
      if (work.kind != kind) continue;
      const Name& known = names[work.name];
      const bool by_function = kind == TrackKind::stream && !known.function.empty();
      const std::string& name = by_function ? known.function : known.text;
      const auto [place, is_new] = places.try_emplace(name, result.size());
      if (is_new) result.push_back({.name = name, .communicates = known.communicates});
      Difference& difference = result[place->second];
      difference.count[number] += work.count;
      difference.time[number] += work.time;
    }
  }
  std::ranges::stable_sort(result, std::greater{}, apart);
  return result;
}

}  // namespace gpuprof::view
