"""gpuprof merge: one profile of those of several processes.

A run of two processes is cut into a file for each. What is merged of these has to say the same as the run.
"""

import contextlib
import os
import pathlib
import shutil
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

from builds import asan, load_tests  # noqa: F401

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from packed import replay_packed  # noqa: E402

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
KIND = "CUPTI_ACTIVITY_KIND_"
# What each view says without the numbers of rows.
QUESTIONS = {
    "kernels": "SELECT name, start, duration, device_id, stream_id, correlation_id, process_id, range_path FROM kernels",
    "api_calls": "SELECT name, start, duration, correlation_id, thread_id, process_id FROM api_calls",
    "memcpys": "SELECT kind, bytes, start, duration, device_id, correlation_id, process_id FROM memcpys",
    "ranges": "SELECT name, domain, start, duration, kind, depth, thread_id, process_id FROM nvtx_ranges",
    "devices": "SELECT device_id, name, uuid, process_id FROM devices",
    "threads": "SELECT * FROM threads",
    "streams": "SELECT * FROM streams",
    "processes": "SELECT process_id, number, command_line, rank, world_size FROM processes",
    "account": "SELECT * FROM account",
    "gaps": "SELECT device_id, start, duration, host_call, host_call_ns FROM gpu_gaps",
    "kernel_summary": "SELECT * FROM kernel_summary",
    "losses": "SELECT name, value FROM losses",
}  # fmt: skip


def run(*words):
    return subprocess.run(list(map(str, [GPUPROF, *words])), capture_output=True, text=True, timeout=120,
                          check=False)  # fmt: skip


@contextlib.contextmanager
def opened(path):
    with contextlib.closing(sqlite3.connect(path)) as database, database:
        yield database


def rows(path, question):
    with opened(path) as database:
        return sorted(database.execute(question).fetchall(), key=repr)


def answers(path):
    return {name: rows(path, question) for name, question in QUESTIONS.items()}


def keep_process(path, process):
    with opened(path) as database:
        tables = [
            row[0]
            for row in database.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        ]
        for table in tables:
            columns = [row[1] for row in database.execute(f'PRAGMA table_info("{table}")')]
            if "processId" in columns:
                database.execute(f'DELETE FROM "{table}" WHERE processId NOT IN (0, ?)', (process,))
        # gpuprof's own statistics are in one of the files alone.
        if process == min(PROCESSES):
            database.execute("DELETE FROM STATISTIC WHERE processId = 0")
            database.execute("DELETE FROM DIAGNOSTIC WHERE processId = 0")


PROCESSES = []


