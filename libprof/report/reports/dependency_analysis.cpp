// nvprof's --dependency-analysis: time on the critical path and waiting time, by function or, with
// --print-dependency-analysis-trace, of each record.
#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "libprof/base/saturating.hpp"
#include "libprof/report/all_reports.hpp"
#include "libprof/report/dependency.hpp"
#include "libprof/report/table.hpp"

namespace gpuprof::report {
namespace {

using dependency::Returns;
using dependency::Role;
using dependency::Waits;

constexpr std::int64_t none = 4294967295;  // CUPTI_SYNCHRONIZATION_INVALID_VALUE

Role role_of(std::string_view function) {
  const std::string_view name = without_version(function);
  // That the last two wait is not documented; seen on an H100.
  for (const std::string_view frees : {"cudaFree", "cuMemFree", "cudaFreeHost", "cuMemFreeHost"}) {
    if (name == frees) return Role::frees;
  }
  if (name == "cudaDeviceSynchronize" || name == "cudaThreadSynchronize" ||
      name == "cuCtxSynchronize") {
    return Role::synchronizes_context;
  }
  for (const std::string_view copy : {"cudaMemcpy", "cuMemcpy", "cudaMemset", "cuMemset"}) {
    if (!name.starts_with(copy)) continue;
    return name.find("Async") == name.npos ? Role::copy : Role::async_copy;
  }
  return Role::other;
}

// "API synchronization behavior" of CUDA's documentation; kinds are CUpti_ActivityMemcpyKind and
// CUpti_ActivityMemoryKind. An upload from pageable memory waits for what its stream did before,
// and then the call itself copies: it is taken for busy all the time, as by nvprof.
Returns copy_returns(std::int64_t copy_kind, std::int64_t from, std::int64_t to, bool async) {
  constexpr std::int64_t unknown = 0, pageable = 1;
  switch (copy_kind) {
    case 1:  // host to device, host to array
    case 3:
      return async || from == pageable || from == unknown ? Returns::at_once : Returns::after_it;
    case 2:  // device to host, array to host
    case 4:
      if (to == pageable) return Returns::after_it_always;
      return async ? Returns::at_once : Returns::after_it;
    case 9: return Returns::after_it_always;  // host to host
    default: return Returns::at_once;
  }
}

Returns set_returns(std::int64_t memory_kind, bool async) {
  constexpr std::int64_t pinned = 2, managed = 5;
  const bool waits = memory_kind == pinned || memory_kind == managed;
  return waits && !async ? Returns::after_it : Returns::at_once;
}

// A row of the summary. nvprof orders what ties by `key`, a kernel's mangled name.
struct Label {
  std::string key, name;
};

struct Process {
  dependency::Timeline timeline;
  std::map<std::int64_t, std::int32_t> threads, contexts;
  std::map<std::pair<std::int32_t, std::int64_t>, std::int32_t> streams;
  std::int32_t listed_streams = 0;  // with a row of their own; the others come behind them
};

// Reads the records of all processes.
class Reader {
 public:
  explicit Reader(Session& session);

  std::map<std::int64_t, Process> processes;
  std::vector<Label> labels;
  std::vector<Role> roles;  // of labels
  // A file of gpuprof: it has the process of each record, and may lack rows for streams.
  const bool ours;

 private:
  Process& process(std::int64_t id) { return processes[ours ? id : 0]; }
  static std::int32_t number(std::map<std::int64_t, std::int32_t>& numbers, std::int64_t id,
                             std::int32_t& count);
  std::int32_t context(Process& process, std::int64_t id);
  std::int32_t stream(Process& process, std::int64_t context_id, std::int64_t id);
  std::uint32_t label(std::string key, std::string name);
  std::uint32_t call_label(std::string name);
  std::uint32_t kernel_label(std::int64_t string_id);
  void add(const store::Statement& row, std::uint32_t label, Returns returns);

  void read_streams();
  void read_calls(std::string_view kind, ApiDomain domain);
  void read_kernels(std::string_view kind);
  void read_nested_kernels();
  void read_copies(std::string_view kind);
  void read_sets();
  void read_synchronizations();
  void read_events();

