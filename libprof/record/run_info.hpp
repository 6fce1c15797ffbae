// What is told about a run as a whole: table RUN.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "libprof/wire/codec.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::record {

struct RunInfo {
  std::vector<std::string> application;  // the command; empty: it is not to be stored
  std::string command_line;              // ours; the same
  std::string trace_groups;
  std::string step;  // which NVTX ranges are steps; empty: those that are called so
};

// The machine and the command, before the target starts.
wire::Frame begin_of_run(const RunInfo& info);
// That these NVTX ranges are steps.
wire::Frame step_of_run(const std::string& expression);
// How the target ended; `status` as from waitpid.
wire::Frame end_of_run(pid_t target, int status);
// Of a run that another tool recorded in this file. Nothing of this machine is told.
wire::Frame import_of_run(const std::string& file);
// Of a run without a target.
wire::Frame end_of_run();

}  // namespace gpuprof::record
