// The launcher's end of the sockets: one connection per process of the run.
//
// A thread of its own accepts, answers hello with the configuration, and moves every frame into the
// queue, numbered by connection. When a process is gone it reads out what was left in its arena
// (salvage), by a helper program (salvage_process.hpp). It waits for nothing but its sockets.
//
// What a process sends concerns that process only: whatever is wrong with it, also that there is no
// memory or no descriptor for it, ends its stream, is counted, and leaves the others alone. Who a
// process is the kernel says.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/launch/frame_queue.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::launch {

class Collectors;

class Listener {
 public:
  struct Options {
    wire::Fields config;  // what collectors are told
    // What one is told besides, from the fields of its hello. May be empty. Called on the
    // listener's thread.
    std::function<wire::Fields(std::uint32_t stream, const wire::Fields& hello)> config_for = {};
    // What a collector asks; `reply` sends it the answer, at any time, on any thread, as tell()
    // does. May be empty. Called on the listener's thread, which must not be kept.
    using Reply = std::function<void(const wire::Fields& answer)>;
    std::function<void(const wire::Fields& question, Reply reply)> question = {};
    std::string salvage_program;  // path of gpuprof-salvage; empty: no salvage
    // How long that may take, and longer for a large arena.
    std::chrono::milliseconds salvage_patience = std::chrono::seconds(60);
    // Something to tell the user about a process. Called on the listener's thread.
    std::function<void(std::int64_t process_id, const std::string& text)> message;
    // Any field of an info frame whose name begins with "metrics_". May be empty.
    std::function<void(std::int64_t process_id, std::string_view name, const std::string& text)>
        metrics_notice = {};
  };

  using Reply = Options::Reply;

  // Makes the socket in a folder of its own. Throws gpuprof::Error.
  Listener(Options options, FrameQueue& queue);
  // Ends the thread and removes the socket.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::string& socket_path() const { return socket_path_; }

  // Processes of the run that are connected now, salvage of dead ones included. Exact after
  // settle().
  std::size_t active() const { return active_.load(); }
  // Samplers (wire::Role) that are connected now.
  std::size_t samplers() const { return samplers_.load(); }
  std::size_t seen() const { return seen_.load(); }
  // Those that connected and ended before they said who they are.
  std::size_t silent() const { return silent_.load(); }
  // Connections that were closed at once: no descriptor or memory was left for them, or their
  // process had too many.
  std::size_t turned_away() const { return turned_away_.load(); }
  // Streams whose end, and what was counted with it, could not be recorded for want of memory.
  std::size_t unaccounted() const { return unaccounted_.load(); }
  std::vector<std::int64_t> active_processes();
  // Waits until every connection that was made by now is known.
  void settle();

  // Sends more configuration to the collector of a stream, while it is connected. Any thread; never
  // waits: a collector that does not read misses it.
  void tell(std::uint32_t stream, const wire::Fields& fields);

  // The last process has ended: tells the samplers to end too, also those that come yet.
  void end_samplers();

  // Takes no further connections, and drops those that are left when `abandon` is set.
  void stop(bool abandon);

 private:
  struct Connection;

  void run();
  bool turn(std::vector<pollfd>& waiting);  // false: it was the last one
  void abandon();
  void count_active();
  void tell_samplers();
  int patience_ms() const;
  bool goes_on(Connection& connection, bool something_came);
  bool accept_one();  // false: there is none, or none can be taken now
  bool turn_one_away();
  void turn_away(std::int64_t process_id, std::string_view why);
  void add_connection(int socket);
  bool receive(Connection& connection);  // false: it is over
  void take_descriptor(Connection& connection, msghdr& message);
  void make_room(const Connection& latest);
  void take(Connection& connection, wire::Frame frame);
  void came(Connection& connection, std::span<const std::byte> batch);
  void came_in_part(Connection& connection, std::span<const std::byte> payload);
  void answer_hello(Connection& connection, wire::Frame& hello);
  void end_stream(Connection& connection, std::string_view why);
  void explain(const Connection& connection, std::string_view statistic, std::string_view why);
  void tell_user(std::int64_t process_id, std::string_view text);
  void take_question(Connection& connection, const wire::Frame& question);
  void over(std::unique_ptr<Connection> connection);
  void conclude(const Connection& connection, const std::function<void()>& what);
  bool linger(Connection& connection);
  bool start_salvage(Connection& connection);
  void tell_cut_off(const Connection& connection);
  void account(const Connection& connection, bool lives);
  void push_statistics(const Connection& connection, std::span<const wire::Statistic> statistics);
  void count_unsalvaged(Connection& connection, const std::string& problem);
  void push_end(Connection& connection);
  void wake();

  Options options_;
  FrameQueue& queue_;
  std::unique_ptr<TemporaryFolder> folder_;
  std::string socket_path_;
  int socket_ = -1;
  int wake_ = -1;
  int reserve_ = -1;  // closed to take a connection when no descriptor is left
  std::optional<std::chrono::steady_clock::time_point> rests_until_;  // nothing is accepted
  std::atomic<std::size_t> active_{0};
  std::atomic<std::size_t> samplers_{0};
  std::atomic<bool> samplers_to_end_{false};
  bool samplers_told_ = false;  // the thread's own
  std::atomic<std::size_t> seen_{0};
  std::atomic<std::size_t> silent_{0};
  std::atomic<std::size_t> turned_away_{0};
  std::atomic<std::size_t> unaccounted_{0};
  std::atomic<std::uint64_t> settle_asked_{0};
  std::atomic<std::uint64_t> settled_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> abandoning_{false};
  std::shared_ptr<Collectors> collectors_;  // also of answers that are still to come
  std::mutex mutex_;                        // guards the next
  std::vector<std::int64_t> active_processes_;
  std::vector<std::unique_ptr<Connection>> connections_;  // the thread's own
  std::uint32_t next_stream_ = 0;
  std::thread thread_;
};

}  // namespace gpuprof::launch
