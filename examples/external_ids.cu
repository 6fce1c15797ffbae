// nvcc-options: -lcupti
//
// Does what a framework does to find its steps in a profile: pushes its own id around the CUDA
// calls of each step.
//
//   external_ids [steps]
//
// The ids are 1000, 1001 … of kind CUSTOM0; 7, of kind CUSTOM1, is around all of them. Prints "ok"
// and exits with 0. Default: 3 steps of a copy and a kernel.
#include <cuda_runtime.h>
#include <cupti.h>

#include <cstdio>
#include <cstdlib>

#include "examples/check.hpp"

__global__ void add_step(int* sum, const int* step) { *sum += *step; }

#define PUSHED(call)                                                   \
  do {                                                                 \
    if (const CUptiResult error = (call)) {                            \
      std::fprintf(stderr, "%s: CUptiResult %d\n", #call, int(error)); \
      return 1;                                                        \
    }                                                                  \
  } while (0)

int main(int argc, char** argv) {
  const int steps = argc > 1 ? std::atoi(argv[1]) : 3;
  int *sum, *step;
  CHECK(cudaMalloc(&sum, sizeof *sum));
  CHECK(cudaMalloc(&step, sizeof *step));
  CHECK(cudaMemset(sum, 0, sizeof *sum));

  uint64_t last = 0;
  PUSHED(cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, 7));
  for (int i = 0; i < steps; ++i) {
    PUSHED(
        cuptiActivityPushExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, 1000 + i));
    CHECK(cudaMemcpy(step, &i, sizeof i, cudaMemcpyHostToDevice));
    add_step<<<1, 1>>>(sum, step);
    PUSHED(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0, &last));
  }
  PUSHED(cuptiActivityPopExternalCorrelationId(CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM1, &last));

  int total = 0;
  CHECK(cudaMemcpy(&total, sum, sizeof total, cudaMemcpyDeviceToHost));
  const bool right = total == steps * (steps - 1) / 2 && last == 7;
  std::printf("%s\n", right ? "ok" : "wrong");
  return right ? 0 : 1;
}
