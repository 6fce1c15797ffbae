// Values of metrics of a launch.
#include "libprof/report/metrics.hpp"
#include "libprof/view/sections.hpp"

namespace gpuprof::view {
namespace {

constexpr std::size_t most_values = 200;

// False: there is no room for more.
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

void read_ours(Subject& subject, Section& section) {
  if (!subject.tables.has("METRIC_RANGE", "note") || !subject.tables.has("METRIC_VALUE", "value") ||
      !subject.tables.has("METRIC", "isEvent")) {
    return;
  }
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
    report::NamedMetric named{.name = std::string(values.text(0)),
                              .unit = std::string(values.text(1)),
                              .description = {},
                              .is_event = values.integer(2) != 0};
    named.kind = report::kind_of_metric(named.unit, named.is_event);
    report::Measure measure{.is_metric = !named.is_event, .id = values.integer(3)};
    if (values.is_null(3) || measure.kind() == schema::MetricKind::unknown) measure.named = &named;
    const report::Value value = report::stored_value(measure.kind(), values.real(4));
    if (!add(section, named.name, text_of(measure, value))) break;
  }
  auto note = subject.database.prepare("SELECT r.note" + from("") + " AND r.note NOT NULL LIMIT 1");
  if (note.bind(1, subject.correlation).bind(2, subject.name).step()) {
    section.rows.push_back({"missing", std::string(note.text(0))});
  }
}

// As nvprof's files have them, and older ones.
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
