"""gpuprof import: files of other tools become profiles with the same content."""
# ctest-labels: plain

import contextlib
import gzip
import json
import os
import pathlib
import pty
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from nsys_file import BEGIN, PREFIX, NsysFile, global_id, of_profile  # noqa: E402

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
CAPTURES = ("vector_add", "torch_step", "two_processes", "streams_graph", "nvtx_threads")

# The content of a run, by its views. ZERO is the origin of its times.
GPU_WORK = (
    "SELECT type, name, count(*), sum(duration), sum(bytes), min(start) - ZERO, "
    'max("end") - ZERO, device_id, '
    "stream_id, process_id FROM gpu_activities WHERE start IS NOT NULL "
    "GROUP BY type, name, device_id, stream_id, process_id ORDER BY 1, 2, 8, 9, 10"
)
API_CALLS = (
    "SELECT domain, name, count(*), sum(duration), min(start) - ZERO, thread_id, process_id "
    "FROM api_calls GROUP BY domain, name, thread_id, process_id ORDER BY 1, 2, 6, 7"
)
LAUNCHES = (
    "SELECT a.name, k.name, count(*) FROM kernels AS k JOIN api_calls AS a "
    "ON a.correlation_id = k.correlation_id WHERE k.start IS NOT NULL AND a.domain = 'runtime' "
    "GROUP BY 1, 2 ORDER BY 1, 2"
)
RANGES = (
    'SELECT name, domain, kind, depth, start - ZERO, "end" - ZERO, thread_id, process_id '
    "FROM nvtx_ranges "
    'ORDER BY process_id, start, "end", name, depth, domain'
)
# A trace cannot represent ranges that were never closed, and has no kinds.
CLOSED_RANGES = (
    'SELECT name, domain, start - ZERO, "end" - ZERO, thread_id, process_id FROM nvtx_ranges '
    'WHERE "end" IS NOT NULL ORDER BY process_id, start, "end", name, domain'
)


