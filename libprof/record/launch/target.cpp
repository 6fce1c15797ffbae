#include "libprof/record/launch/target.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <sstream>

#include "libprof/base/error.hpp"

extern char** environ;

namespace gpuprof::launch {
namespace {

constexpr int passed_on[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH, SIGALRM};

// A terminal signals the whole foreground group, so the target already has the signal.
bool from_terminal(const siginfo_t& info) { return info.si_code == SI_KERNEL; }

timespec in_ms(int count) { return {count / 1000, (count % 1000) * 1'000'000L}; }

// "NAME=value": the variables in `more` replace ours of the same name.
std::vector<std::string> merged_environment(const std::vector<std::string>& more) {
  std::vector<std::string> merged = more;
  for (char** variable = environ; *variable; ++variable) {
    const std::string_view text(*variable);
    const std::string_view name = text.substr(0, text.find('=') + 1);
    bool replaced = false;
    for (const std::string& ours : more) replaced |= ours.starts_with(name);
    if (!replaced) merged.emplace_back(text);
  }
  return merged;
}

std::vector<char*> pointers(const std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (const std::string& text : texts) result.push_back(const_cast<char*>(text.c_str()));
  result.push_back(nullptr);
  return result;
}

Error not_started(const std::string& program, int why) {
  return Error(program + ": " + std::strerror(why),
               why == ENOENT ? "check the name; a program in this folder is ./" + program : "",
               ExitCode::application_not_found);
}

// 0, or why the file cannot be executed.
int why_not_executed(const std::string& path) {
  struct stat status {};
  if (stat(path.c_str(), &status) != 0) return errno;
  if (!S_ISREG(status.st_mode)) return EACCES;
  return faccessat(AT_FDCWD, path.c_str(), X_OK, AT_EACCESS) == 0 ? 0 : errno;
}

bool asks_for_an_end(int signal) {
  return signal == SIGINT || signal == SIGTERM || signal == SIGHUP || signal == SIGQUIT;
}

}  // namespace

std::string look_up(const std::string& program) {
  if (program.find('/') != program.npos) {
    if (const int why = why_not_executed(program)) throw not_started(program, why);
    return program;
  }
  int why = ENOENT;
  const char* variable = std::getenv("PATH");
  std::istringstream folders(std::string(variable ? variable : "/bin:/usr/bin") + ":");
  for (std::string folder; std::getline(folders, folder, ':');) {
    const std::string path = folder.empty() ? program : folder + "/" + program;
    const int refused = why_not_executed(path);
    if (refused == 0) return path;
    if (refused == EACCES) why = EACCES;
  }
  throw not_started(program, why);
}

Target::Target() {
  sigemptyset(&ours_);
  for (const int signal : passed_on) sigaddset(&ours_, signal);
  sigaddset(&ours_, SIGCHLD);
  pthread_sigmask(SIG_BLOCK, &ours_, &before_);
  // Writing beyond a file size limit should fail rather than kill us.
  too_large_before_ = ::signal(SIGXFSZ, SIG_IGN);
  // So should writing to a reader of reports that is gone.
  broken_pipe_before_ = ::signal(SIGPIPE, SIG_IGN);
}

Target::~Target() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

void Target::start(const std::vector<std::string>& command,
                   const std::vector<std::string>& environment, Output output) {
  ended_ = false;
  status_ = 0;
  const std::vector<std::string> variables = merged_environment(environment);
  const std::vector<char*> arguments = pointers(command);
  const std::vector<char*> environment_pointers = pointers(variables);

  // The child reports through the pipe why exec failed; the pipe closes by itself when exec
  // succeeds.
  int pipe_ends[2];
  if (pipe2(pipe_ends, O_CLOEXEC) != 0) throw Error(std::string("pipe: ") + std::strerror(errno));
  process_ = fork();
  if (process_ < 0) throw Error(std::string("fork: ") + std::strerror(errno));
  if (process_ == 0) {
    ::signal(SIGXFSZ, too_large_before_);
    ::signal(SIGPIPE, broken_pipe_before_);
    pthread_sigmask(SIG_SETMASK, &before_, nullptr);
    if (output == Output::nowhere) {
      const int nowhere = open("/dev/null", O_RDWR);
      for (int file = 0; file < 3 && nowhere >= 0; ++file) dup2(nowhere, file);
    }
    execvpe(arguments[0], arguments.data(), environment_pointers.data());
    const int why = errno;
    [[maybe_unused]] const ssize_t written = write(pipe_ends[1], &why, sizeof why);
    _exit(127);
  }
  close(pipe_ends[1]);
  int why = 0;
  ssize_t got;
  do {
    got = read(pipe_ends[0], &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  close(pipe_ends[0]);
  if (got == sizeof why) {
    waitpid(process_, nullptr, 0);
    process_ = -1;
    throw not_started(command[0], why);
  }
}

bool Target::wait(int timeout_ms) {
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::milliseconds(timeout_ms);
  while (!ended_) {
    // SIGCHLD may have been sent for another child (salvage), or before we looked.
    if (waitpid(process_, &status_, WNOHANG) == process_) {
      ended_ = true;
      break;
    }
    // Check at intervals even without a signal, so that a lost one cannot block us.
    auto patience = std::chrono::milliseconds(500);
    if (timeout_ms >= 0) {
      const auto left = std::chrono::duration_cast<std::chrono::milliseconds>(
          deadline - std::chrono::steady_clock::now());
      if (left.count() <= 0) return false;
      patience = std::min(patience, left);
    }
    const timespec time = in_ms(static_cast<int>(patience.count()));
    siginfo_t info{};
    const int signal = sigtimedwait(&ours_, &info, &time);
    interrupted_ |= asks_for_an_end(signal);
    if (signal > 0 && signal != SIGCHLD && !from_terminal(info)) kill(process_, signal);
  }
  return true;
}

int Target::exit_code() const {
  return WIFSIGNALED(status_) ? 128 + WTERMSIG(status_) : WEXITSTATUS(status_);
}

}  // namespace gpuprof::launch
