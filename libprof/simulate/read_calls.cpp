#include <algorithm>
#include <deque>
#include <string>
#include <unordered_set>

#include "libprof/compute/account.hpp"
#include "libprof/compute/call_times.hpp"
#include "libprof/compute/host_calls.hpp"
#include "libprof/read/columns/reader.hpp"
#include "libprof/simulate/functions.hpp"
#include "libprof/simulate/read_schedule.hpp"

namespace gpuprof::simulate {
namespace {

// Devices whose gaps are looked at; more have only forged files.
constexpr std::size_t most_devices = 64;

using Functions = std::unordered_set<std::int64_t>;  // as in HostCall

Functions functions_that(store::Database& database, const std::string& condition) {
  Functions functions;
  if (!database.has_column("API_NAME", "cbid") || !database.has_column("API_NAME", "domain")) {
    return functions;
  }
  auto rows =
      database.prepare("SELECT n.domain = 'driver', n.cbid FROM API_NAME AS n WHERE " + condition);
  while (rows.step()) {
    functions.insert(compute::function_number(rows.integer(0) != 0, rows.integer(1)));
  }
  return functions;
}

// What the host did in the longest gaps of a device, which are in `chosen`.
class HostInGaps {
 public:
  HostInGaps(const Schedule& schedule, std::vector<std::uint32_t> chosen)
      : chosen_(std::move(chosen)), gaps_(gaps_of(schedule, chosen_)) {}

  void add(const compute::HostCall& call, bool allocates, bool loads) {
    all_.add(call);
    if (allocates) allocating_.add(call);
    if (loads) loading_.add(call);
  }

  void finish(Schedule& schedule) {
    const auto all = all_.finish(), allocating = allocating_.finish(), loading = loading_.finish();
    const auto in_calls = [](const auto& split) {
      return split ? split->in_calls : std::int64_t{};
    };
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (!all[i]) continue;
      schedule.gaps[chosen_[i]].host = static_cast<std::uint32_t>(schedule.hosts.size());
      schedule.hosts.push_back({.no_call = gaps_[i].length() - all[i]->in_calls,
                                .allocating = in_calls(allocating[i]),
                                .loading = in_calls(loading[i])});
    }
  }

 private:
  static std::vector<compute::Gap> gaps_of(const Schedule& schedule,
                                           const std::vector<std::uint32_t>& chosen) {
    std::vector<compute::Gap> gaps;
    for (const std::uint32_t number : chosen) {
      const Gap& gap = schedule.gaps[number];
      const Work& work = schedule.works[gap.work];
      compute::Gap& its = gaps.emplace_back();
      its.begin = gap.begin;
      its.end = work.begin;
      its.behind.process = schedule.streams[work.stream].process;
    }
    return gaps;
  }

  std::vector<std::uint32_t> chosen_;
  std::vector<compute::Gap> gaps_;
  compute::HostCalls all_{gaps_}, allocating_{gaps_}, loading_{gaps_};
};

// By device, in time order.
std::vector<std::vector<std::uint32_t>> longest_gaps(const Schedule& schedule) {
  std::vector<std::vector<std::uint32_t>> chosen(std::min(schedule.devices.size(), most_devices));
  const auto length = [&](std::uint32_t gap) {
    return schedule.works[schedule.gaps[gap].work].begin - schedule.gaps[gap].begin;
  };
  for (std::uint32_t i = 0; i < schedule.gaps.size(); ++i) {
    const std::uint32_t device = schedule.works[schedule.gaps[i].work].device;
    if (device < chosen.size()) chosen[device].push_back(i);
  }
  for (auto& gaps : chosen) {
    if (gaps.size() <= compute::DeviceTime::most_gaps) continue;
    std::ranges::nth_element(gaps, gaps.begin() + compute::DeviceTime::most_gaps, std::greater{},
                             length);
    gaps.resize(compute::DeviceTime::most_gaps);
    std::ranges::sort(gaps);
  }
  return chosen;
}

}  // namespace

