// Prints a summary of each GPU's work.
#include "libprof/report/report.hpp"

namespace gpuprof::report {

extern const Report summary_per_gpu{
    .option = "print-summary-per-gpu",
    .help = "Summary for each GPU",
    .phase = Phase::summary,
    .order = 0,
};

}  // namespace gpuprof::report
