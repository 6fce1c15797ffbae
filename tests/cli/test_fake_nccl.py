"""Operations of NCCL, to which the collector is a profiler plug-in; programs/nccl.cpp of the stand-ins is NCCL."""

import collections
import contextlib
import json
import os
import re
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from builds import asan, load_tests  # noqa: F401
from fake_run import GPUPROF, PATIENCE, FakeTest
from packed import replay_packed

OPERATIONS = """
SELECT f.value, o.sequence, t.value, o.count, o.bytes, o.root, o.peer, a.value, p.value, o.channels
FROM NCCL_OPERATION AS o
JOIN StringTable AS f ON f._id_ = o.function
LEFT JOIN StringTable AS t ON t._id_ = o.dataType
LEFT JOIN StringTable AS a ON a._id_ = o.algorithm
LEFT JOIN StringTable AS p ON p._id_ = o.protocol
WHERE o.communicator = ? ORDER BY o._id_
"""
KERNELS = """
SELECT f.value, k.name
FROM NCCL_OPERATION AS o
JOIN StringTable AS f ON f._id_ = o.function
JOIN kernels AS k ON k.correlation_id = o.correlationId
WHERE o.communicator = ? AND o.graphNode IS NULL ORDER BY o._id_
"""
OF_GRAPHS = """
SELECT count(*), count(DISTINCT k._id_), min(s.value), max(s.value)
FROM NCCL_OPERATION AS o
JOIN NCCL_NODE AS n ON n.source = o.graphNode AND n.processId = o.processId
JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k ON k.graphNodeId = n.node AND k.processId = n.processId
JOIN StringTable AS s ON s._id_ = k.name
WHERE o.communicator = ?
"""


