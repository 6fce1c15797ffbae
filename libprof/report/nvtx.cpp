#include "libprof/report/nvtx.hpp"

#include <algorithm>
#include <queue>
#include <tuple>

#include "libprof/base/saturating.hpp"
#include "libprof/read/blob.hpp"
#include "libprof/read/columns/reader.hpp"
#include "schema/derived.hpp"
#include "schema/nvtx.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {
namespace {

struct Marker {
  std::int64_t process = 0, id = 0, time = 0;
  std::int64_t thread = 0, domain = 0, name = 0;
  bool is_end = false;
  bool wanted = true;  // in the time window
};

// Maps string ids to text numbers, since a file may contain a text twice.
class Texts {
 public:
  explicit Texts(Names& names) : names_(names) {}

  std::uint32_t number(std::int64_t string_id) {
    const auto [place, is_new] = numbers_.try_emplace(string_id);
    if (is_new) place->second = number_of(names_.text(string_id));
    return place->second;
  }
  // The name of a range or mark; nvprof's placeholder if it has none.
  std::uint32_t name(std::int64_t string_id) {
    return string_id == 0 ? number_of("<unnamed>") : number(string_id);
  }
  const std::string& text(std::uint32_t number) const { return *texts_[number]; }

 private:
  std::uint32_t number_of(std::string text) {
    const auto [place, is_new] =
        numbers_of_texts_.try_emplace(std::move(text), static_cast<std::uint32_t>(texts_.size()));
    if (is_new) texts_.push_back(&place->first);
    return place->second;
  }

  Names& names_;
  std::unordered_map<std::int64_t, std::uint32_t> numbers_;
  std::map<std::string, std::uint32_t> numbers_of_texts_;
  std::vector<const std::string*> texts_;
};

// Both ends of all ranges, grouped by id and in time order.
std::vector<Marker> read_markers(Session& session, bool has_processes, std::int64_t& invalid,
                                 bool& any_mark) {
  constexpr std::int64_t mark_flag = 1, start_flag = 2, end_flag = 4;
  std::vector<Marker> markers;
  session.output().progress("reading CUPTI_ACTIVITY_KIND_MARKER");
  const std::string wanted = session.filter("MARKER");
  auto rows = session.select("MARKER", {"flags", "timestamp", "id", "objectId", "name", "domain",
                                        "processId", "(" + wanted + ")"});
  while (rows.step()) {
    const std::int64_t flags = rows.integer(0);
    any_mark |= (flags & mark_flag) && rows.integer(7) != 0;
    if (!(flags & (start_flag | end_flag))) continue;
    const auto object = reading::object_id(rows.blob(3));
    if (!object) {
      session.skip("CUPTI_ACTIVITY_KIND_MARKER with an objectId that is not of 12 bytes");
      continue;
    }
    if (rows.integer(1) <= 0) {
      ++invalid;
      continue;
    }
    markers.push_back({.process = has_processes ? rows.integer(6) : 0,
                       .id = rows.integer(2),
                       .time = rows.integer(1),
                       .thread = (*object)[1],
                       .domain = rows.integer(5),
                       .name = rows.integer(4),
                       .is_end = !(flags & start_flag),
                       .wanted = rows.integer(7) != 0});
  }
  std::ranges::sort(markers, {},
                    [](const Marker& m) { return std::tuple(m.process, m.id, m.time, m.is_end); });
  return markers;
}

}  // namespace

