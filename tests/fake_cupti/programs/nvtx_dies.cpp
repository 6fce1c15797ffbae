// nvtx_dies N: N ranges of 10 texts, a mark whose payload is a text, and a range in which the
// program is killed.
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <signal.h>

#include <cstdio>
#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int n = argc > 1 ? std::atoi(argv[1]) : 100;
  fake_launch("kernel", 1);
  char text[16];
  for (int i = 0; i < n; ++i) {
    std::snprintf(text, sizeof text, "step %d", i % 10);
    fake_nvtx_push(text);
    fake_nvtx_pop();
  }
  const nvtxPayloadData_t payload{NVTX_PAYLOAD_ENTRY_TYPE_CSTRING, 10, "last words"};
  nvtxMarkPayload(nullptr, &payload, 1);
  fake_nvtx_push("open");
  raise(SIGKILL);
  return 0;
}
