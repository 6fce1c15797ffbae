// Which calls made the nodes of CUDA graphs: packed rows (schema/rows.hpp) sent by collectors. Only
// files in which calls have places have the table: the stream brings it, and its docs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "schema/column.hpp"
#include "schema/rows.hpp"

namespace gpuprof::schema {

struct GraphNode {
  struct Row {
    std::uint64_t node;
    std::optional<std::uint64_t> source;
    std::uint32_t correlation;
  };

  static constexpr std::array fields{
      field<Row>("node",
                 "joins graphNodeId of kernels, copies and sets of its process; negative: a number "
                 "of gpuprof's, of a node in whose place it may be cloned",
                 [](const Row& row) { return row.node; }),
      field<Row>("source", "GRAPH_NODE.node of the one that it is a clone of; NULL = of none",
                 [](const Row& row) { return row.source; }),
      field<Row>("correlationId", "joins the API call that made it; NULL = not known",
                 [](const Row& row) { return Correlation{row.correlation}; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{
      .name = "GRAPH_NODE",
      .doc =
          "The calls that made nodes of CUDA graphs, in runs with stacks. Instantiating a graph "
          "clones its nodes.",
      .columns = columns,
      .origin = Origin::own,
      .row_doc = row_id_doc,
      .with_process = true};
  static constexpr std::uint32_t id = first_row_table + 13;
};

}  // namespace gpuprof::schema