void read_synchronizations(store::Snapshot& snapshot, Read& read, const Check& check) {
  const auto stream_of = [](const columns::Chunk& chunk, std::size_t row) {
    return whole(chunk[2], row) << 32 | (whole(chunk[3], row) & 0xffffffff);
  };
  columns::Reader waits(snapshot, {.table = "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
                                   .columns = {"correlationId", "processId", "contextId",
                                               "streamId", "cudaEventSyncId", "type"}});
  waits.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      const std::int64_t type = whole(chunk[5], row);
      if (type < Synchronization::of_event || type > Synchronization::of_context) continue;
      read.synchronizations.push_back({.correlation = whole(chunk[0], row),
                                       .process = whole(chunk[1], row),
                                       .stream = stream_of(chunk, row),
                                       .recording = whole(chunk[4], row),
                                       .type = static_cast<std::int32_t>(type)});
    }
  });
  columns::Reader events(snapshot, {.table = "CUPTI_ACTIVITY_KIND_CUDA_EVENT",
                                    .columns = {"correlationId", "processId", "contextId",
                                                "streamId", "cudaEventSyncId"}});
  events.read([&](const columns::Chunk& chunk) {
    check();
    for (std::size_t row = 0; row < chunk.rows(); ++row) {
      read.synchronizations.push_back({.correlation = whole(chunk[0], row),
                                       .process = whole(chunk[1], row),
                                       .stream = stream_of(chunk, row),
                                       .recording = whole(chunk[4], row),
                                       .type = Synchronization::record});
    }
  });
}

void read_calls(store::Snapshot& snapshot, Read& read, const Check& check) {
  compute::CorrelationSet asked_for, known;
  for (const std::int64_t correlation : read.correlations) asked_for.add(correlation);
  for (const Synchronization& each : read.synchronizations) asked_for.add(each.correlation);
  const Functions allocating = functions_that(snapshot.database(), GPUPROF_ALLOCATES);
  const Functions loading = functions_that(snapshot.database(), GPUPROF_LOADS_CODE);
  std::deque<HostInGaps> hosts;
  for (auto& chosen : longest_gaps(read.schedule)) {
    if (!chosen.empty()) hosts.emplace_back(read.schedule, std::move(chosen));
  }
  const std::int64_t last = read.schedule.works.empty() ? 0 : read.schedule.works.back().begin;
  for (const auto& [domain, table] : compute::CallTimes::sources) {
    columns::Reader reader(
        snapshot, {.table = std::string(table),
                   .columns = {"correlationId", "start", "end", "processId", "threadId", "cbid"}});
    reader.read([&, domain = domain](const columns::Chunk& chunk) {
      check();
      const auto correlation = chunk[0].int64s(), begin = chunk[1].int64s(),
                 end = chunk[2].int64s(), process = chunk[3].int64s(), thread = chunk[4].int64s(),
                 cbid = chunk[5].int64s();
      for (std::size_t row = 0; row < chunk.rows(); ++row) {
        if (begin[row] <= 0 || end[row] <= begin[row]) continue;
        read.schedule.has_calls = true;
        if (begin[row] > last) continue;
        const std::int64_t function =
            compute::function_number(domain == compute::CallTimes::driver, cbid[row]);
        const bool allocates = allocating.contains(function), loads = loading.contains(function);
        const std::uint32_t its_process = read.processes.find(process[row]);
        for (HostInGaps& host : hosts) {
          if (its_process == none || domain == compute::CallTimes::internal) break;
          host.add({.process = its_process,
                    .begin = begin[row],
                    .end = end[row],
                    .correlation = correlation[row],
                    .function = function},
                   allocates, loads);
        }
        if (correlation[row] == 0 || !asked_for.contains(correlation[row])) continue;
        if (!known.is_full() && known.contains(correlation[row])) continue;
        known.add(correlation[row]);
        const std::uint32_t its_thread = read.threads.of({process[row], thread[row]});
        if (its_thread == read.process_of.size()) {
          read.process_of.push_back(read.processes.of(process[row]));
        }
        read.calls.push_back({correlation[row], begin[row], end[row], its_thread});
      }
    });
  }
  for (HostInGaps& host : hosts) host.finish(read.schedule);
  // Of calls with the same id the first counts: that of the runtime.
  if (!std::ranges::is_sorted(read.calls, {}, &Call::correlation)) {
    std::ranges::stable_sort(read.calls, {}, &Call::correlation);
  }
  const auto others = std::ranges::unique(read.calls, {}, &Call::correlation);
  read.calls.erase(others.begin(), others.end());
}

}  // namespace gpuprof::simulate
