// What gpuprof serve answers: numbers of a file, as text, which are read anew when it has changed.
#pragma once

#include <atomic>
#include <chrono>
#include <condition_variable>
#include <functional>
#include <mutex>
#include <string>
#include <thread>

#include "libprof/store/sqlite.hpp"
#include "libprof/view/server/request.hpp"

namespace gpuprof::view {

// Has a thread that reads, so that no request waits for it, except the first. It reads only while
// somebody asks, and never more than a fiftieth of the time.
class MetricsPage {
 public:
  // On the page's thread. `check` is to be called now and then, and may throw.
  using Read = std::function<std::string(store::Database&, const std::function<void()>& check)>;

  MetricsPage(std::string file, Read read);
  ~MetricsPage();
  MetricsPage(const MetricsPage&) = delete;
  MetricsPage& operator=(const MetricsPage&) = delete;

  // Any thread. Answers /metrics.
  Response operator()(const Request& request);

 private:
  using Clock = std::chrono::steady_clock;

  void run();
  void read_file();
  Response wait_for_first(const std::function<bool()>& is_over);
  Response now();  // with the lock

  const std::string file_;
  const Read read_;
  std::atomic<bool> stops_{false};
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  Clock::time_point asked_{};
  bool is_read_ = false;
  std::string text_, error_;  // of the last reading: one of them
  std::thread thread_;
};

}  // namespace gpuprof::view
