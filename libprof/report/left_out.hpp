// Handles filters (--kernels, --devices, --from, --to) that leave nothing.
#pragma once

#include "libprof/report/session.hpp"

namespace gpuprof::report {

// Throws gpuprof::Error for a device that is not in the file, if the options ask for that check.
void check_devices(Session& session);
// Warns if there is GPU work but the filters leave none of it.
void report_left_out(Session& session);

}  // namespace gpuprof::report
