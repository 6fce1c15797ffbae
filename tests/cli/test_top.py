"""gpuprof top: sums of a finished and of a growing file."""

import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import unittest

from growing import KERNELS, Growing

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="top-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.profile = cls.folder / "run.sqlite"
        capture = SOURCE / "tests/captures/streams_graph.gpcap"
        subprocess.run([GPUPROF, "replay", "-q", "-o", cls.profile, capture], check=True)

    def run_top(self, *words):
        return subprocess.run([GPUPROF, "top", *map(str, words)], capture_output=True, text=True,
                              timeout=300, check=False)  # fmt: skip

    def hang(self, *operations, seen=False):
        """A file whose two ranks wait in these operations; `operations`: rank, function, sequence, count.
        `seen`: rank 1's thread was seen from outside, at another line."""
        path = self.folder / "hang.sqlite"
        shutil.copy(self.profile, path)
        with sqlite3.connect(path) as database:
            [[kernel, last]] = database.execute(
                "SELECT max(correlationId), max(end) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL")  # fmt: skip
            database.execute(
                "CREATE TABLE NCCL_OPERATION(_id_ INTEGER PRIMARY KEY, processId, threadId, communicator,"
                " rank, ranks, function, sequence, count, time, correlationId, graphNode)")  # fmt: skip
            text = {}
            for function in ("AllReduce", "AllGather"):
                text[function] = database.execute(
                    "INSERT INTO StringTable(value) VALUES(?)", (function,)).lastrowid  # fmt: skip
            for place, (rank, function, sequence, count) in enumerate(operations):
                database.execute(
                    "INSERT INTO NCCL_OPERATION(processId, threadId, communicator, rank, ranks, function,"
                    " sequence, count, time, correlationId) VALUES(?, ?, 7, ?, 2, ?, ?, ?, ?, ?)",
                    (100 + rank, 200 + rank, rank, text[function], sequence, count, last,
                     10**6 + place if sequence > 3 else kernel))  # fmt: skip
            for rank in (0, 1):
                database.execute("INSERT INTO CALL_STACK(correlationId, stack, processId) VALUES(0, 5, ?)",
                                 (100 + rank,))  # fmt: skip
                for position, (file, line) in enumerate((
                    ("/usr/lib/python3.12/site-packages/torch/distributed.py", 9),
                    ("/home/me/train.py", 12 + rank),
                )):  # fmt: skip
                    database.execute(
                        "INSERT INTO STACK_FRAME(frame, module, function, line, processId) VALUES(?, ?, 'f', ?, ?)",
                        (position, file, line, 100 + rank))  # fmt: skip
                    database.execute(
                        "INSERT INTO STACK_ENTRY(stack, position, frame, processId) VALUES(5, ?, ?, ?)",
                        (position, position, 100 + rank))  # fmt: skip
            if seen:
                database.execute("CREATE TABLE HOST_SAMPLE(_id_ INTEGER PRIMARY KEY, ofProcess, threadId, stack,"
                                 " processId)")  # fmt: skip
                database.execute(
                    "INSERT INTO HOST_SAMPLE VALUES(1, 101, 201, 6, 101), (2, 101, 201, 0, 101)"
                )
                database.execute("INSERT INTO STACK_FRAME(frame, module, function, line, processId)"
                                 " VALUES(7, '/home/me/loader.py', 'read', 88, 101)")  # fmt: skip
                database.execute("INSERT INTO STACK_ENTRY(stack, position, frame, processId) VALUES(6, 0, 7, 101)")  # fmt: skip
            database.execute("DELETE FROM CLOCK")
            database.execute("INSERT INTO CLOCK(processId, moment, realtime, cupti) VALUES(1, 'last', 5, ?)",
                             (last,))  # fmt: skip
            database.execute("UPDATE RUN SET value = 41000000005 WHERE key = 't1_realtime_ns'")
        database.close()
        return " ".join(self.run_top(path).stdout.split())

    def test_operations_that_do_not_end(self):
        entered = "has not ended for 41 s. Entered by rank 0 (process 100, train.py:12 f)"
        skipped = self.hang((0, "AllReduce", 3, 8), (1, "AllReduce", 3, 8), (0, "AllReduce", 4, 8))
        self.assertIn(f"AllReduce 4 of communicator 0000000000000007, 2 ranks, {entered}. Rank 1 (process 101, train.py:13 f) has not:"
                      " its last is AllReduce 3.", skipped)  # fmt: skip
        elsewhere = self.hang((0, "AllReduce", 4, 8), (1, "AllReduce", 3, 8), seen=True)
        self.assertIn("Rank 1 (process 101, loader.py:88 read) has not", elsewhere)
        # A host that runs ahead waits in none of the last operations.
        ahead = self.hang(
            *((rank, "AllReduce", number, 8) for rank in (0, 1) for number in (3, 4, 5))
        )
        self.assertIn(
            f"AllReduce 4 of communicator 0000000000000007, 2 ranks, {entered}, rank 1 (", ahead
        )
        count = self.hang((0, "AllReduce", 4, 8), (1, "AllReduce", 4, 9))
        self.assertIn("entered it with 9 elements, not 8.", count)
        other = self.hang((0, "AllReduce", 4, 8), (1, "AllGather", 4, 8))
        self.assertIn(
            "Rank 1 (process 101, train.py:13 f) has not: its last is AllGather 4.", other
        )
        alone = self.hang((0, "AllReduce", 4, 8))
        self.assertIn(f"{entered}. One rank is not in this file.", alone)
        self.assertNotIn("has not ended", self.hang((0, "AllReduce", 3, 8), (1, "AllReduce", 3, 8)))

    def test_a_graph_that_does_not_end(self):
        """Its last launch lacks the last four of ten kernels."""
        path = self.folder / "graph.sqlite"
        shutil.copy(self.profile, path)
        with sqlite3.connect(path) as database:
            [[launch, process]] = database.execute(
                f"SELECT correlationId, processId FROM {KERNELS} ORDER BY start DESC LIMIT 1")  # fmt: skip
            its = database.execute(
                f"SELECT k._id_, start, short FROM {KERNELS} AS k JOIN StringTable AS s ON s._id_ = k.name"
                " WHERE correlationId = ? ORDER BY start", (launch,)).fetchall()  # fmt: skip
            for table in (KERNELS, "CUPTI_ACTIVITY_KIND_MEMCPY", "CUPTI_ACTIVITY_KIND_MEMSET"):
                database.execute(f"DELETE FROM {table} WHERE start >= ?", (its[6][1],))
            database.execute("DELETE FROM CLOCK")
            database.execute("INSERT INTO CLOCK(processId, moment, realtime, cupti) VALUES(?, 'last', 5, ?)",
                             (process, its[6][1] + 41 * 10**9))  # fmt: skip
            database.execute("UPDATE RUN SET value = 5 WHERE key = 't1_realtime_ns'")
        database.close()
        said = " ".join(self.run_top(path).stdout.split())
        self.assertIn("No GPU work has ended for 41 s, and a launch waits, cudaGraphLaunch, 41 s old, of which 6"
                      f" of 10 kernels have ended, and next is {its[6][2]}", said)  # fmt: skip
        self.assertNotIn("No GPU work", self.run_top(path, "--hang-after", "50s").stdout)
        self.assertNotIn("No GPU work", self.run_top(self.profile).stdout)

    def test_finished_run(self):
        ran = self.run_top(self.profile, "--rows", 3)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        database = sqlite3.connect(self.profile)
        kernels, calls = database.execute(
            "SELECT (SELECT count(*) FROM kernels WHERE duration > 0), (SELECT count(*) FROM api_calls)"
        ).fetchone()
        lines = ran.stdout.splitlines()
        self.assertEqual(lines[0], str(self.profile))
        self.assertTrue(lines[1].startswith(f"{kernels} kernels, "), lines[1])
        self.assertIn(f" {calls} API calls in ", lines[1])
        names = database.execute(
            "SELECT type, name, count(*), sum(duration) FROM gpu_activities WHERE duration > 0"
            " GROUP BY 1, 2 ORDER BY 4 DESC"
        ).fetchall()
        head = next(
            i
            for i, line in enumerate(lines)
            if line.split() == ["time", "share", "count", "per", "s", "name"]
        )
        self.assertEqual(int(lines[head + 1].split()[2]), names[0][2])
        self.assertEqual(sum(line.count("%") for line in lines[head:]), min(3, len(names)))
        # What the GPU did, in classes that add up to all the time from its first work to its last.
        [span, idle] = database.execute(
            'SELECT max("end") - min(start), (SELECT sum(duration_ms) FROM account'
            " WHERE class IN ('launch', 'queued', 'call', 'no call', 'short gap', 'unknown')) FROM gpu_activities"
        ).fetchone()
        shares = re.findall(r"([a-z ]+) ([0-9.]+)%", " ".join(lines[3 : head - 1]))
        self.assertAlmostEqual(sum(float(share) for _, share in shares), 100, delta=0.05)
        self.assertEqual(shares[-1], (" idle", f"{100 * idle * 1e6 / span:.2f}"))
        database.close()

    def test_growing_run(self):
        growing = self.folder / "growing.db"
        file = Growing(self.profile, growing)
        writer = file.writer
        [columns] = writer.execute(
            f"SELECT group_concat('[' || name || ']') FROM pragma_table_info('{KERNELS}') WHERE name <> '_id_'"
        ).fetchone()
        top = subprocess.Popen([GPUPROF, "top", growing, "--every", "0.05"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
        try:
            for factor in (1, 2, 4):
                count = f"{self.kernels(writer)} kernels, "
                line = top.stdout.readline()
                while line and not line.startswith(count):
                    line = top.stdout.readline()
                self.assertTrue(line, f"ended before {factor}")
                writer.execute(f"INSERT INTO {KERNELS}({columns}) SELECT {columns} FROM {KERNELS}")
            file.finish()
            rest, errors = top.communicate(timeout=300)
            self.assertEqual((top.returncode, errors), (0, ""))
            lines = rest.splitlines()
            self.assertEqual([line for line in lines if str(growing) in line][-1], str(growing))
            sums = [line for line in lines if " kernels, " in line]
            self.assertTrue(sums[-1].startswith(f"{self.kernels(writer)} kernels, "), sums[-1])
        finally:
            top.kill()
            top.wait()
            top.stdout.close()
            top.stderr.close()
        writer.close()

    def kernels(self, database):
        return database.execute("SELECT count(*) FROM kernels WHERE duration > 0").fetchone()[0]

    def test_ends(self):
        growing = self.folder / "ends.db"
        writer = Growing(self.profile, growing).writer
        self.assertEqual(
            self.run_top(growing, "--times", 2, "--every", 0.05).stdout.count(": recording"), 2
        )
        top = subprocess.Popen([GPUPROF, "top", growing], stdout=subprocess.PIPE, text=True)
        top.stdout.readline()
        top.send_signal(signal.SIGINT)
        top.communicate(timeout=300)
        self.assertEqual(top.returncode, 0)
        writer.close()
        for words in (["--every", "0"], ["--times", "x"], ["--rows", "-1"]):
            self.assertEqual(self.run_top(self.profile, *words).returncode, 5)
        self.assertNotEqual(self.run_top(self.folder / "none").returncode, 0)


if __name__ == "__main__":
    unittest.main()
