#include "libprof/counters/consumer.hpp"

#include <time.h>

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <map>
#include <mutex>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/counters/shared_device.hpp"
#include "libprof/cupti/refused.hpp"
#include "libprof/metrics/sample_values.hpp"

namespace gpuprof::counters {
namespace {

// Limit for images that one consumer has not taken while others decode.
constexpr std::size_t most_waiting_bytes = std::size_t{1} << 30;

const char* lacks_pm_sampling(const cupti::Api& api) {
  return api.has_pm_sampling() ? "" : "no PM sampling, which came with CUDA 12.6";
}

// Started by the first consumer. Never ended: the process has only one CUPTI profiler, and any
// other user of it would be affected.
const Platform& the_platform(const std::vector<std::string>& cupti) {
  static std::mutex mutex;
  static auto* const platform = new std::unique_ptr<const Platform>;
  const std::lock_guard lock(mutex);
  if (!*platform) {
    auto started = std::make_unique<Platform>();
    started->driver = cupti::start_driver(cupti, lacks_pm_sampling);
    started->library =
        std::make_shared<const cupti::HostLibrary>(std::vector{started->driver.api.path});
    *platform = std::move(started);
  }
  return **platform;
}

// Devices in use.
struct Devices {
  std::mutex mutex;
  std::map<int, std::weak_ptr<SharedDevice>> open;
};

Devices& devices() {
  static auto* const all = new Devices;
  return *all;
}

std::int64_t read_clock(clockid_t clock) {
  timespec time{};
  clock_gettime(clock, &time);
  return time.tv_sec * std::int64_t{1'000'000'000} + time.tv_nsec;
}

Clocks read_clocks(const cupti::Api& api) {
  std::uint64_t cupti = 0;
  const std::int64_t unix_before = read_clock(CLOCK_REALTIME);
  const std::int64_t monotonic_before = read_clock(CLOCK_MONOTONIC);
  api.cuptiGetTimestamp(&cupti);
  const std::int64_t monotonic = (monotonic_before + read_clock(CLOCK_MONOTONIC)) / 2;
  const std::int64_t unix = (unix_before + read_clock(CLOCK_REALTIME)) / 2;
  return {.cupti = static_cast<std::int64_t>(cupti), .unix = unix, .monotonic = monotonic};
}

// The mutex guards the waiting samples and is never held during a CUPTI call.
class Member : public Consumer, private SharedDevice::Listener {
 public:
  explicit Member(std::shared_ptr<SharedDevice> device) : device_(std::move(device)) {
    device_->join(*this);
  }
  ~Member() override {
    device_->leave(*this);
    // The last one ends the session; whoever reopens it must wait for that.
    const std::lock_guard lock(devices().mutex);
    device_.reset();
  }

  void configure(const ConsumerSettings& wanted) override {
    device_->configure(*this, wanted);
    const std::lock_guard lock(mutex_);
    metrics_ = wanted.metrics;
    clear();
  }

  void start(std::size_t ring) override {
    if (ring > 0 && settings) {
      values_ = std::make_unique<metrics::SampleValues>(device_->platform().library,
                                                        device_->chip(), cupti::Counting::samples,
                                                        device_->available(), settings->set);
    }
    {
      const std::lock_guard lock(mutex_);
      clear();
      ring_ = ring;
    }
    device_->start(*this, ring > 0);
  }

  void stop() override {
    device_->stop(*this);
    const std::lock_guard lock(mutex_);
    over_ = true;
    changed_.notify_all();
  }

  void wait(std::chrono::milliseconds patience) override {
    std::unique_lock lock(mutex_);
    if (ring_ > 0) changed_.wait_for(lock, patience, [this] { return !times_.empty() || over_; });
  }
  TakenSamples take(std::size_t most) override;
  std::size_t image_bytes(const std::vector<std::string>& metrics, std::uint32_t samples) override {
    return device_->image_bytes(metrics, samples);
  }

  ConsumerState state() override {
    const std::size_t consumers = device_->listeners();
    const std::lock_guard lock(mutex_);
    return {.chip = device_->chip(),
            .consumers = consumers,
            .samples = samples_,
            .lost = lost_,
            .overflows = overflows_,
            .problem = problem_};
  }

 private:
  void receive(const std::shared_ptr<const cupti::Image>& image,
               const std::vector<PlacedSample>& samples, std::size_t populated,
               std::size_t lost) override;
  void overflowed() override {
    const std::lock_guard lock(mutex_);
    ++overflows_;
    if (ring_ == 0) told_overflow_ = false;
  }
  void fail(const char* why) override {
    const std::lock_guard lock(mutex_);
    problem_ = why;
    over_ = true;
    changed_.notify_all();
  }
  void clear() {
    waiting_.clear();
    times_.clear();
    row_values_.clear();
    populated_ = 0;
    waiting_bytes_ = 0;
    over_ = false;
    problem_.clear();
  }
  void drop_front(std::size_t count);

  // An image, and which of the samples at the front of times_ are in it.
  struct Waiting {
    std::shared_ptr<const cupti::Image> image;
    std::deque<std::int64_t> places;
  };

  std::shared_ptr<SharedDevice> device_;
  std::unique_ptr<metrics::SampleValues> values_;  // used by whichever thread decodes

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::vector<std::string> metrics_;
  std::size_t ring_ = 0;
  std::deque<cupti::SampleTime> times_;
  std::deque<double> row_values_;  // with a ring
  std::deque<Waiting> waiting_;    // without one
  std::size_t waiting_bytes_ = 0;
  std::size_t populated_ = 0;
  std::uint64_t samples_ = 0, lost_ = 0, overflows_ = 0;
  bool told_overflow_ = true;
  bool over_ = false;  // nothing more will come
  std::string problem_;
};

void Member::receive(const std::shared_ptr<const cupti::Image>& image,
                     const std::vector<PlacedSample>& samples, std::size_t populated,
                     std::size_t lost) {
  std::vector<std::int64_t> places;
  for (const PlacedSample& each : samples) places.push_back(each.place);
  std::vector<double> values;
  const bool evaluates = [this] {
    const std::lock_guard lock(mutex_);
    return ring_ > 0;
  }();
  if (evaluates) {
    values.resize(places.size() * settings->metrics.size());
    values_->evaluate(*image, places, settings->metrics, values.data());
  }
  const std::lock_guard lock(mutex_);
  populated_ += populated;
  lost_ += lost;
  for (const PlacedSample& each : samples) times_.push_back(each.time);
  if (evaluates) {
    row_values_.insert(row_values_.end(), values.begin(), values.end());
    if (times_.size() > ring_) drop_front(times_.size() - ring_);
  } else if (!samples.empty()) {
    waiting_.push_back({image, {places.begin(), places.end()}});
    waiting_bytes_ += image->size();
    while (waiting_bytes_ > most_waiting_bytes && waiting_.size() > 1) {
      drop_front(waiting_.front().places.size());
    }
  }
  changed_.notify_all();
}

// Discards waiting samples for lack of room.
void Member::drop_front(std::size_t count) {
  lost_ += count;
  times_.erase(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(count));
  if (ring_ > 0) {
    const std::size_t values = count * metrics_.size();
    row_values_.erase(row_values_.begin(),
                      row_values_.begin() + static_cast<std::ptrdiff_t>(values));
  } else {
    waiting_bytes_ -= waiting_.front().image->size();
    waiting_.pop_front();
  }
}

TakenSamples Member::take(std::size_t most) {
  std::unique_lock lock(mutex_);
  if (metrics_.empty()) {
    throw cupti::Refused("no metrics were chosen", CUPTI_ERROR_INVALID_OPERATION,
                         "configure() it first");
  }
  if (ring_ > 0) {
    if (times_.empty() && !problem_.empty()) {
      throw Error("decoding in the background ended: " + problem_, "", ExitCode::no_metrics);
    }
  } else if (times_.empty()) {
    lock.unlock();
    device_->decode_for(*this, static_cast<std::uint32_t>(most));
    lock.lock();
  }
  if (!std::exchange(told_overflow_, true) && times_.empty()) {
    throw cupti::Refused("the GPU's buffer was full, and what was in it is lost",
                         CUPTI_ERROR_OUT_OF_MEMORY,
                         "decode() more often or in the background, or ask for a larger "
                         "hardware_buffer_size or sampling_interval; sampling goes on");
  }
  TakenSamples taken;
  taken.evaluated = ring_ > 0;
  taken.clocks = read_clocks(device_->platform().driver.api);
  const std::size_t count = std::min(most, times_.size());
  for (std::size_t i = 0; i < count; ++i) {
    taken.starts.push_back(times_[i].start);
    taken.stops.push_back(times_[i].stop);
  }
  if (taken.evaluated) {
    const auto end = row_values_.begin() + static_cast<std::ptrdiff_t>(count * metrics_.size());
    taken.values.assign(row_values_.begin(), end);
    row_values_.erase(row_values_.begin(), end);
  }
  for (std::size_t left = taken.evaluated ? 0 : count; left > 0;) {
    Waiting& front = waiting_.front();
    const std::size_t part = std::min(left, front.places.size());
    const auto end = front.places.begin() + static_cast<std::ptrdiff_t>(part);
    taken.windows.push_back({front.image, {front.places.begin(), end}});
    front.places.erase(front.places.begin(), end);
    if (front.places.empty()) {
      waiting_bytes_ -= front.image->size();
      waiting_.pop_front();
    }
    left -= part;
  }
  times_.erase(times_.begin(), times_.begin() + static_cast<std::ptrdiff_t>(count));
  samples_ += count;
  taken.populated = times_.empty() ? std::exchange(populated_, 0) : count;
  if (!times_.empty()) populated_ -= std::min(populated_, count);
  return taken;
}

}  // namespace

std::unique_ptr<Consumer> open_consumer(int device, const std::vector<std::string>& cupti) {
  const Platform& platform = the_platform(cupti);
  Devices& all = devices();
  const std::lock_guard lock(all.mutex);
  std::shared_ptr<SharedDevice> shared = all.open[device].lock();
  if (!shared) {
    shared = std::make_shared<SharedDevice>(platform, device);
    all.open[device] = shared;
  }
  return std::make_unique<Member>(std::move(shared));
}

DeviceChip chip_of_device(int device, const std::vector<std::string>& cupti) {
  const Platform& platform = the_platform(cupti);
  if (device < 0 || device >= platform.driver.devices) {
    throw Error("there is no device " + std::to_string(device),
                "the driver has " + std::to_string(platform.driver.devices) + ", numbered from 0",
                ExitCode::bad_option);
  }
  return {.chip = platform.driver.chip(device),
          .available = cupti::available_counters(platform.driver, device),
          .cupti = platform.driver.api.path};
}

}  // namespace gpuprof::counters
