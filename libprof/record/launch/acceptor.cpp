#include "libprof/record/launch/acceptor.hpp"

#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <new>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/unix_socket.hpp"
#include "libprof/base/whole.hpp"
#include "libprof/record/launch/spare_descriptors.hpp"
#include "libprof/wire/limits.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::launch {
namespace {

constexpr int receive_buffer_bytes = 4 << 20;
constexpr char fallback[] = "/tmp";
constexpr int backlog = 128;
constexpr std::string_view too_many_files =
    "gpuprof has too many files open (ulimit -n), it is not recorded";

// In $TMPDIR, or in /tmp if that is unsuitable: the path must fit a socket address.
std::unique_ptr<TemporaryFolder> make_folder() {
  constexpr std::size_t longest = 90;
  try {
    auto folder = std::make_unique<TemporaryFolder>();
    if (folder->path().size() <= longest) return folder;
  } catch (const Error&) {
    if (TemporaryFolder::place() == fallback) throw;
  }
  return std::make_unique<TemporaryFolder>(fallback);
}

int open_reserve() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

// If this fails, a process that gets no answer is reported and not profiled.
void write_config(const std::string& path, const wire::Fields& config) {
  wire::Encoder encoder;
  encoder.fields(config);
  const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (!write_whole(file, encoder.bytes(), 0)) unlink(path.c_str());
  close(file);
}

}  // namespace

Acceptor::Acceptor(const wire::Fields& config, Tell tell, const std::string& folder)
    : tell_(std::move(tell)), folder_(make_folder()) {
  const std::string place = (folder.empty() ? own_folder() : folder) + "/";
  socket_path_ = place + "socket";
  const auto address = UnixAddress::of(socket_path_);
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  reserve_ = open_reserve();
  if (!address || socket_ < 0 || bind(socket_, address->get(), address->size()) != 0 ||
      listen(socket_, backlog) != 0) {
    throw Error("no socket for the collector at " + socket_path_ + ": " + std::strerror(errno));
  }
  write_config(place + std::string(wire::config_file), config);
}

Acceptor::~Acceptor() {
  close(socket_);
  if (reserve_ >= 0) close(reserve_);
}

int Acceptor::watched() {
  if (rests_until_ && Clock::now() >= *rests_until_) rests_until_.reset();
  return rests_until_ ? -1 : socket_;
}

void Acceptor::accept_all(Connections& connections) {
  for (int i = 0; i < 4 * backlog && accept_one(connections); ++i) {
  }
}

bool Acceptor::accept_one(Connections& connections) {
  const int socket = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket >= 0) {
    add_connection(connections, socket);
    return true;
  }
  switch (errno) {
    case EMFILE:
    case ENFILE:
    case ENOBUFS:
    case ENOMEM: return turn_one_away();
    case ECONNABORTED:
    case EINTR: return true;
    default: return false;
  }
}

// A connection left waiting would wake us all the time, and its process would not learn that it
// waits in vain.
bool Acceptor::turn_one_away() {
  if (reserve_ >= 0) close(reserve_);
  const int socket = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket >= 0) {
    const pid_t process = peer_of(socket).value_or(ucred{}).pid;
    close(socket);
    turn_away(process, too_many_files);
  }
  reserve_ = open_reserve();
  if (socket < 0) rests_until_ = Clock::now() + rest;
  return socket >= 0;
}

void Acceptor::turn_away(std::int64_t process_id, std::string_view why) {
  // One message is enough for all of them.
  if (turned_away_.fetch_add(1) == 0) tell_(process_id, why);
}

void Acceptor::add_connection(Connections& connections, int socket) {
  const ucred peer = peer_of(socket).value_or(ucred{});
  if (is_among_last(socket, sockets_leave)) {
    close(socket);
    return turn_away(peer.pid, too_many_files);
  }
  const auto same = [&](const auto& other) { return other->peer.pid == peer.pid; };
  if (peer.pid > 0 && static_cast<std::size_t>(std::ranges::count_if(connections, same)) >=
                          wire::max_connections_of_process) {
    close(socket);
    return turn_away(peer.pid, "it has too many connections, this one is not recorded");
  }
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  std::unique_ptr<Connection> connection;
  try {
    connection = std::make_unique<Connection>(socket, next_stream_, peer);
    connections.push_back(std::move(connection));
  } catch (const std::bad_alloc&) {
    if (!connection) close(socket);
    return turn_away(peer.pid, "gpuprof has no memory left, it is not recorded");
  }
  ++next_stream_;
}

}  // namespace gpuprof::launch
