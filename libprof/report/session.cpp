#include "libprof/report/session.hpp"

#include <algorithm>
#include <array>
#include <cctype>

#include "libprof/base/error.hpp"
#include "libprof/base/pattern.hpp"
#include "libprof/base/saturating.hpp"
#include "libprof/store/profile_file.hpp"
#include "schema/gpu_kinds.hpp"

namespace gpuprof::report {
namespace {

std::string table_name(std::string_view kind) { return "CUPTI_ACTIVITY_KIND_" + std::string(kind); }

constexpr std::array<std::string_view, 2> api_kinds{"RUNTIME", "DRIVER"};

// What else has times, and which of them are no good.
constexpr std::string_view bad_times = "NOT (start > 0 AND [end] >= start)";
constexpr std::array<std::pair<std::string_view, std::string_view>, 5> other_kinds{{
    {"UNIFIED_MEMORY_COUNTER",
     "NOT (start > 0 AND ([end] > start OR [end] = 0 AND counterKind IN (3, 5, 7)))"},
    {"OPENACC_DATA", bad_times},
    {"OPENACC_LAUNCH", bad_times},
    {"OPENACC_OTHER", bad_times},
    {"OPENMP", bad_times},
}};

bool is_column_name(std::string_view text) {
  return !text.empty() && !std::isdigit(static_cast<unsigned char>(text[0])) &&
         std::ranges::all_of(
             text, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_'; });
}

}  // namespace

Session::Session(store::Database& database, const Options& options, Output& output, NameStyle names)
    : database_(database),
      snapshot_(database),
      options_(options),
      output_(output),
      names_(database, names) {
  find_window();
}

const std::set<std::string, NameLess>& Session::columns(std::string_view kind) {
  const auto known = columns_.find(kind);
  if (known != columns_.end()) return known->second;
  Columns& names = columns_[std::string(kind)];
  const std::string name = table_name(kind);
  auto table = database_.prepare(
      "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = ?1 COLLATE NOCASE");
  if (!table.bind(1, name).step()) return names;
  for (store::Database::Column& column : database_.columns(name)) {
    names.insert(std::move(column.name));
  }
  return names;
}

bool Session::has(std::string_view kind) { return !columns(kind).empty(); }

bool Session::has_column(std::string_view kind, std::string_view column) {
  return columns(kind).contains(column);
}

bool Session::has_rows(std::string_view kind) {
  const auto known = has_rows_.find(kind);
  if (known != has_rows_.end()) return known->second;
  const bool any =
      has(kind) && database_.prepare("SELECT 1 FROM " + table_name(kind) + " LIMIT 1").step();
  has_rows_.emplace(kind, any);
  return any;
}

store::Statement Session::select(std::string_view kind,
                                 std::initializer_list<std::string_view> columns,
                                 const std::string& rest) {
  const bool there = has(kind);
  std::string sql = "SELECT ";
  bool first = true;
  for (const std::string_view column : columns) {
    if (!first) sql += ", ";
    first = false;
    const bool is_name = is_column_name(column);
    if (!there || (is_name && !has_column(kind, column))) {
      sql += "0";
    } else {
      sql += is_name ? "[" + std::string(column) + "]" : std::string(column);
    }
  }
  if (!there) return database_.prepare(sql + " WHERE 0");
  return database_.prepare(sql + " FROM " + table_name(kind) + " " + rest);
}

const std::map<std::int64_t, NamedMetric>& Session::named_metrics() {
  if (named_metrics_) return *named_metrics_;
  named_metrics_.emplace();
  if (!database_.has_table("METRIC_VALUE")) return *named_metrics_;
  auto rows = database_.prepare(
      "SELECT _id_, name, unit, description, isEvent FROM METRIC WHERE nvprofId IS NULL");
  while (rows.step()) {
    NamedMetric metric{.name = std::string(rows.text(1)),
                       .unit = std::string(rows.text(2)),
                       .description = std::string(rows.text(3)),
                       .is_event = rows.integer(4) != 0};
    using enum schema::MetricKind;
    metric.kind = metric.is_event                                       ? count
                  : metric.unit == "%"                                  ? percent
                  : metric.unit == "byte/s" || metric.unit == "bytes/s" ? throughput
                                                                        : real;
    if (metric.kind == real && !metric.unit.empty()) {
      metric.description += (metric.description.empty() ? "(" : " (") + metric.unit + ")";
    }
    named_metrics_->emplace(rows.integer(0), std::move(metric));
  }
  return *named_metrics_;
}

void Session::find_window() {
  const Filter& filter = options_.filter;
  if (!filter.from_range.empty()) {
    from_ = store::range_named(database_, filter.from_range).start;
  }
  if (!filter.to_range.empty()) to_ = store::range_named(database_, filter.to_range).stop;
  if (filter.from) from_ = saturating_add(zero(), *filter.from);
  if (filter.to) to_ = saturating_add(zero(), *filter.to);
}

std::int64_t Session::zero() {
  if (!zero_) {
    output_.progress("looking for the first record");
    zero_ = store::zero_of_run(database_).value_or(0);
  }
  return *zero_;
}

const std::vector<std::int64_t>& Session::kernel_ids() {
  if (kernel_ids_) return *kernel_ids_;
  kernel_ids_.emplace();
  const Pattern wanted(options_.filter.kernels);
  std::set<std::int64_t> ids;
  for (const schema::GpuKind& work : schema::gpu_kinds) {
    if (!schema::is_kernel_kind(work.kind) || !has(work.kind)) continue;
    auto names = database_.prepare("SELECT DISTINCT name FROM " + table_name(work.kind));
    while (names.step()) ids.insert(names.integer(0));
  }
  for (const std::int64_t id : ids) {
    if (wanted.found_in(names_.kernel(id))) kernel_ids_->push_back(id);
  }
  names_given_up_ = wanted.gave_up();
  return *kernel_ids_;
}

std::optional<columns::Filter> Session::wanted_rows(std::string_view kind) {
  columns::Filter filter{.from = from_, .to = to_, .devices = options_.filter.devices};
  if (device) {
    const auto& chosen = filter.devices;
    const bool is_chosen = chosen.empty() || std::ranges::find(chosen, *device) != chosen.end();
    if (!is_chosen && has_column(kind, "deviceId")) return std::nullopt;
    filter.devices = {*device};
  }
  if (!options_.filter.kernels.empty()) {
    if (schema::is_kernel_kind(kind)) {
      filter.names = kernel_ids();
    } else if (schema::is_gpu_kind(kind)) {
      return std::nullopt;
    }
  }
  return filter;
}

std::string Session::filter(std::string_view kind) {
  const auto wanted = wanted_rows(kind);
  if (!wanted) return "0";
  std::string condition = "1";
  const auto in = [&](const std::string& column, const std::vector<std::int64_t>& values) {
    condition += " AND " + column + " IN (";
    for (std::size_t i = 0; i < values.size(); ++i) {
      condition += (i > 0 ? ", " : "") + std::to_string(values[i]);
    }
    condition += ")";
  };
  if (has_column(kind, "deviceId") && !wanted->devices.empty()) in("deviceId", wanted->devices);
  if (wanted->names) in("name", *wanted->names);
  const std::string time = has_column(kind, "start") ? "start" : "timestamp";
  if (has_column(kind, time)) {
    if (wanted->from) condition += " AND " + time + " >= " + std::to_string(*wanted->from);
    if (wanted->to) condition += " AND " + time + " < " + std::to_string(*wanted->to);
  }
  return condition;
}

Oddities Session::count_oddities(const std::string& kind) {
  Oddities counts;
  if (!has(kind)) return counts;
  output_.progress("reading " + table_name(kind));
  const bool api = std::ranges::find(api_kinds, kind) != api_kinds.end();
  auto odd = database_.prepare(
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

void Session::begin_result() {
  Oddities sum;
  // nvprof's reasons, by what was traced with which: two for copies and sets.
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
  for (const schema::GpuKind& work : schema::nvprofs_gpu_kinds) add(work.kind);
  for (const std::string_view kind : api_kinds) add(kind);
  for (const auto& [kind, bad] : other_kinds) {
    auto count = select(kind, {"count(*)"}, "WHERE " + std::string(bad) + " AND " + filter(kind));
    if (count.step()) sum.invalid += count.integer(0);
  }
  // Our files say under `losses` why there are no times.
  const bool ours = database_.has_table("STATISTIC");
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
  output_.heading("Profiling result:");
}

void Session::report_skipped() {
  if (const std::int64_t missing = names_.missing_strings()) {
    output_.warning(std::to_string(missing) + (missing == 1 ? " name is" : " names are") +
                    " not in StringTable.");
  }
  if (names_given_up_ > 0) {
    output_.warning(std::to_string(names_given_up_) +
                    (names_given_up_ == 1 ? " kernel name takes" : " kernel names take") +
                    " too long to search for what --kernels says, and counts as another.");
  }
  for (const auto& [what, count] : skipped_) {
    output_.warning(std::to_string(count) + (count == 1 ? " record" : " records") +
                    " skipped: " + what + ".");
  }
}

}  // namespace gpuprof::report
