#include "libprof/collect/node_numbers.hpp"

#include "libprof/base/word_hash.hpp"

namespace gpuprof::collect {

std::uint64_t NodeNumbers::of_records(CUgraphNode node) {
  std::uint64_t number = 0;
  const bool known =
      node && cupti_.try_("cuptiGetGraphNodeId", cupti_.cuptiGetGraphNodeId(node, &number));
  return known ? number : 0;
}

std::uint64_t NodeNumbers::own(CUgraph graph, CUgraphNode node, Graph& known) {
  constexpr std::uint64_t negative = std::uint64_t{1} << 63;
  if (!node || !graph) return 0;
  if (known.handle != graph || known.ended != ended_.load(std::memory_order_relaxed)) {
    find(graph, known);
  }
  if (known.hash == 0) return 0;
  return word_hash(known.hash, reinterpret_cast<std::uint64_t>(node)) | negative;
}

void NodeNumbers::find(CUgraph graph, Graph& known) {
  known = {.handle = graph, .ended = ended_.load(std::memory_order_relaxed)};
  std::uint32_t number = 0;
  if (cupti_.try_("cuptiGetGraphId", cupti_.cuptiGetGraphId(graph, &number))) {
    known.hash = word_hash(0, number);
  }
}

}  // namespace gpuprof::collect
