// Which activity kinds are work of a GPU: in summaries, traces, windows, excerpts, beside NVTX
// ranges, and for the time that a run's times count from. The view gpu_activities has the same.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuprof::schema {

struct GpuKind {
  std::string_view kind;  // without "CUPTI_ACTIVITY_KIND_"
  std::string_view end;   // column with the end; the start is in "start"
  std::string_view type;  // as gpu_activities says
  // Column that tells what a row is called; empty: all rows are called `name`.
  std::string_view named_by;
  std::string_view name;
  bool nvprofs;  // nvprof reported it
};

inline constexpr std::array gpu_kinds{
    GpuKind{"KERNEL", "end", "kernel", "name", "", true},
    GpuKind{"CONCURRENT_KERNEL", "end", "kernel", "name", "", true},
    GpuKind{"CDP_KERNEL", "end", "kernel", "name", "", true},
    GpuKind{"MEMCPY", "end", "memcpy", "copyKind", "", true},
    GpuKind{"MEMCPY2", "end", "memcpy", "copyKind", "", true},
    GpuKind{"MEMSET", "end", "memset", "", "[CUDA memset]", true},
    GpuKind{"GRAPH_TRACE", "end", "graph", "", "[CUDA graph]", false},
    GpuKind{"MEM_DECOMPRESS", "stop", "decompress", "", "[CUDA memory decompression]", false},
};

namespace detail {

constexpr std::ptrdiff_t own_count() {
  return std::ranges::count(gpu_kinds, false, &GpuKind::nvprofs);
}

template <std::size_t Count, bool Nvprofs>
constexpr auto kinds_of() {
  std::array<GpuKind, Count> some{};
  std::size_t i = 0;
  for (const GpuKind& each : gpu_kinds) {
    if (each.nvprofs == Nvprofs) some[i++] = each;
  }
  return some;
}

}  // namespace detail

// Those that nvprof reported, and those that it did not.
inline constexpr auto nvprofs_gpu_kinds =
    detail::kinds_of<gpu_kinds.size() - detail::own_count(), true>();
inline constexpr auto own_gpu_kinds = detail::kinds_of<detail::own_count(), false>();

// nullptr: it is no work of a GPU.
constexpr const GpuKind* gpu_kind(std::string_view kind) {
  const auto found = std::ranges::find(gpu_kinds, kind, &GpuKind::kind);
  return found == gpu_kinds.end() ? nullptr : &*found;
}

constexpr bool is_gpu_kind(std::string_view kind) { return gpu_kind(kind) != nullptr; }

constexpr bool is_kernel_kind(std::string_view kind) {
  const GpuKind* found = gpu_kind(kind);
  return found && found->type == "kernel";
}

}  // namespace gpuprof::schema
