// Sockets that have a path.
#pragma once

#include <sys/socket.h>
#include <sys/un.h>

#include <optional>
#include <string_view>

namespace gpuprof {

class UnixAddress {
 public:
  // nullopt, with ENAMETOOLONG as errno: no address can have this path. Allocates nothing.
  static std::optional<UnixAddress> of(std::string_view path);

  // For bind and connect, as long as this lives.
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address_); }
  static constexpr socklen_t size() { return sizeof(sockaddr_un); }

 private:
  sockaddr_un address_{};
};

// Who connected, or listened, at the other end. nullopt: that is not known.
std::optional<ucred> peer_of(int socket);

}  // namespace gpuprof
