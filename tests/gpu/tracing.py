"""Checks of what is traced: kernels, copies, calls, graphs, streams, NVTX, threads."""

import collections
import os
import pathlib
import shutil
import struct

from check import ROOT, Profile, Skipped, alone, check, each, run

FLOAT = 4
SMALL_COPY = 64 * 1024  # bytes: streams, graph
LARGE_COPY = 1024 * 1024  # bytes: the pageable copies of streams


def vector_add_is_right(c, database, elements, launches):
    c.sound(database)
    c.correlated(database)
    c.kernels(database, {"vector_add": launches})
    size = elements * FLOAT
    c.copies(database, {"HtoD": (2, 2 * size), "DtoH": (1, size)})
    c.calls(database, "cudaLaunchKernel", launches)
    c.calls(database, "cudaMemcpy", 3)
    c.calls(database, "cudaMalloc", 3)
    c.equal(
        database.rows("SELECT operation, memory, bytes FROM allocations ORDER BY time"),
        [(operation, "Device", size) for operation in ("allocation", "release") for _ in range(3)],
        "allocations",
    )
    c.equal(
        database.counts("SELECT grid || block, count(*) FROM kernels GROUP BY 1"),
        {f"({(elements + 255) // 256},1,1)(256,1,1)": launches},
        "grid and block",
    )
    c.equal(
        database.rows("SELECT name, depth, domain FROM nvtx_ranges ORDER BY start"),
        [
            (name, int(name != "vector_add"), None)
            for name in ("vector_add", "copy in", "compute", "copy out")
        ],
        "ranges",
    )
    inside = database.one(
        """SELECT count(*) FROM launches AS l, nvtx_ranges AS r
           WHERE r.name = 'compute' AND l.thread_id = r.thread_id
             AND l.api_start >= r.start AND l.api_end <= r."end" """
    )
    c.equal(inside, launches, "launches inside the range compute")
    marks = database.one("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MARKER WHERE flags & 1")
    c.equal(marks, 1, "marks")
    c.equal(
        database.rows("SELECT type, count(*) FROM synchronizations GROUP BY 1"),
        [("context synchronize", 1)],
        "synchronizations",
    )
    process = database.row(
        """SELECT goodbye, salvaged, cupti_version, driver_version, exit_status, executable
           FROM processes"""
    )
    c.equal(process[:2], (1, 0), "process that said goodbye, not salvaged")
    c.expect(process[2], "PROCESS.cupti_version is NULL")
    c.expect(process[3], "PROCESS.driver_version is NULL")
    c.equal(process[4], 0, "PROCESS.exit_status")
    c.expect("vector_add" in (process[5] or ""), f"PROCESS.executable is {process[5]}")
    c.expect(database.one("SELECT count(*) FROM devices") >= 1, "no device")


@each("vector_add", ["static", "shared"])
def vector_add(c, cudart):
    program = c.example("vector_add" if cudart == "static" else "vector_add-shared")
    database = c.gpuprof([program, "1000000", "10"])
    vector_add_is_right(c, database, 1_000_000, 10)
    run_keys = database.counts("SELECT key, value FROM RUN")
    c.equal(run_keys["command_line"], f"{program} 1000000 10", "RUN.command_line")
    c.expect(run_keys["t1_realtime_ns"] > run_keys["t0_realtime_ns"], "RUN: t1 before t0")
    # Clocks: CUPTI's clock agrees with the time of day that gpuprof read.
    first, last = database.row('SELECT min(start), max("end") FROM gpu_activities')
    moments = database.rows("SELECT moment, realtime, cupti FROM CLOCK ORDER BY cupti")
    between = {"meanwhile"} if len(moments) > 2 else set()
    c.equal({moment for moment, _, _ in moments}, {"first", "last"} | between, "CLOCK")
    if len(moments) >= 2:
        (_, realtime0, cupti0), (_, realtime1, cupti1) = moments[0], moments[-1]
        c.expect(cupti0 <= first <= last <= cupti1, "GPU work outside the clock's moments")
        drift = abs((realtime1 - realtime0) - (cupti1 - cupti0))
        c.expect(drift < 10_000_000, f"clocks drift {drift} ns apart")


