// Shared by the examples: CHECK(call) prints an error and makes main return 1.
#pragma once

#include <cstdio>

#define CHECK(call)                                                       \
  do {                                                                    \
    const cudaError_t error = (call);                                     \
    if (error != cudaSuccess) {                                           \
      std::fprintf(stderr, "%s: %s\n", #call, cudaGetErrorString(error)); \
      return 1;                                                           \
    }                                                                     \
  } while (0)
