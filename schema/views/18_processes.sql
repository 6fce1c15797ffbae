-- Processes of the run that loaded the collector.
--
-- process_id: process id
-- number: counts the processes of the run from 0; high 32 bits of its correlation ids
-- parent_process_id: process that made it
-- executable: path of the program
-- command_line: program and arguments
-- cupti_version: CUPTI's API version, 130500 for CUDA 13.5; NULL = CUDA not used
-- driver_version: CUDA version of the driver, 13000 for 13.0; NULL = CUDA not used
-- exit_status: status it ended with; NULL = not known, or ended by a signal
-- exit_signal: signal that ended it; NULL = none, or not known
-- goodbye: 1 = its collector ended in order and sent everything
-- salvaged: 1 = rows were read from its buffers after its death
-- rank: which process of a parallel job it is, from 0; NULL = of none that is known
-- world_size: processes of that job; NULL = not known
-- local_rank: which of those on its machine, from 0; NULL = not known
-- job: variables that the processes of one job have in common; NULL = none
-- first_realtime: when collection began, ns since 1970; NULL = not known
-- last_realtime: when it was over, ns since 1970; NULL = not known
CREATE VIEW processes AS
SELECT p.processId AS process_id,
       p.number AS number,
       p.parentProcessId AS parent_process_id,
       p.executable AS executable,
       p.command_line AS command_line,
       p.cupti_version AS cupti_version,
       p.driver_version AS driver_version,
       p.exit_status AS exit_status,
       p.exit_signal AS exit_signal,
       p.goodbye AS goodbye,
       p.salvaged AS salvaged,
       p.rank AS rank,
       p.worldSize AS world_size,
       p.localRank AS local_rank,
       p.job AS job,
       (SELECT min(c.realtime) FROM CLOCK AS c
        WHERE c.processId = p.processId AND c.moment = 'first') AS first_realtime,
       (SELECT max(c.realtime) FROM CLOCK AS c
        WHERE c.processId = p.processId AND c.moment = 'last') AS last_realtime
FROM PROCESS AS p;
