// What is collected: from options to activity kinds.
#pragma once

#include <string>
#include <vector>

#include "apps/gpuprof/option/command_line.hpp"
#include "libprof/launch/environment.hpp"

namespace gpuprof::app {

struct TraceSelection {
  std::vector<int> kinds;          // CUpti_ActivityKind
  bool launch_calls_only = false;  // GPU work without API calls: correlation ids need them traced
  bool allocation_source = false;  // the library behind each allocation
  launch::Runtimes runtimes;       // whose constructs are wanted
  bool queries = false;            // calls that only ask (schema/query_calls.hpp)
  std::string groups;              // what was chosen, as --trace takes it
};

// What --trace takes instead, where it does not take these words; else empty.
std::string trace_problem(const std::vector<std::string>& words);

TraceSelection select_trace(const Options& options);

// The tables of groups that are off by default and were asked for by name.
std::vector<std::string> tables_asked_for(const Options& options);

}  // namespace gpuprof::app