NvtxRanges::NvtxRanges(Session& session)
    : has_processes_(session.has_column("MARKER", "processId")) {
  const std::vector<Marker> markers = read_markers(session, has_processes_, invalid_, any_mark_);
  const bool keep = session.options().statistics;
  Texts texts(session.names());
  // Place, domain, name.
  using Key = std::tuple<std::uint32_t, std::optional<std::uint32_t>, std::uint32_t>;
  std::map<Key, std::uint32_t> group_numbers;

  const auto add = [&](const Marker& start, std::int64_t end) {
    const std::uint32_t place = add_place({start.process, start.thread});
    std::optional<std::uint32_t> domain;
    if (start.domain != 0) domain = texts.number(start.domain);
    const std::uint32_t name = texts.name(start.name);
    const auto [group, new_group] = group_numbers.try_emplace(
        {place, domain, name}, static_cast<std::uint32_t>(groups_.size()));
    if (new_group) {
      NvtxGroup& made = groups_.emplace_back();
      made.process = start.process;
      made.thread = start.thread;
      if (domain) made.domain = texts.text(*domain);
      made.name = texts.text(name);
    }
    Total& total = groups_[group->second].total;
    total.add(saturating_subtract(end, start.time));
    if (keep) total.durations.push_back(saturating_subtract(end, start.time));
    ranges_.push_back({start.time, end, start.id, group->second, place});
  };
  const Marker* open = nullptr;
  for (const Marker& marker : markers) {
    const bool same = open && open->process == marker.process && open->id == marker.id;
    if (marker.is_end && same) {
      if (open->wanted) add(*open, marker.time);
      open = nullptr;
      continue;
    }
    if (open) invalid_ += open->wanted;
    open = marker.is_end ? nullptr : &marker;
    invalid_ += marker.is_end && marker.wanted;
  }
  if (open) invalid_ += open->wanted;

  std::ranges::sort(ranges_, {}, [&](const Range& range) {
    return std::tuple(places_[range.place].first, range.start);
  });
}

bool NvtxRanges::several_processes() const {
  return std::ranges::any_of(
      groups_, [&](const NvtxGroup& group) { return group.process != groups_.front().process; });
}

std::optional<std::uint32_t> NvtxRanges::group_of(std::int64_t process, std::int64_t id,
                                                  std::int64_t start) const {
  const auto moment = [&](const Range& range) {
    return std::pair(places_[range.place].first, range.start);
  };
  const auto found = std::ranges::equal_range(ranges_, std::pair(process, start), {}, moment);
  const auto range = std::ranges::find(found, id, &Range::id);
  return range == found.end() ? std::nullopt : std::optional(range->group);
}

std::uint32_t NvtxRanges::add_place(const Thread& thread) {
  const auto [place, is_new] =
      place_numbers_.try_emplace(thread, static_cast<std::uint32_t>(places_.size()));
  if (is_new) places_.push_back(thread);
  return place->second;
}

std::optional<std::uint32_t> NvtxRanges::process_place(std::uint32_t place) const {
  const auto found = place_numbers_.find({places_[place].first, 0});
  if (found == place_numbers_.end() || found->second == place) return std::nullopt;
  return found->second;
}

std::optional<std::uint32_t> NvtxRanges::place(std::int64_t process, std::int64_t thread) {
  // Old files may have a signed thread id.
  const Thread key{has_processes_ ? process : 0, thread & 0xffffffff};
  const auto found = place_numbers_.find(key);
  if (found != place_numbers_.end()) return found->second;
  if (place_numbers_.contains({key.first, 0})) return add_place(key);
  return std::nullopt;
}

void NvtxRanges::visit(std::vector<NvtxCall>& calls, const Visit& visit) const {
  using Time = std::pair<std::int64_t, std::int64_t>;  // process, time
  const auto begin = [&](const auto& of) { return Time(places_[of.place].first, of.start); };
  // Calls from several tables, each nearly sorted.
  std::ranges::stable_sort(calls, {}, [&](const NvtxCall& call) { return begin(call); });

  // A group is active while one of its ranges is open.
  struct Activity {
    std::uint32_t open = 0;
    std::size_t position = 0;
  };
  std::vector<Activity> activities(groups_.size());
  std::vector<std::vector<std::uint32_t>> active(places_.size());
  const auto open = [&](const Range& range) {
    Activity& activity = activities[range.group];
    if (activity.open++ > 0) return;
    activity.position = active[range.place].size();
    active[range.place].push_back(range.group);
  };
  const auto close = [&](const Range& range) {
    Activity& activity = activities[range.group];
    if (--activity.open > 0) return;
    auto& groups = active[range.place];
    activities[groups.back()].position = activity.position;
    groups[activity.position] = groups.back();
    groups.pop_back();
  };

  using End = std::pair<Time, const Range*>;
  std::priority_queue<End, std::vector<End>, std::greater<>> ends;
  auto next = ranges_.begin();
  for (const NvtxCall& call : calls) {
    const Time now = begin(call);
    for (; next != ranges_.end() && begin(*next) <= now; ++next) {
      open(*next);
      ends.emplace(Time(places_[next->place].first, next->end), &*next);
    }
    for (; !ends.empty() && ends.top().first < now; ends.pop()) close(*ends.top().second);
    const auto process = process_place(call.place);
    const Groups of_process = process ? Groups(active[*process]) : Groups();
    const Groups of_thread = active[call.place];
    if (!of_thread.empty() || !of_process.empty()) visit(call, of_thread, of_process);
  }
}

