#include "libprof/conclude/simulate/hosts_in_gaps.hpp"

#include <algorithm>
#include <string>
#include <unordered_map>
#include <utility>

#include "libprof/conclude/simulate/functions.hpp"
#include "libprof/read/one_number.hpp"

namespace gpuprof::simulate {
namespace {

// Devices whose gaps are looked at; more have only forged files.
constexpr std::size_t most_devices = 64;

// Empty if the file does not have such a table.
FunctionSet functions_that(store::Database& database, const std::string& condition) {
  FunctionSet functions;
  try {
    auto rows = database.prepare("SELECT n.domain = 'driver', n.cbid FROM API_NAME AS n WHERE " +
                                 condition);
    while (rows.step()) {
      functions.add(compute::function_number(rows.integer(0) != 0, rows.integer(1)));
    }
  } catch (const store::DatabaseError& error) {
    if (!reading::is_of_content(error)) throw;
  }
  return functions;
}

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
    gaps.shrink_to_fit();
    std::ranges::sort(gaps);
  }
  return chosen;
}

}  // namespace

// What the host did in the longest gaps of a device, which are in `chosen`.
class HostsInGaps::OfDevice {
 public:
  OfDevice(const Schedule& schedule, std::vector<std::uint32_t> chosen)
      : chosen_(std::move(chosen)), gaps_(gaps_of(schedule, chosen_)) {}

  void add(const compute::HostCall& call, bool allocates, bool loads, bool of_pools) {
    all_.add(call);
    if (allocates) allocating_.add(call);
    if (loads) loading_.add(call);
    if (of_pools) pools_.add(call);
    remember_end(call);
  }

  void finish(Schedule& schedule, const LaunchOf& launch_of) {
    std::vector<std::optional<compute::GapLaunch>> launches;
    for (const std::uint32_t number : chosen_) launches.push_back(launch_of(schedule.gaps[number]));
    const auto all = all_.finish(std::move(launches));
    const auto allocating = allocating_.finish(), loading = loading_.finish(),
               pools = pools_.finish();
    const std::vector<std::int64_t> away = away_before();
    const auto in_calls = [](const auto& split) {
      return split ? split->in_calls : std::int64_t{};
    };
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (!all[i]) continue;
      schedule.gaps[chosen_[i]].host = static_cast<std::uint32_t>(schedule.hosts.size());
      schedule.hosts.push_back({.no_call = all[i]->no_call(gaps_[i]),
                                .allocating = in_calls(allocating[i]),
                                .loading = in_calls(loading[i]),
                                .pools = in_calls(pools[i]),
                                .away_before = away[i]});
    }
  }

 private:
  // When calls of a process were over, by the first of its gaps that began after the call.
  struct Process {
    std::vector<std::uint32_t> gaps = {};  // in time order
    std::vector<std::int64_t> ends = {};   // 0: none
    std::size_t next = 0;                  // the first gap that began after the latest call
  };

  std::unordered_map<std::int64_t, Process> by_process() const {
    std::unordered_map<std::int64_t, Process> processes;
    for (std::uint32_t i = 0; i < gaps_.size(); ++i) {
      Process& its = processes[gaps_[i].behind.process];
      its.gaps.push_back(i);
      its.ends.push_back(0);
    }
    return processes;
  }
  void remember_end(const compute::HostCall& call) {
    const auto known = processes_.find(call.process);
    if (known == processes_.end()) return;
    Process& its = known->second;
    const auto begin_of = [&](std::uint32_t gap) { return gaps_[gap].begin; };
    const std::size_t count = its.gaps.size();
    if ((its.next > 0 && begin_of(its.gaps[its.next - 1]) > call.begin) ||
        (its.next < count && begin_of(its.gaps[its.next]) <= call.begin)) {
      const auto next = std::ranges::upper_bound(its.gaps, call.begin, {}, begin_of);
      its.next = static_cast<std::size_t>(next - its.gaps.begin());
    }
    if (its.next < count) its.ends[its.next] = std::max(its.ends[its.next], call.end);
  }
  // By gap, as in HostInGap.
  std::vector<std::int64_t> away_before() const {
    std::vector<std::int64_t> away(gaps_.size());
    for (const auto& [process, its] : processes_) {
      std::int64_t end = 0;
      for (std::size_t i = 0; i < its.gaps.size(); ++i) {
        end = std::max(end, its.ends[i]);
        if (end != 0) away[its.gaps[i]] = std::max<std::int64_t>(0, gaps_[its.gaps[i]].begin - end);
      }
    }
    return away;
  }

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
  compute::HostCalls all_{gaps_}, allocating_{gaps_}, loading_{gaps_}, pools_{gaps_};
  std::unordered_map<std::int64_t, Process> processes_ = by_process();
};

HostsInGaps::HostsInGaps(store::Database& database, Schedule& schedule)
    : schedule_(schedule),
      allocating_(functions_that(database, GPUPROF_ALLOCATES)),
      loading_(functions_that(database, GPUPROF_LOADS_CODE)),
      pools_(functions_that(database, GPUPROF_USES_POOLS)) {
  pools_.add(functions_that(database, GPUPROF_TRIMS_POOLS));
  for (auto& chosen : longest_gaps(schedule)) {
    if (!chosen.empty())
      devices_.push_back(std::make_unique<OfDevice>(schedule, std::move(chosen)));
  }
}

HostsInGaps::~HostsInGaps() = default;

void HostsInGaps::add(const compute::HostCall& call) {
  const bool allocates = allocating_.contains(call.function);
  const bool loads = loading_.contains(call.function), of_pools = pools_.contains(call.function);
  for (const auto& device : devices_) device->add(call, allocates, loads, of_pools);
}

void HostsInGaps::finish(const LaunchOf& launch_of) {
  for (const auto& device : devices_) device->finish(schedule_, launch_of);
  devices_.clear();
}

}  // namespace gpuprof::simulate
