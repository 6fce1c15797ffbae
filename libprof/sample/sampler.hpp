// gpuprof-sampler: samples what the launcher asks for, and speaks with it as a collector does, in
// the role of a sampler (wire/messages.hpp).
#pragma once

#include <string>

namespace gpuprof::sample {

// Connects to the launcher and samples until that says stop or is gone. The exit code of the
// program. Belongs into a process of its own: the driver stays in it, and a call of CUPTI's that
// hangs is left behind by leaving the process.
int run_sampler(const std::string& socket_path);

}  // namespace gpuprof::sample
