#include "apps/gpuprof/run/viewer.hpp"

#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

#include <chrono>
#include <thread>

#include "libprof/base/error.hpp"
#include "libprof/base/file_name.hpp"

namespace gpuprof::app {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::seconds patience{5};  // for the file

}  // namespace

Viewer::Viewer(const std::string& output, Log& log)
    : path_(expand_name(output, getpid())), log_(log) {
  if (names_process(output)) {
    throw Error("--view shows one file, and %p makes one for each process", "leave %p out",
                ExitCode::bad_option);
  }
  struct stat facts {};
  if (stat(path_.c_str(), &facts) != 0) return;
  device_ = facts.st_dev;
  inode_ = facts.st_ino;
}

bool Viewer::is_there() const {
  struct stat facts {};
  return stat(path_.c_str(), &facts) == 0 && facts.st_size > 0 &&
         (facts.st_dev != device_ || facts.st_ino != inode_);
}

void Viewer::start() {
  const auto until = Clock::now() + patience;
  while (!is_there()) {
    if (Clock::now() >= until) return log_.say("nothing is shown: there is no file yet");
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  try {
    // Its messages must not get into the program's output.
    process_ = std::make_unique<HelperProcess>(
        "/proc/self/exe",
        std::vector<std::string>{"view", "--live", "--end-with-parent", "--", path_},
        std::vector<HelperProcess::File>{{STDERR_FILENO, 1}, {STDERR_FILENO, 2}},
        std::chrono::hours(24 * 365));
  } catch (const Error& error) {
    log_.say(std::string("nothing is shown: ") + error.what());
  }
}

void Viewer::wait(launch::EndRequests& ends) {
  if (!process_ || process_->ended()) return;
  ends.leave();
  sigset_t asked;
  sigemptyset(&asked);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP, SIGQUIT}) sigaddset(&asked, signal);
  const timespec step{.tv_sec = 0, .tv_nsec = 100'000'000};
  log_.say("the run is over and still shown (Ctrl-C ends that)");
  while (!process_->ended() && sigtimedwait(&asked, nullptr, &step) < 0) continue;
  process_.reset();
}

}  // namespace gpuprof::app
