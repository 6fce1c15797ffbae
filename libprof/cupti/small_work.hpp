// Small programs that use the GPU, as library functions.
#pragma once

namespace gpuprof::cupti {

// Runs a kernel of half a millisecond on the first device, alone and as a graph, and waits for
// both. Starts the driver, so it belongs in a dedicated process. Throws gpuprof::Error that names
// the call that failed; its exit code is no_driver if there is no driver, or none that starts.
void run_kernel_and_graph();

// Two ranks of NCCL, in this process and in one that it forks, on the first two devices, add up a
// number. `library`: NCCL's. Throws as above. Ends the process after some seconds.
void run_collective(const char* library);

}  // namespace gpuprof::cupti
