#include "libprof/report/value_trace.hpp"

#include <algorithm>
#include <map>

#include "libprof/base/printable.hpp"
#include "libprof/report/metrics.hpp"
#include "libprof/report/trace.hpp"

namespace gpuprof::report {
namespace {

constexpr std::size_t name_width = 20;

// What was measured: its column, and the unit of throughputs.
struct ValueColumn {
  std::size_t place = 0;
  std::uint64_t largest = 0;
  Scale scale = {};
};
using ValueColumns = std::map<Measure, ValueColumn>;

ValueColumns read_columns(Session& session) {
  ValueColumns columns;
  session.output().progress("reading values of events and metrics");
  scan_kernel_values(session, [&](const ValueRow& row) {
    ValueColumn& column = columns[row.measure];
    const auto* count = std::get_if<std::uint64_t>(&row.value);
    if (count && !row.overflow && !row.invalid) column.largest = std::max(column.largest, *count);
  });
  for (auto& [measure, column] : columns) {
    column.scale = measure.kind() == MetricKind::throughput ? speed_scale(column.largest)
                                                            : Scale{.unit = measure.unit()};
  }
  return columns;
}

Column to_column(const Measure& measure, const ValueColumn& values) {
  const bool whole_device = measure.instance < 0;
  const std::string instance = std::to_string(measure.instance);
  Column column{.heading = measure.name() + (whole_device ? "" : " (" + instance + ")"),
                .key = measure.name() + (whole_device ? "" : "_" + instance),
                .scale = values.scale};
  column.width = static_cast<int>(std::max<std::size_t>(column.heading.size(), 10));
  switch (measure.kind()) {
    case MetricKind::percent: column.quantity = Quantity::percent; break;
    case MetricKind::real:
    case MetricKind::throughput: column.quantity = Quantity::real; break;
    case MetricKind::count: column.quantity = Quantity::count; break;
    case MetricKind::utilization:
    case MetricKind::unknown: break;
  }
  return column;
}

Cell to_cell(const ValueRow& row, const ValueColumn& column, bool json) {
  if (row.overflow) return "<OVERFLOW>";
  if (row.invalid) return "<INVALID>";
  if (const auto* real = std::get_if<double>(&row.value)) return *real;
  const auto* count = std::get_if<std::uint64_t>(&row.value);
  if (!count) return {};
  const MetricKind kind = row.measure.kind();
  if (kind == MetricKind::utilization && !json) return value_text(kind, row.value, false, "");
  if (kind == MetricKind::throughput && !json) {
    return static_cast<double>(*count) * column.scale.factor;
  }
  return static_cast<std::int64_t>(*count);
}

// nvprof's table has a line of units in any case; times are in ns, if no other unit was chosen.
class FixedUnit {
 public:
  explicit FixedUnit(Output& output) : output_(output), unit_(output.unit()) {
    if (output.text() && unit_ == Unit::automatic) output.use(Unit::ns);
  }
  ~FixedUnit() { output_.use(unit_); }
  FixedUnit(const FixedUnit&) = delete;
  FixedUnit& operator=(const FixedUnit&) = delete;

 private:
  Output& output_;
  const Unit unit_;
};

}  // namespace

void print_value_trace(Session& session, bool api) {
  Output& output = session.output();
  const FixedUnit unit(output);
  ValueColumns value_columns = read_columns(session);
  ValuesOfKernel values(session);
  Trace trace(session, {.gpu = true, .api = api});
  auto& fields = trace.columns();
  std::erase_if(fields, [&](const TraceColumn& each) {
    using enum TraceField;
    if (each.field == correlation_id) return output.text();
    return !api && !output.json() && each.field != device && each.field != context &&
           each.field != stream && each.field != name;
  });
  std::vector<Column> columns;
  std::size_t name = 0;
  for (const TraceColumn& each : fields) {
    columns.push_back(each.column);
    if (each.field != TraceField::name) continue;
    name = columns.size() - 1;
    if (!api) columns.back().heading = "Kernel";
    columns.back().width = name_width;
  }
  for (auto& [measure, column] : value_columns) {
    column.place = columns.size();
    columns.push_back(to_column(measure, column));
  }

  Table table(output, api ? "trace" : "gpu_trace", columns);
  std::vector<Cell> cells(columns.size());
  bool any_row = false;
  while (trace.next()) {
    std::ranges::fill(cells, Cell());
    bool any = false;
    if (trace.is_kernel()) {
      values.find(trace.correlation_id(), [&](const ValueRow& row) {
        any = true;
        const ValueColumn& column = value_columns.at(row.measure);
        cells[column.place] = to_cell(row, column, output.json());
      });
    }
    if (!any && !api) continue;
    std::ranges::copy(trace.cells(), cells.begin());
    auto* text = std::get_if<std::string>(&cells[name]);
    if (text && output.text()) {
      *text = printable(*text);
      text->resize(std::min(text->size(), name_width));
    }
    table.row(cells);
    any_row = true;
  }
  if (!any_row) {
    output.line("No kernels were profiled.");
    if (output.json()) table.heading();
    return;
  }
  if (api) print_footnotes(output, fields);
}

}  // namespace gpuprof::report
