"""Checks of kinds and details that need more than being enabled."""

import os
import pathlib

from check import Skipped, check
from frameworks import python


@check
def latency(c):
    """--kernel-latency-timestamps: queued, submitted and started in this order."""
    database = c.gpuprof(
        [c.example("vector_add"), "1000", "20"], "--kernel-latency-timestamps", "on"
    )
    c.sound(database)
    kernels = database.one("SELECT count(*) FROM kernels")
    in_order = database.one("""SELECT count(*) FROM kernels
                                 WHERE 0 < queued AND queued <= submitted AND submitted <= start""")
    c.equal(in_order, kernels, "kernels queued, submitted and started in order")


@check
def clusters(c):
    database = c.gpuprof([c.example("clusters"), "3", "4"])
    c.sound(database)
    found = database.rows(
        "SELECT cluster_x, cluster_y, cluster_z, count(*) FROM kernels GROUP BY 1, 2, 3"
    )
    c.equal(found, [(4, 1, 1, 3)], "clusters")


@check
def occupancy(c):
    """200 random shapes: blocks on a multiprocessor as CUDA computes them, and the inputs."""
    command = [c.example("occupancy"), "200"]
    database = c.gpuprof(command)
    c.sound(database)
    plain = c.plain(command)
    c.equal(plain.stderr.strip(), "", "launches of which CUDA says something else")
    wanted = [tuple(map(int, line.split()[:5])) for line in plain.stdout.splitlines()]
    # CUPTI reports 16 registers for kernels that have fewer.
    wanted = [(threads, max(registers, 16), *rest) for threads, registers, *rest in wanted]
    found = database.rows("""
        SELECT blockX * blockY * blockZ, registersPerThread, staticSharedMemory,
               dynamicSharedMemory,
               CASE WHEN isSharedMemoryCarveoutRequested THEN sharedMemoryCarveoutRequested ELSE -1
               END
        FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL ORDER BY correlationId""")
    c.equal(len(found), len(wanted), "launches")
    differ = [pair for pair in zip(found, wanted) if pair[0] != pair[1]]
    c.equal(differ[:4], [], f"shapes that are recorded as others, {len(differ)} of {len(wanted)}")


@check
def device_graphs(c):
    """Graphs launched by a kernel, and the graph that contains it."""
    database = c.gpuprof([c.example("device_graph"), "3"], "--trace", "+graph")
    c.sound(database)
    c.equal(database.one("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE"), 3, "outer graphs")
    launched = database.one("""
        SELECT count(*) FROM CUPTI_ACTIVITY_KIND_DEVICE_GRAPH_TRACE AS d
        WHERE d.stop > d.start AND d.launcherGraphId IN
          (SELECT graphId FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE)""")
    c.equal(launched, 3, "inner graphs")


@check
def green_contexts(c):
    database = c.gpuprof([c.example("green_context"), "3", "16"])
    c.sound(database)
    if database.one("SELECT max(cupti_version) FROM PROCESS") < 130100:
        raise Skipped("CUPTI 13.0 does not record green contexts")
    found = database.rows("SELECT numMultiprocessors FROM CUPTI_ACTIVITY_KIND_GREEN_CONTEXT")
    c.equal(found, [(16,)], "multiprocessors of green contexts")
    ran = database.one("""SELECT count(*) FROM kernels WHERE context_id IN
                            (SELECT contextId FROM CUPTI_ACTIVITY_KIND_GREEN_CONTEXT)""")
    c.equal(ran, 3, "kernels in it")
    found = database.rows(
        "SELECT is_green, multiprocessors, parent_id, kernels FROM contexts ORDER BY context_id"
    )
    c.equal(found, [(0, None, 0, 0), (1, 16, 1, 3)], "contexts")


@check
def hardware_tracing(c):
    """Times from the hardware where there are any; a run without is as ever, and says why."""
    for mode in ("on", "auto"):
        database = c.gpuprof([c.example("vector_add"), "1000", "20"], "--hw-trace", mode)
        c.sound(database)
        used = database.one("SELECT value FROM RUN WHERE key = 'hw_trace'")
        blackwell = database.one(
            "SELECT max(computeCapabilityMajor) >= 10 FROM CUPTI_ACTIVITY_KIND_DEVICE"
        )
        c.expect(used == "on" or used.startswith("off: "), used)
        c.expect(blackwell or used != "on", f"hardware tracing {used}")


@check
def rare_kinds(c):
    database = c.gpuprof([c.example("rare_work"), "2"], "--trace", "all", stdout=False)
    c.sound(database)
    for table, rows in (("MEMORY_POOL", 8), ("NAME", 2), ("CUDA_EVENT", 2)):
        count = database.one(f"SELECT count(*) FROM CUPTI_ACTIVITY_KIND_{table}")
        c.equal(count, rows, f"rows of {table}")
    one_by_one = "--concurrent-kernels", "off"
    database = c.gpuprof([c.example("rare_work"), "2"], *one_by_one, stdout=False)
    c.equal(database.one("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL"), 2, "rows of KERNEL")
    # Graphs as a whole are left out, so that CUPTI goes back to one kernel at a time after each.
    more = "--trace", "+graph,+host"
    database = c.gpuprof([c.example("graph"), "5", "10", "3"], *one_by_one, *more, stdout=False)
    c.sound(database)
    c.kernels(database, {"add_step": 65})
    c.expect("while kernels run one at a time" in database.outcome.stderr, "what is left out")


