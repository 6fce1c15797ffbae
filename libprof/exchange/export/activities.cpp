#include "libprof/exchange/export/activities.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>
#include <utility>

#include "libprof/base/text.hpp"
#include "libprof/compute/gpu_work.hpp"
#include "libprof/read/columns/ordered_rows.hpp"
#include "libprof/read/merge.hpp"
#include "schema/traits.hpp"

namespace gpuprof::exporting {
namespace {

// What is looked up for many rows.
class Lookups {
 public:
  Lookups(reading::Profile& profile, Texts& texts, std::size_t most_bytes)
      : most_waiting(most_bytes), all_(texts), profile_(profile) {
    store::Database& database = profile.database();
    if (database.has_table("LAUNCH_RANGE") && database.has_table("NVTX_PATH")) {
      path_ = database.prepare(
          "SELECT p.path FROM main.LAUNCH_RANGE AS r JOIN main.NVTX_PATH AS p ON p.range = r.range"
          " WHERE r.correlationId = ?1");
      has_paths_ = true;
    }
    if (database.has_column("METRIC_RANGE", "correlationId") &&
        database.integer("SELECT EXISTS (SELECT 1 FROM main.METRIC_RANGE)").value_or(0) != 0) {
      // As in the view kernel_metrics: in a graph, the name identifies the kernel.
      metric_ = database.prepare(
          "SELECT m.name, v.value FROM main.METRIC_RANGE AS r"
          " JOIN main.METRIC_VALUE AS v ON v.range = r._id_"
          " JOIN main.METRIC AS m ON m._id_ = v.metric"
          " WHERE r.correlationId = ?1 AND r.kind = 'kernel' AND coalesce(r.name, ?2) = ?2");
      has_metrics_ = true;
    }
  }

  std::string_view text(std::int64_t id) {
    const auto [place, is_new] = texts_.try_emplace(id);
    if (is_new) place->second = keep(profile_.names().text(id));
    return place->second;
  }
  std::string_view path(std::int64_t correlation) {
    if (!has_paths_) return {};
    path_.bind(1, correlation);
    const std::int64_t id = path_.step() ? path_.integer(0) : 0;
    path_.reset();
    return text(id);
  }

  std::string_view keep(std::string_view text) { return all_.keep(text); }
  void read_metrics(std::int64_t correlation, std::int64_t name,
                    std::vector<Activity::Metric>& metrics) {
    metrics.clear();
    if (!has_metrics_) return;
    metric_.bind(1, correlation).bind(2, name);
    while (metric_.step()) {
      if (metric_.is_null(1) || !std::isfinite(metric_.real(1))) continue;
      const std::string_view known = keep(metric_.text(0));
      if (!std::ranges::count(metrics, known, &Activity::Metric::name)) {
        metrics.push_back({known, metric_.real(1)});
      }
    }
    metric_.reset();
  }

  // `chunk` has begin, end and correlation id of GPU work.
  void add_launches(const columns::Chunk& chunk) {
    const auto begin = chunk[0].int64s(), end = chunk[1].int64s();
    for (std::size_t i = 0; i < chunk.rows(); ++i) {
      if (columns::OrderedRows::has_times(begin[i], end[i])) {
        launches.add(columns::whole(chunk[2], i));
      }
    }
  }

  compute::CorrelationSet launches;
  const std::size_t most_waiting;

 private:
  Texts& all_;
  reading::Profile& profile_;
  bool has_paths_ = false;
  store::Statement path_;
  bool has_metrics_ = false;
  store::Statement metric_;
  std::unordered_map<std::int64_t, std::string_view> texts_;
};

std::string has_times(std::string_view end) {
  return "start > 0 AND [" + std::string(end) + "] >= start";
}

class ActivitySource : public reading::Source {
 public:
  ActivitySource(reading::Profile& profile, Lookups& lookups, std::string_view kind,
                 std::string valid)
      : Source(profile, {.kind = kind, .valid = std::move(valid)}),
        profile_(profile),
        lookups_(lookups) {}

  // The activity of the current row.
  virtual const Activity& read() = 0;

