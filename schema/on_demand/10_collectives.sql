-- Operations of NCCL with their kernels, one row per operation and kernel. Operations of a group share
-- a kernel; one that was captured has a kernel in each launch of its graph.
--
-- communicator INTEGER: NCCL's id, the same in all ranks
-- communicator_name TEXT: the program's name for it; NULL = none
-- rank INTEGER: rank of the process in it; NULL = not known
-- ranks INTEGER [count]: its ranks; NULL = not known
-- function TEXT: AllReduce, AllGather, Send, ...
-- sequence INTEGER: counts the operations of this function in the communicator, from 0
-- data_type TEXT: type of an element
-- count INTEGER [count]: elements of a rank, as passed to NCCL
-- bytes INTEGER [bytes]: size of these; NULL = not known
-- root INTEGER: rank that sends to or receives from all; NULL = none
-- peer INTEGER: rank that a send is for or a receive is from; NULL = a collective
-- algorithm TEXT: RING, TREE, NVLS, ...; CE = by copy engines; NULL = not known
-- protocol TEXT: LL, LL128, SIMPLE; NULL = not known
-- channels INTEGER [count]: channels that it uses; NULL = not known
-- operations INTEGER [count]: operations that share the kernel
-- start INTEGER [ns]: when the kernel began, on CUPTI's clock; NULL = no kernel is known
-- duration INTEGER [ns]: of the kernel
-- bus_bandwidth REAL [bytes/s]: as NCCL's tests compute it, in transfer or else duration; NULL = it shares
--   the kernel
-- wait INTEGER [ns]: how much of duration was over when the last rank began; NULL = not all ranks are in
--   the file, captured, or no operation in which all wait for all
-- transfer INTEGER [ns]: the rest of duration; NULL as in wait
-- device_id INTEGER: device of the kernel
-- stream_id INTEGER: stream of the kernel
-- process_id INTEGER: process
-- correlation_id INTEGER: of the launch of the kernel, or of its graph
CREATE VIEW collectives AS
WITH node AS (
  SELECT source, node, processId FROM NCCL_NODE GROUP BY 1, 2, 3
), run AS (
  SELECT o._id_ AS operation, o.communicator, o.function, o.sequence, o.rank, k.start, k."end",
         k.deviceId, k.streamId, k.correlationId, 0 AS captured
  FROM NCCL_OPERATION AS o
  JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k ON k.correlationId = o.correlationId
  WHERE o.graphNode IS NULL
  UNION ALL
  SELECT o._id_, o.communicator, o.function, o.sequence, o.rank, k.start, k."end",
         k.deviceId, k.streamId, k.correlationId, 1
  FROM NCCL_OPERATION AS o
  JOIN node AS n ON n.source = o.graphNode AND n.processId = o.processId
  JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k
    ON k.graphNodeId = n.node AND k.processId = n.processId
), met AS (
  SELECT communicator, function, sequence, max(start) AS last, count(DISTINCT rank) AS ranks
  FROM run WHERE captured = 0 AND start > 0 GROUP BY 1, 2, 3
), shared AS (
  SELECT processId, coalesce(graphNode, -correlationId) AS launch, count(*) AS operations
  FROM NCCL_OPERATION WHERE coalesce(graphNode, correlationId) IS NOT NULL GROUP BY 1, 2
), whole AS (
  SELECT o.*, f.value AS functionName, r.start AS began, r."end" AS ended, r.deviceId, r.streamId,
         r.correlationId AS launch, coalesce(s.operations, 1) AS operations,
         CASE WHEN m.ranks = o.ranks AND r.start > 0
              AND f.value IN ('AllReduce', 'AllGather', 'ReduceScatter', 'AlltoAll')
              THEN min(max(m.last, r.start), r."end") END AS met
  FROM NCCL_OPERATION AS o
  LEFT JOIN StringTable AS f ON f._id_ = o.function
  LEFT JOIN run AS r ON r.operation = o._id_
  LEFT JOIN met AS m ON r.captured = 0 AND m.communicator = o.communicator
    AND m.function = o.function AND m.sequence = o.sequence
  LEFT JOIN shared AS s ON s.processId = o.processId
    AND s.launch = coalesce(o.graphNode, -o.correlationId)
)
SELECT w.communicator AS communicator,
       (SELECT value FROM StringTable WHERE _id_ = w.communicatorName) AS communicator_name,
       w.rank AS rank,
       w.ranks AS ranks,
       w.functionName AS function,
       w.sequence AS sequence,
       (SELECT value FROM StringTable WHERE _id_ = w.dataType) AS data_type,
       w.count AS count,
       w.bytes AS bytes,
       w.root AS root,
       w.peer AS peer,
       (SELECT value FROM StringTable WHERE _id_ = w.algorithm) AS algorithm,
       (SELECT value FROM StringTable WHERE _id_ = w.protocol) AS protocol,
       w.channels AS channels,
       w.operations AS operations,
       nullif(w.began, 0) AS start,
       CASE WHEN w.began > 0 THEN w.ended - w.began END AS duration,
       CASE WHEN w.operations = 1 AND w.ended > w.began AND w.began > 0
            THEN w.bytes * 1e9 / (w.ended - coalesce(nullif(w.met, w.ended), w.began)) *
                 CASE w.functionName
                   WHEN 'AllReduce' THEN 2.0 * (w.ranks - 1) / nullif(w.ranks, 0)
                   WHEN 'AllGather' THEN w.ranks - 1
                   WHEN 'ReduceScatter' THEN w.ranks - 1
                   WHEN 'AlltoAll' THEN w.ranks - 1
                   WHEN 'Gather' THEN w.ranks - 1
                   WHEN 'Scatter' THEN w.ranks - 1
                   ELSE 1
                 END END AS bus_bandwidth,
       w.met - w.began AS wait,
       w.ended - w.met AS transfer,
       w.deviceId AS device_id,
       w.streamId AS stream_id,
       w.processId AS process_id,
       coalesce(w.launch, w.correlationId) AS correlation_id
FROM whole AS w
UNION ALL
{types};