  Session& session_;
  const std::string window_;  // WHERE clause: the time window, of all devices and kernels
  std::unordered_map<std::int64_t, std::uint32_t> kernel_labels_;
  std::unordered_map<std::string, std::uint32_t> call_labels_;
  struct Grid {
    std::int64_t process, correlation;
    std::int32_t stream;
  };
  std::unordered_map<std::int64_t, Grid> grids_;  // if there are nested kernels
  const bool nested_;
};

Reader::Reader(Session& session)
    : ours(session.database().has_table("STATISTIC")),
      session_(session),
      window_("WHERE " + session.filter("RUNTIME")),
      nested_(session.has_rows("CDP_KERNEL")) {
  read_streams();
  read_calls("RUNTIME", ApiDomain::runtime);
  read_calls("DRIVER", ApiDomain::driver);
  read_kernels("KERNEL");
  read_kernels("CONCURRENT_KERNEL");
  if (nested_) read_nested_kernels();
  read_copies("MEMCPY");
  read_copies("MEMCPY2");
  read_sets();
  read_synchronizations();
  read_events();
}

std::int32_t Reader::number(std::map<std::int64_t, std::int32_t>& numbers, std::int64_t id,
                            std::int32_t& count) {
  const auto [place, is_new] = numbers.try_emplace(id, count);
  count += is_new;
  return place->second;
}

std::int32_t Reader::context(Process& process, std::int64_t id) {
  return number(process.contexts, id, process.timeline.contexts);
}

// One of which there is no row is taken for a blocking stream.
std::int32_t Reader::stream(Process& process, std::int64_t context_id, std::int64_t id) {
  const std::int32_t context = this->context(process, context_id);
  std::vector<dependency::Stream>& streams = process.timeline.streams;
  const auto [place, is_new] =
      process.streams.try_emplace({context, id}, static_cast<std::int32_t>(streams.size()));
  if (is_new) streams.push_back({.context = context});
  return place->second;
}

std::uint32_t Reader::label(std::string key, std::string name) {
  labels.push_back({std::move(key), std::move(name)});
  roles.push_back(Role::other);
  return static_cast<std::uint32_t>(labels.size() - 1);
}

std::uint32_t Reader::kernel_label(std::int64_t string_id) {
  const auto [place, is_new] = kernel_labels_.try_emplace(string_id);
  if (is_new) {
    const std::string& name = session_.names().kernel(string_id);
    // One without a name is counted as such by the line above.
    const bool nameless = name.starts_with("<kernel name");
    place->second = label(nameless ? name : session_.names().text(string_id), name);
  }
  return place->second;
}

std::uint32_t Reader::call_label(std::string name) {
  const Role role = role_of(name);
  if (name.ends_with("_v3020")) name.resize(name.size() - 6);  // as nvprof does here
  const auto [place, is_new] = call_labels_.try_emplace(name);
  if (is_new) {
    place->second = label(name, name);
    roles.back() = role;
  }
  return place->second;
}

void Reader::read_streams() {
  constexpr std::int64_t non_blocking = 2, null_stream = 3;  // CUpti_ActivityStreamFlag
  auto rows = session_.select("STREAM", {"processId", "contextId", "streamId", "flag"});
  while (rows.step()) {
    Process& process = this->process(rows.integer(0));
    const std::int32_t index = stream(process, rows.integer(1), rows.integer(2));
    dependency::Stream& stream = process.timeline.streams[static_cast<std::size_t>(index)];
    stream.null = rows.integer(3) == null_stream;
    stream.blocking = !stream.null && rows.integer(3) != non_blocking;
    process.listed_streams = static_cast<std::int32_t>(process.streams.size());
  }
}

void Reader::read_calls(std::string_view kind, ApiDomain domain) {
  session_.output().progress("reading API calls");
  std::unordered_map<std::int64_t, std::uint32_t> functions;
  auto rows = session_.select(
      kind, {"processId", "threadId", "start", "end", "correlationId", "cbid"}, window_);
  while (rows.step()) {
    const std::int64_t start = rows.integer(2), end = rows.integer(3), cbid = rows.integer(5);
    if (start <= 0 || end < start) continue;
    const auto [function, is_new] = functions.try_emplace(cbid);
    if (is_new) {
      function->second = call_label(session_.names().api(domain, cbid, true));
    }
    Process& process = this->process(rows.integer(0));
    process.timeline.calls.push_back(
        {.start = start,
         .end = end,
         .correlation = rows.integer(4),
         .thread = number(process.threads, rows.integer(1), process.timeline.threads),
         .label = function->second});
  }
}

// The first six columns are the same of all GPU work.
void Reader::add(const store::Statement& row, std::uint32_t label, Returns returns) {
  Process& process = this->process(row.integer(0));
  const std::int32_t stream = this->stream(process, row.integer(4), row.integer(5));
  process.timeline.work.push_back({.start = row.integer(1),
                                   .end = row.integer(2),
                                   .correlation = row.integer(3),
                                   .stream = stream,
                                   .label = label,
                                   .returns = returns});
}

#define GPUPROF_WORK "processId", "start", "end", "correlationId", "contextId", "streamId"
constexpr auto is_timed = [](const store::Statement& row) {
  return row.integer(1) > 0 && row.integer(2) > row.integer(1);
};

void Reader::read_kernels(std::string_view kind) {
  session_.output().progress("reading kernels");
  auto rows = session_.select(kind, {GPUPROF_WORK, "name", "gridId"}, window_);
  while (rows.step()) {
    if (!is_timed(rows)) continue;
    add(rows, kernel_label(rows.integer(6)), Returns::at_once);
    if (!nested_) continue;
    const dependency::Work& kernel = process(rows.integer(0)).timeline.work.back();
    grids_[rows.integer(7)] = {rows.integer(0), kernel.correlation, kernel.stream};
  }
}

// Kernels that kernels launched belong to the launch and the stream of the first one.
void Reader::read_nested_kernels() {
  std::unordered_map<std::int64_t, std::int64_t> parents;
  auto links = session_.select("CDP_KERNEL", {"gridId", "parentGridId"});
  while (links.step()) parents[links.integer(0)] = links.integer(1);

  auto rows = session_.select("CDP_KERNEL", {GPUPROF_WORK, "name", "gridId"}, window_);
  while (rows.step()) {
    if (!is_timed(rows)) continue;
    // The way up is kept short for those that follow. In a damaged file it may be a circle.
    std::int64_t grid = rows.integer(7);
    std::vector<std::int64_t> way;
    auto first = grids_.find(grid);
    while (first == grids_.end() && parents.contains(grid) && way.size() <= parents.size()) {
      way.push_back(grid);
      grid = parents[grid];
      first = grids_.find(grid);
    }
    if (first == grids_.end()) {
      for (const std::int64_t below : way) parents.erase(below);
      continue;
    }
    const Grid top = first->second;
    for (const std::int64_t below : way) grids_[below] = top;
    process(top.process)
        .timeline.work.push_back({.start = rows.integer(1),
                                  .end = rows.integer(2),
                                  .correlation = top.correlation,
                                  .stream = top.stream,
                                  .label = kernel_label(rows.integer(6)),
                                  .nested = true});
  }
}

void Reader::read_copies(std::string_view kind) {
  session_.output().progress("reading copies");
  std::map<std::int64_t, std::uint32_t> kinds;
  auto rows =
      session_.select(kind, {GPUPROF_WORK, "copyKind", "srcKind", "dstKind", "flags"}, window_);
  while (rows.step()) {
    if (!is_timed(rows)) continue;
    const std::int64_t copy_kind = rows.integer(6);
    const auto [known, is_new] = kinds.try_emplace(copy_kind);
    if (is_new) {
      const std::string name = memcpy_name(copy_kind);
      known->second = label(name, name);
    }
    add(rows, known->second,
        copy_returns(copy_kind, rows.integer(7), rows.integer(8), rows.integer(9) & 1));
  }
}

void Reader::read_sets() {
  std::optional<std::uint32_t> set;
  auto rows = session_.select("MEMSET", {GPUPROF_WORK, "memoryKind", "flags"}, window_);
  while (rows.step()) {
    if (!is_timed(rows)) continue;
    if (!set) set = label(std::string(memset_name), std::string(memset_name));
    add(rows, *set, set_returns(rows.integer(6), rows.integer(7) & 1));
  }
}
#undef GPUPROF_WORK

void Reader::read_synchronizations() {
  auto rows = session_.select(
      "SYNCHRONIZATION",
      {"processId", "correlationId", "type", "contextId", "streamId", "cudaEventId"},
      window_ +
          (session_.has_column("SYNCHRONIZATION", "returnValue") ? " AND returnValue = 0" : ""));
  while (rows.step()) {
    // CUpti_ActivitySynchronizationType
    const std::int64_t type = rows.integer(2);
    if (type < 1 || type > 4) continue;
    Process& process = this->process(rows.integer(0));
    const std::int64_t context_id = rows.integer(3), stream_id = rows.integer(4);
    const bool has_stream = stream_id != none && stream_id >= 0;
    process.timeline.synchronizations.push_back(
        {.correlation = rows.integer(1),
         .kind = static_cast<Waits>(type - 1),
         .context = context(process, context_id),
         .stream = has_stream ? stream(process, context_id, stream_id) : -1,
         .event = rows.integer(5)});
  }
}

void Reader::read_events() {
  auto rows = session_.select("CUDA_EVENT",
                              {"processId", "correlationId", "contextId", "streamId", "eventId"});
  while (rows.step()) {
    Process& process = this->process(rows.integer(0));
    process.timeline.events.push_back({.correlation = rows.integer(1),
                                       .stream = stream(process, rows.integer(2), rows.integer(3)),
                                       .event = rows.integer(4)});
  }
}

// ---- printing

constexpr int critical_width = 13, waiting_width = 12;

std::vector<Column> columns_of_times(Scale scale) {
  return {{"Critical path", critical_width, Quantity::time, "", "critical_path_ns", scale},
          {"Waiting time", waiting_width, Quantity::time, "", "waiting_time_ns", scale},
          {"Name", 0, Quantity::text, "", "name"}};
}

// In text with six decimals where other tables have as many as fit.
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

struct Total {
  std::int64_t critical = 0, waiting = 0;
  bool occurs = false;
};

class ResultPrinter {
 public:
  ResultPrinter(Session& session, const Reader& reader, const dependency::Analysis& analysis);
  void table();
  void trace();

