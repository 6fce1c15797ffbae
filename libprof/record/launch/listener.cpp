#include "libprof/record/launch/listener.hpp"

#include <sys/eventfd.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <new>
#include <sstream>
#include <utility>

#include "libprof/base/error.hpp"
#include "libprof/record/launch/salvage_process.hpp"
#include "libprof/record/launch/spare_descriptors.hpp"
#include "libprof/wire/ledger.hpp"
#include "libprof/wire/limits.hpp"
#include "libprof/wire/messages.hpp"
#include "libprof/wire/sampling.hpp"

namespace gpuprof::launch {
namespace {

using Clock = Acceptor::Clock;

constexpr std::string_view nameless = "it does not say which process it is";
constexpr std::size_t most_deaths = 100;  // that nobody has asked about
constexpr const char* not_to_the_end = "the buffers it left behind are not read to the end";

wire::Fields with_process_id(const wire::Fields& hello, std::int64_t process_id) {
  wire::Fields fields;
  fields.set("process_id", process_id);
  for (const auto& [name, value] : hello) {
    if (name != "process_id") fields.set(name, value);
  }
  return fields;
}

// The candidates that are paths, not names for the loader to look up.
std::vector<std::string> paths_in(std::string_view candidates) {
  std::vector<std::string> paths;
  std::istringstream lines{std::string(candidates)};
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with('/')) paths.push_back(std::move(line));
  }
  return paths;
}

wire::Fields trace_request(bool on) {
  wire::Fields fields;
  fields.set("trace", on ? "on" : "off");
  return fields;
}

// Tells a sampler that there is nothing more to sample.
wire::Fields stop_request() {
  wire::Fields fields;
  fields.set(wire::stop_field, std::int64_t{1});
  return fields;
}

bool ended_in_order(const Connection& connection) {
  if (connection.said_goodbye || connection.arena < 0) return connection.said_goodbye;
  const auto ledger = wire::read_ledger(connection.arena);
  return ledger && ledger->ended;
}

}  // namespace

Listener::Listener(Options options, FrameQueue& queue)
    : options_(std::move(options)),
      queue_(queue),
      accounts_(queue, options_.message),
      acceptor_(
          options_.config,
          [this](std::int64_t process_id, std::string_view why) {
            accounts_.tell_user(process_id, why);
          },
          options_.folder),
      wake_(eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK)),
      collectors_(std::make_shared<Collectors>()) {
  if (wake_ < 0)
    throw Error(std::string("no descriptor to wake the listener by: ") + std::strerror(errno));
  thread_ = std::thread([this] {
    run();
    settled_.store(~std::uint64_t{0});  // nobody is waited for any more
    settled_.notify_all();
  });
}

Listener::~Listener() {
  stop(true);
  if (thread_.joinable()) thread_.join();
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

void Listener::run() {
  std::vector<pollfd> waiting;
  while (true) {
    try {
      if (!turn(waiting)) return;
    } catch (const std::exception&) {
      // Even waiting failed, for lack of memory. That may pass.
      std::this_thread::sleep_for(Acceptor::rest);
    }
  }
}

bool Listener::turn(std::vector<pollfd>& waiting) {
  if (abandoning_.load()) abandon();
  const std::uint64_t asked = settle_asked_.load();
  if (settled_.load() != asked) {
    acceptor_.accept_all(connections_);
    count_active();
    settled_.store(asked);
    settled_.notify_all();
  }
  count_active();
  if (samplers_to_end_.load() && !samplers_told_) tell_samplers();
  if (stopping_.load() && connections_.empty()) return false;

  const int accepting = acceptor_.watched();
  waiting.assign(1, {wake_, POLLIN, 0});
  waiting.push_back({stopping_.load() ? -1 : accepting, POLLIN, 0});
  for (const auto& connection : connections_) {
    waiting.push_back({connection->watched(), POLLIN, 0});
  }
  if (poll(waiting.data(), waiting.size(), patience_ms()) < 0 && errno != EINTR) return false;
  if (waiting[0].revents) {
    std::uint64_t count;
    [[maybe_unused]] const ssize_t got = read(wake_, &count, sizeof count);
  }
  // New connections are appended after those that were polled.
  const std::size_t polled = waiting.size() - 2;
  if (waiting[1].revents) {
    acceptor_.accept_one(connections_);
    count_active();
  }
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
    accounts_.conclude(*connection, [&] {
      if (connection->said_hello && !connection->salvage) accounts_.add_losses(*connection, true);
      if (connection->salvage) accounts_.add_unsalvaged(*connection, not_to_the_end);
      accounts_.end(*connection);
    });
  }
  connections_.clear();
}