def streams_are_right(c, database, streams, rounds):
    each_kind = streams * rounds
    c.kernels(database, {"add_twice": each_kind})
    small = (each_kind, each_kind * SMALL_COPY)
    with_large = (each_kind + 2, each_kind * SMALL_COPY + 2 * LARGE_COPY)
    c.copies(database, {"HtoD": with_large, "DtoH": with_large, "DtoD": small, "HtoH": small})
    c.sets(database, *small)


@each("streams", ["static", "shared"])
def streams(c, cudart):
    program = c.example("streams" if cudart == "static" else "streams-shared")
    database = c.gpuprof([program, "4", "8"])
    c.sound(database)
    c.correlated(database)
    streams_are_right(c, database, 4, 8)
    c.equal(
        database.one("SELECT count(DISTINCT stream_id) FROM kernels"), 4, "streams with kernels"
    )
    memory = database.counts(
        "SELECT kind, src_memory, dst_memory, count(*) FROM memcpys GROUP BY 1, 2, 3"
    )
    c.equal(
        memory,
        {
            ("HtoD", "Pinned", "Device"): 32,
            ("HtoD", "Pageable", "Device"): 2,
            ("DtoH", "Device", "Pinned"): 32,
            ("DtoH", "Device", "Pageable"): 2,
            ("DtoD", "Device", "Device"): 32,
            ("HtoH", "Pinned", "Pinned"): 32,
        },
        "copies by memory",
    )
    synchronous = database.one("SELECT count(*) FROM memcpys WHERE NOT is_async")
    c.equal(synchronous, 2, "copies that are not asynchronous")
    waits = database.counts("SELECT type, count(*) FROM synchronizations GROUP BY 1")
    c.equal(waits.get("stream wait event"), 4, "stream wait event")
    c.expect(waits.get("stream synchronize", 0) >= 1, "no stream synchronize")
    c.equal(waits.get("context synchronize"), 1, "context synchronize")
    # In a stream nothing overlaps. Copies from host to host are not GPU work, nor are their times.
    overlaps = 0
    for (stream,) in database.rows("SELECT DISTINCT stream_id FROM gpu_activities"):
        work = database.rows(
            """SELECT start, "end" FROM gpu_activities
               WHERE stream_id = ? AND start > 0 AND name NOT LIKE '%HtoH%' ORDER BY start""",
            stream,
        )
        overlaps += sum(b[0] < a[1] for a, b in zip(work, work[1:]))
    c.equal(overlaps, 0, "activities of one stream that overlap")


@each("graph", ["static", "shared"])
def graph(c, cudart):
    program = c.example("graph" if cudart == "static" else "graph-shared")
    launches, kernels = 5, 10
    database = c.gpuprof([program, str(launches), str(kernels)])
    c.sound(database)
    c.correlated(database)
    c.kernels(database, {"add_step": launches * kernels})
    both = (launches, launches * SMALL_COPY)
    c.copies(database, {"HtoD": both, "DtoH": both})
    c.sets(database, *both)
    c.calls(database, "cudaGraphLaunch", launches)
    nodes = database.rows(
        """SELECT count(*), count(DISTINCT graph_node_id), min(graph_node_id > 0),
                  count(DISTINCT graph_id), min(graph_id > 0)
           FROM kernels GROUP BY correlation_id"""
    )
    c.equal(nodes, [(kernels, kernels, 1, 1, 1)] * launches, "nodes of each launch")
    c.equal(
        database.one("SELECT count(DISTINCT graph_node_id) FROM gpu_activities"),
        kernels + 3,
        "nodes",
    )
    launched_by = database.counts(
        """SELECT r.name, count(DISTINCT g.correlation_id) FROM gpu_activities AS g
           JOIN api_calls AS r ON r.correlation_id = g.correlation_id AND r.domain = 'runtime'
           GROUP BY 1"""
    )
    c.equal(launched_by, {"cudaGraphLaunch": launches}, "calls that launched the nodes")


@check
def graph_as_a_whole(c):
    """--trace +graph: a row per launch instead of its nodes."""
    database = c.gpuprof([c.example("graph"), "5", "10"], "--trace", "+graph")
    c.sound(database)
    rows = database.rows(
        """SELECT graphId > 0, correlationId > 0, "end" > start
           FROM CUPTI_ACTIVITY_KIND_GRAPH_TRACE"""
    )
    c.equal(rows, [(1, 1, 1)] * 5, "graph launches")
    c.kernels(database, {})


