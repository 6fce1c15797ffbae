// Where gpuprof finds what was built with it, and libcupti.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gpuprof::launch {

// PREFIX/lib/gpuprof of this program, PREFIX/bin/gpuprof.
std::filesystem::path library_folder();

// For the collector, in a process with a driver: paths and names, and "mapped" for one that the
// target has loaded already. `chosen` is --cupti; if it is not empty, nothing else.
std::vector<std::string> collector_cupti_candidates(const std::string& chosen);

// For CUPTI's host profiling API in this process (cupti::HostLibrary). Where there is no driver,
// none is tried that is known to need one: two libcuptis in one process would share the
// libnvperf_host.so of the first; the last is a file with what one said. `folder`: where our
// libraries are.
std::vector<std::string> host_cupti_candidates(
    const std::string& chosen, const std::filesystem::path& folder = library_folder());

}  // namespace gpuprof::launch
