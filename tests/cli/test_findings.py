# ctest-cost: 20
"""gpuprof findings: each rule finds what was made for it, to the nanosecond, and nothing in its mended
twin; no rule claims what the account does not have; the SQL gives the number that is printed.
"""

import collections
import contextlib
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

from builds import asan, load_tests  # noqa: F401

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
CAPTURES = "vector_add", "torch_step", "two_processes", "streams_graph", "nvtx_threads", "die"
KIND = "CUPTI_ACTIVITY_KIND_"
NOT_SIMULATED = ("small_copies", "exposed_communication", "small_grids", "low_occupancy",
                 "spills")  # fmt: skip
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
        for rule in {finding["rule"] for finding in document["findings"]}:
            explained = self.findings(path, *options, "--min", "0", "--explain", rule)
            (judged,) = explained["rules"]
            with contextlib.closing(sqlite3.connect(path)) as database:
                rows = database.execute(judged["sql"]).fetchall()
            for finding in document["findings"]:
                if finding["rule"] != rule:
                    continue
                mine = [row for row in rows if row[0] == finding["device_id"]]
                self.assertEqual({row[3] for row in mine}, {finding["at_most_ns"]}, rule)
                self.assertEqual(
                    [(row[1], row[2]) for row in mine],
                    [(draw["part"], draw["duration_ns"]) for draw in finding["draws"]],
                )
            text = gpuprof("findings", path, *options, "--explain", rule).stdout
            self.assertTrue(text.endswith("\n\n" + judged["sql"]), text)


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
            values["name"] = self.string(name)
        self.insert("CONCURRENT_KERNEL", begin, end, **{"gridX": 10000, "gridY": 1, **values})

    def copy(self, begin, end, kind=HTOD, host=PINNED, asynchronous=True, size=1 << 20,
             launched=None, **values):  # fmt: skip
        source, target = (host, DEVICE) if kind == HTOD else (DEVICE, host)
        if launched:
            values["correlationId"] = self.call("cudaMemcpyAsync", *launched)
        self.insert("MEMCPY", begin, end, copyKind=kind, srcKind=source, dstKind=target,
                    flags=int(asynchronous), bytes=size, **values)  # fmt: skip

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
        return path


