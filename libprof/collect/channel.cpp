#include "libprof/collect/channel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <vector>

namespace gpuprof::collect {
namespace {

// The launcher drains its sockets into memory and then into a file, so a full socket means that it
// is stopped or gone.
constexpr int patience_ms = 10'000;
constexpr int lowest_descriptor = 100;
constexpr int send_buffer_bytes = 4 << 20;
constexpr std::size_t pieces_per_call = 256;  // well under IOV_MAX

// A program that gets a signal every few ms is not to be kept longer for that.
bool wait_for(int socket, short events, int timeout_ms) {
  using Clock = std::chrono::steady_clock;
  const auto until = Clock::now() + std::chrono::milliseconds(timeout_ms);
  pollfd poll_socket{socket, events, 0};
  int left_ms = timeout_ms;
  while (true) {
    const int ready = poll(&poll_socket, 1, left_ms);
    if (ready >= 0 || errno != EINTR) return ready > 0;
    if (timeout_ms < 0) continue;
    left_ms = static_cast<int>(
        std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now()).count());
    if (left_ms <= 0) return false;
  }
}

}  // namespace

bool Channel::connect(const char* path) {
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  if (std::strlen(path) >= sizeof address.sun_path) return false;
  std::strcpy(address.sun_path, path);
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  if (::connect(socket, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0) {
    close(socket);
    return false;
  }
  return adopt(socket);
}

bool Channel::adopt(int socket) {
  // Keep clear of the low numbers, which targets close and expect to get again. Where the limit on
  // descriptors does not allow it, any but the standard ones must do.
  for (const int lowest : {lowest_descriptor, 3}) {
    if (socket >= lowest) break;
    const int moved = fcntl(socket, F_DUPFD_CLOEXEC, lowest);
    if (moved < 0) continue;
    close(socket);
    socket = moved;
    break;
  }
  if (socket < 3) return false;
  setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &send_buffer_bytes, sizeof send_buffer_bytes);
  fcntl(socket, F_SETFL, fcntl(socket, F_GETFL) | O_NONBLOCK);
  struct stat status {};
  if (fstat(socket, &status) != 0) return false;
  inode_ = status.st_ino;
  socket_.store(socket);
  return true;
}

bool Channel::still_ours(int socket) {
  struct stat status {};
  if (fstat(socket, &status) == 0 && S_ISSOCK(status.st_mode) && status.st_ino == inode_) {
    return true;
  }
  closed_by_target_.store(true);
  socket_.store(-1);
  return false;
}

bool Channel::send(wire::FrameType type, std::span<const std::byte> payload) {
  iovec piece{const_cast<std::byte*>(payload.data()), payload.size()};
  return send(type, std::span(&piece, 1));
}

bool Channel::send(wire::FrameType type, std::span<iovec> pieces) {
  const std::lock_guard lock(sending_);
  return send_locked(type, pieces, -1);
}

bool Channel::send_with_file(wire::FrameType type, const wire::Encoder& payload, int file) {
  const std::lock_guard lock(sending_);
  iovec piece{const_cast<std::byte*>(payload.bytes().data()), payload.bytes().size()};
  return send_locked(type, std::span(&piece, 1), file);
}

bool Channel::send_locked(wire::FrameType type, std::span<iovec> pieces, int file) {
  const int socket = socket_.load();
  if (socket < 0) return false;
  if (!still_ours(socket)) return false;
  wire::FrameHeader header{static_cast<std::uint32_t>(type), 0, 0};
  for (const iovec& piece : pieces) header.length += piece.iov_len;

  std::vector<iovec> all;
  all.reserve(pieces.size() + 1);
  all.push_back({&header, sizeof header});
  all.insert(all.end(), pieces.begin(), pieces.end());

  alignas(cmsghdr) char control[CMSG_SPACE(sizeof file)] = {};
  std::size_t first = 0;
  while (first < all.size()) {
    msghdr message{};
    message.msg_iov = &all[first];
    message.msg_iovlen = std::min(all.size() - first, pieces_per_call);
    if (file >= 0) {
      message.msg_control = control;
      message.msg_controllen = sizeof control;
      cmsghdr* with_file = CMSG_FIRSTHDR(&message);
      with_file->cmsg_level = SOL_SOCKET;
      with_file->cmsg_type = SCM_RIGHTS;
      with_file->cmsg_len = CMSG_LEN(sizeof file);
      std::memcpy(CMSG_DATA(with_file), &file, sizeof file);
    }
    const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (sent < 0) {
      if (errno == EINTR) continue;
      if ((errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS) &&
          wait_for(socket, POLLOUT, patience_ms)) {
        continue;
      }
      shut();
      return false;
    }
    file = -1;
    auto left = static_cast<std::size_t>(sent);
    while (first < all.size() && left >= all[first].iov_len) left -= all[first++].iov_len;
    if (first < all.size() && left > 0) {
      all[first].iov_base = static_cast<char*>(all[first].iov_base) + left;
      all[first].iov_len -= left;
    }
  }
  return true;
}

bool Channel::receive(wire::Frame& frame, int timeout_ms) {
  const int socket = socket_.load();
  if (socket < 0 || !still_ours(socket)) return false;
  while (!incoming_.complete()) {
    const auto room = incoming_.room();
    if (room.empty()) {  // damaged
      shut();
      return false;
    }
    const ssize_t got = recv(socket, room.data(), room.size(), MSG_DONTWAIT);
    if (got > 0) {
      incoming_.filled(static_cast<std::size_t>(got));
    } else if (got == 0) {
      shut();
      return false;
    } else if (errno != EINTR) {
      if (errno != EAGAIN && errno != EWOULDBLOCK) {
        shut();
        return false;
      }
      if (!wait_for(socket, POLLIN, timeout_ms)) return false;
    }
  }
  frame = incoming_.take();
  return true;
}

// The descriptor stays open until the process ends: another thread may be using it, and a number
// given to somebody else in the meantime would be worse than one left over.
void Channel::shut() {
  const int socket = socket_.load();
  if (socket < 0 || !still_ours(socket)) return;
  if (socket_.exchange(-1) >= 0) shutdown(socket, SHUT_RDWR);
}

void Channel::abandon() {
  const int socket = socket_.exchange(-1);
  if (socket >= 0) close(socket);
}

}  // namespace gpuprof::collect
