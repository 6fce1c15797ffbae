#include "libprof/names/demangler.hpp"

#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <future>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>
#include <vector>

// Otherwise libiberty declares basename() in a way that contradicts <cstring>.
#define HAVE_DECL_BASENAME 1
#include <libiberty/demangle.h>

namespace gpuprof {
namespace {

// A batch fits in a socket's buffer, so neither end waits for the other to read. A longer name is
// sent alone.
constexpr std::size_t batch_bytes = std::size_t{32} << 10;
constexpr std::size_t batch_names = 64;

enum class Outcome : std::uint32_t { readable, no_mangled_name, gave_up };

// Precedes each text that the child sends. The child receives lengths and names.
struct ReplyHeader {
  Outcome outcome;
  std::uint32_t length;
};

// --- the child

constexpr int child_socket = 0;

void keep_only(int socket) {
  dup2(socket, child_socket);
  if (syscall(SYS_close_range, child_socket + 1, ~0u, 0) == 0) return;
  const auto most = static_cast<int>(std::min(sysconf(_SC_OPEN_MAX), 1L << 16));
  for (int file = child_socket + 1; file < most; ++file) close(file);
}

void limit_memory(std::size_t more) {
  char text[32] = {};
  const int file = open("/proc/self/statm", O_RDONLY);
  const ssize_t length = file >= 0 ? read(file, text, sizeof text - 1) : 0;
  if (file >= 0) close(file);
  if (length <= 0) return;
  const rlim_t now = std::strtoull(text, nullptr, 10) * static_cast<rlim_t>(sysconf(_SC_PAGESIZE));
  const rlimit limit{now + more, now + more};
  setrlimit(RLIMIT_AS, &limit);
}

// SIGPROF kills a process by default. 0 ms: no limit.
void limit_time(int ms) {
  const itimerval time{{0, 0}, {ms / 1000, ms % 1000 * 1000}};
  setitimer(ITIMER_PROF, &time, nullptr);
}

void read_whole(char* bytes, std::size_t count) {
  while (count > 0) {
    const ssize_t got = recv(child_socket, bytes, count, 0);
    if (got <= 0) _exit(0);
    bytes += got;
    count -= static_cast<std::size_t>(got);
  }
}

void reply(Outcome outcome, std::string_view text) {
  ReplyHeader header{outcome, static_cast<std::uint32_t>(text.size())};
  iovec pieces[] = {{&header, sizeof header}, {const_cast<char*>(text.data()), text.size()}};
  iovec* first = pieces;
  while (first < pieces + 2) {
    const ssize_t written = writev(child_socket, first, static_cast<int>(pieces + 2 - first));
    if (written < 0) _exit(0);
    auto done = static_cast<std::size_t>(written);
    while (first < pieces + 2 && done >= first->iov_len) done -= first++->iov_len;
    if (first == pieces + 2) break;
    first->iov_base = static_cast<char*>(first->iov_base) + done;
    first->iov_len -= done;
  }
}

// Allocated before the fork: a child that allocates could wait for a lock held by a thread that it
// does not have.
struct Room {
  explicit Room(const Demangler::Limits& limits)
      : name(limits.name_bytes + 1), text(limits.text_bytes) {}
  std::vector<char> name;
  std::vector<char> text;
  std::size_t length = 0;  // of the text so far
  jmp_buf too_long;
};

void add_text(const char* piece, std::size_t length, void* of) {
  Room& room = *static_cast<Room*>(of);
  if (length > room.text.size() - room.length) longjmp(room.too_long, 1);
  std::memcpy(room.text.data() + room.length, piece, length);
  room.length += length;
}

Outcome demangle(Room& room) {
  room.length = 0;
  // The frames between here and add_text() have nothing to destroy.
  if (setjmp(room.too_long) != 0) return Outcome::gave_up;
  return cplus_demangle_v3_callback(room.name.data(), DMGL_PARAMS | DMGL_TYPES, add_text, &room)
             ? Outcome::readable
             : Outcome::no_mangled_name;
}

[[noreturn]] void be_the_child(int socket, pid_t parent, const Demangler::Limits& limits,
                               Room& room) noexcept {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(0);
  prctl(PR_SET_NAME, "gpuprof-names");
  keep_only(socket);
  const rlimit no_core{0, 0};
  setrlimit(RLIMIT_CORE, &no_core);
  limit_memory(limits.memory_bytes);
  // All other signals stay blocked, as in the thread that forked.
  signal(SIGPROF, SIG_DFL);
  sigset_t out_of_time;
  sigemptyset(&out_of_time);
  sigaddset(&out_of_time, SIGPROF);
  pthread_sigmask(SIG_UNBLOCK, &out_of_time, nullptr);

  while (true) {
    std::uint32_t length = 0;
    read_whole(reinterpret_cast<char*>(&length), sizeof length);
    if (length >= room.name.size()) _exit(0);
    read_whole(room.name.data(), length);
    room.name[length] = '\0';
    limit_time(limits.name_ms);
    const Outcome outcome = demangle(room);
    limit_time(0);
    const std::size_t readable = outcome == Outcome::readable ? room.length : 0;
    reply(outcome, {room.text.data(), readable});
  }
}

}  // namespace

bool is_mangled(std::string_view name) {
  return name.starts_with("_Z") && name.find('\0') == name.npos;
}

Demangler& Demangler::shared() {
  static Demangler* const demangler = new Demangler;
  return *demangler;
}

Demangler::~Demangler() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
  if (socket_ >= 0) lose_child();
}

