-- How much was copied in each direction, from which kind of memory, and how fast?
SELECT kind,
       src_memory,
       dst_memory,
       count(*) AS copies,
       sum(bytes) / 1e6 AS megabytes,
       sum(duration) / 1e6 AS total_ms,
       sum(bytes) * 1.0 / sum(duration) AS gigabytes_per_second
FROM memcpys
GROUP BY kind, src_memory, dst_memory
ORDER BY total_ms DESC;
