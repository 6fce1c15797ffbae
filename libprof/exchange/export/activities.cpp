#include "libprof/exchange/export/activities.hpp"

#include <algorithm>
#include <cmath>
#include <memory>
#include <unordered_map>
#include <utility>

#include "libprof/base/merge.hpp"
#include "libprof/base/text.hpp"
#include "libprof/compute/gpu_work.hpp"
#include "libprof/read/timed_rows.hpp"
#include "schema/enums.hpp"
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

  compute::CorrelationSet launches;  // if notes_launches
  bool notes_launches = true;
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

class ActivitySource : public reading::TimedRows {
 public:
  ActivitySource(reading::Profile& profile, Lookups& lookups, reading::TimedTable table,
                 std::vector<std::string_view> columns)
      : TimedRows(profile, std::move(table)),
        profile_(profile),
        lookups_(lookups),
        columns_(std::move(columns)) {}

  // The activity of the current row.
  const Activity& read() {
    row_.start = start();
    row_.end = integer(1);
    fill();
    return row_;
  }

 protected:
  virtual void fill() = 0;  // except for start and end
  std::vector<std::string_view> columns() override { return columns_; }
  std::optional<std::int64_t> known(std::size_t column) const {
    if (!has(column) || is_null(column)) return std::nullopt;
    return integer(column);
  }

  reading::Profile& profile_;
  Lookups& lookups_;
  Activity row_;

 private:
  const std::vector<std::string_view> columns_;
};

// A table of which integers are read.
reading::TimedTable integers_of(std::string_view kind, const Lookups& lookups,
                                std::string_view end = "end") {
  return {.kind = kind,
          .valid = has_times(end),
          .integers = columns::Ties::outer_first,
          .most_waiting = lookups.most_waiting};
}

class GpuSource : public ActivitySource {
 public:
  GpuSource(reading::Profile& profile, Lookups& lookups, const schema::GpuKind& kind)
      : ActivitySource(profile, lookups, table_of(kind, lookups), columns_of(kind)), work_(kind) {
    row_.group = Activity::Group::gpu;
    row_.type = kind.type;
  }
  void fill() override {
    row_.device = integer(2);
    row_.context = integer(3);
    row_.stream = integer(4);
    row_.correlation = integer(5);
    row_.process = integer(6);
    row_.name = name(integer(7));
    row_.node = integer(9 + static_cast<int>(schema::launch_columns.size()));
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
  }