// --- on the asking threads

void Demangler::ask(std::string name, Answer answer) {
  std::optional<Readable> known;
  if (!is_mangled(name)) {
    known = Readable{.text = name};
  } else if (name.size() > limits_.name_bytes) {
    known = Readable{.text = name, .gave_up = true};
  } else {
    const std::lock_guard lock(mutex_);
    const auto found = cache_.find(name);
    if (found != cache_.end()) {
      known = found->second;
    } else if (!start()) {
      known = Readable{.text = name, .gave_up = true};
    } else {
      asked_.push_back({std::move(name), std::move(answer)});
    }
  }
  known ? answer(*known) : changed_.notify_all();
}

Readable Demangler::now(std::string name) {
  const auto answer = std::make_shared<std::promise<Readable>>();
  ask(std::move(name), [answer](const Readable& readable) { answer->set_value(readable); });
  return answer->get_future().get();
}

bool Demangler::start() {
  if (thread_.joinable()) return true;
  // Neither this thread nor the child should receive the process's signals.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  try {
    thread_ = std::thread([this] { run(); });
  } catch (const std::system_error&) {
  }
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  return thread_.joinable();
}

// --- on the demangler's thread

void Demangler::run() {
  std::deque<Request> batch;
  while (true) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stopping_ || !asked_.empty(); });
      if (stopping_) return;
      std::size_t bytes = 0;
      while (!asked_.empty() && batch.size() < batch_names) {
        bytes += sizeof(std::uint32_t) + asked_.front().name.size();
        if (bytes > batch_bytes && !batch.empty()) break;
        batch.push_back(std::move(asked_.front()));
        asked_.pop_front();
      }
    }
    work_off(batch);
  }
}

void Demangler::work_off(std::deque<Request>& batch) {
  while (!batch.empty()) {
    if (lost_ >= limits_.most_lost || (socket_ < 0 && !spawn())) {
      answer(batch, {.text = batch.front().name, .gave_up = true}, false);
      continue;
    }
    bool alive = send(batch);
    while (alive && !batch.empty()) {
      Readable readable;
      alive = receive(readable);
      if (!readable.changed) readable.text = batch.front().name;
      if (alive) answer(batch, readable, true);
    }
    if (alive) return;
    // It failed on the first of the remaining names.
    lose_child();
    answer(batch, {.text = batch.front().name, .gave_up = true}, true);
  }
}

void Demangler::answer(std::deque<Request>& batch, const Readable& readable, bool keep) {
  Request request = std::move(batch.front());
  batch.pop_front();
  if (keep) {
    const std::lock_guard lock(mutex_);
    const std::size_t bytes = request.name.size() + readable.text.size();
    if (cached_bytes_ + bytes > limits_.cache_bytes) {
      cache_.clear();
      cached_bytes_ = 0;
    }
    cached_bytes_ += bytes;
    cache_[request.name] = readable;
  }
  request.answer(readable);
}

bool Demangler::spawn() {
  int ends[2];
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) {
    ++lost_;
    return false;
  }
  const timeval patience{limits_.patience_ms / 1000, limits_.patience_ms % 1000 * 1000};
  setsockopt(ends[0], SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
  const pid_t parent = getpid();
  Room room(limits_);
  child_ = fork();
  if (child_ == 0) be_the_child(ends[1], parent, limits_, room);
  close(ends[1]);
  socket_ = ends[0];
  if (child_ < 0) lose_child();
  return child_ > 0;
}

void Demangler::lose_child() {
  ++lost_;
  close(std::exchange(socket_, -1));
  if (child_ < 0) return;
  kill(child_, SIGKILL);
  waitpid(child_, nullptr, 0);
}

bool Demangler::send(const std::deque<Request>& batch) {
  std::string bytes;
  for (const Request& request : batch) {
    const auto length = static_cast<std::uint32_t>(request.name.size());
    bytes.append(reinterpret_cast<const char*>(&length), sizeof length).append(request.name);
  }
  std::string_view left = bytes;
  while (!left.empty()) {
    const ssize_t sent = ::send(socket_, left.data(), left.size(), MSG_NOSIGNAL);
    if (sent < 0) return false;
    left.remove_prefix(static_cast<std::size_t>(sent));
  }
  return true;
}

bool Demangler::receive(Readable& readable) {
  ReplyHeader header{};
  if (!receive(&header, sizeof header) || header.length > limits_.text_bytes) return false;
  readable.text.resize(header.length);
  readable.changed = header.outcome == Outcome::readable;
  readable.gave_up = header.outcome == Outcome::gave_up;
  return receive(readable.text.data(), header.length);
}

bool Demangler::receive(void* bytes, std::size_t count) {
  auto* to = static_cast<char*>(bytes);
  while (count > 0) {
    pollfd answered{socket_, POLLIN, 0};
    const int ready = poll(&answered, 1, limits_.patience_ms);
    if (ready < 0 && errno == EINTR) continue;
    if (ready <= 0) return false;
    const ssize_t got = recv(socket_, to, count, 0);
    if (got <= 0) return false;
    to += got;
    count -= static_cast<std::size_t>(got);
  }
  return true;
}

}  // namespace gpuprof
