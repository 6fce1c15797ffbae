#include "libprof/store/nvtx_ranges.hpp"

#include <map>
#include <optional>
#include <set>
#include <unordered_map>
#include <vector>

#include "libprof/wire/limits.hpp"
#include "schema/nvtx.hpp"

namespace gpuprof::store {
namespace {

// Where push/pop ranges of a process nest.
struct Place {
  std::int64_t thread = 0;
  std::int64_t domain = 0;
  auto operator<=>(const Place&) const = default;
};

struct Marker {
  std::int64_t process = 0;
  std::int64_t id = 0;
  Place place;
  std::int64_t object_kind = 0;
  std::int64_t time = 0;
  std::int64_t name = 0;
};

constexpr std::int64_t start_flag = 2;
constexpr std::int64_t end_flag = 4;
constexpr std::int64_t thread_object = 2;

// Calls start(marker) and end(marker) for the ends of ranges, per process in time order.
template <class Start, class End>
void for_each_end(Database& database, Start&& start, End&& end) {
  Statement markers = database.prepare(
      "SELECT processId, threadId, objectKind, flags, timestamp, id, name, domain "
      "FROM CUPTI_ACTIVITY_KIND_MARKER ORDER BY processId, timestamp, _id_");
  while (markers.step()) {
    const std::int64_t flags = markers.integer(3);
    const Marker marker{
        markers.integer(0), markers.integer(5), {markers.integer(1), markers.integer(7)},
        markers.integer(2), markers.integer(4), markers.integer(6)};
    if (flags & start_flag) {
      start(marker);
    } else if (flags & end_flag) {
      end(marker);
    }
  }
}

// The ranges open at a given moment, each with its number: ranges are numbered from 0 in start
// order, over the whole file.
//
// Memory is proportional to the ranges open at once. Beyond wire::max_open_ranges the one opened
// first is forgotten.
class OpenRanges {
 public:
  struct Range {
    std::uint64_t number;
    Place place;
  };

  struct Started {
    std::uint64_t number;
    std::optional<Range> forgotten;  // to make room for it
  };

  Started start(const Marker& marker) {
    if (marker.process != process_) {
      process_ = marker.process;
      by_id_.clear();
      open_.clear();
    }
    // If an id is reused while its range is open, the earlier range never closes.
    const Range range{started_++, marker.place};
    by_id_.insert_or_assign(marker.id, range);
    open_.emplace_hint(open_.end(), range.number, Open{marker.id, marker.place});
    Started started{range.number, std::nullopt};
    if (open_.size() > wire::max_open_ranges) {
      const auto& [number, oldest] = *open_.begin();
      started.forgotten = Range{number, oldest.place};
      const auto known = by_id_.find(oldest.id);
      if (known != by_id_.end() && known->second.number == number) by_id_.erase(known);
      open_.erase(open_.begin());
      ++forgotten_;
    }
    return started;
  }
  // The range that closes, or nullopt if none is open.
  std::optional<Range> end(const Marker& marker) {
    const auto found = by_id_.find(marker.id);
    if (marker.process != process_ || found == by_id_.end()) return std::nullopt;
    const Range range = found->second;
    open_.erase(range.number);
    by_id_.erase(found);
    return range;
  }
  std::uint64_t forgotten() const { return forgotten_; }

 private:
  struct Open {
    std::int64_t id;
    Place place;
  };

