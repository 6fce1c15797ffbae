// Progress of slow commands on a terminal, and how Ctrl-C ends them.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::app {

// A line on stderr, if it is a terminal, shown from one second after construction and erased at the
// end.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // Must be called repeatedly, so that the line appears once the second has passed.
  void show(std::string_view what);
  void clear();

 private:
  bool terminal_;
  std::string shown_;
  std::chrono::steady_clock::time_point began_;
};

// Also lets Ctrl-C and SIGTERM interrupt while it lives. A second signal ends the program; so does
// the first if this object still lives 0.7 s later, because SQLite polls nothing while it sorts or
// is inside a function. Files that are not yet in place are then removed.
class Progress : public ProgressLine {
 public:
  Progress();
  ~Progress();
  // From now on an interruption may take any time.
  void wait_when_interrupted() { waits_.store(true); }
  // The signal, or 0.
  static int interrupted();
  static bool is_interrupted() { return interrupted() != 0; }

 private:
  void watch() const;

  int wake_ = -1;  // readable after a signal, and on destruction
  std::atomic<bool> waits_{false}, over_{false};
  std::thread watcher_;
};

// The exit code after an interrupted read. Call it in the handler of the error; it rethrows any
// other.
int code_of_interrupted(const store::DatabaseError& error);

}  // namespace gpuprof::app
