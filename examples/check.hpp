// What the examples share: CHECK(call) prints what went wrong and leaves main with 1.
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
