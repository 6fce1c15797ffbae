// "PC SAMPLING SUMMARY": what the warps of each kernel waited for, by address.
#include <algorithm>
#include <array>
#include <cstdio>
#include <map>
#include <numeric>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/report/measured_kernels.hpp"
#include "libprof/report/report.hpp"
#include "libprof/report/table.hpp"

namespace gpuprof::report {
namespace {

// CUpti_ActivityPCSamplingStallReason, as nvprof heads its columns, and as JSON has them.
struct Reason {
  std::string_view heading;
  std::string_view name;
};
constexpr std::array<Reason, 13> reasons{{{"INVALID", "invalid"},
                                          {"NONE", "none"},
                                          {"INST_FETCH", "inst_fetch"},
                                          {"EXEC_DEP", "exec_dependency"},
                                          {"MEM_DEP", "memory_dependency"},
                                          {"TEXTURE", "texture"},
                                          {"SYNC", "sync"},
                                          {"CONST_MEM_DEP", "constant_memory_dependency"},
                                          {"PIPE_BUSY", "pipe_busy"},
                                          {"MEM_THROTTLE", "memory_throttle"},
                                          {"NOT_SEL", "not_selected"},
                                          {"OTHER", "other"},
                                          {"SLEEPING", "sleeping"}}};

using Samples = std::array<std::uint64_t, reasons.size()>;

std::uint64_t all(const Samples& samples) {
  return std::accumulate(samples.begin(), samples.end(), std::uint64_t{0});
}

// One run of a kernel.
struct Launch {
  std::int64_t device, kernel;            // string id of the name
  std::map<std::int64_t, Samples> by_pc;  // offset in the function, bytes
  Samples latency = {};                   // of them: no warp of the scheduler could go on
  std::uint64_t dropped = 0;

