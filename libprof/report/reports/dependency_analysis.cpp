// nvprof's --dependency-analysis: critical-path time and waiting time by function or, with
// --print-dependency-analysis-trace, by record.
#include <algorithm>
#include <tuple>
#include <unordered_set>

#include "libprof/base/saturating.hpp"
#include "libprof/report/all_reports.hpp"
#include "libprof/report/dependency_reader.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::report {
namespace {

constexpr int critical_width = 13, waiting_width = 12;

std::vector<Column> columns_of_times(Scale scale) {
  return {{"Critical path", critical_width, Quantity::time, "", "critical_path_ns", scale},
          {"Waiting time", waiting_width, Quantity::time, "", "waiting_time_ns", scale},
          {"Name", 0, Quantity::text, "", "name"}};
}

// Text has six decimals where other tables have as many as fit.
Cell time_cell(const Output& output, std::int64_t time, Scale scale, int width) {
  if (!output.text()) return time;
  const auto value = static_cast<std::uint64_t>(time);
  if (Table::fixed_units(output)) {
    return format_scaled(value, scale, {.width = width, .exponent_from = 1000});
  }
  scale = time_scale(value);
  width -= static_cast<int>(scale.unit.size());
  return format_scaled(value, scale, {.width = width, .exponent_from = 1000}).append(scale.unit);
}

struct DependencyTotal {
  std::int64_t critical = 0, waiting = 0;
  bool occurs = false;
};

class ResultPrinter {
 public:
  ResultPrinter(Session& session, const DependencyReader& reader,
                const dependency::Analysis& analysis);
  void table();
  void trace();

