#include "libprof/sample/sampler.hpp"

#include <chrono>
#include <cstdlib>
#include <memory>
#include <thread>
#include <utility>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/collect/channel.hpp"
#include "libprof/collect/process_facts.hpp"
#include "libprof/collect/stream.hpp"
#include "libprof/cupti/driver.hpp"
#include "libprof/metrics/catalogue.hpp"
#include "libprof/sample/device_sampler.hpp"
#include "libprof/sample/row_output.hpp"
#include "libprof/wire/sampling.hpp"
#include "schema/sampled.hpp"

namespace gpuprof::sample {
namespace {

using std::chrono::milliseconds;
using std::chrono::steady_clock;

constexpr int step_ms = 100;
constexpr milliseconds statistics_period{1000};
constexpr milliseconds clock_period{10'000};
// For sending the remaining samples, measured from the last one sent: a CUPTI call may hang.
constexpr milliseconds stop_patience{3000};

const char* lacks(const cupti::Api& api) {
  return api.has_pm_sampling() ? "" : "no PM sampling, which came with CUDA 12.6";
}

std::string device_text(const cupti::Driver& driver, int device) {
  return "device " + std::to_string(device) + " (" + driver.name(device) + ")";
}

// The whole program. Single-threaded; the devices' threads are in DeviceSampler.
class Sampler {
 public:
  Sampler(collect::Channel& channel, wire::PmConfig config)
      : channel_(channel), stream_(channel), output_(channel), config_(std::move(config)) {}

  void run();

 private:
  void begin();
  void begin_device(int device);
  void describe(const std::vector<NumberedMetric>& metrics);
  void wait_for_stop();
  bool told_to_stop();
  void look_after();
  bool wait_for_devices();
  void count(bool last);
  void fail(const std::string& why);

  collect::Channel& channel_;
  collect::Stream stream_;
  Output output_;
  const wire::PmConfig config_;
  cupti::Driver driver_;
  std::shared_ptr<const cupti::HostLibrary> library_;
  std::vector<std::unique_ptr<DeviceSampler>> devices_;
  std::vector<bool> told_;       // by device: reported as ended early
  std::vector<bool> described_;  // by metric
  std::uint64_t failed_ = 0;     // devices
  std::uint64_t ended_early_ = 0;
};

void Sampler::fail(const std::string& why) {
  ++failed_;
  stream_.tell("warning", "no PM sampling: " + why);
}

// The metrics that the chip has. Each is described only once.
std::vector<NumberedMetric> metrics_of(const cupti::HostChip& chip,
                                       const std::vector<std::string>& names) {
  const metrics::Catalogue catalogue(chip);
  std::vector<NumberedMetric> found;
  for (std::size_t i = 0; i < names.size(); ++i) {
    try {
      found.push_back({catalogue.metric(names[i]), static_cast<std::uint32_t>(i + 1)});
    } catch (const Error&) {
      // Another chip of the run has it.
    }
  }
  return found;
}

void Sampler::begin_device(int device) {
  if (const std::string why = driver_.problem(device, CUPTI_PROFILER_PM_SAMPLING); !why.empty()) {
    return fail(device_text(driver_, device) + ": " + why);
  }
  const std::string chip = driver_.chip(device);
  if (chip.empty()) return fail(device_text(driver_, device) + ": " + cupti::unknown_chip);
  try {
    DeviceSampler::Options options{
        .device = device,
        .chip = chip,
        .metrics =
            metrics_of(cupti::HostChip(library_, chip, cupti::Counting::samples), config_.metrics),
        .settings = {.interval_ns = config_.interval_ns,
                     .interval_cycles = config_.interval_cycles,
                     .buffer_bytes = config_.buffer_bytes,
                     .keep_latest = config_.keep_latest}};
    for (const NumberedMetric& each : options.metrics) {
      options.optional += each.number > config_.metrics.size() - config_.optional;
    }
    if (options.settings.interval_ns != 0 && !cupti::samples_by_time(chip)) {
      // Its system clock runs at some 1.4 cycles per ns.
      options.settings.interval_cycles = options.settings.interval_ns * 14 / 10;
      options.settings.interval_ns = 0;
    }
    describe(options.metrics);
    devices_.push_back(
        std::make_unique<DeviceSampler>(driver_, library_, output_, std::move(options)));
    devices_.back()->start();
    told_.push_back(false);
  } catch (const Error& error) {
    if (devices_.size() > told_.size()) devices_.pop_back();
    fail(device_text(driver_, device) + ": " + error.what());
  }
}

void Sampler::describe(const std::vector<NumberedMetric>& metrics) {
  described_.resize(config_.metrics.size());
  output_.send([&](wire::RowSender& rows) {
    for (const auto& [metric, number] : metrics) {
      if (described_[number - 1]) continue;
      described_[number - 1] = true;
      rows.add<schema::PmMetric>({.number = number,
                                  .name = metric.name,
                                  .unit = metric.unit,
                                  .description = metric.description,
                                  .formula = metric.formula});
    }
  });
}

void Sampler::begin() {
  driver_ = cupti::start_driver(config_.cupti, lacks);
  library_ = std::make_shared<const cupti::HostLibrary>(std::vector<std::string>{driver_.api.path});
  stream_.tell("cupti_version", std::to_string(driver_.api.version));
  stream_.clock(wire::Clock::Moment::first, driver_.api.cuptiGetTimestamp);
  for (int device = 0; device < driver_.devices; ++device) begin_device(device);
}

void Sampler::count(bool last) {
  stream_.statistics(last, [this] {
    DeviceSampler::Counts all;
    for (const auto& device : devices_) {
      const DeviceSampler::Counts its = device->counts();
      all.samples += its.samples;
      all.lost += its.lost;
      all.overflows += its.overflows;
    }
    const std::string table(schema::PmSample::table.name);
    return std::vector<wire::Statistic>{{table, "pm_samples", all.samples},
                                        {table, "pm_samples_lost", all.lost},
                                        {table, "pm_overflows", all.overflows},
                                        {table, "pm_failed", failed_},
                                        {table, "pm_ended_early", ended_early_}};
  });
}

bool Sampler::told_to_stop() {
  wire::Frame frame;
  while (channel_.receive(frame, 0)) {
    if (frame.type != wire::FrameType::config) continue;
    if (!wire::Decoder(frame.payload()).fields().text(wire::stop_field).empty()) return true;
  }
  return !channel_.alive();
}

// Reports devices that ended by themselves.
void Sampler::look_after() {
  for (std::size_t i = 0; i < devices_.size(); ++i) {
    if (told_[i] || !devices_[i]->ended() || devices_[i]->problem().empty()) continue;
    told_[i] = true;
    ++ended_early_;
    stream_.tell("warning", "PM sampling of " + device_text(driver_, devices_[i]->device()) +
                                " ended early: " + devices_[i]->problem());
  }
}

void Sampler::wait_for_stop() {
  auto next_statistics = steady_clock::now();
  auto next_clock = next_statistics + clock_period;
  while (!told_to_stop()) {
    const auto now = steady_clock::now();
    if (now >= next_statistics) {
      next_statistics = now + statistics_period;
      look_after();
      count(false);
    }
    if (now >= next_clock) {
      next_clock = now + clock_period;
      stream_.clock(wire::Clock::Moment::meanwhile, driver_.api.cuptiGetTimestamp);
    }
    channel_.wait(step_ms);
    if (channel_.stalled()) {
      std::vector<collect::Channel::Ticket> done;
      channel_.resume(done);
    }
  }
}

// false: one of them does not end.
bool Sampler::wait_for_devices() {
  for (const auto& device : devices_) device->stop();
  for (const auto& device : devices_) {
    std::uint64_t progress = device->progress();
    auto until = steady_clock::now() + stop_patience;
    while (!device->ended()) {
      if (!channel_.alive() || steady_clock::now() > until) return false;
      std::this_thread::sleep_for(milliseconds(2));
      if (const std::uint64_t now = device->progress(); now != progress) {
        progress = now;
        until = steady_clock::now() + stop_patience;
      }
    }
  }
  return true;
}

void Sampler::run() {
  try {
    begin();
  } catch (const Error& error) {
    fail(error.what());
  }
  stream_.tell(wire::sampling_field, std::to_string(devices_.size()));
  count(false);
  wait_for_stop();
  const bool whole = wait_for_devices();
  look_after();
  if (!whole) {
    ++ended_early_;
    stream_.tell("warning", "PM sampling: CUPTI did not come back; the last samples are missing");
  }
  count(true);
  if (driver_.api.library) {
    stream_.clock(wire::Clock::Moment::last, driver_.api.cuptiGetTimestamp);
  }
  stream_.goodbye();
  // A thread inside CUPTI is abandoned.
  if (!whole) std::_Exit(0);
}

}  // namespace

int run_sampler(const std::string& socket_path) {
  collect::Channel channel;
  collect::Stream stream(channel);
  wire::Fields facts = collect::process_facts();
  facts.set(wire::role_field, wire::sampler_role);
  const auto config = stream.greet(facts, socket_path);
  if (!config) return 1;
  Sampler(channel, wire::decode_pm_config(*config)).run();
  return 0;
}

}  // namespace gpuprof::sample