class Merge(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="merge-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.whole = cls.folder / "whole.sqlite"
        assert (
            run(
                "replay", "-q", "-o", cls.whole, SOURCE / "tests/captures/two_processes.gpcap"
            ).returncode
            == 0
        )
        with opened(cls.whole) as database:
            database.execute("INSERT OR REPLACE INTO RUN VALUES('boot_id', 'one')")
            PROCESSES[:] = [
                row[0] for row in database.execute("SELECT processId FROM PROCESS ORDER BY number")
            ]
        cls.parts = []
        for process in PROCESSES:
            cls.parts.append(cls.folder / f"part{process}.sqlite")
            shutil.copyfile(cls.whole, cls.parts[-1])
            keep_process(cls.parts[-1], process)
            assert run("finish", "-q", cls.parts[-1]).returncode == 0

    def copy(self, number, name, *changes):
        """A part under another name, changed by these statements."""
        path = self.folder / name
        shutil.copyfile(self.parts[number], path)
        with opened(path) as database:
            for change in changes:
                database.execute(*([change] if isinstance(change, str) else change))
        return path

    def merged(self, *files, code=0):
        output = self.folder / f"{self.id()}.sqlite"
        ran = run("merge", *files, "-f", "-o", output)
        self.assertEqual((ran.returncode, ran.stdout), (code, ""), ran.stderr)
        return output if code == 0 else None, ran.stderr

    def test_the_parts_of_a_run_are_the_run(self):
        # The number of the second process is counted from that of the first on.
        second = self.copy(1, "second.sqlite", "UPDATE PROCESS SET number = 0", *(
            f"UPDATE {KIND}{kind} SET correlationId = correlationId & 0xffffffff"
            for kind in ("CONCURRENT_KERNEL", "RUNTIME", "DRIVER", "MEMCPY", "MEMSET", "MEMORY2", "SYNCHRONIZATION",
                         "OVERHEAD", "STREAM")))  # fmt: skip
        output, said = self.merged(self.parts[0], second)
        self.assertRegex(said, r"^gpuprof: \S+: [0-9]+ records of 2 files\n$")
        found, expected = answers(output), answers(self.whole)
        for name, expected_rows in expected.items():
            self.assertEqual(found[name], expected_rows, name)
        for words in (
            ("--print-gpu-summary",),
            ("--print-api-summary",),
            ("--print-nvtx-summary",),
        ):
            reports = [
                run("-i", path, *words).stderr.replace(str(path), "")
                for path in (output, self.whole)
            ]
            self.assertEqual(*reports)
        # As a run's own file: nothing is left to do for gpuprof finish.
        facts = dict(rows(output, "SELECT key, value FROM RUN"))
        before = dict(rows(self.whole, "SELECT key, value FROM RUN"))
        self.assertIn("gpuprof merge", facts.pop("derived_from"))
        for times in (facts, before):  # numbers, or texts of them
            times.update({key: int(times[key]) for key in ("t0_realtime_ns", "t1_realtime_ns")})
        self.assertEqual({**facts, "gpuprof_version": 0}, {**before, "gpuprof_version": 0})
        self.assertEqual(len(rows(output, "PRAGMA integrity_check")), 1)

    def test_two_ranks_of_one_machine(self):
        """As torchrun starts them: the same numbers of processes in two containers, a GPU each, and both are
        device 0 for their process."""
        pid = PROCESSES[0]
        files = [self.copy(0, f"rank{rank}.sqlite", f"UPDATE PROCESS SET rank = {rank}, worldSize = 2",
                           (f"UPDATE {KIND}DEVICE SET uuid = ?", (bytes([rank]) * 16,)))
                 for rank in range(2)]  # fmt: skip
        output, said = self.merged(*files)
        other = 4194305
        self.assertIn(f"process {pid} of {files[1]} has the number {other}", said)
        self.assertEqual(
            rows(output, "SELECT process_id, rank FROM processes"), [(pid, 0), (other, 1)]
        )
        self.assertEqual(
            rows(output, "SELECT device_id, process_id FROM devices"), [(0, pid), (1, other)]
        )
        for device, process in ((0, pid), (1, other)):
            for name, question in (
                ("kernels", "SELECT name, start, duration, range_name FROM kernels"),
                ("nvtx_ranges", "SELECT name, start, duration, thread_id FROM nvtx_ranges"),
                ("memory", "SELECT change, in_use, time FROM memory_timeline"),
            ):
                where = f" WHERE {'process_id' if name != 'memory' else 'device_id'} = "
                mine = question + where + str(process if name != "memory" else device)
                self.assertEqual(rows(output, mine), rows(files[0], question), name)
            account = "SELECT class, cause, duration_ms, intervals FROM account"
            self.assertEqual(
                rows(output, f"{account} WHERE device_id = {device}"), rows(files[0], account)
            )
        joined = "SELECT count(*) FROM kernels JOIN api_calls USING (correlation_id, process_id)"
        self.assertEqual(rows(output, joined)[0][0], 2 * rows(files[0], joined)[0][0])
        threads = f"SELECT objectId FROM {KIND}MARKER WHERE processId = {other}"
        self.assertEqual(
            {struct.unpack("<III", row[0])[0] for row in rows(output, threads)} - {other}, set()
        )
        # A name is there once, however many files have it.
        twice = "SELECT value FROM StringTable GROUP BY 1 HAVING count(*) > 1"
        self.assertEqual(rows(output, twice), [])

    def test_two_machines(self):
        """The time of day relates their clocks: the second one's is 5 ms ahead and faster by 20 ppm."""
        first = self.copy(0, "first.sqlite", "DELETE FROM CLOCK")
        begin, end = rows(first, "SELECT min(start), max([end]) FROM api_calls")[0]
        span = 10**10

        def clocks(path, ahead, faster):
            with opened(path) as database:
                for moment, after in (("first", 0), ("last", span)):
                    cupti = begin + after
                    database.execute(
                        "INSERT INTO CLOCK(processId, moment, realtime, cupti, realtimeError) VALUES(?, ?, ?, ?, 700)",
                        (PROCESSES[0], moment, begin + round((after - ahead) * (1 - faster)), cupti))  # fmt: skip

        second = self.copy(1, "other.sqlite", "DELETE FROM CLOCK",
                           "UPDATE RUN SET value = 'two' WHERE key = 'boot_id'",
                           "UPDATE RUN SET value = 'node2' WHERE key = 'host_name'")  # fmt: skip
        clocks(first, 0, 0)
        clocks(second, 5_000_000, 20e-6)
        output, said = self.merged(first, second)
        self.assertIn("is of another machine, node2", said)
        self.assertIn("at most 1400 ns apart", said)
        before = dict(rows(second, "SELECT correlation_id & 0xffffffff, start FROM kernels"))
        now = dict(
            rows(
                output,
                f"SELECT correlation_id & 0xffffffff, start FROM kernels WHERE process_id = {PROCESSES[1]}",
            )
        )
        self.assertEqual(before.keys(), now.keys())
        self.assertTrue(now)
        for key, start in before.items():
            self.assertAlmostEqual(
                now[key], begin + (start - begin - 5_000_000) * (1 - 20e-6), delta=2
            )
        self.assertEqual(dict(rows(output, "SELECT key, value FROM RUN"))["boot_id"], "one")
        with opened(first) as database:
            database.execute("DELETE FROM CLOCK")
        self.assertIn("cannot be compared", self.merged(first, second, code=20)[1])

    def test_measurements(self):
        """Each file has its own numbers for metrics, reasons, lines and instructions, and some are the same."""

        def measured(number, metrics, pm_metrics, reason, first):
            process = PROCESSES[number]
            ((correlation, name),) = rows(
                self.parts[number],
                f"SELECT correlationId, name FROM {KIND}CONCURRENT_KERNEL LIMIT 1",
            )
            changes = [("INSERT INTO METRIC(_id_, name, unit) VALUES(?, ?, '%')", (i, metric))
                       for i, metric in enumerate(metrics, 1)]  # fmt: skip
            changes += [("INSERT INTO PM_METRIC(_id_, name, part, place) VALUES(?, ?, 0, ?)", (i, metric, i))
                        for i, metric in enumerate(pm_metrics, 1)]  # fmt: skip
            changes += [
                "INSERT INTO METRIC_GROUP(_id_, chip, mode, passes) VALUES(1, 'GH100', 'kernel', 1)",
                ("INSERT INTO METRIC_RANGE(_id_, correlationId, kind, name, deviceId, contextId, ordinal, passGroup, "
                 "processId) VALUES(1, ?, 'kernel', ?, 0, 1, 1, 1, ?)", (correlation, name, process)),
                *((f"INSERT INTO METRIC_VALUE VALUES(1, {i}, {10 * first + i})",) for i in (1, 2)),
                f"INSERT INTO PM_SAMPLE(deviceId, start, stop, part, v1, v2) VALUES(0, {first}, {first + 1}, 0, 1.5, 2)",
                (f"INSERT INTO PC_STALL_REASON VALUES(1, 'smsp_{reason}', ?, 3, 4)", (reason,)),
                f"INSERT INTO {KIND}SOURCE_LOCATOR(id, lineNumber, fileName) VALUES(1, {first}, {name})",
                f"INSERT INTO {KIND}FUNCTION(id, contextId, moduleId, name, processId) VALUES(77, 1, 1, {name}, {process})",
                f"INSERT INTO {KIND}PC_SAMPLING(flags, sourceLocatorId, correlationId, functionId, latencySamples, samples, "
                f"pcOffset, stallReasonId, deviceId, processId) VALUES(0, 1, 0, 77, 1, {first}, 16, 1, 0, {process})",
                "INSERT INTO SASS_METRIC VALUES(1, 'smsp_executed', 'executed', '')",
                f"INSERT INTO SASS_INSTRUCTION VALUES(1, 1, 77, 16, 0, {process})",
                f"INSERT INTO SASS_VALUE VALUES(1, 1, {correlation}, {first})",
                f"INSERT INTO {KIND}GLOBAL_ACCESS(sourceLocatorId, correlationId, functionId, executed, processId) "
                f"VALUES(1, {correlation}, 77, {first}, {process})",
            ]  # fmt: skip
            return changes

        files = [
            self.copy(0, "measured.sqlite", *measured(0, ["a", "b"], ["x", "y"], "wait", 1)),
            self.copy(1, "measured2.sqlite", "UPDATE PROCESS SET number = 0",
                      f"UPDATE {KIND}CONCURRENT_KERNEL SET correlationId = correlationId & 0xffffffff",
                      *measured(1, ["b", "c"], ["y"], "barrier", 5)),
        ]  # fmt: skip
        with opened(files[1]) as database:
            for table, column in (("METRIC_RANGE", "correlationId"), ("SASS_VALUE", "correlationId"),
                                  (f"{KIND}GLOBAL_ACCESS", "correlationId")):  # fmt: skip
                database.execute(f"UPDATE {table} SET {column} = {column} & 0xffffffff")
        output, said = self.merged(*files)
        self.assertNotIn("left out", said)
        second = 1 << 32
        for question in (
            "SELECT name, metric, value, device_id, process_id, correlation_id{} FROM kernel_metrics",
            "SELECT device_id, start, metric, value FROM pm_samples",
            "SELECT function, line, stall_reason, samples, process_id FROM pc_samples",
            "SELECT function, line, metric, value, process_id, correlation_id{} FROM sass_metrics",
            f"SELECT l.lineNumber, a.executed, a.processId FROM {KIND}GLOBAL_ACCESS AS a "
            f"JOIN {KIND}SOURCE_LOCATOR AS l ON l.id = a.sourceLocatorId",
        ):
            expected = rows(files[0], question.format(""))
            expected += rows(files[1], question.format(f" + {second}"))
            self.assertTrue(expected, question)
            self.assertEqual(
                rows(output, question.format("")), sorted(expected, key=repr), question
            )
        # What both have is there once.
        self.assertEqual(
            rows(output, "SELECT _id_, name FROM METRIC"), [(1, "a"), (2, "b"), (3, "c")]
        )
        self.assertEqual(
            rows(
                output,
                "SELECT count(*) FROM METRIC_GROUP UNION ALL SELECT count(*) FROM SASS_METRIC",
            ),
            [(1,), (1,)],
        )

    def test_tables_of_some_files(self):
        """Those that only runs with --host-samples, --stacks=launches or NCCL have."""
        nccl = self.folder / "nccl.sqlite"
        replay_packed(GPUPROF, "ranks/nccl", "nccl", nccl)
        with opened(nccl) as database:
            database.execute("INSERT OR REPLACE INTO RUN VALUES('boot_id', 'one')")
            database.execute("CREATE TABLE HOST_SAMPLE(_id_ INTEGER PRIMARY KEY, time INT, stop INT, samples INT, "
                             "ofProcess INT, threadId INT, state INT, stack INT, holder INT, processId INT)")  # fmt: skip
            (process,) = database.execute("SELECT min(processId) FROM PROCESS").fetchone()
            database.execute(
                f"INSERT INTO HOST_SAMPLE VALUES(1, 5, 9, 2, {process}, 3, 0, 0, 0, {process})"
            )
        output, said = self.merged(self.parts[0], nccl)
        self.assertNotIn("left out", said)
        question = (
            "SELECT rank, communicator, function, sequence, start, duration, wait FROM collectives"
        )
        self.assertEqual(rows(output, question), rows(nccl, question))
        self.assertEqual(
            rows(output, "SELECT * FROM HOST_SAMPLE"), [(1, 5, 9, 2, process, 3, 0, 0, 0, process)]
        )
        self.assertEqual(
            rows(output, "SELECT count(*) FROM TABLE_DOC WHERE \"table\" = 'HOST_SAMPLE'"), [(1,)]
        )

    def test_what_is_left_out_is_said(self):
        changed = self.copy(1, "more.sqlite", "CREATE TABLE mine(x)", "INSERT INTO mine VALUES(1)",
                            "ALTER TABLE PROCESS ADD COLUMN shoe INT")  # fmt: skip
        said = self.merged(self.parts[0], changed)[1]
        for what in ("mine", "the column shoe of PROCESS"):
            self.assertIn(f"gpuprof: {changed}: {what} is left out.\n", said)

    def test_refused(self):
        open_file = self.copy(1, "open.sqlite", "UPDATE RUN SET value = 0 WHERE key = 'finished'")
        other = SOURCE / "tests/fuzz/corpus/profile/nvprof_basic"
        cut = self.folder / "cut.sqlite"
        cut.write_bytes(self.parts[1].read_bytes()[:100_000])
        for file, why in ((open_file, "is not complete"), (other, "profiles of gpuprof are merged"),
                          (cut, "damaged"), (self.folder / "none", "no such file")):  # fmt: skip
            said = self.merged(self.parts[0], file, code=20)[1]
            self.assertIn(why, said.lower() if why == "no such file" else said)
        # An input is never the output, under any name, and another file only with -f.
        link = self.folder / "link.sqlite"
        link.symlink_to(self.parts[1])
        content = self.parts[1].read_bytes()
        for name in (self.parts[1], link):
            ran = run("merge", *self.parts, "-f", "-o", name)
            self.assertEqual((ran.returncode, ran.stdout), (21, ""))
        self.assertEqual(self.parts[1].read_bytes(), content)
        there = self.folder / "there.sqlite"
        there.write_bytes(content)
        self.assertEqual(run("merge", *self.parts, "-o", there).returncode, 21)
        self.assertEqual(run("merge", self.parts[0], open_file, "-f", "-o", there).returncode, 20)
        self.assertEqual(there.read_bytes(), content)
        for words in ([self.parts[0]], [*self.parts], ["-o", "x"], [self.parts[0], "-o", "x"],
                      [self.parts[0], self.parts[0], "-o", "x"]):  # fmt: skip
            self.assertEqual(run("merge", *words).returncode, 5, words)

    @asan
    def test_hostile_values(self):
        """Numbers and texts in wrong places, references to nothing, and times at the ends of the range."""
        hostile = self.copy(
            1, "hostile.sqlite",
            f"UPDATE {KIND}CONCURRENT_KERNEL SET name = 987654321, correlationId = 0x7fffffffffffffff, start = 'x'",
            f"UPDATE {KIND}RUNTIME SET start = 0x7fffffffffffffff, [end] = -5, processId = NULL",
            f"UPDATE {KIND}MARKER SET objectId = x'01', name = x'00ff', domain = -1",
            f"UPDATE {KIND}DEVICE SET id = -9, uuid = 'text'",
            "UPDATE STATISTIC SET value = 0x7fffffffffffffff",
            "UPDATE RUN SET value = x'00' WHERE key = 'host_name'",
            "UPDATE RUN SET value = 0x7fffffffffffffff WHERE key IN ('zero_ns', 't0_realtime_ns')",
            "UPDATE RUN SET value = 'two' WHERE key = 'boot_id'",
            "UPDATE CLOCK SET cupti = 0x7ffffffffffffff0, realtime = 1",
        )  # fmt: skip
        ran = run("merge", self.parts[0], hostile, "-f", "-o", self.folder / "out.sqlite")
        self.assertIn(ran.returncode, (0, 20), ran.stderr)
        self.assertNotRegex(ran.stderr, "runtime error|Sanitizer")


if __name__ == "__main__":
    unittest.main()