 private:
  Session& session_;
  Output& output_;
  const DependencyReader& reader_;
  const dependency::Analysis& analysis_;
  std::vector<DependencyTotal> totals_;  // by label
  std::int64_t path_;                    // the whole path, ns
  std::int64_t longest_ = 0;
  Scale scale_;  // of critical-path and waiting time
};

ResultPrinter::ResultPrinter(Session& session, const DependencyReader& reader,
                             const dependency::Analysis& analysis)
    : session_(session),
      output_(session.output()),
      reader_(reader),
      analysis_(analysis),
      totals_(reader.labels.size()),
      path_(analysis.other()) {
  analysis.each([this](const dependency::DependencyRow& row) {
    DependencyTotal& total = totals_[row.label];
    total.critical = saturating_add(total.critical, row.critical);
    total.waiting = saturating_add(total.waiting, row.waiting);
    total.occurs = true;
    path_ = saturating_add(path_, row.critical);
    longest_ = std::max(longest_, saturating_subtract(row.end, row.start));
  });
  const bool chosen = output_.unit() != Unit::automatic && output_.unit() != Unit::column;
  scale_ = chosen ? time_scale(output_.unit()) : time_scale(static_cast<std::uint64_t>(path_));
}

void ResultPrinter::table() {
  struct Line {
    const DependencyLabel* label;
    DependencyTotal total;
  };
  static const DependencyLabel other{"<Other>", "<Other>"};
  std::vector<Line> lines;
  for (std::size_t i = 0; i < totals_.size(); ++i) {
    if (totals_[i].occurs) lines.push_back({&reader_.labels[i], totals_[i]});
  }
  lines.push_back({&other, {.critical = analysis_.other()}});
  std::ranges::sort(lines, std::greater<>(), [](const Line& line) {
    return std::tuple(line.total.critical, line.total.waiting, std::string_view(line.label->key));
  });
  const auto top = static_cast<std::size_t>(session_.options().top);
  if (top > 0 && lines.size() > top) lines.resize(top);

  std::vector<Column> columns = columns_of_times(scale_);
  columns.insert(columns.begin(),
                 {"Critical path(%)", 16, Quantity::percent, "", "critical_path_percent"});
  Table table(output_, "dependency_analysis", std::move(columns));
  for (const Line& line : lines) {
    const double percent =
        path_ == 0 ? 0
                   : 100.0 * static_cast<double>(line.total.critical) / static_cast<double>(path_);
    table.row(std::vector<Cell>{
        percent, time_cell(output_, line.total.critical, scale_, critical_width),
        time_cell(output_, line.total.waiting, scale_, waiting_width), line.label->name});
  }
}

// Starts are absolute, like nvprof's.
void ResultPrinter::trace() {
  std::vector<Column> columns = columns_of_times(scale_);
  columns.insert(columns.begin(), {{"Start", 8, Quantity::time, "", "start_ns"},
                                   {"Duration", 8, Quantity::time, "", "duration_ns"}});
  const bool chosen = output_.unit() != Unit::automatic && output_.unit() != Unit::column;
  // nvprof prints starts in ns, and waiting times in the unit of durations.
  columns[0].scale = chosen ? scale_ : time_scale(Unit::ns);
  columns[1].scale = chosen ? scale_ : time_scale(static_cast<std::uint64_t>(longest_));
  columns[3].scale = columns[1].scale;
  // Absolute starts have more digits than many JSON readers keep.
  const bool relative = output_.keyed();
  const std::int64_t zero = relative ? session_.zero() : 0;
  if (relative) columns.push_back({"", 0, Quantity::count, "", "relative_start_ns"});
  Table table(output_, "dependency_analysis_trace", columns);
  std::vector<Cell> cells(columns.size());
  analysis_.each([&](const dependency::DependencyRow& row) {
    cells[0] = row.start;
    cells[1] = saturating_subtract(row.end, row.start);
    cells[2] = time_cell(output_, row.critical, scale_, critical_width);
    cells[3] = time_cell(output_, row.waiting, columns[3].scale, waiting_width);
    cells[4] = reader_.labels[row.label].name;
    if (relative) cells[5] = saturating_subtract(row.start, zero);
    table.row(cells);
  });
}

void warn(Session& session, const DependencyReader& reader) {
  const bool threads = std::ranges::any_of(
      reader.processes, [](const auto& entry) { return entry.second.timeline.threads > 1; });
  if (!threads) return;
  if (reader.ours) {
    session.output().warning(
        "Several threads call CUDA. What they wait for among themselves is not recorded, so the "
        "dependency analysis may be inaccurate.");
  } else {
    session.output().warning(
        "",
        "The application seems to be multi-threaded but the thread API has not been recorded.\n"
        "Analysis may be inaccurate. Use '--cpu-thread-tracing on' for measurement when "
        "available.");
  }
}

// Whether a call launched work into a stream that has no row.
bool lacks_stream(const DependencyProcess& process) {
  const auto unlisted = [&](const dependency::Work& work) {
    return work.stream >= process.listed_streams;
  };
  if (std::ranges::none_of(process.timeline.work, unlisted)) return false;
  std::unordered_set<std::int64_t> calls;
  for (const dependency::Call& call : process.timeline.calls) calls.insert(call.correlation);
  return std::ranges::any_of(process.timeline.work, [&](const dependency::Work& work) {
    return unlisted(work) && calls.contains(work.correlation);
  });
}

void print_dependency_analysis(Session& session) {
  Output& output = session.output();
  output.line();
  output.heading("Dependency Analysis:");
  DependencyReader reader(session);
  warn(session, reader);
  std::erase_if(reader.processes,
                [](const auto& entry) { return entry.second.timeline.calls.empty(); });
  const bool fails = !reader.ours && std::ranges::any_of(reader.processes, [](const auto& entry) {
    return lacks_stream(entry.second);
  });
  if (fails) {
    output.heading("");
    output.error(
        "The dependency analysis failed with an error: Streams for non-CDP activities must have "
        "prior stream record.");
    return;
  }
  const bool several = reader.processes.size() > 1;
  std::int64_t unknown_events = 0;
  for (auto& [id, process] : reader.processes) {
    output.progress("analysing dependencies");
    const dependency::Analysis analysis(std::move(process.timeline), reader.roles);
    unknown_events += analysis.unknown_events();
    if (several) {
      output.heading("Process " + std::to_string(id));
      output.context({{"process_id", std::to_string(id)}});
    }
    ResultPrinter printer(session, reader, analysis);
    if (session.chosen(dependency_trace.option)) {
      printer.trace();
    } else {
      printer.table();
    }
  }
  output.context({});
  if (unknown_events > 0 && reader.ours) {
    output.warning(std::to_string(unknown_events) +
                   " waits for CUDA events are left out of the dependency analysis: the file has "
                   "no records of the events. Record with --trace +cuda-event.");
  }
}

}  // namespace

extern const Report dependency_analysis{
    .option = "dependency-analysis",
    .help = "Time on the critical path and waiting time, by function",
    .phase = Phase::extra,
    .order = 5,
    .top = true,
    .collected = {.dependencies = true},
    .does = Printer{print_dependency_analysis},
};

}  // namespace gpuprof::report
