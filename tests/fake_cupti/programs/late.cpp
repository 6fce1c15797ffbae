// late fatal|unfinished|static: what happens near or after the end.
//   fatal       CUPTI gives up in the middle
//   unfinished  the last kernel is still running when the program ends
//   static      a destructor of the program makes CUDA calls after exit handlers have run
#include <string_view>

#include "tests/fake_cupti/cuda/fake_cuda.hpp"

namespace {

struct Goodbye {
  bool wanted = false;
  ~Goodbye() {
    if (wanted) fake_launch("in_destructor", 3);
  }
} goodbye;

}  // namespace

int main(int argc, char** argv) {
  const std::string_view how = argc > 1 ? argv[1] : "fatal";
  fake_launch("before", 10);
  if (how == "fatal") fake_state_error();
  if (how == "unfinished") fake_kernel_time(200'000'000);
  goodbye.wanted = how == "static";
  fake_launch("last", 1);
  return 0;
}
