// One line per OpenACC record, in the order of time.
#include "libprof/report/report.hpp"
#include "libprof/report/trace.hpp"

namespace gpuprof::report {

extern const Report openacc_trace{
    .option = "print-openacc-trace",
    .help = "One line per OpenACC directive, in the order of time",
    .phase = Phase::trace,
    .order = 3,
    .print =
        [](Session& session) {
          if (!session.chosen("print-openacc-trace")) return;
          // All traces are one table.
          if (session.chosen("print-gpu-trace") || session.chosen("print-api-trace")) return;
          print_trace(session, {.openacc = true});
        },
};

}  // namespace gpuprof::report
