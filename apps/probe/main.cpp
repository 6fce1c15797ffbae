// gpuprof-probe: tells gpuprof which GPUs there are and whether metrics can be collected. A
// separate process, because the driver stays in a process once it was started.
//
//   gpuprof-probe list|try|try-all CUPTI…   the libcuptis to try, in order
//   gpuprof-probe work                      runs a kernel and a graph: for gpuprof doctor to record
//   gpuprof-probe collective NCCL           runs two ranks of NCCL, the library, for the same
//
// Prints one line per device: index, chip, name, problem, and the problems of PM and PC sampling,
// separated by tabs. The exit code is 0, or that of the error, which is printed on stderr with its
// hint on a second line.
#include <cstdio>
#include <string>
#include <vector>

#include "libprof/base/error.hpp"
#include "libprof/cupti/probe.hpp"
#include "libprof/cupti/small_work.hpp"

// Called by apps/start.cpp.
extern "C" __attribute__((visibility("default"))) int gpuprof_probe_main(int count, char** words) {
  if (count < 2) return static_cast<int>(gpuprof::ExitCode::internal);
  try {
    if (words[1] == std::string("work")) {
      gpuprof::cupti::run_kernel_and_graph();
      return 0;
    }
    if (words[1] == std::string("collective") && count == 3) {
      gpuprof::cupti::run_collective(words[2]);
      return 0;
    }
    using gpuprof::cupti::Trial;
    const std::vector<std::string> candidates(words + 2, words + count);
    const Trial trial = words[1] == std::string("try")       ? Trial::metric
                        : words[1] == std::string("try-all") ? Trial::all
                                                             : Trial::none;
    for (const auto& device : gpuprof::cupti::probe_devices(candidates, trial)) {
      std::printf("%d\t%s\t%s\t%s\t%s\t%s\n", device.index, device.chip.c_str(),
                  device.name.c_str(), device.problem.c_str(), device.pm_sampling.c_str(),
                  device.pc_sampling.c_str());
    }
  } catch (const gpuprof::Error& error) {
    std::fprintf(stderr, "%s\n%s\n", error.what(), error.hint().c_str());
    return static_cast<int>(error.exit_code());
  }
  std::fflush(stdout);
  // Nothing more: shutting the driver down takes long, and the context goes with the process.
  std::_Exit(0);
}
