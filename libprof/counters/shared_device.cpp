#include "libprof/counters/shared_device.hpp"

#include <algorithm>
#include <chrono>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"
#include "libprof/cupti/refused.hpp"
#include "libprof/metrics/sample_values.hpp"
#include "libprof/metrics/sampling_plan.hpp"

namespace gpuprof::counters {
namespace {

using std::chrono::milliseconds;

// The image size for decoding in the background, and how long the GPU's buffer is left alone: as in
// DeviceSampler.
constexpr std::size_t usual_bytes = std::size_t{48} << 20;
constexpr std::uint32_t most_usual_samples = 1024;
constexpr std::uint32_t least_usual_samples = 16;
constexpr milliseconds shortest_pause{2};
constexpr milliseconds longest_pause{100};

std::string name_of(const Platform& platform, int device) {
  return "device " + std::to_string(device) + " (" + platform.driver.name(device) + ")";
}

bool contains_all(const std::vector<std::string>& all, const std::vector<std::string>& some) {
  return std::ranges::all_of(
      some, [&](const std::string& each) { return std::ranges::find(all, each) != all.end(); });
}

// Returns the chip, or throws any problem that is known without trying.
std::string chip_or_throw(const Platform& platform, int device) {
  const cupti::Driver& driver = platform.driver;
  if (device < 0 || device >= driver.devices) {
    throw Error("there is no device " + std::to_string(device),
                "the driver has " + std::to_string(driver.devices) + ", numbered from 0",
                ExitCode::bad_option);
  }
  if (const std::string why = driver.problem(device, CUPTI_PROFILER_PM_SAMPLING); !why.empty()) {
    throw cupti::Refused(name_of(platform, device) + ": " + why,
                         driver.profiler ? driver.profiler : CUPTI_ERROR_NOT_SUPPORTED);
  }
  const std::string chip = driver.chip(device);
  if (chip.empty()) {
    throw cupti::Refused(name_of(platform, device) + ": " + cupti::unknown_chip,
                         CUPTI_ERROR_INVALID_CHIP_NAME);
  }
  return chip;
}

std::unique_ptr<cupti::PmSession> open_session(const Platform& platform, int device) {
  try {
    return std::make_unique<cupti::PmSession>(platform.driver, device);
  } catch (const cupti::Refused& refused) {
    const std::string name = name_of(platform, device);
    std::string hint;
    if (name.find(" MIG ") != name.npos) {
      hint =
          "PM sampling counts a whole GPU and no MIG instance: use a GPU without MIG "
          "(nvidia-smi -mig 0)";
    }
    throw cupti::Refused(name + ": " + refused.what(), refused.result(), hint);
  }
}

[[noreturn]] void refuse_state(const std::string& why, const std::string& hint) {
  throw cupti::Refused(why, CUPTI_ERROR_INVALID_OPERATION, hint);
}

}  // namespace

SharedDevice::SharedDevice(const Platform& platform, int device)
    : platform_(platform),
      device_(device),
      chip_(chip_or_throw(platform, device)),
      available_(cupti::available_counters(platform.driver, device)),
      session_(open_session(platform, device)) {}

SharedDevice::~SharedDevice() {
  {
    const std::lock_guard lock(mutex_);
    closing_ = true;
    changed_.notify_all();
  }
  if (thread_.joinable()) thread_.join();
  end_session();
}

void SharedDevice::join(Listener& listener) {
  const std::lock_guard lock(mutex_);
  listeners_.push_back(&listener);
}

void SharedDevice::leave(Listener& listener) {
  const std::lock_guard lock(mutex_);
  if (listener.started) {
    try {
      stop_locked(listener);
    } catch (const Error&) {
      // It is gone in any case, and the others continue.
    }
  }
  std::erase(listeners_, &listener);
}

std::size_t SharedDevice::listeners() {
  const std::lock_guard lock(mutex_);
  return listeners_.size();
}

bool SharedDevice::anybody_started() const {
  return std::ranges::any_of(listeners_, [](const Listener* each) { return each->started; });
}

bool SharedDevice::anybody_listens() const {
  return std::ranges::any_of(listeners_, [](const Listener* each) { return each->listens; });
}

// The metrics of all started listeners, and of this one.
std::vector<std::string> SharedDevice::metrics_with(const Listener& listener) const {
  std::vector<std::string> all;
  const auto add = [&](const Listener& each) {
    for (const std::string& name : each.settings->metrics) {
      if (std::ranges::find(all, name) == all.end()) all.push_back(name);
    }
  };
  for (const Listener* each : listeners_) {
    if (each->started) add(*each);
  }
  if (listener.settings) add(listener);
  return all;
}

// Throws if the chip does not have them, or not in one pass.
void SharedDevice::check(const ConsumerSettings& settings,
                         const std::vector<std::string>& metrics) const {
  if (metrics.empty()) throw Error("no metric is named", "", ExitCode::bad_option);
  const cupti::HostChip chip(platform_.library, chip_, cupti::Counting::samples, available_,
                             settings.set);
  if (auto image = chip.config_image(metrics); image && chip.passes(*image) == 1) return;
  std::vector<metrics::Metric> wanted;
  for (const std::string& name : metrics) {
    if (!chip.properties(name) || !chip.config_image(std::vector{name})) {
      throw Error(chip_ + " cannot sample " + name +
                      (settings.set.empty() ? "" : " in the set " + settings.set),
                  "a full name has its roll-up (.sum, .avg …); gpuprof.profiler_host lists them",
                  ExitCode::bad_option);
    }
    metrics::Metric metric;
    metric.name = name;
    metric.counters = {name};
    wanted.push_back(std::move(metric));
  }
  metrics::check_one_pass(chip, wanted);
}

void SharedDevice::insist_on_agreement(const Listener& listener,
                                       const ConsumerSettings& settings) const {
  for (const Listener* each : listeners_) {
    if (each == &listener || !each->started || each->settings->agrees_with(settings)) continue;
    throw Error("device " + std::to_string(device_) +
                    " is being sampled by another consumer of this process, every " +
                    std::to_string(each->settings->interval) +
                    (each->settings->by_time ? " ns" : " cycles"),
                "ask for the same interval, trigger, append mode and set, or stop that one first",
                ExitCode::bad_option);
  }
}

// Configures the session to count these. It must not be running.
void SharedDevice::set_up(const std::vector<std::string>& metrics,
                          const ConsumerSettings& settings) {
  if (metrics == metrics_ && settings_ && settings_->agrees_with(settings) &&
      settings_->buffer_bytes == settings.buffer_bytes) {
    return;
  }
  const cupti::HostChip chip(platform_.library, chip_, cupti::Counting::samples, available_,
                             settings.set);
  auto config = chip.config_image(metrics);
  if (!config) {
    throw Error("CUPTI makes no configuration of these metrics", "", ExitCode::bad_option);
  }
  metrics_.clear();
  if (session().configured()) end_session();
  session().configure(std::move(*config),
                      {.interval_ns = settings.by_time ? settings.interval : 0,
                       .interval_cycles = settings.by_time ? 0 : settings.interval,
                       .buffer_bytes = settings.buffer_bytes,
                       .keep_latest = settings.keep_latest});
  metrics_ = metrics;
  settings_ = settings;
  usual_samples_ = 0;
}

void SharedDevice::configure(Listener& listener, const ConsumerSettings& settings) {
  const std::lock_guard lock(mutex_);
  if (listener.started) refuse_state("PM sampling is started", "stop() it first");
  if (settings.by_time && !cupti::samples_by_time(chip_)) {
    throw Error(chip_ + " cannot sample at an interval in ns",
                "TriggerMode.GPU_SYSCLK_INTERVAL counts cycles of its system clock",
                ExitCode::bad_option);
  }
  check(settings, settings.metrics);
  if (anybody_started()) {
    insist_on_agreement(listener, settings);
    Listener* const self = &listener;
    const auto before = std::exchange(self->settings, settings);
    try {
      check(settings, metrics_with(listener));
    } catch (const Error&) {
      self->settings = before;
      throw;
    }
    return;
  }
  if (anybody_listens()) drain();
  for (Listener* each : listeners_) each->listens = false;
  set_up(settings.metrics, settings);
  listener.settings = settings;
}

void SharedDevice::start_session() {
  session().start();
  running_ = first_sample_ = true;
}

// The others continue with more metrics. There is a gap, and earlier samples are delivered first.
void SharedDevice::restart_with(const std::vector<std::string>& metrics,
                                const ConsumerSettings& settings) {
  const std::vector<std::string> metrics_before = metrics_;
  const ConsumerSettings settings_before = settings_.value();
  session().stop();
  running_ = false;
  drain();
  try {
    set_up(metrics, settings);
    start_session();
  } catch (const Error&) {
    set_up(metrics_before, settings_before);
    start_session();
    throw;
  }
}

void SharedDevice::start(Listener& listener, bool background) {
  const std::lock_guard lock(mutex_);
  if (listener.started) refuse_state("PM sampling has started already", "");
  if (!listener.settings) refuse_state("no metrics were chosen", "configure() it first");
  insist_on_agreement(listener, *listener.settings);
  const std::vector<std::string> metrics = metrics_with(listener);
  const bool rest = anybody_listens();
  listener.listens = false;
  if (!running_) {
    if (rest) drain();
    for (Listener* each : listeners_) each->listens = false;
    set_up(metrics, *listener.settings);
    start_session();
  } else if (!contains_all(metrics_, metrics)) {
    check(*listener.settings, metrics);
    ConsumerSettings settings = *listener.settings;
    settings.buffer_bytes = std::max(settings.buffer_bytes, settings_->buffer_bytes);
    restart_with(metrics, settings);
  } else {
    drain();
  }
  listener.started = listener.listens = true;
  listener.background = background;
  if (!background) return;
  if (!thread_.joinable()) thread_ = std::thread([this] { decode_in_background(); });
  changed_.notify_all();
}

void SharedDevice::stop(Listener& listener) {
  const std::lock_guard lock(mutex_);
  if (!listener.started) refuse_state("PM sampling has not started, or has stopped already", "");
  stop_locked(listener);
}

// If it is the only listener and decodes itself, its remaining samples stay on the GPU.
void SharedDevice::stop_locked(Listener& listener) {
  listener.started = false;
  const bool last = !anybody_started();
  if (last && running_) {
    running_ = false;
    session().stop();
  }
  if (listener.background || !last) {
    drain();
    listener.listens = false;
  }
  listener.background = false;
}

void SharedDevice::decode_for(Listener& listener, std::uint32_t most) {
  const std::lock_guard lock(mutex_);
  if (listener.listens) pump(most);
}

std::size_t SharedDevice::image_bytes(const std::vector<std::string>& metrics,
                                      std::uint32_t samples) {
  const std::lock_guard lock(mutex_);
  return session().image_bytes(metrics, samples);
}

std::uint32_t SharedDevice::usual_samples() {
  if (usual_samples_ == 0) {
    const std::size_t of_most = session().image_bytes(metrics_, most_usual_samples);
    const double fits = static_cast<double>(usual_bytes) / static_cast<double>(of_most);
    usual_samples_ =
        std::clamp(static_cast<std::uint32_t>(most_usual_samples * std::min(fits, 1.0)),
                   least_usual_samples, most_usual_samples);
    spare_.reset();
  }
  return usual_samples_;
}

// Decodes once, for all that listen.
cupti::PmSession::Decoded SharedDevice::pump(std::uint32_t most) {
  std::shared_ptr<cupti::Image> image;
  if (most == usual_samples_) image = std::move(spare_);
  if (!image) image = std::make_shared<cupti::Image>(session().image_bytes(metrics_, most));
  session().clear(*image);
  const cupti::PmSession::Decoded decoded = session().decode(*image);
  std::vector<PlacedSample> samples;
  std::size_t lost = decoded.torn;
  for (std::size_t i = 0; i < decoded.samples; ++i) {
    const cupti::SampleTime time = session().time_of(*image, i);
    // The first sample begins before the start.
    if (std::exchange(first_sample_, false)) continue;
    // CUPTI counts incomplete samples of a full image as complete (seen in 13.5).
    if (time.start == 0 || time.stop <= time.start) {
      ++lost;
      continue;
    }
    samples.push_back({static_cast<std::int64_t>(i), time});
  }
  if (!samples.empty()) sample_ns_ = samples.back().time.stop - samples.back().time.start;
  for (Listener* each : listeners_) {
    if (each->listens) each->receive(image, samples, decoded.samples + decoded.torn, lost);
  }
  // Others may still be reading it.
  const bool kept = std::ranges::any_of(
      listeners_, [](const Listener* each) { return each->listens && !each->background; });
  spare_ = most == usual_samples_ && !kept ? std::move(image) : nullptr;
  if (decoded.overflow) {
    start_over();
    for (Listener* each : listeners_) {
      if (each->listens) each->overflowed();
    }
  }
  return decoded;
}

// Delivers everything that the GPU has now.
void SharedDevice::drain() {
  if (metrics_.empty()) return;
  while (true) {
    const cupti::PmSession::Decoded decoded = pump(usual_samples());
    if (decoded.overflow || (running_ ? !decoded.image_full : decoded.samples == 0)) return;
  }
}

// Reopened if that failed before.
cupti::PmSession& SharedDevice::session() {
  if (!session_) session_ = open_session(platform_, device_);
  return *session_;
}

void SharedDevice::end_session() {
  const std::unique_lock lock(metrics::reading_values());
  session_.reset();
}

// CUPTI neither restarts a session whose buffer was full, nor returns its content (seen with 13.5).
void SharedDevice::start_over() {
  const bool was_running = std::exchange(running_, false);
  const std::vector<std::string> metrics = std::exchange(metrics_, {});
  end_session();
  set_up(metrics, settings_.value());
  if (was_running) start_session();
}

milliseconds SharedDevice::rest() const {
  const std::uint64_t ns = sample_ns_ * (usual_samples_ / 4);
  return std::clamp(std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(ns)),
                    shortest_pause, longest_pause);
}

void SharedDevice::decode_in_background() {
  std::unique_lock lock(mutex_);
  const auto wanted = [this] {
    return std::ranges::any_of(listeners_, [](const Listener* each) { return each->background; });
  };
  while (true) {
    changed_.wait(lock, [&] { return closing_ || wanted(); });
    if (closing_) return;
    bool more = false;
    auto next = std::chrono::steady_clock::now();
    try {
      more = pump(usual_samples()).image_full;
    } catch (const std::exception& error) {
      for (Listener* each : listeners_) {
        if (!each->background) continue;
        each->background = each->listens = false;
        each->fail(error.what());
      }
    }
    if (!more) next += rest();
    lock.unlock();  // others need to make calls
    std::this_thread::sleep_until(next);
    std::this_thread::yield();
    lock.lock();
  }
}

}  // namespace gpuprof::counters
