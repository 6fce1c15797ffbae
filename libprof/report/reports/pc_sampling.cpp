// "PC SAMPLING SUMMARY": what kernels waited for.
#include <algorithm>
#include <array>
#include <map>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/report/measured_kernels.hpp"
#include "libprof/report/report.hpp"
#include "libprof/report/table.hpp"

namespace gpuprof::report {
namespace {

// CUpti_ActivityPCSamplingStallReason
std::string reason_name(std::int64_t reason) {
  static constexpr std::array<std::string_view, 13> names{"invalid",
                                                          "none",
                                                          "inst_fetch",
                                                          "exec_dependency",
                                                          "memory_dependency",
                                                          "texture",
                                                          "sync",
                                                          "constant_memory_dependency",
                                                          "pipe_busy",
                                                          "memory_throttle",
                                                          "not_selected",
                                                          "other",
                                                          "sleeping"};
  const bool known = reason >= 0 && reason < static_cast<std::int64_t>(names.size());
  return known ? std::string(names[static_cast<std::size_t>(reason)])
               : "<stall reason " + std::to_string(reason) + ">";
}

struct Samples {
  std::int64_t all = 0;
  std::int64_t latency = 0;  // of them: no warp of the scheduler could go on
};

using Reasons = std::map<std::int64_t, Samples>;

struct Result {
  // By device and the string id of the kernel's name.
  std::map<std::pair<std::int64_t, std::int64_t>, Reasons> kernels;
  std::int64_t without_kernel = 0;
};

Result read(Session& session) {
  Result result;
  session.output().progress("reading CUPTI_ACTIVITY_KIND_PC_SAMPLING");
  auto rows = session.select(
      "PC_SAMPLING", {"correlationId", "stallReason", "samples", "latencySamples"}, "ORDER BY 1");
  if (!rows.step()) return result;
  MeasuredKernels kernels(session);
  for (bool more = true; more;) {
    const std::int64_t id = rows.integer(0);
    const MeasuredKernel* kernel = kernels.find(id);
    for (; more && rows.integer(0) == id; more = rows.step()) {
      if (!kernel) {
        result.without_kernel = saturating_add(result.without_kernel, rows.integer(2));
      } else if (kernel->wanted) {
        Samples& samples = result.kernels[{kernel->device, kernel->name}][rows.integer(1)];
        samples.all = saturating_add(samples.all, rows.integer(2));
        samples.latency = saturating_add(samples.latency, rows.integer(3));
      }
    }
  }
  return result;
}

std::vector<std::pair<std::int64_t, Samples>> sorted(const Reasons& reasons) {
  std::vector<std::pair<std::int64_t, Samples>> list(reasons.begin(), reasons.end());
  std::ranges::stable_sort(list, std::ranges::greater(),
                           [](const auto& reason) { return reason.second.all; });
  return list;
}

void print_table(Session& session, const Result& result) {
  Output& output = session.output();
  std::vector<Column> columns;
  if (!output.text()) {
    columns = {{.heading = "Device", .key = "device"}, {.heading = "Kernel", .key = "kernel"}};
  }
  columns.push_back({.heading = "Samples(%)",
                     .width = 10,
                     .quantity = Quantity::percent,
                     .key = "samples_percent"});
  columns.push_back(
      {.heading = "Samples", .width = 10, .quantity = Quantity::count, .key = "samples"});
  columns.push_back(
      {.heading = "Latency", .width = 10, .quantity = Quantity::count, .key = "latency_samples"});
  columns.push_back({.heading = "Stall reason", .key = "stall_reason"});
  Table table(output, "pc_sampling", columns);
  table.heading();
  std::int64_t last_device = -1;
  for (const auto& [place, reasons] : result.kernels) {
    const auto& [device, kernel] = place;
    if (output.text()) {
      if (device != last_device) {
        output.line("Device \"" + session.names().device(device) + "\"");
      }
      last_device = device;
      output.line("    Kernel: " + session.names().kernel(kernel));
    }
    std::int64_t all = 0;
    for (const auto& [reason, samples] : reasons) all = saturating_add(all, samples.all);
    for (const auto& [reason, samples] : sorted(reasons)) {
      std::vector<Cell> cells;
      if (!output.text()) cells = {session.names().device(device), session.names().kernel(kernel)};
      cells.emplace_back(
          all == 0 ? 0.0 : 100.0 * static_cast<double>(samples.all) / static_cast<double>(all));
      cells.emplace_back(samples.all);
      cells.emplace_back(samples.latency);
      cells.emplace_back(reason_name(reason));
      table.row(cells);
    }
  }
}

void print(Session& session) {
  if (!session.has_rows("PC_SAMPLING")) return;
  Output& output = session.output();
  const Result result = read(session);
  output.line();
  output.heading("PC SAMPLING SUMMARY:");
  print_table(session, result);
  const auto warn = [&](std::int64_t count, const std::string& what) {
    if (count > 0) output.warning(std::to_string(count) + " PC samples " + what);
  };
  warn(result.without_kernel, "can't be associated with a kernel.");
  auto dropped = session.select("PC_SAMPLING_RECORD_INFO", {"sum(droppedSamples)"});
  if (dropped.step()) warn(dropped.integer(0), "were dropped.");
}

}  // namespace

extern const Report pc_sampling{
    .option = {}, .help = {}, .phase = Phase::always, .order = 1, .print = print};

}  // namespace gpuprof::report
