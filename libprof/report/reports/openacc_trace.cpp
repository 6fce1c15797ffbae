// One line per OpenACC record, in time order.
#include "libprof/report/report.hpp"

namespace gpuprof::report {

extern const Report openacc_trace{
    .option = "print-openacc-trace",
    .help = "One line per OpenACC directive, in the order of time",
    .phase = Phase::trace,
    .order = 3,
    .does = Traced{&TraceParts::openacc},
};

}  // namespace gpuprof::report
