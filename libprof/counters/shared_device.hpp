// One device's PM sampling in this process, for all its consumers.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "libprof/counters/consumer.hpp"
#include "libprof/cupti/driver.hpp"
#include "libprof/cupti/host.hpp"
#include "libprof/cupti/pm_session.hpp"

namespace gpuprof::counters {

// The driver and the libcupti of this process. Both stay until it ends.
struct Platform {
  cupti::Driver driver;
  std::shared_ptr<const cupti::HostLibrary> library;
};

// A sample within an image.
struct PlacedSample {
  std::int64_t place = 0;
  cupti::SampleTime time;
};

class SharedDevice {
 public:
  // Receives samples. Its functions are called with the device's mutex held.
  class Listener {
   public:
    virtual ~Listener() = default;
    virtual void receive(const std::shared_ptr<const cupti::Image>& image,
                         const std::vector<PlacedSample>& samples, std::size_t populated,
                         std::size_t lost) = 0;
    virtual void overflowed() = 0;
    virtual void fail(const char* why) = 0;

    // Managed by the device.
    std::optional<ConsumerSettings> settings;
    bool started = false;
    bool background = false;
    bool listens = false;  // also after it stopped, while there is something left for it
  };

  // Takes the counters. Throws cupti::Refused.
  SharedDevice(const Platform& platform, int device);
  // No listener may be left.
  ~SharedDevice();
  SharedDevice(const SharedDevice&) = delete;
  SharedDevice& operator=(const SharedDevice&) = delete;

  void join(Listener& listener);
  void leave(Listener& listener);
  void configure(Listener& listener, const ConsumerSettings& settings);
  void start(Listener& listener, bool background);
  void stop(Listener& listener);
  // Delivers to it, and to the others, what the GPU has: at most this many samples.
  void decode_for(Listener& listener, std::uint32_t most);
  std::size_t image_bytes(const std::vector<std::string>& metrics, std::uint32_t samples);

  const Platform& platform() const { return platform_; }
  int device() const { return device_; }
  const std::string& chip() const { return chip_; }
  const cupti::Image& available() const { return available_; }
  std::size_t listeners();

 private:
  // All of these require the mutex.
  std::vector<std::string> metrics_with(const Listener& listener) const;
  void check(const ConsumerSettings& settings, const std::vector<std::string>& metrics) const;
  void insist_on_agreement(const Listener& listener, const ConsumerSettings& settings) const;
  void set_up(const std::vector<std::string>& metrics, const ConsumerSettings& settings);
  void restart_with(const std::vector<std::string>& metrics, const ConsumerSettings& settings);
  void start_session();
  void end_session();
  void start_over();
  cupti::PmSession& session();
  cupti::PmSession::Decoded pump(std::uint32_t most);
  void drain();
  void stop_locked(Listener& listener);
  bool anybody_started() const;
  bool anybody_listens() const;
  std::uint32_t usual_samples();
  std::chrono::milliseconds rest() const;
  void decode_in_background();

  const Platform& platform_;
  const int device_;
  const std::string chip_;
  const cupti::Image available_;

  std::mutex mutex_;  // guards the members below
  std::condition_variable changed_;
  std::unique_ptr<cupti::PmSession> session_;
  std::vector<Listener*> listeners_;
  std::vector<std::string> metrics_;          // counted by the session; empty: it is not set up
  std::optional<ConsumerSettings> settings_;  // of the session
  bool running_ = false;
  bool first_sample_ = false;  // the next one is the first since the session started
  std::uint32_t usual_samples_ = 0;
  std::shared_ptr<cupti::Image> spare_;
  std::uint64_t sample_ns_ = 0;  // length of the last sample
  bool closing_ = false;
  std::thread thread_;  // once background samples were requested
};

}  // namespace gpuprof::counters
