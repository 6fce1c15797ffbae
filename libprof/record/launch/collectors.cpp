#include "libprof/record/launch/collectors.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include "libprof/wire/frame.hpp"

namespace gpuprof::launch {

void send_config(int socket, const wire::Fields& fields) {
  wire::Encoder config;
  config.fields(fields);
  const auto payload = config.bytes();
  const wire::FrameHeader header{static_cast<std::uint32_t>(wire::FrameType::config), 0,
                                 payload.size()};
  iovec pieces[] = {{const_cast<wire::FrameHeader*>(&header), sizeof header},
                    {const_cast<std::byte*>(payload.data()), payload.size()}};
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  [[maybe_unused]] const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
}

void Collectors::add(std::uint32_t stream, int socket) {
  const std::lock_guard lock(mutex_);
  all_[stream].socket = socket;
}

void Collectors::forget(std::uint32_t stream) {
  const std::lock_guard lock(mutex_);
  all_.erase(stream);
}

void Collectors::forget_all() {
  const std::lock_guard lock(mutex_);
  all_.clear();
}

bool Collectors::asks(std::uint32_t stream) {
  constexpr int most_open = 256;  // an honest one has at most one per thread
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(stream);
  if (found == all_.end() || found->second.open_questions >= most_open) return false;
  ++found->second.open_questions;
  return true;
}

void Collectors::answer(std::uint32_t stream, const wire::Fields& fields) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(stream);
  if (found == all_.end()) return;
  --found->second.open_questions;
  send(found->second, fields);
}

void Collectors::tell(std::uint32_t stream, const wire::Fields& fields) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(stream);
  if (found != all_.end()) send(found->second, fields);
}

void Collectors::send(const Collector& collector, const wire::Fields& fields) {
  constexpr int most_unread = 64 << 10;  // far below a socket's capacity: a frame fits as a whole
  int unread = 0;
  if (ioctl(collector.socket, SIOCOUTQ, &unread) != 0 || unread > most_unread) return;
  send_config(collector.socket, fields);
}

}  // namespace gpuprof::launch
