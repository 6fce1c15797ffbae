#include "libprof/record/launch/end_requests.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/eventfd.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <string_view>

#include "libprof/base/error.hpp"
#include "libprof/base/temporary_folder.hpp"

namespace gpuprof::launch {
namespace {

constexpr int writing_ms = 500;
constexpr int ending_ms = 350;

// Another thread may be in the middle of a line, or be blocked by a reader that does not read: so
// take no lock, and skip the text if it cannot be written.
void say(std::string_view text) {
  pollfd room{STDERR_FILENO, POLLOUT, 0};
  if (poll(&room, 1, 0) != 1 || !(room.revents & POLLOUT)) return;
  [[maybe_unused]] const ssize_t written = write(STDERR_FILENO, text.data(), text.size());
}

}  // namespace

EndRequests::EndRequests(bool quiet) : quiet_(quiet) {
  sigset_t ours;
  sigemptyset(&ours);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&ours, signal);
  signals_ = signalfd(-1, &ours, SFD_CLOEXEC | SFD_NONBLOCK);
  stop_ = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
  if (signals_ < 0 || stop_ < 0) {
    throw Error(std::string("no descriptor for signals: ") + std::strerror(errno));
  }
}

EndRequests::~EndRequests() {
  leave();
  close(signals_);
  close(stop_);
}

void EndRequests::listen(int ends) {
  leave();
  ends_.store(asked_.load() + ends);
  thread_ = std::thread([this] { run(); });
}

void EndRequests::leave() {
  if (!thread_.joinable()) return;
  std::uint64_t one = 1;
  [[maybe_unused]] ssize_t done = write(stop_, &one, sizeof one);
  thread_.join();
  done = read(stop_, &one, sizeof one);
}

void EndRequests::run() {
  while (true) {
    pollfd waiting[] = {{signals_, POLLIN, 0}, {stop_, POLLIN, 0}};
    int patience_ms = -1;
    if (hurried_.load()) patience_ms = overdue_.load() ? ending_ms : writing_ms;
    const int ready = poll(waiting, 2, patience_ms);
    if (ready == 0) {
      if (overdue_.load()) end();
      overdue_.store(true);
    }
    if (waiting[1].revents) return;
    signalfd_siginfo taken{};
    if (ready <= 0 || read(signals_, &taken, sizeof taken) != sizeof taken) continue;
    signal_.store(static_cast<int>(taken.ssi_signo));
    const int asked = asked_.fetch_add(1) + 1;
    if (asked < ends_.load()) {
      if (!quiet_) say("gpuprof: writing what was recorded (Ctrl-C: no longer)\n");
    } else if (!hurried_.exchange(true)) {
      if (!quiet_) say("gpuprof: ends now; what is not written by then is left out\n");
    } else {
      end();
    }
  }
}

void EndRequests::end() {
  TemporaryFolder::remove_all();
  _exit(exit_code());
}

}  // namespace gpuprof::launch
