// Determines what is collected: from the user's request to activity kinds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "libprof/record/launch/environment.hpp"
#include "libprof/wire/measures.hpp"
#include "schema/kind.hpp"

namespace gpuprof::record {

enum class ApiTrace { none, runtime, driver, all };

struct TraceOptions {
  std::vector<std::string> words;  // groups, or changes to the defaults ("+nvtx"); may be empty
  std::vector<std::pair<schema::Group, bool>> groups;  // also switched on or off, in order
  ApiTrace api = ApiTrace::all;
  bool concurrent_kernels = true;
  bool all_calls = false;     // a report of the calls was requested: show them all
  bool dependencies = false;  // a dependency report was requested
  bool modules = false;       // needed for PC samples
  // Instructions are counted. CUPTI (13.5, H200) counts nothing alongside CONCURRENT_KERNEL, nor
  // alongside MEMCPY and MEMSET without KERNEL; alongside KERNEL a launch hangs sooner or later.
  bool counts_instructions = false;
  bool memory = false;  // everything about allocations
  bool stacks = false;  // additionally the stacks of their calls
  wire::LaunchStacks launch_stacks = wire::LaunchStacks::cheap;
  bool native_stacks = false;  // native functions in these
};

struct TraceSelection {
  std::vector<int> kinds;          // CUpti_ActivityKind
  bool launch_calls_only = false;  // trace API calls only for the correlation ids of GPU work
  bool allocation_source = false;  // the library that made each allocation
  launch::Runtimes runtimes;       // those whose constructs are wanted
  bool queries = false;            // pure query calls (schema/query_calls.hpp)
  wire::LaunchStacks launch_stacks = wire::LaunchStacks::none;
  std::string groups;  // the chosen groups, in --trace syntax
};

// Whether --trace accepts the word: "all", a group, or a change to the defaults.
bool is_trace_word(const std::string& word);

// What is valid instead, for an error message; empty: the words are valid.
std::string trace_problem(const std::vector<std::string>& words);

TraceSelection select_trace(const TraceOptions& options);

// Tables of groups that are off by default and were requested by name.
std::vector<std::string> tables_asked_for(const TraceOptions& options);

}  // namespace gpuprof::record
