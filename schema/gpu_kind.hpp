// The entries of the lists in schema/traits.hpp, in a separate header because many files only pass
// them on.
#pragma once

#include <array>
#include <string_view>

#include "schema/column.hpp"

namespace gpuprof::schema {

struct GpuKind : GpuWork {
  std::string_view kind;  // without "CUPTI_ACTIVITY_KIND_"
  std::string_view end;   // column with the end; the start is in "start"
  bool nvprofs;           // nvprof reported it
  bool stays_empty;       // current CUPTI versions deliver none
  const Table* table;

  constexpr bool is_kernel() const { return type == "kernel"; }
};

// A launch as tables of kernels have it. The last two say whether a carveout was requested, and
// which.
inline constexpr std::array<std::string_view, 11> launch_columns{"gridX",
                                                                 "gridY",
                                                                 "gridZ",
                                                                 "blockX",
                                                                 "blockY",
                                                                 "blockZ",
                                                                 "registersPerThread",
                                                                 "staticSharedMemory",
                                                                 "dynamicSharedMemory",
                                                                 "sharedMemoryCarveoutRequested",
                                                                 "isSharedMemoryCarveoutRequested"};

struct ApiKind {
  std::string_view kind;    // without "CUPTI_ACTIVITY_KIND_"
  std::string_view domain;  // "runtime", "driver" or "internal"
  bool nvprofs;             // nvprof reported it
};

}  // namespace gpuprof::schema
