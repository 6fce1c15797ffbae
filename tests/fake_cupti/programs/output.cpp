// output KIB: KIB kibibytes of a known pattern on stdout, launches in between, two lines on stderr.
#include <cstdio>
#include <cstdlib>
#include <vector>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

int main(int argc, char** argv) {
  const int kib = argc > 1 ? std::atoi(argv[1]) : 1024;
  std::fputs("first line\n", stderr);
  std::vector<char> block(1024);
  for (int i = 0; i < kib; ++i) {
    for (std::size_t at = 0; at < block.size(); ++at) {
      block[at] = static_cast<char>(static_cast<std::size_t>(i) * 31 + at);
    }
    std::fwrite(block.data(), 1, block.size(), stdout);
    if (i % 16 == 0) fake_launch("printing", 1);
  }
  std::fputs("last line\n", stderr);
  return 0;
}
