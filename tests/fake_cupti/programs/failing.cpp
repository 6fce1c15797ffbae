// failing [N]: N launches, of which every third is refused. Launch i has i + 1 blocks.
#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 9;
  int wrong = 0;
  for (int i = 0; i < n; ++i) {
    LaunchShape shape{.grid = {static_cast<std::uint32_t>(i) + 1, 1, 1}};
    const bool refused = i % 3 == 2;
    if (refused) shape.block[0] = 2048;
    const int result =
        fake_launch_shape(i % 2 ? LaunchBy::driver : LaunchBy::runtime, "sometimes", shape);
    wrong += refused != (result != 0);
  }
  fake_synchronize();
  return wrong;
}
