// The numbers of the nodes of CUDA graphs.
//
// Records of work have CUPTI's number of a node of an executable graph, which takes some 100 ns to
// ask for. Work never runs in the nodes that those are clones of, so these have numbers of ours,
// computed from CUPTI's number of the graph and the node's handle: negative ones, which CUPTI does
// not use. In the same graph, a later node may have the same one, once the earlier one is removed.
#pragma once

#include <cupti.h>

#include <atomic>
#include <cstdint>

#include "libprof/base/word_hash.hpp"
#include "libprof/collect/checked_api.hpp"

namespace gpuprof::collect {

// Any thread; no locks, no waiting, no allocation.
class NodeNumbers {
 public:
  // A graph whose number is known; only one thread uses it.
  struct Graph {
    CUgraph handle = nullptr;
    std::uint64_t hash = 0;   // of its number; 0: it has none
    std::uint64_t ended = 0;  // what ended_ was then
  };

  explicit NodeNumbers(CheckedApi& cupti) : cupti_(cupti) {}

  // CUPTI's number of a node; 0: it has none.
  std::uint64_t of_records(CUgraphNode node);
  // A number of ours; 0: the graph has none, as with a CUPTI that gives no numbers. `known`: the
  // graph that the thread asked for last.
  std::uint64_t own(CUgraph graph, CUgraphNode node, Graph& known) {
    if (!node || !graph) return 0;
    if (known.handle != graph || known.ended != ended_.load(std::memory_order_relaxed))
        [[unlikely]] {
      find(graph, known);
    }
    constexpr std::uint64_t negative = std::uint64_t{1} << 63;
    const auto handle = reinterpret_cast<std::uint64_t>(node);
    return known.hash == 0 ? 0 : word_hash(known.hash, handle) | negative;
  }
  // Another graph may have the handle of each from now on: a graph ends, or a trace begins.
  void graph_ends() { ended_.fetch_add(1, std::memory_order_relaxed); }

 private:
  void find(CUgraph graph, Graph& known);

  CheckedApi& cupti_;
  std::atomic<std::uint64_t> ended_{1};
};

}  // namespace gpuprof::collect
