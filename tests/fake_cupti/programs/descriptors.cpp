// descriptors [N]: N launches, closes every descriptor from 3 on, opens files under the numbers
// that came free, N launches more. Ends with 3 when those files hold what it did not write.
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int n = argc > 1 ? atoi(argv[1]) : 50;
  fake_launch("before", n);
  for (int number = 3; number < 1024; ++number) close(number);
  std::vector<int> files;
  for (int i = 0; i < 300; ++i) {
    char name[] = "/tmp/gpuprof-test-XXXXXX";
    const int file = mkstemp(name);
    unlink(name);
    if (file >= 0) files.push_back(file);
  }
  fake_launch("after", n);
  usleep(100'000);
  for (const int file : files) {
    struct stat status {};
    if (fstat(file, &status) != 0 || status.st_size != 0) return 3;
  }
  return 0;
}
