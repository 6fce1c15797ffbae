// Variables of the environment: which a profile tells of, and which bring the collector into a
// target.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace gpuprof::launch {

// Those that say how CUDA and what is built on it work, and which process of a job this is. Exact
// names, for what begins like one of them may be a secret: NVIDIA_API_KEY, SLURM_JWT.
std::span<const std::string_view> recorded_variables();

// Whether a name says that the value is a secret. Such a variable is never recorded, whatever the
// list says.
bool names_secret(std::string_view name);

// The recorded ones out of `environment` ("NAME=value", up to a null pointer), by name and value.
std::vector<std::pair<std::string, std::string>> recorded(
    const char* const* environment, std::span<const std::string_view> names = recorded_variables());

// Who else than CUDA and NVTX is to load the collector.
struct Runtimes {
  bool openacc = false;
  bool openmp = false;
};

// "NAME=value", for a target and its children. What OpenACC and OpenMP load anyway stays behind the
// collector.
std::vector<std::string> injection(const std::string& collector, const std::string& socket,
                                   Runtimes runtimes);

}  // namespace gpuprof::launch
