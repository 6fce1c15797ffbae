// Which kernels communicate.
#pragma once

#include <cstdint>
#include <optional>
#include <set>
#include <unordered_set>
#include <utility>

#include "libprof/compute/gpu_work.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Those that NCCL's operations in the file had run. In a process that reported no operations, or
// not the kernels of all, also those of such a name.
class Communication {
 public:
  // `newest`: how many operations, and how many nodes, are read: those stored last.
  explicit Communication(store::Database& database, std::int64_t newest = INT64_MAX);

  bool has_nodes() const { return !nodes_.empty(); }
  // `node`: of a graph; 0: none.
  bool has(std::int64_t name, std::int64_t correlation, std::int64_t process,
           std::int64_t node) const {
    if (!any_) return false;
    return operations_.contains(correlation) || (node != 0 && nodes_.contains({process, node})) ||
           (names_.contains(name) && !all_known_.contains(process));
  }

 private:
  void read_operations(store::Database& database, std::int64_t newest);

  std::unordered_set<std::int64_t> names_;
  std::unordered_set<std::int64_t> all_known_;  // processes: each operation's kernel is known
  CorrelationSet operations_;
  std::set<std::pair<std::int64_t, std::int64_t>> nodes_;  // process, and node of a graph
  bool any_ = false;
};

// For what is shown by name: the names of such kernels, as the table NCCL_KERNEL has them once a
// run with operations of NCCL is over.
class CommunicationNames {
 public:
  explicit CommunicationNames(store::Database& database);

  // `id`: in StringTable. nullopt: the file does not say, so the name's text does.
  std::optional<bool> find(std::int64_t id) const {
    if (ids_.empty()) return std::nullopt;
    return ids_.contains(id);
  }

 private:
  std::unordered_set<std::int64_t> ids_;
};

// Fills that table with the names of all kernels that communicate, inside the caller's transaction.
void write_communication_names(store::Database& database, const std::set<std::int32_t>& names);

}  // namespace gpuprof::compute