@check
def external_ids(c):
    """Ids that the program pushes, each around a copy and a kernel."""
    # The program is linked against libcupti.
    libraries = c.options.gpuprof.parent.parent / "lib" / "gpuprof"
    database = c.gpuprof(
        ["env", f"LD_LIBRARY_PATH={libraries}", c.example("external_ids"), "3"],
        "--trace",
        "+external",
    )
    c.sound(database)
    found = database.rows("""
        SELECT e.externalId, count(*) FROM CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION AS e
        JOIN gpu_activities AS g ON g.correlation_id = e.correlationId
        WHERE e.externalKind = 3 GROUP BY 1 ORDER BY 1""")
    c.equal(found, [(1000, 2), (1001, 2), (1002, 2)], "GPU work under each id")


@check
def nvtx_payloads(c):
    database = c.gpuprof([c.example("nvtx_payloads"), "4"])
    c.sound(database)
    found = database.rows("""SELECT field, value FROM nvtx_payloads
                             WHERE range_name = 'receive' ORDER BY time, field LIMIT 5""")
    c.equal(
        found,
        [
            ("bytes", 1 << 19),
            ("label", "lane-7"),
            ("operation", "receive"),
            ("peer", 1),
            ("speed", 3e9),
        ],
        "fields of a payload",
    )
    c.equal(database.one("SELECT count(*) FROM NVTX_PAYLOAD"), 20, "fields")


@check
def clocks_and_power(c):
    """CUPTI accepts the kind only once the driver is up. With it, CUPTI may lose times of kernels."""
    database = c.gpuprof(
        [c.example("small_launches"), "100000"], "--system-profiling", "on", stdout=False
    )
    speed, power = database.rows("""SELECT max(smClock), max(power)
                                    FROM CUPTI_ACTIVITY_KIND_ENVIRONMENT""")[0]
    c.expect(speed and power and speed > 100 and power > 10_000, f"{speed} MHz, {power} mW")


@check
def events(c):
    database = c.gpuprof([c.example("streams"), "4", "8"], "--trace", "+cuda-event")
    c.sound(database)
    events = database.rows("SELECT deviceTime FROM CUPTI_ACTIVITY_KIND_CUDA_EVENT")
    c.expect(len(events) >= 4, f"{len(events)} events")
    c.expect(all(time > 0 for (time,) in events), "events without a time on the GPU")


@check
def allocation_sources(c):
    database = c.gpuprof([c.example("vector_add"), "1000", "2"], "--trace", "+allocation-source")
    c.sound(database)
    found = database.column("""SELECT DISTINCT s.value FROM CUPTI_ACTIVITY_KIND_MEMORY2 AS m
                               JOIN StringTable AS s ON s._id_ = m.source
                               WHERE m.memoryOperationType = 1""")
    c.equal(found, [str(c.example("vector_add"))], "libraries that allocated")


GRAPH = """
import torch


def first(x):
    return x @ x


def second(x):
    return torch.relu(x)


def work(x):
    return second(first(x))


x = torch.ones(64, 64, device="cuda")
with torch.cuda.stream(torch.cuda.Stream()):
    work(x)
torch.cuda.synchronize()
graph = torch.cuda.CUDAGraph()
with torch.cuda.graph(graph):
    work(x)
for _ in range(20):
    graph.replay()
torch.cuda.synchronize()
"""


@check
def lines_of_graph_nodes(c):
    """Kernels of a captured graph have the lines that captured them."""
    script = c.folder / "graph.py"
    script.write_text(GRAPH)
    database = c.gpuprof([python(c, "torch"), script], "--stacks=launches")
    c.sound(database)
    lines = {
        f"{script}:{number}"
        for number, line in enumerate(GRAPH.split("\n"), 1)
        if line.startswith("    return") and "work" not in line and "second(" not in line
    }
    nodes = database.rows("SELECT name, count, python_line FROM graph_nodes")
    c.seen["nodes"] = nodes
    c.equal({line for _, _, line in nodes}, lines, "lines that made nodes")
    c.equal({count for _, count, _ in nodes}, {20}, "times that each node ran")
    found = database.rows(
        "SELECT graph_node_id > 0, python_line FROM kernels WHERE python_line IN (?, ?) GROUP BY 1, 2",
        *sorted(lines),
    )
    c.equal(
        {line for of_graph, line in found if not of_graph},
        lines,
        "lines of the same kernels outside of it",
    )


@check
def collectives(c):
    """NCCL reports for each of its operations how much it moves, and in which communicator."""
    interpreter = python(c, "torch")
    script = c.folder / "collectives.py"
    script.write_text(
        """
import torch, torch.distributed as d
d.init_process_group("nccl", init_method="file:///dev/shm/gpuprof-check-%d", rank=0, world_size=1)
x = torch.ones(1 << 20, device="cuda")
for _ in range(3):
    d.all_reduce(x)
torch.cuda.synchronize()
d.destroy_process_group()
"""
        % os.getpid()
    )
    try:
        database = c.gpuprof([interpreter, script], stdout=False)
    finally:
        pathlib.Path(f"/dev/shm/gpuprof-check-{os.getpid()}").unlink(missing_ok=True)
    c.sound(database)
    found = database.rows("""SELECT value, count(*) FROM nvtx_payloads
                             WHERE range_name = 'ncclAllReduce' AND field LIKE '%[bytes]%'
                             GROUP BY 1""")
    c.equal(found, [(4 << 20, 3)], "bytes of all-reduces")
