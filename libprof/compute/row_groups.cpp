#include "libprof/compute/row_groups.hpp"

#include <algorithm>
#include <iterator>
#include <set>
#include <span>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/compute/call_times.hpp"
#include "libprof/compute/fill.hpp"
#include "libprof/compute/host_calls.hpp"
#include "libprof/store/database_schema.hpp"
#include "schema/derived.hpp"
#include "schema/traits.hpp"

namespace gpuprof::compute {
namespace {

using columns::RowIds;

// Ranges of ids, in order; after merge() they do not overlap.
class IdRanges {
 public:
  void add(const RowIds& range) { all_.push_back(range); }
  void merge() {
    std::ranges::sort(all_, {}, &RowIds::first);
    std::size_t count = 0;
    for (const RowIds& each : all_) {
      if (count > 0 && each.first <= saturating_add(all_[count - 1].last, 1)) {
        all_[count - 1].last = std::max(all_[count - 1].last, each.last);
      } else {
        all_[count++] = each;
      }
    }
    all_.resize(count);
  }
  bool overlap(const RowIds& range) const {
    const auto its = std::ranges::lower_bound(all_, range.first, {}, &RowIds::last);
    return its != all_.end() && its->first <= range.last;
  }
  std::vector<RowIds>& all() { return all_; }

