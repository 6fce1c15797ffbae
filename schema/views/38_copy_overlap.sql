-- How long each device copied in each direction, and for how much of that kernels ran as well. Copies
-- that overlap one another count once in each direction.
--
-- kind TEXT: direction: HtoD, DtoH, DtoD, PtoP, ...
-- copying_ms REAL [ms]: time in which any copy of that direction ran
-- beside_kernels_ms REAL [ms]: of that, time in which kernels or graphs ran too
-- share REAL [share]: beside_kernels_ms / copying_ms, from 0 to 1
-- device_id INTEGER: the device
CREATE VIEW copy_overlap AS
SELECT coalesce((SELECT e.name FROM ENUM_NAME AS e
                 WHERE e.enum = 'CUpti_ActivityMemcpyKind' AND e.value = c.copyKind),
                CAST(c.copyKind AS TEXT)) AS kind,
       c.copying / 1e6 AS copying_ms,
       c.besideKernels / 1e6 AS beside_kernels_ms,
       c.besideKernels * 1.0 / c.copying AS share,
       c.deviceId AS device_id
FROM COPY_TIME AS c
UNION ALL
{types};
