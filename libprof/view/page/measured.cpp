// Metric values of a launch.
#include <algorithm>
#include <map>

#include "libprof/report/metrics.hpp"
#include "libprof/view/model/labels.hpp"
#include "libprof/view/model/sections.hpp"
#include "libprof/view/page/report.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t most_values = 200;
// Limits of a report's table.
constexpr std::size_t most_metrics = 8, most_kernels = 12;

// Returns false if there is no more room.
bool add(Section& section, std::string name, std::string value) {
  if (section.rows.size() == most_values) {
    section.rows.push_back({"", "and more"});
    return false;
  }
  section.rows.push_back({std::move(name), std::move(value)});
  return true;
}

std::string text_of(const report::Measure& measure, const report::Value& value) {
  std::string text = report::value_text(measure.kind(), value, false, "-");
  if (!measure.unit().empty()) text += " " + std::string(measure.unit());
  return text;
}

// `row` must begin with name, unit, isEvent and nvprofId of METRIC.
std::string stored_text(const store::Statement& row, double value) {
  report::NamedMetric named{.name = std::string(row.text(0)),
                            .unit = std::string(row.text(1)),
                            .description = {},
                            .is_event = row.integer(2) != 0};
  named.kind = report::kind_of_metric(named.unit, named.is_event);
  report::Measure measure{.is_metric = !named.is_event, .id = row.integer(3)};
  if (row.is_null(3) || measure.kind() == schema::MetricKind::unknown) measure.named = &named;
  return text_of(measure, report::stored_value(measure.kind(), value));
}

bool has_ours(reading::Tables& tables) {
  return tables.has("METRIC_RANGE", "note") && tables.has("METRIC_VALUE", "value") &&
         tables.has("METRIC", "isEvent");
}

void read_ours(Subject& subject, Section& section) {
  if (!has_ours(subject.tables)) return;
  const std::string ranges =
      " FROM main.METRIC_RANGE AS r {} WHERE r.correlationId = ?1 AND (r.kind = 'graph' "
      "OR r.kind = 'kernel' AND (?2 = 0 OR coalesce(r.name, ?2) = ?2))";
  const auto from = [&](const std::string& joined) {
    std::string text = ranges;
    return text.replace(text.find("{}"), 2, joined);
  };
  auto values = subject.database.prepare(
      "SELECT m.name, m.unit, m.isEvent, m.nvprofId, v.value, r.kind = 'graph'" +
      from("CROSS JOIN main.METRIC_VALUE AS v ON v.range = r._id_ "
           "CROSS JOIN main.METRIC AS m ON m._id_ = v.metric") +
      " ORDER BY m._id_, r._id_ LIMIT " + std::to_string(most_values + 1));
  values.bind(1, subject.correlation).bind(2, subject.name);
  while (values.step()) {
    if (values.integer(5) != 0) section.title = "Metrics of the graph";
    if (!add(section, std::string(values.text(0)), stored_text(values, values.real(4)))) break;
  }
  auto note = subject.database.prepare("SELECT r.note" + from("") + " AND r.note NOT NULL LIMIT 1");
  if (note.bind(1, subject.correlation).bind(2, subject.name).step()) {
    section.rows.push_back({"missing", std::string(note.text(0))});
  }
}

// Values as stored in nvprof's files and older ones of gpuprof.
void read_nvprofs(Subject& subject, Section& section) {
  for (const report::ValueTable& table : report::kernel_value_tables) {
    const std::string name = reading::table_name(table.kind);
    if (table.is_ours || !subject.tables.has(name, "correlationId")) continue;
    std::string columns;
    for (const char* column : {"id", "value", "flags", "instance"}) {
      columns += (columns.empty() ? "" : ", ");
      columns += subject.tables.has(name, column) ? column : "0";
    }
    auto rows = subject.database.prepare("SELECT " + columns + " FROM main." + name +
                                         " WHERE correlationId = ?1 ORDER BY id LIMIT " +
                                         std::to_string(most_values + 1));
    rows.bind(1, subject.correlation);
    while (rows.step()) {
      const auto row = report::value_row(table, rows, 0);
      if (!row) continue;
      std::string measured = row->measure.name();
      if (table.has_instances) measured += " [" + std::to_string(row->measure.instance) + "]";
      if (!add(section, std::move(measured), text_of(row->measure, row->value))) return;
    }
  }
}

}  // namespace

