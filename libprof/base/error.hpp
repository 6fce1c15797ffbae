// The one exception of the host libraries: it ends the command.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace gpuprof {

// Exit codes of the program where it does not pass on the target's own. The first block is
// nvprof's, the second is ours.
enum class ExitCode : int {
  ok = 0,
  no_application = 3,
  internal = 4,
  bad_option = 5,
  missing_argument = 6,  // of an option
  application_not_found = 13,
  import_failed = 20,
  output_failed = 21,  // the output file exists, cannot be written, or the disk is full
  no_metrics = 22,     // metrics were asked for and cannot be collected
  no_driver = 23,
  nothing_recorded = 24,  // and --fail-if-empty was given
};

// `what()` is one line that says what is wrong; `hint()` is what to do about it, may be empty.
class Error : public std::runtime_error {
 public:
  explicit Error(const std::string& message, std::string hint = {},
                 ExitCode exit_code = ExitCode::internal)
      : std::runtime_error(message), hint_(std::move(hint)), exit_code_(exit_code) {}

  const std::string& hint() const { return hint_; }
  ExitCode exit_code() const { return exit_code_; }

 private:
  std::string hint_;
  ExitCode exit_code_;
};

}  // namespace gpuprof
