// What is not collected while CUPTI traces kernels one at a time (KERNEL).
#pragma once

#include "schema/activity/gpu_work.hpp"
#include "schema/kind.hpp"

namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT {

// 13.4 and 13.5 deliver these along with KERNEL, but refuse to go back to KERNEL after the launch
// of a graph (measured: docs/measurements/history.md).
constexpr bool needs_concurrent_kernels(const KindInfo& kind) {
  return kind.group == Group::jit || kind.group == Group::graph || kind.group == Group::host ||
         kind.id == MemDecompress::info.id;
}

}  // namespace gpuprof::schema::inline GPUPROF_SCHEMA_VARIANT
