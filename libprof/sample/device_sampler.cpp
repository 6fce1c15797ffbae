#include "libprof/sample/device_sampler.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/text.hpp"
#include "libprof/metrics/sampling_plan.hpp"
#include "schema/sampled.hpp"

namespace gpuprof::sample {
namespace {

using std::chrono::milliseconds;

constexpr double none = std::numeric_limits<double>::quiet_NaN();

// The minimum time for which the GPU's buffer is left alone.
constexpr milliseconds shortest_rest{2};
// A sample of the default metrics takes 33 KB on an H200.
constexpr std::size_t image_bytes = std::size_t{48} << 20;
constexpr std::uint32_t most_samples = 1024;
constexpr std::size_t spare_images = 3;
// Twice the longest observed time to evaluate a sample of the default metrics: slow evaluation
// holds images back, and an image that fills up meanwhile has lost half of its samples.
constexpr std::uint64_t evaluation_ns = 80'000;
constexpr std::size_t most_evaluators = 4;

}  // namespace

DeviceSampler::DeviceSampler(const cupti::Driver& driver,
                             std::shared_ptr<const cupti::HostLibrary> library, Output& output,
                             Options options)
    : driver_(driver), library_(std::move(library)), output_(output), options_(std::move(options)) {
  configure();
  make_images();
}

// Uses all metrics that the device supports, or else leaves out the optional ones one by one.
void DeviceSampler::configure() {
  available_ = cupti::available_counters(driver_, options_.device);
  session_ = std::make_unique<cupti::PmSession>(driver_, options_.device);
  const cupti::HostChip chip(library_, options_.chip, cupti::Counting::samples, available_);
  std::vector<metrics::Metric> wanted;
  for (const NumberedMetric& each : options_.metrics) wanted.push_back(each.metric);
  std::string left_out;
  const auto leave_out = [&](const std::string& name) {
    left_out += (left_out.empty() ? "" : ",") + name;
    std::erase_if(options_.metrics,
                  [&](const NumberedMetric& each) { return each.metric.name == name; });
  };
  std::vector<metrics::Metric> taken = metrics::that_fit(chip, wanted);
  std::size_t optional = options_.optional;
  for (std::size_t i = wanted.size(); i > 0; --i) {
    const std::string& name = wanted[i - 1].name;
    if (std::ranges::find(taken, name, &metrics::Metric::name) != taken.end()) continue;
    optional -= i > wanted.size() - options_.optional;
    leave_out(name);
  }
  while (true) {
    if (taken.empty()) {
      throw Error("it cannot count any of " + left_out, "", ExitCode::no_metrics);
    }
    counters_ = metrics::counters_of(taken);
    try {
      config_ = chip.config_image(counters_).value();
      session_->configure(config_, options_.settings);
      break;
    } catch (const Error&) {
      if (optional == 0) throw;
    }
    --optional;
    leave_out(taken.back().name);
    taken.pop_back();
  }
  for (const metrics::Metric& metric : taken) {
    std::vector<std::size_t>& places = places_.emplace_back();
    for (const std::string& counter : metric.counters) {
      places.push_back(
          static_cast<std::size_t>(std::ranges::find(counters_, counter) - counters_.begin()));
    }
  }
  const cupti::PmSettings& settings = options_.settings;
  output_.send([&](wire::RowSender& rows) {
    rows.add<schema::PmDevice>(
        {.device = static_cast<std::uint32_t>(options_.device),
         .chip = options_.chip,
         .interval_ns = settings.interval_ns ? std::optional(settings.interval_ns) : std::nullopt,
         .interval_cycles =
             settings.interval_ns ? std::nullopt : std::optional(settings.interval_cycles),
         .buffer_bytes = settings.buffer_bytes,
         .keep_latest = settings.keep_latest,
         .left_out = left_out});
  });
}

std::size_t DeviceSampler::evaluators() const {
  const std::uint64_t interval = options_.settings.interval_ns;
  if (interval == 0) return 2;
  return std::clamp<std::size_t>((evaluation_ns + interval - 1) / interval, 1, most_evaluators);
}

void DeviceSampler::make_images() {
  const std::size_t for_most = session_->image_bytes(counters_, most_samples);
  const double fits = static_cast<double>(image_bytes) / static_cast<double>(for_most);
  samples_per_image_ = std::clamp(static_cast<std::uint32_t>(most_samples * std::min(fits, 1.0)),
                                  std::uint32_t{16}, most_samples);
  const std::size_t bytes = session_->image_bytes(counters_, samples_per_image_);
  for (std::size_t i = 0; i < spare_images + evaluators(); ++i) {
    images_.push_back(std::make_unique<Image>());
    images_.back()->bytes.resize(bytes);
    free_.push_back(images_.back().get());
  }
  // Here and not on their threads: CUPTI creates them one at a time.
  for (std::size_t i = 0; i < evaluators(); ++i) {
    chips_.push_back(std::make_unique<cupti::HostChip>(library_, options_.chip,
                                                       cupti::Counting::samples, available_));
  }
}

DeviceSampler::~DeviceSampler() {
  stop();
  for (std::thread& thread : threads_) thread.join();
}

void DeviceSampler::start() {
  session_->start();
  running_.store(static_cast<int>(1 + chips_.size()));
  threads_.emplace_back([this] { read(); });
  for (const auto& chip : chips_) threads_.emplace_back([this, &chip] { evaluate(*chip); });
}

DeviceSampler::Counts DeviceSampler::counts() const {
  return {.samples = samples_.load(), .lost = lost_.load(), .overflows = overflows_.load()};
}

void DeviceSampler::fail(const char* what) {
  const std::lock_guard lock(mutex_);
  if (problem_.empty()) problem_ = what;
  closed_ = true;
  stopping_.store(true);
  changed_.notify_all();
}

// Null: nothing is left to do.
DeviceSampler::Image* DeviceSampler::free_image() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !free_.empty() || closed_; });
  if (closed_) return nullptr;
  Image* image = free_.back();
  free_.pop_back();
  return image;
}

