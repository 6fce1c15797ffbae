// payloads N: N ranges with a payload that has a layout, sends and receives in turn.
#include <cstdint>
#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 10;
  fake_launch("kernel", 1);
  for (int i = 0; i < n; ++i) {
    const struct {
      std::int32_t peer;
      std::uint32_t operation;
      std::uint64_t bytes;
    } message{-i, i % 2 ? 2u : 1u, std::uint64_t{1} << 40};
    fake_nvtx_push_payload(i % 2 ? "receive" : "send", &message, sizeof message);
    fake_nvtx_pop();
  }
  return 0;
}
