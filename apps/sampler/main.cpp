// gpuprof-sampler: samples counters of the GPUs over time, beside the programs that are profiled.
//
//   gpuprof-sampler SOCKET    the launcher's, which says what to sample and when to stop
//
// A program of its own: it measures whole devices, and what it does costs no target anything.
#include <signal.h>

#include <cstdio>
#include <cstdlib>

#include "libprof/sample/sampler.hpp"

int main(int count, char** words) {
  if (count != 2) return 1;
  signal(SIGPIPE, SIG_IGN);
  const int code = gpuprof::sample::run_sampler(words[1]);
  std::fflush(nullptr);
  // No more than this: taking the driver down takes long, and may hang.
  std::_Exit(code);
}
