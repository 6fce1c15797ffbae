// Tables that several rules read. In the SQL of a finding they are common table expressions; where
// all rules are asked, each is made once, as a temporary table with the same rows.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "libprof/compute/account.hpp"
#include "libprof/conclude/findings/launches.hpp"
#include "libprof/conclude/findings/rule.hpp"
#include "libprof/store/scan.hpp"
#include "libprof/store/sqlite.hpp"

namespace gpuprof::findings {

struct SharedTable {
  std::string_view name;
  std::string_view columns;
  std::string_view sql;  // its common table expressions, which read `span`; begins with a comma
  // Where the file has this table, another text says it better.
  std::string_view better_table = {}, better_sql = {};
};
inline constexpr SharedTable gaps_table{
    .name = "gaps",
    .columns = "device, first, last, length, no_call, launch, queued, after_wait, what, saved",
    .sql = R"(,
gaps AS (
  SELECT NULL AS device, NULL AS first, NULL AS last, NULL AS length, NULL AS no_call,
         NULL AS launch, NULL AS queued, NULL AS after_wait, NULL AS what, NULL AS saved
  WHERE 0))",
    .better_table = "GPU_GAP",
    // Without the waits, the host would be ahead by the time that it has waited, and gaps that
    // began in a wait would be shorter by no more: with `dry` as the sum of these gaps, `ahead` is
    // the least of what they and the waits allow, at every gap so far.
    .better_sql = R"(,
waits AS (
  SELECT b.correlation_id >> 32 AS process, b.start AS time, b."end" AS until, NULL AS gap,
         NULL AS device, NULL AS stop, NULL AS no_call, NULL AS launch, NULL AS queued, NULL AS what
  FROM blocking_calls AS b CROSS JOIN span AS s
  WHERE b.start < b."end" AND b.start < s.last AND b."end" > s.first
  UNION ALL
  SELECT correlationId >> 32, start, NULL, _id_, deviceId, stop, min(noCallTime, stop - start),
         min(launchTime, stop - start), min(queuedTime, stop - start), nullif(nameBehind, 0)
  FROM GPU_GAP),
waited AS (
  SELECT *, max(until) OVER p > time AS after_wait, sum(until - time) OVER p AS waited
  FROM waits
  WINDOW p AS (PARTITION BY process ORDER BY time, gap ROWS UNBOUNDED PRECEDING)),
idle AS (
  SELECT w.device, w.process, max(w.time, s.first) AS first, min(w.stop, s.last) AS last,
         w.stop - w.time AS length, w.no_call, w.launch, w.queued,
         coalesce(w.after_wait, 0) AS after_wait, w.waited, w.what
  FROM waited AS w CROSS JOIN span AS s
  WHERE w.gap IS NOT NULL AND w.time < s.last AND w.stop > s.first),
dry AS (
  SELECT *, sum(CASE WHEN after_wait THEN last - first ELSE 0 END) OVER p AS dry
  FROM idle
  WINDOW p AS (PARTITION BY device, process ORDER BY first ROWS UNBOUNDED PRECEDING)),
ahead AS (
  SELECT *, dry + min(0, min(CASE WHEN after_wait THEN waited - dry ELSE 0 END) OVER p) AS ahead
  FROM dry
  WINDOW p AS (PARTITION BY device, process ORDER BY first ROWS UNBOUNDED PRECEDING)),
gaps AS (
  SELECT *, ahead - lag(ahead, 1, 0) OVER (PARTITION BY device, process ORDER BY first) AS saved
  FROM ahead))"};
inline constexpr SharedTable launches_table{
    .name = "kernel_launches",
    .columns =
        "device, process, stream, name, blocks, threads, shared_memory, registers, carveout, "
        "local_memory, ns, count, longest, first, last",
    .sql = R"(,
kernel_launches AS (
  SELECT k.deviceId AS device, k.processId AS process, k.contextId << 32 | k.streamId AS stream,
         k.name AS name, k.gridX * k.gridY * k.gridZ AS blocks,
         k.blockX * k.blockY * k.blockZ AS threads,
         k.staticSharedMemory + k.dynamicSharedMemory AS shared_memory,
         k.registersPerThread AS registers,
         CASE WHEN k.isSharedMemoryCarveoutRequested THEN k.sharedMemoryCarveoutRequested
              ELSE -1 END AS carveout,
         k.localMemoryPerThread AS local_memory,
         sum(min(k."end", s.last) - max(k.start, s.first)) AS ns, count(*) AS count,
         max(k."end" - k.start) AS longest, min(max(k.start, s.first)) AS first,
         max(min(k."end", s.last)) AS last
  FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k CROSS JOIN span AS s
  WHERE 0 < k.start AND k.start < k."end" AND k.start < s.last AND k."end" > s.first
  GROUP BY 1, 2, 3, 4, 5, 6, 7, 8, 9, 10))"};