 protected:
  reading::Profile& profile_;
  Lookups& lookups_;
  Activity row_;
};

// Reads a table whose columns are integers; the first two are begin and end.
class TableSource : public ActivitySource {
 public:
  // `columns`: empty ones are missing. `look`: see OrderedRows.
  TableSource(reading::Profile& profile, Lookups& lookups, std::string_view kind,
              std::vector<std::string_view> columns, std::vector<std::string> looked_at = {},
              const std::function<void(const columns::Chunk&)>& look = {})
      : ActivitySource(profile, lookups, kind, has_times(columns[1])),
        columns_(std::move(columns)) {
    columns::Request request{.table = reading::table_name(kind), .columns = {}};
    for (const std::string_view column : columns_) {
      place_.push_back(request.columns.size());
      if (!column.empty()) request.columns.emplace_back(column);
    }
    const auto wanted = profile.wanted_rows(kind);
    if (!wanted) return;
    request.filter = *wanted;
    ordered_.emplace(profile.snapshot(), request, std::move(looked_at), look);
    sorts_ = ordered_->bytes() > lookups.most_waiting;
  }

  void advance() override {
    there_ = ordered_ && ordered_->next();
    if (there_) start_ = (*ordered_)[0];
  }

 protected:
  std::int64_t integer(std::size_t column) const {
    return columns_[column].empty() ? 0 : (*ordered_)[place_[column]];
  }
  std::optional<std::int64_t> known(std::size_t column) const {
    if (columns_[column].empty() || ordered_->is_null(place_[column])) return std::nullopt;
    return integer(column);
  }
  store::Statement open() override {
    if (!sorts_) return {};
    std::vector<std::string> list;
    for (const std::string_view column : columns_) {
      if (column.empty()) continue;
      const bool there = profile_.has_column(kind(), column);
      list.push_back(there ? "[" + std::string(column) + "]" : "NULL");
    }
    ordered_.emplace(profile_.database().prepare("SELECT " + joined(list, ", ") + " FROM " +
                                                 reading::table_name(kind()) + " " + where() +
                                                 " ORDER BY 1, 2 DESC"));
    return {};
  }

 private:
  const std::vector<std::string_view> columns_;
  std::vector<std::size_t> place_;  // indexes in ordered_, by column
  std::optional<columns::OrderedRows> ordered_;
  bool sorts_ = false;  // SQLite does
};

class GpuSource : public TableSource {
 public:
  GpuSource(reading::Profile& profile, Lookups& lookups, const schema::GpuKind& kind)
      : TableSource(profile, lookups, kind.kind, columns_of(kind),
                    {"start", std::string(kind.end), "correlationId"},
                    [&lookups](const columns::Chunk& chunk) { lookups.add_launches(chunk); }),
        work_(kind) {
    row_.group = Activity::Group::gpu;
    row_.type = kind.type;
  }
  const Activity& read() override {
    row_.start = start();
    row_.end = integer(1);
    row_.device = integer(2);
    row_.context = integer(3);
    row_.stream = integer(4);
    row_.correlation = integer(5);
    row_.process = integer(6);
    row_.name = name(integer(7));
    row_.path = row_.correlation ? lookups_.path(row_.correlation) : std::string_view();
    if (!work_.bytes.empty()) row_.bytes = known(8);
    if (work_.is_kernel()) {
      row_.shape = {{integer(9), integer(10), integer(11)},
                    {integer(12), integer(13), integer(14)},
                    known(15),
                    known(16),
                    known(17),
                    integer(19) != 0 ? integer(18) : -1};
      lookups_.read_metrics(row_.correlation, integer(7), row_.metrics);
    }
    return row_;
  }

 private:
  static std::vector<std::string_view> columns_of(const schema::GpuKind& kind) {
    std::vector<std::string_view> columns{"start",     kind.end,      "deviceId",
                                          "contextId", "streamId",    "correlationId",
                                          "processId", kind.named_by, kind.bytes};
    for (const std::string_view column : schema::launch_columns) {
      columns.push_back(schema::has_column(*kind.table, column) ? column : "");
    }
    return columns;
  }
  std::string_view name(std::int64_t id) {
    const auto [place, is_new] = names_.try_emplace(id);
    if (is_new) place->second = lookups_.keep(profile_.names().gpu_work(work_, id));
    return place->second;
  }
  const schema::GpuKind& work_;
  std::unordered_map<std::int64_t, std::string_view> names_;
};

class CallSource : public TableSource {
 public:
  CallSource(reading::Profile& profile, Lookups& lookups, const schema::ApiKind& calls)
      : TableSource(profile, lookups, calls.kind,
                    {"start", "end", "cbid", "correlationId", "processId", "threadId"}),
        domain_(reading::domain_of(calls)) {
    row_.group = Activity::Group::api;
    row_.type = calls.domain;
  }
  const Activity& read() override {
    row_.start = start();
    row_.end = integer(1);
    row_.correlation = integer(3);
    row_.process = integer(4);
    row_.thread = integer(5);
    row_.launches = row_.correlation && lookups_.launches.contains(row_.correlation);
    const std::int64_t cbid = integer(2);
    const auto [place, is_new] = functions_.try_emplace(cbid);
    if (is_new) place->second = lookups_.keep(profile_.names().api(domain_, cbid));
    row_.name = place->second;
    return row_;
  }

