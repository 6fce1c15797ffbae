#include "libprof/conclude/simulate/hosts_in_gaps.hpp"

#include <algorithm>
#include <string>
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

  void add(const compute::HostCall& call, bool allocates, bool loads) {
    all_.add(call);
    if (allocates) allocating_.add(call);
    if (loads) loading_.add(call);
  }

  void finish(Schedule& schedule, const LaunchOf& launch_of) {
    std::vector<std::optional<compute::GapLaunch>> launches;
    for (const std::uint32_t number : chosen_) launches.push_back(launch_of(schedule.gaps[number]));
    const auto all = all_.finish(std::move(launches));
    const auto allocating = allocating_.finish(), loading = loading_.finish();
    const auto in_calls = [](const auto& split) {
      return split ? split->in_calls : std::int64_t{};
    };
    for (std::size_t i = 0; i < chosen_.size(); ++i) {
      if (!all[i]) continue;
      schedule.gaps[chosen_[i]].host = static_cast<std::uint32_t>(schedule.hosts.size());
      schedule.hosts.push_back({.no_call = all[i]->no_call(gaps_[i]),
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

HostsInGaps::HostsInGaps(store::Database& database, Schedule& schedule)
    : schedule_(schedule),
      allocating_(functions_that(database, GPUPROF_ALLOCATES)),
      loading_(functions_that(database, GPUPROF_LOADS_CODE)) {
  for (auto& chosen : longest_gaps(schedule)) {
    if (!chosen.empty())
      devices_.push_back(std::make_unique<OfDevice>(schedule, std::move(chosen)));
  }
}

HostsInGaps::~HostsInGaps() = default;

void HostsInGaps::add(const compute::HostCall& call) {
  const bool allocates = allocating_.contains(call.function);
  const bool loads = loading_.contains(call.function);
  for (const auto& device : devices_) device->add(call, allocates, loads);
}

void HostsInGaps::finish(const LaunchOf& launch_of) {
  for (const auto& device : devices_) device->finish(schedule_, launch_of);
  devices_.clear();
}

}  // namespace gpuprof::simulate
