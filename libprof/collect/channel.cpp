#include "libprof/collect/channel.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <utility>

#include "libprof/base/unix_socket.hpp"

namespace gpuprof::collect {
namespace {

using Clock = std::chrono::steady_clock;

constexpr int lowest_descriptor = 100;
constexpr int send_buffer_bytes = 4 << 20;
constexpr std::size_t pieces_per_call = 256;  // well under IOV_MAX

// A program that gets a signal every few ms must not be held up any longer for that.
bool wait_for(int socket, short events, int timeout_ms) {
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

// Skips the first `count` bytes.
std::span<iovec> without_first(std::span<iovec> pieces, std::size_t count) {
  while (!pieces.empty() && count >= pieces.front().iov_len) {
    count -= pieces.front().iov_len;
    pieces = pieces.subspan(1);
  }
  if (count > 0) {
    pieces.front().iov_base = static_cast<char*>(pieces.front().iov_base) + count;
    pieces.front().iov_len -= count;
  }
  return pieces;
}

std::size_t size_of(std::span<const iovec> pieces) {
  std::size_t size = 0;
  for (const iovec& piece : pieces) size += piece.iov_len;
  return size;
}

// Precedes each part, without padding.
struct PartHead {
  wire::FrameHeader frame;
  wire::BatchPartHeader part;
};
static_assert(sizeof(PartHead) == sizeof(wire::FrameHeader) + sizeof(wire::BatchPartHeader));

// The frames that a batch becomes if no payload may be longer than `longest`. They refer to
// `heads`.
std::vector<iovec> in_parts(std::span<const iovec> pieces, std::size_t longest,
                            std::vector<PartHead>& heads) {
  const std::size_t each = longest - sizeof(wire::BatchPartHeader);
  const std::size_t size = size_of(pieces);
  const auto parts = static_cast<std::uint32_t>((size + each - 1) / each);
  heads.reserve(parts);  // so that they do not move
  std::vector<iovec> all;
  std::vector<iovec> rest(pieces.begin(), pieces.end());
  std::span<iovec> left(rest);
  for (std::uint32_t number = 0; number < parts; ++number) {
    std::size_t room = std::min(each, size - number * each);
    heads.push_back({{static_cast<std::uint32_t>(wire::FrameType::batch_part), 0,
                      sizeof(wire::BatchPartHeader) + room},
                     {number, parts}});
    all.push_back({&heads.back(), sizeof(PartHead)});
    while (room > 0) {
      const std::size_t some = std::min(room, left.front().iov_len);
      all.push_back({left.front().iov_base, some});
      left = without_first(left, some);
      room -= some;
    }
  }
  return all;
}

iovec piece_of(std::span<const std::byte> bytes) {
  return {const_cast<std::byte*>(bytes.data()), bytes.size()};
}

}  // namespace

bool Channel::connect(const char* path) {
  const auto address = UnixAddress::of(path);
  if (!address) return false;
  const int socket = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (socket < 0) return false;
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(limits_.patience);
  const timeval patience{std::max<time_t>(seconds.count(), 1), 0};
  setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  if (::connect(socket, address->get(), address->size()) != 0) {
    close(socket);
    return false;
  }
  return adopt(socket);
}

void Channel::start_over() {
  const std::lock_guard lock(sending_);
  const int before = shut_socket_.exchange(-1);
  if (before >= 0 && still_ours(before)) close(before);
  waiting_.clear();
  waiting_bytes_ = 0;
  incoming_ = wire::FrameAssembler();
  stalled_.store(false);
  closed_by_target_.store(false);
  bytes_sent_.store(0);
}

bool Channel::adopt(int socket) {
  start_over();
  // Keep clear of the low numbers, which targets close and expect to get again. If the descriptor
  // limit does not permit that, any number except the standard ones will do.
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

Channel::Sent Channel::send(wire::FrameType type, std::span<const std::byte> payload) {
  const iovec piece = piece_of(payload);
  return send(type, std::span(&piece, 1));
}

Channel::Sent Channel::send(wire::FrameType type, std::span<const iovec> pieces, Ticket ticket) {
  const std::lock_guard lock(sending_);
  return send_locked(type, pieces, -1, ticket);
}

Channel::Sent Channel::send_with_file(wire::FrameType type, const wire::Encoder& payload,
                                      int file) {
  const std::lock_guard lock(sending_);
  const iovec piece = piece_of(payload.bytes());
  return send_locked(type, std::span(&piece, 1), file, no_ticket);
}

Channel::Sent Channel::send_locked(wire::FrameType type, std::span<const iovec> pieces, int file,
                                   Ticket ticket) {
  const int socket = socket_.load();
  if (socket < 0 || !still_ours(socket)) return Sent::refused;
  const std::size_t size = size_of(pieces);
  wire::FrameHeader header{static_cast<std::uint32_t>(type), 0, size};
  std::vector<PartHead> heads;
  std::vector<iovec> all;
  if (type == wire::FrameType::batch && size > limits_.payload) {
    all = in_parts(pieces, limits_.payload, heads);
  } else {
    all.reserve(pieces.size() + 1);
    all.push_back({&header, sizeof header});
    all.insert(all.end(), pieces.begin(), pieces.end());
  }

  std::span<iovec> left(all);
  if (!waiting_.empty()) {
    if (waiting_bytes_ + size_of(left) > limits_.waiting) return Sent::refused;
    put_off(left, file, ticket);
    return Sent::waiting;
  }
  Clock::time_point until{};
  while (!left.empty()) {
    const ssize_t sent = push(socket, left, file);
    if (sent < 0) return Sent::refused;
    if (sent > 0) {
      file = -1;
      left = without_first(left, static_cast<std::size_t>(sent));
      continue;
    }
    if (until == Clock::time_point{}) until = Clock::now() + limits_.patience;
    const auto rest = std::chrono::ceil<std::chrono::milliseconds>(until - Clock::now());
    if (rest.count() <= 0) {
      // Part of it may have been sent, so the rest is kept regardless of its size.
      put_off(left, file, ticket);
      return Sent::waiting;
    }
    wait_for(socket, POLLOUT, static_cast<int>(std::min<std::int64_t>(rest.count(), 60'000)));
  }
  return Sent::whole;
}

void Channel::put_off(std::span<const iovec> pieces, int file, Ticket ticket) {
  Waiting rest{.own = {}, .file = file, .ticket = ticket};
  rest.own.reserve(size_of(pieces));
  for (const iovec& piece : pieces) {
    const auto* bytes = static_cast<const std::byte*>(piece.iov_base);
    rest.own.insert(rest.own.end(), bytes, bytes + piece.iov_len);
  }
  waiting_bytes_ += rest.own.size();
  waiting_.push_back(std::move(rest));
  stalled_.store(true);
}

bool Channel::send_later(wire::FrameType type, std::span<const std::byte> payload, Ticket ticket) {
  const std::lock_guard lock(sending_);
  const int socket = socket_.load();
  if (socket < 0 || !still_ours(socket)) return false;
  const wire::FrameHeader header{static_cast<std::uint32_t>(type), 0, payload.size()};
  Waiting frame{
      .own = std::vector<std::byte>(sizeof header), .elsewhere = payload, .ticket = ticket};
  std::memcpy(frame.own.data(), &header, sizeof header);
  waiting_bytes_ += frame.own.size();
  waiting_.push_back(std::move(frame));
  stalled_.store(true);
  return true;
}

bool Channel::resume(std::vector<Ticket>& done) {
  const std::lock_guard lock(sending_);
  bool some = false;
  while (!waiting_.empty()) {
    const int socket = socket_.load();
    if (socket < 0 || !still_ours(socket)) break;
    Waiting& frame = waiting_.front();
    iovec both[] = {piece_of(frame.own), piece_of(frame.elsewhere)};
    const ssize_t sent = push(socket, without_first(both, frame.sent), frame.file);
    if (sent <= 0) break;
    some = true;
    frame.file = -1;
    frame.sent += static_cast<std::size_t>(sent);
    if (frame.sent < frame.own.size() + frame.elsewhere.size()) continue;
    if (frame.ticket != no_ticket) done.push_back(frame.ticket);
    waiting_bytes_ -= frame.own.size();
    waiting_.pop_front();
  }
  if (!alive()) waiting_.clear();
  if (waiting_.empty()) stalled_.store(false);
  return some;
}

ssize_t Channel::push(int socket, std::span<iovec> pieces, int file) {
  msghdr message{};
  message.msg_iov = pieces.data();
  message.msg_iovlen = std::min(pieces.size(), pieces_per_call);
  alignas(cmsghdr) char control[CMSG_SPACE(sizeof file)] = {};
  if (file >= 0) {
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    cmsghdr* with_file = CMSG_FIRSTHDR(&message);
    with_file->cmsg_level = SOL_SOCKET;
    with_file->cmsg_type = SCM_RIGHTS;
    with_file->cmsg_len = CMSG_LEN(sizeof file);
    std::memcpy(CMSG_DATA(with_file), &file, sizeof file);
  }
  ssize_t sent;
  do {
    sent = sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT);
  } while (sent < 0 && errno == EINTR);
  if (sent >= 0) {
    bytes_sent_.fetch_add(static_cast<std::uint64_t>(sent), std::memory_order_relaxed);
    return sent;
  }
  // ETOOMANYREFS: too many descriptors are in transit to launchers that do not read.
  const bool full =
      errno == EAGAIN || errno == EWOULDBLOCK || errno == ENOBUFS || errno == ETOOMANYREFS;
  if (full) return 0;
  shut();
  return -1;
}

bool Channel::wait(int timeout_ms) {
  const int socket = socket_.load();
  const short events = stalled() ? POLLIN | POLLOUT : POLLIN;
  return socket >= 0 && still_ours(socket) && wait_for(socket, events, timeout_ms);
}

bool Channel::wait_to_send(int timeout_ms) {
  const int socket = socket_.load();
  return socket >= 0 && still_ours(socket) && wait_for(socket, POLLOUT, timeout_ms);
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

// The descriptor stays open until the process ends or connects again: another thread may be using
// it, and a number reused by somebody else in the meantime would be worse than a leaked one.
void Channel::shut() {
  const int socket = socket_.load();
  if (socket < 0 || !still_ours(socket)) return;
  if (socket_.exchange(-1) < 0) return;
  shut_socket_.store(socket);
  shutdown(socket, SHUT_RDWR);
}

void Channel::abandon() {
  const int socket = socket_.exchange(-1);
  if (socket >= 0) close(socket);
}

}  // namespace gpuprof::collect
