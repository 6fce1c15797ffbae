#include "libprof/store/nvtx_ranges.hpp"

#include <functional>
#include <tuple>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace gpuprof::store {
namespace {

// A range within the run.
struct RangeId {
  std::int64_t process = 0;
  std::int64_t id = 0;
  bool operator==(const RangeId&) const = default;
};

// Where push/pop ranges nest.
struct Place {
  std::int64_t process = 0;
  std::int64_t thread = 0;
  std::int64_t domain = 0;
  bool operator==(const Place&) const = default;
};

struct Hash {
  static std::size_t mix(std::size_t seed, std::int64_t value) {
    return (seed ^ static_cast<std::size_t>(value)) * 0x9e3779b97f4a7c15;
  }
  std::size_t operator()(const RangeId& r) const { return mix(mix(0, r.process), r.id); }
  std::size_t operator()(const Place& p) const {
    return mix(mix(mix(0, p.process), p.thread), p.domain);
  }
};

struct Marker {
  RangeId range;
  Place place;
  std::int64_t object_kind = 0;
  std::int64_t time = 0;
  std::int64_t name = 0;
};

constexpr std::int64_t start_flag = 2;
constexpr std::int64_t end_flag = 4;
constexpr std::int64_t thread_object = 2;

// Calls start(marker) and end(marker) for the ends of ranges, in order of time.
template <class Start, class End>
void for_each_end(Database& database, Start&& start, End&& end) {
  Statement markers = database.prepare(
      "SELECT processId, threadId, objectKind, flags, timestamp, id, name, domain "
      "FROM CUPTI_ACTIVITY_KIND_MARKER ORDER BY processId, timestamp, _id_");
  while (markers.step()) {
    const std::int64_t process = markers.integer(0);
    const std::int64_t flags = markers.integer(3);
    const Marker marker{{process, markers.integer(5)},
                        {process, markers.integer(1), markers.integer(7)},
                        markers.integer(2),
                        markers.integer(4),
                        markers.integer(6)};
    if (flags & start_flag) {
      start(marker);
    } else if (flags & end_flag) {
      end(marker);
    }
  }
}

using Ranges = std::unordered_set<RangeId, Hash>;

Ranges find_start_end_ranges(Database& database) {
  Ranges found;
  std::unordered_map<RangeId, Place, Hash> places;
  std::unordered_map<Place, std::vector<RangeId>, Hash> open;
  for_each_end(
      database,
      [&](const Marker& marker) {
        places[marker.range] = marker.place;
        if (marker.object_kind != thread_object) {
          found.insert(marker.range);
        } else {
          open[marker.place].push_back(marker.range);
        }
      },
      [&](const Marker& marker) {
        const auto place = places.find(marker.range);
        if (place == places.end()) return;
        auto& ranges = open[place->second];
        const std::int64_t thread = marker.place.thread;  // 0: not told
        const bool elsewhere = thread != 0 && thread != place->second.thread;
        for (std::size_t i = ranges.size(); i > 0; --i) {
          if (ranges[i - 1] != marker.range) continue;
          if (elsewhere) {
            found.insert(marker.range);
          } else if (i < ranges.size()) {
            found.insert(ranges.begin() + static_cast<std::ptrdiff_t>(i - 1), ranges.end());
          }
          ranges.erase(ranges.begin() + static_cast<std::ptrdiff_t>(i - 1));
          break;
        }
        places.erase(place);
      });
  return found;
}

// Binds payload, color and category of a range from parameter `first` on.
void bind_data(Statement& data, const RangeId& range, Statement& insert, int first) {
  data.reset();
  data.bind(1, range.id).bind(2, range.process);
  const bool there = data.step();
  for (int i = 0; i < 4; ++i) {
    if (!there || data.is_null(i)) {
      insert.bind_null(first + i);
    } else if (i == 1) {
      insert.bind(first + i, data.real(i));
    } else {
      insert.bind(first + i, data.integer(i));
    }
  }
}

}  // namespace

void compute_nvtx_ranges(Database& database) {
  if (!database.integer("SELECT 1 FROM CUPTI_ACTIVITY_KIND_MARKER LIMIT 1")) return;
  database.execute("DELETE FROM NVTX_RANGE");
  // A part of a file of gpuprof 0.1.0 has its columns.
  const bool stops = database.has_column("NVTX_RANGE", "stop");
  const std::string stop = stops ? "stop" : "end";
  // The data of a range is looked up by id.
  database.execute(
      "CREATE INDEX IF NOT EXISTS INDEX_CUPTI_ACTIVITY_KIND_MARKER_DATA ON "
      "CUPTI_ACTIVITY_KIND_MARKER_DATA(id)");
  const Ranges start_end = find_start_end_ranges(database);

  struct Started {
    std::int64_t row = 0;
    Place place;
  };
  std::unordered_map<RangeId, Started, Hash> started;
  std::unordered_map<Place, std::vector<std::int64_t>, Hash> open;  // rows, outermost first
  std::int64_t last_row = 0;

  Statement insert = database.prepare(
      "INSERT INTO NVTX_RANGE(_id_, processId, threadId, id, domain, name, start, " + stop +
      ", depth, parent, kind, payloadInt, payloadDouble, color, category) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL, ?8, ?9, ?10, ?11, ?12, ?13, ?14)");
  Statement close = database.prepare("UPDATE NVTX_RANGE SET " + stop + " = ?2 WHERE _id_ = ?1");
  // Bit 1 of flags: the color is an ARGB value; else there is none.
  Statement data = database.prepare(
      "SELECT payloadInt, payloadDouble, CASE WHEN flags & 2 THEN color END, category "
      "FROM CUPTI_ACTIVITY_KIND_MARKER_DATA "
      "WHERE id = ?1 AND processId = ?2 ORDER BY _id_ LIMIT 1");
  for_each_end(
      database,
      [&](const Marker& marker) {
        const bool push_pop = !start_end.contains(marker.range);
        auto& around = open[marker.place];
        insert.bind(1, ++last_row).bind(2, marker.place.process).bind(3, marker.place.thread);
        insert.bind(4, marker.range.id).bind(5, marker.place.domain).bind(6, marker.name);
        insert.bind(7, marker.time).bind_null(8).bind_null(9);
        if (push_pop) insert.bind(8, static_cast<std::int64_t>(around.size()));
        if (push_pop && !around.empty()) insert.bind(9, around.back());
        insert.bind(10, push_pop ? "push_pop" : "start_end");
        bind_data(data, marker.range, insert, 11);
        insert.run();
        if (push_pop) around.push_back(last_row);
        started[marker.range] = {last_row, marker.place};
      },
      [&](const Marker& marker) {
        const auto range = started.find(marker.range);
        if (range == started.end()) return;
        close.bind(1, range->second.row).bind(2, marker.time).run();
        std::erase(open[range->second.place], range->second.row);
        started.erase(range);
      });
}

}  // namespace gpuprof::store