 private:
  const reading::ApiDomain domain_;
  std::unordered_map<std::int64_t, std::string_view> functions_;
};

class SynchronizationSource : public TableSource {
 public:
  SynchronizationSource(reading::Profile& profile, Lookups& lookups)
      : TableSource(
            profile, lookups, "SYNCHRONIZATION",
            {"start", "end", "type", "correlationId", "processId", "contextId", "streamId"}) {
    row_.group = Activity::Group::synchronization;
    row_.type = "synchronization";
  }
  const Activity& read() override {
    row_.start = start();
    row_.end = integer(1);
    row_.correlation = integer(3);
    row_.process = integer(4);
    row_.context = integer(5);
    row_.stream = integer(6);
    const std::int64_t type = integer(2);
    // CUpti_ActivitySynchronizationType
    row_.name = type == 1   ? "Event Synchronize"
                : type == 2 ? "Stream Wait Event"
                : type == 3 ? "Stream Synchronize"
                : type == 4 ? "Context Synchronize"
                            : "Synchronize";
    return row_;
  }
};

class RangeSource : public ActivitySource {
 public:
  RangeSource(reading::Profile& profile, Lookups& lookups, const reading::Window& window)
      : ActivitySource(profile, lookups, "MARKER", has_times("stop")), window_(window) {
    row_.group = Activity::Group::range;
  }
  const Activity& read() override {
    row_.start = start();
    row_.end = rows_.integer(1);
    row_.process = rows_.integer(2);
    row_.thread = rows_.integer(3);
    row_.name = rows_.integer(4) ? lookups_.text(rows_.integer(4)) : "<unnamed>";
    row_.domain = lookups_.text(rows_.integer(5));
    row_.type = rows_.text(6) == "start_end" ? "start_end" : "push_pop";
    return row_;
  }

 protected:
  store::Statement open() override {
    std::string sql =
        "SELECT start, stop, processId, threadId, name, domain, kind FROM"
        " main.NVTX_RANGE WHERE " +
        valid();
    if (window_.from) sql += " AND start >= " + std::to_string(*window_.from);
    if (window_.to) sql += " AND start < " + std::to_string(*window_.to);
    return profile_.database().prepare(sql + " ORDER BY start, stop DESC, _id_");
  }

 private:
  const reading::Window window_;
};

}  // namespace

Visited visit_activities(reading::Profile& profile, const reading::Window& window,
                         const std::vector<std::int64_t>& processes, Texts& texts,
                         const std::function<void(const Activity&)>& visit,
                         std::size_t most_waiting) {
  Visited visited;
  Lookups lookups(profile, texts, most_waiting);
  store::Database& database = profile.database();
  reading::Merge<ActivitySource> merge;
  const bool has_ranges = database.has_column("NVTX_RANGE", "stop");
  visited.markers_only = !has_ranges && profile.has_rows("MARKER");
  if (has_ranges) merge.add(std::make_unique<RangeSource>(profile, lookups, window));
  for (const schema::ApiKind& calls : schema::api_kinds) {
    if (profile.has_rows(calls.kind)) {
      merge.add(std::make_unique<CallSource>(profile, lookups, calls));
    }
  }
  if (profile.has_rows("SYNCHRONIZATION")) {
    merge.add(std::make_unique<SynchronizationSource>(profile, lookups));
  }
  profile.progress("looking for launches");
  for (const schema::GpuKind& kind : schema::gpu_kinds) {
    if (!profile.has_rows(kind.kind)) continue;
    merge.add(std::make_unique<GpuSource>(profile, lookups, kind));
    auto lost = profile.select(kind.kind, {"count(*)"}, "WHERE NOT (" + has_times(kind.end) + ")");
    if (lost.step()) visited.without_times += lost.integer(0);
  }
  while (ActivitySource* source = merge.next()) {
    const Activity& activity = source->read();
    if (!processes.empty() && !std::ranges::count(processes, activity.process)) continue;
    if (visited.activities % 65536 == 0) profile.progress("writing");
    ++visited.activities;
    visit(activity);
  }
  return visited;
}

}  // namespace gpuprof::exporting
