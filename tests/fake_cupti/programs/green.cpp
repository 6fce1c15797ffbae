// green [current]: launches into the whole device and into green contexts that have 1 and 3 of its
// 4 instances of each unit, in turn; through streams of these, or with them current.
#include <cstring>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const bool current = argc > 1 && std::strcmp(argv[1], "current") == 0;
  fake_launch_shape(LaunchBy::driver, "_Z5wholev", {.grid = {64, 1, 1}});
  void* parts[] = {fake_green_context_create(1), fake_green_context_create(3)};
  fake_green_stream_create(parts[0], 1);
  fake_green_stream_create(parts[1], 2);
  const char* names[] = {"_Z7quarterv", "_Z8quartersv"};
  for (int round = 0; round < 2; ++round) {
    for (std::uint32_t part = 0; part < 2; ++part) {
      if (current) fake_context_set(parts[part]);
      const std::uint32_t stream = current ? 0 : part + 1;
      fake_launch_shape(LaunchBy::driver, names[part], {.grid = {64, 1, 1}, .stream = stream});
      fake_context_set(nullptr);
    }
    fake_launch_shape(LaunchBy::driver, "_Z5wholev", {.grid = {64, 1, 1}});
  }
  fake_synchronize();
  return 0;
}
