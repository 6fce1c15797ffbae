// A library that never gives back what it allocates.
#include <stddef.h>

int keep(int (*allocate)(void**, size_t), size_t bytes) {
  void* memory = 0;
  return allocate(&memory, bytes);
}
