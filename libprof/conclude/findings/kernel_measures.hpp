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

// Which metrics say how near a unit comes to its peak, of memory, of its caches, and of arithmetic.
#define GPUPROF_DRAM "metric GLOB 'dram__throughput.avg.pct*'"
#define GPUPROF_CACHES                                                              \
  "metric GLOB 'lts__t*.avg.pct_of_peak*' OR metric GLOB 'l1tex__t*.avg.pct*' OR\n" \
  "           metric GLOB 'l1tex__data_pipe*.avg.pct*'"
#define GPUPROF_ARITHMETIC                                                                    \
  "metric GLOB 'sm__inst_executed_pipe_*.avg.pct*' OR metric GLOB 'sm__pipe_*.avg.pct*' OR\n" \
  "           metric GLOB 'sm__throughput.avg.pct*' OR metric GLOB 'flop_*_efficiency'"

// Common table expressions for the SQL of a rule about units: `units` has, for each kernel, what
// the busiest unit of `those` reaches, and what of `others`.
#define GPUPROF_UNITS(those, others)                                                               \
  "  WITH units AS (\n"                                                                            \
  "    SELECT device, function,\n"                                                                 \
  "           max(CASE WHEN " those                                                                \
  " THEN value END) AS percent,\n"                                                                 \
  "           max(CASE WHEN " others                                                               \
  " THEN value END) AS next\n"                                                                     \
  "    FROM measured\n"                                                                            \
  "    GROUP BY device, function)\n"                                                               \
  "  SELECT k.device, 'compute' AS part,\n"                                                        \
  "         sum(CAST(k.ns * (1 - m.next / 100) AS INTEGER)) AS ns,\n" GPUPROF_OF_MEASURED_KERNELS( \
      "units")

// The SQL of a rule about a share of several metrics, which are summed up. Literals: the part, the
// whole, and the least share of it in percent.
#define GPUPROF_PART_OF(part, whole, percent)                                      \
  "  WITH parts AS (\n"                                                            \
  "    SELECT device, function, sum(CASE WHEN metric IN (" part                    \
  ") THEN value END) /\n"                                                          \
  "           sum(value) AS share\n"                                               \
  "    FROM measured\n"                                                            \
  "    WHERE metric IN (" part ", " whole                                          \
  ")\n"                                                                            \
  "    GROUP BY device, function)\n"                                               \
  "  SELECT k.device, 'compute' AS part, sum(CAST(k.ns * m.share AS INTEGER)) AS " \
  "ns,\n" GPUPROF_OF_MEASURED_KERNELS("parts") "  WHERE m.share * 100 > " percent  \
                                               "\n"                                \
                                               "  GROUP BY k.device, k.name"

namespace gpuprof::findings {

inline constexpr Need launch_shapes{
    .table = "LAUNCH_SHAPE", .otherwise = computed_at_the_end, .rows = true};
// `which`: a condition on METRIC.name.
constexpr Need measured(std::string_view which) {
  return {.table = "METRIC", .otherwise = no_metrics, .rows = true, .where = which};
}
// What `--set compute,memory` measures.
inline constexpr Need memory_shares{
    .table = "METRIC",
    .otherwise = "How busy units are is not in the file; --set compute,memory measures it.",
    .rows = true,
    .where = "name GLOB 'dram__throughput.avg.pct*' OR name GLOB 'lts__t*.avg.pct_of_peak*'"};
inline constexpr std::string_view next_unit =
    "If this unit took no time, the one that is busiest after it would.";
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
