// What several rules read, and why rules abstain.
#pragma once

#include <string_view>

#include "libprof/conclude/findings/rule.hpp"

namespace gpuprof::findings {

inline constexpr std::string_view computed_at_the_end =
    "The file lacks what gpuprof computes when a run is over; for a run that was killed, gpuprof "
    "finish does it.";
inline constexpr std::string_view calls_not_recorded =
    "Calls of CUDA are not in the file; they are recorded unless --trace leaves out api.";
inline constexpr std::string_view not_of_gpuprof =
    "The file has nvprof's tables only, without the names of numbers.";
inline constexpr std::string_view no_copies = "The file has no table of copies.";
inline constexpr std::string_view no_sets = "The file has no table of memory sets.";
inline constexpr std::string_view no_kernels =
    "Kernels are not in the file, or ran one at a time (--concurrent-kernels off).";
inline constexpr std::string_view no_kernel_names = "The file has no names of kernels.";
inline constexpr std::string_view no_devices = "The file does not describe its devices.";
inline constexpr std::string_view one_gpu =
    "Not more than one GPU worked; gpuprof cluster compares the ranks of several files.";
inline constexpr std::string_view no_overheads =
    "Overheads are not in the file; they are recorded unless --trace leaves out overhead.";
inline constexpr std::string_view no_migrations =
    "Managed memory did not migrate, or migrations were not recorded.";
inline constexpr std::string_view no_links = "The file does not say how the GPU is connected.";
inline constexpr std::string_view no_clocks =
    "Clocks are not in the file; --system-profiling on records them.";
inline constexpr std::string_view no_metrics =
    "The metrics that would decide are not in the file; --metrics @findings measures those of all "
    "rules.";
inline constexpr std::string_view no_samples =
    "Samples of warps are not in the file; --pc-sampling takes them.";

inline constexpr Need kernels{
    .table = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", .otherwise = no_kernels, .rows = true};
inline constexpr Need kernel_names{
    .table = "StringTable", .otherwise = no_kernel_names, .rows = true};
inline constexpr Need copies{.table = "CUPTI_ACTIVITY_KIND_MEMCPY", .otherwise = no_copies};
inline constexpr Need devices{
    .table = "CUPTI_ACTIVITY_KIND_DEVICE", .otherwise = no_devices, .rows = true};
inline constexpr Need calls{.table = "api_calls", .otherwise = calls_not_recorded, .rows = true};
inline constexpr Need names_of_calls{
    .table = "API_NAME", .otherwise = not_of_gpuprof, .rows = true};
inline constexpr Need gaps{.table = "GPU_GAP", .otherwise = computed_at_the_end};
inline constexpr Need device_times{
    .table = "DEVICE_TIME", .otherwise = computed_at_the_end, .rows = true};
inline constexpr Need kernel_times{
    .table = "KERNEL_TIME", .otherwise = computed_at_the_end, .rows = true};

}  // namespace gpuprof::findings