void DeviceSampler::read() {
  try {
    while (!stopping_.load()) {
      // Relative to the last time: the time that reading takes must not delay it further each
      // round.
      const auto next = std::chrono::steady_clock::now() + rest();
      if (!read_once().image_full && !stopping_.load()) std::this_thread::sleep_until(next);
    }
    if (problem_.empty()) {
      session_->stop();
      while (read_once().samples > 0) {
      }
    }
    if (overflowed_) tell_gap(0);
  } catch (const std::exception& error) {
    fail(error.what());
  }
  end_session();
  {
    const std::lock_guard lock(mutex_);
    closed_ = true;
    changed_.notify_all();
  }
  running_.fetch_sub(1);
}

// Until an image is a quarter full: a call costs the same for one sample as for many, and an image
// that fills up ends with samples that lack counters.
milliseconds DeviceSampler::rest() const {
  if (!last_) return shortest_rest;
  const std::uint64_t ns = (last_->stop - last_->start) * (samples_per_image_ / 4);
  return std::clamp(std::chrono::duration_cast<milliseconds>(std::chrono::nanoseconds(ns)),
                    shortest_rest, most_rest_);
}

cupti::PmSession::Decoded DeviceSampler::read_once() {
  Image* image = free_image();
  if (!image) return {};
  session_->clear(image->bytes);
  const cupti::PmSession::Decoded decoded = session_->decode(image->bytes);
  progress_.fetch_add(1);
  lost_.fetch_add(decoded.torn);
  keep(image, decoded.samples);
  if (decoded.overflow) {
    overflows_.fetch_add(1);
    overflowed_ = true;
    if (!stopping_.load()) start_over();
  }
  return decoded;
}

// The GPU's buffer was full. CUPTI neither restarts such a session nor returns the content of its
// buffer (seen with 13.5), so a new one replaces it, which takes some 0.4 s.
void DeviceSampler::start_over() {
  end_session();
  session_ = std::make_unique<cupti::PmSession>(driver_, options_.device);
  session_->configure(config_, options_.settings);
  session_->image_bytes(counters_, samples_per_image_);
  session_->start();
  first_sample_ = true;
  most_rest_ = std::max(shortest_rest, most_rest_ / 2);
}

// Nothing may be evaluated meanwhile: CUPTI's evaluation library crashed when the session of an
// image ended.
void DeviceSampler::end_session() {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return free_.size() == images_.size() || !problem_.empty(); });
  }
  session_.reset();
}

void DeviceSampler::hand_back(Image* image) {
  const std::lock_guard lock(mutex_);
  free_.push_back(image);
  changed_.notify_all();
}

