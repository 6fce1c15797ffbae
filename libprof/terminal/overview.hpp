// The default summary on a terminal, at most a page: where the time went, what can be mended, and
// what took most of it. Files and pipes get nvprof's summary.
#pragma once

#include <string>

#include "libprof/report/report.hpp"

namespace gpuprof::terminal {

// For report::print_reports(). Lines have at most ReportOptions::columns characters.
std::string overview(report::Session& session);

}  // namespace gpuprof::terminal
