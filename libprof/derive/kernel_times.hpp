// How the durations of kernels are spread, by device and name: table KERNEL_TIME.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <set>
#include <unordered_map>

#include "libprof/derive/durations.hpp"
#include "libprof/derive/kernel_rows.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::derive {

// One thread. Memory: see Durations.
class KernelTimes {
 public:
  void add(const KernelRows& kernels);
  // Fills the table, inside the caller's transaction. Nothing may be added
  // afterwards.
  void write(store::Database& database);
  // Ids of all names there were, up to Durations::most_groups.
  std::set<std::int32_t> names() const;

 private:
  // By device and name. Forged files may have devices of any number.
  std::map<std::int64_t, std::unordered_map<std::int32_t, std::size_t>> groups_;
  std::size_t group_count_ = 0;
  Durations durations_;
};

}  // namespace gpuprof::derive
