// The only exception type of the host libraries: it ends the command.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

#include "libprof/base/exit_codes.hpp"

namespace gpuprof {

// `what()` is one line that says what is wrong; `hint()` says what to do about it and may be empty.
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
