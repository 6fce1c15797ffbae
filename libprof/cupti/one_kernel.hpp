// The smallest program that uses the GPU, as a library function.
#pragma once

namespace gpuprof::cupti {

// Runs one kernel on the first device and waits for it. Starts the driver, so it belongs in a
// dedicated process. Throws gpuprof::Error that names the call that failed; its exit code is
// no_driver if there is no driver, or none that starts.
void run_one_kernel();

}  // namespace gpuprof::cupti
