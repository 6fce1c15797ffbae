// other_python: as a program with an interpreter in it whose version nobody knows. It calls for
// memory once.
#include <cstdint>
#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

#pragma GCC visibility push(default)
extern "C" {
unsigned long Py_Version = 0x036300f0;  // 3.99.0
void* PyCode_Type = nullptr;
void* PyUnicode_Type = nullptr;
void* PyBytes_Type = nullptr;
std::uint64_t _PyRuntime[128];
int Py_IsFinalizing() { std::abort(); }
int Py_IsInitialized() { std::abort(); }
void* PyGILState_GetThisThreadState() { std::abort(); }
}
#pragma GCC visibility pop

[[gnu::noinline]] static void allocate() {
  fake_malloc(4096);
  asm volatile("" ::: "memory");
}

int main() {
  allocate();
  return 0;
}
