// Queries on a model.
#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "libprof/compute/intervals/busy.hpp"
#include "libprof/compute/intervals/merged.hpp"
#include "libprof/view/model/model.hpp"
#include "libprof/view/model/name_search.hpp"

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

// Which records count.
struct Choice {
  std::vector<bool> tables;
  std::vector<bool> without = {};  // excluded names; empty: none

  bool has(std::uint8_t table, std::uint32_t name) const {
    return tables[table] && (without.empty() || !without[name]);
  }
};

// The counted records of a row within a window.
class RowSource final : public intervals::IntervalSource {
 public:
  RowSource(const TrackRow& row, std::int64_t from, std::int64_t to, const Choice& choice)
      : row_(row), places_(row.within(from, to)), choice_(choice) {}

  intervals::Columns next() override {
    chosen_.clear();
    while (chosen_.size() == 0 && places_.first < places_.end) {
      row_.read(places_.first, std::min(places_.end, places_.first + intervals::chunk_size), part_);
      for (std::size_t i = 0; i < part_.size(); ++i) {
        if (choice_.has(part_.tables[i], part_.names[i]))
          chosen_.add(part_.times.begin[i], part_.times.end[i]);
      }
      places_.first += part_.size();
    }
    return chosen_.columns();
  }

 private:
  const TrackRow& row_;
  TrackRow::Places places_;
  const Choice& choice_;
  Part part_;
  intervals::Intervals chosen_;
};

// The time within a window during which a device has counted records open.
std::uint64_t busy_in(const Model& model, std::int64_t device, std::int64_t from, std::int64_t to,
                      const Choice& choice) {
  std::vector<std::unique_ptr<RowSource>> rows;
  std::vector<intervals::IntervalSource*> pointers;
  for (const Track& track : model.tracks) {
    if (track.kind != TrackKind::stream || track.device != device) continue;
    for (const auto& row : track.rows) {
      pointers.push_back(
          rows.emplace_back(std::make_unique<RowSource>(*row, from, to, choice)).get());
    }
  }
  intervals::Merged merged(pointers);
  intervals::Busy busy;
  for (auto chunk = merged.next(); !chunk.empty(); chunk = merged.next()) {
    for (std::size_t i = 0; i < chunk.size(); ++i) {
      busy.add(std::max(chunk.begin[i], from), std::min(chunk.end[i], to));
    }
  }
  return static_cast<std::uint64_t>(busy.ns());
}

// The device's name, and the number and time range of its records in a window.
Statistics::Device find_device(const Model& model, std::int64_t id, std::int64_t from,
                               std::int64_t to) {
  Statistics::Device device;
  device.device = id;
  device.work = {.from = to, .to = from};
  for (const Track& track : model.tracks) {
    if (track.kind != TrackKind::stream || track.device != id) continue;
    device.name = track.path.front();
    for (const auto& row : track.rows) {
      const TrackRow::Places places = row->within(from, to);
      if (places.first == places.end) continue;
      device.records += static_cast<std::int64_t>(places.end - places.first);
      device.work.from = std::min(device.work.from, std::max(row->begin(places.first), from));
      device.work.to = std::max(device.work.to, std::min(row->end(places.end - 1), to));
    }
  }
  return device;
}

// By name: whether it is a communication kernel; empty if none is.
std::vector<bool> communication_names(const Model& model) {
  std::vector<bool> all;
  for (const Name& name : model.names) all.push_back(communicates(name));
  return std::ranges::count(all, true) > 0 ? all : std::vector<bool>();
}

void add_device(const Model& model, std::int64_t id, std::int64_t from, std::int64_t to,
                const std::vector<bool>& communication, Statistics& statistics) {
  Statistics::Device device = find_device(model, id, from, to);
  if (device.records == 0) return;
  std::vector<bool> others = model.compute;
  others.flip();
  const Choice all{.tables = std::vector<bool>(others.size(), true)};
  device.busy = busy_in(model, id, from, to, all);
  device.compute = busy_in(model, id, from, to, {.tables = model.compute});
  device.copies = busy_in(model, id, from, to, {.tables = std::move(others)});
  device.both = device.compute + device.copies - device.busy;
  if (!communication.empty()) {
    const Choice rest{.tables = all.tables, .without = communication};
    device.exposed = device.busy - busy_in(model, id, from, to, rest);
  }
  statistics.devices.push_back(std::move(device));
}

// The stored statistics, completed with what needs no reading of records.
Statistics of_whole(const Model& model) {
  Statistics result;
  result.work = model.whole->work;
  for (const Statistics::Device& known : model.whole->devices) {
    Statistics::Device device = find_device(model, known.device, model.begin, model.end);
    if (device.records == 0) continue;
    device.busy = known.busy;
    device.compute = known.compute;
    device.copies = known.copies;
    device.both = known.both;
    device.exposed = known.exposed;
    result.devices.push_back(std::move(device));
  }
  return result;
}

}  // namespace

Tile make_tile(const Track& track, std::int64_t from, std::int64_t to, std::uint32_t width) {
  const Scale scale(from, to, width);
  Tile tile;
  for (const auto& row : track.rows) row->draw(scale, tile.rows.emplace_back());
  draw_counter(track.counter, scale, tile);
  return tile;
}

