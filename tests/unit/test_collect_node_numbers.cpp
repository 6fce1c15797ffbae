// The numbers of graph nodes: which are asked for, and that no two nodes have the same.
#include <catch2/catch.hpp>
#include <cstdint>
#include <map>
#include <set>

#include "libprof/collect/node_numbers.hpp"

using namespace gpuprof::collect;

namespace {

std::map<CUgraph, std::uint32_t> graphs;
int asked = 0;

CUptiResult CUPTIAPI number_of_graph(CUgraph graph, std::uint32_t* number) {
  ++asked;
  const auto its = graphs.find(graph);
  if (its == graphs.end()) return CUPTI_ERROR_INVALID_PARAMETER;
  *number = its->second;
  return CUPTI_SUCCESS;
}

CUptiResult CUPTIAPI number_of_node(CUgraphNode node, std::uint64_t* number) {
  *number = reinterpret_cast<std::uint64_t>(node) + 7;
  return CUPTI_SUCCESS;
}

CUgraph graph_at(std::uint64_t place) { return reinterpret_cast<CUgraph>(place * 64); }
CUgraphNode node_at(std::uint64_t place) { return reinterpret_cast<CUgraphNode>(place * 8); }

struct Numbers {
  CheckedApi cupti;
  NodeNumbers all{cupti};
  NodeNumbers::Graph known;

  Numbers() {
    cupti.cuptiGetGraphId = &number_of_graph;
    cupti.cuptiGetGraphNodeId = &number_of_node;
    graphs.clear();
    asked = 0;
  }
  std::uint64_t own(std::uint64_t graph, std::uint64_t node) {
    return all.own(graph_at(graph), node_at(node), known);
  }
};

}  // namespace

TEST_CASE("Nodes of all graphs have different numbers, which CUPTI does not use") {
  Numbers numbers;
  std::set<std::uint64_t> seen;
  for (std::uint32_t graph = 1; graph <= 200; ++graph) {
    graphs[graph_at(graph)] = graph;
    for (std::uint64_t node = 1; node <= 200; ++node) seen.insert(numbers.own(graph, node));
  }
  CHECK(seen.size() == 200 * 200);
  CHECK(*seen.begin() >> 63 == 1);
  CHECK(asked == 200);  // once for each graph
  CHECK(seen.contains(numbers.own(17, 60)));
  CHECK(numbers.all.of_records(node_at(1)) == 8 + 7);
}

TEST_CASE("A graph in the place of another one has other nodes") {
  Numbers numbers;
  graphs[graph_at(1)] = 1;
  const std::uint64_t before = numbers.own(1, 2);
  CHECK(numbers.own(1, 2) == before);
  graphs[graph_at(1)] = 2;
  numbers.all.graph_ends();
  CHECK(numbers.own(1, 2) != before);
}

TEST_CASE("What CUPTI has no number of has none") {
  Numbers numbers;
  CHECK(numbers.own(1, 2) == 0);
  CHECK(numbers.own(0, 2) == 0);
  CHECK(numbers.own(1, 0) == 0);
  CHECK(numbers.all.of_records(nullptr) == 0);
  graphs[graph_at(1)] = 1;
  numbers.cupti.cuptiGetGraphNodeId = nullptr;
  numbers.all.graph_ends();
  CHECK(numbers.own(1, 2) == 0);
  numbers.cupti.cuptiGetGraphId = nullptr;
  numbers.all.graph_ends();
  CHECK(numbers.own(1, 2) == 0);
}
