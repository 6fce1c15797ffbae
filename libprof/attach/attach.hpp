// Loads the collector into a running process and starts it there.
#pragma once

#include <chrono>
#include <functional>
#include <string>

#include "libprof/attach/process.hpp"

namespace gpuprof::attach {

struct Outcome {
  std::chrono::nanoseconds stopped{0};  // the longest stop of CUDA's thread
  std::chrono::nanoseconds away{0};     // how long it did not wait in poll, at most
};

// `collector`: the library's path; `socket`: where the collector connects, on a thread of its own,
// which it has when this returns. Takes some milliseconds. `given_up`: asked in between, ends the
// attempt. Throws gpuprof::Error, with the reason, if it cannot be done.
Outcome start_collector(const Process& process, const std::string& collector,
                        const std::string& socket, const std::function<bool()>& given_up);

}  // namespace gpuprof::attach
