#include "libprof/base/unix_socket.hpp"

#include <cerrno>

namespace gpuprof {

std::optional<UnixAddress> UnixAddress::of(std::string_view path) {
  UnixAddress made;
  if (path.size() >= sizeof made.address_.sun_path) {
    errno = ENAMETOOLONG;
    return std::nullopt;
  }
  made.address_.sun_family = AF_UNIX;
  path.copy(made.address_.sun_path, path.size());
  return made;
}

std::optional<ucred> peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  if (getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size) != 0) return std::nullopt;
  return peer;
}

}  // namespace gpuprof
