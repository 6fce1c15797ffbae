// What the launcher itself tells about streams: what is missing of them and why, and that they are
// over.
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

#include "libprof/launch/connection.hpp"
#include "libprof/launch/frame_queue.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::launch {

// Puts its frames into the queue, behind those of the stream. The listener's thread, but for the
// counts at the end, which any thread may ask for. Throws std::bad_alloc where nothing else is
// said; conclude() counts what was thrown.
class StreamAccounts {
 public:
  // Something to tell the user about a process. May be empty, and may throw.
  using Message = std::function<void(std::int64_t process_id, const std::string& text)>;

  StreamAccounts(FrameQueue& queue, Message message);

  // Tells the user. Does not throw.
  void tell_user(std::int64_t process_id, std::string_view text);
  // Tells the user, and the file, why a statistic of the stream counts something. Does not throw.
  void explain(const Connection& connection, std::string_view statistic, std::string_view why);

  // A process of the run has said hello.
  void began(std::int64_t process_id);
  // A connection is over on which nobody has said hello.
  void add_silent(const Connection& connection);
  // What the stream itself did not tell about its losses. `lives`: its process does, and more would
  // have come.
  void add_losses(const Connection& connection, bool lives);
  // Not all was read of the buffers that the process left behind.
  void add_unsalvaged(const Connection& connection, std::string_view problem);
  // Nothing more comes of the stream.
  void end(const Connection& connection);
  // Does what there is to do when a stream is over, as far as there is memory for it. Does not
  // throw.
  void conclude(const Connection& connection, const std::function<void()>& what);

  // Processes of the run that said hello, and of these those that are not over, salvage included.
  std::size_t seen() const { return seen_.load(); }
  std::vector<std::int64_t> active_processes();
  // Connections that were over before anybody said hello.
  std::size_t silent() const { return silent_.load(); }
  // Streams whose end, and what was counted with it, could not be recorded for want of memory.
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
  std::mutex mutex_;  // guards the next
  std::vector<std::int64_t> active_processes_;
};

}  // namespace gpuprof::launch