Section read_metrics(Subject& subject) {
  Section section{.title = "Metrics", .rows = {}};
  if (subject.correlation == 0) return section;
  read_ours(subject, section);
  if (section.rows.empty()) read_nvprofs(subject, section);
  return section;
}

MetricTable read_metric_table(store::Database& database) {
  MetricTable table;
  reading::Tables tables(database);
  if (!has_ours(tables)) return table;
  std::map<std::int64_t, std::size_t> columns;  // by METRIC._id_
  auto metrics = database.prepare("SELECT _id_, name FROM main.METRIC ORDER BY _id_");
  while (metrics.step()) {
    if (table.metrics.size() == most_metrics) {
      ++table.metrics_left_out;
      continue;
    }
    columns.try_emplace(metrics.integer(0), table.metrics.size());
    table.metrics.emplace_back(metrics.text(1));
  }
  reading::Names names(database, reading::NameStyle::modern);
  Labels labels(tables);
  std::map<std::int64_t, std::size_t> rows;  // by name
  auto kernels = database.prepare(
      "SELECT coalesce(name, 0), count(*) FROM main.METRIC_RANGE WHERE kind = 'kernel' GROUP BY 1 "
      "ORDER BY 2 DESC, 1");
  while (kernels.step()) {
    if (table.kernels.size() == most_kernels) {
      ++table.kernels_left_out;
      continue;
    }
    const std::int64_t name = kernels.integer(0);
    rows.try_emplace(name, table.kernels.size());
    std::string label = labels.find(name).display;
    if (label.empty()) label = name ? names.kernel(name) : std::string("<unnamed>");
    table.kernels.push_back({.name = std::move(label),
                             .launches = 0,
                             .values = std::vector<std::string>(table.metrics.size())});
  }
  auto means = database.prepare(
      "SELECT m.name, m.unit, m.isEvent, m.nvprofId, m._id_, coalesce(r.name, 0), avg(v.value), "
      "count(*) "
      "FROM main.METRIC_RANGE AS r CROSS JOIN main.METRIC_VALUE AS v ON v.range = r._id_ "
      "CROSS JOIN main.METRIC AS m ON m._id_ = v.metric "
      "WHERE r.kind = 'kernel' GROUP BY 5, 6");
  while (means.step()) {
    const auto column = columns.find(means.integer(4));
    const auto row = rows.find(means.integer(5));
    if (column == columns.end() || row == rows.end()) continue;
    MetricTable::Kernel& kernel = table.kernels[row->second];
    kernel.values[column->second] = stored_text(means, means.real(6));
    kernel.launches = std::max(kernel.launches, means.integer(7));
  }
  return table;
}

Section read_sass_metrics(Subject& subject) {
  Section section{.title = "SASS metrics", .rows = {}};
  if (subject.correlation == 0 || !subject.tables.has("SASS_VALUE", "correlationId") ||
      !subject.tables.has("SASS_METRIC", "metric")) {
    return section;
  }
  auto rows = subject.database.prepare(
      "SELECT m.metric, CAST(v.value AS INTEGER) FROM (SELECT metricId, total(value) AS value "
      "FROM main.SASS_VALUE WHERE correlationId = ?1 GROUP BY metricId) AS v "
      "JOIN main.SASS_METRIC AS m ON m.id = v.metricId ORDER BY m.id LIMIT " +
      std::to_string(most_values + 1));
  rows.bind(1, subject.correlation);
  while (rows.step()) {
    if (!add(section, std::string(rows.text(0)), std::to_string(rows.integer(1)))) break;
  }
  return section;
}

}  // namespace gpuprof::view
