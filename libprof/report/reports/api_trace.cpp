// One line per call of the CUDA runtime and driver, with NVTX marks and range ends.
#include "libprof/report/report.hpp"

namespace gpuprof::report {

extern const Report api_trace{
    .option = "print-api-trace",
    .help = "One line per CUDA runtime and driver call, by time",
    .phase = Phase::trace,
    .order = 2,
    .collected = {.all_calls = true},
    .does = Traced{&TraceParts::api},
};

}  // namespace gpuprof::report
