// execs N PROGRAM [ARGUMENT…]: N launches, then becomes the other program.
#include <unistd.h>

#include <cstdlib>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  if (argc < 3) return 2;
  fake_launch("first_program", std::atoi(argv[1]));
  fake_synchronize();
  execv(argv[2], argv + 2);
  return 9;
}
