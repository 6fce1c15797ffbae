// The target as a child process: start it, forward signals, wait for it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace gpuprof::launch {

// The path of a program, searched as exec does. Throws gpuprof::Error if it is not found, as
// Target::start() would.
std::string look_up(const std::string& program);

// Starts a target and reports how it ended. Used by the main thread only.
//
// From construction on, the signals that end or control programs are blocked in this thread and in
// all threads it starts afterwards; wait() handles them one by one. So construct it before starting
// any other thread.
class Target {
 public:
  Target();
  // Unblocks the signals.
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  enum class Output { ours, nowhere };

  // Does not forward this signal, which stays blocked in us: another thread takes it.
  void leave_out(int signal) { sigdelset(&ours_, signal); }

  // Runs `command` with our environment plus these variables ("NAME=value"). May be called again
  // once it has ended; with Output::nowhere its stdout and stderr are discarded and its stdin is
  // empty. Throws gpuprof::Error if there is no such program.
  void start(const std::vector<std::string>& command, const std::vector<std::string>& environment,
             Output output = Output::ours);

  // Waits up to `timeout_ms` (-1: no limit) for the target to end. Signals sent to us are forwarded
  // to it, except those a terminal has already sent it. Returns whether it has ended.
  bool wait(int timeout_ms);
  // Whether termination was requested (Ctrl-C) while the target ran.
  bool was_interrupted() const { return interrupted_; }

  pid_t process() const { return process_; }
  // As from waitpid. Valid once wait() has returned true.
  int status() const { return status_; }
  // The exit code a shell would report: the exit status, or 128 + the signal.
  int exit_code() const;

 private:
  sigset_t before_{};
  sigset_t ours_{};
  void (*too_large_before_)(int) = SIG_DFL;
  void (*broken_pipe_before_)(int) = SIG_DFL;
  pid_t process_ = -1;
  int status_ = 0;
  bool ended_ = false;
  bool interrupted_ = false;
};

}  // namespace gpuprof::launch
