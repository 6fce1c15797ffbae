// The launcher's end of a collector's socket, for tests of what the collector sends.
#pragma once

#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <optional>
#include <vector>

#include "libprof/collect/channel.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::test {

class LauncherEnd {
 public:
  LauncherEnd() { static_cast<void>(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets_)); }
  ~LauncherEnd() { hang_up(); }
  LauncherEnd(const LauncherEnd&) = delete;
  LauncherEnd& operator=(const LauncherEnd&) = delete;

  // For Channel::adopt().
  int collectors_end() const { return sockets_[1]; }

  // The next complete frame in the socket; nullopt if there is none.
  std::optional<wire::Frame> read() {
    while (!frames_.complete()) {
      const auto room = frames_.room();
      iovec piece{room.data(), room.size()};
      alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
      msghdr message{};
      message.msg_iov = &piece;
      message.msg_iovlen = 1;
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      const ssize_t got = recvmsg(sockets_[0], &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
      if (got <= 0) return std::nullopt;
      for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
        std::memcpy(&file_, CMSG_DATA(part), sizeof file_);
      }
      frames_.filled(static_cast<std::size_t>(got));
    }
    return frames_.take();
  }

  // All frames in the socket, and those that the channel has yet to send.
  std::vector<wire::Frame> read_all(const auto& resume) {
    std::vector<wire::Frame> all;
    do {
      while (auto frame = read()) all.push_back(std::move(*frame));
    } while (resume());
    return all;
  }

  // The last file descriptor received; -1 if none.
  int file() const { return file_; }

  void hang_up() {
    if (sockets_[0] >= 0) close(sockets_[0]);
    sockets_[0] = -1;
    if (file_ >= 0) close(file_);
    file_ = -1;
  }

 private:
  int sockets_[2] = {-1, -1};
  int file_ = -1;
  wire::FrameAssembler frames_;
};

}  // namespace gpuprof::test
