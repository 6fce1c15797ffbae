// OpenTelemetry's profiles of GPU work: for `gpuprof export -o run.otlp`, and for gpuprof serve.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include "libprof/exchange/export/work_stacks.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::exporting {

// What a message may have at most; the stacks with the longest times are in it. 0: no limit.
struct OtlpLimits {
  std::size_t stacks = 0, bytes = 0;
};

// The message that a collector's endpoint takes (ExportProfilesServiceRequest) and a file has
// (ProfilesData), which are the same bytes: two profiles with the same samples, times and numbers.
// What the limits leave out is a sample "(others)" for each device, and the profiles have an
// attribute with the number of its stacks. If the profile is of a window, they have it, too.
std::string otlp_message(WorkStacks& work, const OtlpLimits& limits);

// The same of the GPU work that begins in a window, on CUPTI's clock: from <= start < to. `check`
// is called now and then and may throw.
std::string otlp_of_window(store::Database& database, std::int64_t from, std::int64_t to,
                           const OtlpLimits& limits, const std::function<void()>& check);

}  // namespace gpuprof::exporting