  Samples total() const {
    Samples sum{};
    for (const auto& [pc, samples] : by_pc) {
      for (std::size_t i = 0; i < sum.size(); ++i) sum[i] += samples[i];
    }
    return sum;
  }
};

struct Result {
  std::map<std::int64_t, Launch> launches;  // by correlation id
  std::int64_t without_kernel = 0;
  std::int64_t unknown_reason = 0;
};

Result read(Session& session) {
  Result result;
  session.output().progress("reading CUPTI_ACTIVITY_KIND_PC_SAMPLING");
  auto rows = session.select(
      "PC_SAMPLING", {"correlationId", "stallReason", "samples", "latencySamples", "pcOffset"},
      "ORDER BY 1");
  if (!rows.step()) return result;
  MeasuredKernels kernels(session);
  for (bool more = true; more;) {
    const std::int64_t id = rows.integer(0);
    const MeasuredKernel* kernel = kernels.find(id);
    Launch* launch = nullptr;
    if (kernel && kernel->wanted) {
      launch = &result.launches.try_emplace(id, Launch{kernel->device, kernel->name, {}, {}, 0})
                    .first->second;
    }
    for (; more && rows.integer(0) == id; more = rows.step()) {
      const auto samples = static_cast<std::uint64_t>(rows.integer(2));
      if (!kernel) result.without_kernel = saturating_add(result.without_kernel, rows.integer(2));
      if (!launch) continue;
      Samples& place = launch->by_pc[rows.integer(4)];
      const std::int64_t reason = rows.integer(1);
      if (reason < 0 || reason >= static_cast<std::int64_t>(reasons.size())) {
        result.unknown_reason = saturating_add(result.unknown_reason, rows.integer(2));
        continue;
      }
      place[static_cast<std::size_t>(reason)] += samples;
      launch->latency[static_cast<std::size_t>(reason)] +=
          static_cast<std::uint64_t>(rows.integer(3));
    }
  }
  auto records = session.select("PC_SAMPLING_RECORD_INFO", {"correlationId", "droppedSamples"});
  while (records.step()) {
    const auto launch = result.launches.find(records.integer(0));
    if (launch == result.launches.end()) continue;
    launch->second.dropped += static_cast<std::uint64_t>(records.integer(1));
  }
  return result;
}

// ---- nvprof's layout: a table per launch, a line per address

constexpr int reason_width = 13, total_width = 8;

std::string hexadecimal(std::int64_t number) {
  std::array<char, 24> text{};
  const int length =
      std::snprintf(text.data(), text.size(), "0x%llx", static_cast<unsigned long long>(number));
  return {text.data(), static_cast<std::size_t>(length)};
}

std::string line(const Output& output, std::string_view pc, const Samples& samples) {
  constexpr std::uint64_t exponent_from = 100'000'000;
  if (output.csv()) {
    std::string text = '"' + std::string(pc) + '"';
    for (const std::uint64_t count : samples) text += "," + std::to_string(count);
    return text + "," + std::to_string(all(samples));
  }
  std::string text = right_aligned(std::string(pc), reason_width);
  for (const std::uint64_t count : samples) {
    text += "  " + right_aligned(format_whole(count, reason_width, exponent_from), reason_width);
  }
  return text + "  " +
         right_aligned(format_whole(all(samples), total_width, exponent_from), total_width);
}

std::string heading(const Output& output) {
  const bool csv = output.csv();
  std::string text = csv ? "\"PC\"" : right_aligned("PC", reason_width);
  for (const Reason& reason : reasons) {
    const std::string name(reason.heading);
    text += csv ? ",\"" + name + '"' : "  " + right_aligned(name, reason_width);
  }
  return text + (csv ? ",\"TOTAL\"" : "  " + right_aligned("TOTAL", total_width));
}

void print_lines(Session& session, const Result& result) {
  Output& output = session.output();
  for (const auto& [id, launch] : result.launches) {
    output.line(session.names().kernel(launch.kernel));
    output.line(heading(output));
    for (const auto& [pc, samples] : launch.by_pc) {
      output.line(line(output, hexadecimal(pc), samples));
    }
    const Samples total = launch.total();
    output.line(line(output, "Total", total));
    output.line("Total Samples: " + std::to_string(all(total) + launch.dropped));
    output.line("Dropped Samples: " + std::to_string(launch.dropped));
  }
}

// ---- JSON: a row per device, kernel and reason

void print_json(Session& session, const Result& result) {
  using Place = std::pair<std::int64_t, std::int64_t>;
  std::map<Place, std::pair<Samples, Samples>> kernels;
  for (const auto& [id, launch] : result.launches) {
    auto& [samples, latency] = kernels[{launch.device, launch.kernel}];
    const Samples total = launch.total();
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      samples[i] += total[i];
      latency[i] += launch.latency[i];
    }
  }
  Table table(session.output(), "pc_sampling",
              {{.heading = "", .key = "device"},
               {.heading = "", .key = "kernel"},
               {.heading = "", .quantity = Quantity::percent, .key = "samples_percent"},
               {.heading = "", .quantity = Quantity::count, .key = "samples"},
               {.heading = "", .quantity = Quantity::count, .key = "latency_samples"},
               {.heading = "", .key = "stall_reason"}});
  table.heading();
  for (const auto& [place, counts] : kernels) {
    const auto& [samples, latency] = counts;
    const auto sum = static_cast<double>(all(samples));
    std::vector<std::size_t> order;
    for (std::size_t i = 0; i < reasons.size(); ++i) {
      if (samples[i] > 0) order.push_back(i);
    }
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::size_t i) { return samples[i]; });
    for (const std::size_t i : order) {
      table.row(std::vector<Cell>{
          session.names().device(place.first), session.names().kernel(place.second),
          100.0 * static_cast<double>(samples[i]) / sum, static_cast<std::int64_t>(samples[i]),
          static_cast<std::int64_t>(latency[i]), std::string(reasons[i].name)});
    }
  }
}

void print(Session& session) {
  if (!session.has_rows("PC_SAMPLING")) return;
  Output& output = session.output();
  const Result result = read(session);
  output.heading("PC SAMPLING SUMMARY:");
  output.keyed() ? print_json(session, result) : print_lines(session, result);
  const auto warn = [&](std::int64_t count, const std::string& what) {
    if (count > 0) output.warning(std::to_string(count) + " PC samples " + what);
  };
  warn(result.without_kernel, "can't be associated with a kernel.");
  warn(result.unknown_reason, "have a stall reason that is not known.");
}

}  // namespace

extern const Report pc_sampling{
    .phase = Phase::behind,
    .order = 1,
    .does = Printer{print},
};

}  // namespace gpuprof::report
