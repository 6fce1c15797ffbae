// Programs of our own that do what may crash or hang, or what is not done with our rights.
#pragma once

#include <sys/types.h>

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace gpuprof::launch {

// One such program, from its start to its end. It is in a process group of its own, so a terminal's
// Ctrl-C does not reach it. Nothing here waits for it: whoever has it polls watch() and asks
// ended(). One thread at a time.
class HelperProcess {
 public:
  using Clock = std::chrono::steady_clock;

  // One of our descriptors, and the number it has in the program. Its standard ones are /dev/null
  // unless they are named here.
  struct File {
    int ours;
    int theirs;
  };

  // `limit`: how long it may run; overdue() tells. Throws gpuprof::Error when it cannot be started.
  HelperProcess(const std::string& program, const std::vector<std::string>& arguments,
                const std::vector<File>& files, std::chrono::milliseconds limit);
  // Kills it if it runs. Where even that takes long, it is left to whoever reaps our children.
  ~HelperProcess();
  HelperProcess(const HelperProcess&) = delete;
  HelperProcess& operator=(const HelperProcess&) = delete;

  // A descriptor that is readable once the program has ended; -1 where the system has none
  // (before Linux 5.3), then ended() is to be asked from time to time.
  int watch() const { return watch_; }
  // Also reaps it, and ends what it started and left.
  bool ended();
  // As from waitpid; nothing before ended() was true.
  std::optional<int> status() const { return status_; }
  // It ended by itself, with exit code 0.
  bool succeeded() const { return status_ == 0; }

  Clock::time_point deadline() const { return deadline_; }
  bool overdue() const { return Clock::now() >= deadline_; }
  void kill();  // with what it started

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

// Runs a program to its end and returns what it wrote, 1 MiB of each at most. `interrupted` is
// asked about ten times a second whether to give up; may be empty. Throws gpuprof::Error when it
// cannot be started.
HelperOutput run_helper(const std::string& program, const std::vector<std::string>& arguments,
                        std::chrono::milliseconds limit,
                        const std::function<bool()>& interrupted = {});

}  // namespace gpuprof::launch
