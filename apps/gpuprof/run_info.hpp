// What is told about a run as a whole: table RUN.
#pragma once

#include <cstdint>
#include <string>

#include "apps/gpuprof/options.hpp"
#include "libprof/wire/codec.hpp"

namespace gpuprof::app {

// The machine and the command, before the target starts.
wire::Fields describe_run(const Options& options, const std::string& groups);

std::int64_t realtime_ns();

}  // namespace gpuprof::app
