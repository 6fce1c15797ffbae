// The error for a program that does not exist.
#pragma once

#include "apps/gpuprof/option/command_line.hpp"
#include "libprof/base/error.hpp"

namespace gpuprof::app {

// Throws nvprof's line and a suggestion as NvprofError; rethrows any other failure to start.
[[noreturn]] void throw_not_started(const Error& error, const Options& options);

}  // namespace gpuprof::app
