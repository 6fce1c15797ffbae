#include "libprof/launch/listener.hpp"

#include <fcntl.h>
#include <linux/sockios.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <map>
#include <sstream>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/base/whole.hpp"
#include "libprof/launch/salvage_process.hpp"
#include "libprof/wire/ledger.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::launch {
namespace {

constexpr int receive_buffer_bytes = 4 << 20;
constexpr char fallback[] = "/tmp";
constexpr std::uint32_t most_slots = 1 << 16;  // as many as an arena can be asked to have

// In $TMPDIR, or /tmp where that does not do: the path must fit a socket address.
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

void send_frame(int socket, wire::FrameType type, std::span<const std::byte> payload) {
  const wire::FrameHeader header{static_cast<std::uint32_t>(type), 0, payload.size()};
  iovec pieces[] = {{const_cast<wire::FrameHeader*>(&header), sizeof header},
                    {const_cast<std::byte*>(payload.data()), payload.size()}};
  msghdr message{};
  message.msg_iov = pieces;
  message.msg_iovlen = 2;
  // Small, and the first thing in an empty socket: it fits.
  [[maybe_unused]] const ssize_t sent = sendmsg(socket, &message, MSG_NOSIGNAL);
}

std::string config_path(const std::string& folder) {
  return folder + "/" + std::string(wire::config_file);
}

// What a collector that gets no answer goes by. Where that cannot be had, such a process is not
// profiled, and told of.
void write_config(const std::string& folder, const wire::Fields& config) {
  wire::Encoder encoder;
  encoder.fields(config);
  const int file = open(config_path(folder).c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (!write_whole(file, encoder.bytes(), 0)) unlink(config_path(folder).c_str());
  close(file);
}

// Those of the candidates that are paths, and no names for the loader to look up.
std::vector<std::string> paths_in(std::string_view candidates) {
  std::vector<std::string> paths;
  std::istringstream lines{std::string(candidates)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('/')) paths.push_back(std::move(line));
  }
  return paths;
}

}  // namespace

struct Listener::Connection {
  int socket = -1;
  std::uint32_t stream = 0;
  std::int64_t process_id = 0;
  ucred peer{};  // as we see it: the process itself may live in another namespace
  bool said_hello = false;
  bool gave_up = false;  // collecting failed: there is nothing to salvage
  bool broken = false;   // what came could not be read any further
  bool said_goodbye = false;
  bool unwatched = false;  // its process may live, and cannot be waited for
  bool measured = false;   // CUPTI's range profiler was at work
  // The socket is closed and the process lives: `socket` is its pidfd. What is in its arena is read
  // when it has ended.
  bool lingers = false;
  // The process is gone, and this speaks in its place. `socket` is not used then.
  std::unique_ptr<SalvageProcess> salvage;
  int arena = -1;
  std::string cupti_path;
  std::map<std::uint32_t, std::uint32_t> received;  // generation of each slot's last batch
  std::vector<std::byte> first_part;                // of a batch in parts: its header
  wire::FrameAssembler frames;

  // What to poll; -1: nothing.
  int watched() const {
    if (!salvage) return socket;
    return salvage->socket() >= 0 ? salvage->socket() : salvage->watch();
  }

  ~Connection() {
    if (socket >= 0) close(socket);
    if (arena >= 0) close(arena);
  }
};

// Collectors that can be told something. Any thread, also after the listener's end.
class Listener::Collectors {
 public:
  void add(std::uint32_t stream, int socket) {
    const std::lock_guard lock(mutex_);
    all_[stream].socket = socket;
  }
  void forget(std::uint32_t stream) {
    const std::lock_guard lock(mutex_);
    all_.erase(stream);
  }
  void forget_all() {
    const std::lock_guard lock(mutex_);
    all_.clear();
  }

  // False: it has so many open questions that it gets no answer to this one.
  bool asks(std::uint32_t stream) {
    constexpr int most_open = 256;  // an honest one has one for each of its threads
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(stream);
    if (found == all_.end() || found->second.open_questions >= most_open) return false;
    ++found->second.open_questions;
    return true;
  }
  void answer(std::uint32_t stream, const wire::Fields& fields) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(stream);
    if (found == all_.end()) return;
    --found->second.open_questions;
    send(found->second, fields);
  }
  void tell(std::uint32_t stream, const wire::Fields& fields) {
    const std::lock_guard lock(mutex_);
    const auto found = all_.find(stream);
    if (found != all_.end()) send(found->second, fields);
  }

 private:
  struct Collector {
    int socket = -1;
    int open_questions = 0;
  };

  static void send(const Collector& collector, const wire::Fields& fields) {
    constexpr int most_unread = 64 << 10;  // far from what a socket holds: a frame fits as a whole
    int unread = 0;
    if (ioctl(collector.socket, SIOCOUTQ, &unread) != 0 || unread > most_unread) return;
    wire::Encoder more;
    more.fields(fields);
    send_frame(collector.socket, wire::FrameType::config, more.bytes());
  }

  std::mutex mutex_;  // guards the next
  std::map<std::uint32_t, Collector> all_;
};

