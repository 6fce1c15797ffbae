// modules KERNEL TIMES [unload]: loads a module twice, launches a kernel of it so often, unloads it
// if told; then waits for the device.
#include <cstdlib>
#include <cstring>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const char* const kernel = argc > 1 ? argv[1] : "first";
  const int times = argc > 2 ? std::atoi(argv[2]) : 10;
  const bool unload = argc > 3 && std::strcmp(argv[3], "unload") == 0;
  fake_init();
  const std::uint32_t once = fake_module_load();
  const std::uint32_t twice = fake_module_load();
  fake_launch(kernel, times);
  fake_synchronize();
  if (unload) {
    fake_module_unload(twice);
    fake_module_unload(once);
  }
  return 0;
}
