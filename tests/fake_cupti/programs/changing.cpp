// changing FILE same|name|grid|more|fewer [RUN]: 10 launches. FILE counts the runs; from the second
// on, or in that RUN only, the sixth launch is another kernel, has another grid, comes twice, or is
// left out.
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const std::string_view how = argv[2];
  int runs = 0;
  if (std::FILE* file = std::fopen(argv[1], "r")) {
    if (std::fscanf(file, "%d", &runs) != 1) runs = 0;
    std::fclose(file);
  }
  if (std::FILE* file = std::fopen(argv[1], "w")) {
    std::fprintf(file, "%d\n", runs + 1);
    std::fclose(file);
  }
  const bool changed = argc > 3 ? runs + 1 == std::atoi(argv[3]) : runs > 0;
  for (std::uint32_t i = 0; i < 10; ++i) {
    const bool other = changed && i == 5;
    const char* name = i % 2 ? "odd" : "even";
    LaunchShape shape{.grid = {i + 1, 1, 1}};
    if (other && how == "fewer") continue;
    if (other && how == "name") name = "other";
    if (other && how == "grid") shape.grid[0] = 1000;
    fake_launch_shape(LaunchBy::runtime, name, shape);
    if (other && how == "more") fake_launch_shape(LaunchBy::runtime, name, shape);
  }
  fake_synchronize();
  return 0;
}
