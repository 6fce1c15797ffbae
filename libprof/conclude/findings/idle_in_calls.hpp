// What rules about idle time in functions of some kind have in common.
#pragma once

#include <string_view>

#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

// The SQL of such a rule. `functions`: a literal with a condition on the name in API_NAME, n.
#define GPUPROF_IDLE_IN_CALLS(functions)                                     \
  "  SELECT a.device, a.part, a.ns, a.count, NULL AS first, NULL AS last,\n" \
  "         substr(n.name, 1, instr(n.name || '_', '_') - 1) AS what\n"      \
  "  FROM account AS a\n"                                                    \
  "  JOIN API_NAME AS n ON n.domain = a.domain AND n.cbid = a.cause\n"       \
  "  WHERE a.part = 'call'\n"                                                \
  "    AND " functions

namespace gpuprof::findings {

inline constexpr std::string_view only_idle_time =
    "Without these calls, the idle time in them is saved and nothing else.";
inline constexpr std::string_view no_work_meanwhile =
    "The GPU had no work while the host was in the call.";

}  // namespace gpuprof::findings
