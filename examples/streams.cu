// Copies in every direction, memory sets and kernels in several streams.
//
//   streams [streams] [rounds]
//
// Prints "ok" and exits with 0 if the results are right. Defaults: 4 streams, 8 rounds. Performs
//   per stream and round   one HtoD, DtoD, DtoH and HtoH copy and one memset of 64 KiB, one kernel
//   once                   two HtoD and two DtoH copies of 1 MiB with pageable memory, half of them
//                          with the asynchronous call
#include <cuda_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

#include "examples/check.hpp"

constexpr int count = 16 * 1024;  // floats of a small copy
constexpr std::size_t bytes = count * sizeof(float);
constexpr int large_count = 256 * 1024;  // floats of a pageable copy
constexpr std::size_t large_bytes = large_count * sizeof(float);

__global__ void add_twice(const float* in, float* sum, int count) {
  const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
  if (i < count) sum[i] += 2.0f * in[i];
}

struct Lane {
  cudaStream_t stream;
  cudaEvent_t done;
  float *in, *out, *copy;  // pinned
  float *device_in, *device_sum, *device_copy;
};

int main(int argc, char** argv) {
  const int streams = argc > 1 ? std::atoi(argv[1]) : 4;
  const int rounds = argc > 2 ? std::atoi(argv[2]) : 8;

  std::vector<Lane> lanes(streams);
  for (int s = 0; s < streams; ++s) {
    Lane& lane = lanes[s];
    CHECK(cudaStreamCreateWithFlags(&lane.stream, cudaStreamNonBlocking));
    CHECK(cudaEventCreateWithFlags(&lane.done, cudaEventDisableTiming));
    CHECK(cudaMallocHost(&lane.in, bytes));
    CHECK(cudaMallocHost(&lane.out, bytes));
    CHECK(cudaMallocHost(&lane.copy, bytes));
    CHECK(cudaMalloc(&lane.device_in, bytes));
    CHECK(cudaMalloc(&lane.device_sum, bytes));
    CHECK(cudaMalloc(&lane.device_copy, bytes));
    for (int i = 0; i < count; ++i) lane.in[i] = static_cast<float>(i % 1000 + s);
  }

  for (int round = 0; round < rounds; ++round) {
    for (Lane& lane : lanes) {
      CHECK(cudaMemcpyAsync(lane.device_in, lane.in, bytes, cudaMemcpyHostToDevice, lane.stream));
      CHECK(cudaMemsetAsync(lane.device_sum, 0, bytes, lane.stream));
      add_twice<<<(count + 255) / 256, 256, 0, lane.stream>>>(lane.device_in, lane.device_sum,
                                                              count);
      CHECK(cudaGetLastError());
      CHECK(cudaMemcpyAsync(lane.device_copy, lane.device_sum, bytes, cudaMemcpyDeviceToDevice,
                            lane.stream));
      CHECK(
          cudaMemcpyAsync(lane.out, lane.device_copy, bytes, cudaMemcpyDeviceToHost, lane.stream));
      CHECK(cudaMemcpyAsync(lane.copy, lane.out, bytes, cudaMemcpyHostToHost, lane.stream));
    }
  }
  // The first stream waits for the others, and the host for the first.
  for (Lane& lane : lanes) {
    CHECK(cudaEventRecord(lane.done, lane.stream));
    CHECK(cudaStreamWaitEvent(lanes[0].stream, lane.done, 0));
  }
  CHECK(cudaStreamSynchronize(lanes[0].stream));

  std::vector<float> pageable(large_count, 3.0f), back(large_count), back_async(large_count);
  float *large, *large_async;
  CHECK(cudaMalloc(&large, large_bytes));
  CHECK(cudaMalloc(&large_async, large_bytes));
  CHECK(cudaMemcpy(large, pageable.data(), large_bytes, cudaMemcpyHostToDevice));
  CHECK(cudaMemcpyAsync(large_async, pageable.data(), large_bytes, cudaMemcpyHostToDevice,
                        lanes[0].stream));
  CHECK(cudaMemcpy(back.data(), large, large_bytes, cudaMemcpyDeviceToHost));
  CHECK(cudaMemcpyAsync(back_async.data(), large_async, large_bytes, cudaMemcpyDeviceToHost,
                        lanes[0].stream));
  CHECK(cudaDeviceSynchronize());

  bool right = back == pageable && back_async == pageable;
  for (const Lane& lane : lanes) {
    for (int i = 0; i < count; ++i) right &= lane.copy[i] == 2.0f * lane.in[i];
  }
  for (Lane& lane : lanes) {
    for (float* host : {lane.in, lane.out, lane.copy}) CHECK(cudaFreeHost(host));
    for (float* device : {lane.device_in, lane.device_sum, lane.device_copy}) {
      CHECK(cudaFree(device));
    }
    CHECK(cudaEventDestroy(lane.done));
    CHECK(cudaStreamDestroy(lane.stream));
  }
  CHECK(cudaFree(large));
  CHECK(cudaFree(large_async));
  std::puts(right ? "ok" : "wrong results");
  return right ? 0 : 1;
}
