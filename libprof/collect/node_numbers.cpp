#include "libprof/collect/node_numbers.hpp"

#include "libprof/collect/keep_errno.hpp"

namespace gpuprof::collect {

std::uint64_t NodeNumbers::of_records(CUgraphNode node) {
  const KeepErrno keep;
  std::uint64_t number = 0;
  const bool known =
      node && cupti_.try_("cuptiGetGraphNodeId", cupti_.cuptiGetGraphNodeId(node, &number));
  return known ? number : 0;
}

void NodeNumbers::find(CUgraph graph, Graph& known) {
  const KeepErrno keep;
  known = {.handle = graph, .ended = ended_.load(std::memory_order_relaxed)};
  const bool exist = cupti_.cuptiGetGraphNodeId && cupti_.cuptiGetGraphId;
  std::uint32_t number = 0;
  if (exist && cupti_.try_("cuptiGetGraphId", cupti_.cuptiGetGraphId(graph, &number))) {
    known.hash = word_hash(0, number);
  }
}

}  // namespace gpuprof::collect
