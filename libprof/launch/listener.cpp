#include "libprof/launch/listener.hpp"

#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fstream>
#include <map>
#include <new>
#include <sstream>
#include <utility>

#include "libprof/base/clock.hpp"
#include "libprof/base/error.hpp"
#include "libprof/base/whole.hpp"
#include "libprof/launch/collectors.hpp"
#include "libprof/launch/salvage_process.hpp"
#include "libprof/wire/ledger.hpp"
#include "libprof/wire/limits.hpp"
#include "libprof/wire/messages.hpp"

namespace gpuprof::launch {
namespace {

using Clock = HelperProcess::Clock;

constexpr int receive_buffer_bytes = 4 << 20;
constexpr char fallback[] = "/tmp";
constexpr int backlog = 128;
// Descriptors that sockets, and arenas, leave free.
constexpr rlim_t sockets_leave = 64, arenas_leave = 32;
// Before what failed for want of memory or descriptors is tried again.
constexpr std::chrono::milliseconds rest{100};
constexpr std::string_view too_many_files =
    "gpuprof has too many files open (ulimit -n), it is not recorded";
constexpr std::string_view nameless = "it does not say which process it is";
constexpr const char* not_to_the_end = "the buffers it left behind are not read to the end";
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

// Whether a descriptor of a target's is among the last that we may have: those are for the files
// of the run, which without them would end for all. They are given by number, the lowest first.
bool is_among_last(int file, rlim_t kept) {
  rlimit limit{};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  kept = std::min(kept, limit.rlim_cur / 4);
  return static_cast<rlim_t>(file) >= limit.rlim_cur - kept;
}

int open_reserve() { return open("/dev/null", O_RDONLY | O_CLOEXEC); }

// Whether the process that the kernel knows by `process` may call itself `said`: in a PID namespace
// it has another id. Of a process in a namespace that is not inside ours (0) nothing is known.
bool is_id_of(pid_t process, std::int64_t said) {
  if (process <= 0 || said == process) return true;
  std::ifstream status("/proc/" + std::to_string(process) + "/status");
  constexpr std::string_view name = "NSpid:";
  for (std::string line; std::getline(status, line);) {
    if (!line.starts_with(name)) continue;
    std::istringstream ids(line.substr(name.size()));
    for (std::int64_t id; ids >> id;) {
      if (id == said) return true;
    }
  }
  return false;
}

wire::Fields with_process_id(const wire::Fields& hello, std::int64_t process_id) {
  wire::Fields fields;
  fields.set("process_id", process_id);
  for (const auto& [name, value] : hello) {
    if (name != "process_id") fields.set(name, value);
  }
  return fields;
}

// The process at the other end, as we see it: it may live in another namespace.
ucred peer_of(int socket) {
  ucred peer{};
  socklen_t size = sizeof peer;
  getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &peer, &size);
  return peer;
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

// What a sampler is told when there is nothing more for it to sample.
wire::Fields stop_request() {
  wire::Fields fields;
  fields.set("stop", std::int64_t{1});
  return fields;
}

}  // namespace

struct Listener::Connection {
  int socket = -1;
  std::uint32_t stream = 0;
  std::int64_t process_id = 0;
  ucred peer{};  // as we see it: the process itself may live in another namespace
  bool said_hello = false;
  wire::Role role = wire::Role::target;
  bool renamed = false;        // the id it gave is not its own
  std::uint64_t refused = 0;   // frames that it may not send
  bool arena_missing = false;  // we had no descriptor for it
  bool gave_up = false;        // collecting failed: there is nothing to salvage
  bool broken = false;         // what came could not be read any further
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
  reserve_ = open_reserve();
  if (socket_ < 0 || wake_ < 0 ||
      bind(socket_, reinterpret_cast<sockaddr*>(&address), sizeof address) != 0 ||
      listen(socket_, backlog) != 0) {
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
  if (reserve_ >= 0) close(reserve_);
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
    try {
      if (!turn(waiting)) return;
    } catch (const std::exception&) {
      // Not even waiting is possible, for want of memory. That may pass.
      std::this_thread::sleep_for(rest);
    }
  }
}

bool Listener::turn(std::vector<pollfd>& waiting) {
  if (abandoning_.load()) abandon();
  const std::uint64_t asked = settle_asked_.load();
  if (settled_.load() != asked) {
    for (int i = 0; i < 4 * backlog && accept_one(); ++i) {
    }
    count_active();
    settled_.store(asked);
    settled_.notify_all();
  }
  count_active();
  if (samplers_to_end_.load() && !samplers_told_) tell_samplers();
  if (stopping_.load() && connections_.empty()) return false;

  if (rests_until_ && Clock::now() >= *rests_until_) rests_until_.reset();
  waiting.assign(1, {wake_, POLLIN, 0});
  waiting.push_back({stopping_.load() || rests_until_ ? -1 : socket_, POLLIN, 0});
  for (const auto& connection : connections_) {
    waiting.push_back({connection->watched(), POLLIN, 0});
  }
  if (poll(waiting.data(), waiting.size(), patience_ms()) < 0 && errno != EINTR) return false;
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
  return true;
}

void Listener::count_active() {
  const auto samplers = std::ranges::count_if(
      connections_, [](const auto& connection) { return connection->role == wire::Role::sampler; });
  samplers_.store(static_cast<std::size_t>(samplers));
  active_.store(connections_.size() - static_cast<std::size_t>(samplers));
}

void Listener::end_samplers() {
  samplers_to_end_.store(true);
  wake();
}

void Listener::tell_samplers() {
  samplers_told_ = true;
  for (const auto& connection : connections_) {
    if (connection->role == wire::Role::sampler) tell(connection->stream, stop_request());
  }
}

// Nobody is waited for any more.
void Listener::abandon() {
  collectors_->forget_all();
  for (auto& connection : connections_) {
    conclude(*connection, [&] {
      if (connection->said_hello && !connection->salvage) account(*connection, true);
      if (connection->salvage) count_unsalvaged(*connection, not_to_the_end);
      push_end(*connection);
    });
  }
  connections_.clear();
}

void Listener::settle() {
  const std::uint64_t mine = settle_asked_.fetch_add(1) + 1;
  wake();
  for (std::uint64_t now = settled_.load(); now < mine; now = settled_.load()) settled_.wait(now);
}

// How long nothing need be done, if nothing comes. -1: for ever.
int Listener::patience_ms() const {
  auto next = rests_until_.value_or(Clock::time_point::max());
  for (const auto& connection : connections_) {
    if (connection->salvage) next = std::min(next, connection->salvage->next_look());
  }
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// Takes what came. false: it is over.
bool Listener::goes_on(Connection& connection, bool something_came) {
  if (connection.broken && !connection.salvage) return false;
  try {
    if (!connection.salvage) {
      if (!something_came) return true;
      return !connection.lingers && receive(connection);
    }
    SalvageProcess& salvage = *connection.salvage;
    if (something_came && salvage.socket() >= 0 && !receive(connection)) salvage.close_socket();
    return !salvage.look(something_came);
  } catch (const std::bad_alloc&) {
    end_stream(connection, "there is not enough memory for what it sends");
  } catch (const std::exception& error) {
    end_stream(connection, error.what());
  }
  return false;
}

// Nothing more of it is read. It is still to be told that it is over.
void Listener::end_stream(Connection& connection, std::string_view why) {
  connection.broken = true;
  connection.frames = wire::FrameAssembler();
  explain(connection, "stream_cut", why);
}

// Tells the user, and the file.
void Listener::explain(const Connection& connection, std::string_view statistic,
                       std::string_view why) {
  tell_user(connection.process_id, why);
  if (!connection.said_hello) return;
  try {
    wire::Fields fields;
    fields.set("lost", why.substr(0, wire::max_diagnostic_bytes));
    fields.set("statistic", statistic);
    fields.set("time", clock_ns(CLOCK_REALTIME));
    wire::Encoder info;
    info.fields(fields);
    queue_.push(wire::make_frame(wire::FrameType::info, connection.stream, info.bytes()));
  } catch (const std::exception&) {
    // It is counted all the same.
  }
}

void Listener::tell_user(std::int64_t process_id, std::string_view text) {
  if (!options_.message) return;
  try {
    options_.message(process_id, std::string(text));
  } catch (const std::exception&) {
    // It is counted where it happened.
  }
}

bool Listener::accept_one() {
  const int socket = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK);
  if (socket >= 0) {
    add_connection(socket);
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

// A connection that is left waiting would wake us all the time, and its process would not learn
// that it waits in vain.
bool Listener::turn_one_away() {
  if (reserve_ >= 0) close(reserve_);
  const int socket = accept4(socket_, nullptr, nullptr, SOCK_CLOEXEC);
  if (socket >= 0) {
    const pid_t process = peer_of(socket).pid;
    close(socket);
    turn_away(process, too_many_files);
  }
  reserve_ = open_reserve();
  if (socket < 0) rests_until_ = Clock::now() + rest;
  return socket >= 0;
}

void Listener::turn_away(std::int64_t process_id, std::string_view why) {
  // One line is enough for all of them.
  if (turned_away_.fetch_add(1) == 0) tell_user(process_id, why);
}

void Listener::add_connection(int socket) {
  const ucred peer = peer_of(socket);
  if (is_among_last(socket, sockets_leave)) {
    close(socket);
    return turn_away(peer.pid, too_many_files);
  }
  const auto same = [&](const auto& other) { return other->peer.pid == peer.pid; };
  if (peer.pid > 0 && static_cast<std::size_t>(std::ranges::count_if(connections_, same)) >=
                          wire::max_connections_of_process) {
    close(socket);
    return turn_away(peer.pid, "it has too many connections, this one is not recorded");
  }
  setsockopt(socket, SOL_SOCKET, SO_RCVBUF, &receive_buffer_bytes, sizeof receive_buffer_bytes);
  try {
    connections_.push_back(std::make_unique<Connection>());
  } catch (const std::bad_alloc&) {
    close(socket);
    return turn_away(peer.pid, "gpuprof has no memory left, it is not recorded");
  }
  Connection& connection = *connections_.back();
  connection.socket = socket;
  connection.stream = next_stream_++;
  connection.peer = peer;
  connection.process_id = peer.pid;  // until it says another
  count_active();
}

bool Listener::receive(Connection& connection) {
  // A few frames, then the others have their turn.
  for (int turns = 0; turns < 64; ++turns) {
    const auto room = connection.frames.room();
    if (room.empty()) {
      const std::string damage = connection.frames.damaged();
      end_stream(connection, "its data cannot be read: " + damage);
      return false;
    }
    iovec piece{room.data(), room.size()};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))];
    msghdr message{};
    message.msg_iov = &piece;
    message.msg_iovlen = 1;
    message.msg_control = control;
    // Room for one: with what CMSG_SPACE rounds up there would be for two.
    message.msg_controllen = CMSG_LEN(sizeof(int));
    const ssize_t got = recvmsg(connection.watched(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0) {
      if (errno == EINTR) continue;
      return errno == EAGAIN || errno == EWOULDBLOCK;
    }
    take_descriptor(connection, message);
    if (got == 0) return false;
    if (connection.salvage && !connection.salvage->came(static_cast<std::size_t>(got))) {
      return false;
    }
    connection.frames.filled(static_cast<std::size_t>(got));
    if (connection.frames.complete()) take(connection, connection.frames.take());
    make_room(connection);
    if (connection.broken) return false;
  }
  return true;
}

// An arena. The kernel closes what a message carries beyond one.
void Listener::take_descriptor(Connection& connection, msghdr& message) {
  int file = -1;
  for (cmsghdr* part = CMSG_FIRSTHDR(&message); part; part = CMSG_NXTHDR(&message, part)) {
    if (part->cmsg_level != SOL_SOCKET || part->cmsg_type != SCM_RIGHTS) continue;
    std::memcpy(&file, CMSG_DATA(part), sizeof file);
  }
  const bool kept_free = file >= 0 && is_among_last(file, arenas_leave);
  if (kept_free) close(file);
  if (file >= 0 && !kept_free) {
    const int unwanted = connection.salvage ? file : std::exchange(connection.arena, file);
    if (unwanted >= 0) close(unwanted);
  } else if ((kept_free || (message.msg_flags & MSG_CTRUNC)) &&
             !std::exchange(connection.arena_missing, true)) {
    tell_user(connection.process_id,
              "gpuprof has too many files open (ulimit -n): what is in its buffers when it ends "
              "will be lost");
  }
}

// Ends the stream that holds most where those together hold too much.
void Listener::make_room(const Connection& latest) {
  constexpr std::size_t little = std::size_t{8} << 20;
  if (latest.frames.held() <= little) return;
  std::size_t held = 0;
  Connection* most = nullptr;
  for (const auto& connection : connections_) {
    const std::size_t its = connection->frames.held();
    if (its <= little) continue;
    held += its;
    if (!most || its > most->frames.held()) most = connection.get();
  }
  if (held > wire::max_unfinished_bytes) {
    end_stream(*most, "it sends so long frames that there is no room for their ends");
  }
}

void Listener::take(Connection& connection, wire::Frame frame) {
  using wire::FrameType;
  frame.stream = connection.stream;
  const bool of_process = frame.type == FrameType::hello || frame.type == FrameType::arena ||
                          frame.type == FrameType::question || frame.type == FrameType::goodbye;
  if (wire::is_launchers(frame.type) || (connection.salvage && of_process) ||
      (connection.said_hello && frame.type == FrameType::hello)) {
    ++connection.refused;
    return;
  }
  if (!connection.said_hello && frame.type != FrameType::hello) {
    return end_stream(connection, nameless);
  }
  switch (frame.type) {
    case wire::FrameType::hello:
      answer_hello(connection, frame);
      if (connection.broken) return;
      break;
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

void Listener::answer_hello(Connection& connection, wire::Frame& hello) {
  const wire::Hello said_by = wire::decode_hello(hello.payload());
  wire::Fields fields = said_by.fields;
  // The loader tells of a collector that is newer than we are.
  if (!said_by.whole && said_by.version <= wire::version) return end_stream(connection, nameless);
  const std::int64_t said = said_by.process_id();
  if (is_id_of(connection.peer.pid, said)) {
    connection.process_id = said;
  } else {
    connection.renamed = true;
    tell_user(connection.process_id,
              "it says that it is process " + std::to_string(said) + ", which is not so");
    fields = with_process_id(fields, connection.process_id);
    wire::Encoder encoder;
    encoder.integer(said_by.version).fields(fields);
    hello = wire::make_frame(wire::FrameType::hello, connection.stream, encoder.bytes());
  }
  connection.said_hello = true;
  connection.role = said_by.role();
  if (connection.role == wire::Role::target) {
    seen_.fetch_add(1);
    const std::lock_guard lock(mutex_);
    active_processes_.push_back(connection.process_id);
  }
  wire::Fields answer = options_.config;
  if (options_.config_for && connection.role == wire::Role::target) {
    for (const auto& [name, value] : options_.config_for(connection.stream, fields)) {
      answer.set(name, value);
    }
  }
  connection.measured = !answer.text("metrics").empty();
  send_config(connection.socket, answer);
  collectors_->add(connection.stream, connection.socket);
  if (connection.role == wire::Role::sampler && samplers_to_end_.load()) {
    tell(connection.stream, stop_request());
  }
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
    if (connection.arena_missing || connection.broken) {
      return push_statistics(connection, std::array<wire::Statistic, 1>{{{"", "stream_cut", 1}}});
    }
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
  tell_user(connection.process_id, "it was cut off before anything was recorded");
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
  conclude(*connection, [&] {
    if (connection->salvage) {
      const std::string problem =
          connection->broken ? not_to_the_end : connection->salvage->problem();
      if (!problem.empty()) count_unsalvaged(*connection, problem);
    } else {
      const bool arena = !connection->gave_up && connection->arena >= 0;
      if (arena && !connection->lingers && linger(*connection)) {
        return connections_.push_back(std::move(connection));
      }
      account(*connection, false);
      if (arena && start_salvage(*connection)) return;
    }
    push_end(*connection);
  });
}

// Does what there is to do when a stream is over, as far as there is memory for it.
void Listener::conclude(const Connection& connection, const std::function<void()>& what) {
  const std::int64_t process_id = connection.process_id;
  try {
    what();
  } catch (const std::exception&) {
    unaccounted_.fetch_add(1);
    const std::lock_guard lock(mutex_);
    std::erase(active_processes_, process_id);
  }
}

void Listener::count_unsalvaged(Connection& connection, const std::string& problem) {
  explain(connection, "salvage_failed", problem);
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
  salvage->renamed = connection.renamed;
  salvage->refused = connection.refused;
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
  std::vector<wire::Statistic> statistics;
  if (connection.refused > 0) statistics.push_back({"", "frames_malformed", connection.refused});
  if (connection.renamed) statistics.push_back({"", "process_id_replaced", 1});
  wire::Encoder encoder;
  if (!statistics.empty()) wire::encode(encoder, statistics);
  queue_.push(wire::make_frame(wire::FrameType::stream_end, connection.stream, encoder.bytes()));
}

}  // namespace gpuprof::launch
