// "PC SAMPLING SUMMARY" in nvprof's layout: what warps waited for, by address.
#pragma once

#include <array>
#include <string_view>

#include "libprof/report/session.hpp"

namespace gpuprof::report {

// CUpti_ActivityPCSamplingStallReason: nvprof's column heading and the name in JSON.
struct StallReason {
  std::string_view heading;
  std::string_view name;
};
inline constexpr std::array<StallReason, 13> stall_reasons{
    {{"INVALID", "invalid"},
     {"NONE", "none"},
     {"INST_FETCH", "inst_fetch"},
     {"EXEC_DEP", "exec_dependency"},
     {"MEM_DEP", "memory_dependency"},
     {"TEXTURE", "texture"},
     {"SYNC", "sync"},
     {"CONST_MEM_DEP", "constant_memory_dependency"},
     {"PIPE_BUSY", "pipe_busy"},
     {"MEM_THROTTLE", "memory_throttle"},
     {"NOT_SEL", "not_selected"},
     {"OTHER", "other"},
     {"SLEEPING", "sleeping"}}};

// Whether the samples cover all launches together: gpuprof's own files, when kernels ran
// concurrently.
bool samples_of_all_launches(Session& session);

// One table per launch; or one per function over all its launches, most samples first. Text prints
// only the first functions, and for each only the addresses with the most samples (--top, or 10).
// Prints nothing if the file has no samples.
void print_pc_summary(Session& session, bool of_functions);

}  // namespace gpuprof::report
