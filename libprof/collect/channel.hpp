// The collector's end of the socket. Frames go out whole and in order, or the channel is dead.
//
// A target may close every descriptor it finds and then open its own under our number: before each
// frame the socket is checked to still be ours.
//
// The launcher may stall: it is stopped, or its machine swaps. A sender waits for it, but no longer
// than `patience`; then the channel is stalled, and nobody waits any more. Outstanding data waits
// in order, beginning with the rest of a frame that is partly sent. resume() sends it when the
// socket accepts bytes again.
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
    // stays full means that the launcher is stalled.
    std::chrono::milliseconds patience{1000};
    // How many bytes may wait in the target's memory.
    std::size_t waiting = std::size_t{64} << 20;
    // A longer batch is sent in parts.
    std::size_t payload = wire::max_payload;
  };

  enum class Sent {
    whole,    // it is in the socket
    waiting,  // it will be sent later
    refused,  // the channel is dead, or too much is waiting already
  };

  // Lets a sender recognize a frame that had to wait.
  using Ticket = std::uint64_t;
  static constexpr Ticket no_ticket = 0;

  Channel() = default;
  explicit Channel(Limits limits) : limits_(limits) {}
  ~Channel() { shut(); }

  // If the launcher's accept queue is full, waits as long as for a frame. May be called again after
  // shut(), once no other thread listens any more; waiting data is then discarded.
  bool connect(const char* path);
  // The same with an already connected socket.
  bool adopt(int socket);
  // The target closed our socket. The launcher is alive, and will read the arena in the end.
  bool closed_by_target() const { return closed_by_target_.load(std::memory_order_relaxed); }
  bool alive() const { return socket_.load(std::memory_order_relaxed) >= 0; }
  bool stalled() const { return alive() && stalled_.load(std::memory_order_relaxed); }
  // Since connect() or adopt().
  std::uint64_t bytes_sent() const { return bytes_sent_.load(std::memory_order_relaxed); }
  bool flows() const { return alive() && !stalled_.load(std::memory_order_relaxed); }

  Sent send(wire::FrameType type, std::span<const std::byte> payload);
  Sent send(wire::FrameType type, const wire::Encoder& payload) {
    return send(type, payload.bytes());
  }
  // The payload is the concatenation of the pieces. Whatever has to wait is copied.
  Sent send(wire::FrameType type, std::span<const iovec> pieces, Ticket ticket = no_ticket);
  // Sends a frame along with a file descriptor.
  Sent send_with_file(wire::FrameType type, const wire::Encoder& payload, int file);
  // Queues a frame whose payload must stay in place until resume() returns the ticket. Does not
  // wait: the frame goes out with the next resume(). false: the channel is dead.
  bool send_later(wire::FrameType type, std::span<const std::byte> payload, Ticket ticket);

  // Sends as much of the waiting data as the socket accepts now, and adds the tickets of completed
  // frames to `done`. false: nothing was sent.
  bool resume(std::vector<Ticket>& done);

  // Waits until the launcher sends something, is gone, or accepts waiting bytes again. false: timed
  // out.
  bool wait(int timeout_ms);
  // The same, but only for accepting bytes.
  bool wait_to_send(int timeout_ms);
  // The next frame from the launcher, if one arrives within `timeout_ms` (-1: no limit). false:
  // none arrived, or the channel is dead.
  bool receive(wire::Frame& frame, int timeout_ms);

  void shut();
  // Forgets the socket without notifying the other end; for the child of a fork.
  void abandon();

 private:
  // Bytes to send one after the other: first `own`, then `elsewhere`.
  struct Waiting {
    std::vector<std::byte> own;
    std::span<const std::byte> elsewhere = {};
    std::size_t sent = 0;
    int file = -1;  // sent with the first byte
    Ticket ticket = no_ticket;
  };

  Sent send_locked(wire::FrameType type, std::span<const iovec> pieces, int file, Ticket ticket);
  // One call of sendmsg for the first pieces. Returns the bytes sent; 0: the socket is full;
  // negative: the channel is dead.
  ssize_t push(int socket, std::span<iovec> pieces, int file);
  void put_off(std::span<const iovec> pieces, int file, Ticket ticket);
  bool still_ours(int socket);
  void start_over();

  const Limits limits_;
  std::atomic<int> socket_{-1};
  std::atomic<int> shut_socket_{-1};
  std::atomic<bool> closed_by_target_{false};
  std::atomic<bool> stalled_{false};
  std::atomic<std::uint64_t> bytes_sent_{0};
  std::uint64_t inode_ = 0;
  std::mutex sending_;  // guards the members below
  std::deque<Waiting> waiting_;
  std::size_t waiting_bytes_ = 0;  // in Waiting::own
  wire::FrameAssembler incoming_;
};

}  // namespace gpuprof::collect
