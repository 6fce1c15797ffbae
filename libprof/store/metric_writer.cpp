#include "libprof/store/metric_writer.hpp"
#include "libprof/base/text.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

namespace gpuprof::store {
namespace {

constexpr std::array<std::string_view, 3> kind_names{"kernel", "graph", "range"};

// Where a value is no number and the evaluation did not say why.
constexpr std::string_view no_number = "its counters gave no number";

void bind_or_null(Statement& statement, int index, std::int64_t value) {
  value == 0 ? statement.bind_null(index) : statement.bind(index, value);
}

}  // namespace

MetricWriter::MetricWriter(Database& database,
                           std::function<std::int64_t(std::string_view)> string_id)
    : database_(database),
      string_id_(std::move(string_id)),
      insert_range_(database.prepare(
          "INSERT INTO METRIC_RANGE(_id_, correlationId, kind, name, processId, deviceId, "
          "contextId, streamId, ordinal, start, stop, passGroup, note, gridX, gridY, gridZ, "
          "blockX, "
          "blockY, blockZ) VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, "
          "?15, ?16, ?17, ?18, ?19)")),
      insert_value_(
          database.prepare("INSERT INTO METRIC_VALUE(range, metric, value) VALUES(?1, ?2, ?3)")),
      insert_nvprof_metric_(database.prepare(
          "INSERT INTO CUPTI_ACTIVITY_KIND_METRIC(id, value, correlationId, flags, processId) "
          "VALUES(?1, ?2, ?3, 0, ?4)")),
      insert_nvprof_event_(database.prepare(
          "INSERT INTO CUPTI_ACTIVITY_KIND_EVENT(id, value, domain, correlationId, processId) "
          "VALUES(?1, ?2, 0, ?3, ?4)")) {}

bool MetricWriter::load_metrics(std::span<const std::byte> payload) {
  const auto info = wire::decode_metrics(payload);
  if (!info || info->metrics.size() < metrics_.size()) return false;
  for (std::size_t i = 0; i < metrics_.size(); ++i) {
    if (info->metrics[i].name != metrics_[i].name) return false;
  }
  metrics_.clear();
  Statement insert =
      database_.prepare("INSERT OR REPLACE INTO METRIC VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7)");
  for (const wire::MetricInfo& metric : info->metrics) {
    // nvprof gives up at an id it does not know, and takes a value's kind from the id.
    Metric known{.name = metric.name, .is_event = metric.is_event};
    const auto id = static_cast<std::int64_t>(metric.nvprof_id);
    if (const auto* theirs = schema::nvprof_metric(id); theirs && !metric.is_event) {
      known.nvprof_id = id;
      known.kind = theirs->kind;
    } else if (metric.is_event && id != 0 && schema::nvprof_event(id)) {
      known.nvprof_id = id;
      known.kind = schema::MetricKind::count;
    }
    metrics_.push_back(known);
    insert.bind(1, static_cast<std::int64_t>(metrics_.size()))
        .bind(2, metric.name)
        .bind(3, metric.unit)
        .bind(4, metric.description)
        .bind(5, metric.formula)
        .bind(7, std::int64_t{metric.is_event});
    bind_or_null(insert, 6, known.nvprof_id);
    insert.run();
  }
  insert = database_.prepare(
      "INSERT OR REPLACE INTO METRIC_GROUP VALUES(?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9)");
  for (const wire::GroupInfo& group : info->groups) {
    std::vector<std::string_view> names;
    for (const std::uint32_t metric : group.metrics) names.push_back(metrics_[metric - 1].name);
    insert.bind(1, std::int64_t{group.id})
        .bind(2, group.chip)
        .bind(3, group.mode)
        .bind(4, group.scope)
        .bind(5, group.cost_class)
        .bind(6, std::int64_t{group.passes})
        .bind(7, group.expected_us)
        .bind(8, joined(names, ", "))
        .bind(9, joined(group.counters, ", "))
        .run();
  }
  return true;
}

bool MetricWriter::load_values(RowContext& process, std::span<const std::byte> payload) {
  const auto values = wire::decode_metric_values(payload);
  if (!values) return false;
  const std::set<std::uint32_t> distinct(values->metrics.begin(), values->metrics.end());
  if (distinct.size() != values->metrics.size() || distinct.contains(0) ||
      (!distinct.empty() && *distinct.rbegin() > metrics_.size())) {
    return false;
  }
  const std::size_t count = values->metrics.size();
  for (std::size_t i = 0; i < values->ranges.size(); ++i) {
    const wire::MeasuredRange& range = values->ranges[i];
    if (range.wanted == 0) continue;
    const std::span<const double> row(values->values.data() + i * count, count);
    const bool complete =
        !row.empty() && std::ranges::none_of(row, [](double value) { return std::isnan(value); });
    const std::string_view note = range.note != 0 ? values->notes[range.note - 1]
                                  : complete      ? std::string_view()
                                                  : no_number;
    const std::int64_t correlation = process.correlation(range.correlation);
    const std::int64_t id = store_range(process, *values, range, correlation, note);
    for (std::size_t j = 0; j < count; ++j) {
      if (std::isnan(row[j])) continue;
      insert_value_.bind(1, id).bind(2, std::int64_t{values->metrics[j]}).bind(3, row[j]).run();
      const Metric& metric = metrics_[values->metrics[j] - 1];
      if (metric.nvprof_id != 0 && correlation != 0 && range.kind == wire::RangeKind::kernel) {
        store_for_nvprof(process, metric, correlation, row[j]);
      }
    }
  }
  return true;
}

std::int64_t MetricWriter::store_range(RowContext& process, const wire::MetricValues& values,
                                       const wire::MeasuredRange& range, std::int64_t correlation,
                                       std::string_view note) {
  insert_range_.bind(1, ++last_range_);
  bind_or_null(insert_range_, 2, correlation);
  insert_range_.bind(3, kind_names[static_cast<std::size_t>(range.kind)]);
  bind_or_null(insert_range_, 4, range.name ? string_id_(values.names[range.name - 1]) : 0);
  insert_range_.bind(5, process.process_id)
      .bind(6, std::int64_t{values.device})
      .bind(7, std::int64_t{values.context});
  bind_or_null(insert_range_, 8, range.stream);
  insert_range_.bind(9, static_cast<std::int64_t>(range.ordinal));
  const bool has_times = range.kind == wire::RangeKind::range;
  bind_or_null(insert_range_, 10, has_times ? range.start : 0);
  bind_or_null(insert_range_, 11, has_times ? range.end : 0);
  insert_range_.bind(12, std::int64_t{values.group});
  note.empty() ? insert_range_.bind_null(13) : insert_range_.bind(13, note);
  for (int i = 0; i < 3; ++i) {
    if (range.kind == wire::RangeKind::kernel) {
      insert_range_.bind(14 + i, std::int64_t{range.grid[i]});
      insert_range_.bind(17 + i, std::int64_t{range.block[i]});
    } else {
      insert_range_.bind_null(14 + i).bind_null(17 + i);
    }
  }
  insert_range_.run();
  return last_range_;
}

void MetricWriter::store_for_nvprof(const RowContext& process, const Metric& metric,
                                    std::int64_t correlation, double value) {
  const auto bits = schema::nvprof_bits(metric.kind, value);
  if (!bits) return;
  Statement& insert = metric.is_event ? insert_nvprof_event_ : insert_nvprof_metric_;
  insert.bind(1, metric.nvprof_id).bind(3, correlation).bind(4, process.process_id);
  if (metric.is_event) {
    insert.bind(2, static_cast<std::int64_t>(*bits));
  } else {
    insert.bind_blob(2, std::as_bytes(std::span(&*bits, 1)));
  }
  insert.run();
}

}  // namespace gpuprof::store
