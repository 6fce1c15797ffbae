// What NCCL reports of its operations: packed rows (schema/rows.hpp) sent by collectors. Only files
// of programs that use NCCL have the tables: the stream brings them, and their docs.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string_view>

#include "schema/column.hpp"
#include "schema/rows.hpp"

namespace gpuprof::schema {

struct NcclOperation {
  struct Row {
    std::uint64_t time;
    std::uint32_t thread;
    std::uint64_t communicator;
    std::string_view name;
    std::optional<std::int32_t> rank, ranks;
    std::string_view function;
    std::uint64_t sequence;
    std::string_view type;
    std::uint64_t count;
    std::optional<std::uint64_t> bytes;
    std::optional<std::int32_t> root, peer;
    std::string_view algorithm, protocol;
    std::optional<std::uint8_t> channels;
    std::optional<bool> captured;
    std::optional<std::uint64_t> node;
    std::uint32_t correlation;
  };

  static constexpr std::array fields{
      field<Row>("time", "[ns] when NCCL had launched it, on CUPTI's clock",
                 [](const Row& row) { return row.time; }),
      field<Row>("threadId", "thread that launched it", [](const Row& row) { return row.thread; }),
      field<Row>("communicator", "NCCL's id of the communicator, the same in all its ranks",
                 [](const Row& row) { return row.communicator; }),
      field<Row>("communicatorName", "the program's name for it: StringTable id; NULL = none",
                 [](const Row& row) { return StringId{row.name}; }),
      field<Row>("rank", "rank of the process in it; NULL = not known",
                 [](const Row& row) { return row.rank; }),
      field<Row>("ranks", "[count] its ranks; NULL = not known",
                 [](const Row& row) { return row.ranks; }),
      field<Row>("function", "AllReduce, Send, ...: StringTable id",
                 [](const Row& row) { return StringId{row.function}; }),
      field<Row>("sequence",
                 "counts the operations of this function in the communicator, from 0. Of a "
                 "collective it is the same in all ranks",
                 [](const Row& row) { return row.sequence; }),
      field<Row>("dataType", "type of an element: StringTable id",
                 [](const Row& row) { return StringId{row.type}; }),
      field<Row>("count", "[count] elements of a rank, as the program passed them to NCCL",
                 [](const Row& row) { return row.count; }),
      field<Row>("bytes", "[bytes] size of these; NULL = a type of unknown size",
                 [](const Row& row) { return row.bytes; }),
      field<Row>("root", "rank that sends to or receives from all; NULL = none",
                 [](const Row& row) { return row.root; }),
      field<Row>("peer", "rank that a send is for or a receive is from; NULL = a collective",
                 [](const Row& row) { return row.peer; }),
      field<Row>("algorithm",
                 "RING, TREE, NVLS, ...: StringTable id; CE = by copy engines, without a kernel; "
                 "NULL = not known",
                 [](const Row& row) { return StringId{row.algorithm}; }),
      field<Row>("protocol", "LL, LL128, SIMPLE: StringTable id; NULL = not known",
                 [](const Row& row) { return StringId{row.protocol}; }),
      field<Row>("channels", "[count] channels that it uses; NULL = not known",
                 [](const Row& row) { return row.channels; }),
      field<Row>("captured", "1 = into a CUDA graph; NULL = NCCL before 2.28 does not say",
                 [](const Row& row) -> std::optional<std::uint8_t> {
                   if (!row.captured) return std::nullopt;
                   return std::uint8_t{*row.captured};
                 }),
      field<Row>("graphNode",
                 "the node that its kernel became: NCCL_NODE.source; NULL = it was not captured",
                 [](const Row& row) { return row.node; }),
      field<Row>("correlationId",
                 "joins the launch and the kernel, which all operations of a group share; "
                 "NULL = not known",
                 [](const Row& row) { return Correlation{row.correlation}; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{
      .name = "NCCL_OPERATION",
      .doc =
          "Operations of NCCL, as it reports them to profilers. One captured into a CUDA graph "
          "has one row, however often the graph is launched.",
      .columns = columns,
      .origin = Origin::own,
      .row_doc = row_id_doc,
      .with_process = true};
  static constexpr std::uint32_t id = first_row_table + 20;
};

struct NcclNode {
  struct Row {
    std::uint64_t node, source;
  };

  static constexpr std::array fields{
      field<Row>("node", "joins graphNodeId of kernels of its process",
                 [](const Row& row) { return row.node; }),
      field<Row>("source", "joins NCCL_OPERATION.graphNode, of the same process",
                 [](const Row& row) { return row.source; }),
  };
  static constexpr auto& columns = columns_of_rows<fields>;
  static constexpr Table table{
      .name = "NCCL_NODE",
      .doc =
          "Nodes of CUDA graphs that are kernels of NCCL: those captured, and their clones in "
          "graphs that were instantiated.",
      .columns = columns,
      .origin = Origin::own,
      .row_doc = row_id_doc,
      .with_process = true};
  static constexpr std::uint32_t id = first_row_table + 21;
};

namespace tables {

inline constexpr Column nccl_kernel_columns[]{
    stored("name", Type::i64, "name of the kernel: StringTable id"),
};
inline constexpr Table nccl_kernel{
    .name = "NCCL_KERNEL",
    .doc =
        "Names of kernels that communicate: those of NCCL's operations, and in processes that "
        "did not report the kernels of all of theirs, those that begin with nccl.",
    .columns = nccl_kernel_columns,
    .origin = Origin::computed,
    .key = "name",
    .without_rowid = true};

}  // namespace tables

}  // namespace gpuprof::schema
