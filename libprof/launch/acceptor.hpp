// Where processes of the run connect: a socket in a folder of its own.
#pragma once

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "libprof/base/temporary_folder.hpp"
#include "libprof/launch/connection.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::launch {

// Takes connections and numbers their streams. Turns away whom no descriptor or memory is left for,
// and whose process has too many: that is counted, and told once. The listener's thread, but for
// socket_path() and turned_away(), which are any thread's. Nothing here waits.
class Acceptor {
 public:
  using Clock = std::chrono::steady_clock;
  // Tells the user about a process; does not throw.
  using Tell = std::function<void(std::int64_t process_id, std::string_view why)>;

  // Before what failed for want of memory or descriptors is tried again.
  static constexpr std::chrono::milliseconds rest{100};

  // Makes the socket, and beside it the file by which a collector goes that gets no answer. Throws
  // gpuprof::Error.
  Acceptor(const wire::Fields& config, Tell tell);
  // Removes both.
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  const std::string& socket_path() const { return socket_path_; }

  // What to poll; -1 while it rests, which is until rests_until().
  int watched();
  std::optional<Clock::time_point> rests_until() const { return rests_until_; }
  // Adds the next connection that waits. false: there is none, or none can be taken now.
  bool accept_one(Connections& connections);
  // Those that wait now.
  void accept_all(Connections& connections);

  std::size_t turned_away() const { return turned_away_.load(); }

 private:
  bool turn_one_away();
  void turn_away(std::int64_t process_id, std::string_view why);
  void add_connection(Connections& connections, int socket);

  const Tell tell_;
  std::unique_ptr<TemporaryFolder> folder_;
  std::string socket_path_;
  int socket_ = -1;
  int reserve_ = -1;  // closed to take a connection when no descriptor is left
  std::optional<Clock::time_point> rests_until_;
  std::atomic<std::size_t> turned_away_{0};
  std::uint32_t next_stream_ = 0;
};

}  // namespace gpuprof::launch
