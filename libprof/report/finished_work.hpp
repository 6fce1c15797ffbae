// Which calls' GPU work has ended.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/compute/gpu_work.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::report {

// Of the latest rows of a table, which are nearly in order; 0: none. `end`: its column.
std::int64_t latest_end(store::Database& database, const std::string& table, std::string_view end);

// Reads a file repeatedly, each time only the new rows; where a file has indexes, only what is
// asked for. Used by one thread. Memory: a bit for each correlation id.
class FinishedWork {
 public:
  // Call before anything else, whenever the file may have grown. `database` stays open until the
  // next call.
  void read(store::Database& database);

  // 0: no GPU work is in the file.
  std::int64_t last_end() const { return last_end_; }
  bool has(std::int64_t correlation) const;

 private:
  void read_table(store::Database& database, const std::string& table, std::string_view end_column);

  compute::CorrelationSet ended_;
  std::map<std::string, std::int64_t> read_up_to_;   // ids, by table
  mutable std::vector<store::Statement> questions_;  // of tables with an index
  std::int64_t last_end_ = 0;
};

}  // namespace gpuprof::report
