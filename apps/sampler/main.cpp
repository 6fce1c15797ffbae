// gpuprof-sampler: samples counters of the GPUs over time, alongside the profiled programs.
//
//   gpuprof-sampler SOCKET    the launcher's, which says what to sample and when to stop
//
// A separate process: it measures whole devices, and its work does not burden the targets.
#include <signal.h>

#include <cstdio>
#include <cstdlib>

#include "libprof/sample/sampler.hpp"

// Called by apps/start.cpp.
extern "C" __attribute__((visibility("default"))) int gpuprof_sampler_main(int count,
                                                                           char** words) {
  if (count != 2) return 1;
  signal(SIGPIPE, SIG_IGN);
  const int code = gpuprof::sample::run_sampler(words[1]);
  std::fflush(nullptr);
  // Nothing more: shutting the driver down takes long, and may hang.
  std::_Exit(code);
}
