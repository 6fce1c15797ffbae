#include "libprof/report/metrics.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include "libprof/base/error.hpp"
#include "libprof/read/blob.hpp"
#include "libprof/report/number.hpp"
#include "schema/nvprof_ids.hpp"
#include "schema/traits.hpp"

namespace gpuprof::report {
namespace {

using schema::nvprof_event;
using schema::nvprof_metric;
using schema::NvprofMetric;

// Kernel values of METRIC entries without an nvprof id, with the columns of nvprof's tables.
constexpr std::string_view our_values =
    "(SELECT r.correlationId AS correlationId, v.metric AS id, v.value AS value FROM METRIC_RANGE "
    "r "
    "CROSS JOIN METRIC_VALUE v ON v.range = r._id_ WHERE r.kind = 'kernel' AND r.correlationId NOT "
    "NULL AND v.metric IN (SELECT _id_ FROM METRIC WHERE nvprofId IS NULL)) ";

store::Statement select_values(Session& session, const ValueTable& table, std::string_view key,
                               const std::string& rest) {
  if (!table.is_ours) {
    return session.select(table.kind, {key, "id", "value", "flags", "instance"}, rest);
  }
  if (session.named_metrics().empty()) return session.database().prepare("SELECT 0 WHERE 0");
  return session.database().prepare("SELECT correlationId, id, value FROM " +
                                    std::string(our_values) + rest);
}

bool has_rows(Session& session, const ValueTable& table) {
  if (!table.is_ours) return session.has_rows(table.kind);
  return select_values(session, table, "correlationId", "LIMIT 1").step();
}

template <std::size_t Size>
bool any_rows(Session& session, const std::array<ValueTable, Size>& tables) {
  return std::ranges::any_of(tables,
                             [&](const ValueTable& table) { return has_rows(session, table); });
}

// Converts nvprof's bits.
Value to_value(MetricKind kind, std::uint64_t bits) {
  switch (kind) {
    case MetricKind::unknown: break;
    case MetricKind::real:
    case MetricKind::percent: return std::bit_cast<double>(bits);
    case MetricKind::utilization: return bits & 0xffffffff;
    case MetricKind::count:
    case MetricKind::throughput: return bits;
  }
  return {};
}

ValueRow our_row(Session& session, const store::Statement& row) {
  const NamedMetric& metric = session.named_metrics().at(row.integer(1));
  ValueRow result{.measure = {.is_metric = !metric.is_event, .id = row.integer(1)}};
  result.measure.named = &metric;
  // SQLite stores NaN as NULL.
  const double value = row.is_null(2) ? std::numeric_limits<double>::quiet_NaN() : row.real(2);
  result.value = stored_value(metric.kind, value);
  result.invalid = std::holds_alternative<std::monostate>(result.value);
  return result;
}

std::string level_name(std::uint64_t level) {
  const std::string_view name = level == 0    ? "Idle"
                                : level <= 3  ? "Low"
                                : level <= 6  ? "Mid"
                                : level <= 9  ? "High"
                                : level == 10 ? "Max"
                                              : "Unknown";
  return std::string(name) + " (" + std::to_string(level) + ")";
}

}  // namespace

Value stored_value(MetricKind kind, double value) {
  const bool real = kind == MetricKind::real || kind == MetricKind::percent;
  if (real && !std::isfinite(value)) return value;
  const auto bits = schema::nvprof_bits(kind, value);
  return bits ? to_value(kind, *bits) : Value();
}

std::string Measure::name() const {
  if (named) return named->name;
  if (is_metric) {
    const NvprofMetric* metric = nvprof_metric(id);
    return metric ? std::string(metric->name) : "<metric " + std::to_string(id) + ">";
  }
  const auto event = nvprof_event(id);
  return event ? std::string(*event) : "<event " + std::to_string(id) + ">";
}

std::string_view Measure::description() const {
  if (named) return named->description;
  const NvprofMetric* metric = is_metric ? nvprof_metric(id) : nullptr;
  return metric ? metric->description : std::string_view();
}

std::string_view Measure::unit() const {
  return named && named->kind == MetricKind::real ? std::string_view(named->unit) : "";
}

MetricKind Measure::kind() const {
  if (named) return named->kind;
  if (!is_metric) return MetricKind::count;
  const NvprofMetric* metric = nvprof_metric(id);
  return metric ? metric->kind : MetricKind::unknown;
}

std::string value_text(MetricKind kind, const Value& value, bool csv, std::string_view nothing,
                       int width) {
  if (const auto* real = std::get_if<double>(&value)) {
    const bool percent = kind == MetricKind::percent;
    if (!percent && !csv) return format_real(*real, width);
    return format_fixed(*real, percent && !csv ? 2 : 6) + (percent ? "%" : "");
  }
  const auto* count = std::get_if<std::uint64_t>(&value);
  if (!count) return std::string(nothing);
  if (kind == MetricKind::utilization) return level_name(*count);
  if (kind != MetricKind::throughput) {
    return csv ? std::to_string(*count) : format_whole(*count, width);
  }
  if (!csv) return format_speed(*count);
  const Scale scale = speed_scale(*count);
  return format_fixed(static_cast<double>(*count) * scale.factor).append(scale.unit);
}

std::optional<ValueRow> value_row(const ValueTable& table, const store::Statement& row,
                                  int column) {
  ValueRow result{.measure = {.is_metric = table.is_metric, .id = row.integer(column)}};
  if (table.has_instances) result.measure.instance = row.integer(column + 3);
  if (!table.is_metric) {
    result.value = static_cast<std::uint64_t>(row.integer(column + 1));
    result.overflow = row.integer(column + 1) == -1;
    return result;
  }
  result.overflow = (row.integer(column + 2) & 1) != 0;
  result.invalid = (row.integer(column + 2) & 2) != 0;
  const auto blob = row.blob(column + 1);
  if (blob.size() != 8) return std::nullopt;
  result.value = to_value(result.measure.kind(), reading::blob_field<std::uint64_t>(blob, 0));
  return result;
}

ValueCursor::ValueCursor(Session& session, const ValueTable& table, std::string_view key,
                         const std::string& rest, bool tells)
    : session_(session),
      table_(table),
      rows_(select_values(session, table, key, rest)),
      tells_(tells) {
  next();
}

void ValueCursor::next() {
  while ((there_ = rows_.step()) && !read()) {
    if (!tells_) continue;
    session_.skip(table_name(table_.kind) + " with a value that is not of 8 bytes");
  }
}

void ValueCursor::restart(std::int64_t parameter) {
  rows_.reset();
  rows_.bind(1, parameter);
  tells_ = false;
  next();
}

bool ValueCursor::read() {
  if (table_.is_ours) {
    row_ = our_row(session_, rows_);
    return true;
  }
  const auto row = value_row(table_, rows_, 1);
  if (row) row_ = *row;
  return row.has_value();
}

bool has_kernel_values(Session& session) { return any_rows(session, kernel_value_tables); }
bool has_device_values(Session& session) { return any_rows(session, device_value_tables); }
bool has_other_records(Session& session) {
  static constexpr std::array<std::string_view, 5> others{
      "OPENACC_DATA", "OPENACC_LAUNCH", "OPENACC_OTHER", "OPENMP", "UNIFIED_MEMORY_COUNTER"};
  const auto has = [&](std::string_view kind) { return session.has_rows(kind); };
  return std::ranges::any_of(schema::first_times,
                             [&](const schema::FirstTime& time) {
                               return !schema::is_kernel_kind(time.kind) && has(time.kind);
                             }) ||
         std::ranges::any_of(others, has);
}
bool has_values(Session& session) {
  return has_kernel_values(session) || has_device_values(session);
}

// Tables and kernels have the same order, so each is read once.
std::int64_t read_kernel_values(
    Session& session, const std::function<void(const MeasuredKernel&, const ValueRow&)>& use,
    bool tells) {
  std::vector<ValueCursor> cursors;
  cursors.reserve(kernel_value_tables.size());
  for (const ValueTable& table : kernel_value_tables) {
    cursors.emplace_back(session, table, "correlationId", "ORDER BY 1", tells);
  }
  const auto next_id = [&] {
    std::optional<std::int64_t> id;
    for (const ValueCursor& cursor : cursors) {
      if (cursor.there() && (!id || cursor.key() < *id)) id = cursor.key();
    }
    return id;
  };
  std::int64_t without_kernel = 0;
  auto id = next_id();
  if (!id) return 0;
  MeasuredKernels kernels(session);
  for (; id; id = next_id()) {
    const MeasuredKernel* kernel = kernels.find(*id);
    for (ValueCursor& cursor : cursors) {
      for (; cursor.there() && cursor.key() == *id; cursor.next()) {
        without_kernel += !kernel;
        if (kernel && kernel->wanted) use(*kernel, cursor.row());
      }
    }
  }
  return without_kernel;
}

void read_device_values(Session& session,
                        const std::function<void(std::int64_t device, const ValueRow&)>& use) {
  for (const ValueTable& table : device_value_tables) {
    ValueCursor cursor(session, table, "deviceId", "WHERE " + session.filter(table.kind));
    for (; cursor.there(); cursor.next()) use(cursor.key(), cursor.row());
  }
}

void scan_kernel_values(Session& session, const std::function<void(const ValueRow&)>& use) {
  for (const ValueTable& table : kernel_value_tables) {
    ValueCursor cursor(session, table, "correlationId");
    for (; cursor.there(); cursor.next()) use(cursor.row());
  }
}

ValuesOfKernel::ValuesOfKernel(Session& session) : session_(session) {
  for (const ValueTable& table : kernel_value_tables) {
    if (!has_rows(session, table)) continue;
    if (table.is_ours) {  // always has the index
      cursors_.emplace_back(session, table, "correlationId", "WHERE correlationId = ?1");
      continue;
    }
    if (!session.has_column(table.kind, "correlationId")) continue;
    const std::string name = table_name(table.kind);
    if (!session.database().has_index(name, "correlationId")) {
      // The temporary table has the same name, so it is found instead of the original.
      session.output().progress("indexing " + name);
      session.database().execute("CREATE TABLE temp." + name + " AS SELECT * FROM main." + name +
                                 "; CREATE INDEX temp.by_correlation_" + name + " ON " + name +
                                 "(correlationId)");
      copies_.push_back(name);
    }
    cursors_.emplace_back(session, table, "correlationId", "WHERE correlationId = ?1");
  }
}

ValuesOfKernel::~ValuesOfKernel() {
  cursors_.clear();
  try {
    for (const std::string& table : copies_) {
      session_.database().execute("DROP TABLE temp." + table);
    }
  } catch (const Error&) {
    // The temporary tables go away with the connection.
  }
}

void ValuesOfKernel::find(std::int64_t correlation_id,
                          const std::function<void(const ValueRow&)>& use) {
  for (ValueCursor& cursor : cursors_) {
    for (cursor.restart(correlation_id); cursor.there(); cursor.next()) use(cursor.row());
  }
}

}  // namespace gpuprof::report
