// NCCL's operations that have not ended, which ranks have entered them, and what the others do.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "libprof/report/finished_work.hpp"
#include "libprof/report/stalled_places.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::report {

// Reads a file repeatedly, also while it grows. Used by one thread. Operations captured into graphs
// are left out: how often they were launched is not known. Memory: the newest operations of each
// process and communicator.
class StalledOperations {
 public:
  // A sentence or more for each communicator with an operation that was launched `after` ns ago or
  // earlier and has not ended: of those the first that not all ranks have entered alike, or the
  // first. Empty for files without NCCL.
  std::vector<std::string> read(store::Database& database, const FileTime& time,
                                FinishedWork& finished, std::int64_t after);

 private:
  struct Operation {
    std::int64_t process = 0, thread = 0, communicator = 0, rank = -1, ranks = 0;
    std::int64_t sequence = 0, count = 0, time = 0, correlation = 0;
    std::string function, communicator_name;
  };
  using Operations = std::deque<Operation>;  // the newest

  void read_operations(store::Database& database);
  const Operation* first_apart(std::int64_t communicator, std::int64_t process,
                               const Operation& from, std::int64_t latest) const;
  std::string describe(store::Database& database, const Operation& first, std::int64_t now) const;
  std::string describe_rank(store::Database& database, const Operations& operations,
                            const Operation& first, std::string& entered) const;

  std::int64_t read_up_to_ = 0;
  // By communicator and process.
  std::map<std::pair<std::int64_t, std::int64_t>, Operations> operations_;
};

}  // namespace gpuprof::report
