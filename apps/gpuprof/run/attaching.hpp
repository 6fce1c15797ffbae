// Records processes that run already.
#pragma once

#include <chrono>
#include <memory>
#include <optional>
#include <vector>

#include "apps/gpuprof/option/command_line.hpp"
#include "libprof/attach/find.hpp"
#include "libprof/attach/process.hpp"

namespace gpuprof::app {

using Processes = std::vector<std::unique_ptr<attach::Process>>;

// Until Ctrl-C, for `time`, or until they end; at least one. `tree`: its descendants that come
// later are recorded, too. Returns the exit code. For the main thread only, which alone may trace.
int record_processes(Options& options, Processes processes, std::optional<attach::Tree> tree,
                     std::optional<std::chrono::milliseconds> time);

}  // namespace gpuprof::app
