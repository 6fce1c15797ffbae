// The trace of a file that has event and metric values: one column for each of them.
#pragma once

#include "libprof/report/session.hpp"

namespace gpuprof::report {

// One line per kernel that has values; with `api`, one per record, as in the combined trace.
void print_value_trace(Session& session, bool api);

}  // namespace gpuprof::report
