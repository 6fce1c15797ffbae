// --print-pm-sampling: counters of whole devices over time, and during ranges and kernels.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include "libprof/base/text.hpp"
#include "libprof/report/bars.hpp"
#include "libprof/report/code_places.hpp"
#include "libprof/report/pm_samples.hpp"
#include "libprof/report/report.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::report {
namespace {

constexpr std::size_t chart_width = 40;

// A device, range or kernel, with one line per metric that has values.
struct PmSampleLine {
  std::size_t metric = 0;
  PmStatistics statistics;
  std::vector<double> means = {};  // over time; devices only
};

struct Device {
  std::int64_t samples = 0;  // of the metric that has the most
  std::int64_t time = 0;     // ns covered by samples
  std::int64_t span = 0;     // ns from the first to the last
  std::vector<PmSampleLine> lines = {};
};

struct Group {
  PmGroup group;
  std::vector<PmSampleLine> lines = {};
};

struct Result {
  std::vector<PmMetric> metrics;
  std::map<std::int64_t, Device> devices;
  std::vector<Group> ranges, kernels;
  std::size_t more_ranges = 0, more_kernels = 0;  // how many are omitted
  std::map<std::int64_t, PmGaps> gaps;
};

// Moves at most `most` groups; returns how many remain.
std::size_t take(std::vector<Group>& groups, std::vector<PmGroup> found, std::size_t most) {
  const std::size_t count = std::min(found.size(), most);
  for (std::size_t i = 0; i < count; ++i) groups.push_back({.group = std::move(found[i])});
  return found.size() - count;
}

void add_line(std::vector<PmSampleLine>& lines, std::size_t metric,
              std::vector<WeightedValue> values) {
  if (const auto statistics = pm_statistics(values)) lines.push_back({metric, *statistics});
}

void add_device(Device& device, std::size_t metric, const PmValues& values) {
  if (values.empty()) return;
  std::vector<WeightedValue> weighted;
  std::int64_t time = 0;
  for (const PmValue& each : values) {
    weighted.push_back({each.value, static_cast<double>(each.stop - each.start)});
    time += each.stop - each.start;
  }
  if (std::ssize(values) > device.samples) {
    device.samples = std::ssize(values);
    device.time = time;
    device.span = values.back().stop - values.front().start;
  }
  add_line(device.lines, metric, std::move(weighted));
  if (!device.lines.empty() && device.lines.back().metric == metric) {
    device.lines.back().means = means_over_time(values, chart_width);
  }
}

Result read_pm_sampling(Session& session) {
  Result result;
  result.metrics = pm_metrics(session);
  const bool all = !session.output().text() && session.options().top == 0;
  const std::size_t most = all ? SIZE_MAX : most_rows(session);
  result.more_ranges = take(result.ranges, pm_ranges(session), most);
  result.more_kernels = take(result.kernels, pm_kernels(session), most);
  result.gaps = pm_gaps(session);
  for (std::size_t metric = 0; metric < result.metrics.size(); ++metric) {
    auto devices = read_pm_values(session, result.metrics[metric]);
    for (const auto& [id, values] : devices) add_device(result.devices[id], metric, values);
    for (Group& range : result.ranges) {
      const PmValues& values = devices[range.group.device];
      add_line(range.lines, metric, values_within(values, range.group.intervals));
    }
    auto kernels = read_pm_kernels(session, result.metrics[metric]);
    for (Group& kernel : result.kernels) {
      add_line(kernel.lines, metric, std::move(kernels[{kernel.group.device, kernel.group.name}]));
    }
  }
  std::erase_if(result.ranges, [](const Group& range) { return range.lines.empty(); });
  return result;
}

std::string ns(std::int64_t time) {
  return format_time(time < 0 ? 0 : static_cast<std::uint64_t>(time));
}

// "12 gaps (missing 10, overflow 2) of 1.2000ms, of 3 the length is not known".
std::string told(const PmGaps& gaps) {
  std::string reasons;
  for (const auto& [reason, count] : gaps.by_reason) {
    reasons += (reasons.empty() ? "" : ", ") + reason + " " + std::to_string(count);
  }
  std::string text = count_of(gaps.count, "gap") + " (" + reasons + ")";
  if (gaps.unknown < gaps.count) text += " of " + ns(gaps.time);
  if (gaps.unknown > 0) {
    text += gaps.unknown == gaps.count
                ? ", of unknown length"
                : ", " + std::to_string(gaps.unknown) + " of them of unknown length";
  }
  return text;
}

std::string range_name(Session& session, const PmGroup& group) {
  const std::string name = session.names().text(group.name);
  return name.empty() ? "<no name>" : name;
}

// ---- Text

// "12.34%", "2.0855T": prefixes are powers of 1000.
std::string sample_text(double value, const std::string& unit) {
  if (unit == "%") return format_percent(value);
  std::size_t thousands = 0;
  constexpr std::string_view prefixes = " KMGTPE";
  while (std::abs(value) >= 1000 && thousands + 1 < prefixes.size()) {
    value /= 1000;
    ++thousands;
  }
  char text[32];
  std::snprintf(text, sizeof text, "%.5g", value);
  return thousands > 0 ? std::string(text) + prefixes[thousands] : text;
}

class PmSampleText {
 public:
  PmSampleText(Session& session, const Result& result)
      : session_(session), output_(session.output()), result_(result) {}

