// The launcher's end of the sockets: one connection per process of the run.
//
// A thread of its own accepts, answers hello with the configuration, and moves every frame into the
// queue, numbered by connection. When a process is gone it reads out what was left in its arena
// (salvage), by a helper program (salvage_process.hpp). It waits for nothing but its sockets.
//
// What a process sends concerns that process only: whatever is wrong with it, also that there is no
// memory or no descriptor for it, ends its stream, is counted, and leaves the others alone. Who a
// process is the kernel says.
//
// Its parts, on its thread: Acceptor has the socket that processes connect to, Connection what is
// known of one, StreamAccounts what is told of a stream besides what it told itself.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "libprof/launch/acceptor.hpp"
#include "libprof/launch/connection.hpp"
#include "libprof/launch/frame_queue.hpp"
#include "libprof/launch/stream_accounts.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::launch {

class Collectors;

class Listener {
 public:
  struct Options {
    wire::Fields config;  // what collectors are told
    // What one is told besides, from the fields of its hello. May be empty. Called on the
    // listener's thread.
    std::function<wire::Fields(std::uint32_t stream, const wire::Fields& hello)> config_for = {};
    // What a sampler is told.
    wire::Fields sampler_config = {};
    // Each field of an info frame of a sampler's. May be empty. Called on the listener's thread.
    std::function<void(std::string_view name, const std::string& text)> sampler_notice = {};
    // What a collector asks; `reply` sends it the answer, at any time, on any thread, as tell()
    // does. May be empty. Called on the listener's thread, which must not be kept.
    using Reply = std::function<void(const wire::Fields& answer)>;
    std::function<void(const wire::Fields& question, Reply reply)> question = {};
    std::string salvage_program = {};  // path of gpuprof-salvage; empty: no salvage
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

  const std::string& socket_path() const { return acceptor_.socket_path(); }

  // Processes of the run that are connected now, salvage of dead ones included. Exact after
  // settle().
  std::size_t active() const { return active_.load(); }
  // Samplers (wire::Role) that are connected now.
  std::size_t samplers() const { return samplers_.load(); }
  std::size_t seen() const { return accounts_.seen(); }
  // Those that connected and ended before they said who they are.
  std::size_t silent() const { return accounts_.silent(); }
  // Connections that were closed at once: no descriptor or memory was left for them, or their
  // process had too many.
  std::size_t turned_away() const { return acceptor_.turned_away(); }
  // Streams whose end, and what was counted with it, could not be recorded for want of memory.
  std::size_t unaccounted() const { return accounts_.unaccounted(); }
  std::vector<std::int64_t> active_processes() { return accounts_.active_processes(); }
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
  void run();
  bool turn(std::vector<pollfd>& waiting);  // false: it was the last one
  void abandon();
  void count_active();
  void tell_samplers();
  int patience_ms() const;
  bool goes_on(Connection& connection, bool something_came);
  bool receive(Connection& connection);  // false: it is over
  void take_descriptor(Connection& connection, msghdr& message);
  void make_room(const Connection& latest);
  void take(Connection& connection, wire::Frame frame);
  void answer_hello(Connection& connection, wire::Frame& hello);
  void end_stream(Connection& connection, std::string_view why);
  void take_question(Connection& connection, const wire::Frame& question);
  void over(std::unique_ptr<Connection> connection);
  bool start_salvage(Connection& connection);
  void wake();

  Options options_;
  FrameQueue& queue_;
  StreamAccounts accounts_;
  Acceptor acceptor_;
  int wake_ = -1;
  std::atomic<std::size_t> active_{0};
  std::atomic<std::size_t> samplers_{0};
  std::atomic<bool> samplers_to_end_{false};
  bool samplers_told_ = false;  // the thread's own
  std::atomic<std::uint64_t> settle_asked_{0};
  std::atomic<std::uint64_t> settled_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> abandoning_{false};
  std::shared_ptr<Collectors> collectors_;  // also of answers that are still to come
  Connections connections_;                 // the thread's own
  std::thread thread_;
};

}  // namespace gpuprof::launch