inline constexpr SharedTable graphs_table{
    .name = "graph_launches", .columns = "device, kernels, launches", .sql = R"(,
graph_launches AS (
  SELECT k.deviceId AS device, count(*) AS kernels, count(DISTINCT k.correlationId) AS launches
  FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k CROSS JOIN span AS s
  WHERE k.graphId <> 0 AND 0 < k.start AND k.start < k."end" AND k.start < s.last
    AND k."end" > s.first
  GROUP BY 1))"};
inline constexpr SharedTable measured_table{
    .name = "measured", .columns = "device, function, metric, value", .sql = R"(,
measured AS (
  SELECT r.deviceId AS device, coalesce(s.demangled, s.value) AS function, m.name AS metric,
         avg(v.value) AS value
  FROM METRIC_RANGE AS r
  JOIN METRIC_VALUE AS v ON v.range = r._id_
  JOIN METRIC AS m ON m._id_ = v.metric
  JOIN StringTable AS s ON s._id_ = r.name
  WHERE r.kind = 'kernel'
  GROUP BY 1, 2, 3))"};
inline constexpr SharedTable stalls_table{
    .name = "stalls", .columns = "device, function, reason, samples, not_issued", .sql = R"(,
stalls AS (
  SELECT device_id AS device, function, stall_reason AS reason, sum(samples) AS samples,
         sum(not_issued) AS not_issued
  FROM pc_samples
  GROUP BY 1, 2, 3))"};
// `wait`: what a kernel took longer than if the last rank had begun with it; NULL: not known.
inline constexpr SharedTable communication_table{.name = "communication",
                                                 .columns = "device, first, last, wait, what",
                                                 .sql = R"(,
names AS (
  SELECT _id_ AS id FROM StringTable
  WHERE (value GLOB 'nccl*' OR value GLOB '_Z[0-9][0-9]nccl*') AND value NOT GLOB '*SendRecv*'),
any_names AS (SELECT 1 FROM names LIMIT 1),
collectives AS (
  SELECT k.deviceId AS device, k.name AS name, k.start AS first, k."end" AS last,
         row_number() OVER (PARTITION BY k.deviceId, k.name ORDER BY k.start) AS place
  FROM any_names CROSS JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k
  WHERE k.name IN (SELECT id FROM names) AND 0 < k.start AND k.start < k."end"),
alike AS (
  SELECT name FROM collectives
  GROUP BY name
  HAVING count(DISTINCT device) > 1 AND count(*) = count(DISTINCT device) * max(place)),
communication AS (
  SELECT c.device, c.first, c.last, c.name AS what,
         CASE WHEN c.name IN (SELECT name FROM alike)
              THEN last - first - min(last - first) OVER (PARTITION BY name, place) END AS wait
  FROM collectives AS c))",
                                                 .better_table = "NCCL_OPERATION",
                                                 .better_sql = R"(,
communication AS (
  SELECT device_id AS device, min(start) AS first, max(start + duration) AS last, max(wait) AS wait,
         min(function || coalesce(' of ' || bytes || ' bytes', '')) ||
           CASE WHEN count(*) > 1 THEN ' and others in a group' ELSE '' END AS what
  FROM collectives
  WHERE start > 0 AND duration > 0
  GROUP BY device_id, stream_id, start))"};
inline constexpr const SharedTable* shared_tables[]{&gaps_table,   &launches_table,
                                                    &graphs_table, &measured_table,
                                                    &stalls_table, &communication_table};

// Whether the rule's SQL reads the table.
bool reads(const Rule& rule, std::string_view table);

// The temporary tables, until it is destroyed. Belongs to the snapshot's thread; no reader of the
// snapshot may read while a table is made. Memory: of launches, some 300 bytes for each row and
// thread, up to 65 MB a thread.
class SharedTables {
 public:
  // `span`: the SQL of that common table expression.
  SharedTables(store::Snapshot& snapshot, const compute::AccountWindow& window, std::string span)
      : snapshot_(snapshot), window_(window), span_(std::move(span)) {}
  ~SharedTables();
  SharedTables(const SharedTables&) = delete;
  SharedTables& operator=(const SharedTables&) = delete;

  // The common table expressions that the rule reads, for this file.
  std::string sql_for(const Rule& rule) const;
  // Makes what the rule reads and is not there yet. Throws Error, as Database::ask does, if the
  // file lacks what a table is made of. `check` is called now and then and may throw.
  void make_for(const Rule& rule, const std::function<void()>& check);

 private:
  std::string sql_of(const SharedTable& table) const;
  void make(const SharedTable& table, const std::function<void()>& check);

  store::Snapshot& snapshot_;
  const compute::AccountWindow window_;
  const std::string span_;
  std::vector<std::string_view> made_;
  std::optional<Launches> launches_;  // once read, for both tables of them
};

}  // namespace gpuprof::findings
