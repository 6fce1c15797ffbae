// The collector's end of the socket. Frames go out whole and in order, or the channel is dead.
//
// A target may close every descriptor it finds and open its own under our number: before each frame
// the socket is checked to be ours still.
//
// The launcher may stand still: it is stopped, or its machine swaps. A sender waits for it, but no
// longer than `patience`; then the channel is stalled, and nobody waits any more. What the launcher
// still has to get waits in order, the rest of a frame that is partly out first. resume() sends it
// when the socket takes bytes again.
//
// Any thread; one sends at a time.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <mutex>
#include <span>
#include <vector>

#include "libprof/wire/codec.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::collect {

class Channel {
 public:
  struct Limits {
    // For one frame. The launcher drains its sockets into memory and then to disk, so a socket that
    // stays full means that it stands still.
    std::chrono::milliseconds patience{1000};
    // How many bytes may wait in memory of the target's.
    std::size_t waiting = std::size_t{64} << 20;
    // A batch that is longer goes out in parts.
    std::size_t payload = wire::max_payload;
  };

  enum class Sent {
    whole,    // it is in the socket
    waiting,  // it goes out later
    refused,  // the channel is dead, or too much waits already
  };

  // By which a sender knows a frame again that had to wait.
  using Ticket = std::uint64_t;
  static constexpr Ticket no_ticket = 0;

  Channel() = default;
  explicit Channel(Limits limits) : limits_(limits) {}
  ~Channel() { shut(); }

  // Waits as long as for a frame where the launcher's queue of connections is full. Once more after
  // shut(), when no other thread listens any more: what waited then is forgotten.
  bool connect(const char* path);
  // The same with a socket that is connected already.
  bool adopt(int socket);
  // The target closed the socket under us. The launcher lives, and reads the arena in the end.
  bool closed_by_target() const { return closed_by_target_.load(std::memory_order_relaxed); }
  bool alive() const { return socket_.load(std::memory_order_relaxed) >= 0; }
  bool stalled() const { return alive() && stalled_.load(std::memory_order_relaxed); }
  bool flows() const { return alive() && !stalled_.load(std::memory_order_relaxed); }

  Sent send(wire::FrameType type, std::span<const std::byte> payload);
  Sent send(wire::FrameType type, const wire::Encoder& payload) {
    return send(type, payload.bytes());
  }
  // The payload is the pieces one behind the other. What has to wait is copied.
  Sent send(wire::FrameType type, std::span<const iovec> pieces, Ticket ticket = no_ticket);
  // A frame with a file descriptor beside it.
  Sent send_with_file(wire::FrameType type, const wire::Encoder& payload, int file);
  // A frame whose payload stays where it is until resume() gives the ticket back. Waits for
  // nothing: it goes out with the next resume(). false: the channel is dead.
  bool send_later(wire::FrameType type, std::span<const std::byte> payload, Ticket ticket);

  // Sends of what waits as much as the socket takes now, and adds the tickets of the frames that
  // are out to `done`. false: nothing went out.
  bool resume(std::vector<Ticket>& done);

  // Waits until the launcher says something, has gone, or takes bytes again that wait for it.
  // false: the time is over.
  bool wait(int timeout_ms);
  // The same for the last of these alone.
  bool wait_to_send(int timeout_ms);
  // The next frame from the launcher, if one comes within `timeout_ms` (-1: no limit).
  // false: none came, or the channel is dead.
  bool receive(wire::Frame& frame, int timeout_ms);

  void shut();
  // Forgets the socket without a word to the other end; for the child of a fork.
  void abandon();

 private:
  // Bytes that go out one behind the other: the first of `own`, then those that are elsewhere.
  struct Waiting {
    std::vector<std::byte> own;
    std::span<const std::byte> elsewhere = {};
    std::size_t sent = 0;
    int file = -1;  // goes with the first byte
    Ticket ticket = no_ticket;
  };

  Sent send_locked(wire::FrameType type, std::span<const iovec> pieces, int file, Ticket ticket);
  // One call of sendmsg for the first of the pieces. Bytes sent; 0: the socket is full; negative:
  // the channel is dead.
  ssize_t push(int socket, std::span<iovec> pieces, int file);
  void put_off(std::span<const iovec> pieces, int file, Ticket ticket);
  bool still_ours(int socket);
  void start_over();

  const Limits limits_;
  std::atomic<int> socket_{-1};
  std::atomic<int> shut_socket_{-1};
  std::atomic<bool> closed_by_target_{false};
  std::atomic<bool> stalled_{false};
  std::uint64_t inode_ = 0;
  std::mutex sending_;  // guards the next
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;  // of Waiting::own
  wire::FrameAssembler incoming_;
};

}  // namespace gpuprof::collect
