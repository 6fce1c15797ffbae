// linked_client: a program that has cuptiSubscribe among its imports, as one linked against
// libcupti has; LD_PRELOAD says which it gets. Tries three times to subscribe, prints what it was
// answered.
#include <cupti.h>
#include <unistd.h>

#include <cstdio>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

extern "C" __attribute__((weak)) CUptiResult CUPTIAPI cuptiSubscribe(CUpti_SubscriberHandle*,
                                                                     CUpti_CallbackFunc, void*);

namespace {

void CUPTIAPI nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

}  // namespace

int main() {
  fake_launch("shared", 10);
  usleep(300'000);
  for (int i = 0; i < 3; ++i) {
    CUpti_SubscriberHandle subscriber = nullptr;
    std::printf("%d\n", cuptiSubscribe
                            ? static_cast<int>(cuptiSubscribe(&subscriber, &nothing, nullptr))
                            : -1);
  }
  fake_launch("shared", 10);
  return 4;
}