  void print() {
    output_.heading("PM sampling result:");
    for (const auto& [id, device] : result_.devices) print(id, device);
    for (const auto& [id, gaps] : result_.gaps) {
      if (!result_.devices.contains(id)) {
        output_.line("Device \"" + session_.names().device(id) + "\": " + told(gaps));
      }
    }
    print_groups("By NVTX range, from the first to the last of the work asked for in it:",
                 result_.ranges, result_.more_ranges, "range",
                 [&](const PmGroup& group) { return range_name(session_, group); });
    print_groups("By kernel, of those long enough for a sample, weighted by their time:",
                 result_.kernels, result_.more_kernels, "kernel",
                 [&](const PmGroup& group) { return session_.names().kernel(group.name); });
  }

 private:
  void print(std::int64_t id, const Device& device) {
    std::string line = "Device \"" + session_.names().device(id) +
                       "\": " + count_of(device.samples, "sample") + " of " + ns(device.time) +
                       " in " + ns(device.span);
    const auto gaps = result_.gaps.find(id);
    output_.line(line + (gaps == result_.gaps.end() ? ", no gaps" : ", " + told(gaps->second)));
    print_lines(device.lines, true);
  }

  template <class Name>
  void print_groups(const std::string& heading, const std::vector<Group>& groups, std::size_t more,
                    const std::string& what, Name name) {
    if (groups.empty()) return;
    output_.line();
    output_.heading(heading);
    for (const Group& each : groups) {
      const PmGroup& group = each.group;
      output_.line(name(group));
      output_.line("  " + count_of(group.count, what) + " on " +
                   session_.names().device(group.device) + ", " + ns(group.time));
      print_lines(each.lines, false);
    }
    say_of_the_rest(output_, more, 0, "names", "names");
  }

  void print_lines(const std::vector<PmSampleLine>& lines, bool charts) {
    std::string heading;
    for (const char* name : {"Mean", "Max", "50%", "90%", "99%"}) {
      heading += "  " + right_aligned(name, width);
    }
    if (charts) heading += "  Over time" + std::string(chart_width - 9, ' ');
    output_.line(heading + "  Metric");
    for (const PmSampleLine& line : lines) {
      const PmMetric& metric = result_.metrics[line.metric];
      const PmStatistics& s = line.statistics;
      std::string text;
      for (const double value : {s.mean, s.max, s.p50, s.p90, s.p99}) {
        text += "  " + right_aligned(sample_text(value, metric.unit), width);
      }
      if (charts) text += "  " + chart_of(line, metric.unit == "%" ? 100 : s.max);
      const bool shown = metric.unit.empty() || metric.unit == "%";
      output_.line(text + "  " + metric.name + (shown ? "" : " [" + metric.unit + "]"));
    }
  }

  // Scaled from 0 to `highest`.
  std::string chart_of(const PmSampleLine& line, double highest) const {
    std::vector<double> heights = line.means;
    for (double& height : heights) {
      if (!std::isnan(height)) height = highest > 0 ? height / highest : 0;
    }
    return chart(heights, session_.options().blocks);
  }

  static constexpr std::size_t width = 10;

