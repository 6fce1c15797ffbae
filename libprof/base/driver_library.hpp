// Whether this machine has a CUDA driver.
#pragma once

namespace gpuprof {

// What is said where there is none.
inline constexpr char no_driver_library[] = "no CUDA driver (libcuda.so.1) on this machine";

// Loads it for the question, and starts nothing of it.
bool driver_found();

}  // namespace gpuprof
