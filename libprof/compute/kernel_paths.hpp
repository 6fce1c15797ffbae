// Time of kernels by what led to their launches: the NVTX ranges around them, or the functions of
// Python that they came from.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "libprof/store/scan.hpp"

namespace gpuprof::compute {

enum class PathBy { ranges, stacks };

struct KernelPaths {
  // A range or a function inside of others. The first is the root, which is nothing.
  struct Node {
    std::uint32_t parent = 0;  // comes first
    std::int64_t name = 0;     // of a range: StringTable id
    std::string words = {};    // of a function: "model.py:88 Model.forward"
  };
  // Kernels of one name at one node.
  struct Sum {
    std::uint32_t node = 0;
    std::int64_t name = 0;  // StringTable id
    std::int64_t time = 0;  // ns; of kernels that run at the same time each counts
    std::int64_t launches = 0;
  };
  std::vector<Node> nodes;
  std::vector<Sum> sums;  // most time first
};

// Of the kernels that begin from `from` on and before `to`. Kernels of a graph are those of the
// functions that made their nodes, and of the ranges that launched the graph. What is not known is
// at the root. `check` is called now and then and may throw. Memory: the ranges or stacks of the
// file, and what Sorted uses.
KernelPaths kernel_paths(store::Snapshot& snapshot, PathBy by, std::int64_t from, std::int64_t to,
                         const std::function<void()>& check);

// Whether the file can say so at all.
bool has_paths(store::Database& database, PathBy by);

}  // namespace gpuprof::compute
