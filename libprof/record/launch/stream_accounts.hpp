// What the launcher itself reports about streams: what is missing and why, and that they are over.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <mutex>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/record/launch/connection.hpp"
#include "libprof/record/launch/frame_queue.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::launch {

// Pushes its frames into the queue, after those of the stream. Used on the listener's thread,
// except for the counts at the end, which any thread may read. Throws std::bad_alloc unless noted
// otherwise; conclude() counts exceptions.
class StreamAccounts {
 public:
  // Reports something about a process to the user. May be empty, and may throw.
  using Message = std::function<void(std::int64_t process_id, const std::string& text)>;

  StreamAccounts(FrameQueue& queue, Message message);

  // Reports to the user. Does not throw.
  void tell_user(std::int64_t process_id, std::string_view text);
  // Reports to the user, and in the file, why a statistic of the stream is not zero. Does not
  // throw.
  void explain(const Connection& connection, std::string_view statistic, std::string_view why);

  // A process of the run has sent hello. `here`: its number in our PID namespace.
  void began(std::int64_t process_id, pid_t here);
  // A connection ended without a hello.
  void add_silent(const Connection& connection);
  // Adds the losses that the stream itself did not report. `lives`: its process is alive, and would
  // have sent more.
  void add_losses(const Connection& connection, bool lives);
  // Not everything was read from the buffers that the process left behind.
  void add_unsalvaged(const Connection& connection, std::string_view problem);
  // The stream is over.
  void end(const Connection& connection);
  // Runs the final work for a stream, as far as memory allows. Does not throw.
  void conclude(const Connection& connection, const std::function<void()>& what);

  // The number of processes of the run that sent hello, and those that are not over, including
  // salvage.
  std::size_t seen() const { return seen_.load(); }
  std::vector<std::int64_t> active_processes();
  // Whether one of them has this number, for itself or here.
  bool is_active(std::int64_t number);
  // Connections that ended without a hello.
  std::size_t silent() const { return silent_.load(); }
  // Streams whose end, with its counts, could not be recorded for lack of memory.
  std::size_t unaccounted() const { return unaccounted_.load(); }

 private:
  void add(const Connection& connection, std::span<const wire::Statistic> statistics);
  void add_one(const Connection& connection, const wire::Statistic& statistic);
  void tell_cut_off(const Connection& connection);
  void forget(std::int64_t process_id);

  FrameQueue& queue_;
  const Message message_;
  std::atomic<std::size_t> seen_{0};
  std::atomic<std::size_t> silent_{0};
  std::atomic<std::size_t> unaccounted_{0};
  struct Active {
    std::int64_t process_id;
    pid_t here;
  };

  std::mutex mutex_;  // guards active_
  std::vector<Active> active_;
};

}  // namespace gpuprof::launch
