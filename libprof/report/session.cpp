#include "libprof/report/session.hpp"

#include <algorithm>
#include <array>

#include "libprof/base/text.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {
namespace {

// Other tables with times.
constexpr std::array<std::string_view, 5> other_kinds{"UNIFIED_MEMORY_COUNTER", "OPENACC_DATA",
                                                      "OPENACC_LAUNCH", "OPENACC_OTHER", "OPENMP"};

bool has_nodes_of_graphs(Session& session) {
  return std::ranges::any_of(schema::gpu_kinds, [&](const schema::GpuKind& work) {
    constexpr std::string_view node = "graphNodeId";
    return session.has_column(work.kind, node) &&
           session.select(work.kind, {"1"}, "WHERE graphNodeId != 0 LIMIT 1").step();
  });
}

}  // namespace

schema::MetricKind kind_of_metric(std::string_view unit, bool is_event) {
  using enum schema::MetricKind;
  if (is_event) return count;
  if (unit == "%") return percent;
  return unit == "byte/s" || unit == "bytes/s" ? throughput : real;
}

Session::Session(store::Database& database, const ReportOptions& options, Output& output,
                 NameStyle names)
    : Profile(database, options.filter, names,
              [&output](std::string_view what) { output.progress(what); }),
      options_(options),
      output_(output) {
  // A graph would count twice: by its nodes and as a whole.
  if (has_rows("GRAPH_TRACE") && has_nodes_of_graphs(*this)) left_out = "GRAPH_TRACE";
}

const std::map<std::int64_t, NamedMetric>& Session::named_metrics() {
  if (named_metrics_) return *named_metrics_;
  named_metrics_.emplace();
  if (!database().has_table("METRIC_VALUE")) return *named_metrics_;
  auto rows = database().prepare(
      "SELECT _id_, name, unit, description, isEvent FROM METRIC WHERE nvprofId IS NULL");
  while (rows.step()) {
    NamedMetric metric{.name = std::string(rows.text(1)),
                       .unit = std::string(rows.text(2)),
                       .description = std::string(rows.text(3)),
                       .is_event = rows.integer(4) != 0};
    metric.kind = kind_of_metric(metric.unit, metric.is_event);
    if (metric.kind == schema::MetricKind::real && !metric.unit.empty()) {
      metric.description += (metric.description.empty() ? "(" : " (") + metric.unit + ")";
    }
    named_metrics_->emplace(rows.integer(0), std::move(metric));
  }
  return *named_metrics_;
}

Oddities Session::count_oddities(const std::string& kind) {
  Oddities counts;
  if (!has(kind)) return counts;
  output_.progress("reading " + table_name(kind));
  const bool api =
      std::ranges::find(schema::api_kinds, kind, &schema::ApiKind::kind) != schema::api_kinds.end();
  auto odd = database().prepare(
      "SELECT count(*), count(CASE WHEN start = 0 OR [end] = 0 THEN 1 END), "
      "count(CASE WHEN start > 0 AND [end] = start THEN 1 END) FROM " +
      table_name(kind) + " WHERE NOT (start > 0 AND [end] > start) AND " + filter(kind));
  odd.step();
  const std::int64_t all = odd.integer(0), without_times = odd.integer(1), instant = odd.integer(2);
  counts.instant = api ? instant : 0;
  counts.without_times = api ? 0 : without_times;
  counts.invalid = all - counts.instant - counts.without_times;
  return counts;
}

void Session::counted(std::string_view kind, Oddities counts) {
  if (!device) oddities_.emplace(kind, counts);
}

void Session::warn_of_odd_records() {
  Oddities sum;
  // nvprof's reasons, which depend on the kind; copies and sets have two.
  std::int64_t nested = 0, without_buffer = 0, without_semaphore = 0;
  const auto add = [&](std::string_view kind) {
    const auto known = oddities_.find(kind);
    const Oddities counts =
        known != oddities_.end() ? known->second : count_oddities(std::string(kind));
    if (kind == "CDP_KERNEL") {
      nested += counts.without_times;
    } else if (kind != "KERNEL") {
      without_buffer += counts.without_times;
    }
    if (kind == "KERNEL" || !schema::is_kernel_kind(kind))
      without_semaphore += counts.without_times;
    sum.invalid += counts.invalid;
    sum.instant += counts.instant;
  };
  for (const schema::GpuKind& work : schema::gpu_kinds) {
    if (work.nvprofs) add(work.kind);
  }
  for (const schema::ApiKind& calls : schema::api_kinds) {
    if (calls.nvprofs) add(calls.kind);
  }
  for (const std::string_view kind : other_kinds) {
    auto count =
        select(kind, {"count(*)"}, "WHERE NOT (" + valid_times(kind) + ") AND " + filter(kind));
    if (count.step()) sum.invalid += count.integer(0);
  }
  // In our files, `losses` explains missing times.
  const bool ours = database().has_table("STATISTIC");
  const auto warn = [&](std::int64_t count, std::string_view what, std::string_view option) {
    if (count == 0 || ours) return;
    output_.warning(std::to_string(count) +
                    " records have invalid timestamps due to insufficient " + std::string(what) +
                    " using the option " + std::string(option) + ".");
  };
  constexpr std::string_view buffer = "device buffer space. You can configure the buffer space";
  warn(nested, buffer, "--device-cdp-buffer-size");
  warn(without_buffer, buffer, "--device-buffer-size");
  warn(without_semaphore, "semaphore pool size. You can configure the pool size",
       "--profiling-semaphore-pool-size");
  if (sum.invalid > 0) {
    output_.warning("Found " + std::to_string(sum.invalid) + " invalid records in the result.");
    output_.warning(
        "This can happen if device ran out of memory or if a device kernel was stopped due to an "
        "assertion.");
  }
  if (sum.instant > 0) {
    output_.warning(
        std::to_string(sum.instant) + " API trace records have same start and end timestamps.",
        "This can happen because of short execution duration of CUDA APIs and low timer resolution "
        "on the underlying operating system.");
  }
}

void Session::begin_result() {
  warn_of_odd_records();
  output_.heading("Profiling result:");
}

void Session::report_skipped() {
  if (const std::int64_t missing = names().missing_strings()) {
    output_.warning(std::to_string(missing) + (missing == 1 ? " name is" : " names are") +
                    " not in StringTable.");
  }
  if (const std::uint64_t given_up = names_given_up()) {
    output_.warning(std::to_string(given_up) +
                    (given_up == 1 ? " kernel name takes" : " kernel names take") +
                    " too long to search for what --kernels says, and counts as another.");
  }
  for (const auto& [what, count] : skipped_) {
    output_.warning(count_of(count, "record") + " skipped: " + what + ".");
  }
}

}  // namespace gpuprof::report
