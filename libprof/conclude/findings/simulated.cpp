#include "libprof/conclude/findings/simulated.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <system_error>

#include "libprof/conclude/simulate/replay.hpp"
#include "libprof/conclude/simulate/schedule.hpp"

namespace gpuprof::findings {
namespace {

using simulate::Schedule;

struct Unwanted {};

// What devices save, ns, by id.
using Saved = std::map<std::int64_t, std::int64_t>;

Saved saved_by(const Schedule& schedule, std::uint32_t mends) {
  Saved saved;
  for (const simulate::DeviceOutcome& device : replay(schedule, {.mends = mends})) {
    saved[device.id] = device.saved();
  }
  return saved;
}

void put_together(const Schedule& schedule, Findings& findings) {
  for (const Device& device : findings.devices) {
    Together together{.device = device.id};
    std::uint32_t mends = simulate::nothing;
    for (const Finding& finding : findings.findings) {
      if (finding.device != device.id) continue;
      together.at_most += finding.at_most;
      ++together.findings;
      if (!finding.simulated) continue;
      ++together.of_them_simulated;
      mends |= finding.rule->mends;
    }
    if (mends == simulate::nothing || together.findings == 1) continue;
    together.simulated =
        std::clamp<std::int64_t>(saved_by(schedule, mends)[device.id], 0, together.at_most);
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

void Simulated::fill_in(Findings& findings, const std::function<void()>& check) {
  const auto is_simulated = [](const Finding& finding) {
    return finding.rule->mends != simulate::nothing;
  };
  if (std::ranges::none_of(findings.findings, is_simulated)) return;
  const Schedule read = schedule(check);
  std::map<std::uint32_t, Saved> by_mends;
  for (Finding& finding : findings.findings) {
    if (!is_simulated(finding)) continue;
    check();
    const auto [known, fresh] = by_mends.try_emplace(finding.rule->mends);
    if (fresh) known->second = saved_by(read, finding.rule->mends);
    finding.simulated = std::clamp<std::int64_t>(known->second[finding.device], 0, finding.at_most);
  }
  check();
  put_together(read, findings);
}

}  // namespace gpuprof::findings