 private:
  static reading::TimedTable table_of(const schema::GpuKind& kind, Lookups& lookups) {
    reading::TimedTable table = integers_of(kind.kind, lookups, kind.end);
    if (!lookups.notes_launches) return table;
    table.looked_at = {"start", std::string(kind.end), "correlationId"};
    table.look = [&lookups](const columns::Chunk& chunk) { lookups.add_launches(chunk); };
    return table;
  }
  static std::vector<std::string_view> columns_of(const schema::GpuKind& kind) {
    std::vector<std::string_view> columns{"start",     kind.end,      "deviceId",
                                          "contextId", "streamId",    "correlationId",
                                          "processId", kind.named_by, kind.bytes};
    for (const std::string_view column : schema::launch_columns) {
      columns.push_back(schema::has_column(*kind.table, column) ? column : "");
    }
    columns.push_back(schema::has_column(*kind.table, "graphNodeId") ? "graphNodeId" : "");
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

class CallSource : public ActivitySource {
 public:
  CallSource(reading::Profile& profile, Lookups& lookups, const schema::ApiKind& calls)
      : ActivitySource(profile, lookups, integers_of(calls.kind, lookups),
                       {"start", "end", "cbid", "correlationId", "processId", "threadId"}),
        domain_(reading::domain_of(calls)) {
    row_.group = Activity::Group::api;
    row_.type = calls.domain;
  }
  void fill() override {
    row_.correlation = integer(3);
    row_.process = integer(4);
    row_.thread = integer(5);
    row_.launches = row_.correlation && lookups_.launches.contains(row_.correlation);
    const std::int64_t cbid = integer(2);
    const auto [place, is_new] = functions_.try_emplace(cbid);
    if (is_new) place->second = lookups_.keep(profile_.names().api(domain_, cbid));
    row_.name = place->second;
  }

 private:
  const reading::ApiDomain domain_;
  std::unordered_map<std::int64_t, std::string_view> functions_;
};

class SynchronizationSource : public ActivitySource {
 public:
  SynchronizationSource(reading::Profile& profile, Lookups& lookups)
      : ActivitySource(
            profile, lookups, integers_of("SYNCHRONIZATION", lookups),
            {"start", "end", "type", "correlationId", "processId", "contextId", "streamId"}) {
    row_.group = Activity::Group::synchronization;
    row_.type = "synchronization";
  }
  void fill() override {
    row_.correlation = integer(3);
    row_.process = integer(4);
    row_.context = integer(5);
    row_.stream = integer(6);
    switch (integer(2)) {
      case schema::synchronization("event synchronize"): row_.name = "Event Synchronize"; break;
      case schema::synchronization("stream wait event"): row_.name = "Stream Wait Event"; break;
      case schema::synchronization("stream synchronize"): row_.name = "Stream Synchronize"; break;
      case schema::synchronization("context synchronize"): row_.name = "Context Synchronize"; break;
      default: row_.name = "Synchronize";
    }
  }
};

class RangeSource : public ActivitySource {
 public:
  RangeSource(reading::Profile& profile, Lookups& lookups, const reading::Window& window)
      : ActivitySource(profile, lookups, {.kind = "MARKER", .valid = has_times("stop")},
                       {"start", "stop", "processId", "threadId", "name", "domain", "kind"}),
        window_(window) {
    row_.group = Activity::Group::range;
  }
  void fill() override {
    row_.process = integer(2);
    row_.thread = integer(3);
    row_.name = integer(4) ? lookups_.text(integer(4)) : "<unnamed>";
    row_.domain = lookups_.text(integer(5));
    row_.type = row().text(6) == "start_end" ? "start_end" : "push_pop";
  }

 protected:
  store::Statement select(const std::vector<std::string_view>& columns) override {
    std::string sql = "SELECT " + joined(columns, ", ") + " FROM main.NVTX_RANGE WHERE " + valid();
    if (window_.from) sql += " AND start >= " + std::to_string(*window_.from);
    if (window_.to) sql += " AND start < " + std::to_string(*window_.to);
    return profile_.database().prepare(sql + " ORDER BY start, stop DESC, _id_");
  }

 private:
  const reading::Window window_;
};

void add_gpu_work(Merge<ActivitySource>& merge, reading::Profile& profile, Lookups& lookups) {
  for (const schema::GpuKind& kind : schema::gpu_kinds) {
    if (profile.has_rows(kind.kind)) {
      merge.add(std::make_unique<GpuSource>(profile, lookups, kind));
    }
  }
}

void visit_in_order(Merge<ActivitySource>& merge, reading::Profile& profile,
                    const std::vector<std::int64_t>& processes,
                    const std::function<void(const Activity&)>& visit, Visited& visited) {
  for (const auto& source : merge.sources()) source->begin();
  while (ActivitySource* source = merge.next()) {
    const Activity& activity = source->read();
    if (!processes.empty() && !std::ranges::count(processes, activity.process)) continue;
    if (visited.activities % 65536 == 0) profile.progress("writing");
    ++visited.activities;
    visit(activity);
  }
}

}  // namespace

Visited visit_activities(reading::Profile& profile, const reading::Window& window,
                         const std::vector<std::int64_t>& processes, Texts& texts,
                         const std::function<void(const Activity&)>& visit,
                         std::size_t most_waiting) {
  Visited visited;
  Lookups lookups(profile, texts, most_waiting);
  store::Database& database = profile.database();
  Merge<ActivitySource> merge;
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
  add_gpu_work(merge, profile, lookups);
  for (const schema::GpuKind& kind : schema::gpu_kinds) {
    if (!profile.has_rows(kind.kind)) continue;
    auto lost = profile.select(kind.kind, {"count(*)"}, "WHERE NOT (" + has_times(kind.end) + ")");
    if (lost.step()) visited.without_times += lost.integer(0);
  }
  visit_in_order(merge, profile, processes, visit, visited);
  return visited;
}

void visit_gpu_work(reading::Profile& profile, Texts& texts,
                    const std::function<void(const Activity&)>& visit) {
  Visited visited;
  Lookups lookups(profile, texts, columns::OrderedRows::most_waiting);
  lookups.notes_launches = false;
  Merge<ActivitySource> merge;
  add_gpu_work(merge, profile, lookups);
  visit_in_order(merge, profile, {}, visit, visited);
}

}  // namespace gpuprof::exporting
