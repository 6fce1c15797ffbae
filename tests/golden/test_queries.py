"""The answers of examples/queries compared with values computed here, row by row, from the tables.

Each capture is queried, and a copy of it in which all GPU work is close together, so that kernels,
copies and streams overlap; in the captures they hardly do.

GPUPROF is the path of the gpuprof binary. GPUPROF_PROFILES may list finished profiles, separated by ":",
which are queried instead of the captures.
"""
# ctest-labels: plain

import collections
import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", ""))
CAPTURES = sorted(
    capture
    for folder in (SOURCE, BUILD)
    for capture in (folder / "tests" / "captures").glob("*.gpcap")
)
PROFILES = [pathlib.Path(p) for p in os.environ.get("GPUPROF_PROFILES", "").split(":") if p]
QUERIES = SOURCE / "examples" / "queries"
GPUPROF = os.environ.get("GPUPROF")

COPIES = ("unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD", "DtoA", "DtoD", "HtoH", "PtoP")
MEMORY = ("unknown", "Pageable", "Pinned", "Device", "Array", "Managed", "DeviceStatic",
          "ManagedStatic")  # fmt: skip
WORK = ("KERNEL", "CONCURRENT_KERNEL", "GRAPH_TRACE", "MEMCPY", "MEMCPY2", "MEMSET")

KINDS = {"GRAPH_TRACE": "graph", "MEMSET": "memset"}

Work = collections.namedtuple(
    "Work", "kind name begin end device stream correlation bytes src dst process"
)
Call = collections.namedtuple("Call", "domain cbid begin end correlation thread process")
Range = collections.namedtuple("Range", "name begin end thread process domain id")


class Run:
    """A profile, as lists of the rows of its tables."""

    def __init__(self, path):
        self.path = path
        self.connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        self.connection.row_factory = sqlite3.Row
        self.strings = dict(
            map(tuple, self.rows("SELECT _id_, coalesce(demangled, value) FROM StringTable"))
        )
        self.zero = self.rows("SELECT value FROM RUN WHERE key = 'zero_ns'")[0][0]

    def close(self):
        self.connection.close()

    def rows(self, sql):
        return self.connection.execute(sql).fetchall()

    def table(self, kind):
        return self.rows(f"SELECT * FROM CUPTI_ACTIVITY_KIND_{kind}")

    def work(self):
        """GPU work that has times."""
        for kind in WORK:
            for row in self.table(kind):
                if not 0 < row["start"] < row["end"]:
                    continue
                keys = row.keys()
                stream = row["processId"], row["contextId"], row["streamId"]
                yield Work(
                    "kernel" if "KERNEL" in kind else KINDS.get(kind, "memcpy"),
                    self.strings.get(row["name"]) if "name" in keys
                    else COPIES[row["copyKind"]] if "copyKind" in keys else None,
                    row["start"], row["end"], row["deviceId"], stream, row["correlationId"],
                    row["bytes"] if "bytes" in keys else None,
                    row["srcKind"] if "srcKind" in keys else None,
                    row["dstKind"] if "dstKind" in keys else None, row["processId"],
                )  # fmt: skip

    def calls(self):
        for domain in ("RUNTIME", "DRIVER"):
            for row in self.table(domain):
                yield Call(domain.lower(), row["cbid"], row["start"], row["end"],
                           row["correlationId"], row["threadId"], row["processId"])  # fmt: skip

    def launches(self):
        """Each kernel with the call that launched it."""
        calls = {}
        for call in self.calls():  # the runtime's come first
            calls.setdefault(call.correlation, call)
        for kernel in self.work():
            if kernel.kind == "kernel" and kernel.correlation in calls:
                yield kernel, calls[kernel.correlation]

    def ranges(self):
        for row in self.rows("SELECT * FROM NVTX_RANGE WHERE stop IS NOT NULL"):
            yield Range(self.strings.get(row["name"]), row["start"], row["stop"], row["threadId"],
                        row["processId"], row["domain"], row["_id_"])  # fmt: skip

    def answer(self, name):
        """tests/cli/test_query.py checks that gpuprof answers as SQLite does."""
        return [dict(row) for row in self.rows((QUERIES / f"{name}.sql").read_text())]