Listener::Listener(Options options, FrameQueue& queue)
    : options_(std::move(options)),
      queue_(queue),
      folder_(make_folder()),
      collectors_(std::make_shared<Collectors>()) {
  socket_path_ = *folder_ / "socket";
  sockaddr_un address{};
  address.sun_family = AF_UNIX;
  std::strncpy(address.sun_path, socket_path_.c_str(), sizeof address.sun_path - 1);
  socket_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  wake_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (socket_ < 0 || wake_ < 0 ||
      bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket_, 128) != 0) {
    throw Error("no socket for the collector at " + socket_path_ + ": " + std::strerror(errno));
  }
  write_config(folder_->path(), options_.config);
  thread_ = std::thread([this] {
    run();
    settled_.store(~std::uint64_t{0});  // nobody is waited for any more
    settled_.notify_all();
  });
}

Listener::~Listener() {
  stop(true);
  if (thread_.joinable()) thread_.join();
  close(socket_);
  close(wake_);
}

void Listener::wake() {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(wake_, &one, sizeof one);
}

void Listener::stop(bool abandon) {
  stopping_.store(true);
  if (abandon) abandoning_.store(true);
  wake();
}

std::vector<std::int64_t> Listener::active_processes() {
  const std::lock_guard lock(mutex_);
  return active_processes_;
}

void Listener::run() {
  std::vector<pollfd> waiting;
  while (true) {
    if (abandoning_.load()) {
      collectors_->forget_all();
      for (auto& connection : connections_) {
        if (connection->said_hello && !connection->salvage) account(*connection, true);
        if (connection->salvage) {
          count_unsalvaged(*connection, "the buffers it left behind are not read to the end");
        }
        push_end(*connection);
      }
      connections_.clear();
    }
    const std::uint64_t asked = settle_asked_.load();
    if (settled_.load() != asked) {
      while (accept_one()) {
      }
      active_.store(connections_.size());
      settled_.store(asked);
      settled_.notify_all();
    }
    active_.store(connections_.size());
    if (stopping_.load() && connections_.empty()) return;

    waiting.assign(1, {wake_, POLLIN, 0});
    waiting.push_back({stopping_.load() ? -1 : socket_, POLLIN, 0});
    for (const auto& connection : connections_) {
      waiting.push_back({connection->watched(), POLLIN, 0});
    }
    if (poll(waiting.data(), waiting.size(), patience_ms()) < 0 && errno != EINTR) return;
    if (waiting[0].revents) {
      std::uint64_t count;
      [[maybe_unused]] const ssize_t got = read(wake_, &count, sizeof count);
    }
    // Connections made by accept_one() come behind those that were polled.
    const std::size_t polled = waiting.size() - 2;
    if (waiting[1].revents) accept_one();
    for (std::size_t i = polled; i > 0; --i) {
      if (goes_on(*connections_[i - 1], waiting[i + 1].revents)) continue;
      std::unique_ptr<Connection> gone = std::move(connections_[i - 1]);
      connections_.erase(connections_.begin() + static_cast<std::ptrdiff_t>(i - 1));
      collectors_->forget(gone->stream);
      over(std::move(gone));
    }
  }
}

void Listener::settle() {
  const std::uint64_t mine = settle_asked_.fetch_add(1) + 1;
  wake();
  for (std::uint64_t now = settled_.load(); now < mine; now = settled_.load()) settled_.wait(now);
}

// How long nothing need be done, if nothing comes. -1: for ever.
int Listener::patience_ms() const {
  auto next = HelperProcess::Clock::time_point::max();
  for (const auto& connection : connections_) {
    if (connection->salvage) next = std::min(next, connection->salvage->next_look());
  }
  if (next == HelperProcess::Clock::time_point::max()) return -1;
  const auto left =
      std::chrono::ceil<std::chrono::milliseconds>(next - HelperProcess::Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// Takes what came. false: it is over.
bool Listener::goes_on(Connection& connection, bool something_came) {
  if (!connection.salvage) {
    if (!something_came) return true;
    return !connection.lingers && receive(connection);
  }
  SalvageProcess& salvage = *connection.salvage;
  if (something_came && salvage.socket() >= 0 && !receive(connection)) salvage.close_socket();
  return !salvage.look(something_came);
}

bool Listener::accept_one() {
  const int socket = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket < 0) return false;
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  auto connection = std::make_unique<Connection>();
  connection->socket = socket;
  connection->stream = next_stream_++;
  socklen_t size = sizeof connection->peer;
  getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &connection->peer, &size);
  connection->process_id = connection->peer.pid;  // until it says another
  connections_.push_back(std::move(connection));
  active_.store(connections_.size());
  return true;
}

