// What a command that takes long shows on a terminal, and how Ctrl-C ends it.
#pragma once

#include <chrono>
#include <string_view>

namespace gpuprof::app {

// A line on stderr, on a terminal and after a second, which goes away in the end. While it lives
// Ctrl-C and SIGTERM make interrupted() true; the second one ends the program.
class Progress {
 public:
  Progress();
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  void show(std::string_view what);
  void clear();
  // The signal; 0: none.
  static int interrupted();

 private:
  bool terminal_;
  bool shown_ = false;
  std::chrono::steady_clock::time_point began_;
};

}  // namespace gpuprof::app
