// external_ids: pushes ids around launches, through whatever cuptiActivityPushExternalCorrelationId
// is among its imports (LD_PRELOAD says which).
#include <cupti.h>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

extern "C" __attribute__((weak))
CUptiResult CUPTIAPI cuptiActivityPushExternalCorrelationId(CUpti_ExternalCorrelationKind,
                                                            std::uint64_t);
extern "C" __attribute__((weak)) CUptiResult CUPTIAPI
cuptiActivityPopExternalCorrelationId(CUpti_ExternalCorrelationKind, std::uint64_t*);

namespace {

constexpr auto custom = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;

// Functions of their own, so that main() cannot have read the imports before the collector changed
// them.
[[gnu::noinline]] void push(std::uint64_t id) {
  cuptiActivityPushExternalCorrelationId(custom, id);
}
[[gnu::noinline]] CUptiResult pop(std::uint64_t* last) {
  return cuptiActivityPopExternalCorrelationId(custom, last);
}

}  // namespace

int main() {
  if (!cuptiActivityPushExternalCorrelationId || !cuptiActivityPopExternalCorrelationId) return 3;
  fake_init();
  for (std::uint64_t step = 0; step < 3; ++step) {
    push(1000 + step);
    fake_launch("step", 2);
    std::uint64_t last = 0;
    if (pop(&last) != CUPTI_SUCCESS) return 4;
    if (last != 1000 + step) return 5;
  }
  return 0;
}
