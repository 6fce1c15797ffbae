// --trace: from group names to activity kinds.
#pragma once

#include <string>
#include <vector>

namespace gpuprof::app {

struct TraceSelection {
  std::vector<int> kinds;          // CUpti_ActivityKind
  bool launch_calls_only = false;  // GPU work without API calls: correlation ids need them traced
  std::string groups;              // what was chosen, as --trace takes it
};

// `words` as given, empty for the defaults. Throws gpuprof::Error for a name that is none.
TraceSelection select_trace(const std::vector<std::string>& words, bool concurrent_kernels);

}  // namespace gpuprof::app
