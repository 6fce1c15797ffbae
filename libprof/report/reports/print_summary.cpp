// Adds the default sections of the summary to the chosen ones.
#include "libprof/report/report.hpp"

namespace gpuprof::report {

extern const Report print_summary{
    .option = "print-summary",
    .letter = 's',
    .help = "Summary of everything; the default unless another report is chosen or -o is used",
    .phase = Phase::summary,
    .order = 0,
};

}  // namespace gpuprof::report
