// Durations of kernels, with sums and spread, per device and name: table KERNEL_TIME.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>
#include <vector>

#include "libprof/compute/duration_sum.hpp"
#include "libprof/compute/durations.hpp"
#include "libprof/compute/kernel_rows.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::compute {

// Used by one thread. Memory: see Durations.
class KernelTimes {
 public:
  void add(const KernelRows& kernels);
  // Fills the table, inside the caller's transaction. Nothing may be added afterwards.
  void write(store::Database& database);
  // Ids of all names, up to Durations::most_groups.
  std::set<std::int32_t> names() const;

 private:
  struct Sum {
    std::int64_t count = 0;
    DurationSum durations;
    std::int64_t first = 0, last = 0;  // 0: no kernel has that time
  };

  // By device and name. Forged files may use any device numbers.
  std::map<std::int64_t, std::unordered_map<std::int32_t, std::size_t>> groups_;
  std::vector<Sum> sums_;  // by group
  bool complete_ = true;   // no group is missing
  Durations durations_;
};

}  // namespace gpuprof::compute
