// The option --print-dependency-analysis-trace. dependency_analysis.cpp prints the trace, instead
// of its table.
#include "libprof/report/all_reports.hpp"

namespace gpuprof::report {

extern const Report dependency_trace{
    .option = "print-dependency-analysis-trace",
    .help = "With --dependency-analysis: each record's part",
    .phase = Phase::extra,
    .order = 6,
    .needs = &dependency_analysis,
    .missing = "Showing dependency analysis trace requires dependency analysis to be enabled.",
};

}  // namespace gpuprof::report
