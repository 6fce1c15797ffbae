// A refusal by CUPTI, with its result code for callers that distinguish them. Requires no CUPTI
// header.
#pragma once

#include <string>

#include "libprof/base/error.hpp"

namespace gpuprof::cupti {

class Refused : public Error {
 public:
  Refused(const std::string& message, int result, std::string hint = {},
          ExitCode exit_code = ExitCode::no_metrics)
      : Error(message, std::move(hint), exit_code), result_(result) {}

  int result() const { return result_; }  // a CUptiResult

 private:
  int result_;
};

}  // namespace gpuprof::cupti