void Listener::settle() {
  const std::uint64_t mine = settle_asked_.fetch_add(1) + 1;
  wake();
  for (std::uint64_t now = settled_.load(); now < mine; now = settled_.load()) settled_.wait(now);
}

// How long to sleep if nothing comes. -1: forever.
int Listener::patience_ms() const {
  auto next = acceptor_.rests_until().value_or(Clock::time_point::max());
  for (const auto& connection : connections_) {
    if (connection->salvage) next = std::min(next, connection->salvage->next_look());
  }
  if (next == Clock::time_point::max()) return -1;
  const auto left = std::chrono::ceil<std::chrono::milliseconds>(next - Clock::now());
  return static_cast<int>(std::clamp<std::int64_t>(left.count(), 0, 60'000));
}

// Handles received data. false: the connection is over.
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

// Nothing more is read from it. Its end has yet to be reported.
void Listener::end_stream(Connection& connection, std::string_view why) {
  connection.broken = true;
  connection.frames = wire::FrameAssembler();
  accounts_.explain(connection, "stream_cut", why);
}

bool Listener::receive(Connection& connection) {
  // A few frames, then it is the others' turn.
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
    // Room for one descriptor: with the rounding of CMSG_SPACE there would be room for two.
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

// Takes an arena. The kernel closes any further descriptors in a message.
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
    accounts_.tell_user(
        connection.process_id,
        "gpuprof has too many files open (ulimit -n): what is in its buffers when it ends "
        "will be lost");
  }
}

// If incomplete frames together hold too much, ends the stream that holds most.
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
    end_stream(*most, "its frames are so long that there is no room for their ends");
  }
}

void Listener::take(Connection& connection, wire::Frame frame) {
  using wire::FrameType;
  frame.stream = connection.stream;
  const bool of_process = frame.type == FrameType::hello || frame.type == FrameType::arena ||
                          frame.type == FrameType::question || frame.type == FrameType::goodbye;
  // A sampler sends rows of our tables; the loader knows which ones it may.
  const bool of_launcher =
      wire::is_launchers(frame.type) &&
      !(frame.type == FrameType::rows && connection.role == wire::Role::sampler);
  if (of_launcher || (connection.salvage && of_process) ||
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
      if (options_.attached && fields.find("attached")) options_.attached(connection.stream);
      if (fields.find("controlled")) {
        collectors_->answered(connection.stream, fields.integer("controlled"));
      }
      connection.detached |= fields.find("detached").has_value();
      for (const auto& [name, text] : fields) {
        if (options_.metrics_notice && name.starts_with("metrics_")) {
          options_.metrics_notice(connection.process_id, name, text);
        }
        if (options_.sampler_notice && connection.role == wire::Role::sampler) {
          options_.sampler_notice(name, text);
        }
      }
      break;
    }
    case wire::FrameType::batch: connection.came(frame.payload()); break;
    case wire::FrameType::batch_part: connection.came_in_part(frame.payload()); break;
    case wire::FrameType::question: return take_question(connection, frame);
    case wire::FrameType::goodbye: connection.said_goodbye = true; break;
    default: break;
  }
  queue_.push(std::move(frame));
}

