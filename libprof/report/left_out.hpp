// What --kernels, --devices, --from and --to left out, when that was everything.
#pragma once

#include "libprof/report/session.hpp"

namespace gpuprof::report {

// Throws gpuprof::Error for a device that the file does not have, where that is to be checked.
void check_devices(Session& session);
// A warning where there is GPU work and the filters leave none of it.
void report_left_out(Session& session);

}  // namespace gpuprof::report
