// "PC SAMPLING SUMMARY" in nvprof's layout: what warps waited for, by address.
#pragma once

#include <array>
#include <string_view>

#include "libprof/report/session.hpp"

namespace gpuprof::report {

// CUpti_ActivityPCSamplingStallReason, as nvprof heads its columns, and as JSON has them.
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

// Whether the samples are of all launches together: gpuprof's own, where kernels ran beside one
// another.
bool samples_of_all_launches(Session& session);

// A table for each launch; or one for each function, of all its launches, those with the most
// samples first: as text only the first functions, and of each only the addresses with the most
// samples (--top, or 10). Nothing where the file has no samples.
void print_pc_summary(Session& session, bool of_functions);

}  // namespace gpuprof::report
