// contexts: a second context, made and destroyed.
#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main() {
  fake_launch("first", 3);
  void* context = fake_context_create();
  fake_launch("second", 3);
  fake_context_destroy(context);
  fake_launch("third", 3);
  return 0;
}
