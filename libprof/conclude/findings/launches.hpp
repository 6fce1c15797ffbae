// The kernels of a window by how they were launched: the rows of the shared tables
// `kernel_launches` and `graph_launches`.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <unordered_map>

#include "libprof/compute/account.hpp"
#include "libprof/store/scan.hpp"

namespace gpuprof::findings {

struct Launches {
  // The columns device to local_memory of the table.
  using Key = std::array<std::int64_t, 10>;
  struct Hash {
    std::size_t operator()(const Key& key) const;
  };
  struct Same {
    bool operator()(const Key& a, const Key& b) const;
  };
  // The others, in ns on CUPTI's clock.
  struct Sum {
    std::int64_t ns = 0, count = 0, longest = 0, first = INT64_MAX, last = INT64_MIN;
  };
  using Sums = std::unordered_map<Key, Sum, Hash, Same>;

  struct OfGraphs {
    std::int64_t kernels = 0, launches = 0;
  };

  std::optional<Sums> sums;                 // nullopt: there are more than 200,000 different ones
  std::map<std::int64_t, OfGraphs> graphs;  // by device
};

// Reads all kernels once. `check` is called now and then and may throw.
Launches read_launches(store::Snapshot& snapshot, const compute::AccountWindow& window,
                       const std::function<void()>& check);

}  // namespace gpuprof::findings
