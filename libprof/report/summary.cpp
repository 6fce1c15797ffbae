#include "libprof/report/summary.hpp"

#include <cmath>
#include <utility>

#include "libprof/base/percentiles.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::report {

void Total::add(const Total& other) {
  min = calls == 0 ? other.min : std::min(min, other.min);
  max = calls == 0 ? other.max : std::max(max, other.max);
  calls += other.calls;
  time = saturating_add(time, other.time);
  device_calls += other.device_calls;
  durations.insert(durations.end(), other.durations.begin(), other.durations.end());
}

void sort_by_time(std::vector<SummaryRow>& rows) {
  std::ranges::sort(rows, [](const SummaryRow& a, const SummaryRow& b) {
    return a.total.time != b.total.time ? a.total.time > b.total.time : a.name < b.name;
  });
}

namespace {

// Over all calls, not a sample.
std::int64_t deviation(const Total& total) {
  const double mean = static_cast<double>(total.time) / static_cast<double>(total.calls);
  double sum = 0;
  for (const std::int64_t duration : total.durations) {
    sum += (static_cast<double>(duration) - mean) * (static_cast<double>(duration) - mean);
  }
  return std::llround(std::min(std::sqrt(sum / static_cast<double>(total.calls)), 9e18));
}

// Merges the rows after the first `top` into one.
void cut(std::vector<SummaryRow>& rows, int top) {
  const auto keep = static_cast<std::size_t>(top);
  if (top == 0 || rows.size() <= keep) return;
  SummaryRow rest;
  for (std::size_t i = keep; i < rows.size(); ++i) rest.total.add(rows[i].total);
  rest.name = "(" + std::to_string(rows.size() - keep) + " more)";
  rows.resize(keep);
  rows.push_back(std::move(rest));
}

bool has_device_calls(Session& session) {
  return session.select("CDP_KERNEL", {"1"}, session.timed("CDP_KERNEL") + " LIMIT 1").step();
}

class SummaryTable {
 public:
  SummaryTable(Session& session, bool gpu)
      : session_(session), device_calls_(gpu && has_device_calls(session)) {
    columns_ = {{"Type", 16, Quantity::text, "", "type"},
                {"Time(%)", 7, Quantity::percent, "", "time_percent"},
                {"Time", 8, Quantity::time, "", "time_ns"}};
    if (device_calls_) {
      columns_.push_back({"Calls (host)", 12, Quantity::count, "", "calls_host"});
      columns_.push_back({"Calls (device)", 14, Quantity::count, "", "calls_device"});
    } else {
      columns_.push_back({"Calls", 8, Quantity::count, "", "calls"});
    }
    columns_.push_back({"Avg", 8, Quantity::time, "", "avg_ns"});
    columns_.push_back({"Min", 8, Quantity::time, "", "min_ns"});
    columns_.push_back({"Max", 8, Quantity::time, "", "max_ns"});
    if (session.options().statistics) {
      columns_.push_back({"Median", 8, Quantity::time, "", "median_ns"});
      columns_.push_back({"StdDev", 8, Quantity::time, "", "stddev_ns"});
      columns_.push_back({"P90", 8, Quantity::time, "", "p90_ns"});
      columns_.push_back({"P99", 8, Quantity::time, "", "p99_ns"});
    }
    columns_.push_back({"Name", 4, Quantity::text, "", "name"});
  }

  std::vector<Cell> row(const std::string& type, std::int64_t all, SummaryRow& row,
                        bool gpu) const {
    Total& total = row.total;
    const double percent =
        all == 0 ? 0 : 100.0 * static_cast<double>(total.time) / static_cast<double>(all);
    std::vector<Cell> cells;
    cells.emplace_back(type);
    cells.emplace_back(percent);
    cells.emplace_back(total.time);
    cells.emplace_back(total.calls - total.device_calls);
    const bool launchable = gpu && !is_transfer(row.name);
    if (device_calls_) launchable ? cells.emplace_back(total.device_calls) : cells.emplace_back();
    for (const std::int64_t value : {total.time / total.calls, total.min, total.max}) {
      cells.emplace_back(value);
    }
    if (session_.options().statistics) add_statistics(cells, total);
    cells.emplace_back(row.name);
    return cells;
  }

  const std::vector<Column>& columns() const { return columns_; }

 private:
  static void add_statistics(std::vector<Cell>& cells, Total& total) {
    if (static_cast<std::int64_t>(total.durations.size()) != total.calls) {
      cells.resize(cells.size() + 4);  // only sums are known in this section
      return;
    }
    const std::size_t count = total.durations.size();
    const auto at = [&](std::size_t place) { return at_place(total.durations, place); };
    for (const std::int64_t value : {median(count, at), deviation(total), percentile(count, 90, at),
                                     percentile(count, 99, at)}) {
      cells.emplace_back(value);
    }
  }

  Session& session_;
  bool device_calls_;
  std::vector<Column> columns_;
};

bool is_gpu(const SummarySection& section) { return section.label == "GPU activities"; }

// Text prints the label on the first row only, right-justified with a colon.
std::string label(const Output& output, const std::string& name, bool first) {
  if (!output.text()) return name;
  return first ? name + ":" : "";
}

}  // namespace

void print_sections(Session& session, std::vector<SummarySection> sections,
                    const std::optional<SummaryRow>& range) {
  Output& output = session.output();
  const SummaryTable summary(session, range || std::ranges::any_of(sections, is_gpu));
  std::vector<std::vector<std::vector<Cell>>> printed;  // by section
  Largest largest(summary.columns().size());
  bool any_row = false;
  for (SummarySection& section : sections) {
    sort_by_time(section.rows);
    std::int64_t all = 0;
    for (const SummaryRow& row : section.rows) all = saturating_add(all, row.total.time);
    cut(section.rows, session.options().top);
    auto& cells = printed.emplace_back();
    // nvprof chooses all units by the first section with rows; for a range, by its GPU work only.
    const bool is_first = is_gpu(section) || (!range && !any_row);
    any_row |= !section.rows.empty();
    for (SummaryRow& row : section.rows) {
      cells.push_back(
          summary.row(label(output, section.label, cells.empty()), all, row, is_gpu(section)));
      if (is_first) largest.add(cells.back());
    }
  }
  std::vector<Column> columns = summary.columns();
  largest.set_scales(columns, output);
  Table table(output, "summary", std::move(columns));
  if (range) {
    SummaryRow row = *range;
    // Only here, nvprof's CSV has the colon.
    table.row(summary.row(output.keyed() ? "Range" : "Range:", row.total.time, row, true));
  }
  for (std::size_t i = 0; i < sections.size(); ++i) {
    for (const auto& cells : printed[i]) table.row(cells);
    if (printed[i].empty() && !sections[i].nothing.empty()) output.line(sections[i].nothing);
  }
}

}  // namespace gpuprof::report
