// Time on the GPU by NVTX range.
//
// A kernel, copy or set belongs to a range if the API call that launched it began inside the range,
// on the range's thread; when it ran does not matter. A process range, which has no thread,
// contains the calls of all the process's threads. If a thread has no ranges (autograd's have
// none), LAUNCH_RANGE names the range that was opened last in the process and was still open: the
// work belongs to that range and to those around it, and its time is reported separately ("By
// Time"). Of nested ranges, each includes the inner ones, so shares may add up to more than 100 %;
// of nested ranges with the same name, only one counts the work. Ranges with the same domain and
// name form one row, regardless of thread and process. The last row is the work that belongs to no
// range.
//
// GPU times are sums: concurrent work counts twice. Ranges that were not closed are skipped.
#include <algorithm>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "libprof/base/saturating.hpp"
#include "libprof/report/nvtx.hpp"
#include "libprof/report/report.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::report {
namespace {

struct GpuTime {
  std::int64_t operations = 0, time = 0;

  void add(const GpuOperation& operation) {
    ++operations;
    time = saturating_add(time, operation.duration);
  }
};

using Name = std::pair<std::optional<std::string>, std::string>;  // domain, range

struct NvtxRow {
  Name name;
  Total ranges;
  GpuTime gpu;
  std::int64_t by_time = 0;     // the part of gpu that another thread launched
  std::uint64_t last_call = 0;  // number of the last one in the range
};

struct NvtxSummary {
  std::vector<NvtxRow> rows;
  GpuTime all, outside;
};

NvtxSummary read_nvtx_summary(Session& session, NvtxRanges& ranges) {
  NvtxSummary summary;
  std::map<Name, std::size_t> numbers;
  std::vector<std::size_t> row_of_group;
  for (const NvtxGroup& group : ranges.groups()) {
    const Name name{group.domain, group.name};
    const std::size_t row = numbers.try_emplace(name, summary.rows.size()).first->second;
    if (row == summary.rows.size()) summary.rows.emplace_back().name = name;
    summary.rows[row].ranges.add(group.total);
    row_of_group.push_back(row);
  }

  auto work = read_gpu_work(session, [](auto, auto) { return 0u; });
  std::vector<NvtxCall> elsewhere;
  auto launches = read_launches(
      session, ranges, work, [](auto, auto) { return 0u; }, elsewhere);
  std::uint64_t call_number = 0;
  const auto add = [&](std::span<GpuOperation> launched, NvtxRanges::Groups of_thread,
                       NvtxRanges::Groups others, bool by_time) {
    for (GpuOperation& operation : launched) operation.counted = true;
    ++call_number;
    for (const NvtxRanges::Groups groups : {of_thread, others}) {
      for (const std::uint32_t group : groups) {
        NvtxRow& row = summary.rows[row_of_group[group]];
        if (std::exchange(row.last_call, call_number) == call_number) continue;
        for (const GpuOperation& operation : launched) {
          row.gpu.add(operation);
          if (by_time) row.by_time = saturating_add(row.by_time, operation.duration);
        }
      }
    }
  };
  ranges.visit(launches, [&](const NvtxCall& launch, auto of_thread, auto of_process) {
    const auto launched = launched_by(launch.work, work);
    // A runtime call and the driver call inside it may share an id.
    if (!launched.front().counted) add(launched, of_thread, of_process, false);
  });
  RangesByTime by_time(session);
  elsewhere.insert(elsewhere.end(), launches.begin(), launches.end());
  for (const NvtxCall& launch : elsewhere) {
    if (work[launch.work].counted) continue;
    const auto& groups = by_time.groups(work[launch.work].correlation, ranges);
    if (!groups.empty()) add(launched_by(launch.work, work), {}, groups, true);
  }
  for (const GpuOperation& operation : work) {
    summary.all.add(operation);
    if (!operation.counted) summary.outside.add(operation);
  }
  std::ranges::sort(summary.rows, {}, [](const NvtxRow& row) {
    return std::tuple(-row.gpu.time, -row.ranges.time, std::string_view(row.name.second),
                      row.name.first);
  });
  return summary;
}

std::vector<Cell> cells_of(const GpuTime& gpu, std::int64_t all) {
  const double share =
      all == 0 ? 0 : 100.0 * static_cast<double>(gpu.time) / static_cast<double>(all);
  return {share, gpu.time, gpu.operations};
}

void print_rows(Output& output, const NvtxSummary& summary, int top) {
  std::vector<std::vector<Cell>> cells;
  int domain_width = 6;
  const auto print_all = static_cast<std::size_t>(top) >= summary.rows.size() || top == 0;
  const std::size_t count = print_all ? summary.rows.size() : static_cast<std::size_t>(top);
  for (std::size_t i = 0; i < count; ++i) {
    const NvtxRow& row = summary.rows[i];
    const auto& [domain, range] = row.name;
    auto& line = cells.emplace_back(cells_of(row.gpu, summary.all.time));
    line.emplace_back(row.by_time);
    line.emplace_back(row.gpu.time / row.ranges.calls);
    line.emplace_back(row.ranges.calls);
    line.emplace_back(row.ranges.time);
    if (domain || !output.keyed())
      line.emplace_back(domain.value_or("<unnamed>"));
    else
      line.emplace_back();
    line.emplace_back(range);
    domain_width = std::max(domain_width, static_cast<int>(domain.value_or("<unnamed>").size()));
  }
  const auto add_line = [&](std::vector<Cell> line, std::string name) {
    line.resize(8);
    line.emplace_back(std::move(name));
    cells.push_back(std::move(line));
  };
  if (!print_all) add_line({}, "(" + std::to_string(summary.rows.size() - count) + " more)");
  add_line(cells_of(summary.outside, summary.all.time), "(outside all ranges)");
  print_table(output, "nvtx_summary",
              {{"Time(%)", 7, Quantity::percent, "", "gpu_time_percent"},
               {"GPU Time", 8, Quantity::time, "", "gpu_time_ns"},
               {"GPU Ops", 8, Quantity::count, "", "gpu_operations"},
               {"By Time", 8, Quantity::time, "", "gpu_time_matched_by_time_ns"},
               {"GPU Avg", 8, Quantity::time, "", "gpu_time_per_range_ns"},
               {"Ranges", 8, Quantity::count, "", "ranges"},
               {"Wall Time", 9, Quantity::time, "", "wall_time_ns"},
               {"Domain", domain_width, Quantity::text, "", "domain"},
               {"Range", 0, Quantity::text, "", "range"}},
              cells);
}

void print_nvtx_summary(Session& session) {
  Output& output = session.output();
  NvtxRanges ranges(session);
  if (session.options().chosen.size() > 1) output.line();
  output.heading("NVTX summary:");
  if (ranges.invalid() > 0) {
    output.warning("Found " + std::to_string(ranges.invalid()) + " invalid range marker(s)");
  }
  if (ranges.groups().empty()) output.line("No NVTX ranges were profiled.");
  const NvtxSummary summary = read_nvtx_summary(session, ranges);
  if (!session.has_rows("RUNTIME") && !session.has_rows("DRIVER") && summary.all.operations > 0) {
    output.warning(
        "There are no API calls in the file, so it is unknown in which range GPU work was "
        "launched.");
  }
  if (!ranges.groups().empty() || output.keyed()) {
    print_rows(output, summary, session.options().top);
  }
}

}  // namespace

extern const Report nvtx_summary{
    .option = "print-nvtx-summary",
    .help = "Time on the GPU by NVTX range, the ranges inside it included",
    .ours = true,
    .phase = Phase::extra,
    .order = 10,
    .top = true,
    .does = Printer{print_nvtx_summary},
};

}  // namespace gpuprof::report
