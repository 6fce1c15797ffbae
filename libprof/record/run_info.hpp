// Information about a run as a whole: table RUN.
#pragma once

#include <sys/types.h>

#include <string>
#include <vector>

#include "libprof/wire/codec.hpp"
#include "libprof/wire/frame.hpp"

namespace gpuprof::record {

struct RunInfo {
  std::vector<std::string> application;  // the command; empty: do not store it
  std::string command_line;              // gpuprof's own; likewise
  std::string trace_groups;
  std::string step;  // which NVTX ranges are steps; empty: the usual names
};

// Describes the machine and the command, before the target starts.
wire::Frame begin_of_run(const RunInfo& info);
// Says which NVTX ranges are steps.
wire::Frame step_of_run(const std::string& expression);
// The incident that the end of the run followed.
wire::Frame reason_of_run(const std::string& why);
// How the target ended; `status` as from waitpid.
wire::Frame end_of_run(pid_t target, int status);
// For a run that another tool recorded in this file. Says nothing about this machine.
wire::Frame import_of_run(const std::string& file);
// For a run without a target.
wire::Frame end_of_run();

}  // namespace gpuprof::record
