// shapes [N]: N launches, over and over: two kernels with three grids each, in turn, the second one
// on stream 1.
#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 12;
  constexpr LaunchShape shapes[] = {
      {.grid = {8, 1, 1}, .block = {128, 1, 1}},
      {.grid = {16, 2, 1}, .block = {64, 2, 1}, .stream = 1},
      {.grid = {100, 1, 1}, .block = {256, 1, 1}},
      {.grid = {4, 4, 4}, .block = {33, 1, 1}, .stream = 1},
      {.grid = {1, 1, 1}, .block = {1024, 1, 1}},
      {.grid = {1, 1, 1}, .block = {1, 1, 1}, .stream = 1},
  };
  for (int i = 0; i < n; ++i) {
    const LaunchShape& shape = shapes[i % 6];
    fake_launch_shape(i % 4 < 2 ? LaunchBy::runtime : LaunchBy::driver,
                      shape.stream ? "_Z5saxpyfPKfPf" : "_Z4copyPKfPf", shape);
  }
  fake_synchronize();
  return 0;
}
