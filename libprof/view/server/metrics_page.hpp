// What gpuprof serve answers: pages made from a file, which is read again when it has changed.
#pragma once

#include <array>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "libprof/store/sqlite.hpp"
#include "libprof/view/server/request.hpp"

namespace gpuprof::view {

// Has a thread that reads, so that no request waits for it, except the first of a page and the
// first after a while. It reads only while somebody asks, and never more than a fiftieth of the
// time. All pages that are asked for come from the same reading.
class MetricsPages {
 public:
  // Both on the pages' thread. `check` is to be called now and then, and may throw.
  using Begin = std::function<void(store::Database&)>;
  using Read = std::function<std::string(store::Database&, const std::function<void()>& check)>;
  struct Page {
    std::string_view path;  // without the leading slash
    std::string_view type;  // of its content
    Read read;
  };

  // `begin` comes before the pages of each reading.
  MetricsPages(std::string file, Begin begin, std::vector<Page> pages);
  ~MetricsPages();
  MetricsPages(const MetricsPages&) = delete;
  MetricsPages& operator=(const MetricsPages&) = delete;

  // Any thread. Answers the pages' paths.
  Response operator()(const Request& request);

 private:
  using Clock = std::chrono::steady_clock;
  using FileState = std::array<std::int64_t, 8>;  // differs once the file or its log has changed
  struct Answer {
    Clock::time_point asked{};
    bool waited_for = false;  // by somebody whom what was read last does not help
    bool is_read = false;
    FileState state{};        // of the file that was read
    std::string text, error;  // one of them
  };

  void run();
  static FileState state_of(const std::string& file);
  std::vector<std::size_t> to_read(const FileState& state, Clock::time_point now);  // with the lock
  void read_file(const std::vector<std::size_t>& pages, const FileState& state);
  Response wait_for_reading(std::size_t page, const std::function<bool()>& is_over);
  Response now(std::size_t page) const;  // with the lock

  const std::string file_;
  const Begin begin_;
  const std::vector<Page> pages_;
  std::atomic<bool> stops_{false};
  std::mutex mutex_;  // guards what follows
  std::condition_variable changed_;
  std::vector<Answer> answers_;  // of the pages
  Clock::time_point next_{};     // not before, except for a page that was never read
  std::thread thread_;
};

}  // namespace gpuprof::view
