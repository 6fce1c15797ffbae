// Samples the counters of one device until told to stop.
//
// It has its own threads: one reads the GPU's buffer into counter data images and one or more
// evaluate these, which takes some 30 us per sample. They share a fixed number of images: if
// evaluation does not keep up, the GPU's buffer fills, and samples for which it has no room are
// reported as a gap (PM_GAP). Nothing here throws once it is running: an error ends sampling of the
// device, and is returned by problem().
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "libprof/cupti/driver.hpp"
#include "libprof/cupti/host.hpp"
#include "libprof/cupti/pm_session.hpp"
#include "libprof/metrics/catalogue.hpp"
#include "libprof/sample/row_output.hpp"

namespace gpuprof::sample {

// A metric, and its number in the run, from 1.
struct NumberedMetric {
  metrics::Metric metric;
  std::uint32_t number = 0;
};

class DeviceSampler {
 public:
  struct Options {
    int device = 0;
    std::string chip;
    std::vector<NumberedMetric> metrics;
    std::size_t optional = 0;  // this many at the end may be left out
    cupti::PmSettings settings;
  };
  // Totals so far.
  struct Counts {
    std::uint64_t samples = 0;
    std::uint64_t lost = 0;
    std::uint64_t overflows = 0;
  };

  // Takes the device's counters and finds out what it can count. Throws gpuprof::Error if nothing
  // can be sampled. The arguments passed by reference must outlive this.
  DeviceSampler(const cupti::Driver& driver, std::shared_ptr<const cupti::HostLibrary> library,
                Output& output, Options options);
  // Waits for its threads.
  ~DeviceSampler();
  DeviceSampler(const DeviceSampler&) = delete;
  DeviceSampler& operator=(const DeviceSampler&) = delete;

  // Begins sampling, and starts the threads. Throws gpuprof::Error.
  void start();
  // Sampling ends soon; ended() becomes true once all samples have been sent.
  void stop() { stopping_.store(true); }
  bool ended() const { return running_.load() == 0; }
  // Increases as long as work is done.
  std::uint64_t progress() const { return progress_.load(); }

  int device() const { return options_.device; }
  Counts counts() const;
  // Why it ended before it was told to; empty: it did not. Valid after ended().
  const std::string& problem() const { return problem_; }

 private:
  // A counter data image and what is known of its samples. Lives as long as the sampler.
  struct Image {
    std::vector<std::uint8_t> bytes;
    std::vector<cupti::SampleTime> times;  // of its samples; {} for incomplete ones
    std::size_t first = 0;                 // index of the first one to keep
    std::uint64_t turn = 0;                // its rows come after those of lower turns
  };

  void configure();
  void make_images();
  std::size_t evaluators() const;
  // On the reading thread.
  void read();
  cupti::PmSession::Decoded read_once();  // default: there is nothing more to do
  void start_over();
  void end_session();
  void hand_back(Image* image);
  void keep(Image* image, std::size_t samples);
  void tell_gap(std::uint64_t until);
  std::chrono::milliseconds rest() const;
  Image* free_image();
  // On the evaluating threads.
  void evaluate(const cupti::HostChip& chip);
  void evaluate(const cupti::HostChip& chip, const Image& image);
  void send(const Image& image, std::span<const double> values);
  Image* next_image();
  void fail(const char* what);

  const cupti::Driver& driver_;
  const std::shared_ptr<const cupti::HostLibrary> library_;
  Output& output_;
  Options options_;
  cupti::Image available_;                               // what the device can count
  cupti::Image config_;                                  // what is counted
  std::vector<std::string> counters_;                    // of all metrics, without duplicates
  std::vector<std::vector<std::size_t>> places_;         // of each metric's counters in counters_
  std::vector<std::unique_ptr<cupti::HostChip>> chips_;  // one per evaluating thread
  std::uint32_t samples_per_image_ = 0;
  std::unique_ptr<cupti::PmSession> session_;  // used by the reading thread, from start() on

  std::mutex mutex_;  // guards the members below, up to closed_
  std::condition_variable changed_;
  std::vector<std::unique_ptr<Image>> images_;
  std::vector<Image*> free_;
  std::deque<Image*> full_;
  std::uint64_t turn_ = 0;  // whose rows are sent next
  bool closed_ = false;     // no more images will be filled

  // Used by the reading thread.
  std::uint64_t next_turn_ = 0;
  bool first_sample_ = true;  // since the session was started
  bool overflowed_ = false;
  std::chrono::milliseconds most_rest_{100};  // shorter after each overflow
  std::optional<cupti::SampleTime> last_;

  std::atomic<bool> stopping_{false};
  std::atomic<int> running_{0};
  std::atomic<std::uint64_t> progress_{0};
  std::atomic<std::uint64_t> samples_{0};
  std::atomic<std::uint64_t> lost_{0};
  std::atomic<std::uint64_t> overflows_{0};
  std::string problem_;  // set by a thread before it ends
  std::vector<std::thread> threads_;
};

}  // namespace gpuprof::sample
