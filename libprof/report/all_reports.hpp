// The reports by name, for code that asks whether a particular one was chosen.
#pragma once

#include "libprof/report/report.hpp"

namespace gpuprof::report {

#define GPUPROF_REPORT(name) extern const Report name;
#include "libprof/report/all_reports.inc"
#undef GPUPROF_REPORT

}  // namespace gpuprof::report