  Session& session_;
  Output& output_;
  const Result& result_;
};

// ---- CSV and JSON

// The trailing columns and cells of all tables.
void add_columns(std::vector<Column>& columns) {
  columns.push_back({.heading = "Metric", .key = "metric"});
  columns.push_back({.heading = "Unit", .key = "unit"});
  for (const char* key : {"mean", "max", "p50", "p90", "p99"}) {
    columns.push_back({.heading = key, .quantity = Quantity::real, .key = key});
  }
}

void add_cells(std::vector<Cell>& row, const PmMetric& metric, const PmStatistics& statistics) {
  row.emplace_back(metric.name);
  row.push_back(metric.unit.empty() ? Cell() : Cell(metric.unit));
  for (const double value :
       {statistics.mean, statistics.max, statistics.p50, statistics.p90, statistics.p99}) {
    row.emplace_back(value);
  }
}

class PmSampleRows {
 public:
  PmSampleRows(Session& session, const Result& result)
      : session_(session), output_(session.output()), result_(result) {}

  void print() {
    output_.heading("PM sampling result:");
    print_devices();
    print_gaps();
    print_groups("pm_ranges", "Range", "range", "ranges", result_.ranges,
                 [&](const PmGroup& group) { return range_name(session_, group); });
    print_groups("pm_kernels", "Kernel", "kernel", "kernels", result_.kernels,
                 [&](const PmGroup& group) { return session_.names().kernel(group.name); });
  }

 private:
  static Column text(std::string heading, std::string key) {
    return {.heading = std::move(heading), .key = std::move(key)};
  }
  static Column count(std::string heading, std::string key) {
    return {.heading = std::move(heading), .quantity = Quantity::count, .key = std::move(key)};
  }
  static Column time(std::string key) {
    return {.heading = "Time", .quantity = Quantity::time, .key = std::move(key)};
  }

  void print_devices() {
    std::vector<Column> columns{text("Device", "device"), count("Samples", "samples"),
                                time("time_ns")};
    add_columns(columns);
    std::vector<std::vector<Cell>> rows;
    for (const auto& [id, device] : result_.devices) {
      for (const PmSampleLine& line : device.lines) {
        rows.push_back({session_.names().device(id), device.samples, device.time});
        add_cells(rows.back(), result_.metrics[line.metric], line.statistics);
      }
    }
    print_table(output_, "pm_samples", std::move(columns), rows);
  }

  void print_gaps() {
    std::vector<std::vector<Cell>> rows;
    for (const auto& [id, gaps] : result_.gaps) {
      rows.push_back({session_.names().device(id), gaps.count, gaps.unknown, gaps.time});
    }
    if (rows.empty()) return;
    print_table(output_, "pm_gaps",
                {text("Device", "device"), count("Gaps", "gaps"),
                 count("Of unknown length", "of_unknown_length"), time("time_ns")},
                rows);
  }

  template <class Name>
  void print_groups(const char* table, const char* heading, const char* key, const char* counted,
                    const std::vector<Group>& groups, Name name) {
    std::vector<Column> columns{text("Device", "device"), text(heading, key),
                                count("Count", counted), time("time_ns")};
    add_columns(columns);
    std::vector<std::vector<Cell>> rows;
    for (const Group& each : groups) {
      for (const PmSampleLine& line : each.lines) {
        rows.push_back({session_.names().device(each.group.device), name(each.group),
                        each.group.count, each.group.time});
        add_cells(rows.back(), result_.metrics[line.metric], line.statistics);
      }
    }
    if (!rows.empty()) print_table(output_, table, std::move(columns), rows);
  }

  Session& session_;
  Output& output_;
  const Result& result_;
};

void print_pm_sampling(Session& session) {
  const Result result = read_pm_sampling(session);
  if (result.devices.empty() && result.gaps.empty()) {
    session.output().heading("No PM samples are in the profile; --pm-sampling collects them.");
    return;
  }
  session.output().text() ? PmSampleText(session, result).print()
                          : PmSampleRows(session, result).print();
}

}  // namespace

extern const Report pm_sampling{
    .option = "print-pm-sampling",
    .help =
        "PM samples: counters of the GPUs over time\n"
        "Mean, maximum and percentiles by time: of the whole run, while the work of NVTX ranges "
        "ran, and of kernels; of ranges and "
        "kernels those with the most time: 10, or --top. What else ran meanwhile counts too.",
    .ours = true,
    .phase = Phase::extra,
    .order = 3,
    .top = true,
    .collected = {.pm_samples = true},
    .does = Printer{print_pm_sampling},
};

}  // namespace gpuprof::report
