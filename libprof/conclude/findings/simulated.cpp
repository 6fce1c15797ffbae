#include "libprof/conclude/findings/simulated.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <system_error>

#include "libprof/base/saturating.hpp"
#include "libprof/conclude/simulate/replay.hpp"
#include "libprof/conclude/simulate/schedule.hpp"

namespace gpuprof::findings {
namespace {

using simulate::Schedule;

struct Unwanted {};

using Kernels = std::map<std::int64_t, std::int64_t>;  // ns by StringTable id
using Outcomes = std::vector<simulate::DeviceOutcome>;

// Times of kernels of the device in the schedule.
Kernels times_of_kernels(const Schedule& schedule, std::int64_t device) {
  std::vector<std::int64_t> times(schedule.names.size());
  for (const simulate::Work& work : schedule.works) {
    if (work.follows || schedule.devices[work.device].id != device) continue;
    const std::int64_t end = std::min(work.end(), schedule.to.value_or(work.end()));
    times[work.name] = saturating_add(times[work.name], end - work.begin);
  }
  Kernels kernels;
  for (std::size_t i = 1; i < times.size(); ++i) kernels[schedule.names[i]] = times[i];
  return kernels;
}

// How many times as fast kernels are that need that much less, by Schedule::names.
std::vector<double> faster_by(const Schedule& schedule, std::int64_t device, const Kernels& saved) {
  constexpr double most = 1000;
  std::vector<double> faster;
  if (saved.empty()) return faster;
  const Kernels times = times_of_kernels(schedule, device);
  for (const std::int32_t name : schedule.names) {
    const auto its = saved.find(name);
    const auto known = times.find(name);
    double factor = 1;
    if (its != saved.end() && known != times.end()) {
      const auto time = static_cast<double>(known->second);
      const double left = time - static_cast<double>(its->second);
      factor = time > most * left ? most : std::max(1.0, time / left);
    }
    faster.push_back(factor);
  }
  return faster;
}

simulate::DeviceOutcome outcome_of(const Outcomes& outcomes, std::int64_t device) {
  const auto its = std::ranges::find(outcomes, device, &simulate::DeviceOutcome::id);
  return its == outcomes.end() ? simulate::DeviceOutcome{.id = device} : *its;
}

void simulate_with(const simulate::DeviceOutcome& outcome, Finding& finding) {
  finding.simulated = std::clamp<std::int64_t>(outcome.saved(), 0, finding.at_most);
  if (!outcome.steps.empty()) finding.simulated_step = outcome.median_after();
}

void put_together(const Schedule& schedule, Findings& findings) {
  for (const Device& device : findings.devices) {
    Together together{.device = device.id};
    std::uint32_t mends = simulate::nothing;
    std::int64_t slow_steps = 0;
    Kernels kernels;
    for (const Finding& finding : findings.findings) {
      if (finding.device != device.id) continue;
      together.at_most += finding.at_most;
      ++together.findings;
      if (!finding.simulated) continue;
      ++together.of_them_simulated;
      mends |= finding.rule->mends;
      for (const auto& [name, ns] : finding.kernels) {
        kernels[name] = saturating_add(kernels[name], ns);
      }
      if (finding.rule->mends == simulate::slow_steps) slow_steps = *finding.simulated;
    }
    if (mends == simulate::nothing || together.findings == 1) continue;
    const Outcomes outcomes =
        replay(schedule, {.mends = mends, .faster = faster_by(schedule, device.id, kernels)});
    // What slow steps save may be among what the schedule does.
    together.simulated =
        std::clamp(outcome_of(outcomes, device.id).saved(), slow_steps, together.at_most);
    findings.together.push_back(together);
  }
}

}  // namespace

Simulated::Simulated(store::Snapshot& snapshot, const reading::Window& window)
    : snapshot_(snapshot), window_(window) {
  if (!snapshot.other()) return;
  try {
    early_ = std::async(std::launch::async, [this] {
      const auto check = [this] {
        if (unwanted_) throw Unwanted();
      };
      return simulate::read_schedule(*snapshot_.other(), window_.from, window_.to, check,
                                     [this] { goes_on_.wait(false); });
    });
  } catch (const std::system_error&) {
    // It is read when it is needed.
  }
}

Simulated::~Simulated() {
  unwanted_ = true;
  go_on();
  if (early_.valid()) early_.wait();
}

void Simulated::go_on() {
  goes_on_ = true;
  goes_on_.notify_all();
}

Schedule Simulated::schedule(const std::function<void()>& check) {
  if (!early_.valid()) {
    return simulate::read_schedule(snapshot_, window_.from, window_.to, check);
  }
  while (early_.wait_for(std::chrono::milliseconds(20)) != std::future_status::ready) check();
  return early_.get();
}

void Simulated::fill_in(Findings& findings, const std::vector<std::int64_t>& starts,
                        const std::function<void()>& check) {
  const auto is_simulated = [](const Finding& finding) {
    return finding.rule->mends != simulate::nothing;
  };
  if (std::ranges::none_of(findings.findings, is_simulated)) return;
  Schedule read = schedule(check);
  read.steps = starts;
  std::map<std::uint32_t, Outcomes> by_mends;
  for (Finding& finding : findings.findings) {
    if (!is_simulated(finding)) continue;
    check();
    const std::uint32_t mends = finding.rule->mends;
    if (mends == simulate::slow_steps) {
      finding.simulated = finding.at_most;
    } else if (finding.kernels.empty()) {
      const auto [known, fresh] = by_mends.try_emplace(mends);
      if (fresh) known->second = replay(read, {.mends = mends});
      simulate_with(outcome_of(known->second, finding.device), finding);
    } else {
      const std::vector<double> faster = faster_by(read, finding.device, finding.kernels);
      simulate_with(outcome_of(replay(read, {.mends = mends, .faster = faster}), finding.device),
                    finding);
    }
  }
  check();
  put_together(read, findings);
}

}  // namespace gpuprof::findings
