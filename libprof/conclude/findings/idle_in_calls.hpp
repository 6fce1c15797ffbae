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

// And of gaps that began in such a call what the host did until the next launch, at most as long as
// it had been in the call. `functions` as above; a common table expression, and its rows. The calls
// of the few gaps are looked up by the index of each table.
#define GPUPROF_CALLS_BEFORE_GAPS(table, domain_name, functions)          \
  "    SELECT p.deviceId AS device, p.start AS first, c.start AS begun\n" \
  "    FROM GPU_GAP AS p\n"                                               \
  "    CROSS JOIN " table                                                 \
  " AS c ON c.correlationId = p.hostCall\n"                               \
  "    JOIN API_NAME AS n ON n.domain = '" domain_name                    \
  "' AND n.cbid = c.cbid\n"                                               \
  "    WHERE p.hostCall <> 0 AND c.start < p.start AND " functions "\n"
#define GPUPROF_LATE_AFTER_CALLS(functions) \
  "  WITH called AS (\n" GPUPROF_CALLS_BEFORE_GAPS(                                        \
      "CUPTI_ACTIVITY_KIND_RUNTIME", "runtime",                                            \
      functions) "    UNION ALL\n" GPUPROF_CALLS_BEFORE_GAPS("CUPTI_ACTIVITY_KIND_DRIVER", \
                                                             "driver", functions) "),\n"   \
  "  late AS (\n"                                                                          \
  "    SELECT g.device, g.no_call, g.launch, max(g.first - c.begun) AS ahead, g.first,\n"  \
  "           g.last, g.what\n"                                                            \
  "    FROM called AS c\n"                                                                 \
  "    JOIN gaps AS g ON g.device = c.device AND g.first = c.first\n"                      \
  "    GROUP BY g.device, g.first)\n"
#define GPUPROF_LATE_ROWS                                                                  \
  "\n"                                                                                     \
  "  UNION ALL\n"                                                                          \
  "  SELECT device, 'no call', min(no_call, ahead), 1, first, last, what FROM late\n"      \
  "  UNION ALL\n"                                                                          \
  "  SELECT device, 'launch', min(launch, ahead - min(no_call, ahead)), 1, first, last,\n" \
  "         what\n"                                                                        \
  "  FROM late"

namespace gpuprof::findings {

inline constexpr std::string_view only_idle_time =
    "Without these calls, the idle time in them is saved, and the host is ahead by the time that "
    "it was in them when the GPU ran out of work.";
inline constexpr std::string_view no_work_meanwhile =
    "The GPU had no work while the host was in the call.";

}  // namespace gpuprof::findings
