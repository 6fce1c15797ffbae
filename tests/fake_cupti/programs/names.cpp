// names STACK_KB NAME...: a thread with a stack of that size launches two kernels of each name.
#include <pthread.h>

#include <cstdio>
#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  pthread_attr_t attributes;
  pthread_attr_init(&attributes);
  pthread_attr_setstacksize(&attributes, static_cast<std::size_t>(std::atoi(argv[1])) << 10);
  const auto launch = [](void* names) -> void* {
    for (char** name = static_cast<char**>(names); *name; ++name) fake_launch(*name, 2);
    return nullptr;
  };
  pthread_t thread;
  if (pthread_create(&thread, &attributes, launch, argv + 2) != 0) return 3;
  pthread_join(thread, nullptr);
  fake_synchronize();
  std::puts("the program ends as it should");
  return 0;
}
