// What derived.hpp's tables are, of tables that only some files have.
#pragma once

#include <array>

#include "schema/nccl.hpp"
#include "schema/stack_lines.hpp"

namespace gpuprof::schema::tables {

inline constexpr std::array derived_on_demand{&stack_line, &node_stack, &nccl_kernel};

}  // namespace gpuprof::schema::tables
