// Reports of gpuprof lines: the time of each line of Python, as text, CSV and JSON.
#pragma once

#include <ostream>
#include <span>

#include "libprof/compute/line_times.hpp"
#include "libprof/report/options.hpp"

namespace gpuprof::report {

// Text shows options.top lines, the others as one; CSV and JSON have all of them.
void print_lines(std::span<const compute::LineTime> lines, std::ostream& out,
                 const ReportOptions& options);

}  // namespace gpuprof::report
