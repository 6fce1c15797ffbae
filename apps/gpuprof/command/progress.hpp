// What a command that takes long shows on a terminal, and how Ctrl-C ends it.
#pragma once

#include <atomic>
#include <chrono>
#include <string>
#include <string_view>
#include <thread>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::app {

// A line on stderr, on a terminal and a second after this was made, which goes away in the end.
class ProgressLine {
 public:
  ProgressLine();
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  // To be called again while it lasts, so that it is shown when the second has passed.
  void show(std::string_view what);
  void clear();

 private:
  bool terminal_;
  std::string shown_;
  std::chrono::steady_clock::time_point began_;
};

// The same, and while it lives Ctrl-C and SIGTERM interrupt; the second one ends the program. So
// does the first when this still lives 0.7 s later: SQLite asks nobody while it sorts or is inside
// a function. Files that are not in their place yet are then removed.
class Progress : public ProgressLine {
 public:
  Progress();
  ~Progress();
  // From now on an interruption has all the time it takes.
  void wait_when_interrupted() { waits_.store(true); }
  // The signal; 0: none.
  static int interrupted();
  static bool is_interrupted() { return interrupted() != 0; }

 private:
  void watch() const;

  int wake_ = -1;  // readable after a signal, and when this goes
  std::atomic<bool> waits_{false}, over_{false};
  std::thread watcher_;
};

// In a handler of the error: what a command returns whose reading was interrupted. Another error is
// thrown again.
int code_of_interrupted(const store::DatabaseError& error);

}  // namespace gpuprof::app