 private:
  std::vector<RowIds> all_;
};

// Empty: there are none, or too many.
std::vector<RowGroup> read_row_groups(store::Database& database) {
  constexpr const schema::Table& table = schema::tables::row_group;
  for (const schema::Column& column : table.columns) {
    if (!database.has_column(table.name, column.name)) return {};
  }
  const auto range = [](const store::Statement& row, int column) -> std::optional<RowIds> {
    if (row.is_null(column) || row.is_null(column + 1)) return std::nullopt;
    return RowIds{row.integer(column), row.integer(column + 1)};
  };
  std::vector<RowGroup> groups;
  auto row = database.prepare(
      "SELECT name, first, last, deviceId, processId, start, stop, firstCorrelation, "
      "lastCorrelation FROM main.ROW_GROUP");
  while (row.step()) {
    if (groups.size() == RowGroups::most) return {};
    groups.push_back({.table = std::string(row.text(0)),
                      .rows = {row.integer(1), row.integer(2)},
                      .device = row.is_null(3) ? std::nullopt : std::optional(row.integer(3)),
                      .process = row.integer(4),
                      .times = range(row, 5),
                      .correlations = range(row, 7)});
  }
  return groups;
}

// Those of the file.
std::vector<std::string> tables_with_groups(store::Database& database) {
  std::vector<std::string> tables;
  for (const schema::GpuKind& kind : schema::gpu_kinds) {
    if (!kind.stays_empty) tables.push_back("CUPTI_ACTIVITY_KIND_" + std::string(kind.kind));
  }
  for (const auto& [domain, table] : CallTimes::sources) {
    if (domain != CallTimes::internal) tables.emplace_back(table);
  }
  std::erase_if(tables, [&](const std::string& table) { return !database.has_table(table); });
  return tables;
}

// Whether no rows were added to the tables, or taken from their ends, since.
bool cover_all_rows(store::Database& database, const std::vector<RowGroup>& groups) {
  return std::ranges::all_of(tables_with_groups(database), [&](const std::string& table) {
    const auto first = database.integer("SELECT min(_id_) FROM main." + table);
    if (!first) return true;
    const auto last = database.integer("SELECT max(_id_) FROM main." + table);
    std::optional<RowIds> grouped;
    for (const RowGroup& group : groups) {
      if (group.table != table) continue;
      if (!grouped) grouped = group.rows;
      grouped->first = std::min(grouped->first, group.rows.first);
      grouped->last = std::max(grouped->last, group.rows.last);
    }
    return grouped && grouped->first == first && grouped->last == last;
  });
}

// When the groups of work of each device begin, in order.
using Beginnings = std::map<std::int64_t, std::vector<std::int64_t>>;
Beginnings beginnings_of(const std::vector<RowGroup>& groups) {
  Beginnings devices;
  for (const RowGroup& group : groups) {
    if (group.device && group.times) devices[*group.device].push_back(group.times->first);
  }
  for (auto& [device, begins] : devices) std::ranges::sort(begins);
  return devices;
}

using DevicesAndTimes = std::set<std::pair<std::int64_t, std::int64_t>>;

// Work that begins then.
void mark_beginning(std::vector<RowGroup>& groups, const DevicesAndTimes& wanted) {
  for (RowGroup& group : groups) {
    if (!group.device || !group.times) continue;
    group.needed |= wanted.contains({*group.device, group.times->first});
  }
}

// Work or calls that run in one of the periods, which are in order and apart.
void mark_running(std::vector<RowGroup>& groups, bool calls, std::span<const TimeSpan> periods) {
  for (RowGroup& group : groups) {
    if (group.device.has_value() == calls || !group.times) continue;
    const auto period = std::ranges::partition_point(
        periods, [&](const TimeSpan& each) { return each.begin <= group.times->last; });
    group.needed |= period != periods.begin() && group.times->first < std::prev(period)->end;
  }
}

// The calls that needed work may be of, or the work that needed calls may be.
void mark_joined(std::vector<RowGroup>& groups, bool calls) {
  IdRanges ids;
  for (const RowGroup& group : groups) {
    if (group.needed && group.device.has_value() == calls && group.correlations) {
      ids.add(*group.correlations);
    }
  }
  ids.merge();
  for (RowGroup& group : groups) {
    if (group.device.has_value() == calls || !group.correlations) continue;
    group.needed |= ids.overlap(*group.correlations);
  }
}

}  // namespace

// The stretches of a small table must be short too: what calls and work of other tables they may be
// joined with is read.
RowGroups::RowGroups(store::Database& database, const Options& options) : options_(options) {
  constexpr std::int64_t most_stretches = 1024, least_ids = 256, most_ids = 16384;
  for (std::string& table : tables_with_groups(database)) {
    const auto last = database.integer("SELECT max(_id_) FROM main." + table).value_or(0);
    const std::int64_t ids = std::clamp(last / most_stretches, least_ids, most_ids);
    stretches_[std::move(table)] = options.ids_per_stretch > 0 ? options.ids_per_stretch : ids;
  }
}

RowGroups::Group* RowGroups::find(std::optional<std::int64_t> device, std::int64_t process) {
  for (std::size_t i = open_; i < groups_.size(); ++i) {
    if (groups_[i].device == device && groups_[i].process == process) return &groups_[i];
  }
  too_many_ = groups_.size() - open_ == most_owners || groups_.size() == most;
  if (too_many_) return nullptr;
  return &groups_.emplace_back(Group{.table = table_, .device = device, .process = process});
}

void RowGroups::end_stretch() {
  for (; open_ < groups_.size(); ++open_) {
    groups_[open_].first = first_;
    groups_[open_].last = last_;
  }
}

void RowGroups::add(const Rows& rows) {
  if (too_many_) return;
  if (rows.table != table_) {
    end_stretch();
    table_ = rows.table;
    ids_per_stretch_ = stretches_[table_];
  }
  const auto id = rows.id.int64s(), start = rows.start.int64s(), end = rows.end.int64s(),
             process = rows.process.int64s(), correlation = rows.correlation.int64s();
  rows_ += static_cast<std::int64_t>(id.size());
  Group* group = nullptr;
  for (std::size_t i = 0; i < id.size(); ++i) {
    if (open_ == groups_.size() || !is_in_stretch(id[i])) {
      end_stretch();
      first_ = id[i];
      group = nullptr;
    }
    last_ = id[i];
    const auto device = rows.device ? std::optional(rows.device->int64s()[i]) : std::nullopt;
    if (!group || group->device != device || group->process != process[i]) {
      group = find(device, process[i]);
      if (!group) return;
    }
    if (start[i] > 0 && end[i] > start[i]) {
      group->start = std::min(group->start, start[i]);
      group->stop = std::max(group->stop, end[i]);
    }
    if (correlation[i] == 0) continue;
    group->first_correlation = std::min(group->first_correlation, correlation[i]);
    group->last_correlation = std::max(group->last_correlation, correlation[i]);
  }
}

void RowGroups::write(store::Database& database) {
  constexpr const schema::Table& table = schema::tables::row_group;
  end_stretch();
  const bool wanted = are_wanted();
  if (!wanted && !database.has_table(table.name)) return;
  store::add_table(database, table);
  store::Statement insert = fill(database, table);
  if (!wanted) return;
  const auto bind_range = [&](int at, std::int64_t first, std::int64_t last) {
    if (first > last) {
      insert.bind_null(at).bind_null(at + 1);
    } else {
      insert.bind(at, first).bind(at + 1, last);
    }
  };
  for (const Group& group : groups_) {
    insert.bind(1, group.table).bind(2, group.first).bind(3, group.last);
    group.device ? insert.bind(4, *group.device) : insert.bind_null(4);
    insert.bind(5, group.process);
    bind_range(6, group.start, group.stop);
    bind_range(8, group.first_correlation, group.last_correlation);
    insert.run();
  }
}

std::optional<std::vector<RowIds>> NeededRows::of(std::string_view table) const {
  const auto its = tables.find(table);
  return its == tables.end() ? std::nullopt : std::optional(its->second);
}

std::optional<StoredRowGroups> StoredRowGroups::read(store::Database& database) {
  std::vector<RowGroup> groups = read_row_groups(database);
  if (groups.empty() || !cover_all_rows(database, groups)) return std::nullopt;
  return StoredRowGroups(std::move(groups));
}

NeededRows StoredRowGroups::needed(std::vector<TimeSpan> periods) const {
  std::vector<RowGroup> groups = groups_;
  constexpr bool work = false, calls = true;
  unite(periods);
  mark_running(groups, work, periods);
  std::vector<TimeSpan> of_calls = periods;  // until the work after each period begins
  DevicesAndTimes first, after;
  for (const auto& [device, begins] : beginnings_of(groups)) {
    first.emplace(device, begins.front());
    for (std::size_t i = 0; i < periods.size(); ++i) {
      const auto next = std::ranges::lower_bound(begins, periods[i].end);
      if (next == begins.end()) continue;
      after.emplace(device, *next);
      of_calls[i].end = std::max(of_calls[i].end, *next);
    }
  }
  for (TimeSpan& period : of_calls) {
    period.begin = saturating_subtract(period.begin, close_launches + 1);
    period.end = saturating_add(period.end, close_launches + 1);
  }
  unite(of_calls);
  mark_beginning(groups, after);
  mark_joined(groups, calls);
  mark_running(groups, calls, of_calls);
  mark_joined(groups, work);
  mark_beginning(groups, first);
  std::map<std::string, IdRanges, std::less<>> tables;
  std::set<std::int64_t> processes;
  for (const RowGroup& group : groups) {
    IdRanges& rows = tables[group.table];
    if (group.needed) rows.add(group.rows);
    if (!group.device && group.times) processes.insert(group.process);
  }
  NeededRows needed;
  needed.processes.assign(processes.begin(), processes.end());
  for (auto& [table, rows] : tables) {
    rows.merge();
    needed.tables.emplace(table, std::move(rows.all()));
  }
  return needed;
}

}  // namespace gpuprof::compute
