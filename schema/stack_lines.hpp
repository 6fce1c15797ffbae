// Tables that only files with stacks have; most are computed at the end, as derived.hpp's are.
#pragma once

#include <array>
#include <string_view>

#include "schema/column.hpp"

namespace gpuprof::schema::tables {

inline constexpr Column stack_line_columns[]{
    stored("processId", Type::i64, "process"),
    stored("stack", Type::i64, "the stack: STACK_ENTRY.stack"),
    stored("line", Type::text,
           "FILE:LINE of its innermost function in the program's own files, or else of all"),
};
inline constexpr Table stack_line{.name = "STACK_LINE",
                                  .doc = "The line that a stack counts for.",
                                  .columns = stack_line_columns,
                                  .origin = Origin::computed,
                                  .key = "processId, stack",
                                  .without_rowid = true};

inline constexpr Column node_stack_columns[]{
    stored("processId", Type::i64, "process"),
    stored("node", Type::i64, "joins graphNodeId of kernels, copies and sets"),
    stored("since", Type::i64,
           "correlation id of the call since which this holds: the graph was instantiated, or "
           "updated; 0 = not known"),
    stored("stack", Type::i64,
           "of the call that made the node: STACK_ENTRY.stack; NULL = not known"),
    stored("correlationId", Type::i64, "of that call; NULL = not known"),
    stored("operation", Type::text,
           "NCCL's operation that the node is: 'AllReduce of 4000 bytes', several with commas "
           "between; NULL = none"),
};
inline constexpr Table node_stack{.name = "NODE_STACK",
                                  .doc = "Where the nodes of CUDA graphs were made.",
                                  .columns = node_stack_columns,
                                  .origin = Origin::computed,
                                  .key = "processId, node, since",
                                  .without_rowid = true};

inline constexpr Column native_line_columns[]{
    stored("processId", Type::i64, "process"),
    stored("frame", Type::i64, "the place: STACK_FRAME.frame"),
    stored("file", Type::text, "source file"),
    stored("line", Type::i64, "line in it"),
    stored("function", Type::text, "the function, readable"),
};
// Not in stack_tables: it is made where the modules are.
inline constexpr Table native_line{
    .name = "NATIVE_LINE",
    .doc = "With --native-stacks: source lines of native functions that have debug information.",
    .columns = native_line_columns,
    .origin = Origin::own,
    .key = "processId, frame",
    .without_rowid = true};

inline constexpr std::array stack_tables{&stack_line, &node_stack};

}  // namespace gpuprof::schema::tables
