// Whether this machine has a CUDA driver.
#pragma once

namespace gpuprof {

// The message to print if there is none.
inline constexpr char no_driver_library[] = "no CUDA driver (libcuda.so.1) on this machine";

// Loads the library to find out, but initializes nothing.
bool driver_found();

}  // namespace gpuprof
