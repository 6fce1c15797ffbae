#include "libprof/report/pc_summary.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <numeric>
#include <utility>

#include "libprof/base/saturating.hpp"
#include "libprof/base/text.hpp"
#include "libprof/report/code_places.hpp"
#include "libprof/report/measured_kernels.hpp"
#include "libprof/report/pc_samples.hpp"
#include "libprof/report/report_table.hpp"

namespace gpuprof::report {
namespace {

using Samples = std::array<std::uint64_t, stall_reasons.size()>;

std::uint64_t all(const Samples& samples) {
  return std::accumulate(samples.begin(), samples.end(), std::uint64_t{0});
}

// One run of a kernel, or all runs of a function.
struct Launch {
  std::int64_t device, kernel;            // string id of the name
  std::map<std::int64_t, Samples> by_pc;  // offset in the function, bytes
  Samples latency = {};                   // of these: no warp of the scheduler was ready
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
  std::map<std::int64_t, Launch> launches;  // by correlation id, or by print order
  std::int64_t without_kernel = 0;
  std::int64_t unknown_reason = 0;
  std::uint64_t dropped = 0;  // of unknown launches
};

void add(Result& result, Launch& launch, std::int64_t pc, std::int64_t reason, std::int64_t samples,
         std::int64_t latency) {
  Samples& place = launch.by_pc[pc];
  if (reason < 0 || reason >= static_cast<std::int64_t>(stall_reasons.size())) {
    result.unknown_reason = saturating_add(result.unknown_reason, samples);
    return;
  }
  place[static_cast<std::size_t>(reason)] += static_cast<std::uint64_t>(samples);
  launch.latency[static_cast<std::size_t>(reason)] += static_cast<std::uint64_t>(latency);
}

Result read_launches(Session& session) {
  Result result;
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
      if (!kernel) result.without_kernel = saturating_add(result.without_kernel, rows.integer(2));
      if (!launch) continue;
      add(result, *launch, rows.integer(4), rows.integer(1), rows.integer(2), rows.integer(3));
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

// All launches of each function together, functions with the most samples first.
Result read_functions(Session& session) {
  Result result;
  FunctionNames functions(session);
  std::map<std::pair<std::int64_t, std::int64_t>, Launch> found;  // by device and name
  auto rows = session.select("PC_SAMPLING",
                             {"deviceId", "processId", "functionId", "stallReason", "samples",
                              "latencySamples", "pcOffset"},
                             "WHERE " + session.filter("PC_SAMPLING"));
  while (rows.step()) {
    const std::int64_t device = rows.integer(0);
    const std::int64_t name = functions.name(rows.integer(1), rows.integer(2));
    if (!functions.wanted(name)) continue;
    Launch& launch =
        found.try_emplace({device, name}, Launch{device, name, {}, {}, 0}).first->second;
    add(result, launch, rows.integer(6), rows.integer(3), rows.integer(4), rows.integer(5));
  }
  std::vector<std::pair<std::uint64_t, Launch*>> order;
  for (auto& [place, launch] : found) order.emplace_back(all(launch.total()), &launch);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [](const auto& each) { return each.first; });
  for (auto& [samples, launch] : order) {
    result.launches.emplace(static_cast<std::int64_t>(result.launches.size()), std::move(*launch));
  }
  auto records = session.select("PC_SAMPLING_RECORD_INFO", {"droppedSamples"},
                                "WHERE " + session.filter("PC_SAMPLING_RECORD_INFO"));
  while (records.step()) result.dropped += static_cast<std::uint64_t>(records.integer(0));
  return result;
}

// --- nvprof's layout: one table per launch, one line per address

constexpr int reason_width = 13, total_width = 8;

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
  for (const StallReason& reason : stall_reasons) {
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

// The addresses with the most samples, in address order.
std::vector<std::int64_t> addresses_with_most(const Launch& launch, std::size_t most) {
  std::vector<std::pair<std::uint64_t, std::int64_t>> order;
  for (const auto& [pc, samples] : launch.by_pc) order.emplace_back(all(samples), pc);
  std::ranges::stable_sort(order, std::ranges::greater(),
                           [](const auto& each) { return each.first; });
  if (order.size() > most) order.resize(most);
  std::vector<std::int64_t> addresses;
  for (const auto& [samples, pc] : order) addresses.push_back(pc);
  std::ranges::sort(addresses);
  return addresses;
}

void print_functions(Session& session, const Result& result) {
  Output& output = session.output();
  const std::size_t most = output.text() ? most_rows(session) : SIZE_MAX;
  std::size_t functions = 0;
  for (const auto& [place, launch] : result.launches) {
    if (functions++ == most) break;
    output.line(session.names().kernel(launch.kernel));
    output.line(heading(output));
    const std::vector<std::int64_t> addresses = addresses_with_most(launch, most);
    for (const std::int64_t pc : addresses) {
      output.line(line(output, hexadecimal(pc), launch.by_pc.at(pc)));
    }
    say_of_the_rest(output, launch.by_pc.size(), addresses.size(), "address", "addresses");
    const Samples total = launch.total();
    output.line(line(output, "Total", total));
    output.line("Total Samples: " + std::to_string(all(total)));
  }
  say_of_the_rest(output, result.launches.size(), most, "function", "functions");
  output.line("Dropped Samples: " + std::to_string(result.dropped));
}

// --- JSON: one row per device, kernel and reason

void print_json(Session& session, const Result& result) {
  using Place = std::pair<std::int64_t, std::int64_t>;
  std::map<Place, std::pair<Samples, Samples>> kernels;
  for (const auto& [id, launch] : result.launches) {
    auto& [samples, latency] = kernels[{launch.device, launch.kernel}];
    const Samples total = launch.total();
    for (std::size_t i = 0; i < stall_reasons.size(); ++i) {
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
    for (std::size_t i = 0; i < stall_reasons.size(); ++i) {
      if (samples[i] > 0) order.push_back(i);
    }
    std::ranges::stable_sort(order, std::ranges::greater(),
                             [&](std::size_t i) { return samples[i]; });
    for (const std::size_t i : order) {
      table.row(std::vector<Cell>{
          session.names().device(place.first), session.names().kernel(place.second),
          100.0 * static_cast<double>(samples[i]) / sum, static_cast<std::int64_t>(samples[i]),
          static_cast<std::int64_t>(latency[i]), std::string(stall_reasons[i].name)});
    }
  }
}

}  // namespace

bool samples_of_all_launches(Session& session) {
  constexpr std::string_view table = "CUPTI_ACTIVITY_KIND_PC_SAMPLING";
  store::Database& database = session.database();
  return database.has_column(table, "stallReasonId") &&
         database.has_column(table, "correlationId") &&
         !database.integer("SELECT 1 FROM " + std::string(table) +
                           " WHERE correlationId <> 0 LIMIT 1");
}

void print_pc_summary(Session& session, bool of_functions) {
  if (!session.has_rows("PC_SAMPLING")) return;
  Output& output = session.output();
  output.progress("reading CUPTI_ACTIVITY_KIND_PC_SAMPLING");
  const Result result = of_functions ? read_functions(session) : read_launches(session);
  output.heading("PC SAMPLING SUMMARY:");
  if (output.keyed()) {
    print_json(session, result);
  } else if (of_functions) {
    print_functions(session, result);
  } else {
    print_lines(session, result);
  }
  const auto warn = [&](std::int64_t count, const std::string& what) {
    if (count > 0) output.warning(std::to_string(count) + " PC samples " + what);
  };
  warn(result.without_kernel, "can't be associated with a kernel.");
  warn(result.unknown_reason, "have a stall reason that is not known.");
}

}  // namespace gpuprof::report
