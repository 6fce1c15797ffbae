// One line per kernel, copy and set; with --print-api-trace, API calls are in the same table.
#include "libprof/report/report.hpp"

namespace gpuprof::report {

extern const Report gpu_trace{
    .option = "print-gpu-trace",
    .help = "One line per kernel, copy and set, in the order of time",
    .phase = Phase::trace,
    .order = 1,
    .does = Traced{&TraceParts::gpu},
};

}  // namespace gpuprof::report