 private:
  Session& session_;
  Output& output_;
  const Reader& reader_;
  const dependency::Analysis& analysis_;
  std::vector<Total> totals_;  // by label
  std::int64_t path_;          // all of it, ns
  std::int64_t longest_ = 0;
  Scale scale_;  // of critical path and waiting time
};

ResultPrinter::ResultPrinter(Session& session, const Reader& reader,
                             const dependency::Analysis& analysis)
    : session_(session),
      output_(session.output()),
      reader_(reader),
      analysis_(analysis),
      totals_(reader.labels.size()),
      path_(analysis.other()) {
  analysis.each([this](const dependency::Row& row) {
    Total& total = totals_[row.label];
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
    const Label* label;
    Total total;
  };
  static const Label other{"<Other>", "<Other>"};
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

// Starts are absolute, as nvprof prints them.
void ResultPrinter::trace() {
  std::vector<Column> columns = columns_of_times(scale_);
  columns.insert(columns.begin(), {{"Start", 8, Quantity::time, "", "start_ns"},
                                   {"Duration", 8, Quantity::time, "", "duration_ns"}});
  const bool chosen = output_.unit() != Unit::automatic && output_.unit() != Unit::column;
  // nvprof's starts are in ns, waiting times in the unit of durations.
  columns[0].scale = chosen ? scale_ : time_scale(Unit::ns);
  columns[1].scale = chosen ? scale_ : time_scale(static_cast<std::uint64_t>(longest_));
  columns[3].scale = columns[1].scale;
  // The starts have more digits than many readers of JSON keep.
  const bool relative = output_.keyed();
  const std::int64_t zero = relative ? session_.zero() : 0;
  if (relative) columns.push_back({"", 0, Quantity::count, "", "relative_start_ns"});
  Table table(output_, "dependency_analysis_trace", columns);
  std::vector<Cell> cells(columns.size());
  analysis_.each([&](const dependency::Row& row) {
    cells[0] = row.start;
    cells[1] = saturating_subtract(row.end, row.start);
    cells[2] = time_cell(output_, row.critical, scale_, critical_width);
    cells[3] = time_cell(output_, row.waiting, columns[3].scale, waiting_width);
    cells[4] = reader_.labels[row.label].name;
    if (relative) cells[5] = saturating_subtract(row.start, zero);
    table.row(cells);
  });
}

void warn(Session& session, const Reader& reader) {
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

// A call asked for work of a stream that has no row.
bool lacks_stream(const Process& process) {
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

void print(Session& session) {
  Output& output = session.output();
  output.line();
  output.heading("Dependency Analysis:");
  Reader reader(session);
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
    .does = Printer{print},
};

}  // namespace gpuprof::report
