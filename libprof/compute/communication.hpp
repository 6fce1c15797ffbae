// Which kernels communicate.
#pragma once

#include <cstdint>
#include <set>
#include <unordered_set>
#include <utility>

#include "libprof/compute/gpu_work.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// StringTable ids of names that say it.
std::unordered_set<std::int64_t> read_communication(store::Database& database);

// Those that NCCL's operations in the file had run, and those of such a name.
class Communication {
 public:
  explicit Communication(store::Database& database);

  bool has_nodes() const { return !nodes_.empty(); }
  // `node`: of a graph; 0: none.
  bool has(std::int64_t name, std::int64_t correlation, std::int64_t process,
           std::int64_t node) const {
    if (!any_) return false;
    return names_.contains(name) || operations_.contains(correlation) ||
           (node != 0 && nodes_.contains({process, node}));
  }

 private:
  void read_operations(store::Database& database);

  std::unordered_set<std::int64_t> names_;
  CorrelationSet operations_;
  std::set<std::pair<std::int64_t, std::int64_t>> nodes_;  // process, and node of a graph
  bool any_ = false;
};

}  // namespace gpuprof::compute
