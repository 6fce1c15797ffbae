// Where gpuprof finds its own libraries and helper programs, and libcupti.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace gpuprof {

// PREFIX/lib/gpuprof, for this program as PREFIX/bin/gpuprof.
std::filesystem::path library_folder();

// gpuprof's own libcupti: in `folder`, that of its libraries, or if that is in the Python package,
// which contains none, in the package nvidia-cuda-cupti next to it. It need not exist.
std::string own_cupti(const std::filesystem::path& folder);

// The folder that has gpuprof's Python packages: site-packages if this program is in the package
// itself, otherwise PREFIX/share/gpuprof/python. It need not exist.
std::filesystem::path python_packages();
// The Python that they belong to: that of the environment which has them in its site-packages, or
// else "python3".
std::filesystem::path python_of(const std::filesystem::path& packages);

// For the collector, in a process with a driver: paths and names, and "mapped" for a copy that the
// target has already loaded. `chosen` is --cupti; if not empty, it is the only candidate.
std::vector<std::string> collector_cupti_candidates(const std::string& chosen);

// For CUPTI's host profiling API in this process (cupti::HostLibrary). Without a driver, versions
// known to need one are not tried: two libcuptis in one process would share the libnvperf_host.so
// of the first. The last candidate is a file with recorded answers. `folder`: where our libraries
// are.
std::vector<std::string> host_cupti_candidates(
    const std::string& chosen, const std::filesystem::path& folder = library_folder());

}  // namespace gpuprof
