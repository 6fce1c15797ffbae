-- Processes of the run that loaded the collector.
--
-- process_id INTEGER: process id
-- number INTEGER: counts the processes of the run from 0; high 32 bits of its correlation ids
-- parent_process_id INTEGER: process that made it
-- executable TEXT: path of the program
-- command_line TEXT: program and arguments
-- cupti_version INTEGER: CUPTI's API version, 130500 for CUDA 13.5; NULL = CUDA not used
-- driver_version INTEGER: CUDA version of the driver, 13000 for 13.0; NULL = CUDA not used
-- exit_status INTEGER: status it ended with; NULL = not known, or ended by a signal
-- exit_signal INTEGER: signal that ended it; NULL = none, or not known
-- goodbye INTEGER: 1 = its collector ended in order and sent everything
-- salvaged INTEGER: 1 = rows were read from its buffers after its death
-- rank INTEGER: which process of a parallel job it is, from 0; NULL = of none that is known
-- world_size INTEGER [count]: processes of that job; NULL = not known
-- local_rank INTEGER: which of those on its machine, from 0; NULL = not known
-- job TEXT: variables that the processes of one job have in common; NULL = none
-- first_realtime INTEGER [ns]: when collection began, since 1970; NULL = not known
-- last_realtime INTEGER [ns]: when it was over, since 1970; NULL = not known
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
FROM PROCESS AS p
UNION ALL
{types};
