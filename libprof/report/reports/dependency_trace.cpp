// The option --print-dependency-analysis-trace. dependency_analysis.cpp prints the trace, in place
// of its table.
#include "libprof/report/report.hpp"

namespace gpuprof::report {

extern const Report dependency_trace{
    .option = "print-dependency-analysis-trace",
    .help = "With --dependency-analysis: critical path and waiting time of each record",
    .phase = Phase::extra,
    .order = 6,
    .print = [](Session&) {},
};

}  // namespace gpuprof::report