class Import(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.opened = {}
        self.addCleanup(self.close)

    def close(self):
        while self.opened:
            self.opened.popitem()[1].close()

    def gpuprof(self, *words, code=0, why=None):
        self.close()  # it may replace the file
        ran = subprocess.run([GPUPROF, *map(str, words)], cwd=self.folder, text=True,
                             capture_output=True, timeout=300, check=False)  # fmt: skip
        codes = code if isinstance(code, tuple) else (code,)
        self.assertIn(ran.returncode, codes, f"{why or words}\n{ran.stdout}{ran.stderr}")
        return ran

    def replay(self, capture):
        self.gpuprof("replay", SOURCE / f"tests/captures/{capture}.gpcap", "-o",
                     f"{capture}.sqlite")  # fmt: skip

    def query(self, file, query):
        query = query.replace("ZERO", "(SELECT value FROM RUN WHERE key = 'zero_ns')")
        if file not in self.opened:  # which parses each view
            self.opened[file] = sqlite3.connect(self.folder / file)
        return self.opened[file].execute(query).fetchall()

    def imported(self, file, **options):
        ran = self.gpuprof("import", file, "-f", "-o", "run.sqlite", **options)
        self.assertEqual(self.query("run.sqlite", "PRAGMA integrity_check"), [("ok",)])
        return ran


class Nsys(Import):
    def file(self):
        return NsysFile(self.folder / "other.sqlite")

    def kernel(self, file, **values):
        name = file.string("_Z3foov")
        row = {"start": 100, "end": 300, "deviceId": 0, "contextId": 1, "streamId": 7,
               "correlationId": 5, "globalPid": global_id(77), "mangledName": name,
               "demangledName": name, "shortName": name, "registersPerThread": 32,
               "gridX": 1, "gridY": 2, "gridZ": 3, "blockX": 4, "blockY": 5, "blockZ": 6,
               "staticSharedMemory": 8, "dynamicSharedMemory": 16, "localMemoryPerThread": 0,
               "localMemoryTotal": 0, "gridId": 9}  # fmt: skip
        file.add(f"{PREFIX}KERNEL", **{**row, **values})

    def test_round_trip(self):
        for capture in CAPTURES:
            with self.subTest(capture=capture):
                self.replay(capture)
                (self.folder / "other.sqlite").unlink(missing_ok=True)
                of_profile(self.folder / "other.sqlite", self.folder / f"{capture}.sqlite")
                ran = self.imported("other.sqlite")
                self.assertIn("nothing lost", ran.stderr)
                self.assertTrue(self.query("run.sqlite", GPU_WORK))
                for query in (
                    *(GPU_WORK, API_CALLS, LAUNCHES, RANGES),
                    "SELECT grid, block, registers, static_shared_memory, "
                    "dynamic_shared_memory, short_name FROM kernels ORDER BY start",
                    "SELECT kind, src_memory, dst_memory, bytes, start FROM memcpys ORDER BY start",
                    "SELECT type, duration, stream_id FROM synchronizations ORDER BY start",
                    "SELECT name, multiprocessors, memory, memory_bandwidth, core_clock, uuid, "
                    "compute_capability FROM devices ORDER BY device_id, process_id",
                    "SELECT process_id, executable FROM processes ORDER BY process_id",
                ):
                    self.assertEqual(self.query("run.sqlite", query),
                                     self.query(f"{capture}.sqlite", query))  # fmt: skip

    def test_reports_and_exports(self):
        self.replay("torch_step")
        of_profile(self.folder / "other.sqlite", self.folder / "torch_step.sqlite")
        self.imported("other.sqlite")
        own = self.gpuprof("-i", "torch_step.sqlite", "--csv").stdout
        self.assertEqual(self.gpuprof("-i", "run.sqlite", "--csv").stdout.splitlines()[3:],
                         own.splitlines()[3:])  # fmt: skip
        self.assertIn("imported", self.gpuprof("info", "run.sqlite").stdout)
        for ending in ("pftrace", "json", "folded", "pb.gz"):
            self.gpuprof("export", "run.sqlite", "-o", f"run.{ending}")
        self.gpuprof("timeline", "run.sqlite")
        self.gpuprof("slice", "run.sqlite", "--to", "1s", "-o", "part.sqlite")

    def test_export_and_back(self):
        """gpuprof export -o x.nsys.sqlite, read by import and by SQL written for nsys' tables."""
        for capture in (*CAPTURES, "die"):
            with self.subTest(capture=capture):
                self.replay(capture)
                self.gpuprof("export", f"{capture}.sqlite", "-o", f"{capture}.nsys.sqlite")
                ran = self.imported(f"{capture}.nsys.sqlite")
                self.assertIn("nothing lost", ran.stderr)
                for query in (
                    *(GPU_WORK, API_CALLS, LAUNCHES, RANGES),
                    "SELECT grid, block, registers, static_shared_memory, graph_node_id, "
                    "mangled_name FROM kernels WHERE start IS NOT NULL ORDER BY start, name",
                    "SELECT kind, src_memory, dst_memory, bytes, start - ZERO FROM memcpys "
                    "WHERE start IS NOT NULL ORDER BY start, bytes",
                    "SELECT value, memory, start - ZERO FROM memsets WHERE start IS NOT NULL "
                    "ORDER BY start",
                    "SELECT type, start - ZERO, duration, stream_id, event_id FROM synchronizations "
                    "ORDER BY start, duration",
                    "SELECT name, domain, time - ZERO, thread_id FROM nvtx_marks ORDER BY time, name",
                    "SELECT name, thread_id FROM threads WHERE name IS NOT NULL ORDER BY 1, 2",
                    "SELECT name, uuid, memory, core_clock, max_threads_per_multiprocessor, "
                    "process_id, device_id FROM devices ORDER BY process_id, device_id",
                    "SELECT process_id, executable FROM processes ORDER BY process_id",
                ):
                    self.assertEqual(self.query("run.sqlite", query),
                                     self.query(f"{capture}.sqlite", query))  # fmt: skip
                self.assertEqual(
                    self.query(f"{capture}.nsys.sqlite",
                               "SELECT s.value, count(*), sum(k.end - k.start) "
                               f"FROM {PREFIX}KERNEL AS k JOIN StringIds AS s "
                               "ON s.id = k.demangledName GROUP BY 1 ORDER BY 1"),
                    self.query(f"{capture}.sqlite",
                               "SELECT name, count(*), sum(duration) FROM kernels "
                               "WHERE start IS NOT NULL GROUP BY 1 ORDER BY 1"),
                )  # fmt: skip
                self.assertEqual(
                    self.query(f"{capture}.nsys.sqlite",
                               "SELECT label, count(*), sum(bytes) "
                               f"FROM {PREFIX}MEMCPY JOIN ENUM_CUDA_MEMCPY_OPER ON id = copyKind "
                               "WHERE copyKind = 1 GROUP BY 1"),
                    self.query(f"{capture}.sqlite",
                               "SELECT 'Host-to-Device', count(*), sum(bytes) FROM memcpys "
                               "WHERE kind = 'HtoD' AND start IS NOT NULL HAVING count(*) > 0"),
                )  # fmt: skip
                self.assertEqual(
                    self.query(f"{capture}.nsys.sqlite",
                               "SELECT lower(label), count(*) FROM "
                               f"{PREFIX}SYNCHRONIZATION JOIN ENUM_CUPTI_SYNC_TYPE ON id = syncType "
                               "GROUP BY 1 ORDER BY 1"),
                    self.query(f"{capture}.sqlite",
                               f"SELECT e.name, count(*) FROM {PREFIX}SYNCHRONIZATION JOIN ENUM_NAME AS e "
                               "ON e.enum = 'CUpti_ActivitySynchronizationType' AND e.value = type "
                               "WHERE start > 0 GROUP BY 1 ORDER BY 1"),
                )  # fmt: skip

    def test_export_of_a_part(self):
        self.replay("two_processes")
        ((process,), _) = self.query("two_processes.sqlite", "SELECT process_id FROM processes")
        self.gpuprof("export", "two_processes.sqlite", "--process", process, "-o",
                     "part.nsys.sqlite")  # fmt: skip
        self.imported("part.nsys.sqlite")
        self.assertEqual(self.query("run.sqlite", "SELECT DISTINCT process_id FROM gpu_activities"),
                         [(process,)])  # fmt: skip
        self.replay("torch_step")
        self.gpuprof("export", "torch_step.sqlite", "--kernels", "gemm", "--from", "1s", "-o",
                     "part", "--format", "nsys")  # fmt: skip
        self.imported("part")
        expected = self.query("torch_step.sqlite", "SELECT name, duration FROM kernels WHERE name "
                              "LIKE '%gemm%' AND start >= ZERO + 1000000000 ORDER BY start")  # fmt: skip
        self.assertTrue(expected)
        found = self.query("run.sqlite", "SELECT name, duration FROM kernels ORDER BY start")
        self.assertEqual(found, expected)

    def test_only_own_exports_are_replaced(self):
        self.replay("vector_add")
        self.gpuprof("export", "vector_add.sqlite", "-o", "x.nsys.sqlite")
        self.gpuprof("export", "vector_add.sqlite", "-o", "x.nsys.sqlite", code=21)
        self.gpuprof("export", "vector_add.sqlite", "-f", "-o", "x.nsys.sqlite")
        file = self.file()
        self.kernel(file)
        file.close()
        foreign = self.folder / "y.nsys.sqlite"
        (self.folder / "other.sqlite").rename(foreign)
        before = foreign.read_bytes()
        self.gpuprof("export", "vector_add.sqlite", "-f", "-o", foreign.name, code=21)
        self.assertEqual(foreign.read_bytes(), before)

    def test_export_of_files_of_nvprof(self):
        case = json.loads((SOURCE / "tests/golden/nvprof/basic.json").read_text(encoding="utf-8"))
        with contextlib.closing(sqlite3.connect(self.folder / "old.sqlite")) as made:
            made.executescript(case["database_sql"])
            kernels = made.execute(
                f"SELECT count(*), sum([end] - start) FROM {PREFIX}CONCURRENT_KERNEL").fetchall()  # fmt: skip
        self.assertTrue(kernels[0][0])
        self.gpuprof("export", "old.sqlite", "-o", "old.nsys.sqlite")
        self.imported("old.nsys.sqlite")
        self.assertEqual(self.query("run.sqlite", "SELECT count(*), sum(duration) FROM kernels"),
                         kernels)  # fmt: skip

    def test_what_is_missing_is_null(self):
        file = self.file()
        file.connection.executescript(
            "DROP TABLE TARGET_INFO_SESSION_START_TIME; DROP TABLE ThreadNames;"
            "DROP TABLE PROCESSES; DROP TABLE NVTX_EVENTS; DROP TABLE TARGET_INFO_GPU;"
            f"ALTER TABLE {PREFIX}KERNEL DROP COLUMN registersPerThread;"
        )
        with contextlib.closing(file.connection.execute("PRAGMA foreign_keys")):
            pass
        name = file.string("foo")
        file.add(f"{PREFIX}KERNEL", start=0, end=10, deviceId=0, contextId=1, streamId=7,
                 globalPid=global_id(7), demangledName=name, shortName=name, gridX=1, gridY=1,
                 gridZ=1, blockX=1, blockY=1, blockZ=1, staticSharedMemory=0,
                 dynamicSharedMemory=0, localMemoryPerThread=0, localMemoryTotal=0,
                 gridId=1)  # fmt: skip
        file.close()
        self.imported("other.sqlite")
        self.assertEqual(
            self.query("run.sqlite",
                       "SELECT name, duration, registers, correlation_id, priority, "
                       "start > 0 FROM kernels"),
            [("foo", 10, None, None, None, 1)],
        )  # fmt: skip
        self.assertEqual(self.query("run.sqlite", "SELECT count(*) FROM CLOCK"), [(0,)])
        self.assertEqual(
            self.query("run.sqlite", "SELECT executable, parent_process_id FROM processes"),
            [(None, None)],
        )
        self.assertEqual(self.query("run.sqlite", "SELECT key FROM RUN WHERE key IN ('host_name', "
                                    "'environment', 't0_realtime_ns')"), [])  # fmt: skip

    def test_allocations(self):
        file = self.file()
        row = {"globalPid": global_id(77), "deviceId": 0, "contextId": 1, "address": 0x7F00,
               "pc": 0, "bytes": 1 << 20, "memKind": 2, "correlationId": 5}  # fmt: skip
        table = "CUDA_GPU_MEMORY_USAGE_EVENTS"
        file.add(table, **row, start=100, memoryOperationType=0)
        file.add(table, **{**row, "address": 0x8F00, "name": "table_of_mine"}, start=150,
                 memoryOperationType=0)  # fmt: skip
        file.add(table, **row, start=200, memoryOperationType=1)
        file.add(table, **row, start=200, memoryOperationType=7)
        file.add(table, **row, start="x", memoryOperationType=0)
        file.close()
        ran = self.imported("other.sqlite")
        self.assertIn(f"2 of {table}", ran.stderr)
        self.assertEqual(
            self.query("run.sqlite", "SELECT operation, memory, bytes, address, variable, "
                       "pool_address, time - 1000000000 FROM allocations ORDER BY time"),
            [("allocation", "Device", 1 << 20, 0x7F00, None, None, 100),
             ("allocation", "Device", 1 << 20, 0x8F00, "table_of_mine", None, 150),
             ("release", "Device", 1 << 20, 0x7F00, None, None, 200)],
        )  # fmt: skip
        self.assertIn("2.0000MB", self.gpuprof("memory", "run.sqlite").stdout)

    def test_priorities(self):
        """Nsight Systems writes -1 as 4294967295."""
        file = self.file()
        self.kernel(file)
        file.connection.execute("CREATE TABLE TARGET_INFO_CUDA_STREAM(streamId INT, hwId INT, "
                                "vmId INT, processId INT, contextId INT, priority INT, flag INT)")  # fmt: skip
        for stream, priority in ((7, 0), (13, 2**32 - 1), (14, 2**32 - 5), (15, -2), (16, 2**32)):
            file.add("TARGET_INFO_CUDA_STREAM", streamId=stream, processId=77, contextId=1,
                     priority=priority)  # fmt: skip
        file.close()
        ran = self.imported("other.sqlite")
        self.assertIn("1 of TARGET_INFO_CUDA_STREAM.priority", ran.stderr)
        self.assertEqual(
            self.query("run.sqlite", f"SELECT streamId, priority FROM {PREFIX}STREAM ORDER BY 1"),
            [(7, 0), (13, -1), (14, -5), (15, -2), (16, None)],
        )

    def test_time_of_day(self):
        file = self.file()
        file.add("TARGET_INFO_SESSION_START_TIME", utcEpochNs=BEGIN)
        self.kernel(file)
        file.close()
        self.imported("other.sqlite")
        self.assertEqual(self.query("run.sqlite", "SELECT start FROM kernels"), [(BEGIN + 100,)])
        self.assertEqual(self.query("run.sqlite", "SELECT realtime - cupti FROM CLOCK"), [(0,)])

    def test_nesting(self):
        """Ranges that begin or end at the same moment, in whatever order they are stored."""
        file = self.file()
        thread = global_id(7, 8)
        spans = [("inner", 0, 5), ("outer", 0, 10), ("last", 5, 10), ("empty", 5, 5),
                 ("open", 20, None)]  # fmt: skip
        for name, start, end in spans:
            file.add("NVTX_EVENTS", start=start, end=end, eventType=59, text=name,
                     globalTid=thread)  # fmt: skip
        file.add("NVTX_EVENTS", start=3, end=30, eventType=60, text="long", globalTid=thread,
                 endGlobalTid=global_id(7, 9))  # fmt: skip
        file.add("NVTX_EVENTS", start=4, eventType=34, text="mark", globalTid=thread)
        file.close()
        self.imported("other.sqlite")
        found = self.query("run.sqlite", 'SELECT name, kind, depth, "end" - start FROM nvtx_ranges')
        self.assertEqual(
            sorted(found, key=str),
            sorted([("inner", "push_pop", 1, 5), ("outer", "push_pop", 0, 10),
                    ("last", "push_pop", 1, 5), ("empty", "push_pop", 2, 0),
                    ("open", "push_pop", 0, None), ("long", "start_end", None, 27)],
                   key=str),
        )  # fmt: skip
        self.assertEqual(self.query("run.sqlite", "SELECT name FROM nvtx_marks"), [("mark",)])

    def test_forged(self):
        file = self.file()
        big = 2**63 - 1
        self.kernel(file)
        self.kernel(file, start=-5_000_000_000)
        self.kernel(file, start=300, end=100)
        self.kernel(file, start="100")  # SQLite converts it to a number
        self.kernel(file, start=10, end=big)
        self.kernel(file, end=2.5)
        self.kernel(file, globalPid="x")
        self.kernel(file, globalPid=None)
        self.kernel(file, globalPid=-1)
        self.kernel(file, deviceId=big, streamId=-7, correlationId=2**40, gridX=2**31,
                    registersPerThread="many", mangledName=-1, demangledName=2**50,
                    shortName=b"x")  # fmt: skip
        copy = {"start": 1, "end": 2, "deviceId": 0, "contextId": 1, "streamId": 7,
                "globalPid": global_id(77), "bytes": 1}  # fmt: skip
        file.add(f"{PREFIX}MEMCPY", **copy, copyKind=1, srcKind=99, dstKind=-1)
        file.add(f"{PREFIX}MEMCPY", **copy, copyKind=11)
        file.add(f"{PREFIX}RUNTIME", start=1, end=2, eventClass=0, nameId=12345, returnValue=0)
        file.add(f"{PREFIX}RUNTIME", start=1, end=2, eventClass=0, globalTid=global_id(77, 1),
                 nameId=file.string("cuda" + "x" * 200), returnValue=0)  # fmt: skip
        file.add(f"{PREFIX}RUNTIME", start=1, end=2, eventClass=0, globalTid=global_id(77, 1),
                 nameId=file.string("\x1b[31mcublas"), returnValue=0)  # fmt: skip
        file.add("NVTX_EVENTS", start=5, end=1, eventType=59, globalTid=global_id(77, 1))
        file.add("NVTX_EVENTS", start=5, end="x", eventType=59, globalTid=global_id(77, 1))
        file.add("NVTX_EVENTS", start=5, end=6, eventType="y", globalTid=global_id(77, 1),
                 text=b"\xff\x00")  # fmt: skip
        file.add("TARGET_INFO_GPU", vmId=0, id="x", name="a")
        file.add("TARGET_INFO_GPU", vmId=0, id=2**40, name=5, uuid="GPU-xyz", smCount=-1)
        for i in range(5000):
            self.kernel(file, globalPid=global_id(1000 + i))
        file.close()
        ran = self.imported("other.sqlite")
        self.assertNotIn("\x1b", ran.stderr)
        self.assertIn(f"of {PREFIX}KERNEL", ran.stderr)
        self.assertIn("1 of unified memory migration", ran.stderr)
        counts = dict(self.query("run.sqlite",
                                 "SELECT name, value FROM STATISTIC WHERE name LIKE 'import%'"))  # fmt: skip
        kernels = self.query("run.sqlite", "SELECT count(*) FROM kernels")[0][0]
        self.assertEqual(kernels, 3 + 4095)
        self.assertEqual(counts["import_unreadable"], 7 + (5000 - 4095) + 2 + 2 + 1)
        self.assertEqual(counts["import_left_out"], 2)
        self.assertGreater(counts["import_values_unreadable"], 8)
        odd = self.query("run.sqlite", "SELECT device_id, stream_id, correlation_id, "
                         "registers FROM kernels WHERE device_id IS NULL")  # fmt: skip
        self.assertEqual(odd, [(None, None, None, None)])
        self.gpuprof("-i", "run.sqlite", "--print-gpu-trace")
        self.assertIn("import_unreadable", str(self.query("run.sqlite", "SELECT * FROM losses")))

    def test_its_sql_is_not_run(self):
        file = self.file()
        self.kernel(file)
        file.connection.execute(f"DROP TABLE {PREFIX}MEMSET")
        file.connection.execute(
            f"CREATE VIEW {PREFIX}MEMSET AS WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 "
            "FROM n) SELECT i AS start, i AS end, 1 AS globalPid FROM n"
        )
        file.close()
        self.gpuprof("import", "other.sqlite", "-o", "run.sqlite", code=20)
        self.assertFalse((self.folder / "run.sqlite").exists())

    def test_other_files(self):
        self.replay("vector_add")
        ran = self.gpuprof("import", "vector_add.sqlite", "-o", "run.sqlite", code=20)
        self.assertIn("needs no import", ran.stderr)
        (self.folder / "a.nsys-rep").write_bytes(b"x")
        ran = self.gpuprof("import", "a.nsys-rep", "-o", "run.sqlite", code=20)
        self.assertIn("nsys export --type sqlite a.nsys-rep", ran.stderr)
        self.gpuprof("import", "missing.sqlite", "-o", "run.sqlite", code=20)
        self.assertEqual(self.gpuprof("import", "a.nsys-rep", code=5).stdout, "")
        self.assertFalse((self.folder / "run.sqlite").exists())

    def test_files_are_kept(self):
        file = self.file()
        self.kernel(file)
        file.close()
        before = (self.folder / "other.sqlite").read_bytes()
        self.gpuprof("import", "other.sqlite", "-f", "-o", "other.sqlite", code=21)
        kept = self.folder / "run.sqlite"
        kept.write_text("mine")
        self.gpuprof("import", "other.sqlite", "-o", "run.sqlite", code=21)
        self.gpuprof("import", "other.sqlite", "-f", "-o", "run.sqlite", code=21)
        self.assertEqual(kept.read_text(), "mine")
        kept.unlink()
        self.gpuprof("import", "other.sqlite", "-o", "run.sqlite")
        self.assertEqual(kept.stat().st_mode & 0o777, 0o600)
        self.assertEqual((self.folder / "other.sqlite").read_bytes(), before)
        ran = self.gpuprof("-i", "other.sqlite", code=20)
        self.assertIn("gpuprof import other.sqlite", ran.stderr)
        size = len(before)
        (self.folder / "other.sqlite").write_bytes(before[: size // 2])
        self.gpuprof("import", "other.sqlite", "-f", "-o", "run.sqlite", code=20)


class Kineto(Import):
    """Traces of PyTorch's profiler."""

    maxDiff = None

    def trace(self, events, name="trace.json", **head):
        base = {"schemaVersion": 1, "displayTimeUnit": "ms", "baseTimeNanoseconds": BEGIN}
        text = json.dumps({**base, **head, "traceEvents": events}).encode()
        (self.folder / name).write_bytes(gzip.compress(text) if name.endswith(".gz") else text)

    def call(self, **values):
        return {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 4242,
                "tid": 4243, "ts": 10.125, "dur": 5.5,
                "args": {"External id": 1, "cbid": 211, "correlation": 7}, **values}  # fmt: skip

    def kernel(self, args=None, **values):
        return {"ph": "X", "cat": "kernel", "name": "void foo<int>(int)", "pid": 0, "tid": 7,
                "ts": 20.001, "dur": 3.25,
                "args": {"External id": 1, "queued": 0, "device": 0, "context": 1, "stream": 7,
                         "correlation": 7, "registers per thread": 32, "shared memory": 16,
                         "blocks per SM": 0.5, "warps per SM": 2, "grid": [1, 2, 3],
                         "block": [32, 1, 1], "est. achieved occupancy %": 3,
                         **(args or {})},
                **values}  # fmt: skip

    def test_round_trip(self):
        for capture in CAPTURES:
            with self.subTest(capture=capture):
                self.replay(capture)
                self.gpuprof("export", f"{capture}.sqlite", "-f", "-o", "trace.json")
                text = (self.folder / "trace.json").read_bytes()
                (self.folder / "trace.json.gz").write_bytes(gzip.compress(text))
                for name in ("trace.json", "trace.json.gz"):
                    ran = self.imported(name)
                    self.assertIn("nothing lost", ran.stderr)
                    for query in (
                        *(GPU_WORK, API_CALLS, LAUNCHES, CLOSED_RANGES),
                        "SELECT grid, block, registers FROM kernels ORDER BY start",
                        "SELECT kind, bytes, start FROM memcpys ORDER BY start",
                        "SELECT bytes, start, NULL FROM memsets WHERE start IS NOT NULL "
                        "ORDER BY start",
                        "SELECT type, start, duration, stream_id FROM synchronizations "
                        "ORDER BY start, duration",
                    ):
                        self.assertEqual(self.query("run.sqlite", query),
                                         self.query(f"{capture}.sqlite", query))  # fmt: skip

    def test_fields(self):
        copy = {"ph": "X", "cat": "gpu_memcpy", "name": "Memcpy HtoD (Pageable -> Device)",
                "pid": 0, "tid": 7, "ts": 30, "dur": 1.5,
                "args": {"device": 0, "context": 1, "stream": 7, "correlation": 8,
                         "bytes": 4096, "memory bandwidth (GB/s)": 2.7}}  # fmt: skip
        fill = {**copy, "cat": "gpu_memset", "name": "Memset (Device)", "ts": 32}
        wait = {"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 7,
                "ts": 33, "dur": 2, "args": {"cuda_sync_kind": "Stream Sync", "stream": -1,
                                             "correlation": 9, "device": 0, "context": 1}}  # fmt: skip
        self.trace(
            [
                {"ph": "M", "name": "process_name", "pid": 4242, "args": {"name": "python"}},
                self.kernel(),  # before any event names the process
                copy, fill, wait,
                {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#1", "pid": 4242,
                 "tid": 4243, "ts": 1, "dur": 100, "args": {}},
                {"ph": "X", "cat": "cpu_op", "name": "aten::mm", "pid": 4242, "tid": 4243, "ts": 1,
                 "dur": 50, "args": {"Input Dims": [[1, 2], [3]], "Sequence number": 4}},
                {"ph": "X", "cat": "cpu_op", "name": "aten::inner", "pid": 4242, "tid": 4243,
                 "ts": 1, "dur": 50},
                self.call(),
                self.call(cat="cuda_driver", name="cuLaunchKernel", args={"cbid": 307}),
                self.call(name="cudaNewCall", ts=11, args={"cbid": 211, "correlation": 70}),
                {"ph": "s", "id": 7, "pid": 4242, "tid": 4243, "ts": 10, "cat": "ac2g",
                 "name": "ac2g"},
                {"ph": "X", "cat": "gpu_user_annotation", "name": "x", "pid": 0, "tid": 7,
                 "ts": 1, "dur": 1},
                {"ph": "X", "cat": "Trace", "ts": 1, "dur": 200, "pid": "Spans", "tid": "x",
                 "name": "PyTorch Profiler (0)"},
                {"ph": "i", "s": "t", "name": "[memory]", "cat": "cpu_instant_event", "pid": 4242,
                 "tid": 1, "ts": 3, "args": {"Bytes": 5}},
            ],
            deviceProperties=[{"id": 0, "name": "NVIDIA H100", "totalGlobalMem": 80 << 30,
                               "computeMajor": 9, "computeMinor": 0, "numSms": 132,
                               "warpSize": 32, "maxThreadsPerBlock": 1024}],
            distributedInfo={"backend": "nccl", "rank": 3, "world_size": 8},
        )  # fmt: skip
        ran = self.imported("trace.json")
        self.assertEqual(
            self.query("run.sqlite",
                       "SELECT name, start, duration, grid, block, registers, static_shared_memory, "
                       "device_id, context_id, stream_id, process_id FROM kernels"),
            [("void foo<int>(int)", BEGIN + 20001, 3250, "(1,2,3)", "(32,1,1)", 32, None, 0, 1, 7,
              4242)],
        )  # fmt: skip
        self.assertEqual(
            self.query("run.sqlite",
                       "SELECT kind, src_memory, dst_memory, bytes, start, is_async FROM memcpys"),
            [("HtoD", "Pageable", "Device", 4096, BEGIN + 30000, None)],
        )  # fmt: skip
        self.assertEqual(self.query("run.sqlite", "SELECT bytes, memory, value FROM memsets"),
                         [(4096, "Device", None)])  # fmt: skip
        self.assertEqual(
            self.query("run.sqlite", "SELECT type, stream_id, duration FROM synchronizations"),
            [("stream synchronize", None, 2000)],
        )
        self.assertEqual(
            self.query("run.sqlite", "SELECT name, domain, depth, thread_id FROM nvtx_ranges "
                       "ORDER BY domain, depth, name"),
            [("ProfilerStep#1", None, 0, 4243), ("aten::mm", "cpu_op", 0, 4243),
             ("aten::inner", "cpu_op", 1, 4243)],
        )  # fmt: skip
        calls = self.query("run.sqlite", "SELECT domain, name, cbid, correlation_id, return_value "
                           "FROM api_calls ORDER BY start, domain")  # fmt: skip
        self.assertEqual(calls[0], ("driver", "cuLaunchKernel", 307, None, None))
        self.assertEqual(calls[1], ("runtime", "cudaLaunchKernel", 211, 7, None))
        self.assertEqual(calls[2][:2], ("runtime", "cudaNewCall"))
        self.assertNotEqual(calls[2][2], 211)
        self.assertEqual(self.query("run.sqlite", "SELECT name, multiprocessors, memory, uuid, "
                                    "compute_capability FROM devices"),
                         [("NVIDIA H100", 132, 80 << 30, None, "9.0")])  # fmt: skip
        self.assertEqual(self.query("run.sqlite", "SELECT rank, world_size FROM processes"),
                         [(3, 8)])  # fmt: skip
        self.assertEqual(self.query("run.sqlite", "SELECT realtime - cupti FROM CLOCK"), [(0,)])
        for left_out in ("gpu_user_annotation", "Trace", "cpu_instant_event"):
            self.assertIn(f"1 of {left_out}", ran.stderr)
        self.assertNotIn("ac2g", ran.stderr)
        self.assertIn("nothing lost", ran.stderr)
        ran = self.gpuprof("-i", "run.sqlite", "--print-gpu-trace", "--print-nvtx-summary")
        self.assertRegex(ran.stderr, r"\(1 2 3\) +\(32 1 1\) +32 +- +- +- ")

    def test_traces_of_amd_gpus(self):
        """HIP's numbers of functions and copies are not CUDA's."""
        copy = {"ph": "X", "cat": "gpu_memcpy", "pid": 0, "tid": 7, "dur": 1.5}
        names = ["Memcpy HtoD (Host -> Device)", "Memcpy <unknown> (? -> ?)",
                 *(f"Memcpy {kind} (0x7f40 -> 0x7f80)" for kind in range(6))]  # fmt: skip
        self.trace(
            [
                # As HIP's, `cid` 211 would be another function, and `kind` 2 another direction.
                self.call(name="hipMemcpyWithStream", args={
                    "cid": 211, "correlation": 8, "src": "0x7f40", "dst": "0x7f80",
                    "bytes": "4096", "kind": "2"}),
                self.call(name="hipLaunchKernel", ts=12, args={"cid": 1, "correlation": 9}),
                *({**copy, "name": name, "ts": 20 + at, "args": {
                    "device": 0, "stream": 3, "correlation": 8, "kind": "HtoD", "bytes": 4096}}
                  for at, name in enumerate(names)),
                {**copy, "cat": "gpu_memset", "name": "Memset (Device)", "ts": 40, "args": {
                    "device": 0, "stream": 3, "correlation": 10, "kind": "Device"}},
            ],
            deviceProperties=[{"id": 0, "name": "AMD Instinct MI300X", "computeMajor": 9,
                               "computeMinor": 4, "warpSize": 64, "numSms": 304,
                               "maxSharedMemoryPerMultiProcessor": 65536}],
        )  # fmt: skip
        self.assertIn("nothing lost", self.imported("trace.json").stderr)
        self.assertEqual(
            self.query("run.sqlite", "SELECT name, domain FROM api_calls ORDER BY start"),
            [("hipMemcpyWithStream", "runtime"), ("hipLaunchKernel", "runtime")],
        )
        self.assertEqual(self.query("run.sqlite", "SELECT count(*) FROM api_calls WHERE cbid < 32768"),
                         [(0,)])  # fmt: skip
        kinds = ["HtoD", "unknown", "HtoH", "HtoD", "DtoH", "DtoD", "unknown", "unknown"]
        self.assertEqual(
            self.query("run.sqlite", "SELECT kind, src_memory, dst_memory FROM memcpys "
                       "ORDER BY start"),
            [(kind, "unknown", "Device" if at == 0 else "unknown")
             for at, kind in enumerate(kinds)],
        )  # fmt: skip
        self.assertEqual(self.query("run.sqlite", "SELECT bytes, memory FROM memsets"),
                         [(None, "Device")])  # fmt: skip
        self.assertEqual(
            self.query("run.sqlite", "SELECT numThreadsPerWarp, numMultiprocessors, "
                       "maxSharedMemoryPerMultiprocessor FROM CUPTI_ACTIVITY_KIND_DEVICE"),
            [(64, 304, 65536)],
        )  # fmt: skip

    def test_old_traces(self):
        """Without a base, in an array, with times of day or from zero."""
        text = json.dumps([self.kernel(cat="Kernel", ts="@", pid=1)])
        text = "\ufeff " + text.replace('"@"', "1700000000000001.125")
        (self.folder / "trace.json").write_text(text, encoding="utf-8")
        self.imported("trace.json")
        self.assertEqual(self.query("run.sqlite", "SELECT start FROM kernels"),
                         [(1700000000000001125,)])  # fmt: skip
        text = json.dumps([self.kernel(ts="@"), self.call(ts=0)]).replace('"@"', "1.7e0")
        (self.folder / "trace.json").write_text(text)
        self.imported("trace.json")
        (kernel,), (call,) = (self.query("run.sqlite", f"SELECT start FROM {table}")[0]
                              for table in ("kernels", "api_calls"))  # fmt: skip
        self.assertEqual(kernel - call, 1700)
        self.assertEqual(self.query("run.sqlite", "SELECT * FROM CLOCK"), [])

    def test_forged(self):
        big = 10**30
        odd = [
            self.kernel(ts=-(10**9) * 10**9), self.kernel(dur=-1), self.kernel(ts="x"),
            self.kernel(ts=None), self.kernel(dur=big), self.kernel(ts=True), self.call(pid="x"),
            self.call(pid=-5), self.call(pid=2**40), self.call(name=""), self.call(name="x" * 500),
            self.kernel({"process": -1}),
        ]  # fmt: skip
        values = [
            self.kernel({"device": big, "stream": "seven", "correlation": -3, "grid": [1, "x"],
                         "block": [True, 2.5, 2**40, 5, 6], "registers per thread": {"a": 1}}),
            self.call(tid=2**63, args={"cbid": -1, "correlation": 2**50}),
            self.call(tid="x", args=[1, [2]]),
        ]  # fmt: skip
        other = [{"ph": "X", "cat": f"\x1b[31m{i}"} for i in range(1000)]
        other += [{}, {"ph": 5, "cat": None, "args": None}, {"ph": "X", "cat": ["kernel"]}, []]
        self.trace([*odd, *values, *other, 7, "x", None], deviceProperties=[{"id": "x"}, 5, {}])
        ran = self.imported("trace.json")
        self.assertNotIn("\x1b", ran.stderr)
        self.assertLess(len(ran.stderr), 5000)
        counts = dict(self.query("run.sqlite",
                                 "SELECT name, value FROM STATISTIC WHERE name LIKE 'import%'"))  # fmt: skip
        self.assertEqual(counts["import_unreadable"], len(odd))
        self.assertEqual(counts["import_left_out"], 1003)
        self.assertGreaterEqual(counts["import_values_unreadable"], 10)
        self.assertEqual(self.query("run.sqlite", "SELECT grid_x, block_x, block_y, block_z, "
                                    "device_id FROM kernels"),
                         [(1, None, None, None, None)])  # fmt: skip
        self.gpuprof("-i", "run.sqlite", "--print-gpu-trace", "--print-api-trace")

    def test_bad_texts(self):
        self.trace([self.kernel(), self.call()], "whole.json.gz")
        packed = (self.folder / "whole.json.gz").read_bytes()
        text = gzip.decompress(packed)
        self.imported("whole.json.gz")
        cases = {
            "cut.json.gz": (packed[: len(packed) // 2], "cut off"),
            "head.json.gz": (packed[:12], None),
            "damaged.json.gz": (packed[:40] + b"\xff" * 40 + packed[80:], None),
            "sum.json.gz": (packed[:-6] + b"\0\0" + packed[-4:], "damaged"),
            "behind.json.gz": (packed + b"\x1f\x8b", None),
            "cut.json": (text[:-20], "cut off"),
            "comma.json": (text[:-2] + b",,}", "not JSON from byte"),
            "deep.json": (b"[" * 100_000, "nests deeper"),
            "deep_args.json": (b'[{"args":' + b'{"a":' * 100_000, "nests deeper"),
            "long.json": (b'{"a":"' + b"x" * (17 << 20) + b'"}', "16 MiB"),
            "number.json": (b"[" + b"1" * (17 << 20) + b"]", "16 MiB"),
            "bare.json": (text.replace(b'"pid"', b'nan "pid"', 1), "not JSON from byte"),
            "nearly.json": (text.replace(b"5.5", b"Infinite", 1), "not JSON from byte"),
            "escape.json": (text.replace(b"void", b"\\u12", 1), "not JSON from byte"),
            "empty.json": (b"{}", "no traceEvents"),
            "other.json": (b'{"traceEvents": {"a": 1}}', "no traceEvents"),
        }
        for name, (content, words) in cases.items():
            with self.subTest(name=name):
                (self.folder / name).write_bytes(content)
                (self.folder / "run.sqlite").unlink(missing_ok=True)
                ran = self.gpuprof("import", name, "-o", "run.sqlite", code=20)
                self.assertIn(words or name, ran.stderr)
                self.assertFalse((self.folder / "run.sqlite").exists())
        # Several concatenated gzip files are one.
        half = len(text) // 2
        (self.folder / "two.json.gz").write_bytes(gzip.compress(text[:half])
                                                  + gzip.compress(text[half:]))  # fmt: skip
        self.imported("two.json.gz")
        self.assertEqual(self.query("run.sqlite", "SELECT count(*) FROM kernels"), [(1,)])

    def test_bad_values(self):
        """Values that Python's json and C++ programs write but JSON lacks cost a value, not the file."""

        def trace(*events):
            text = json.dumps(events, ensure_ascii=False).encode("utf-8", "surrogatepass")
            for name, value in (("@nan", b"NaN"), ("@inf", b"Infinity"), ("@neg", b"-Infinity"),
                                ("@big", b"1e400"), ("@raw", b"\xff\xfe"),
                                ("@high", b"\\ud83d"), ("@low", b"\\ude00"),
                                ("@pair", b"\\ud83d\\ude00"), ("@cut", b"\xe2\x82")):  # fmt: skip
                text = text.replace(f'"{name}#"'.encode(), value).replace(name.encode(), value)
            (self.folder / "bad.json").write_bytes(text)

        trace(
            self.call(),
            self.kernel(name="one"),
            # Unused values cost nothing.
            self.kernel({"est. achieved occupancy %": "@nan#", "warps per SM": "@big#"}, name="two"),
            self.kernel({"bytes": 1, "registers per thread": "@nan#"}, name="three"),
            self.kernel({"grid": ["@inf#", 2, 3], "stream": "@neg#"}, name="four"),
            # An event without a time is not counted as one.
            self.kernel(name="five", ts="@nan#"), self.kernel(name="six", dur="@big#"),
        )  # fmt: skip
        ran = self.imported("bad.json")
        self.assertIn("2 of kernel", ran.stderr)
        counts = dict(self.query("run.sqlite",
                                 "SELECT name, value FROM STATISTIC WHERE name LIKE 'import%'"))  # fmt: skip
        self.assertEqual(counts, {"import_unreadable": 2, "import_values_unreadable": 3})
        self.assertEqual(
            self.query("run.sqlite", "SELECT name, registers, grid_x, grid_y, stream_id, duration "
                       "FROM kernels ORDER BY 1"),
            [("four", 32, None, 2, None, 3250), ("one", 32, 1, 2, 7, 3250),
             ("three", None, 1, 2, 7, 3250),
             ("two", 32, 1, 2, 7, 3250)],
        )  # fmt: skip
        names = {"a@raw": "a??", "b@high": "b\ufffd", "c@low!": "c\ufffd!", "d@pair": "d\U0001f600",
                 "e@cut": "e??", "f\u20acg": "f\u20acg", "g@high@high@low": "g\ufffd\U0001f600"}  # fmt: skip
        trace(self.call(), *(self.kernel(name=name) for name in names))
        ran = self.imported("bad.json")
        self.assertIn("5 of texts that are not UTF-8", ran.stderr)
        self.assertEqual(sorted(self.query("run.sqlite", "SELECT name FROM kernels")),
                         sorted((name,) for name in names.values()))  # fmt: skip
        # Wherever the blocks being read end.
        events = [
            self.call(),
            *(self.kernel(name=f"{'x' * (i % 91)}@raw@high") for i in range(9000)),
        ]
        trace(*events)
        ran = self.imported("bad.json")
        self.assertIn("9000 of texts", ran.stderr)
        self.assertEqual(self.query("run.sqlite", "SELECT count(*), count(DISTINCT name), "
                                    "sum(name LIKE '%??\ufffd') FROM kernels"), [(9000, 91, 9000)])  # fmt: skip

    def test_threads_that_kineto_does_not_know(self):
        """Kineto reports their process and thread as 0."""
        frame = {"ph": "X", "cat": "python_function", "ts": 1, "dur": 5, "pid": 0, "tid": 0,
                 "name": "threading.py(1032): _bootstrap", "args": {"Python id": 1}}  # fmt: skip
        self.trace([frame, self.kernel(), self.call(), {**frame, "ts": 2}])
        ran = self.imported("trace.json")
        self.assertIn("of 1 process, nothing lost", ran.stderr)
        self.assertEqual(self.query("run.sqlite", "SELECT process_id FROM processes"), [(4242,)])
        self.assertEqual(self.query("run.sqlite", "SELECT process_id, thread_id, count(*) "
                                    "FROM nvtx_ranges GROUP BY 1, 2"), [(4242, 0, 2)])  # fmt: skip
        # If nothing identifies the process of the work, it is unknown.
        self.trace([self.kernel()])
        self.imported("trace.json")
        self.assertEqual(self.query("run.sqlite", "SELECT process_id FROM processes"), [(0,)])

    def test_packed_texts(self):
        self.trace([self.kernel(), self.call()], "whole.json.gz")
        packed = (self.folder / "whole.json.gz").read_bytes()
        text = gzip.decompress(packed)
        note = "what follows its compressed data is ignored"
        for name, content, said in (
            ("garbage.json.gz", packed + b"\0" * 512 + b"garbage", note),
            ("byte.json.gz", packed + b"x", note),
            ("blank.json.gz", gzip.compress(b" \n" * (3 << 20) + text), None),
            ("blank.json", b"\n" * (1 << 20) + text, None),
            ("empty.json.gz", gzip.compress(b"") * 5000 + packed, None),
            ("bytes.json.gz", b"".join(gzip.compress(text[i : i + 1]) for i in range(len(text))),
             None),
        ):  # fmt: skip
            with self.subTest(name=name):
                (self.folder / name).write_bytes(content)
                ran = self.imported(name)
                self.assertEqual(note in ran.stderr, said == note, ran.stderr)
                self.assertEqual(self.query("run.sqlite", "SELECT count(*) FROM kernels"), [(1,)])
        for name, content in (("blanks.json.gz", gzip.compress(b" " * (65 << 20) + b"{}")),
                              ("other.gz", gzip.compress(b"SQLite format 3"))):  # fmt: skip
            (self.folder / name).write_bytes(content)
            ran = self.gpuprof("import", name, "-f", "-o", "run.sqlite", code=20)
            self.assertIn(name, ran.stderr)

    def test_a_little_file_of_much(self):
        """Progress is visible, and Ctrl-C ends it, even if no event comes for a long time."""
        with gzip.open(self.folder / "much.json.gz", "wb", compresslevel=1) as file:
            file.write(b'{"numbers": [')
            for _ in range(64):
                file.write(b"1," * (1 << 20))
        ours, theirs = pty.openpty()
        with subprocess.Popen([GPUPROF, "import", "much.json.gz", "-o", "run.sqlite"],
                              cwd=self.folder, stderr=theirs) as process:  # fmt: skip
            os.close(theirs)
            seen = b""
            while b"reading " not in seen:
                seen += os.read(ours, 4096)
            process.send_signal(signal.SIGINT)
            self.assertEqual(process.wait(60), 130)
        os.close(ours)
        self.assertFalse((self.folder / "run.sqlite").exists())

    def test_random_damage(self):
        """Whatever bytes are changed, the result is an error or a sound profile."""
        self.trace([self.kernel(), self.call(), self.kernel(ts=50)])
        text = (self.folder / "trace.json").read_bytes()
        choice = random.Random(7)
        for _ in range(60):
            damaged = bytearray(text)
            for _ in range(choice.randint(1, 4)):
                damaged[choice.randrange(len(damaged))] = choice.choice(b'"{}[],:0-9.eE\\x')
            (self.folder / "damaged.json").write_bytes(damaged)
            ran = self.gpuprof("import", "damaged.json", "-f", "-o", "run.sqlite", code=(0, 20),
                               why=bytes(damaged))  # fmt: skip
            if ran.returncode == 0:
                found = self.query("run.sqlite", "PRAGMA integrity_check")
                self.assertEqual(found, [("ok",)])


if __name__ == "__main__":
    unittest.main()