class Rules(FindingsTest):
    """Each rule on what was made for it, and on the same program without it."""

    def made(self):
        return Made(self.replayed("vector_add"), self.folder)

    def check(self, rule, make, expected, mended, others=()):
        """`make(made, sound)` makes the records. `expected` is in ns; `others` are what other rules
        find in both."""
        for sound, wanted in ((False, {rule: expected, **dict(others)}), (True, mended)):
            made = self.made()
            make(made, sound)
            path = made.finish()
            document = self.findings(path, "--min", "0")
            found = {finding["rule"]: finding["at_most_ns"] for finding in document["findings"]}
            self.assertEqual(found, wanted, "mended" if sound else "broken")
            self.check_sql(path, document)
            self.check_account(path, document)
            self.check_simulated(document)

    def check_simulated(self, document):
        """Never more than the bound, of each and of all together."""
        for finding in document["findings"]:
            self.assertEqual(finding["simulated_ns"] is None, finding["rule"] in NOT_SIMULATED)
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

    def test_allocations(self):
        for function in ("cudaMalloc", "cudaFree", "cudaHostAlloc"):
            self.check("allocations", self.in_a_gap(function, "runtime"), 50 * US,
                       {"host_away": 55 * US}, [("host_away", 5 * US)])  # fmt: skip
        # Those of a pool are ordered in a stream.
        made = self.made()
        self.in_a_gap("cudaMallocAsync", "runtime")(made, False)
        document = self.findings(made.finish(), "--min", "0")
        self.assertEqual([each["rule"] for each in document["findings"]], ["host_away"])

    def test_module_loading(self):
        for function, domain in (
            ("cuLibraryLoadData", "driver"),
            ("cudaFuncGetAttributes", "runtime"),
        ):
            self.check("module_loading", self.in_a_gap(function, domain), 50 * US,
                       {"host_away": 55 * US}, [("host_away", 5 * US)])  # fmt: skip

    def test_blocking_waits(self):
        def make(made, sound):
            made.kernel(100, 200, launched=(90, 95))
            if not sound:
                made.wait(100, 203)
            made.kernel(*((300, 400) if not sound else (200, 300)),
                        launched=(290, 295) if not sound else (96, 99))  # fmt: skip

        # The gap is 100 us long: in the wait, in no call, in the launch.
        self.check("blocking_waits", make, 100 * US, {})

    def test_a_wait_saves_no_more_than_it_took(self):
        def make(made, begin):
            made.kernel(100, 200, launched=(80, 85))
            made.wait(begin, 203)
            made.kernel(300, 400, launched=(290, 295))
            made.wait(395, 403)
            made.kernel(500, 600, launched=(490, 495))

        # Each gap: 3 us in the wait, 87 in no call, 10 from the launch on.
        for begin, *saved in ((90, 100, 21), (190, 13, 8), (100, 100, 11), (199, 4, 8)):
            with self.subTest(begin):
                made = self.made()
                make(made, begin)
                path = made.finish()
                document = self.findings(path, "--min", "0")
                found = {each["rule"]: each["at_most_ns"] for each in document["findings"]}
                self.assertEqual(found["blocking_waits"], sum(saved) * US)
                away = sum(87 - min(87, each) for each in saved)
                self.assertEqual(found["host_away"], away * US)
                self.check_sql(path, document)
                self.check_account(path, document)

    def test_a_wait_of_another_process_is_not_its_own(self):
        made = self.made()
        other = 1 << 32
        made.kernel(100, 200, launched=(90, 95))
        made.insert("SYNCHRONIZATION", 100, 203, type=3, streamId=7, correlationId=other + 1)
        made.kernel(300, 400, launched=(290, 295))
        document = self.findings(made.finish(), "--min", "0")
        self.assertEqual([each["rule"] for each in document["findings"]], ["host_away"])

    def test_launch_bound(self):
        def make(made, sound):
            for i in range(20):
                begin = 100 + 30 * i
                made.kernel(begin, begin + (29 if sound else 10), launched=(begin - 8, begin - 1))

        # 19 gaps of 20 us; of 1 us they are less than a tenth.
        self.check("launch_bound", make, 19 * 20 * US, {})

    def test_launch_bound_with_more_gaps_than_are_listed(self):
        made = self.made()
        for i in range(10_500):
            made.kernel(100 + 3 * i, 101 + 3 * i)
        made.call("cudaLaunchKernel", 10, 90)
        path = made.finish()
        document = self.findings(path)
        (finding,) = document["findings"]
        self.assertEqual(finding["rule"], "launch_bound")
        self.assertEqual(finding["at_most_ns"], 10_499 * 2 * US)
        self.assertEqual({draw["part"] for draw in finding["draws"]}, {"no call", "short gap"})
        self.check_sql(path, document)

    def test_host_away(self):
        def make(made, sound):
            made.kernel(100, 200, launched=(90, 95))
            made.kernel(700, 800, launched=(690, 695) if not sound else (200, 700))

        self.check("host_away", make, 490 * US, {})

    def copies(self, broken, sound):
        def make(made, is_sound):
            made.call("cudaMemcpyAsync", 10, 90)
            for begin in (100, 500):
                made.copy(begin, begin + 300, **(sound if is_sound else broken))
            made.kernel(700, 1000)
            made.kernel(400, 500)

        return make

    def test_pageable_copies(self):
        pageable, pinned = {"host": PAGEABLE}, {"host": PINNED}
        # The second copy is hidden by a kernel for 100 of its 300 us.
        for kind in (HTOD, DTOH):
            self.check("pageable_copies", self.copies({**pageable, "kind": kind}, {**pinned, "kind": kind}),
                       500 * US, {"unhidden_copies": 500 * US})  # fmt: skip

    def test_blocking_copies(self):
        self.check("blocking_copies", self.copies({"asynchronous": False}, {}), 500 * US,
                   {"unhidden_copies": 500 * US})  # fmt: skip

    def test_unhidden_copies(self):
        def make(made, sound):
            self.copies({}, {})(made, sound)
            if sound:
                made.kernel(100, 1000)

        self.check("unhidden_copies", make, 500 * US, {})

    def test_small_copies(self):
        def make(made, sound):
            made.call("cudaMemcpyAsync", 10, 90)
            made.copy(100, 110, size=1_000_000)  # 100 bytes per ns
            for i in range(1000 if sound else 1001):
                made.copy(110 + 2 * i, 112 + 2 * i, size=1000)

        # All copies are exposed; of the time that is left, unhidden_copies has less than 1 %.
        self.check("small_copies", make, 1001 * (2 * US - 10), {"unhidden_copies": 2010 * US})

    def test_memory_sets(self):
        def make(made, sound):
            made.call("cudaMemcpyAsync", 10, 90)
            for i in range(1000 if sound else 1001):
                made.set(100 + i, 101 + i)

        self.check("memory_sets", make, 1001 * US, {})

    def test_exposed_communication(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            made.kernel(100, 200, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)")
            made.kernel(*((100, 200) if sound else (150, 180)))

        self.check("exposed_communication", make, 70 * US, {})

    def processors(self, made):
        return made.database.execute(f"SELECT numMultiprocessors FROM {KIND}DEVICE").fetchone()[0]

    def test_small_grids(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            has = self.processors(made)
            made.kernel(100, 100 + has, gridX=has if sound else has // 4, gridY=1)

        self.assertEqual(self.processors(self.made()), 132)
        self.check("small_grids", make, 99 * US, {})

    def test_low_occupancy(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            made.kernel(100, 200, registersPerThread=16 if sound else 255)

        # Of 64 warps the registers suffice for one block of 8.
        self.check("low_occupancy", make, round(100 * US * 7 / 8), {})

    def test_spills(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            made.kernel(100, 200, localMemoryPerThread=0 if sound else 64)
            made.kernel(200, 300)

        self.check("spills", make, 100 * US, {})

    def test_no_part_counts_twice(self):
        made = self.made()
        made.call("cudaMemcpyAsync", 10, 90)
        for i in range(1001):
            made.copy(100 + 2 * i, 102 + 2 * i, size=1000, host=PAGEABLE)
        made.copy(2102, 2112, size=1_000_000, host=PAGEABLE)
        path = made.finish()
        document = self.findings(path, "--min", "0")
        self.assertEqual([(each["rule"], each["at_most_ns"]) for each in document["findings"]],
                         [("pageable_copies", 2012 * US)])  # fmt: skip
        self.check_sql(path, document)

    def simulated(self, path):
        document = self.findings(path, "--min", "0")
        self.check_simulated(document)
        return {each["rule"]: (each["at_most_ns"] // US, each["simulated_ns"] // US)
                for each in document["findings"] if each["simulated_ns"] is not None}  # fmt: skip

    def test_what_is_simulated(self):
        """Of the bound, what the schedule saves when it runs again with that mended."""
        made = self.made()
        self.in_a_gap("cudaMalloc", "runtime")(made, False)
        self.assertEqual(self.simulated(made.finish()),
                         {"allocations": (50, 50), "host_away": (5, 5)})  # fmt: skip
        # After each kernel the host is late by 3 us of the wait and 17 us until the next is launched.
        # Without the waits it is there in time.
        made = self.made()
        for begin in range(100, 700, 120):
            made.kernel(begin + 10, begin + 110, launched=(begin, begin + 5))
            made.wait(begin + 6, begin + 113)
        self.assertEqual(self.simulated(made.finish()), {"blocking_waits": (80, 80)})
        # Nothing else is in the way of launches that are too slow.
        made = self.made()
        for begin in range(100, 400, 30):
            made.kernel(begin, begin + 10, launched=(begin - 10, begin - 5))
        self.assertEqual(self.simulated(made.finish()), {"launch_bound": (180, 180)})
        # Copies to the device that are in the way of kernels that do not need them.
        made = self.made()
        for i in range(3):
            made.copy(30 + 300 * i, 130 + 300 * i, launched=(10 + 6 * i, 12 + 6 * i))
            made.kernel(130 + 300 * i, 330 + 300 * i, launched=(13 + 6 * i, 15 + 6 * i))
        path = made.finish()
        self.assertEqual(self.simulated(path), {"unhidden_copies": (300, 200)})
        self.assertIn("; simulated 200.00us; confidence", gpuprof("findings", path).stdout)
        self.assertIn("; simulated 200.00us; confidence",
                      gpuprof("findings", path, "--markdown").stdout)  # fmt: skip

    def test_all_together(self):
        """Two that help only where the other does not: together they save the sum, and not more."""
        made = self.made()
        self.in_a_gap("cudaMalloc", "runtime")(made, False)
        made.kernel(700, 800, launched=(690, 695), localMemoryPerThread=64)
        path = made.finish()
        document = self.findings(path, "--min", "0")
        self.check_simulated(document)
        (together,) = document["together"]
        self.assertEqual((together["findings"], together["simulated_findings"]), (3, 2))
        self.assertEqual(together["simulated_ns"], (50 + 5 + 290) * US)
        words = "together: at most 445.00us; simulated 345.00us with 2 of the 3 findings."
        self.assertIn(words, " ".join(gpuprof("findings", path).stdout.split()))
        self.assertIn(words, gpuprof("findings", path, "--markdown").stdout)

    def test_every_rule_has_such_a_test(self):
        rules = {path.stem for path in (SOURCE / "libprof/conclude/findings/rules").glob("*.cpp")}
        methods = {name.removeprefix("test_") for name in dir(self)}
        self.assertEqual(rules - methods, set())


class Profiles(FindingsTest):
    def test_all_captures(self):
        chance = random.Random(33)
        for capture in CAPTURES:
            path = self.replayed(capture)
            rows = self.account(path)
            length = sum(row["duration_ns"] for row in rows if row["device_id"] == 0)
            windows = [()]
            for _ in range(4 if length else 0):
                begin, end = sorted(chance.sample(range(length), 2))
                windows.append(("--from", f"{begin}ns", "--to", f"{end}ns"))
            for window in windows:
                with self.subTest(capture, window=window):
                    document = self.findings(path, *window, "--min", "0")
                    self.check_sql(path, document, *window)
                    self.check_sums(path, document)
                    Rules.check_simulated(self, document)

    def check_sums(self, path, document):
        if not document["devices"]:
            return
        begin, end = (document["window"][f"relative_{edge}_ns"] for edge in ("begin", "end"))
        rows = self.account(path, "--from", f"{begin}ns", "--to", f"{end}ns")
        with contextlib.closing(sqlite3.connect(path)) as database:
            names = {name: value for value, name in database.execute(
                "SELECT value, name FROM ENUM_NAME WHERE enum = 'CUpti_ActivityMemcpyKind'")}  # fmt: skip
        left = collections.Counter()
        for row in rows:
            part = f"copy {names[row['cause']]}" if row["class"] == "copy" else row["class"]
            left[row["device_id"], part] += row["duration_ns"]
        for device in document["devices"]:
            mine = {part: ns for (each, part), ns in left.items() if each == device["device_id"]}
            self.assertEqual(device["time_ns"], sum(mine.values()) - mine.get("before", 0) -
                             mine.get("after", 0))  # fmt: skip
        for finding in document["findings"]:
            self.assertEqual(finding["at_most_ns"],
                             sum(draw["duration_ns"] for draw in finding["draws"]))  # fmt: skip
            for draw in finding["draws"]:
                left[finding["device_id"], draw["part"]] -= draw["duration_ns"]
        self.assertGreaterEqual(min(left.values(), default=0), 0)

    def test_text(self):
        path = self.replayed("torch_step")
        text = gpuprof("findings", path).stdout
        document = self.findings(path)
        self.assertRegex(text, r"^NVIDIA H200 \(0\) is hardly used: of the 20\d")
        self.assertIn("2 steps are judged; --from 0 judges the whole run.", text)
        self.assertIn("There are only 2 steps.", text)
        numbered = re.findall(r"(?m)^(\d+)\. (.*)$", text)
        self.assertEqual([title for _, title in numbered],
                         [finding["title"] for finding in document["findings"]])  # fmt: skip
        self.assertEqual(text.count("for each of 2 steps"), len(numbered))
        for finding in document["findings"]:
            self.assertIn(f"--explain {finding['rule']}\n", text)
            self.assertEqual(finding["at_most_ns_per_step"], finding["at_most_ns"] // 2)
        shares = [finding["share"] for finding in document["findings"]]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertGreaterEqual(shares[-1], 0.01)
        for line in text.splitlines():
            if "--explain" not in line:
                self.assertLessEqual(len(line), 100, line)
        few = gpuprof("findings", path, "--min", "50%").stdout
        self.assertIn(" of less than 50.00% ", few)
        self.assertNotIn("\n2. ", few)

    def test_steps(self):
        """Without a window the steps are judged, without the first of three or more."""
        made = Made(self.replayed("vector_add"), self.folder)
        for step in range(5):
            begin = 1000 * step + 100
            made.kernel(begin + 100, begin + 200, launched=(begin + 90, begin + 95))
            made.call("cudaMalloc", begin + 205, begin + (905 if step == 0 else 255))
            made.kernel(begin + 910, begin + 950, launched=(begin + 906, begin + 908))
            made.step(begin, begin + 960, f"step {step}")
        path = made.finish()
        document = self.findings(path)
        self.assertEqual(document["steps"], 3)
        self.assertEqual(document["window"], {"relative_begin_ns": 1100 * US,
                                              "relative_end_ns": 4100 * US, "of_steps": True})  # fmt: skip
        self.assertEqual(document["doubts"], [])
        found = {each["rule"]: each for each in document["findings"]}
        self.assertEqual(found["allocations"]["at_most_ns"], 3 * 50 * US)
        self.assertEqual(found["allocations"]["at_most_ns_per_step"], 50 * US)
        self.check_sql(path, document)
        text = gpuprof("findings", path).stdout
        self.assertIn("3 steps are judged, without the first; --from 0 judges the whole run.", text)
        whole = self.findings(path, "--from", "0")
        (malloc,) = [each for each in whole["findings"] if each["rule"] == "allocations"]
        self.assertEqual(malloc["at_most_ns"], (700 + 4 * 50) * US)
        self.assertEqual((whole["steps"], whole["window"]["of_steps"]), (5, False))
        one = gpuprof("findings", path, "--nvtx", "step 2").stdout
        self.assertIn("--from 'nvtx:step 2' --to 'nvtx:step 2' --explain allocations\n", one)
        self.assertIn("There is only 1 step.", one)

    def test_steps_that_have_no_names(self):
        """They are what the launches repeat; where these repeat nothing, the run is judged."""
        chance = random.Random(3)
        for repeats in (True, False):
            made = Made(self.replayed("vector_add"), self.folder)
            names = [made.string(f"kernel_{i}") for i in range(12)]
            for step in range(9):
                its = names if repeats else chance.choices(names, k=12)
                # The first two steps take longer.
                wait = 400 if step == 0 else 90 if step == 1 else 0
                for i, name in enumerate(its):
                    begin = 500 + 1000 * step + 20 * i + (wait if i > 6 else 0)
                    made.kernel(begin, begin + 5, launched=(begin - 8, begin - 4))
                    made.database.execute(f"UPDATE {KIND}CONCURRENT_KERNEL SET name = ?1 WHERE _id_ = "
                                          f"(SELECT max(_id_) FROM {KIND}CONCURRENT_KERNEL)", (name,))  # fmt: skip
            path = made.finish()
            with contextlib.closing(sqlite3.connect(path)) as database:
                steps = database.execute("SELECT name, start - (SELECT value FROM RUN WHERE key = 'zero_ns'), kernels, "
                                         "gpu_busy_ms FROM steps ORDER BY start").fetchall()  # fmt: skip
            document = self.findings(path)
            if not repeats:
                self.assertEqual((steps, document["window"]["of_steps"]), ([], False))
                continue
            self.assertEqual(steps, [("period of 12 launches, 100.0 % alike",
                                      (500 + 1000 * step) * US, 12, 0.06) for step in range(8)])  # fmt: skip
            self.assertEqual((document["window"], document["steps"]),
                             ({"relative_begin_ns": 1500 * US, "relative_end_ns": 7500 * US,
                               "of_steps": True}, 6))  # fmt: skip

    def test_markdown(self):
        text = gpuprof("findings", self.replayed("torch_step"), "--markdown").stdout
        document = self.findings(self.replayed("torch_step"))
        titles = re.findall(r"(?m)^### \d+\. (.*)$", text)
        self.assertEqual(titles, [finding["title"] for finding in document["findings"]])
        self.assertIn("([more](https://", text)

    def packet(self, path, *options):
        ran = gpuprof("findings", path, "--packet", *options)
        self.assertIn(ran.returncode, (0, 20), ran.stderr)
        self.assertLessEqual(len(ran.stdout.encode()), 4096)
        self.assertTrue(ran.stdout.isascii())
        return json.loads(ran.stdout)

    def test_packet(self):
        for capture in CAPTURES:
            with self.subTest(capture):
                path = self.replayed(capture)
                packet, document = self.packet(path), self.findings(path)
                self.assertEqual(packet["version"], 1)
                self.assertEqual([each["rule"] for each in packet["findings"]],
                                 [each["rule"] for each in document["findings"]][:3])  # fmt: skip
                self.assertEqual(packet["all_findings"], len(document["findings"]))
                self.assertEqual(packet["doubts"], document["doubts"])
                for short, finding in zip(packet["findings"], document["findings"]):
                    for name in ("title", "at_most_ns", "simulated_ns", "share", "confidence"):
                        self.assertEqual(short[name], finding[name])
                if not document["devices"]:
                    self.assertIsNone(packet["device"])
                    continue
                device = packet["device"]
                self.assertEqual(sum(each["duration_ns"] for each in device["account"]),
                                 device["time_ns"])  # fmt: skip
                self.assertIn(packet["verdict"], " ".join(gpuprof("findings", path).stdout.split()))
        path = self.replayed("torch_step")
        packet = self.packet(path)
        self.assertEqual(packet["next"], f"gpuprof findings {path} --explain module_loading")
        self.assertEqual(packet["findings"][0]["fix"],
                         "Run one step before what is measured or served.")  # fmt: skip
        few = self.packet(path, "--min", "50%", "--from", "0")
        self.assertEqual(few["next"], f"gpuprof findings {path} --from 0 --explain host_away")
        self.assertEqual((few["window"]["steps"], few["all_findings"]), (None, 1))

    def test_rules_are_listed_and_described(self):
        listed = gpuprof("findings").stdout
        document = self.findings(self.replayed("vector_add"))
        for rule in document["rules"]:
            self.assertRegex(listed, rf"(?m)^{rule['rule']} +\S")
            page = gpuprof("findings", "--explain", rule["rule"])
            self.assertEqual(page.returncode, 0)
            for word in ("Counts:", "Saves:", "Confidence:", "Fix:", "https://", "Mistaken:"):
                self.assertIn(word, page.stdout)
        files = {path.stem for path in (SOURCE / "libprof/conclude/findings/rules").glob("*.cpp")}
        self.assertEqual(files, {rule["rule"] for rule in document["rules"]})
        docs = (SOURCE / "docs/findings.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"(?m)^\| `(\w+)` \| (.*?) \|", docs),
                         re.findall(r"(?m)^(\w+)  +(.*)$", listed))  # fmt: skip
        for rule, share, confidence in re.findall(
            r"(?m)^\| `(\w+)` .* \| (\d+) % \| (\w+) \|$", docs
        ):
            page = gpuprof("findings", "--explain", rule).stdout
            self.assertIn(f"\nFinding:    From {share}.00% of the time", page)
            self.assertIn(f"\nConfidence: {confidence}. ", page)

    def test_rules_without_their_records_abstain(self):
        """A file of nvprof has no names of functions and nothing that gpuprof computes."""
        old = self.folder / "old.sqlite"
        case = json.loads((SOURCE / "tests/golden/nvprof/basic.json").read_text(encoding="utf-8"))
        with contextlib.closing(sqlite3.connect(old)) as database:
            database.executescript(case["database_sql"])
        document = self.findings(old)
        abstaining = {rule["rule"] for rule in document["rules"] if rule["abstains"]}
        self.assertEqual(abstaining, {"allocations", "module_loading", "blocking_waits",
                                      "launch_bound", "host_away", "low_occupancy"})  # fmt: skip
        self.assertNotEqual(document["findings"], [])
        self.check_sql(old, document)
        text = gpuprof("findings", old).stdout
        self.assertIn("\nNot judged:\n  allocations, module_loading: ", text)

    def test_without_calls(self):
        made = Made(self.replayed("vector_add"), self.folder)
        made.kernel(100, 200)
        made.kernel(700, 800)
        path = made.finish()
        document = self.findings(path)
        self.assertEqual(document["findings"], [])
        reasons = {rule["rule"]: rule["abstains"] for rule in document["rules"]}
        for rule in ("host_away", "launch_bound", "blocking_waits", "allocations"):
            self.assertIn("Calls of CUDA are not in the file", reasons[rule])
        text = gpuprof("findings", path).stdout
        self.assertIn("No findings: no rule found much that could be saved.", text)

    def test_before_the_run_is_over(self):
        path = self.folder / "growing.sqlite"
        shutil.copyfile(self.replayed("vector_add"), path)
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            for table in ("DEVICE_TIME", "GPU_GAP", "LAUNCH_SHAPE"):
                database.execute(f"DELETE FROM {table}")
        document = self.findings(path)
        reasons = {rule["rule"]: rule["abstains"] for rule in document["rules"]}
        for rule in ("host_away", "launch_bound", "blocking_waits", "low_occupancy"):
            self.assertIn("when a run is over", reasons[rule])
        self.assertIn("pageable_copies", {finding["rule"] for finding in document["findings"]})

    def test_losses_lower_the_confidence(self):
        made = Made(self.replayed("vector_add"), self.folder)
        Rules.in_a_gap(self, "cudaMalloc", "runtime")(made, False)
        path = made.finish()
        (before,) = [
            each for each in self.findings(path)["findings"] if each["rule"] == "allocations"
        ]
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE STATISTIC SET value = 3, severity = 'data_loss' "
                             "WHERE name = (SELECT min(name) FROM STATISTIC)")  # fmt: skip
        document = self.findings(path)
        (after,) = [each for each in document["findings"] if each["rule"] == "allocations"]
        self.assertEqual((before["confidence"], after["confidence"]), ("high", "medium"))
        self.assertEqual(len(document["doubts"]), 1)

    def test_a_run_without_work(self):
        empty = self.folder / "empty.sqlite"
        subprocess.run([GPUPROF, "-q", "-f", "-o", empty, "true"], check=True)
        for options in ((), ("--markdown",)):
            ran = gpuprof("findings", empty, *options)
            self.assertEqual((ran.returncode, ran.stdout),
                             (0, "No GPU work has times there: there is nothing to find.\n"))  # fmt: skip
        document = self.findings(empty)
        self.assertEqual((document["devices"], document["findings"]), ([], []))

    def test_wrong_words(self):
        path = self.replayed("vector_add")
        for words in (["--json", "--markdown"], ["--json", "--packet"],
                      ["--packet", "--explain", "spills"], ["--min", "x"], ["--min", "101%"], ["--min", "nan"],
                      ["--explain", "spils"], ["--explain", "x" * 99], ["--from", "x"],
                      ["--nvtx", "nothing has this name"]):  # fmt: skip
            ran = gpuprof("findings", path, *words)
            self.assertNotEqual(ran.returncode, 0, words)
            self.assertEqual(ran.stdout, "")
            self.assertIn("gpuprof: ", ran.stderr)
        self.assertIn(
            "did you mean spills?", gpuprof("findings", path, "--explain", "spils").stderr
        )


@asan
class ForgedProfiles(FindingsTest):
    NAMES = (
        "\x1b[2J\x1b]0;x\x07",
        "`rm -rf`](javascript:x) <b>|",
        "'); DROP TABLE RUN; --",
        "\u202e\x00x",
    )

    def check(self, path):
        for options in ((), ("--markdown",), ("--json",), ("--explain", "spills"),
                        ("--explain", "pageable_copies"), ("--explain", "blocking_waits"),
                        ("--explain", "allocations", "--json")):  # fmt: skip
            ran = gpuprof("findings", path, "--min", "0", *options)
            self.assertIn(ran.returncode, (0, 20), ran.stderr)
            self.assertNotRegex(ran.stdout + ran.stderr, r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
            if "--json" in options:
                json.loads(ran.stdout)
        document = self.findings(path, "--min", "0")
        for finding in document["findings"]:
            time = next(each["time_ns"] for each in document["devices"]
                        if each["device_id"] == finding["device_id"])  # fmt: skip
            self.assertLessEqual(finding["at_most_ns"], time)
            self.assertGreater(finding["at_most_ns"], 0)
        return document

    def changed(self, capture, sql, *values):
        path = self.folder / "changed.sqlite"
        shutil.copyfile(self.replayed(capture), path)
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            for statement in sql.split(";"):
                database.execute(statement, values if "?" in statement else ())
        return path

    def test_names(self):
        for name in self.NAMES:
            with self.subTest(name):
                made = Made(self.replayed("vector_add"), self.folder)
                made.kernel(100, 200, launched=(90, 95), localMemoryPerThread=9)
                made.call("cudaMalloc", 205, 285)
                made.kernel(290, 400, launched=(286, 288), gridX=1)
                path = made.finish()
                with contextlib.closing(sqlite3.connect(path)) as database, database:
                    for table, column in (("StringTable", "value"), ("StringTable", "demangled"),
                                          ("StringTable", "short"), ("ENUM_NAME", "name")):  # fmt: skip
                        database.execute(f"UPDATE {table} SET {column} = ?", (name,))
                    database.execute("UPDATE API_NAME SET name = 'cudaMalloc' || ?", (name,))
                document = self.check(path)
                self.assertLessEqual({"spills", "small_grids", "allocations"},
                                     {finding["rule"] for finding in document["findings"]})  # fmt: skip

    def test_packet_of_long_names(self):
        for name in ("n" * 100_000, "\x1b" * 100_000, "\u202e" * 100_000, "\\" * 100_000):
            with self.subTest(name[:1]):
                made = Made(self.replayed("vector_add"), self.folder)
                made.kernel(100, 200, launched=(90, 95))
                made.call("cudaMalloc", 205, 285)
                made.kernel(290, 400, launched=(286, 288), localMemoryPerThread=9)
                made.kernel(500, 600, launched=(486, 488), gridX=1)
                for i in range(20):
                    made.copy(600 + i, 601 + i, kind=30 + i)
                path = made.finish()
                with contextlib.closing(sqlite3.connect(path)) as database, database:
                    for column in ("value", "demangled", "short"):
                        database.execute(f"UPDATE StringTable SET {column} = ?", (name,))
                    database.execute("UPDATE API_NAME SET name = 'cudaMalloc' || ?", (name,))
                    # No two parts of the account are alike.
                    database.execute(f"UPDATE {KIND}MEMCPY SET copyKind = 1000000000 + _id_")
                longer = self.folder / ("f" * 200 + ".sqlite")
                path.rename(longer)
                packet = Profiles.packet(self, longer)
                self.assertEqual(len(packet["findings"]), 3)
                self.assertNotIn("f" * 200, packet["next"])
                self.assertEqual(sum(each["duration_ns"] for each in packet["device"]["account"]),
                                 packet["device"]["time_ns"])  # fmt: skip

    def test_numbers(self):
        values = (
            "NULL",
            "'a text'",
            "x'00ff'",
            "-1",
            "0.5",
            "1e300",
            str(2**63 - 1),
            str(-(2**63)),
            "''",
        )
        columns = {
            "CONCURRENT_KERNEL": ("start", "[end]", "gridX", "localMemoryPerThread", "name", "deviceId",
                                  "correlationId"),
            "MEMCPY": ("start", "[end]", "bytes", "copyKind", "srcKind", "flags", "deviceId"),
            "SYNCHRONIZATION": ("start", "[end]", "correlationId", "type"),
            "RUNTIME": ("start", "[end]", "cbid", "correlationId", "processId"),
            "DEVICE": ("numMultiprocessors", "id"),
        }  # fmt: skip
        own = {"GPU_GAP": ("start", "stop", "noCallTime", "deviceId", "correlationId", "nameBehind"),
               "LAUNCH_SHAPE": ("occupancy", "waves"), "STEP": ("start", "processId"),
               "KERNEL_TIME": ("count", "timed")}  # fmt: skip
        all_columns = [(KIND + table, name) for table, names in columns.items() for name in names]
        all_columns += [(table, name) for table, names in own.items() for name in names]
        chance = random.Random(34)
        for table, column in all_columns:
            for value in chance.sample(values, 2):
                with self.subTest(table, column=column, value=value):
                    path = self.changed("torch_step", f"UPDATE {table} SET {column} = {value} "
                                                      "WHERE rowid % 2" if table not in
                                        ("LAUNCH_SHAPE", "KERNEL_TIME")
                                        else f"UPDATE {table} SET {column} = {value}")  # fmt: skip
                    document = self.findings(path, "--min", "0")
                    for device in document["devices"]:
                        taken = sum(finding["at_most_ns"] for finding in document["findings"]
                                    if finding["device_id"] == device["device_id"])  # fmt: skip
                        self.assertLessEqual(taken, device["time_ns"])

    def test_other_tables_in_their_place(self):
        for table in ("GPU_GAP", "API_NAME", "LAUNCH_SHAPE", "ENUM_NAME", "STEP", "KERNEL_TIME",
                      KIND + "MEMCPY", KIND + "DEVICE", "losses", "blocking_calls", "api_calls"):  # fmt: skip
            for other in (f"CREATE TABLE {table}(other)",
                          f"CREATE VIEW {table} AS SELECT randomblob(9) AS other",
                          f"CREATE TABLE {table}(other); INSERT INTO {table} VALUES('x')"):  # fmt: skip
                with self.subTest(other):
                    kind = "VIEW" if table[0].islower() else "TABLE"
                    path = self.changed("torch_step", f"DROP {kind} {table};{other}")
                    ran = gpuprof("findings", path)
                    self.assertGreaterEqual(ran.returncode, 0)
                    self.assertIn(ran.returncode, (0, 20), ran.stderr)


if __name__ == "__main__":
    unittest.main()
