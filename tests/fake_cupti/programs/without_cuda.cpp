// without_cuda: no CUDA at all. Ends with 6.
#include <cstdio>

int main() {
  std::puts("no CUDA here");
  return 6;
}
