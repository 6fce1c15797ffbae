// devices DEVICES [N]: a thread for each device launches N kernels on its primary context and N in
// a context of its own, in turn. Launch i on device d has 100 * d + i + 1 blocks. Wants
// FAKE_CUDA_DEVICES.
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int devices = argc > 1 ? std::atoi(argv[1]) : 2;
  const int n = argc > 2 ? std::atoi(argv[2]) : 20;
  fake_init();
  std::vector<std::thread> threads;
  for (int device = 0; device < devices; ++device) {
    threads.emplace_back([device, n] {
      fake_device_set(device);
      void* own = fake_context_create();
      const std::string name = "device_" + std::to_string(device);
      for (int i = 0; i < n; ++i) {
        const LaunchShape shape{.grid = {static_cast<std::uint32_t>(100 * device + i + 1), 1, 1}};
        fake_context_set(nullptr);
        fake_launch_shape(LaunchBy::runtime, (name + "_primary").c_str(), shape);
        fake_context_set(own);
        fake_launch_shape(LaunchBy::runtime, (name + "_own").c_str(), shape);
      }
      fake_synchronize();
      fake_context_destroy(own);
    });
  }
  for (std::thread& thread : threads) thread.join();
  return 0;
}