class Nccl(FakeTest):
    def check_version(self, database, version):
        communicator = 0xC0FFEE00 + version
        ring = ("RING", "LL", 4)
        said = version >= 5  # what the program called
        expected = [
            ("AllReduce", 0, "Float32", 1000, 4000, None, None, *ring),
            (
                "AllGather",
                0,
                *(("Float32", 256) if said else ("Int8", 1024)),
                1024,
                None,
                None,
                *ring,
            ),
            ("Send", 0, "Float64", 8, 64, None, 0, None, None, 2 if version > 3 else None),
            ("Recv", 0, "Float64", 8, 64, None, 0, None, None, 2 if version > 3 else None),
            ("AllReduce", 1, "Bfloat16", 10, 20, None, None, *ring),
            ("Broadcast", 0, "OfLater", 2, None, 0, None, *ring),
            ("ReduceScatter", 0, "Float16", 4, 8, None, None, *ring),
        ]
        if version == 6:
            expected.append(("AllGather", 1, "Int32", 64, 256, None, None, "CE", None, None))
        # Slots of threads arrive in any order: that of the Broadcast has another one.
        self.assertEqual(
            sorted(database.rows(OPERATIONS, communicator), key=str), sorted(expected, key=str)
        )
        self.assertEqual(
            database.rows(KERNELS, communicator),
            [("AllReduce", "ncclDevKernel"), ("AllGather", "ncclDevKernel"),
             ("Send", "ncclDevKernel_SendRecv"), ("Recv", "ncclDevKernel_SendRecv"),
             ("AllReduce", "ncclDevKernel")],
        )  # fmt: skip
        self.assertEqual(
            database.row(OF_GRAPHS, communicator), (3, 3, "ncclDevKernel", "ncclDevKernel")
        )
        self.assertEqual(
            database.rows(
                "SELECT DISTINCT rank, ranks, (SELECT value FROM StringTable AS s"
                " WHERE s._id_ = communicatorName) FROM NCCL_OPERATION WHERE communicator = ?",
                communicator,
            ),
            [(1, 2 if version > 3 else None, "pair")],
        )
        self.assertEqual(
            database.one(
                "SELECT sum(captured) FROM NCCL_OPERATION WHERE communicator = ?", communicator
            ),
            2 if said else 1,
        )

    @asan
    def test_all_versions_and_one_that_lies_and_is_killed(self):
        self.profile("nccl", check=128 + 9)
        database = self.database()
        for version in (3, 4, 5, 6):
            with self.subTest(version=version):
                self.check_version(database, version)
        lies = database.rows(
            "SELECT length(f.value), o.peer, o.bytes, o.sequence FROM NCCL_OPERATION AS o"
            " LEFT JOIN StringTable AS f ON f._id_ = o.function WHERE o.communicator = ?",
            0x11E5,
        )
        self.assertEqual(len(lies), 9)
        self.assertTrue(all((length or 0) <= 16 for length, *_ in lies), lies)

        view = """SELECT function, sequence, rank, ranks, operations, duration, bus_bandwidth, wait, count(*)
                  FROM collectives WHERE communicator = 0xc0ffee05 GROUP BY 1, 2, 3, 4, 5, 6, 7, 8"""
        self.assertEqual(
            database.rows(view),
            [("AllGather", 0, 1, 2, 1, 1000, 1.024e9, None, 1),
             ("AllReduce", 0, 1, 2, 1, 1000, 4e9, None, 1),
             ("AllReduce", 1, 1, 2, 1, 1000, 2e7, None, 1),
             ("Broadcast", 0, 1, 2, 1, None, None, None, 1),
             ("Recv", 0, 1, 2, 2, 1000, None, None, 1),
             ("ReduceScatter", 0, 1, 2, 1, 1000, 8e6, None, 3),
             ("Send", 0, 1, 2, 2, 1000, None, None, 1)],
        )  # fmt: skip
        documented = database.column(
            'SELECT "column" FROM COLUMN_DOC WHERE "table" = \'collectives\''
        )
        self.assertEqual(
            sorted(documented),
            sorted(database.column("SELECT name FROM pragma_table_info('collectives')")),
        )

        # The operations that lie may say that they were captured there, too.
        self.assertEqual(
            database.rows("SELECT short_name, substr(collective, 1, 24), sum(n.count), max(stack_id) FROM graph_nodes AS n"
                          " JOIN (SELECT DISTINCT name, short_name FROM kernels) USING(name) GROUP BY 1, 2"),
            [("gemm", None, 12, None), ("ncclDevKernel", "ReduceScatter of 8 bytes", 12, None)],
        )  # fmt: skip
        self.check_account()

    def times(self, path):
        """Of the account, by class."""
        ran = subprocess.run([GPUPROF, "account", path, "--json"], capture_output=True, text=True,
                             check=True)  # fmt: skip
        times = collections.Counter()
        for row in json.loads(ran.stdout)["tables"][0]["rows"]:
            times[row["class"]] += row["duration_ns"]
        return times

    def communicates_in_top(self, path):
        ran = subprocess.run([GPUPROF, "top", path], capture_output=True, text=True, check=True)
        return "communicating" in ran.stdout

    def check_account(self):
        """Kernels of NCCL's operations communicate, whatever their names are."""
        path = self.folder / "renamed.sqlite"
        shutil.copyfile(self.output, path)
        named = self.times(path)["communication"]
        left, in_top = [], []
        for change in (
            "UPDATE StringTable SET value = 'k', demangled = 'k', short = 'k' WHERE value GLOB 'ncclDev*'",
            "DELETE FROM NCCL_OPERATION WHERE graphNode IS NULL",
            "DELETE FROM NCCL_NODE",
        ):
            with contextlib.closing(sqlite3.connect(path)) as renamed, renamed:
                renamed.execute(change)
            left.append(self.times(path)["communication"])
            in_top.append(self.communicates_in_top(path))
        self.assertGreater(named, 0)
        self.assertEqual((left[0], left[2]), (named, 0))
        self.assertIn(left[1], range(1, named))
        self.assertEqual(in_top, [True, True, False])

    def hang(self, how, words="."):
        """What top says of such a program, once it says these words, the end of its run, and info."""
        process = self.start("nccl", how, options=("--hang-after", "500ms"))
        until = time.monotonic() + PATIENCE
        command = (GPUPROF, "top", self.output, "--times", "1", "--hang-after", "0.5s")
        said = None
        while not (said and re.search(words, said[1])):
            self.assertLess(time.monotonic(), until)
            time.sleep(0.1)
            top = subprocess.run(command, capture_output=True, text=True, check=False).stdout
            said = re.search(r"losses: none (.*\.) (The newest|time share)", " ".join(top.split()))
        os.killpg(process.pid, signal.SIGINT)
        end = process.communicate(timeout=PATIENCE)[1].decode()
        shown = {}
        for limit in ("500ms", "0"):
            shown[limit] = json.loads(subprocess.run(
                [GPUPROF, "info", "--json", "--hang-after", limit, self.output], capture_output=True,
                check=True).stdout)["stalled"]  # fmt: skip
        self.assertEqual(shown["0"], [])
        return said[1], end, " ".join(shown["500ms"])

    def test_operations_that_do_not_end(self):
        """The first of several is named."""
        words = (
            r"AllReduce 1 of communicator 00000000c0ffee06 \(pair\), 2 ranks, has not ended for \d+ s\. "
            r"Entered by rank 1 \(process \d+(, has ended)?\)\. One rank is not in this file\."
        )
        for text in self.hang("operations", words):
            self.assertRegex(text, words)

    def test_a_rank_that_leaves_one_out(self):
        """Of two GPUs. That the operation before it has ended is not known either."""
        replay_packed(GPUPROF, "ranks/nccl", "nccl", self.output)
        with contextlib.closing(sqlite3.connect(self.output)) as database, database:
            last = """SELECT o._id_ FROM NCCL_OPERATION AS o JOIN StringTable AS s ON s._id_ = o.function
                      WHERE value = 'AllReduce' AND sequence {} AND communicator = -5955119017809957483"""
            database.execute("DELETE FROM NCCL_OPERATION WHERE graphNode IS NOT NULL")
            database.execute(
                f"""UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET start = 0, end = 0 WHERE correlationId IN
                    (SELECT correlationId FROM NCCL_OPERATION WHERE _id_ IN ({last.format("IN (11, 12)")}))"""
            )
            left_out = last.format("= 12") + " AND rank = 1"
            database.execute(f"DELETE FROM NCCL_OPERATION WHERE _id_ = ({left_out})")
        shown = subprocess.run([GPUPROF, "info", "--json", "--hang-after", "1ms", self.output],
                               capture_output=True, check=True).stdout  # fmt: skip
        self.assertRegex(
            " ".join(json.loads(shown)["stalled"]),
            r"AllReduce 12 of communicator ad5b2ace0c43ad95, 2 ranks, has not ended for \d+ s\. "
            r"Entered by rank 0 \(process 698, has ended\)\. "
            r"Rank 1 \(process 699, has ended\) has not: its last is AllReduce 11\.",
        )

    def test_launches_that_do_not_end(self):
        """A launch into a capture does not count: it has no work of its own."""
        words = (
            r"No GPU work has ended for \d+ s, and 3 launches wait, the first, cudaLaunchKernel, "
            r"is \d+ s old: process \d+(, has ended)?\."
        )
        for text in self.hang("launches"):
            self.assertRegex(text, words)

    def test_a_program_that_does_nothing(self):
        top, end, info = self.hang("nothing")
        self.assertRegex(
            top, r"^No GPU work was recorded for \d+ s, and no launch waits: process \d+\.$"
        )
        self.assertNotIn("GPU work", end)
        self.assertEqual(info, "")

    def test_the_users_plugin_stays(self):
        run = self.profile("nccl", check=2, NCCL_PROFILER_PLUGIN="none")
        self.assertIn("NCCL_PROFILER_PLUGIN is none", run.stderr)
        self.assertNotIn("NCCL_OPERATION", self.database().tables())


if __name__ == "__main__":
    unittest.main()
