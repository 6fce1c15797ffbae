// Shared by what says that work does not end: when, where a process is, whether it has ended.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::report {

// On CUPTI's clock: now, or when the run was over.
struct FileTime {
  std::int64_t now = 0;
  bool over = false;
};
std::optional<FileTime> time_of_file(store::Database& database);

// "process 100, train.py:12 step", where the thread was last seen from outside, else where it made
// the call, else where the process made its last call; ", has ended" if it has. `thread`,
// `correlation`: 0: not known.
std::string place_words(store::Database& database, std::int64_t process, std::int64_t thread,
                        std::int64_t correlation);

// "41 s"
std::string seconds_words(std::int64_t ns);

}  // namespace gpuprof::report