def segments(work):
    """(length, what is going on meanwhile) from each begin or end to the next."""
    begins, busy = collections.defaultdict(list), []
    for each in work:
        begins[each.begin].append(each)
    times = sorted({*begins, *(each.end for each in work)})
    for begin, end in zip(times, times[1:]):
        busy = [each for each in busy if each.end > begin] + begins[begin]
        yield end - begin, busy


def by_device(work):
    devices = collections.defaultdict(list)
    for each in work:
        devices[each.device].append(each)
    return devices


def computes(each):
    return each.kind in ("kernel", "graph")


def percentile(values, percent):
    """By nearest rank."""
    return sorted(values)[-(-len(values) * percent // 100) - 1]


def middle(values):
    """The median; for an even number, the mean of the middle two, rounded down."""
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) // 2


def spread(times):
    return middle(times), percentile(times, 90), percentile(times, 99)


def memory_key(row):
    pool = {0: None, 1: "local", 2: "imported"}[row["poolType"] or 0]
    return row["processId"], row["deviceId"], MEMORY[row["memoryKind"]], pool


# Possible settings of a multiprocessor's shared memory, in KiB.
SHARED_MEMORY = (0, 8, 16, 32, 64, 100, 132, 164, 196, 228)


def occupancy(kernel, device, reserved):
    """Share of a multiprocessor's warps, what limits it, waves: for devices from compute capability
    8.0 on."""
    assert device["computeCapabilityMajor"] >= 8
    warps = -(-kernel["blockX"] * kernel["blockY"] * kernel["blockZ"] // 32)
    shared = kernel["staticSharedMemory"] + kernel["dynamicSharedMemory"] + reserved
    of_block = -(-shared // 128) * 128
    room = device["maxSharedMemoryPerMultiprocessor"]
    if kernel["isSharedMemoryCarveoutRequested"]:
        wanted = kernel["sharedMemoryCarveoutRequested"] * room // 100
        room = min(1024 * k for k in SHARED_MEMORY if 1024 * k >= max(wanted, of_block))
    fit = {
        "warps": device["maxWarpsPerMultiprocessor"] // warps,
        "registers": 2**30,
        "shared memory": room // of_block,
        "blocks": device["maxBlocksPerMultiprocessor"],
    }
    if kernel["registersPerThread"]:
        of_warp = -(-kernel["registersPerThread"] * 32 // 256) * 256
        per_quarter = device["maxRegistersPerMultiprocessor"] // 4 // of_warp
        fit["registers"] = per_quarter * 4 // warps
    blocks = min(fit.values())
    limiter = ", ".join(what for what, number in fit.items() if number == blocks)
    grid = kernel["gridX"] * kernel["gridY"] * kernel["gridZ"]
    share = blocks * warps / device["maxWarpsPerMultiprocessor"]
    return share, limiter, grid / blocks / device["numMultiprocessors"]


def crowd(path, seed):
    """Moves all GPU work into 50 us."""
    chance = random.Random(seed)
    connection = sqlite3.connect(path)
    zero = connection.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()[0]
    for kind in WORK:
        table = f"CUPTI_ACTIVITY_KIND_{kind}"
        for (row,) in connection.execute(f"SELECT _id_ FROM {table} WHERE start > 0").fetchall():
            begin = zero + chance.randrange(50_000)
            times = begin, begin + chance.randrange(1, 3000), row
            connection.execute(f'UPDATE {table} SET start = ?, "end" = ? WHERE _id_ = ?', times)
    connection.commit()
    connection.close()
    subprocess.run([GPUPROF, "finish", "-q", path], check=True)


def for_each_run(test):
    def with_runs(self):
        for name, run in self.runs.items():
            with self.subTest(run=name):
                test(self, run)

    with_runs.__name__ = test.__name__
    return with_runs


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
@unittest.skipIf(sqlite3.sqlite_version_info < (3, 25), "SQLite has no window functions")
class Queries(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="queries-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.runs = {}
        for path in PROFILES:
            cls.runs[path.stem] = Run(path)
            cls.addClassCleanup(cls.runs[path.stem].close)
        for seed, capture in enumerate([] if PROFILES else CAPTURES):
            path = cls.folder / f"{capture.stem}.sqlite"
            subprocess.run([GPUPROF, "replay", "-q", "-o", path, capture], check=True)
            crowded = cls.folder / f"{capture.stem}_crowded.sqlite"
            shutil.copy(path, crowded)
            crowd(crowded, seed)
            for each in (path, crowded):
                cls.runs[each.stem] = Run(each)
                cls.addClassCleanup(cls.runs[each.stem].close)

    def check(self, rows, expected, places=6):
        """Compares rows of an answer, with columns in order, with tuples, in any order."""

        def rounded(row):
            return tuple(round(v, places) if isinstance(v, float) else v for v in row)

        found = [tuple(v for k, v in row.items() if not k.startswith("relative_")) for row in rows]
        self.assertCountEqual(map(rounded, found), map(rounded, expected))

    def descends(self, rows, column):
        values = [row[column] for row in rows]
        self.assertEqual(values, sorted(values, reverse=True))

    @for_each_run
    def test_gpu_utilization(self, run):
        expected = []
        for device, work in by_device(run.work()).items():
            ns = collections.Counter()
            for length, busy in segments(work):
                kinds = {computes(each) for each in busy}
                ns[tuple(sorted(kinds))] += length
            span = sum(ns.values())
            idle = ns[()]
            expected.append((device, span / 1e6, (span - idle) / 1e6, 100 * (span - idle) / span,
                             ns[(True,)] / 1e6, ns[(False,)] / 1e6, ns[(False, True)] / 1e6,
                             idle / 1e6))  # fmt: skip
        self.check(run.answer("gpu_utilization"), expected)

    @for_each_run
    def test_account(self, run):
        """The parts of each device add up to the run, to the nanosecond."""
        work = list(run.work())
        calls = [call for call in run.calls() if 0 < call.begin < call.end]
        if not work:
            self.assertEqual(run.answer("account"), [])
            return
        first = min(each.begin for each in (*work, *calls))
        last = max(each.end for each in (*work, *calls))
        gaps = collections.defaultdict(collections.Counter)
        for gap in run.rows("SELECT * FROM GPU_GAP"):
            found = gaps[gap["deviceId"]]
            length = gap["stop"] - gap["start"]
            none = gap["noCallTime"]
            parts = none or 0, gap["launchTime"] or 0, gap["queuedTime"] or 0
            found["call"] += 0 if none is None else length - sum(parts)
            for part, name in zip(parts, ("no call", "launch", "queued")):
                found[name] += part
            found["unknown"] += length if none is None else 0
        for device, its in by_device(work).items():
            expected = gaps[device]
            for length, busy in segments(its):
                names = {each.name for each in busy if computes(each)}
                copies = [each for each in busy if each.kind == "memcpy"]
                if names:
                    only_nccl = all(name and "nccl" in name for name in names)
                    expected["communication" if only_nccl else "compute"] += length
                elif copies:
                    expected["copy"] += length
                elif busy:
                    expected["set"] += length
                else:
                    expected["idle"] += length
            idle = expected.pop("idle", 0)
            known = "call", "no call", "launch", "queued", "unknown"
            expected["short gap"] = idle - sum(expected[name] for name in known)
            expected["before"] = min(each.begin for each in its) - first
            expected["after"] = last - max(each.end for each in its)
            found = collections.Counter()
            rows = [row for row in run.answer("account") if row["device_id"] == device]
            self.descends(rows, "duration_ms")
            for row in rows:
                found[row["class"]] += round(row["duration_ms"] * 1e6)
                if row["class"] not in ("launch", "queued"):
                    self.assertEqual(
                        row["class"] in ("copy", "call"), row["cause"] is not None, row
                    )
            self.assertEqual(found, +expected)
            self.assertEqual(sum(found.values()), last - first)
            self.assertAlmostEqual(sum(row["share"] for row in rows), 1)

    @unittest.skipIf(PROFILES, "profiles are as they are")
    def test_work_overlaps_in_the_crowded_copies(self):
        rows = [row for run in self.runs.values() for row in run.answer("gpu_utilization")]
        self.assertTrue(any(row["both_ms"] > 0 for row in rows))
        rows = [row for run in self.runs.values() for row in run.answer("concurrency")]
        self.assertTrue(any(row["streams"] > 3 for row in rows))

    @for_each_run
    def test_copy_overlap(self, run):
        expected = []
        for device, work in by_device(run.work()).items():
            for direction in {each.name for each in work if each.kind == "memcpy"}:
                mine = [e for e in work if computes(e) or e.name == direction]
                copying = beside = 0
                for length, busy in segments(mine):
                    if any(each.kind == "memcpy" for each in busy):
                        copying += length
                        beside += length if any(computes(e) for e in busy) else 0
                expected.append((device, direction, copying / 1e6, beside / 1e6,
                                 100 * beside / copying))  # fmt: skip
        rows = run.answer("copy_overlap")
        self.check(rows, expected)
        self.descends(rows, "copying_ms")

    @for_each_run
    def test_concurrency(self, run):
        expected = []
        for device, work in by_device(run.work()).items():
            ns = collections.Counter()
            for length, busy in segments(work):
                ns[len({each.stream for each in busy})] += length
            expected += [(device, streams, time / 1e6) for streams, time in ns.items()]
        self.check(run.answer("concurrency"), expected)

    @for_each_run
    def test_gpu_idle_gaps(self, run):
        gaps = []
        for device, work in by_device(run.work()).items():
            at = min((each.begin for each in work), default=0)
            for length, busy in segments(work):
                at += length
                if not busy:
                    gaps.append((device, (at - run.zero) / 1e6, length / 1e3))
        rows = run.answer("gpu_idle_gaps")
        longest = sorted((gap[2] for gap in gaps), reverse=True)[:10]
        self.assertEqual([row["idle_us"] for row in rows], longest)
        for row in rows:
            found = row["device_id"], row["idle_us"]
            near = [gap for gap in gaps if (gap[0], gap[2]) == found
                    and abs(gap[1] - row["ended_at_ms"]) < 1e-6]  # fmt: skip
            self.assertTrue(near, row)
            self.assertTrue(row["next"])

    def test_graphs(self):
        for name in ("graph_lines", "graph_lines_crowded"):
            if name not in self.runs:
                continue
            run = self.runs[name]
            frames = {row["frame"]: f"{row['module']}:{row['line']}"
                      for row in run.rows("SELECT * FROM STACK_FRAME")}  # fmt: skip
            stacks = collections.defaultdict(list)
            for row in run.rows("SELECT * FROM STACK_ENTRY ORDER BY position"):
                stacks[row["stack"]].append(frames[row["frame"]])
            calls = {
                row["correlationId"]: row["stack"] for row in run.rows("SELECT * FROM CALL_STACK")
            }
            nodes = {row["node"]: row for row in run.rows("SELECT * FROM GRAPH_NODE")}
            library = re.compile("/(site|dist)-packages/|/lib/python3\\.|^<")
            times, graphs = collections.defaultdict(list), collections.Counter()
            for kind in ("CONCURRENT_KERNEL", "MEMCPY", "MEMSET"):
                for row in run.table(kind):
                    if row["graphNodeId"]:
                        length = row["end"] - row["start"]
                        times[row["graphId"], row["graphNodeId"]].append(length)
                        graphs[row["graphId"]] += length
            expected = []
            for (graph, node), its in times.items():
                made = node
                while made in nodes and nodes[made]["source"] is not None:
                    made = nodes[made]["source"]
                call = nodes[made]["correlationId"] if made in nodes else None
                stack = stacks[calls[call]] if call in calls else []
                own = [line for line in stack if not library.search(line)]
                expected.append((graph, node, len(its), sum(its) / 1e3,
                                 100 * sum(its) / graphs[graph], (own + stack + [None])[0]))  # fmt: skip
            rows = run.answer("graphs")
            self.descends(rows, "total_us")
            self.assertTrue(any(row["made_in"] for row in rows))
            # Of ranges and collectives tests/cli/test_fake_launch_stacks.py and test_fake_nccl.py know.
            self.assertEqual(
                {(row["made_in_range"], row["collective"]) for row in rows}, {(None, None)}
            )
            left_out = ("process_id", "name", "made_in_range", "collective")
            self.check(
                [{k: v for k, v in row.items() if k not in left_out} for row in rows], expected
            )

    @for_each_run
    def test_copies_by_kind(self, run):
        groups = collections.defaultdict(list)
        for copy in run.work():
            if copy.kind == "memcpy":
                groups[copy.name, MEMORY[copy.src], MEMORY[copy.dst]].append(copy)
        expected = []
        for key, copies in groups.items():
            size, time = sum(c.bytes for c in copies), sum(c.end - c.begin for c in copies)
            expected.append((*key, len(copies), size / 1e6, time / 1e6, size / time))
        rows = run.answer("copies_by_kind")
        self.check(rows, expected)
        self.descends(rows, "total_ms")

    @for_each_run
    def test_launch_latency(self, run):
        groups = collections.defaultdict(list)
        for kernel, call in run.launches():
            groups[kernel.name, call.domain, call.cbid].append(
                (kernel.begin - call.begin, call.end - call.begin)
            )
        expected = [
            (len(all_), min(waits) / 1e3, percentile(waits, 50) / 1e3, percentile(waits, 90) / 1e3,
             percentile(waits, 99) / 1e3, max(waits) / 1e3, sum(calls) / len(calls) / 1e3)
            for all_ in groups.values() for waits, calls in [zip(*all_)]
        ]  # fmt: skip
        rows = run.answer("launch_latency")
        for row in rows:
            self.assertTrue(row.pop("display_name"))
            self.assertTrue(row.pop("api_name").startswith("cu"))
        self.check(rows, expected)
        self.descends(rows, "median_us")

    @for_each_run
    def test_steps(self, run):
        calls = {}
        for call in run.calls():  # the runtime's come first
            calls.setdefault(call.correlation, call)
        ranges = list(run.ranges())
        in_steps = collections.defaultdict(list)
        for work in run.work():
            call = calls.get(work.correlation)
            if not call:
                continue
            open_then = [r for r in ranges if r.process == call.process
                         and r.begin <= call.begin < r.end]  # fmt: skip
            of_thread = [r for r in open_then if r.thread == call.thread]
            if not open_then:
                continue
            inner = max(of_thread or open_then, key=lambda r: (r.begin, r.id))
            for step in ranges:
                same = step[3:6] == inner[3:6]  # thread, process, domain
                if same and step.begin <= inner.begin and inner.end <= step.end:
                    in_steps[step].append(work)
        expected = []
        for step in ranges:
            if not re.fullmatch(r"step[ \d]*", step.name or ""):
                continue
            inside = in_steps[step]
            busy = sum(length for length, open_work in segments(inside) if open_work)
            expected.append((step.name, step.process, step.thread, (step.begin - run.zero) / 1e6,
                             (step.end - step.begin) / 1e6,
                             sum(work.kind == "kernel" for work in inside), busy / 1e6))  # fmt: skip
        rows = run.answer("steps")
        # tests/unit/test_launch_period.cpp and test_findings.py test the others.
        periods = [row for row in rows if row["step"].startswith("period of ")]
        self.assertFalse(expected and periods)
        self.check([row for row in rows if row not in periods], expected)

    @unittest.skipIf(PROFILES, "profiles are as they are")
    def test_there_are_steps(self):
        self.assertEqual([row["step"] for row in self.runs["torch_step"].answer("steps")],
                         ["step 0", "step 1"])  # fmt: skip

    @for_each_run
    def test_memory_peak(self, run):
        in_use, peaks = collections.Counter(), {}
        for row in sorted(run.table("MEMORY2"), key=lambda row: row["timestamp"]):
            key = memory_key(row)
            if row["memoryOperationType"] == 2:
                in_use[key] -= row["bytes"]
                continue
            in_use[key] += row["bytes"]
            if in_use[key] > peaks.get(key, (-(2**62),))[0]:
                peaks[key] = in_use[key], row["timestamp"]
        rows = run.answer("memory_peak")
        self.check(rows, [(*key, peak / 1e6, (time - run.zero) / 1e6)
                          for key, (peak, time) in peaks.items()])  # fmt: skip
        self.descends(rows, "peak_megabytes")
        owned = collections.Counter()
        for row in run.rows("SELECT * FROM memory_owners"):
            key = row["process_id"], row["device_id"], row["memory"], row["pool_type"]
            owned[key] += row["bytes"]
        if all(row["memoryOperationType"] == 1 for row in run.table("MEMORY2")):
            self.assertEqual(owned, {key: peak for key, (peak, time) in peaks.items()})

    @for_each_run
    def test_memory_timeline(self, run):
        in_use, expected = collections.Counter(), []
        for row in sorted(run.table("MEMORY2"), key=lambda row: row["timestamp"]):
            key = memory_key(row)
            change = row["bytes"] if row["memoryOperationType"] == 1 else -row["bytes"]
            in_use[key] += change
            expected.append(((row["timestamp"] - run.zero) / 1e6, *key, change, in_use[key]))
        self.check(run.answer("memory_timeline"), expected)

    @for_each_run
    def test_low_occupancy(self, run):
        devices = {(row["processId"], row["id"]): row for row in run.table("DEVICE")}
        reserved = {
            (row["processId"], row["deviceId"]): row["valueInt"]
            for row in run.table("DEVICE_ATTRIBUTE")
            if row["flags"] == 1 and row["attributeId"] == 111
        }
        groups = collections.defaultdict(list)
        for kind in ("KERNEL", "CONCURRENT_KERNEL"):
            for kernel in run.table(kind):
                key = kernel["processId"], kernel["deviceId"]
                if key in devices and key in reserved:
                    found = occupancy(kernel, devices[key], reserved[key])
                    groups[(kernel["name"], *found[:2])].append((kernel, found[2]))
        expected = []
        for (_, share, limiter), of in groups.items():
            times = [k["end"] - k["start"] for k, _ in of if k["start"] and k["end"]]
            if share < 0.5:
                expected.append((share, limiter, min(waves for _, waves in of), len(of),
                                 sum(times) / 1e6 if times else None))  # fmt: skip
        rows = run.answer("low_occupancy")
        self.assertTrue(all(row.pop("display_name") for row in rows))
        self.check(rows, expected)

    def test_there_is_low_occupancy(self):
        if "torch_step" not in self.runs:
            self.skipTest("for a capture")
        self.assertTrue(self.runs["torch_step"].answer("low_occupancy"))

    @for_each_run
    def test_kernel_percentiles(self, run):
        kernels = collections.defaultdict(list)
        for kind in ("KERNEL", "CONCURRENT_KERNEL"):
            for row in run.table(kind):
                if 0 < row["start"] < row["end"]:
                    kernels[row["deviceId"], row["name"]].append(row["end"] - row["start"])
        expected = [
            (device, len(times), sum(times) / 1e6, sum(times) / len(times) / 1e3,
             *(time / 1e3 for time in spread(times)), max(times) / 1e3)
            for (device, _), times in kernels.items()
        ]  # fmt: skip
        rows = run.answer("kernel_percentiles")
        self.assertTrue(all(row.pop("display_name") for row in rows))
        self.check(rows, expected)

    @for_each_run
    def test_percentiles_are_those_of_the_reports(self, run):
        printed = subprocess.run(
            [GPUPROF, "-i", run.path, "--stats", "--json"], check=True, capture_output=True
        )
        found = collections.Counter()
        for table in json.loads(printed.stdout)["tables"]:
            whole = table["table"] == "summary" and "range" not in table
            for row in table["rows"] if whole else []:
                if row["type"] == "GPU activities" and not row["name"].startswith("[CUDA"):
                    found[row["median_ns"], row["p90_ns"], row["p99_ns"]] += 1
        summary = run.rows(
            "SELECT name, count(*), median, p90, p99 FROM kernel_summary WHERE timed > 0 GROUP BY name"
        )
        if all(row[1] == 1 for row in summary):  # otherwise the reports combine several into one
            self.assertEqual(found, collections.Counter(tuple(row)[2:] for row in summary))

    @for_each_run
    def test_display_names(self, run):
        rows = run.rows("SELECT DISTINCT display_name, mangled_name, short_name FROM kernels")
        displays = [row[0] for row in rows]
        self.assertEqual(len(set(displays)), len(rows))
        for display, mangled, short in rows:
            # C names are shortened by leaving out words; the rest keep their order.
            words = ".*".join(map(re.escape, display.split("…")))
            in_c = short == mangled and re.fullmatch(words, mangled)
            self.assertTrue(display.startswith(short) or display == mangled or in_c, display)
            self.assertLessEqual(len(display), max(80, len(short) + 2))

    @for_each_run
    def test_blocking_calls(self, run):
        # One row for each call that waited: for what, and how many bytes it copied.
        waits, sizes = {}, collections.Counter()
        for row in run.table("SYNCHRONIZATION"):
            if row["type"] != 2:
                waits[row["correlationId"]] = {1: "event", 3: "stream", 4: "context"}[row["type"]]
        for kind in ("MEMCPY", "MEMCPY2"):
            for row in run.table(kind):
                if not row["flags"] & 1 and not row["graphId"]:
                    waits[row["correlationId"]] = "copy"
                    sizes[row["correlationId"]] += row["bytes"]
        calls = {}
        for call in run.calls():
            calls.setdefault(call.correlation, call)
        rows = [dict(row) for row in run.rows("SELECT * FROM blocking_calls")]
        self.check(
            [{k: v for k, v in row.items() if k != "name"} for row in rows],
            [
                (waits_for, call.begin, call.end, call.end - call.begin,
                 sizes.get(call.correlation), call.correlation, call.thread, call.process)
                for correlation, waits_for in waits.items() for call in [calls[correlation]]
            ],
        )  # fmt: skip
        groups = collections.defaultdict(list)
        for row in rows:
            self.assertRegex(row["name"], "Synchronize|Memcpy|EventQuery|cudaFree|cuMem|cuCtx")
            groups[row["name"], row["waits_for"]].append(row)
        self.check(
            run.answer("blocking_calls"),
            [
                (*key, len(of), sum(row["duration"] for row in of) / 1e6,
                 sum(row["duration"] for row in of) / len(of) / 1e3,
                 max(row["duration"] for row in of) / 1e3,
                 sum(row["bytes"] for row in of) / 1e6 if key[1] == "copy" else None)
                for key, of in groups.items()
            ],
        )  # fmt: skip

    @for_each_run
    def test_kernel_summary(self, run):
        kernels, totals = collections.defaultdict(list), collections.Counter()
        every = collections.Counter(
            (row["deviceId"], run.strings.get(row["name"]))
            for kind in ("KERNEL", "CONCURRENT_KERNEL")
            for row in run.table(kind)
        )
        for each in run.work():
            if each.kind == "kernel":
                kernels[each.device, each.name].append(each)
                totals[each.device] += each.end - each.begin
        expected = []
        for (device, name), count in every.items():
            times = [each.end - each.begin for each in kernels[device, name]]
            total = sum(times)
            expected.append((name, count, len(times), total or None,
                             total / len(times) if times else None,
                             *(spread(times) if times else (None, None, None)),
                             min(times, default=None),
                             max(times, default=None),
                             100 * total / totals[device] if times else None,
                             min((each.begin for each in kernels[device, name]), default=None),
                             max((each.end for each in kernels[device, name]), default=None),
                             device))  # fmt: skip
        rows = [dict(row) for row in run.rows("SELECT * FROM kernel_summary")]
        self.assertTrue(all(row.pop("short_name") for row in rows))
        self.assertTrue(all(row.pop("display_name") for row in rows))
        if len({row["name"] for row in rows}) == len(rows):  # otherwise display names coincide
            self.check(rows, expected)

    @for_each_run
    def test_api_summary(self, run):
        calls = collections.defaultdict(list)
        for call in run.calls():
            calls[call.domain, call.cbid].append(call.end - call.begin)
        rows = [
            dict(row) for row in run.rows("SELECT * FROM api_summary WHERE domain <> 'internal'")
        ]
        for row in rows:
            self.assertTrue(row.pop("name").startswith("cu"))
            row.pop("failed")
        by_domain = collections.Counter(row["domain"] for row in rows)
        self.assertEqual(sum(row["count"] for row in rows), sum(map(len, calls.values())))
        if by_domain == collections.Counter(domain for domain, _ in calls):
            self.check(rows, [
                (domain, len(times), len(times), sum(times), sum(times) / len(times),
                 *spread(times), min(times), max(times)) for (domain, _), times in calls.items()
            ])  # fmt: skip

    @for_each_run
    def test_threads(self, run):
        calls, ranges = collections.Counter(), collections.Counter()
        first, last = {}, {}
        for call in run.calls():
            key = call.process, call.thread
            calls[(call.domain, *key)] += 1
            first[key] = min(first.get(key, call.begin), call.begin)
            last[key] = max(last.get(key, 0), call.end)
        for row in run.rows("SELECT * FROM NVTX_RANGE"):
            key = row["processId"], row["threadId"]
            ranges[key] += 1
            first[key] = min(first.get(key, row["start"]), row["start"])
            last[key] = max(last.get(key, 0), row["stop"] or row["start"])
        found = run.rows(
            """SELECT runtime_calls, driver_calls, nvtx_ranges, first, last, thread_id, process_id
               FROM threads WHERE first IS NOT NULL"""
        )
        self.check(map(dict, found), [
            (calls[("runtime", *key)], calls[("driver", *key)], ranges[key], first[key], last[key],
             key[1], key[0]) for key in first
        ])  # fmt: skip

    @for_each_run
    def test_streams_and_contexts(self, run):
        work = collections.defaultdict(list)
        for each in run.work():
            if each.kind != "graph":
                work[(each.device, *each.stream)].append(each)
        if run.table("GRAPH_TRACE") or run.table("MEM_DECOMPRESS"):
            return
        columns = "kernels, copies, work_time, first, last, device_id, context_id"
        found = run.rows(
            f"SELECT {columns}, stream_id, process_id FROM streams WHERE first IS NOT NULL"
        )
        self.check(map(dict, found), [
            (sum(each.kind == "kernel" for each in of), sum(each.kind != "kernel" for each in of),
             sum(each.end - each.begin for each in of), min(each.begin for each in of),
             max(each.end for each in of), device, context, stream, process)
            for (device, process, context, stream), of in work.items()
        ])  # fmt: skip
        made = {
            (row["processId"], row["contextId"], row["streamId"]) for row in run.table("STREAM")
        }
        known = {
            tuple(row) for row in run.rows("SELECT process_id, context_id, stream_id FROM streams")
        }
        self.assertEqual(known, made | {key[1:] for key in work} |
                         {(row["processId"], row["contextId"], row["streamId"])
                          for kind in WORK for row in run.table(kind)})  # fmt: skip
        rows = run.table("CONTEXT") + run.table("GREEN_CONTEXT")
        contexts = {(row["processId"], row["contextId"]) for row in rows}
        self.assertEqual(sum(row[0] for row in run.rows("SELECT streams FROM contexts")),
                         sum(stream[:2] in contexts for stream in known))  # fmt: skip
        self.assertEqual(len(run.rows("SELECT * FROM contexts")), len(rows))
        # A green context has as many multiprocessors as two for each bit of its mask, on all chips so far.
        for green in run.rows("SELECT * FROM contexts WHERE is_green"):
            self.assertEqual(
                bin(int(green["partition"], 16)).count("1") * 2, green["multiprocessors"]
            )
            self.assertIn((green["process_id"], green["parent_id"]), contexts)

    @for_each_run
    def test_nvtx_marks(self, run):
        marks = [row for row in run.table("MARKER") if row["flags"] & 1]
        self.check(
            map(dict, run.rows("SELECT name, time, thread_id, process_id FROM nvtx_marks")),
            [(run.strings.get(row["name"]), row["timestamp"], row["threadId"], row["processId"])
             for row in marks],
        )  # fmt: skip

    @unittest.skipIf(PROFILES, "profiles are as they are")
    @for_each_run
    def test_the_same_while_a_run_goes_on(self, run):
        """The file has no sums at that time: queries compute them."""
        path = self.folder / f"{run.path.stem}_open.sqlite"
        shutil.copy(run.path, path)
        connection = sqlite3.connect(path)
        for table in ("LAUNCH_TIME", "OCCUPANCY_TIME"):
            connection.execute(f"DELETE FROM {table}")
        for table in ("KERNEL_TIME", "API_TIME"):
            connection.execute(f"UPDATE {table} SET count = NULL")
        connection.commit()
        connection.close()
        unfinished = Run(path)
        self.addCleanup(unfinished.close)
        for name in (
            "api_time",
            "kernel_percentiles",
            "launch_latency",
            "low_occupancy",
            "top_kernels",
        ):
            with self.subTest(name):
                rows = unfinished.answer(name)
                limit = {"api_time": 15, "top_kernels": 10}.get(name)
                finished = run.answer(name)
                if limit == len(rows):  # the order among equal rows is unspecified
                    last = rows[-1]["total_ms"]
                    rows, finished = ([row for row in each if row["total_ms"] > last]
                                      for each in (rows, finished))  # fmt: skip
                if name == "launch_latency":  # kernels of one name may have several of these
                    for row in (*rows, *finished):
                        row.pop("display_name")
                self.check(rows, [tuple(row.values()) for row in finished])


if __name__ == "__main__":
    unittest.main()
