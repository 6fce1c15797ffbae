#include "libprof/record/launch/control_socket.hpp"

#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstring>
#include <fstream>
#include <list>
#include <optional>
#include <span>
#include <sstream>
#include <utility>
#include <vector>

#include "libprof/base/descriptor.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/path.hpp"
#include "libprof/base/text.hpp"
#include "libprof/base/unix_socket.hpp"

namespace gpuprof::launch {
namespace {

using std::chrono::milliseconds;

constexpr std::string_view name = "control";
constexpr milliseconds caller_patience{1000};     // for its request
constexpr milliseconds finding_patience{2000};    // for a recording to say whether it is the one
constexpr milliseconds answer_patience{120'000};  // for what was asked
constexpr std::size_t longest = 64 << 10;         // of a request and of an answer
constexpr int most_waiting = 128;                 // callers: each rank of a host may be one
constexpr std::size_t most_asked = 256;           // at once

// nullopt: it is another user's.
std::optional<pid_t> process_of_this_user(int socket) {
  const auto peer = peer_of(socket);
  return peer && peer->uid == geteuid() ? std::optional(peer->pid) : std::nullopt;
}

bool send_fields(int socket, const wire::Fields& fields) {
  wire::Encoder encoder;
  encoder.fields(fields);
  const auto bytes = encoder.bytes();
  return bytes.size() <= longest && send(socket, bytes.data(), bytes.size(), MSG_NOSIGNAL) ==
                                        static_cast<ssize_t>(bytes.size());
}

// nullopt: nothing comes in time, or nothing sensible.
std::optional<wire::Fields> receive_fields(int socket, milliseconds patience) {
  pollfd waiting{socket, POLLIN, 0};
  if (poll(&waiting, 1, static_cast<int>(patience.count())) != 1) return std::nullopt;
  std::vector<std::byte> bytes(longest);
  const ssize_t got = recv(socket, bytes.data(), bytes.size(), MSG_DONTWAIT | MSG_TRUNC);
  if (got <= 0 || static_cast<std::size_t>(got) > bytes.size()) return std::nullopt;
  wire::Decoder decoder{std::span(bytes).first(static_cast<std::size_t>(got))};
  wire::Fields fields = decoder.fields();
  return decoder.ok() ? std::optional(std::move(fields)) : std::nullopt;
}

// Sockets with our name that some process listens on. Anybody can make one.
std::vector<std::string> candidates() {
  constexpr std::string_view listens = "00010000";  // __SO_ACCEPTCON
  std::vector<std::string> paths;
  std::ifstream sockets("/proc/net/unix");
  for (std::string line; std::getline(sockets, line);) {
    std::istringstream words(line);
    std::string number, references, protocol, flags, type, state, inode, path;
    words >> number >> references >> protocol >> flags >> type >> state >> inode;
    std::getline(words >> std::ws, path);
    if (flags == listens && path.ends_with("/" + std::string(name))) {
      paths.push_back(std::move(path));
    }
  }
  return paths;
}

// Connects if the socket is this user's and nobody else's.
Descriptor connect_to(const std::string& path) {
  struct stat folder {};
  const auto address = UnixAddress::of(path);
  if (!address || lstat(folder_of(path).c_str(), &folder) != 0 || !S_ISDIR(folder.st_mode) ||
      folder.st_uid != geteuid() || (folder.st_mode & 0777) != 0700) {
    return Descriptor(-1);
  }
  Descriptor socket(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
  if (*socket < 0 || connect(*socket, address->get(), address->size()) != 0 ||
      !process_of_this_user(*socket)) {
    return Descriptor(-1);
  }
  return socket;
}

std::optional<wire::Fields> exchange(const std::string& path, const wire::Fields& request,
                                     milliseconds patience) {
  const Descriptor socket = connect_to(path);
  if (*socket < 0 || !send_fields(*socket, request)) return std::nullopt;
  return receive_fields(*socket, patience);
}

}  // namespace

ControlSocket::ControlSocket(const std::string& folder)
    : socket_(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0)) {
  const std::string path = folder + "/" + std::string(name);
  const auto address = UnixAddress::of(path);
  if (socket_ >= 0 && address && bind(socket_, address->get(), address->size()) == 0 &&
      chmod(path.c_str(), 0600) == 0 && listen(socket_, most_waiting) == 0) {
    return;
  }
  const std::string why = std::strerror(errno);
  if (socket_ >= 0) close(socket_);
  throw Error("no socket for gpuprof status and stop at " + path + ": " + why);
}

ControlSocket::~ControlSocket() { close(socket_); }

void ControlSocket::serve(const Answer& answer) const {
  const Descriptor caller(accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK));
  const auto process = *caller < 0 ? std::nullopt : process_of_this_user(*caller);
  if (!process) return;
  if (const auto request = receive_fields(*caller, caller_patience)) {
    send_fields(*caller, answer(*request, *process));
  }
}

bool AskedRecording::is_over() {
  pollfd waiting{*socket_, POLLIN, 0};
  if (poll(&waiting, 1, 0) != 1) return false;
  answer_ = receive_fields(*socket_, milliseconds(0));
  return true;
}

std::list<AskedRecording> ask_other_recordings(const wire::Fields& request,
                                               const std::string& own_folder,
                                               std::vector<std::string>& full) {
  std::list<AskedRecording> asked;
  const std::string place = folder_of(own_folder);
  for (const std::string& path : candidates()) {
    // Other paths may be anybody's, and slow to look at.
    const std::string folder = folder_of(path);
    if (folder == own_folder || folder_of(folder) != place || asked.size() >= most_asked) continue;
    errno = 0;
    Descriptor socket = connect_to(path);
    if (*socket < 0) {
      if (errno == EAGAIN) full.push_back(path);
      continue;
    }
    const auto process = process_of_this_user(*socket);
    if (process && send_fields(*socket, request)) asked.emplace_back(std::move(socket), *process);
  }
  return asked;
}

wire::Fields recording_of(const std::string& process_or_file) {
  wire::Fields fields;
  const auto process = parse<std::int64_t>(process_or_file);
  process ? fields.set("process", *process) : fields.set("file", resolved(process_or_file));
  return fields;
}

wire::Fields ask_recording(const std::string& process_or_file, const wire::Fields& request) {
  const wire::Fields whom = recording_of(process_or_file);
  for (const std::string& path : candidates()) {
    const auto found = exchange(path, whom, finding_patience);
    if (!found || !found->find("found")) continue;
    const auto answer = exchange(path, request, answer_patience);
    if (!answer) break;
    if (const auto why = answer->find("error")) {
      throw Error(std::string(*why), std::string(answer->text("hint")), ExitCode::bad_option);
    }
    return *answer;
  }
  const bool process = whom.find("process").has_value();
  throw Error("no gpuprof of yours records " +
                  (process ? "process " + process_or_file : "into " + process_or_file) +
                  ", or it does not answer",
              process ? "name the number of a process that uses CUDA, of its gpuprof, or the file"
                      : "name the file as after -o",
              ExitCode::application_not_found);
}

}  // namespace gpuprof::launch
