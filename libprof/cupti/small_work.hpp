// A small program that uses the GPU, as a library function.
#pragma once

namespace gpuprof::cupti {

// Runs a kernel of half a millisecond on the first device, alone and as a graph, and waits for
// both. Starts the driver, so it belongs in a dedicated process. Throws gpuprof::Error that names
// the call that failed; its exit code is no_driver if there is no driver, or none that starts.
void run_kernel_and_graph();

}  // namespace gpuprof::cupti
