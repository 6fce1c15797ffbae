#include "libprof/record/launch/ending.hpp"

#include <sys/wait.h>

#include <cstring>
#include <vector>

#include "libprof/base/process_stat.hpp"
#include "libprof/base/text.hpp"

namespace gpuprof::launch {

std::optional<int> status_of_ending(pid_t process) {
  if (process <= 0) return std::nullopt;
  const std::vector<std::string> fields = process_stat(process);
  constexpr std::size_t state = 0, flags = 6, exit_code = 49;  // of proc(5), from the third on
  if (fields.size() <= exit_code) return std::nullopt;
  constexpr unsigned long exiting = 4;  // PF_EXITING
  const bool ends = fields[state] == "Z" || fields[state] == "X" ||
                    (parse<unsigned long>(fields[flags]).value_or(0) & exiting) != 0;
  return ends ? parse<int>(fields[exit_code]) : std::nullopt;
}

std::optional<Death> death_of(std::int64_t process, std::optional<int> status, bool orderly) {
  const std::string who = "process " + std::to_string(process);
  if (!status) {
    if (orderly) return std::nullopt;
    return Death{process, who + " ended without notice: it crashed, was killed, or called _exit",
                 true};
  }
  if (WIFSIGNALED(*status)) {
    const int signal = WTERMSIG(*status);
    return Death{
        process,
        who + " was ended by signal " + std::to_string(signal) + " (" + strsignal(signal) + ")",
        true};
  }
  if (WEXITSTATUS(*status) == 0) return std::nullopt;
  return Death{process, who + " ended with status " + std::to_string(WEXITSTATUS(*status)), false};
}

}  // namespace gpuprof::launch
