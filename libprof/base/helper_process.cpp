#include "libprof/base/helper_process.hpp"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <system_error>
#include <thread>

#include "libprof/base/error.hpp"

extern char** environ;

namespace gpuprof {
namespace {

using std::chrono::milliseconds;

// Our descriptors are moved here first: dup2 onto the same number would leave it close-on-exec, and
// onto another descriptor's number would close that one.
constexpr int out_of_the_way = 16;
constexpr std::size_t most_output = 1 << 20;

// Duplicated descriptors, closed by the destructor.
class Moved {
 public:
  ~Moved() {
    for (const int file : files_) close(file);
  }
  // -1: no descriptors are left.
  int move(int file) {
    const int moved = fcntl(file, F_DUPFD_CLOEXEC, out_of_the_way);
    if (moved >= 0) files_.push_back(moved);
    return moved;
  }

 private:
  std::vector<int> files_;
};

[[noreturn]] void fail(const std::string& program, int error) {
  throw Error(program + ": " + std::strerror(error));
}

}  // namespace

HelperProcess::HelperProcess(const std::string& program, const std::vector<std::string>& arguments,
                             const std::vector<File>& files, milliseconds limit)
    : deadline_(Clock::now() + limit) {
  std::vector<char*> words{const_cast<char*>(program.c_str())};
  for (const std::string& argument : arguments) {
    words.push_back(const_cast<char*>(argument.c_str()));
  }
  words.push_back(nullptr);

  Moved moved;
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  for (int standard = 0; standard < 3; ++standard) {
    posix_spawn_file_actions_addopen(&actions, standard, "/dev/null", O_RDWR, 0);
  }
  int error = 0;
  for (const File& file : files) {
    const int ours = moved.move(file.ours);
    if (ours < 0) error = errno;
    posix_spawn_file_actions_adddup2(&actions, ours, file.theirs);
  }
  posix_spawnattr_t attributes;
  posix_spawnattr_init(&attributes);
  posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
  posix_spawnattr_setpgroup(&attributes, 0);
  if (!error) {
    error = posix_spawn(&process_, program.c_str(), &actions, &attributes, words.data(), environ);
  }
  posix_spawnattr_destroy(&attributes);
  posix_spawn_file_actions_destroy(&actions);
  if (error) {
    process_ = -1;
    fail(program, error);
  }
  watch_ = static_cast<int>(syscall(SYS_pidfd_open, process_, 0));
}

HelperProcess::~HelperProcess() {
  kill();
  for (int attempt = 0; attempt < 20 && !ended(); ++attempt) {
    std::this_thread::sleep_for(milliseconds(5));
  }
  if (watch_ >= 0) close(watch_);
  if (status_) return;
  // A large process takes long to die. Somebody has to wait for it, or it remains as a zombie.
  try {
    std::thread([process = process_] { waitpid(process, nullptr, 0); }).detach();
  } catch (const std::system_error&) {
  }
}

bool HelperProcess::ended() {
  if (status_) return true;
  siginfo_t info{};
  if (waitid(P_PID, static_cast<id_t>(process_), &info, WEXITED | WNOHANG | WNOWAIT) != 0) {
    if (errno == EINTR) return false;
    status_ = SIGKILL;  // somebody else reaped it: status unknown
    return true;
  }
  if (info.si_pid != process_) return false;
  // Kill what it started too. The group keeps its number until the process is reaped.
  ::kill(-process_, SIGKILL);
  int status = 0;
  waitpid(process_, &status, 0);
  status_ = status;
  return true;
}

void HelperProcess::kill() {
  if (!ended()) ::kill(-process_, SIGKILL);
}

HelperOutput run_helper(const std::string& program, const std::vector<std::string>& arguments,
                        milliseconds limit, const std::function<bool()>& interrupted) {
  std::array<std::array<int, 2>, 2> pipes{{{-1, -1}, {-1, -1}}};
  const auto close_end = [](int& file) {
    if (file >= 0) close(file);
    file = -1;
  };
  const auto close_all = [&] {
    for (auto& ends : pipes) {
      for (int& file : ends) close_end(file);
    }
  };
  for (auto& ends : pipes) {
    if (pipe2(ends.data(), O_CLOEXEC | O_NONBLOCK) != 0) {
      const int error = errno;
      close_all();
      fail("pipe", error);
    }
    // Only our ends are non-blocking: the program expects ordinary pipes.
    fcntl(ends[1], F_SETFL, fcntl(ends[1], F_GETFL) & ~O_NONBLOCK);
  }
  std::optional<HelperProcess> helper;
  try {
    helper.emplace(program, arguments,
                   std::vector<HelperProcess::File>{{pipes[0][1], 1}, {pipes[1][1], 2}}, limit);
  } catch (...) {
    close_all();
    throw;
  }
  HelperOutput output;
  const std::array<std::string*, 2> texts{&output.out, &output.err};
  for (auto& ends : pipes) close_end(ends[1]);
  constexpr int step_ms = 100;
  while (pipes[0][0] >= 0 || pipes[1][0] >= 0 || !helper->ended()) {
    if (helper->overdue()) output.end = HelperOutput::End::overdue;
    if (interrupted && interrupted()) output.end = HelperOutput::End::interrupted;
    if (output.end != HelperOutput::End::by_itself) break;
    std::array<pollfd, 3> waiting{pollfd{pipes[0][0], POLLIN, 0}, pollfd{pipes[1][0], POLLIN, 0},
                                  pollfd{helper->ended() ? -1 : helper->watch(), POLLIN, 0}};
    poll(waiting.data(), waiting.size(), step_ms);
    for (std::size_t i = 0; i < texts.size(); ++i) {
      if (!waiting[i].revents) continue;
      char piece[4096];
      const ssize_t got = read(pipes[i][0], piece, sizeof piece);
      if (got > 0) {
        const std::size_t room = most_output - texts[i]->size();
        texts[i]->append(piece, std::min(room, static_cast<std::size_t>(got)));
      } else if (got == 0 || (errno != EAGAIN && errno != EINTR)) {
        close_end(pipes[i][0]);
      }
    }
  }
  output.status = helper->status().value_or(0);
  close_all();
  return output;
}

}  // namespace gpuprof
