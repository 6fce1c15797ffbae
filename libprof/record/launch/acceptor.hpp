// Where processes of the run connect: a socket in a dedicated folder.
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
#include "libprof/record/launch/connection.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::launch {

// Accepts connections and numbers their streams. Rejects processes for which no descriptor or
// memory is left, and those with too many connections: this is counted, and reported once. Used on
// the listener's thread, except for socket_path() and turned_away(), which any thread may call.
// Nothing here waits.
class Acceptor {
 public:
  using Clock = std::chrono::steady_clock;
  // Reports something about a process to the user; does not throw.
  using Tell = std::function<void(std::int64_t process_id, std::string_view why)>;

  // The pause before retrying what failed for lack of memory or descriptors.
  static constexpr std::chrono::milliseconds rest{100};

  // Creates the socket, and next to it the config file for collectors that get no answer, in
  // `folder`, whose owner removes it; if that is empty, in own_folder(). Throws gpuprof::Error.
  Acceptor(const wire::Fields& config, Tell tell, const std::string& folder);
  ~Acceptor();
  Acceptor(const Acceptor&) = delete;
  Acceptor& operator=(const Acceptor&) = delete;

  const std::string& socket_path() const { return socket_path_; }
  // Where other processes of gpuprof look for a recording.
  const std::string& own_folder() const { return folder_->path(); }

  // The descriptor to poll; -1 during a pause, which lasts until rests_until().
  int watched();
  std::optional<Clock::time_point> rests_until() const { return rests_until_; }
  // Adds the next waiting connection. false: there is none, or none can be accepted now.
  bool accept_one(Connections& connections);
  // Adds all connections that wait now.
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
  int reserve_ = -1;  // closed to accept a connection when no descriptor is left
  std::optional<Clock::time_point> rests_until_;
  std::atomic<std::size_t> turned_away_{0};
  std::uint32_t next_stream_ = 0;
};

}  // namespace gpuprof::launch
