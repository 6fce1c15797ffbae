// What is collected: from what was asked for to activity kinds.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "libprof/launch/environment.hpp"
#include "schema/kind.hpp"

namespace gpuprof::record {

enum class ApiTrace { none, runtime, driver, all };

struct TraceOptions {
  std::vector<std::string> words;  // groups, or changes of the defaults: "+nvtx"; empty: these
  std::vector<std::pair<schema::Group, bool>> groups;  // on and off besides, in order
  ApiTrace api = ApiTrace::all;
  bool concurrent_kernels = true;
  bool all_calls = false;     // who asks for a report of the calls wants to see them all
  bool dependencies = false;  // a report of them is asked for
  bool modules = false;       // what PC samples are of
  // What instructions do is counted. CUPTI (13.5, H200) counts nothing beside CONCURRENT_KERNEL,
  // nor beside MEMCPY and MEMSET without KERNEL; beside KERNEL a launch hangs sooner or later.
  bool counts_instructions = false;
  bool memory = false;  // all there is to know of allocations
  bool stacks = false;  // with it: who called for them
};

struct TraceSelection {
  std::vector<int> kinds;          // CUpti_ActivityKind
  bool launch_calls_only = false;  // GPU work without API calls: correlation ids need them traced
  bool allocation_source = false;  // the library behind each allocation
  launch::Runtimes runtimes;       // whose constructs are wanted
  bool queries = false;            // calls that only ask (schema/query_calls.hpp)
  std::string groups;              // what was chosen, as --trace takes it
};

// Whether --trace knows the word: a group, or a change of the defaults.
bool is_trace_word(const std::string& word);

// What is taken instead, where these words are not; else empty.
std::string trace_problem(const std::vector<std::string>& words);

TraceSelection select_trace(const TraceOptions& options);

// The tables of groups that are off by default and were asked for by name.
std::vector<std::string> tables_asked_for(const TraceOptions& options);

}  // namespace gpuprof::record