namespace {

// Kernels launched by kernels have no correlation id and belong to the call that launched the
// outermost one. They are found by grid.
class Grids {
 public:
  explicit Grids(Session& session) {
    if (!session.has_rows("CDP_KERNEL")) return;
    for (const std::string_view kind : {"KERNEL", "CONCURRENT_KERNEL"}) {
      auto rows = session.select(kind, {"gridId", "correlationId"});
      while (rows.step()) first_[rows.integer(0)] = rows.integer(1);
    }
    auto rows = session.select("CDP_KERNEL", {"gridId", "parentGridId"});
    while (rows.step()) parents_[rows.integer(0)] = rows.integer(1);
  }

  // 0 if there is none. In a damaged file the path up may be a cycle.
  std::int64_t correlation(std::int64_t grid) const {
    for (std::size_t steps = 0; steps <= parents_.size(); ++steps) {
      const auto first = first_.find(grid);
      if (first != first_.end()) return first->second;
      const auto parent = parents_.find(grid);
      if (parent == parents_.end()) return 0;
      grid = parent->second;
    }
    return 0;
  }

 private:
  std::unordered_map<std::int64_t, std::int64_t> first_, parents_;
};

}  // namespace

namespace {

// Calls visit(chunk, row) for rows of the kind with valid times that pass the filter, in table
// order. `columns` must begin with start and end.
void read_timed(Session& session, std::string_view kind, std::vector<std::string> columns,
                bool empty_ones_count, const auto& visit) {
  const auto wanted = session.wanted_rows(kind);
  if (!session.has(kind) || !wanted) return;
  session.output().progress("reading " + table_name(kind));
  columns::Reader reader(
      session.snapshot(),
      {.table = table_name(kind), .columns = std::move(columns), .filter = *wanted});
  reader.read([&](const columns::Chunk& chunk) {
    const auto start = chunk[0].int64s(), end = chunk[1].int64s();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const bool empty = end[row] == start[row];
      if (start[row] > 0 && (empty ? empty_ones_count : end[row] > start[row])) visit(chunk, row);
    }
  });
}

}  // namespace

std::vector<GpuOperation> read_gpu_work(
    Session& session,
    const std::function<std::uint32_t(const schema::GpuKind& kind, std::int64_t id)>& what) {
  std::vector<GpuOperation> work;
  const Grids grids(session);
  for (const schema::GpuKind& each : schema::gpu_kinds) {
    const bool nested = each.kind == "CDP_KERNEL";
    std::vector<std::string> columns{"start", std::string(each.end),
                                     nested ? "gridId" : "correlationId"};
    if (!each.named_by.empty()) columns.emplace_back(each.named_by);
    read_timed(session, each.kind, columns, false,
               [&](const columns::Chunk& chunk, std::size_t row) {
                 const std::int64_t id = columns::whole(chunk[2], row);
                 const std::int64_t named = columns.size() > 3 ? columns::whole(chunk[3], row) : 0;
                 work.push_back({.correlation = nested ? grids.correlation(id) : id,
                                 .duration = chunk[1].int64s()[row] - chunk[0].int64s()[row],
                                 .what = what(each, named),
                                 .from_device = nested});
               });
  }
  if (!std::ranges::is_sorted(work, {}, &GpuOperation::correlation)) {
    std::ranges::stable_sort(work, {}, &GpuOperation::correlation);
  }
  return work;
}