@check
def unified_memory(c):
    database = c.gpuprof([c.example("unified_memory"), "2"])
    c.sound(database)
    c.correlated(database)
    c.kernels(database, {"increment": 2})
    kinds = database.counts(
        """SELECT coalesce(e.name, u.counterKind), count(*)
           FROM CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER AS u
           LEFT JOIN ENUM_NAME AS e
             ON e.enum = 'CUpti_ActivityUnifiedMemoryCounterKind' AND e.value = u.counterKind
           GROUP BY 1"""
    )
    c.seen["unified memory"] = kinds
    c.expect(sum(kinds.values()) > 0, "no unified memory rows")
    c.expect(len(kinds) >= 3, f"unified memory: only {kinds}")
    moved = database.counts(
        """SELECT counterKind, sum(value) FROM CUPTI_ACTIVITY_KIND_UNIFIED_MEMORY_COUNTER
           WHERE counterKind IN (1, 2) GROUP BY 1"""
    )
    for kind, direction in ((1, "HtoD"), (2, "DtoH")):
        c.expect(moved.get(kind, 0) >= 2 * 1024 * 1024, f"{direction} bytes: {moved.get(kind)}")
    c.equal(
        database.counts(
            "SELECT memory, sum(bytes) FROM allocations WHERE operation = 'allocation' GROUP BY 1"
        ).get("Managed"),
        2 * 1024 * 1024,
        "managed bytes allocated",
    )


@check
def nvtx_pairs(c):
    """What a push and a pop cost, in ns of each thread; the numbers are reported, not judged."""
    pairs, rounds = 4000, 5
    for threads in (1, 8):
        command = [c.example("nvtx_pairs"), str(threads), str(pairs), str(rounds)]
        database = c.gpuprof(command, stdout=False)
        c.sound(database)
        c.equal(
            database.counts("SELECT name, kind, count(*) FROM nvtx_ranges GROUP BY 1, 2"),
            {("first", "push_pop"): threads, ("pair", "push_pop"): threads * pairs * rounds},
            "ranges",
        )
        c.seen[f"ns per pair, {threads} threads: at first, later"] = {
            "without gpuprof": c.plain(command).stdout.decode().strip(),
            "with it": database.outcome.stdout.decode().strip(),
        }


@check
def nvtx_threads(c):
    threads, steps = 4, 3
    database = c.gpuprof([c.example("nvtx_threads"), str(threads), str(steps)])
    c.sound(database)
    c.correlated(database)
    c.kernels(database, {"step_kernel": threads * steps})
    # (domain, name, kind, depth): how many
    got = database.counts(
        """SELECT coalesce(domain, '-'), name, kind, depth, count(*) FROM nvtx_ranges
           GROUP BY 1, 2, 3, 4"""
    )
    wanted = {
        ("-", "everything", "start_end", None): 1,
        ("-", "thread", "push_pop", 0): threads,
        ("example.steps", "step", "push_pop", 0): threads * steps,
        ("example.steps", "launch", "push_pop", 1): threads * steps,
    }
    wanted |= {("-", f"hand over {t}", "start_end", None): 1 for t in range(threads)}
    c.equal(got, wanted, "ranges")
    unpaired = database.one('SELECT count(*) FROM nvtx_ranges WHERE "end" IS NULL OR "end" < start')
    c.equal(unpaired, 0, "ranges without end")
    c.equal(
        sorted(
            database.column("SELECT payload_int FROM nvtx_ranges WHERE name = 'thread'"), key=str
        ),
        list(range(threads)),
        "integer payloads",
    )
    c.equal(
        database.counts(
            "SELECT payload_double, count(*) FROM nvtx_ranges WHERE name = 'step' GROUP BY 1"
        ),
        {step + 0.5: threads for step in range(steps)},
        "floating-point payloads",
    )
    c.equal(
        database.counts(
            "SELECT name, color, category, count(*) FROM nvtx_ranges WHERE domain IS NOT NULL"
            " GROUP BY 1, 2, 3"
        ),
        {("step", 0xFF00A000, 7): threads * steps, ("launch", None, 7): threads * steps},
        "colors and categories",
    )
    with_payload = database.one(
        """SELECT count(*) FROM nvtx_ranges WHERE name NOT IN ('thread', 'step')
           AND (payload_int IS NOT NULL OR payload_double IS NOT NULL)"""
    )
    c.equal(with_payload, 0, "payloads of ranges that have none")
    c.equal(
        database.one("SELECT count(DISTINCT thread_id) FROM nvtx_ranges WHERE name = 'thread'"),
        threads,
        "threads",
    )
    outside = database.one(
        """SELECT count(*) FROM nvtx_ranges AS r WHERE r.domain IS NOT NULL AND NOT EXISTS
             (SELECT 1 FROM nvtx_ranges AS o WHERE o.name = 'thread' AND o.thread_id = r.thread_id
                AND o.start <= r.start AND o."end" >= r."end")"""
    )
    c.equal(outside, 0, "ranges outside their thread's")
    c.equal(
        database.counts(
            """SELECT p.name, count(*) FROM nvtx_ranges AS r JOIN nvtx_ranges AS p
                 ON p.id = r.parent GROUP BY 1"""
        ),
        {"step": threads * steps},
        "parents",
    )
    per_range = database.column(
        """SELECT count(l.start) FROM nvtx_ranges AS r LEFT JOIN launches AS l
             ON l.thread_id = r.thread_id AND l.api_start >= r.start AND l.api_end <= r."end"
           WHERE r.name = 'launch' GROUP BY r.id"""
    )
    c.equal(per_range, [1] * threads * steps, "launches in each range launch")
    c.seen["markers of ranges that start and end"] = database.rows(
        """SELECT s.value, m.flags, m.id, m.objectKind, hex(m.objectId), m.threadId, m.timestamp
           FROM CUPTI_ACTIVITY_KIND_MARKER AS m LEFT JOIN StringTable AS s ON s._id_ = m.name
           WHERE m.id IN (SELECT m.id FROM CUPTI_ACTIVITY_KIND_MARKER AS m
             JOIN StringTable AS s ON s._id_ = m.name
             WHERE s.value = 'everything' OR s.value LIKE 'hand over%')"""
    )
    marks = database.counts(
        """SELECT s.value, count(*) FROM CUPTI_ACTIVITY_KIND_MARKER AS m
           JOIN StringTable AS s ON s._id_ = m.name WHERE m.flags & 1 GROUP BY 1"""
    )
    c.equal(marks, {"ready": threads}, "marks")


