// "Event result" and "Metric result": event and metric values, aggregated by device and kernel.
#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include "libprof/report/all_reports.hpp"
#include "libprof/report/metrics.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::report {
namespace {

// The values of one measure.
struct Sum {
  std::int64_t values = 0;
  Value min, max;
  std::uint64_t total = 0;  // of counts
  double real_total = 0;
  double weighted = 0, weight = 0;  // weighted by the kernels' durations

  void add(const Value& value, std::int64_t duration) {
    min = values ? std::min(min, value) : value;
    max = values ? std::max(max, value) : value;
    ++values;
    if (const auto* real = std::get_if<double>(&value)) real_total += *real;
    if (const auto* count = std::get_if<std::uint64_t>(&value)) {
      total += *count;
      const auto time = static_cast<double>(std::max<std::int64_t>(duration, 0));
      weighted += static_cast<double>(*count) * time;
      weight += time;
    }
  }

  // A mean throughput is total bytes divided by total time.
  Value average(MetricKind kind) const {
    if (std::holds_alternative<std::monostate>(min)) return {};
    if (std::holds_alternative<double>(min)) return real_total / static_cast<double>(values);
    if (kind == MetricKind::throughput && weight > 0) {
      return static_cast<std::uint64_t>(std::min(weighted / weight, 18e18));
    }
    return total / static_cast<std::uint64_t>(values);
  }
};

using Sums = std::map<Measure, Sum>;

struct DeviceSums {
  Sums of_device;  // INSTANTANEOUS_*
  // By name string id, in order of first launch.
  std::vector<std::pair<std::int64_t, Sums>> of_kernels;
  std::map<std::int64_t, std::size_t> places;

  Sums& of_kernel(std::int64_t name) {
    const auto [place, is_new] = places.try_emplace(name, of_kernels.size());
    if (is_new) of_kernels.emplace_back(name, Sums());
    return of_kernels[place->second].second;
  }
};

struct Results {
  std::map<std::int64_t, DeviceSums> devices;
  bool overflow = false;
  bool invalid = false;
  std::int64_t without_kernel = 0;
};

Results read_results(Session& session, bool of_kernels) {
  Results results;
  const auto add = [&](Sums& sums, const ValueRow& row, std::int64_t duration) {
    results.overflow |= row.overflow;
    results.invalid |= row.invalid;
    if (!row.overflow && !row.invalid) sums[row.measure].add(row.value, duration);
  };
  if (of_kernels) {
    results.without_kernel =
        read_kernel_values(session, [&](const MeasuredKernel& kernel, const ValueRow& row) {
          add(results.devices[kernel.device].of_kernel(kernel.name), row, kernel.duration);
        });
  }
  read_device_values(session, [&](std::int64_t device, const ValueRow& row) {
    add(results.devices[device].of_device, row, 0);
  });
  return results;
}

// One measure of the whole device, or of all its instances.
using MetricLine = std::vector<const Sums::value_type*>;

const Measure& measure(const MetricLine& line) { return line.front()->first; }
const Sum& sum(const MetricLine& line) { return line.front()->second; }
bool has_instances(const MetricLine& line) { return measure(line).instance >= 0; }

std::string name(const MetricLine& line) {
  std::string name = measure(line).name();
  if (has_instances(line)) name += " (" + std::to_string(line.size()) + " instances)";
  return name;
}

std::int64_t invocations(const MetricLine& line) {
  std::int64_t most = 0;
  for (const auto* part : line) most = std::max(most, part->second.values);
  return most;
}

std::vector<MetricLine> lines_of(const Sums& sums, bool metrics) {
  std::vector<MetricLine> lines;
  for (const auto& part : sums) {
    if (part.first.is_metric != metrics) continue;
    const bool more = part.first.instance >= 0 && !lines.empty() && has_instances(lines.back()) &&
                      measure(lines.back()).id == part.first.id;
    if (!more) lines.emplace_back();
    lines.back().push_back(&part);
  }
  return lines;
}

std::string padded(std::string_view text, std::size_t width) {
  return std::string(width - std::min(width, text.size()), ' ').append(text);
}

std::string_view unit(const Measure& measure) {
  switch (measure.kind()) {
    case MetricKind::percent: return "percent";
    case MetricKind::throughput: return "bytes_per_second";
    case MetricKind::utilization: return "level_of_10";
    case MetricKind::unknown: return "unknown";
    default: return measure.unit();
  }
}

std::string in_quotes(std::string_view text) { return '"' + std::string(text) + '"'; }

// The events or metrics of all devices.
class ResultTable {
 public:
  ResultTable(Session& session, const Results& results, bool metrics)
      : session_(session), output_(session.output()), metrics_(metrics) {
    for (const auto& [id, device] : results.devices) {
      add(id, nullptr, device.of_device);
      for (const auto& [name, sums] : device.of_kernels) {
        add(id, &session.names().kernel(name), sums);
      }
    }
  }

