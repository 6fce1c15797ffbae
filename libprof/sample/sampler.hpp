// gpuprof-sampler: samples what the launcher asks for, and communicates with it like a collector,
// in the role of a sampler (wire/messages.hpp).
#pragma once

#include <string>

namespace gpuprof::sample {

// Connects to the launcher and samples until told to stop or the launcher is gone. Returns the
// program's exit code. Use a dedicated process: the driver stays loaded, and a hanging CUPTI call
// can only be abandoned by exiting.
int run_sampler(const std::string& socket_path);

}  // namespace gpuprof::sample