@check
def profiler_api(c):
    """--profile-from-start off: only what is between cudaProfilerStart and Stop."""
    database = c.gpuprof([c.example("profiler_api")], "--profile-from-start", "off")
    c.sound(database)
    c.correlated(database)
    c.seen["odd rows"] = database.rows(
        """SELECT (SELECT salvaged FROM PROCESS), (SELECT count(*) FROM CUPTI_ACTIVITY_KIND_KERNEL),
                  * FROM kernels WHERE name NOT LIKE '%inside_part%'"""
    )
    c.kernels(database, {"inside_part": 7})
    c.calls(database, "cudaLaunchKernel", 7)
    database = c.gpuprof([c.example("profiler_api")])
    # On from the start: the first cudaProfilerStop ends it.
    c.kernels(database, {"inside_part": 7, "outside_part": 3})


@alone  # compares times of single calls
def calls_both_ways(c):
    """Calls by the collector's callbacks and by CUPTI's activity kinds, in the same run, row for row.

    Each call of one way must be one of the other. Their times are taken at slightly different moments, between
    which a thread may be interrupted, or flush after a wait: so 95 of 100 starts and ends must be within 1 us."""
    compiler = shutil.which("cc") or shutil.which("gcc")
    if not compiler:
        raise Skipped("no C compiler")
    installed = c.options.gpuprof.parents[1] / "lib/gpuprof/libcupti.so.13"
    cupti = pathlib.Path(os.environ.get("GPUPROF_CUPTI", installed)).resolve()
    library = c.folder / "libbothways.so"
    built = run([compiler, "-shared", "-fPIC", ROOT / "tests/gpu/both_ways.c", "-o", library, cupti,
                 f"-Wl,-rpath,{cupti.parent},--disable-new-dtags", "-ldl"])  # fmt: skip
    c.equal((built.code, built.stderr), (0, ""), "building tests/gpu/both_ways.c")
    for example, *arguments in (
        ["launch_mix", "0", "100", "0", "20000"],
        ["streams"],
        ["graph"],
        ["nvtx_threads", "8", "200"],
    ):
        records = c.folder / f"{example}.calls"
        command = ["env", f"BOTH_WAYS={records}", c.example(example), *arguments]
        database = c.gpuprof(command, "--cupti", library, stdout=False)
        c.sound(database)
        left_out = set(
            database.one("SELECT value FROM RUN WHERE key = 'calls_left_out'").split(",")
        )
        left_out.add("cuKernelGetName")
        names = database.counts("SELECT domain, cbid, name FROM API_NAME")
        ours = {}
        for domain in ("driver", "runtime"):
            for correlation, number, thread, result, start, end in database.rows(
                "SELECT correlationId, cbid, threadId, returnValue, start, [end] "
                f"FROM CUPTI_ACTIVITY_KIND_{domain.upper()}"
            ):
                ours[domain, correlation] = (number, thread, result), start, end
        threads = {what[1] for what, _, _ in ours.values()}  # the collector has others
        by_kinds = {}
        for kind, number, start, end, _, thread, correlation, result in struct.iter_unpack(
            "=IIQQIIII", records.read_bytes()
        ):
            domain = "driver" if kind == 4 else "runtime"
            name = names.get((domain, number), "").split("_")[0]
            if name not in left_out and thread in threads:
                by_kinds[domain, correlation] = (number, thread, result), start, end
        differ = collections.Counter()
        for call in ours.keys() | by_kinds.keys():
            one, other = (way.get(call, [None])[0] for way in (ours, by_kinds))
            if one != other:
                # Which are in one way alone, and whose result or thread is another.
                differ[names[call[0], (one or other)[0]], one is not None, other is not None] += 1
        c.equal(dict(differ), {}, f"of {len(ours)} calls of {example} by callbacks, by kinds")
        for text, column in (("starts", 1), ("ends", 2)):
            away = sorted(
                abs(it[column] - by_kinds[call][column])
                for call, it in ours.items()
                if call in by_kinds
            )
            at = [away[min(int(len(away) * share), len(away) - 1)] for share in (0.5, 0.95, 1)]
            c.seen[f"{example}: {text}, ns between the two ways: median, 95 %, most"] = at
            c.expect(at[1] <= 1000, f"{example}: {text} are {at[1]} ns apart")
        early = database.one(
            "SELECT count(*) FROM kernels AS k JOIN api_calls AS c ON c.correlation_id = k.correlation_id "
            "AND c.process_id = k.process_id WHERE k.start < c.start"
        )
        c.equal(early, 0, f"kernels of {example} before their calls")


