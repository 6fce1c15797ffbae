// hello [N]: every kind of record, in known numbers: N launches through the runtime and as many
// through the driver, N copies and sets, one allocation, one graph of 3 kernels, one module.
#include <cstdio>
#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 10;
  const std::uint64_t memory = fake_malloc(4096);
  for (int i = 0; i < n; ++i) {
    fake_copy(1, 4096);
    fake_set(1024);
    fake_launch("_Z6vectorPfi", 1);
    fake_driver_launch("_ZN3lib6directILi4EEEvPKf", 1);
  }
  fake_graph_launch("_Z4nodev", 3);
  fake_module_load();
  fake_synchronize();
  fake_free(memory);
  std::puts("hello from the target");
  return 0;
}
