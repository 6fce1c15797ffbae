// The variables that name a library for CUDA or NVTX to load into every program.
#pragma once

#include <map>
#include <string>

#include "libprof/doctor/check.hpp"

namespace gpuprof::doctor {

using Environment = std::map<std::string, std::string, std::less<>>;

// Whether the path is that of a collector of gpuprof's.
bool is_collector(const std::string& path);

// What is said of such a variable in an environment.
Findings about_injection(const System& system, const Environment& environment,
                         const std::string& name);

}  // namespace gpuprof::doctor
