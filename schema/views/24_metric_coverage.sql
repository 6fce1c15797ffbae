-- How well each kernel was measured: one row for each shape (name, grid, block) and metric.
--
-- name TEXT: demangled name of the kernel
-- short_name TEXT: name of the function alone
-- grid TEXT: blocks as text, (x,y,z)
-- block TEXT: threads of a block as text, (x,y,z)
-- metric TEXT: name of the metric
-- unit TEXT: of mean, min and max; '' = a plain number
-- launches INTEGER [count]: kernels of this shape in the run; NULL = kernels were not traced
-- measured INTEGER [count]: how many of them have a value; 0 = none
-- mean REAL: mean of the values
-- min REAL: lowest value
-- max REAL: highest value
-- variance REAL: of the values, as a sample: square of the unit; NULL = fewer than two
CREATE VIEW metric_coverage AS
WITH launched AS (
  SELECT name, gridX, gridY, gridZ, blockX, blockY, blockZ, count(*) AS launches
  FROM (SELECT name, gridX, gridY, gridZ, blockX, blockY, blockZ
        FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
        UNION ALL
        SELECT name, gridX, gridY, gridZ, blockX, blockY, blockZ FROM CUPTI_ACTIVITY_KIND_KERNEL)
  WHERE EXISTS (SELECT 1 FROM METRIC)
  GROUP BY 1, 2, 3, 4, 5, 6, 7),
-- A shape is known by the first of its ranges.
shape AS (
  SELECT min(_id_) AS id, coalesce(name, 0) AS name, gridX, gridY, gridZ, blockX, blockY, blockZ
  FROM METRIC_RANGE
  WHERE kind = 'kernel'
  GROUP BY 2, 3, 4, 5, 6, 7, 8),
shaped AS (
  SELECT r._id_ AS range, shape.id AS shape
  FROM METRIC_RANGE AS r
  JOIN shape ON shape.name = coalesce(r.name, 0)
    AND shape.gridX = r.gridX AND shape.gridY = r.gridY AND shape.gridZ = r.gridZ
    AND shape.blockX = r.blockX AND shape.blockY = r.blockY AND shape.blockZ = r.blockZ
  WHERE r.kind = 'kernel'),
measured AS (
  SELECT shaped.shape AS shape, v.metric AS metric, count(*) AS count, avg(v.value) AS mean,
         min(v.value) AS min, max(v.value) AS max
  FROM shaped CROSS JOIN METRIC_VALUE AS v
  WHERE v.range = shaped.range
  GROUP BY 1, 2),
spread AS (
  SELECT shaped.shape AS shape, v.metric AS metric,
         sum((v.value - measured.mean) * (v.value - measured.mean)) AS squares
  FROM shaped CROSS JOIN METRIC_VALUE AS v
  JOIN measured ON measured.shape = shaped.shape AND measured.metric = v.metric
  WHERE v.range = shaped.range
  GROUP BY 1, 2),
all_shapes AS (
  SELECT launched.*, shape.id AS id
  FROM launched LEFT JOIN shape ON shape.name = launched.name
    AND shape.gridX = launched.gridX AND shape.gridY = launched.gridY
    AND shape.gridZ = launched.gridZ AND shape.blockX = launched.blockX
    AND shape.blockY = launched.blockY AND shape.blockZ = launched.blockZ
  UNION ALL
  SELECT shape.name, shape.gridX, shape.gridY, shape.gridZ, shape.blockX, shape.blockY,
         shape.blockZ, NULL, shape.id
  FROM shape LEFT JOIN launched ON shape.name = launched.name
    AND shape.gridX = launched.gridX AND shape.gridY = launched.gridY
    AND shape.gridZ = launched.gridZ AND shape.blockX = launched.blockX
    AND shape.blockY = launched.blockY AND shape.blockZ = launched.blockZ
  WHERE launched.launches IS NULL)
SELECT coalesce(s.demangled, s.value) AS name,
       coalesce(s.short, s.demangled, s.value) AS short_name,
       '(' || a.gridX || ',' || a.gridY || ',' || a.gridZ || ')' AS grid,
       '(' || a.blockX || ',' || a.blockY || ',' || a.blockZ || ')' AS block,
       m.name AS metric,
       m.unit AS unit,
       a.launches AS launches,
       coalesce(v.count, 0) AS measured,
       v.mean AS mean,
       v.min AS min,
       v.max AS max,
       CASE WHEN v.count > 1 THEN d.squares / (v.count - 1) END AS variance
FROM all_shapes AS a
CROSS JOIN METRIC AS m
LEFT JOIN measured AS v ON v.shape = a.id AND v.metric = m._id_
LEFT JOIN spread AS d ON d.shape = a.id AND d.metric = m._id_
LEFT JOIN StringTable AS s ON s._id_ = nullif(a.name, 0)
UNION ALL
{types};
