// second_client first|last PATH: subscribes to the CUPTI at PATH itself, before or after the
// profiler does. Prints what it was answered.
#include <cupti.h>
#include <dlfcn.h>

#include <cstdio>
#include <string_view>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

namespace {

void CUPTIAPI nothing(void*, CUpti_CallbackDomain, CUpti_CallbackId, const void*) {}

void subscribe(const char* path) {
  void* library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
  const auto subscribe =
      library ? reinterpret_cast<decltype(&cuptiSubscribe)>(dlsym(library, "cuptiSubscribe"))
              : nullptr;
  CUpti_SubscriberHandle subscriber = nullptr;
  std::printf("%d\n", subscribe ? static_cast<int>(subscribe(&subscriber, &nothing, nullptr)) : -1);
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  const bool first = std::string_view(argv[1]) == "first";
  if (first) subscribe(argv[2]);
  fake_launch("shared", 10);
  if (!first) subscribe(argv[2]);
  fake_launch("shared", 10);
  return 4;
}
