#include "apps/gpuprof/command/progress.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "libprof/base/error.hpp"
#include "libprof/base/temporary_folder.hpp"

namespace gpuprof::app {
namespace {

constexpr int patience_ms = 700;

volatile sig_atomic_t last_signal = 0;
volatile sig_atomic_t woken = -1;  // the descriptor

void wake(int file) {
  const std::uint64_t one = 1;
  [[maybe_unused]] const ssize_t written = write(file, &one, sizeof one);
}

void take(int signal_number) {
  const int before = errno;
  last_signal = signal_number;
  wake(woken);
  errno = before;
}

// Whether the file becomes readable within that time; -1: no limit.
bool wait_for(int file, int time_ms) {
  pollfd waiting{file, POLLIN, 0};
  int ready = 0;
  while ((ready = poll(&waiting, 1, time_ms)) < 0 && errno == EINTR) continue;
  return ready > 0;
}

}  // namespace

ProgressLine::ProgressLine()
    : terminal_(isatty(2) == 1), began_(std::chrono::steady_clock::now()) {}

void ProgressLine::show(std::string_view what) {
  using namespace std::chrono_literals;
  if (!terminal_ || what == shown_ || std::chrono::steady_clock::now() - began_ < 1s) return;
  std::fprintf(stderr, "\r\033[K%.*s ...", static_cast<int>(what.size()), what.data());
  shown_ = what;
}

void ProgressLine::clear() {
  if (!shown_.empty()) std::fputs("\r\033[K", stderr);
  shown_.clear();
}

Progress::Progress() : wake_(eventfd(0, EFD_CLOEXEC)) {
  if (wake_ < 0) throw Error(std::string("no descriptor for signals: ") + std::strerror(errno));
  last_signal = 0;
  woken = wake_;
  // Signals must go to the threads that they can interrupt, so the watcher blocks them.
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  watcher_ = std::thread([this] { watch(); });
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  struct sigaction once {};
  once.sa_handler = take;
  once.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
  sigaction(SIGINT, &once, nullptr);
  sigaction(SIGTERM, &once, nullptr);
}

Progress::~Progress() {
  signal(SIGINT, SIG_DFL);
  signal(SIGTERM, SIG_DFL);
  over_.store(true);
  wake(wake_);
  watcher_.join();
  close(wake_);
}

void Progress::watch() const {
  std::uint64_t count = 0;
  while (!over_.load()) {
    wait_for(wake_, -1);
    if (over_.load() || read(wake_, &count, sizeof count) != sizeof count) return;
    if (!is_interrupted() || waits_.load() || wait_for(wake_, patience_ms) || waits_.load()) {
      continue;
    }
    TemporaryFolder::remove_all();
    _exit(128 + interrupted());
  }
}

int Progress::interrupted() { return last_signal; }

int code_of_interrupted(const store::DatabaseError& error) {
  if (error.kind() != store::DatabaseError::Kind::interrupted) throw;
  return 128 + Progress::interrupted();
}

}  // namespace gpuprof::app