@check
def calls_that_ask(c):
    """Calls that only query have no rows, nor do the driver calls inside them; with +queries all do.

    The collector makes the rows of the former, and of waits; with +queries CUPTI makes those of calls. Both
    are the same by function and result."""

    def left_out(database):
        return set(database.one("SELECT value FROM RUN WHERE key = 'calls_left_out'").split(","))

    def calls(database):
        return database.counts(
            "SELECT domain || ' ' || name || ' ' || return_value, count(*) FROM api_calls GROUP BY 1"
        )

    def waits(database):
        return database.counts(
            "SELECT type || ' ' || coalesce(stream_id, ''), count(*) FROM synchronizations GROUP BY 1"
        )

    def kernels_before_their_calls(database):
        return database.one(
            "SELECT count(*) FROM kernels AS k JOIN api_calls AS c ON c.correlation_id = k.correlation_id "
            "AND c.process_id = k.process_id WHERE k.start < c.start"
        )

    for example, options in (
        (["vector_add", "1000000", "10"], []),
        (["profiler_api"], ["--profile-from-start", "off"]),
        (["streams"], []),
        (["graph"], []),
        (["allocations"], []),
        (["nvtx_threads"], []),
    ):
        command = [c.example(example[0]), *example[1:]]
        database = c.gpuprof(command, *options)
        c.correlated(database)
        c.equal(kernels_before_their_calls(database), 0, "kernels before their calls")
        names = left_out(database)
        c.expect({"cudaGetDevice", "cudaGetLastError", "cuCtxGetCurrent"} <= names, "not left out")
        c.expect("cudaLaunchKernel" not in names, "launches are left out")
        few = calls(database)
        c.equal({name for name in few if name.split()[1] in names}, set(), "rows of left out calls")
        with_all = c.gpuprof(command, *options, "--trace", "+queries")
        c.equal(left_out(with_all), {"none"}, "calls_left_out with +queries")
        c.equal(waits(database), waits(with_all), f"waits of {example[0]}")
        every = calls(with_all)
        c.equal(
            few,
            {name: count for name, count in every.items() if name.split()[1] not in names},
            f"other calls of {example[0]}",
        )
        c.seen[example[0]] = {"rows": sum(few.values()), "with +queries": sum(every.values())}


