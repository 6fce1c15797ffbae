// A kernel that runs on some of the GPU's multiprocessors, in a green context.
//
//   green_context [launches] [multiprocessors] [rounds]
//
// If rounds are given, a kernel of known work follows, in the whole GPU, in that green context and
// in a second one that has the other multiprocessors: 2,112 blocks of 256 threads, each of which
// multiplies and adds that number of times. Prints "ok" and exits with 0 if all launches ran.
// Defaults: 3 launches, 16 multiprocessors, no rounds. With a driver that lacks green contexts
// (CUDA 12.5 has everything needed) it says so and exits with 77.
#include <cuda.h>
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>

#include "examples/check.hpp"
#include "examples/driver.hpp"

namespace {

__global__ void count_up(int* counter) { atomicAdd(counter, 1); }

__global__ void known_work(int rounds, float* out) {
  float value = threadIdx.x;
  for (int i = 0; i < rounds; ++i) value = fmaf(value, 0.5f, 1.0f);
  if (value < 0) *out = value;  // never
}

}  // namespace

int main(int argc, char** argv) {
  const int launches = argc > 1 ? std::atoi(argv[1]) : 3;
  const unsigned multiprocessors = argc > 2 ? std::atoi(argv[2]) : 16;
  const int rounds = argc > 3 ? std::atoi(argv[3]) : 0;
  int* counter;
  CHECK(cudaMalloc(&counter, sizeof *counter));
  CHECK(cudaMemset(counter, 0, sizeof *counter));

  auto* get_resource = find<decltype(cuDeviceGetDevResource)>("cuDeviceGetDevResource", 12040);
  auto* split = find<decltype(cuDevSmResourceSplitByCount)>("cuDevSmResourceSplitByCount", 12040);
  auto* describe = find<decltype(cuDevResourceGenerateDesc)>("cuDevResourceGenerateDesc", 12040);
  auto* create = find<decltype(cuGreenCtxCreate)>("cuGreenCtxCreate", 12040);
  auto* make_stream = find<decltype(cuGreenCtxStreamCreate)>("cuGreenCtxStreamCreate", 12050);
  auto* destroy = find<decltype(cuGreenCtxDestroy)>("cuGreenCtxDestroy", 12040);

  CUdevResource all{}, part{}, rest{};
  DRIVER(get_resource(0, &all, CU_DEV_RESOURCE_TYPE_SM));
  unsigned groups = 1;
  DRIVER(split(&part, &groups, &all, &rest, 0, multiprocessors));
  CUdevResourceDesc description;
  DRIVER(describe(&description, &part, 1));
  CUgreenCtx context;
  DRIVER(create(&context, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
  CUstream stream;
  DRIVER(make_stream(&stream, context, CU_STREAM_NON_BLOCKING, 0));

  for (int i = 0; i < launches; ++i) count_up<<<1, 1, 0, stream>>>(counter);
  CHECK(cudaStreamSynchronize(stream));
  if (rounds > 0) {
    CUdevResourceDesc other_description;
    CUgreenCtx other;
    CUstream other_stream;
    DRIVER(describe(&other_description, &rest, 1));
    DRIVER(create(&other, other_description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
    DRIVER(make_stream(&other_stream, other, CU_STREAM_NON_BLOCKING, 0));
    for (const CUstream where : {CUstream{}, stream, other_stream}) {
      known_work<<<2112, 256, 0, where>>>(rounds, nullptr);
      CHECK(cudaStreamSynchronize(where));
    }
    CHECK(cudaStreamDestroy(other_stream));
    DRIVER(destroy(other));
  }
  int counted = 0;
  CHECK(cudaMemcpy(&counted, counter, sizeof counted, cudaMemcpyDeviceToHost));
  CHECK(cudaStreamDestroy(stream));
  DRIVER(destroy(context));
  const bool right = counted == launches;
  std::printf("%s\n", right ? "ok" : "wrong");
  return right ? 0 : 1;
}