void Listener::answer_hello(Connection& connection, wire::Frame& hello) {
  const wire::Hello said_by = wire::decode_hello(hello.payload());
  wire::Fields fields = said_by.fields;
  // The loader reports a collector that is newer than we are.
  if (!said_by.whole && said_by.version <= wire::version) return end_stream(connection, nameless);
  const std::int64_t said = said_by.process_id();
  if (!connection.take_id(said)) {
    accounts_.tell_user(connection.process_id,
                        "it says that it is process " + std::to_string(said) + ", which is not so");
    fields = with_process_id(fields, connection.process_id);
    wire::Encoder encoder;
    encoder.integer(said_by.version).fields(fields);
    hello = wire::make_frame(wire::FrameType::hello, connection.stream, encoder.bytes());
  }
  connection.said_hello = true;
  connection.role = said_by.role();
  if (connection.role == wire::Role::target) {
    accounts_.began(connection.process_id, connection.peer.pid);
    if (options_.connected)
      options_.connected(connection.stream, connection.process_id, connection.peer.pid);
  }
  const bool sampler = connection.role == wire::Role::sampler;
  const std::optional<bool> traces = traces_.load();
  wire::Fields answer;
  if (traces) answer.set("from_start", std::int64_t{*traces});  // before that of the config
  for (const auto& [name, value] : sampler ? options_.sampler_config : options_.config) {
    answer.set(name, value);
  }
  if (options_.config_for && !sampler) {
    for (const auto& [name, value] : options_.config_for(connection.stream, fields)) {
      answer.set(name, value);
    }
  }
  connection.measured = !answer.text("metrics").empty();
  send_config(connection.socket, answer);
  collectors_->add(connection.stream, connection.socket, !sampler);
  // Nobody else tells it what was changed meanwhile.
  if (const auto now = traces_.load(); now && now != traces) {
    tell(connection.stream, trace_request(*now));
  }
  if (sampler && samplers_to_end_.load()) {
    tell(connection.stream, stop_request());
  }
}

void Listener::take_question(Connection& connection, const wire::Frame& question) {
  constexpr std::uint64_t longest = 80 << 10;  // a name of 64 KiB, and some overhead
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

Collectors::Asked Listener::ask_targets(std::optional<bool> trace,
                                        std::chrono::milliseconds patience) {
  if (trace) traces_.store(trace);
  return collectors_->ask(trace ? trace_request(*trace) : wire::Fields(), patience);
}

void Listener::over(std::unique_ptr<Connection> connection) {
  if (!connection->said_hello) return accounts_.add_silent(*connection);
  if (!connection->status) connection->status = status_of_ending(connection->peer.pid);
  accounts_.conclude(*connection, [&] {
    if (connection->salvage) {
      const std::string problem =
          connection->broken ? not_to_the_end : connection->salvage->problem();
      if (!problem.empty()) accounts_.add_unsalvaged(*connection, problem);
    } else {
      const bool arena = !connection->gave_up && !connection->detached && connection->arena >= 0;
      if (arena && !connection->lingers && connection->linger()) {
        return connections_.push_back(std::move(connection));
      }
      accounts_.add_losses(*connection, false);
      connection->orderly = ended_in_order(*connection);
      if (arena && start_salvage(*connection)) return;
    }
    accounts_.end(*connection);
    note_death(*connection);
  });
}

void Listener::note_death(const Connection& connection) {
  if (connection.role != wire::Role::target || connection.detached) return;
  auto death = death_of(connection.process_id, connection.status, connection.orderly);
  if (!death) return;
  const std::lock_guard lock(dying_);
  if (deaths_.size() < most_deaths) deaths_.push_back(std::move(*death));
}

std::vector<Death> Listener::take_deaths() {
  const std::lock_guard lock(dying_);
  return std::exchange(deaths_, {});
}

// false: there is nothing to salvage, or it is impossible, which was reported.
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
    accounts_.add_unsalvaged(connection, "the buffers it left behind cannot be read");
    return false;
  }
  connections_.push_back(std::make_unique<Connection>(connection, std::move(process)));
  return true;
}

}  // namespace gpuprof::launch