  bool empty() const { return sections_.empty(); }

  void print() {
    output_.heading(metrics_ ? "Metric result:" : "Event result:");
    if (output_.keyed()) return print_json();
    output_.csv() ? print_csv() : print_text();
  }

 private:
  struct Section {
    std::int64_t device;
    const std::string* kernel;  // nullptr: values of the device
    std::vector<MetricLine> lines;
  };

  void add(std::int64_t device, const std::string* kernel, const Sums& sums) {
    auto lines = lines_of(sums, metrics_);
    if (!lines.empty()) sections_.push_back({device, kernel, std::move(lines)});
  }

  // Min, max, average, and an event's total; instances have only the average.
  std::vector<std::string> cells(const MetricLine& line) const {
    const bool csv = output_.csv();
    const MetricKind kind = measure(line).kind();
    const auto text = [&](const Value& value) {
      return value_text(kind, value, csv, csv ? "" : "-");
    };
    std::vector<std::string> cells;
    if (has_instances(line)) {
      std::string all;
      for (const auto* part : line) {
        const std::string one = text(part->second.average(kind));
        all += csv ? (all.empty() ? "" : ",") + one : " " + padded(one, 10);
      }
      cells = {text({}), text({}), csv ? in_quotes(all) : "[" + all + " ]"};
      if (!metrics_) cells.push_back(text({}));
      return cells;
    }
    cells = {text(sum(line).min), text(sum(line).max), text(sum(line).average(kind))};
    if (csv && kind == MetricKind::utilization)
      std::ranges::transform(cells, cells.begin(), in_quotes);
    if (!metrics_) cells.push_back(text(sum(line).total));
    return cells;
  }

  void print_text() {
    // One more than the longest name, but no less than the default width.
    std::size_t name_width = 40, description_width = 40;
    for (const Section& section : sections_) {
      for (const MetricLine& line : section.lines) {
        name_width = std::max(name_width, name(line).size() + 1);
        description_width = std::max(description_width, measure(line).description().size() + 1);
      }
    }
    const auto print = [&](std::string_view count, std::string_view name,
                           std::string_view description, const std::vector<std::string>& cells) {
      std::string line = padded(count, 11) + "  " + padded(name, name_width);
      if (metrics_) line += "  " + padded(description, description_width);
      for (const std::string& cell : cells) {
        // nvprof truncates the names of levels.
        const bool level = !cell.empty() && cell.back() == ')';
        line += "  " + padded(level ? cell.substr(0, 10) : cell, 10);
      }
      output_.line(line);
    };
    std::vector<std::string> headings{"Min", "Max", "Avg"};
    if (!metrics_) headings.emplace_back("Total");
    print("Invocations", metrics_ ? "Metric Name" : "Event Name", "Metric Description", headings);
    std::optional<std::int64_t> device;
    for (const Section& section : sections_) {
      if (device != section.device) {
        output_.line("Device " + in_quotes(session_.names().device(section.device)));
      }
      device = section.device;
      if (section.kernel) output_.line("    Kernel: " + *section.kernel);
      for (const MetricLine& line : section.lines) {
        print(std::to_string(invocations(line)), name(line), measure(line).description(),
              cells(line));
      }
    }
  }

