// The launcher's end of the sockets: one connection per process of the run.
//
// A dedicated thread accepts, answers hello with the configuration, and moves every frame into the
// queue, numbered by connection. When a process is gone, a helper program (salvage_process.hpp)
// reads what was left in its arena (salvage). The thread waits only for its sockets.
//
// What a process sends concerns that process only: any problem with it, including a lack of memory
// or descriptors, ends its stream, is counted, and does not affect the others. The kernel says who
// a process is.
//
// Its parts, on its thread: Acceptor owns the socket that processes connect to, Connection is the
// state of one of them, StreamAccounts adds what a stream did not report itself.
#pragma once

#include <poll.h>
#include <sys/socket.h>

#include <atomic>
#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <string_view>
#include <thread>
#include <vector>

#include "libprof/record/launch/acceptor.hpp"
#include "libprof/record/launch/collectors.hpp"
#include "libprof/record/launch/connection.hpp"
#include "libprof/record/launch/ending.hpp"
#include "libprof/record/launch/frame_queue.hpp"
#include "libprof/record/launch/stream_accounts.hpp"
#include "libprof/wire/codec.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::launch {

class Listener {
 public:
  struct Options {
    wire::Fields config;  // sent to collectors
    // Additional fields for one collector, derived from the fields of its hello. May be empty.
    // Called on the listener's thread.
    std::function<wire::Fields(std::uint32_t stream, const wire::Fields& hello)> config_for = {};
    // Sent to samplers.
    wire::Fields sampler_config = {};
    // Called for each field of an info frame from a sampler. May be empty. Called on the listener's
    // thread.
    std::function<void(std::string_view name, const std::string& text)> sampler_notice = {};
    // Called for a collector's question; `reply` sends it the answer, at any time and on any
    // thread, as tell() does. May be empty. Called on the listener's thread, which it must not
    // block.
    using Reply = std::function<void(const wire::Fields& answer)>;
    std::function<void(const wire::Fields& question, Reply reply)> question = {};
    std::string salvage_program = {};  // path of gpuprof-salvage; empty: no salvage
    // Time limit for salvage; extended for a large arena.
    std::chrono::milliseconds salvage_patience = std::chrono::seconds(60);
    // Reports something about a process to the user. Called on the listener's thread.
    std::function<void(std::int64_t process_id, const std::string& text)> message;
    // Called when a target has connected; `here` is its number in our PID namespace, 0: it has
    // none. May be empty. Called on the listener's thread.
    std::function<void(std::uint32_t stream, std::int64_t process_id, pid_t here)> connected = {};
    // Called when the collector of a stream records a process that ran before. May be empty. Called
    // on the listener's thread.
    std::function<void(std::uint32_t stream)> attached = {};
    // Called for any field of an info frame whose name begins with "metrics_". May be empty.
    std::function<void(std::int64_t process_id, std::string_view name, const std::string& text)>
        metrics_notice = {};
    std::string folder = {};  // for the socket, which alone has its name there; empty: a new one
  };

  using Reply = Options::Reply;

  // Creates the socket in a dedicated folder. Throws gpuprof::Error.
  Listener(Options options, FrameQueue& queue);
  // Ends the thread and removes the socket.
  ~Listener();
  Listener(const Listener&) = delete;
  Listener& operator=(const Listener&) = delete;

  const std::string& socket_path() const { return acceptor_.socket_path(); }
  // Where other processes of gpuprof look for a recording.
  const std::string& own_folder() const { return acceptor_.own_folder(); }

  // Processes of the run that are connected now, including salvage of dead ones. Exact after
  // settle().
  std::size_t active() const { return active_.load(); }
  // Samplers (wire::Role) that are connected now.
  std::size_t samplers() const { return samplers_.load(); }
  std::size_t seen() const { return accounts_.seen(); }
  // Those that connected and ended before identifying themselves.
  std::size_t silent() const { return accounts_.silent(); }
  // Connections that were closed at once: no descriptor or memory was left for them, or their
  // process had too many.
  std::size_t turned_away() const { return acceptor_.turned_away(); }
  // Streams whose end, with its counts, could not be recorded for lack of memory.
  std::size_t unaccounted() const { return accounts_.unaccounted(); }
  std::vector<std::int64_t> active_processes() { return accounts_.active_processes(); }
  // Whether one of them has this number, for itself or in our PID namespace. Any thread.
  bool is_active(std::int64_t number) { return accounts_.is_active(number); }
  // Processes that crashed, were killed or failed since the last call, after what they left was
  // read. Any thread.
  std::vector<Death> take_deaths();
  // Waits until every connection made so far is known.
  void settle();

  // Sends more configuration to the collector of a stream, while it is connected. Any thread; never
  // waits: a collector that does not read misses it.
  void tell(std::uint32_t stream, const wire::Fields& fields);

  // Asks all targets to trace from now on, or not, and to send what they have; those that connect
  // later begin in the same way. Without `trace` they only send. Any thread but the listener's;
  // waits for the answers.
  Collectors::Asked ask_targets(std::optional<bool> trace, std::chrono::milliseconds patience);

  // The last process has ended: tells the samplers to stop, including those that connect later.
  void end_samplers();

  // Accepts no further connections, and drops the remaining ones if `abandon` is set.
  void stop(bool abandon);

 private:
  void run();
  bool turn(std::vector<pollfd>& waiting);  // false: it was the last turn
  void abandon();
  void count_active();
  void tell_samplers();
  int patience_ms() const;
  bool goes_on(Connection& connection, bool something_came);
  bool receive(Connection& connection);  // false: the connection is over
  void take_descriptor(Connection& connection, msghdr& message);
  void make_room(const Connection& latest);
  void take(Connection& connection, wire::Frame frame);
  void answer_hello(Connection& connection, wire::Frame& hello);
  void end_stream(Connection& connection, std::string_view why);
  void take_question(Connection& connection, const wire::Frame& question);
  void over(std::unique_ptr<Connection> connection);
  bool start_salvage(Connection& connection);
  void note_death(const Connection& connection);
  void wake();

  Options options_;
  FrameQueue& queue_;
  StreamAccounts accounts_;
  Acceptor acceptor_;
  int wake_ = -1;
  std::atomic<std::size_t> active_{0};
  std::atomic<std::size_t> samplers_{0};
  std::atomic<bool> samplers_to_end_{false};
  std::atomic<std::optional<bool>> traces_{std::nullopt};  // nullopt: as configured
  bool samplers_told_ = false;                             // used by the thread only
  std::atomic<std::uint64_t> settle_asked_{0};
  std::atomic<std::uint64_t> settled_{0};
  std::atomic<bool> stopping_{false};
  std::atomic<bool> abandoning_{false};
  std::shared_ptr<Collectors> collectors_;  // shared with pending answers
  Connections connections_;                 // used by the thread only
  std::mutex dying_;                        // guards deaths_
  std::vector<Death> deaths_;
  std::thread thread_;
};

}  // namespace gpuprof::launch
