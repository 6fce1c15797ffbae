// One line per call of the CUDA runtime and driver, with NVTX marks and ends of ranges.
#include "libprof/report/report.hpp"
#include "libprof/report/trace.hpp"

namespace gpuprof::report {

extern const Report api_trace{
    .option = "print-api-trace",
    .help = "One line per CUDA runtime and driver call, in the order of time",
    .phase = Phase::trace,
    .order = 2,
    .print =
        [](Session& session) {
          // Both traces are one table.
          if (!session.chosen("print-api-trace") || session.chosen("print-gpu-trace")) return;
          print_trace(session, {.api = true, .openacc = session.chosen("print-openacc-trace")});
        },
};

}  // namespace gpuprof::report
