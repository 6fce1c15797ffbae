// The collector's end of the socket. Frames go out whole or the channel is dead.
//
// A target may close every descriptor it finds and open its own under our number: before each frame
// the socket is checked to be ours still.
//
// Any thread; one sends at a time. Waits when the launcher does not read, but never without end:
// after `patience` without progress the channel is given up, for the target must go on.
#pragma once

#include <sys/uio.h>

#include <atomic>
#include <cstddef>
#include <mutex>
#include <span>
#include <string>

#include "libprof/wire/codec.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::collect {

class Channel {
 public:
  ~Channel() { shut(); }

  bool connect(const char* path);
  bool adopt(int socket);  // one that is connected already
  // The target closed the socket under us. The launcher lives, and reads the arena in the end.
  bool closed_by_target() const { return closed_by_target_.load(std::memory_order_relaxed); }
  bool alive() const { return socket_.load(std::memory_order_relaxed) >= 0; }

  bool send(wire::FrameType type, std::span<const std::byte> payload);
  bool send(wire::FrameType type, const wire::Encoder& payload) {
    return send(type, payload.bytes());
  }
  // The payload is the pieces one behind the other. `pieces` is used up.
  bool send(wire::FrameType type, std::span<iovec> pieces);
  // A frame with a file descriptor beside it.
  bool send_with_file(wire::FrameType type, const wire::Encoder& payload, int file);

  // The next frame from the launcher, if one comes within `timeout_ms` (-1: no limit).
  // false: none came, or the channel is dead.
  bool receive(wire::Frame& frame, int timeout_ms);

  void shut();
  // Forgets the socket without a word to the other end; for the child of a fork.
  void abandon();

 private:
  bool send_locked(wire::FrameType type, std::span<iovec> pieces, int file);
  bool still_ours(int socket);

  std::atomic<int> socket_{-1};
  std::atomic<bool> closed_by_target_{false};
  std::uint64_t inode_ = 0;
  std::mutex sending_;
  wire::FrameAssembler incoming_;
};

}  // namespace gpuprof::collect
