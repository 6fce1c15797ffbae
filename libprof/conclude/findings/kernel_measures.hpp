// What rules have in common that judge kernels by their launch shapes, metrics or PC samples.
#pragma once

#include <string_view>

#include "libprof/conclude/findings/needs.hpp"
#include "libprof/conclude/findings/rule.hpp"

// Joins LAUNCH_SHAPE, o, to kernel_launches, k.
#define GPUPROF_JOIN_LAUNCH_SHAPE                                                    \
  "  JOIN LAUNCH_SHAPE AS o\n"                                                       \
  "    ON o.blocks = k.blocks AND o.threadsPerBlock = k.threads\n"                   \
  "   AND o.sharedMemory = k.shared_memory AND o.registersPerThread = k.registers\n" \
  "   AND o.carveout = k.carveout AND o.deviceId = k.device AND o.processId = k.process\n"

// What follows `ns` in a SELECT of launches, k, of kernels in a table of measured ones, m.
#define GPUPROF_OF_MEASURED_KERNELS(table)                                                       \
  "         sum(k.count) AS count, min(k.first) AS first, max(k.last) AS last, k.name AS what\n" \
  "  FROM kernel_launches AS k\n"                                                                \
  "  JOIN StringTable AS n ON n._id_ = k.name\n"                                                 \
  "  JOIN " table " AS m ON m.device = k.device AND m.function = coalesce(n.demangled, n.value)\n"

// The SQL of a rule about metrics of efficiency. `metrics`: a literal with their names; `percent`:
// one with the efficiency below which they count.
#define GPUPROF_LOW_EFFICIENCY(metrics, percent)                                                 \
  "  WITH least AS (\n"                                                                          \
  "    SELECT device, function, min(value) AS percent FROM measured\n"                           \
  "    WHERE value > 0 AND metric IN (" metrics                                                  \
  ")\n"                                                                                          \
  "    GROUP BY device, function)\n"                                                             \
  "  SELECT k.device, 'compute' AS part, sum(CAST(k.ns * (1 - m.percent / 100) AS INTEGER)) AS " \
  "ns,\n" GPUPROF_OF_MEASURED_KERNELS("least") "  WHERE m.percent < " percent                    \
                                               "\n"                                              \
                                               "  GROUP BY k.device, k.name"

// The SQL of a rule about stalled warps. `reasons`: a literal with the stall reasons; `share`: one
// with the share of the samples from which on they count.
#define GPUPROF_STALLED(reasons, share)                                         \
  "  WITH sampled AS (\n"                                                       \
  "    SELECT device, function, sum(samples) AS samples,\n"                     \
  "           sum(CASE WHEN reason IN (" reasons                                \
  ") THEN not_issued ELSE 0 END) AS waiting\n"                                  \
  "    FROM stalls\n"                                                           \
  "    GROUP BY device, function\n"                                             \
  "    HAVING sum(samples) >= 100)\n"                                           \
  "  SELECT k.device, 'compute' AS part, sum(k.ns * m.waiting / m.samples) AS " \
  "ns,\n" GPUPROF_OF_MEASURED_KERNELS("sampled") "  WHERE m.waiting > " share   \
                                                 " * m.samples\n"               \
                                                 "  GROUP BY k.device, k.name"

namespace gpuprof::findings {

inline constexpr Need launch_shapes{
    .table = "LAUNCH_SHAPE", .otherwise = computed_at_the_end, .rows = true};
// `which`: a condition on METRIC.name.
constexpr Need measured(std::string_view which) {
  return {.table = "METRIC", .otherwise = no_metrics, .rows = true, .where = which};
}
inline constexpr Need stall_samples{
    .table = "CUPTI_ACTIVITY_KIND_PC_SAMPLING", .otherwise = no_samples, .rows = true};
inline constexpr std::string_view accesses_are_a_part =
    "How much of a kernel's time its accesses take is not in these metrics.";
inline constexpr std::string_view others_may_run =
    "While one warp waits, others may use what it would use.";
inline constexpr std::string_view issued_otherwise =
    "Without these waits the scheduler would issue something else in that share of its cycles.";
inline constexpr std::string_view about_warp_states =
    "https://docs.nvidia.com/nsight-compute/ProfilingGuide/index.html#warp-scheduler-states";

}  // namespace gpuprof::findings
