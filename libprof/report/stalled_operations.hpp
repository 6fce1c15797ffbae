// NCCL's operations that have not ended, which ranks have entered them, and what the others do.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libprof/store/sqlite.hpp"

namespace gpuprof::report {

// Reads a file repeatedly, also while it grows. Used by one thread. Operations captured into graphs
// are left out: how often they were launched is not known. Memory: one operation for each process
// and communicator.
class StalledOperations {
 public:
  // A sentence or more for each communicator with an operation whose kernel began 30 s ago or more
  // and has not ended. Empty for files without NCCL.
  std::vector<std::string> read(store::Database& database);

 private:
  struct Operation {
    std::int64_t process = 0, thread = 0, communicator = 0, rank = -1, ranks = 0;
    std::int64_t sequence = 0, count = 0, time = 0, correlation = 0;
    std::string function;
  };

  void read_operations(store::Database& database);
  std::string describe(store::Database& database, const std::vector<const Operation*>& stalled,
                       std::int64_t now) const;

  std::int64_t read_up_to_ = 0;
  // The last of each communicator and process.
  std::map<std::pair<std::int64_t, std::int64_t>, Operation> last_;
};

}  // namespace gpuprof::report
