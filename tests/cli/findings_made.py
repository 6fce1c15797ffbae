"""What the tests of gpuprof findings have in common: profiles whose records a test makes, and what must hold
for each rule."""

import collections
import contextlib
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
CAPTURES = "vector_add", "torch_step", "two_processes", "streams_graph", "nvtx_threads", "die"
KIND = "CUPTI_ACTIVITY_KIND_"
SIMULATED = ("allocations", "pool_growth", "module_loading", "small_graphs", "pageable_copies",
             "blocking_waits", "launch_bound", "slow_steps", "host_away", "waiting_work",
             "blocking_copies", "unhidden_copies", "memory_sets", "serial_streams", "small_grids",
             "partial_waves", "fp32_matrix_products", "uneven_launches")  # fmt: skip
HTOD, DTOH = 1, 2
PAGEABLE, PINNED, DEVICE = 1, 2, 3
US = 1000


def gpuprof(*words):
    return subprocess.run([GPUPROF, *map(str, words)], capture_output=True, text=True,
                          encoding="utf-8", timeout=300, check=False)  # fmt: skip


class FindingsTest(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="findings-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    @classmethod
    def replayed(cls, capture):
        path = cls.folder / f"{capture}.sqlite"
        if not path.exists():
            subprocess.run([GPUPROF, "replay", "-q", "-o", path,
                            SOURCE / f"tests/captures/{capture}.gpcap"], check=True)  # fmt: skip
        return path

    def findings(self, path, *options):
        ran = gpuprof("findings", path, "--json", *options)
        self.assertIn(ran.returncode, (0, 20), ran.stderr)
        return json.loads(ran.stdout)

    def account(self, path, *window):
        tables = json.loads(gpuprof("account", path, "--json", *window).stdout)["tables"]
        return tables[0]["rows"] if tables else []

    def check_sql(self, path, document, *options):
        """Any SQLite client gets the numbers of all findings."""
        explained = self.findings(path, *options, "--min", "0", "--explain", "all")
        self.assertEqual(explained["findings"], document["findings"])
        self.check_statements(path, explained)

    def check_statements(self, path, explained):
        """The same of findings that were asked for with --explain all."""
        statements = {judged["rule"]: judged["sql"] for judged in explained["rules"]}
        for rule in {finding["rule"] for finding in explained["findings"]}:
            with contextlib.closing(sqlite3.connect(path)) as database:
                rows = database.execute(statements[rule]).fetchall()
            for finding in explained["findings"]:
                if finding["rule"] != rule:
                    continue
                mine = [row for row in rows if row[0] == finding["device_id"]]
                self.assertEqual({row[3] for row in mine}, {finding["at_most_ns"]}, rule)
                self.assertEqual(
                    [(row[1], row[2]) for row in mine],
                    [(draw["part"], draw["duration_ns"]) for draw in finding["draws"]],
                )

    def made(self):
        return Made(self.replayed("vector_add"), self.folder)

    def check(self, rule, make, expected, mended, others=()):
        """`make(made, sound)` makes the records. `expected` is in ns; `others` are what other rules
        find in both."""
        for sound, wanted in ((False, {rule: expected, **dict(others)}), (True, mended)):
            made = self.made()
            make(made, sound)
            path = made.finish()
            document = self.findings(path, "--min", "0", "--explain", "all")
            found = {finding["rule"]: finding["at_most_ns"] for finding in document["findings"]}
            self.assertEqual(found, wanted, "mended" if sound else "broken")
            self.check_statements(path, document)
            self.check_account(path, document)
            self.check_simulated(document)

    def check_simulated(self, document):
        """Never more than the bound, of each and of all together."""
        for finding in document["findings"]:
            self.assertEqual(finding["simulated_ns"] is not None, finding["rule"] in SIMULATED)
            if finding["simulated_ns"] is not None:
                self.assertIn(finding["simulated_ns"], range(finding["at_most_ns"] + 1))
        for together in document["together"]:
            mine = [each for each in document["findings"]
                    if each["device_id"] == together["device_id"]]  # fmt: skip
            self.assertEqual(together["at_most_ns"], sum(each["at_most_ns"] for each in mine))
            self.assertIn(together["simulated_ns"], range(together["at_most_ns"] + 1))
            self.assertEqual((together["findings"], together["simulated_findings"]),
                             (len(mine), sum(each["simulated_ns"] is not None for each in mine)))  # fmt: skip

    def check_account(self, path, document):
        rows = self.account(path)
        has = collections.Counter()
        for row in rows:
            has[row["device_id"], row["class"]] += row["duration_ns"]
        drawn = collections.Counter()
        for finding in document["findings"]:
            for draw in finding["draws"]:
                drawn[finding["device_id"], draw["part"].split(" ")[0] if "copy" in draw["part"]
                      else draw["part"]] += draw["duration_ns"]  # fmt: skip
        for part, ns in drawn.items():
            self.assertLessEqual(ns, has[part], part)

    def in_a_gap(self, function, domain):
        def make(made, sound):
            made.kernel(100, 200, launched=(90, 95))
            # The mended program calls it before its first work.
            made.call(function, *((10, 60) if sound else (205, 255)), domain=domain)
            made.kernel(260, 400, launched=(255, 258))

        return make


class Made:
    """A profile whose records a test makes. Times are us after the run's zero."""

    number = 0

    def __init__(self, base, folder):
        Made.number += 1
        self.folder = folder
        self.path = folder / f"made-{Made.number}.sqlite"
        shutil.copyfile(base, self.path)
        self.database = sqlite3.connect(self.path, isolation_level=None)
        self.database.row_factory = sqlite3.Row
        (zero,) = self.database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()
        self.zero = int(zero)
        self.database.execute("BEGIN")
        self.like = {}
        for kind in ("CONCURRENT_KERNEL", "MEMCPY", "MEMSET", "RUNTIME", "DRIVER",
                     "SYNCHRONIZATION", "OVERHEAD", "MEMORY2", "MARKER"):  # fmt: skip
            row = self.database.execute(f"SELECT * FROM {KIND}{kind} LIMIT 1").fetchone()
            self.like[kind] = dict(row) if row else {}
            self.database.execute(f"DELETE FROM {KIND}{kind}")
        self.database.execute("DELETE FROM NVTX_RANGE")
        like = self.like["MEMCPY"]
        self.like["MEMSET"] = {key: like[key] for key in (
            "deviceId", "contextId", "streamId", "processId", "graphId", "graphNodeId")}  # fmt: skip
        self.correlation = 1000
        self.later = []  # SQL and values for the finished profile

    def insert(self, kind, begin, end, **values):
        self.correlation += 1
        row = {"correlationId": self.correlation, **values}
        row = {
            **self.like[kind],
            **row,
            "start": self.zero + begin * US,
            "end": self.zero + end * US,
        }
        row.pop("_id_", None)
        self.database.execute(
            f"INSERT INTO {KIND}{kind}({', '.join(f'[{name}]' for name in row)}) "
            f"VALUES({', '.join('?' * len(row))})",
            tuple(row.values()),
        )
        return row["correlationId"]

    def string(self, text):
        self.database.execute(
            "INSERT INTO StringTable(value, demangled, short) VALUES(?, ?, ?)", (text,) * 3
        )
        return self.database.execute("SELECT max(_id_) FROM StringTable").fetchone()[0]

    def call(self, name, begin, end, domain="runtime", **values):
        (cbid,) = self.database.execute(
            "SELECT cbid FROM API_NAME WHERE domain = ? AND (name = ? OR name GLOB ?)",
            (domain, name, name + "_v[0-9]*"),
        ).fetchone()
        return self.insert(domain.upper(), begin, end, cbid=cbid, returnValue=0, **values)

    def kernel(self, begin, end, name=None, launched=None, thread=None, **values):
        """`launched`: begin and end of the call."""
        if launched:
            threads = {"threadId": thread} if thread else {}
            values["correlationId"] = self.call("cudaLaunchKernel", *launched, **threads)
        if name:
            values["name"] = name if isinstance(name, int) else self.string(name)
        self.insert("CONCURRENT_KERNEL", begin, end, **{"gridX": 10000, "gridY": 1, **values})

    def copy(self, begin, end, kind=HTOD, host=PINNED, asynchronous=True, size=1 << 19,
             launched=None, **values):  # fmt: skip
        source, target = (host, DEVICE) if kind == HTOD else (DEVICE, host)
        if launched:
            values["correlationId"] = self.call("cudaMemcpyAsync", *launched)
        self.insert("MEMCPY", begin, end, copyKind=kind, srcKind=source, dstKind=target,
                    flags=int(asynchronous), bytes=size, **values)  # fmt: skip

    def memory(self, time, size, call, **values):
        """Device memory is allocated, or freed if size < 0."""
        row = {**self.like["MEMORY2"], "timestamp": self.zero + time * US, "bytes": abs(size),
               "memoryOperationType": 1 if size > 0 else 2, "memoryKind": 3, "isAsync": 0,
               "poolType": 0, "correlationId": call, **values}  # fmt: skip
        del row["_id_"]
        self.database.execute(
            f"INSERT INTO {KIND}MEMORY2({', '.join(row)}) VALUES({', '.join('?' * len(row))})",
            tuple(row.values()),
        )

    def set(self, begin, end):
        self.insert("MEMSET", begin, end, bytes=64, value=0, flags=1, memoryKind=3)

    def wait(self, begin, end, kind=3, stream=7):
        """`kind`: 1 for an event, 3 for the stream, 4 for the context."""
        made = self.call("cudaStreamSynchronize", begin, end)
        self.insert("SYNCHRONIZATION", begin, end, type=kind, streamId=stream, correlationId=made)

    def event(self, call, stream, recording):
        """An event that the call recorded."""
        self.database.execute(
            f"INSERT INTO {KIND}CUDA_EVENT(correlationId, contextId, streamId, eventId, deviceId, "
            "deviceTime, cudaEventSyncId, processId) "
            f"SELECT ?, contextId, ?, 1, 0, 0, ?, processId FROM {KIND}STREAM LIMIT 1",
            (call, stream, recording),
        )

    def step(self, begin, end, name):
        self.correlation += 1
        times = self.zero + begin * US, self.zero + end * US
        name = self.string(name)
        for flags, time, its_name in ((2, times[0], name), (4, times[1], 0)):
            row = {**self.like["MARKER"], "flags": flags, "timestamp": time, "name": its_name,
                   "id": self.correlation}  # fmt: skip
            del row["_id_"]
            self.database.execute(
                f"INSERT INTO {KIND}MARKER({', '.join(row)}) VALUES({', '.join('?' * len(row))})",
                tuple(row.values()),
            )
        self.database.execute(
            "INSERT INTO NVTX_RANGE(processId, threadId, id, domain, name, start, stop, depth, kind) "
            f"SELECT processId, threadId, ?, 0, ?, ?, ?, 0, 'push_pop' FROM {KIND}RUNTIME LIMIT 1",
            (self.correlation, name, *times),
        )

    def finish(self):
        """With all that is computed when a run is over."""
        self.database.execute("COMMIT")
        self.database.close()
        path = self.folder / "finished.sqlite"
        ran = gpuprof("slice", self.path, "--from", "0", "-q", "-f", "-o", path)
        assert ran.returncode == 0, ran.stderr
        self.path.unlink()
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            for sql, values in self.later:
                database.execute(sql, values)
        return path