Statistics statistics(const Model& model, std::int64_t from, std::int64_t to) {
  if (model.whole && from <= model.begin && to >= model.end) return of_whole(model);
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
    for (const auto& row : track.rows) {
      row->visit(row->within(from, to), [&](const Part& part, std::size_t) {
        for (std::size_t i = 0; i < part.size(); ++i) {
          Statistics::Work& work = names[part.names[i]];
          const std::uint64_t time = intervals::length(std::max(part.times.begin[i], from),
                                                       std::min(part.times.end[i], to));
          ++work.count;
          work.time += time;
          work.longest = std::max(work.longest, time);
        }
      });
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
  const std::vector<bool> communication = communication_names(model);
  for (const std::int64_t device : devices) {
    add_device(model, device, from, to, communication, result);
  }
  return result;
}

namespace {

// The number of records by name. The run's statistics have it, if they are stored.
std::vector<std::int64_t> counts_by_name(const Model& model) {
  std::vector<std::int64_t> counts(model.names.size());
  if (model.whole) {
    for (const Statistics::Work& work : model.whole->work) counts[work.name] += work.count;
    return counts;
  }
  for (const Track& track : model.tracks) {
    for (const auto& row : track.rows) {
      row->visit({0, row->size()}, [&](const Part& part, std::size_t) {
        for (const std::uint32_t name : part.names) ++counts[name];
      });
    }
  }
  return counts;
}

// The matching names that have records, most first.
void count_found(const Model& model, const std::vector<bool>& matches, Found& found) {
  const std::vector<std::int64_t> counts = counts_by_name(model);
  for (std::uint32_t name = 0; name < counts.size(); ++name) {
    if (!matches[name] || counts[name] == 0) continue;
    found.count += counts[name];
    found.names.emplace_back(name, counts[name]);
  }
  std::ranges::stable_sort(found.names, std::greater{},
                           [](const auto& each) { return each.second; });
  if (found.names.size() > most_found_names) found.names.resize(most_found_names);
}

bool may_match(const Model& model, TrackKind kind, const std::vector<bool>& matches) {
  return !model.whole || std::ranges::any_of(model.whole->work, [&](const Statistics::Work& work) {
    return work.kind == kind && matches[work.name];
  });
}

// The first matching record that begins after that time.
std::optional<Place> find_next(const Model& model, const std::vector<bool>& matches,
                               std::int64_t after) {
  std::optional<Place> next;
  std::int64_t next_begin = INT64_MAX;
  Part part;
  for (std::size_t t = 0; t < model.tracks.size(); ++t) {
    if (!may_match(model, model.tracks[t].kind, matches)) continue;
    const auto& rows = model.tracks[t].rows;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const TrackRow& row = *rows[r];
      std::size_t place = row.within(after, INT64_MAX).first;
      bool found = false;
      for (; !found && place < row.size(); place += part.size()) {
        row.read(place, row.size(), part);
        for (std::size_t i = 0; i < part.size() && !found; ++i) {
          const std::int64_t begin = part.times.begin[i];
          found = begin >= next_begin;  // nothing earlier follows in this row
          if (found || begin <= after || !matches[part.names[i]]) continue;
          found = true;
          next_begin = begin;
          next = {static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(r),
                  static_cast<std::uint32_t>(place + i)};
        }
      }
    }
  }
  return next;
}

// The last matching record of a row that begins before that time.
std::optional<std::size_t> last_before(const TrackRow& row, const std::vector<bool>& matches,
                                       std::int64_t before) {
  constexpr std::size_t at_once = 4096;
  std::optional<std::size_t> last;
  for (std::size_t end = row.within(INT64_MIN, before).end; end > 0 && !last;) {
    const std::size_t first = end - std::min(end, at_once);
    row.visit({first, end}, [&](const Part& part, std::size_t at) {
      for (std::size_t i = 0; i < part.size(); ++i) {
        if (part.times.begin[i] < before && matches[part.names[i]]) last = at + i;
      }
    });
    end = first;
  }
  return last;
}

// The last matching record that begins before that time.
std::optional<Place> find_previous(const Model& model, const std::vector<bool>& matches,
                                   std::int64_t before) {
  std::optional<Place> previous;
  std::int64_t previous_begin = INT64_MIN;
  for (std::size_t t = 0; t < model.tracks.size(); ++t) {
    if (!may_match(model, model.tracks[t].kind, matches)) continue;
    const auto& rows = model.tracks[t].rows;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      const auto last = last_before(*rows[r], matches, before);
      if (!last || (previous && rows[r]->begin(*last) <= previous_begin)) continue;
      previous_begin = rows[r]->begin(*last);
      previous = {static_cast<std::uint32_t>(t), static_cast<std::uint32_t>(r),
                  static_cast<std::uint32_t>(*last)};
    }
  }
  return previous;
}

}  // namespace

Found search(const Model& model, const std::vector<bool>& matches, std::int64_t after, bool back) {
  Found found;
  count_found(model, matches, found);
  if (found.count == 0) return found;
  const auto find = back ? find_previous : find_next;
  found.next = find(model, matches, after);
  if (!found.next) {
    found.next = find(model, matches, back ? INT64_MAX : INT64_MIN);
    found.around = found.next.has_value();
  }
  return found;
}

Found search(const Model& model, std::string_view text, std::int64_t after) {
  return search(model, names_with(model.names, text), after);
}

std::optional<Item> item_at(const Model& model, const Place& place) {
  if (place.track >= model.tracks.size()) return std::nullopt;
  const auto& rows = model.tracks[place.track].rows;
  if (place.row >= rows.size() || place.item >= rows[place.row]->size()) return std::nullopt;
  return (*rows[place.row])[place.item];
}

}  // namespace gpuprof::view
