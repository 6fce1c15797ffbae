// What a model can be asked.
#include <algorithm>
#include <map>

#include "libprof/base/letter_case.hpp"
#include "libprof/base/text.hpp"
#include "libprof/intervals/busy.hpp"
#include "libprof/intervals/sets.hpp"
#include "libprof/view/model.hpp"

namespace gpuprof::view {
namespace {

void draw_counter(const Counter& counter, const Scale& scale, Tile& tile) {
  const auto first = std::ranges::lower_bound(counter.time, scale.from());
  auto at = static_cast<std::size_t>(first - counter.time.begin());
  if (at > 0) tile.before = counter.value[at - 1];
  for (; at < counter.time.size() && counter.time[at] < scale.to(); ++at) {
    const std::uint32_t x = scale.pixel(counter.time[at]);
    const double value = counter.value[at];
    if (tile.points.empty() || tile.points.back().x != x) {
      tile.points.push_back({x, value, value, value});
    }
    PointRange& point = tile.points.back();
    point.least = std::min(point.least, value);
    point.most = std::max(point.most, value);
    point.last = value;
  }
}

std::uint64_t clipped(const Item& item, std::int64_t from, std::int64_t to) {
  return intervals::length(std::max(item.begin, from), std::min(item.end, to));
}

// Time in a window in which one of the intervals is open.
std::uint64_t busy_in(std::vector<intervals::InMemory>& sources, std::int64_t from,
                      std::int64_t to) {
  std::vector<intervals::Source*> pointers;
  for (intervals::InMemory& source : sources) pointers.push_back(&source);
  intervals::Merged merged(pointers);
  intervals::Busy busy;
  for (auto chunk = merged.next(); !chunk.empty(); chunk = merged.next()) {
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      busy.add(std::max(chunk.begin[i], from), std::min(chunk.end[i], to));
    }
  }
  return static_cast<std::uint64_t>(busy.ns());
}

// The rows of a stream in which only some records count.
struct Split {
  intervals::Intervals compute, copies;
};

void add_device(const Model& model, std::int64_t id, std::int64_t from, std::int64_t to,
                Statistics& statistics) {
  Statistics::Device device;
  device.device = id;
  std::vector<Split> splits;
  std::vector<intervals::InMemory> all;
  for (const Track& track : model.tracks) {
    if (track.kind != TrackKind::stream || track.device != id) continue;
    device.name = track.path.front();
    for (const Row& row : track.rows) {
      const Row::Places places = row.within(from, to);
      device.records += static_cast<std::int64_t>(places.end - places.first);
      all.emplace_back(row.columns(places));
      Split& split = splits.emplace_back();
      for (std::size_t i = places.first; i < places.end; ++i) {
        const Item item = row[i];
        (model.compute[item.table] ? split.compute : split.copies).add(item.begin, item.end);
      }
    }
  }
  std::vector<intervals::InMemory> compute, copies;
  for (const Split& split : splits) {
    compute.emplace_back(split.compute.columns());
    copies.emplace_back(split.copies.columns());
  }
  device.busy = busy_in(all, from, to);
  device.compute = busy_in(compute, from, to);
  device.copies = busy_in(copies, from, to);
  device.both = device.compute + device.copies - device.busy;
  if (device.records > 0) statistics.devices.push_back(std::move(device));
}

}  // namespace

Tile make_tile(const Track& track, std::int64_t from, std::int64_t to, std::uint32_t width) {
  const Scale scale(from, to, width);
  Tile tile;
  for (const Row& row : track.rows) row.draw(scale, tile.rows.emplace_back());
  draw_counter(track.counter, scale, tile);
  return tile;
}

Statistics statistics(const Model& model, std::int64_t from, std::int64_t to) {
  Statistics result;
  std::map<TrackKind, std::vector<Statistics::Work>> kinds;
  std::vector<std::int64_t> devices;
  for (const Track& track : model.tracks) {
    if (track.kind == TrackKind::stream && !std::ranges::count(devices, track.device)) {
      devices.push_back(track.device);
    }
    if (track.rows.empty()) continue;
    auto& names = kinds[track.kind];
    names.resize(model.names.size());
    for (const Row& row : track.rows) {
      const Row::Places places = row.within(from, to);
      for (std::size_t i = places.first; i < places.end; ++i) {
        const Item item = row[i];
        Statistics::Work& work = names[item.name];
        const std::uint64_t time = clipped(item, from, to);
        ++work.count;
        work.time += time;
        work.longest = std::max(work.longest, time);
      }
    }
  }
  for (auto& [kind, names] : kinds) {
    for (std::size_t i = 0; i < names.size(); ++i) {
      if (names[i].count == 0) continue;
      names[i].kind = kind;
      names[i].name = static_cast<std::uint32_t>(i);
      result.work.push_back(names[i]);
    }
  }
  std::ranges::stable_sort(result.work, std::greater{}, &Statistics::Work::time);
  for (const std::int64_t device : devices) add_device(model, device, from, to, result);
  return result;
}

Found search(const Model& model, std::string_view text, std::int64_t after) {
  const std::string wanted = lower(text);
  std::vector<bool> matches;
  for (const Name& name : model.names) {
    matches.push_back(lower(name.text).find(wanted) != std::string::npos);
  }
  Found found;
  std::optional<Place> first;
  std::int64_t first_begin = 0, next_begin = 0;
  for (std::size_t t = 0; t < model.tracks.size(); ++t) {
    const std::vector<Row>& rows = model.tracks[t].rows;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto names = rows[r].names();
      for (std::size_t i = 0; i < names.size(); ++i) {
        if (!matches[names[i]]) continue;
        ++found.count;
        const std::int64_t begin = rows[r].begin(i);
        const Place place{static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(r),
                          static_cast<std::uint32_t>(i)};
        if (!first || begin < first_begin) {
          first = place;
          first_begin = begin;
        }
        if (begin > after && (!found.next || begin < next_begin)) {
          found.next = place;
          next_begin = begin;
        }
      }
    }
  }
  found.around = !found.next && first;
  if (found.around) found.next = first;
  return found;
}

std::optional<Item> item_at(const Model& model, const Place& place) {
  if (place.track >= model.tracks.size()) return std::nullopt;
  const std::vector<Row>& rows = model.tracks[place.track].rows;
  if (place.row >= rows.size() || place.item >= rows[place.row].size()) return std::nullopt;
  return rows[place.row][place.item];
}

}  // namespace gpuprof::view
