// The command line as values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "libprof/report/options.hpp"

namespace gpuprof::app {

enum class Command { run, import, replay, schema };

struct Options {
  Command command = Command::run;
  std::string command_line;  // our own, quoted for a shell

  // run
  std::vector<std::string> application;  // program and arguments
  std::vector<std::string> trace;        // group names; empty: the defaults
  bool concurrent_kernels = true;
  bool profile_from_start = true;
  int flush_ms = 500;
  std::string cupti;         // path of a libcupti; empty: the usual ones
  std::string save_capture;  // empty: none
  int slots = 0;             // 0: the collector's default

  // run and replay
  std::string output;  // empty: a temporary file, and the summary
  bool overwrite = false;
  bool indexes = true;
  bool quiet = false;

  // import and replay
  std::string input;

  report::Options reports;
};

// nullopt: all was said already (help, version) and the program ends with `exit_code`. Throws
// gpuprof::Error on a wrong command line.
std::optional<Options> parse_options(int argc, char** argv, int& exit_code);

}  // namespace gpuprof::app
