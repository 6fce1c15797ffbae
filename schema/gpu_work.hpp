// What counts as work of a GPU: in summaries, traces, windows, excerpts, beside NVTX ranges, and
// for the time that a run's times count from. The view gpu_activities has the same.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace gpuprof::schema {

struct GpuWork {
  std::string_view kind;  // without "CUPTI_ACTIVITY_KIND_"
  std::string_view end;   // column with the end; the start is in "start"
  std::string_view type;  // as gpu_activities says
  // What summaries and traces call all rows; empty: each has a name of its own.
  std::string_view name;
  bool nvprofs;  // nvprof reported it
};

inline constexpr std::array gpu_work{
    GpuWork{"KERNEL", "end", "kernel", "", true},
    GpuWork{"CONCURRENT_KERNEL", "end", "kernel", "", true},
    GpuWork{"CDP_KERNEL", "end", "kernel", "", true},
    GpuWork{"MEMCPY", "end", "memcpy", "", true},
    GpuWork{"MEMCPY2", "end", "memcpy", "", true},
    GpuWork{"MEMSET", "end", "memset", "", true},
    GpuWork{"GRAPH_TRACE", "end", "graph", "[CUDA graph]", false},
    GpuWork{"MEM_DECOMPRESS", "stop", "decompress", "[CUDA memory decompression]", false},
};

namespace detail {

constexpr std::ptrdiff_t own_count() {
  return std::ranges::count_if(gpu_work, [](const GpuWork& work) { return !work.nvprofs; });
}

template <std::size_t Count, bool Nvprofs>
constexpr auto work_of() {
  std::array<GpuWork, Count> some{};
  std::size_t i = 0;
  for (const GpuWork& work : gpu_work) {
    if (work.nvprofs == Nvprofs) some[i++] = work;
  }
  return some;
}

}  // namespace detail

// Those that nvprof reported, and those that it did not.
inline constexpr auto nvprofs_gpu_work =
    detail::work_of<gpu_work.size() - detail::own_count(), true>();
inline constexpr auto own_gpu_work = detail::work_of<detail::own_count(), false>();

constexpr bool is_gpu_work(std::string_view kind) {
  return std::ranges::any_of(gpu_work, [&](const GpuWork& work) { return work.kind == kind; });
}

constexpr bool is_kernel_work(std::string_view kind) {
  return std::ranges::any_of(
      gpu_work, [&](const GpuWork& work) { return work.kind == kind && work.type == "kernel"; });
}

}  // namespace gpuprof::schema