  void print_csv() {
    const bool kernels =
        std::ranges::any_of(sections_, [](const Section& section) { return section.kernel; });
    output_.line(std::string(R"("Device",)")
                     .append(kernels ? R"("Kernel",)" : "")
                     .append(R"("Invocations",)")
                     .append(metrics_ ? R"("Metric Name","Metric Description","Min","Max","Avg")"
                                      : R"("Event Name","Min","Max","Avg","Total")"));
    for (const Section& section : sections_) {
      for (const MetricLine& line : section.lines) {
        std::string text = in_quotes(session_.names().device(section.device)) + ",";
        if (section.kernel) text += in_quotes(*section.kernel);
        if (kernels) text += ",";
        text += std::to_string(invocations(line)) + "," + in_quotes(name(line));
        if (metrics_) text += "," + in_quotes(measure(line).description());
        for (const std::string& cell : cells(line)) text += "," + cell;
        output_.line(text);
      }
    }
  }

  // One row per instance.
  void print_json() {
    const auto number = [](std::string key) {
      return Column{.heading = "", .quantity = Quantity::count, .key = std::move(key)};
    };
    Table table(output_, metrics_ ? "metric_results" : "event_results",
                {{.heading = "", .key = "device"},
                 {.heading = "", .key = "kernel"},
                 {.heading = "", .key = metrics_ ? "metric" : "event"},
                 {.heading = "", .key = metrics_ ? "description" : ""},
                 {.heading = "", .key = metrics_ ? "unit" : ""},
                 number("instance"),
                 number("invocations"),
                 number("min"),
                 number("max"),
                 number("avg"),
                 number(metrics_ ? "" : "total")});
    const auto cell = [](const Value& value) -> Cell {
      if (const auto* real = std::get_if<double>(&value)) return *real;
      if (const auto* count = std::get_if<std::uint64_t>(&value)) {
        return static_cast<std::int64_t>(*count);
      }
      return {};
    };
    for (const Section& section : sections_) {
      for (const MetricLine& line : section.lines) {
        for (const auto* part : line) {
          const auto& [measure, sum] = *part;
          table.row(
              std::vector<Cell>{session_.names().device(section.device),
                                section.kernel ? Cell(*section.kernel) : Cell(), measure.name(),
                                std::string(measure.description()), std::string(unit(measure)),
                                measure.instance >= 0 ? Cell(measure.instance) : Cell(), sum.values,
                                cell(sum.min), cell(sum.max), cell(sum.average(measure.kind())),
                                static_cast<std::int64_t>(sum.total)});
        }
      }
    }
  }

  Session& session_;
  Output& output_;
  bool metrics_;
  std::vector<Section> sections_;
};

void warn(Output& output, const Results& results) {
  constexpr std::string_view rerun = R"( Rerun with "--print-gpu-trace" for detail.)";
  const auto some = [&](std::string what) {
    output.warning("One or more events or metrics " + what.append(rerun));
  };
  if (results.overflow) some("overflowed.");
  if (results.invalid) some("can't be profiled.");
  if (results.without_kernel > 0) output.warning(without_kernel_text);
}

// A trace of GPU work has columns for the values instead of these tables.
void print_metric_results(Session& session) {
  if (session.chosen(gpu_trace.option) || !has_values(session)) return;
  session.values_printed = true;
  const bool of_kernels = has_kernel_values(session);
  const Results results = read_results(session, of_kernels);
  ResultTable events(session, results, false), metrics(session, results, true);
  if (!events.empty()) events.print();
  if (!events.empty() && !metrics.empty() && of_kernels) session.output().line();
  if (!metrics.empty()) metrics.print();
  warn(session.output(), results);
}

}  // namespace

extern const Report metric_results{
    .phase = Phase::values,
    .order = 1,
    .does = Printer{print_metric_results},
};

}  // namespace gpuprof::report
