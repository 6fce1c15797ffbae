// The target as a child process: start it, pass signals on, wait for it.
#pragma once

#include <signal.h>
#include <sys/types.h>

#include <string>
#include <vector>

namespace gpuprof::launch {

// The path of a program, looked for as exec does. Throws gpuprof::Error when there is none of that
// name, as Target::start() would.
std::string look_up(const std::string& program);

// How a target is started and how it ended. Belongs to the main thread.
//
// From construction on, the signals that end or steer programs are held back in this thread and all
// it starts afterwards; wait() takes them one by one. So make it before any other thread.
class Target {
 public:
  Target();
  // Lets the signals through again.
  ~Target();
  Target(const Target&) = delete;
  Target& operator=(const Target&) = delete;

  enum class Output { ours, nowhere };

  // Runs `command` with our environment and these variables ("NAME=value") besides. Again once it
  // has ended; with Output::nowhere nobody sees what it writes to stdout and stderr, and it reads
  // nothing. Throws gpuprof::Error when there is no such program.
  void start(const std::vector<std::string>& command, const std::vector<std::string>& environment,
             Output output = Output::ours);

  // Waits up to `timeout_ms` (-1: no limit) for the target to end. Signals sent to us are sent on
  // to it, except those a terminal has given it already. True when it has ended.
  bool wait(int timeout_ms);
  // Whether somebody asked for an end (Ctrl-C) while the target ran.
  bool was_interrupted() const { return interrupted_; }

  pid_t process() const { return process_; }
  // As from waitpid. Valid once wait() gave true.
  int status() const { return status_; }
  // What a shell would make of it: the exit status, or 128 + the signal.
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