@check
def never_started(c):
    """--profile-from-start off without cudaProfilerStart: nothing is recorded, and no harm done."""
    path = c.folder / "none.sqlite"
    command = [c.example("fork"), "3"]
    outcome = run([c.options.gpuprof, "--profile-from-start", "off", "-o", path, *command])
    c.equal((outcome.code, outcome.stdout), (0, b"ok\n"), "exit code and stdout")
    if path.exists():
        c.kernels(Profile(path), {})


@check
def fork(c):
    database = c.gpuprof([c.example("fork"), "10"])
    c.sound(database)
    c.correlated(database)
    c.kernels(database, {"before_fork": 10, "after_fork": 10})
    c.equal(database.one("SELECT count(*) FROM PROCESS"), 1, "processes")


@check
def launching_threads(c):
    """Eight threads that only launch."""
    command = [c.example("small_launches"), "20000", "8"]
    database = c.gpuprof(command, stdout=False)
    c.sound(database)
    c.correlated(database)
    c.kernels(database, {"tiny": 1000 + 8 * 20000})
    per_thread = database.counts("SELECT thread_id, count(*) FROM launches GROUP BY 1")
    c.equal(sorted(per_thread.values()), [20000] * 7 + [21000], "launches per thread")


@check
def trace_gpu(c):
    """--trace gpu: GPU work joins its call, and no other calls are recorded."""
    database = c.gpuprof([c.example("vector_add"), "1000000", "10"], "--trace", "gpu")
    c.sound(database)
    c.correlated(database, api_calls=False)
    c.kernels(database, {"vector_add": 10})
    c.equal(database.one("SELECT count(*) FROM nvtx_ranges"), 0, "NVTX ranges")
    c.seen["API rows"] = database.counts("SELECT name, count(*) FROM api_calls GROUP BY 1")
    database = c.gpuprof([c.example("streams"), "4", "8"], "--trace", "gpu")
    c.sound(database)
    c.correlated(database, api_calls=False)
    streams_are_right(c, database, 4, 8)
    distinct = database.row(
        "SELECT count(*), count(DISTINCT correlation_id) FROM gpu_activities WHERE graph_id = 0"
    )
    c.equal(distinct[0], distinct[1], "correlation ids, one for each activity")


@check
def trace_api(c):
    database = c.gpuprof([c.example("vector_add"), "1000000", "10"], "--trace", "api")
    c.sound(database)
    c.kernels(database, {})
    c.calls(database, "cudaLaunchKernel", 10)


@check
def trace_all(c):
    database = c.gpuprof([c.example("streams"), "4", "8"], "--trace", "all")
    c.sound(database)
    c.correlated(database)
    streams_are_right(c, database, 4, 8)
    c.seen["tables"] = {
        table.removeprefix("CUPTI_ACTIVITY_KIND_"): rows
        for table in database.tables()
        if table.startswith("CUPTI_ACTIVITY_KIND_")
        and (rows := database.one(f'SELECT count(*) FROM "{table}"'))
    }


@check
def serial_kernels(c):
    database = c.gpuprof([c.example("streams"), "4", "8"], "--concurrent-kernels", "off")
    c.sound(database)
    c.correlated(database)
    streams_are_right(c, database, 4, 8)
    database = c.gpuprof([c.example("graph"), "5", "10", "3"], "--concurrent-kernels", "off")
    c.sound(database)
    c.kernels(database, {"add_step": 65})
    timed = database.one("SELECT count(*) FROM kernels WHERE duration > 0")
    c.equal(timed, 65, "kernels that have times, those of graphs too")


@check
def nvrtc(c):
    database = c.gpuprof([c.example("nvrtc"), "20"])
    c.sound(database)
    c.correlated(database)
    c.kernels(database, {"compiled_at_run_time": 20})
    c.copies(database, {"HtoD": (1, 4096), "DtoH": (1, 4096)})
    c.sets(database, 1, 4096)
    c.calls(database, "cuLaunchKernel", 20, "driver")
    joined = database.counts("SELECT api_domain, api_name, count(*) FROM launches GROUP BY 1, 2")
    c.equal(joined, {("driver", "cuLaunchKernel"): 20}, "calls that launched")