std::vector<NvtxCall> read_launches(
    Session& session, NvtxRanges& ranges, const std::vector<GpuOperation>& work,
    const std::function<std::uint32_t(ApiDomain, std::int64_t)>& what,
    std::vector<NvtxCall>& elsewhere) {
  std::vector<NvtxCall> launches;
  // The first operation of a call is usually near that of the previous call.
  auto first = work.begin();
  const auto find = [&](std::int64_t id) {
    constexpr int near = 8;
    if (first == work.end() || first->correlation > id) first = work.begin();
    for (int i = 0; i < near && first != work.end() && first->correlation < id; ++i) ++first;
    if (first != work.end() && first->correlation < id) {
      first = std::ranges::lower_bound(first, work.end(), id, {}, &GpuOperation::correlation);
    }
    return first != work.end() && first->correlation == id;
  };
  const auto read = [&](std::string_view kind, ApiDomain domain) {
    read_timed(session, kind, {"start", "end", "correlationId", "processId", "threadId", "cbid"},
               true, [&](const columns::Chunk& chunk, std::size_t row) {
                 const auto value = [&](std::size_t i) { return columns::whole(chunk[i], row); };
                 if (!find(value(2))) return;
                 const auto number = static_cast<std::uint32_t>(first - work.begin());
                 const auto place = ranges.place(value(3), value(4));
                 (place ? launches : elsewhere)
                     .push_back({.start = value(0),
                                 .duration = value(1) - value(0),
                                 .place = place.value_or(0),
                                 .what = what(domain, value(5)),
                                 .work = number});
               });
  };
  for (const schema::ApiKind& calls : schema::api_kinds) {
    if (calls.nvprofs) read(calls.kind, reading::domain_of(calls));
  }
  return launches;
}

std::span<GpuOperation> launched_by(std::uint32_t first, std::vector<GpuOperation>& work) {
  const std::int64_t id = work[first].correlation;
  std::size_t end = first;
  while (end < work.size() && work[end].correlation == id) ++end;
  return std::span(work).subspan(first, end - first);
}

RangesByTime::RangesByTime(Session& session) {
  store::Database& database = session.database();
  for (const schema::Table* table : {&schema::tables::launch_range, &schema::tables::nvtx_range}) {
    for (const schema::Column& column : table->columns) {
      if (!database.has_column(std::string(table->name), column.name)) return;
    }
  }
  launches_ = database.prepare(
      "SELECT range FROM main.LAUNCH_RANGE WHERE correlationId = ?1 AND NOT byThread");
  ranges_ =
      database.prepare("SELECT processId, id, start, parent FROM main.NVTX_RANGE WHERE _id_ = ?1");
}

const std::vector<std::uint32_t>& RangesByTime::groups(std::int64_t correlation,
                                                       const NvtxRanges& ranges) {
  static const std::vector<std::uint32_t> none;
  if (!launches_.handle()) return none;
  launches_.reset();
  if (!launches_.bind(1, correlation).step()) return none;
  const std::int64_t range = launches_.integer(0);
  const auto [known, is_new] = groups_.try_emplace(range);
  if (is_new) known->second = find(range, ranges);
  return known->second;
}

std::vector<std::uint32_t> RangesByTime::find(std::int64_t range, const NvtxRanges& all) {
  constexpr int most_levels = 1000;
  std::vector<std::uint32_t> groups;
  for (int level = 0; range != 0 && level < most_levels; ++level) {
    ranges_.reset();
    if (!ranges_.bind(1, range).step()) break;
    const auto group = all.group_of(ranges_.integer(0), ranges_.integer(1), ranges_.integer(2));
    if (group && std::ranges::find(groups, *group) == groups.end()) groups.push_back(*group);
    range = ranges_.integer(3);
  }
  return groups;
}

}  // namespace gpuprof::report
