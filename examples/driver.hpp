// Shared by the examples that call the driver without being linked to it: find() looks a function
// up through the runtime, and DRIVER(call) prints an error and makes main return 1.
#pragma once

#include <cuda.h>
#include <cuda_runtime.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>

// `since`: the CUDA version whose form of the function is wanted. Ends the program with 77 if the
// driver has none.
template <class Function>
Function* find(const char* name, unsigned since) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found;
  if (cudaGetDriverEntryPointByVersion(name, &function, since, cudaEnableDefault, &found) !=
          cudaSuccess ||
      found != cudaDriverEntryPointSuccess) {
    std::fprintf(stderr, "%s: this driver has no %s\n", program_invocation_short_name, name);
    std::exit(77);
  }
  return reinterpret_cast<Function*>(function);
}

#define DRIVER(call)                                                \
  do {                                                              \
    if (const CUresult error = (call)) {                            \
      std::fprintf(stderr, "%s: CUresult %d\n", #call, int(error)); \
      return 1;                                                     \
    }                                                               \
  } while (0)
