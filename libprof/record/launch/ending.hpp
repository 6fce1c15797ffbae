// How processes end that are not ours to wait for.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <optional>
#include <string>

namespace gpuprof::launch {

// A process of the run that crashed, was killed, or ended with a status that says so.
struct Death {
  std::int64_t process = 0;
  std::string text;
  bool abrupt = false;  // it did not end in order
};

// As from waitpid, while the process is ending or has ended and its parent has not taken notice.
// nullopt: it lives, or nobody knows any more.
std::optional<int> status_of_ending(pid_t process);

// nullopt: it ended as programs do. `orderly`: its collector said goodbye.
std::optional<Death> death_of(std::int64_t process, std::optional<int> status, bool orderly);

}  // namespace gpuprof::launch
