// Adds the default sections of the summary to the chosen ones.
#include "libprof/report/report.hpp"

namespace gpuprof::report {

extern const Report print_summary{
    .option = "print-summary",
    .letter = 's',
    .help = "Summary of everything; the default without -o or another report",
    .phase = Phase::summary,
    .order = 0,
};

}  // namespace gpuprof::report
