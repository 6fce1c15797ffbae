// What GPUs did in the time of the newest records of a growing file. For gpuprof top.
#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "libprof/store/sqlite.hpp"
#include "libprof/terminal/account_bar.hpp"

namespace gpuprof::terminal {

struct NewestWork {
  Times times = {};       // of all GPUs; idle time is not divided
  std::int64_t span = 0;  // ns; 0: there is no new work with times
  std::int64_t gpus = 0;
};

// Of records with ids above those, by table; at most 100,000 of a table, the newest.
NewestWork read_newest(store::Database& database, const std::map<std::string, std::int64_t>& after);

}  // namespace gpuprof::terminal
