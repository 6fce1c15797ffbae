// What is said when there is no such program as was named.
#pragma once

#include "apps/gpuprof/option/command_line.hpp"
#include "libprof/base/error.hpp"

namespace gpuprof::app {

// nvprof's line and what may have been meant, as NvprofError; what else was wrong with starting it
// is thrown on.
[[noreturn]] void throw_not_started(const Error& error, const Options& options);

}  // namespace gpuprof::app
