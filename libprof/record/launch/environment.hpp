// Environment variables: those a profile records, and those that inject the collector into a
// target.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuprof::launch {

// Variables that configure CUDA and software built on it, or identify this process within a job.
// Exact names, because others with the same prefix may be secrets: NVIDIA_API_KEY, SLURM_JWT.
std::span<const std::string_view> recorded_variables();

// Whether the name suggests that the value is a secret. Such a variable is never recorded, even if
// listed.
bool names_secret(std::string_view name);

// The recorded variables in `environment` ("NAME=value", terminated by a null pointer), as name and
// value.
std::vector<std::pair<std::string, std::string>> recorded(
    const char* const* environment, std::span<const std::string_view> names = recorded_variables());

// The runtimes, apart from CUDA and NVTX, that should load the collector.
struct Runtimes {
  bool openacc = false;
  bool openmp = false;
};

// A tool other than the collector that NVTX_INJECTION64_PATH names, whose place injection() gives
// to the collector; empty: no such tool is named.
std::string displaced_nvtx_tool(const std::string& collector);

// The profiler plug-in other than the collector that the user has NCCL load, which stays; empty:
// none.
std::string nccl_plugin(const std::string& collector);

// "NAME=value" settings for a target and its children. Tools that OpenACC and OpenMP would load
// anyway are kept, after the collector.
std::vector<std::string> injection(const std::string& collector, const std::string& socket,
                                   Runtimes runtimes);

}  // namespace gpuprof::launch