bool Listener::receive(Connection& connection) {
  // A few frames, then the others have their turn.
  for (int turns = 0; turns < 64; ++turns) {
    const auto room = connection.frames.room();
    if (room.empty()) {
      connection.broken = true;
      if (options_.message) {
        options_.message(connection.process_id,
                         "its data cannot be read: " + connection.frames.damaged());
      }
      return false;
    }
    iovec piece{room.data(), room.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    message.msg_controllen = sizeof control;
    const ssize_t got = recvmsg(connection.watched(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    if (got == 0) return false;
    if (connection.salvage && !connection.salvage->came(static_cast<std::size_t>(got))) {
      return false;
    }
    for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
      if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
      if (connection.arena >= 0) close(connection.arena);
      std::memcpy(&connection.arena, CMSG_DATA(part), sizeof connection.arena);
    }
    connection.frames.filled(static_cast<std::size_t>(got));
    if (connection.frames.complete()) take(connection, connection.frames.take());
  }
  return true;
}

void Listener::take(Connection& connection, wire::Frame frame) {
  frame.stream = connection.stream;
  switch (frame.type) {
    case wire::FrameType::hello: answer_hello(connection, frame); break;
    case wire::FrameType::info: {
      const wire::Fields fields = wire::Decoder(frame.payload()).fields();
      if (const auto path = fields.find("cupti_path")) connection.cupti_path = *path;
      for (const char* what : {"error", "warning"}) {
        const auto text = fields.find(what);
        if (text && options_.message) options_.message(connection.process_id, std::string(*text));
        connection.gave_up |= text && what == std::string_view("error");
      }
      for (const auto& [name, text] : fields) {
        if (options_.metrics_notice && name.starts_with("metrics_")) {
          options_.metrics_notice(connection.process_id, name, text);
        }
      }
      break;
    }
    case wire::FrameType::batch: came(connection, frame.payload()); break;
    case wire::FrameType::batch_part: came_in_part(connection, frame.payload()); break;
    case wire::FrameType::question: return take_question(connection, frame);
    case wire::FrameType::goodbye: connection.said_goodbye = true; break;
    default: break;
  }
  queue_.push(std::move(frame));
}

// What came of a slot is not for salvage.
void Listener::came(Connection& connection, std::span<const std::byte> batch) {
  if (batch.size() < sizeof(wire::BatchHeader) || connection.salvage) return;
  const auto header = wire::load<wire::BatchHeader>(batch.data());
  if (header.slot < most_slots) connection.received[header.slot] = header.generation;
}

void Listener::came_in_part(Connection& connection, std::span<const std::byte> payload) {
  if (payload.size() < sizeof(wire::BatchPartHeader)) return;
  const auto part = wire::load<wire::BatchPartHeader>(payload.data());
  const auto bytes = payload.subspan(sizeof part);
  if (part.number == 0) {
    connection.first_part.assign(
        bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(
                                           std::min(bytes.size(), sizeof(wire::BatchHeader))));
  }
  if (part.number + 1 == part.parts) came(connection, std::exchange(connection.first_part, {}));
}

void Listener::answer_hello(Connection& connection, const wire::Frame& hello) {
  wire::Decoder decoder(hello.payload());
  decoder.integer<std::uint32_t>();
  const wire::Fields fields = decoder.fields();
  connection.process_id = fields.integer("process_id");
  connection.said_hello = true;
  seen_.fetch_add(1);
  {
    const std::lock_guard lock(mutex_);
    active_processes_.push_back(connection.process_id);
  }
  wire::Fields answer = options_.config;
  if (options_.config_for) {
    for (const auto& [name, value] : options_.config_for(connection.stream, fields)) {
      answer.set(name, value);
    }
  }
  connection.measured = !answer.text("metrics").empty();
  wire::Encoder config;
  config.fields(answer);
  send_frame(connection.socket, wire::FrameType::config, config.bytes());
  collectors_->add(connection.stream, connection.socket);
}

void Listener::take_question(Connection& connection, const wire::Frame& question) {
  constexpr std::uint64_t longest = 80 << 10;  // a name of 64 KiB, and what is around it
  if (!options_.question || question.length > longest || !collectors_->asks(connection.stream)) {
    return;
  }
  options_.question(wire::Decoder(question.payload()).fields(),
                    [collectors = collectors_, stream = connection.stream](
                        const wire::Fields& answer) { collectors->answer(stream, answer); });
}

void Listener::tell(std::uint32_t stream, const wire::Fields& fields) {
  collectors_->tell(stream, fields);
}

// What the stream itself did not tell about its losses. `lives`: its process does, and more would
// have come.
void Listener::account(const Connection& connection, bool lives) {
  if (connection.gave_up) return;
  if (connection.arena < 0) {
    if (connection.said_goodbye) return;
    tell_cut_off(connection);
    return push_statistics(connection, std::array<wire::Statistic, 1>{{{"", "not_profiled", 1}}});
  }
  const auto ledger = wire::read_ledger(connection.arena);
  if (ledger) push_statistics(connection, ledger->statistics);
  const bool ended = connection.said_goodbye || (ledger && ledger->ended);
  if (ended && !connection.said_goodbye) {
    queue_.push(wire::make_frame(wire::FrameType::goodbye, connection.stream, {}));
  }
  const bool whole = connection.unwatched || !ledger ? ended : !lives;
  if (connection.broken || !whole) {
    push_statistics(connection, std::array<wire::Statistic, 1>{{{"", "stream_cut", 1}}});
  }
}

void Listener::tell_cut_off(const Connection& connection) {
  if (options_.message) {
    options_.message(connection.process_id, "it was cut off before anything was recorded");
  }
}

void Listener::push_statistics(const Connection& connection,
                               std::span<const wire::Statistic> statistics) {
  wire::Encoder encoder;
  wire::encode(encoder, statistics);
  queue_.push(wire::make_frame(wire::FrameType::statistics, connection.stream, encoder.bytes()));
}

void Listener::over(std::unique_ptr<Connection> connection) {
  if (!connection->said_hello) {
    silent_.fetch_add(1);
    if (!connection->broken) tell_cut_off(*connection);
    return;
  }
  if (connection->salvage) {
    if (const std::string problem = connection->salvage->problem(); !problem.empty()) {
      count_unsalvaged(*connection, problem);
    }
  } else {
    const bool arena = !connection->gave_up && connection->arena >= 0;
    if (arena && !connection->lingers && linger(*connection)) {
      connections_.push_back(std::move(connection));
      return;
    }
    account(*connection, false);
    if (arena && start_salvage(*connection)) return;
  }
  push_end(*connection);
}

void Listener::count_unsalvaged(Connection& connection, const std::string& problem) {
  if (options_.message) options_.message(connection.process_id, problem);
  push_statistics(connection, std::array<wire::Statistic, 1>{{{"", "salvage_failed", 1}}});
}

// A target may close our socket and live on, by mistake or to become a daemon.
bool Listener::linger(Connection& connection) {
  const int process = connection.peer.pid > 0
                          ? static_cast<int>(syscall(SYS_pidfd_open, connection.peer.pid, 0))
                          : -1;
  if (process < 0) {
    connection.unwatched = connection.peer.pid <= 0 || errno != ESRCH;
    return false;
  }
  close(connection.socket);
  connection.socket = process;
  connection.lingers = true;
  return true;
}

// false: there is nothing to be salvaged, or it cannot be, which was told.
bool Listener::start_salvage(Connection& connection) {
  if (options_.salvage_program.empty() || connection.cupti_path.empty()) return false;
  auto process = SalvageProcess::start({.program = options_.salvage_program,
                                        .arena = connection.arena,
                                        .user = connection.peer.uid,
                                        .group = connection.peer.gid,
                                        .cupti = connection.cupti_path,
                                        .offered = paths_in(options_.config.text("cupti")),
                                        .received = connection.received,
                                        .kinds = std::string(options_.config.text("kinds")),
                                        .measured = connection.measured,
                                        .patience = options_.salvage_patience});
  if (!process) {
    count_unsalvaged(connection, "the buffers it left behind cannot be read");
    return false;
  }
  auto salvage = std::make_unique<Connection>();
  salvage->stream = connection.stream;
  salvage->process_id = connection.process_id;
  salvage->said_hello = true;
  salvage->salvage = std::move(process);
  connections_.push_back(std::move(salvage));
  return true;
}

void Listener::push_end(Connection& connection) {
  if (!connection.said_hello) return;
  {
    const std::lock_guard lock(mutex_);
    std::erase(active_processes_, connection.process_id);
  }
  queue_.push(wire::make_frame(wire::FrameType::stream_end, connection.stream, {}));
}

}  // namespace gpuprof::launch
