// One line per kernel, copy and set; with --print-api-trace API calls are in the same table.
#include "libprof/report/metrics.hpp"
#include "libprof/report/report.hpp"
#include "libprof/report/trace.hpp"
#include "libprof/report/value_trace.hpp"

namespace gpuprof::report {

extern const Report gpu_trace{
    .option = "print-gpu-trace",
    .help = "One line per kernel, copy and set, in the order of time",
    .phase = Phase::trace,
    .order = 1,
    .print =
        [](Session& session) {
          if (!session.chosen("print-gpu-trace")) return;
          const bool api = session.chosen("print-api-trace");
          has_kernel_values(session)
              ? print_value_trace(session, api)
              : print_trace(
                    session,
                    {.gpu = true, .api = api, .openacc = session.chosen("print-openacc-trace")});
        },
};

}  // namespace gpuprof::report
