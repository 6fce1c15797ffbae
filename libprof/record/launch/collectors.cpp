#include "libprof/record/launch/collectors.hpp"

#include <linux/sockios.h>
#include <sys/ioctl.h>
#include <sys/socket.h>

#include <algorithm>

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

void Collectors::add(std::uint32_t stream, int socket, bool target) {
  const std::lock_guard lock(mutex_);
  all_[stream].socket = socket;
  all_[stream].target = target;
}

void Collectors::forget(std::uint32_t stream) {
  const std::lock_guard lock(mutex_);
  all_.erase(stream);
  changed_.notify_all();
}

void Collectors::forget_all() {
  const std::lock_guard lock(mutex_);
  all_.clear();
  changed_.notify_all();
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

Collectors::Asked Collectors::ask(wire::Fields request, std::chrono::milliseconds patience) {
  std::unique_lock lock(mutex_);
  const std::int64_t number = ++last_request_;
  request.set("control", number);
  Asked asked;
  for (auto& [stream, collector] : all_) {
    if (!collector.target) continue;
    collector.asked = number;
    ++asked.all;
    send(collector, request);
  }
  const auto silent = [&] {
    return std::ranges::count_if(all_, [&](const auto& each) {
      return each.second.asked == number && each.second.answered != number;
    });
  };
  changed_.wait_for(lock, patience, [&] { return silent() == 0; });
  asked.silent = static_cast<std::size_t>(silent());
  return asked;
}

void Collectors::answered(std::uint32_t stream, std::int64_t number) {
  const std::lock_guard lock(mutex_);
  const auto found = all_.find(stream);
  if (found == all_.end()) return;
  found->second.answered = number;
  changed_.notify_all();
}

void Collectors::send(const Collector& collector, const wire::Fields& fields) {
  constexpr int most_unread = 64 << 10;  // far below a socket's capacity: a frame fits as a whole
  int unread = 0;
  if (ioctl(collector.socket, SIOCOUTQ, &unread) != 0 || unread > most_unread) return;
  send_config(collector.socket, fields);
}

}  // namespace gpuprof::launch
