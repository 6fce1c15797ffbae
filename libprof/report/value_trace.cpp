#include "libprof/report/value_trace.hpp"

#include <algorithm>
#include <map>

#include "libprof/base/printable.hpp"
#include "libprof/report/metrics.hpp"
#include "libprof/report/trace.hpp"

namespace gpuprof::report {
namespace {

constexpr std::size_t name_width = 20;

// A measure: its column, and the unit of throughputs.
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
    case MetricKind::count: column.quantity = Quantity::bits; break;
    case MetricKind::utilization:
    case MetricKind::unknown: break;
  }
  return column;
}

Cell to_cell(const ValueRow& row, const ValueColumn& values, const Column& column,
             const Output& output) {
  if (row.overflow) return "<OVERFLOW>";
  if (row.invalid) return "<INVALID>";
  const MetricKind kind = row.measure.kind();
  if (std::holds_alternative<std::monostate>(row.value)) return {};
  const auto* count = std::get_if<std::uint64_t>(&row.value);
  if (output.text()) {
    if (kind == MetricKind::percent) return std::get<double>(row.value);
    if (kind != MetricKind::throughput) {
      return value_text(kind, row.value, false, "", column.width);
    }
    return format_scaled(*count, values.scale,
                         {.width = column.width, .exponent_from = 10000, .whole = false});
  }
  if (!count) return std::get<double>(row.value);
  if (kind == MetricKind::utilization && output.csv()) {
    return value_text(kind, row.value, false, "");
  }
  if (kind == MetricKind::throughput && output.csv()) {
    return static_cast<double>(*count) * values.scale.factor;
  }
  return static_cast<std::int64_t>(*count);
}

// With metrics nvprof's table always has a line of units; by default they are the smallest ones.
class FixedUnit {
 public:
  FixedUnit(Output& output, bool metrics)
      : output_(output),
        unit_(output.unit()),
        base_(metrics && output.text() && unit_ == Unit::automatic) {
    if (base_) output.use(Unit::ns);
  }
  ~FixedUnit() { output_.use(unit_); }
  FixedUnit(const FixedUnit&) = delete;
  FixedUnit& operator=(const FixedUnit&) = delete;

  void apply(Column& column) const {
    if (!base_) return;
    if (column.quantity == Quantity::size) column.scale = size_scale(std::uint64_t{0});
    if (column.quantity == Quantity::speed) column.scale = speed_scale(std::uint64_t{0});
  }

 private:
  Output& output_;
  const Unit unit_;
  const bool base_;
};

// "k(void) [10]" -> "k(void)": nvprof omits the number here.
void drop_correlation(std::string& name, std::int64_t correlation_id) {
  const std::string number = " [" + std::to_string(correlation_id) + "]";
  if (name.ends_with(number)) name.resize(name.size() - number.size());
}

}  // namespace

void print_value_trace(Session& session, bool api) {
  Output& output = session.output();
  ValueColumns value_columns = read_columns(session);
  const bool metrics =
      std::ranges::any_of(value_columns, [](const auto& column) { return column.first.is_metric; });
  const FixedUnit unit(output, metrics);
  ValuesOfKernel values(session);
  Trace trace(session, {.gpu = true, .api = api});
  // For kernels alone, nvprof prints where they ran and what was measured.
  const bool kernels_alone = trace.kernels_alone();
  auto& fields = trace.columns();
  std::erase_if(fields, [&](const TraceColumn& each) {
    using enum TraceField;
    if (each.field == correlation_id) return output.text();
    return kernels_alone && !output.keyed() && each.field != device && each.field != context &&
           each.field != stream && each.field != name;
  });
  std::vector<Column> columns;
  std::size_t name = 0;
  for (const TraceColumn& each : fields) {
    columns.push_back(each.column);
    unit.apply(columns.back());
    if (each.field != TraceField::name) continue;
    name = columns.size() - 1;
    if (kernels_alone) columns.back().heading = "Kernel";
    columns.back().width = name_width;
  }
  for (auto& [measure, column] : value_columns) {
    column.place = columns.size();
    columns.push_back(to_column(measure, column));
  }

  Table table(output, api ? "trace" : "gpu_trace", columns);
  if (kernels_alone && !metrics) table.without_units();
  std::vector<Cell> cells(columns.size());
  bool any_row = false;
  while (trace.next()) {
    std::ranges::fill(cells, Cell());
    bool any = false;
    if (trace.is_kernel()) {
      values.find(trace.correlation_id(), [&](const ValueRow& row) {
        any = true;
        const ValueColumn& column = value_columns.at(row.measure);
        cells[column.place] = to_cell(row, column, columns[column.place], output);
      });
    }
    if (!any && kernels_alone) continue;
    std::ranges::copy(trace.cells(), cells.begin());
    auto* text = std::get_if<std::string>(&cells[name]);
    if (text && output.text()) {
      if (trace.is_kernel()) drop_correlation(*text, trace.correlation_id());
      *text = printable(*text);
      text->resize(std::min(text->size(), name_width));
    }
    table.row(cells);
    any_row = true;
  }
  // With API calls nvprof does not print this.
  const auto ignore = [](const MeasuredKernel&, const ValueRow&) {};
  if (!api && read_kernel_values(session, ignore, false) > 0) {
    output.warning(without_kernel_text);
  }
  if (!any_row) {
    output.line("No kernels were profiled.");
    if (output.keyed()) table.heading();
    return;
  }
  if (!kernels_alone) print_footnotes(output, fields);
}

}  // namespace gpuprof::report