// Passes an image on, without the first sample since the start, whose start time is not valid.
void DeviceSampler::keep(Image* image, std::size_t samples) {
  image->times.clear();
  image->first = 0;
  for (std::size_t i = 0; i < samples; ++i) {
    image->times.push_back(session_->time_of(image->bytes, i));
    if (!std::exchange(first_sample_, false)) continue;
    image->first = i + 1;
  }
  for (std::size_t i = image->first; i < samples; ++i) {
    cupti::SampleTime& time = image->times[i];
    if (time.start == 0 || time.stop <= time.start) {
      time =
          {};  // the image was full: CUPTI counts incomplete samples as complete (seen with 13.5)
      continue;
    }
    // Consecutive samples adjoin; a gap of half a sample means that a whole one is missing.
    const std::uint64_t length = time.stop - time.start;
    const bool gap = last_ && time.start > last_->stop + length / 2;
    if (last_ && (gap || overflowed_)) tell_gap(time.start);
    overflowed_ = false;
    last_ = time;
  }
  if (image->first == samples && samples > 0) return hand_back(image);
  const std::lock_guard lock(mutex_);
  if (samples > 0) {
    image->turn = next_turn_++;
    full_.push_back(image);
  } else {
    free_.push_back(image);
  }
  changed_.notify_all();
}

// `until`: 0 for a gap that lasts to the end.
void DeviceSampler::tell_gap(std::uint64_t until) {
  if (!last_) return;
  output_.send([&](wire::RowSender& rows) {
    rows.add<schema::PmGap>({.device = static_cast<std::uint32_t>(options_.device),
                             .start = last_->stop,
                             .stop = until ? std::optional(until) : std::nullopt,
                             .reason = overflowed_ ? "overflow" : "missing"});
  });
}

// Null: there will be none.
DeviceSampler::Image* DeviceSampler::next_image() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !full_.empty() || closed_; });
  if (full_.empty()) return nullptr;
  Image* image = full_.front();
  full_.pop_front();
  return image;
}

void DeviceSampler::evaluate(const cupti::HostChip& chip) {
  try {
    while (Image* image = next_image()) {
      evaluate(chip, *image);
      hand_back(image);
    }
  } catch (const std::exception& error) {
    fail(error.what());
  }
  running_.fetch_sub(1);
}

void DeviceSampler::evaluate(const cupti::HostChip& chip, const Image& image) {
  std::vector<const char*> names;
  for (const std::string& counter : counters_) names.push_back(counter.c_str());
  const std::size_t parts =
      (options_.metrics.back().number + schema::pm_values_per_row - 1) / schema::pm_values_per_row;
  const std::size_t width = parts * schema::pm_values_per_row;
  std::vector<double> values(width * image.times.size(), none);
  std::vector<double> read(counters_.size());
  std::vector<double> of_metric;
  for (std::size_t sample = image.first; sample < image.times.size(); ++sample) {
    if (image.times[sample].start == 0) continue;
    if (!chip.evaluate(image.bytes, sample, names, read.data())) continue;
    for (std::size_t i = 0; i < options_.metrics.size(); ++i) {
      of_metric.clear();
      for (const std::size_t place : places_[i]) of_metric.push_back(read[place]);
      const double value = options_.metrics[i].metric.value(of_metric);
      if (std::isfinite(value)) {
        values[sample * width + options_.metrics[i].number - 1] = value;
      }
    }
    progress_.fetch_add(1, std::memory_order_relaxed);
  }
  send(image, values);
}

// In the order of the images: rows of a device are in chronological order.
void DeviceSampler::send(const Image& image, std::span<const double> values) {
  {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return turn_ == image.turn || !problem_.empty(); });
  }
  const std::size_t width = values.size() / image.times.size();
  std::uint64_t kept = 0;
  std::uint64_t empty = 0;
  const bool sent = output_.send([&](wire::RowSender& rows) {
    for (std::size_t sample = image.first; sample < image.times.size(); ++sample) {
      const double* of_sample = values.data() + sample * width;
      if (std::all_of(of_sample, of_sample + width,
                      [](double value) { return std::isnan(value); })) {
        ++empty;
        continue;
      }
      ++kept;
      for (std::size_t at = 0; at < width; at += schema::pm_values_per_row) {
        rows.add<schema::PmSample>(
            {.device = static_cast<std::uint32_t>(options_.device),
             .start = image.times[sample].start,
             .stop = image.times[sample].stop,
             .part = static_cast<std::uint32_t>(at / schema::pm_values_per_row),
             .values = of_sample + at});
      }
    }
  });
  (sent ? samples_ : lost_).fetch_add(kept);
  lost_.fetch_add(empty);
  const std::lock_guard lock(mutex_);
  ++turn_;
  changed_.notify_all();
}

}  // namespace gpuprof::sample
