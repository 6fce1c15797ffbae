// Programs of our own for work that may crash or hang, or must not run with our privileges.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gpuprof {

// One such program, from start to end. It is in a separate process group, so a terminal's Ctrl-C
// does not reach it. Nothing here waits for it: the owner polls watch() and calls ended(). One
// thread at a time.
class HelperProcess {
 public:
  using Clock = std::chrono::steady_clock;

  // One of our descriptors, and its number in the program. The standard descriptors are /dev/null
  // unless listed here.
  struct File {
    int ours;
    int theirs;
  };

  // `limit`: how long it may run; see overdue(). Throws gpuprof::Error if it cannot be started.
  HelperProcess(const std::string& program, const std::vector<std::string>& arguments,
                const std::vector<File>& files, std::chrono::milliseconds limit);
  // Kills it if it is running. If even that takes long, it is left to whatever reaps our children.
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // A descriptor that is readable once the program has ended; -1 if the system has none (before
  // Linux 5.3): then poll ended().
  int watch() const { return watch_; }
  // Also reaps it, and kills processes it started and left behind.
  bool ended();
  // As from waitpid; nullopt before ended() returned true.
  std::optional<int> status() const { return status_; }
  // It ended by itself, with exit code 0.
  bool succeeded() const { return status_ == 0; }

  Clock::time_point deadline() const { return deadline_; }
  bool overdue() const { return Clock::now() >= deadline_; }
  void kill();  // including what it started

 private:
  pid_t process_ = -1;
  int watch_ = -1;
  Clock::time_point deadline_;
  std::optional<int> status_;
};

struct HelperOutput {
  enum class End { by_itself, overdue, interrupted } end = End::by_itself;
  int status = 0;  // as from waitpid, if it ended by itself
  std::string out, err;
};

// Runs a program to its end and returns its output, at most 1 MiB of each stream. `interrupted` is
// called about ten times a second to ask whether to give up; may be empty. Throws gpuprof::Error if
// the program cannot be started.
HelperOutput run_helper(const std::string& program, const std::vector<std::string>& arguments,
                        std::chrono::milliseconds limit,
                        const std::function<bool()>& interrupted = {});

}  // namespace gpuprof
