// Whether this machine has a CUDA driver.
#pragma once

#include <string>

namespace gpuprof {

// The message to print if there is none.
inline constexpr char no_driver_library[] = "no CUDA driver (libcuda.so.1) on this machine";

// Loads the library to find out, but initializes nothing.
bool driver_found();

// The library's file, likewise; empty: there is none.
std::string driver_file();

}  // namespace gpuprof