  std::int64_t process_ = 0;
  std::unordered_map<std::int64_t, Range> by_id_;
  std::map<std::uint64_t, Open> open_;  // by number
  std::uint64_t started_ = 0;
  std::uint64_t forgotten_ = 0;
};

// Whether each range, by number, is start_end.
//
// A range crosses those that opened after it in its place and are still open when it closes. Each
// is marked once and then skipped, so n ranges cost n log n regardless of the order in which they
// close.
std::vector<bool> find_start_end_ranges(Database& database) {
  struct Thread {
    std::set<std::uint64_t> open;
    std::set<std::uint64_t> nested;  // those of `open` that have crossed none so far
  };
  std::vector<bool> start_end;
  OpenRanges ranges;
  std::map<Place, Thread> threads;
  std::int64_t process = 0;
  for_each_end(
      database,
      [&](const Marker& marker) {
        if (marker.process != process) threads.clear();
        process = marker.process;
        const auto [number, forgotten] = ranges.start(marker);
        if (forgotten) {
          Thread& thread = threads[forgotten->place];
          thread.open.erase(forgotten->number);
          thread.nested.erase(forgotten->number);
        }
        const bool of_thread = marker.object_kind == thread_object;
        start_end.push_back(!of_thread);
        if (!of_thread) return;
        Thread& thread = threads[marker.place];
        thread.open.insert(thread.open.end(), number);
        thread.nested.insert(thread.nested.end(), number);
      },
      [&](const Marker& marker) {
        const auto range = ranges.end(marker);
        if (!range) return;
        const auto found = threads.find(range->place);
        if (found == threads.end() || found->second.open.erase(range->number) == 0) return;
        auto& [open, nested] = found->second;
        const std::int64_t other = marker.place.thread;  // 0: unknown
        const bool elsewhere = other != 0 && other != range->place.thread;
        if (!elsewhere && !open.empty() && *open.rbegin() > range->number) {
          const auto first = nested.upper_bound(range->number);
          for (auto each = first; each != nested.end(); ++each) start_end[*each] = true;
          nested.erase(first, nested.end());
          start_end[range->number] = true;
        }
        if (elsewhere) start_end[range->number] = true;
        nested.erase(range->number);
        if (open.empty()) threads.erase(found);
      });
  return start_end;
}

// Binds a range's payload, color and category, starting at parameter `first`.
void bind_data(Statement& data, const Marker& range, Statement& insert, int first) {
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

std::uint64_t compute_nvtx_ranges(Database& database) {
  if (!database.integer("SELECT 1 FROM CUPTI_ACTIVITY_KIND_MARKER LIMIT 1")) return 0;
  database.execute("DELETE FROM NVTX_RANGE");
  // An excerpt of a file from gpuprof 0.1.0 has that version's columns.
  const bool stops = database.has_column("NVTX_RANGE", "stop");
  const std::string stop = stops ? "stop" : "end";
  // The data of a range is looked up by id.
  database.execute(std::string(schema::range_index));
  const std::vector<bool> start_end = find_start_end_ranges(database);

  OpenRanges ranges;
  std::map<Place, std::set<std::int64_t>> open;  // rows of push/pop ranges, outermost first
  std::int64_t process = 0;

  Statement insert = database.prepare(
      "INSERT INTO NVTX_RANGE(_id_, processId, threadId, id, domain, name, start, " + stop +
      ", depth, parent, kind, payloadInt, payloadDouble, color, category) "
      "VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, NULL, ?8, ?9, ?10, ?11, ?12, ?13, ?14)");
  Statement close = database.prepare("UPDATE NVTX_RANGE SET " + stop + " = ?2 WHERE _id_ = ?1");
  // Bit 1 of flags: the color is an ARGB value; otherwise there is none.
  Statement data = database.prepare(
      "SELECT payloadInt, payloadDouble, CASE WHEN flags & 2 THEN color END, category "
      "FROM CUPTI_ACTIVITY_KIND_MARKER_DATA "
      "WHERE id = ?1 AND processId = ?2 ORDER BY _id_ LIMIT 1");
  const auto row_of = [](std::uint64_t number) { return static_cast<std::int64_t>(number) + 1; };
  for_each_end(
      database,
      [&](const Marker& marker) {
        if (marker.process != process) open.clear();
        process = marker.process;
        const auto [number, forgotten] = ranges.start(marker);
        if (forgotten) open[forgotten->place].erase(row_of(forgotten->number));
        const std::int64_t row = row_of(number);
        insert.bind(1, row).bind(2, marker.process).bind(3, marker.place.thread);
        insert.bind(4, marker.id).bind(5, marker.place.domain).bind(6, marker.name);
        insert.bind(7, marker.time).bind_null(8).bind_null(9);
        if (!start_end[number]) {
          auto& around = open[marker.place];
          insert.bind(8, static_cast<std::int64_t>(around.size()));
          if (!around.empty()) insert.bind(9, *around.rbegin());
          around.insert(around.end(), row);
        }
        insert.bind(10, start_end[number] ? "start_end" : "push_pop");
        bind_data(data, marker, insert, 11);
        insert.run();
      },
      [&](const Marker& marker) {
        const auto range = ranges.end(marker);
        if (!range) return;
        close.bind(1, row_of(range->number)).bind(2, marker.time).run();
        const auto around = open.find(range->place);
        if (around == open.end()) return;
        around->second.erase(row_of(range->number));
        if (around->second.empty()) open.erase(around);
      });
  return ranges.forgotten();
}

}  // namespace gpuprof::store
