# ctest-labels: asan
# ctest-cost: 25
"""Files that are damaged, unfinished or not profiles at all.

For each: the message, the exit code, that what can be read is reported and the rest counted, and
that nothing is changed. docs/nvprof.md, "Bad files", has the list.
"""

import contextlib
import json
import os
import pathlib
import random
import re
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
CASES = SOURCE / "tests" / "golden" / "nvprof"
PREFIX = "CUPTI_ACTIVITY_KIND_"
REFUSED = "======== Error: Unable to import nvprof generated profile data.\n"
NOBODY = 65534
ROWS = 5000

# A run of 5000 kernels and 5000 calls, in addition to the content of the case `basic`.
MANY = f"""
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < {ROWS})
INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME(cbid, start, end, processId, threadId, correlationId,
                                        returnValue)
SELECT 211, 1700000001000000000 + 1000 * i, 1700000001000000200 + 1000 * i, 4242, 4242, 1000 + i, 0
FROM n;
DELETE FROM CUPTI_ACTIVITY_KIND_DRIVER;
"""


def names_of(folder):
    return {path.name for path in folder.iterdir()}


class BadFiles(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-bad-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.folder.chmod(0o755)
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir()
        self.temporary.chmod(0o777)

    def gpuprof(self, *words, user=None):
        with contextlib.ExitStack() as stack:
            program = GPUPROF
            if user is not None:
                # The build may be in a private folder.
                place = stack.enter_context(tempfile.TemporaryDirectory(prefix="gpuprof-program-"))
                os.chmod(place, 0o755)
                for part in ("bin/gpuprof", "lib/gpuprof/libgpuprof.so"):
                    os.makedirs(os.path.dirname(f"{place}/{part}"))
                    shutil.copy(pathlib.Path(GPUPROF).parents[1] / part, f"{place}/{part}")
                program = f"{place}/bin/gpuprof"
            ran = subprocess.run(
                [program, *map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=120,
                env={**os.environ, "TMPDIR": str(self.temporary)},
                **({} if user is None else {"user": user, "group": user, "extra_groups": []}),
            )  # fmt: skip
        self.assertEqual(names_of(self.temporary), set(), "a temporary file is left")
        return ran

    def nvprof(self, case, sql="", name="file.sqlite"):
        path = self.folder / name
        text = json.loads((CASES / f"{case}.json").read_text(encoding="utf-8"))["database_sql"]
        connection = sqlite3.connect(path)
        connection.executescript(text + ";" + sql)
        connection.close()
        return path

    def capture(self, name):
        path = self.folder / f"{name}.sqlite"
        capture = SOURCE / "tests" / "captures" / f"{name}.gpcap"
        self.assertEqual(self.gpuprof("replay", capture, "-q", "-o", path).returncode, 0)
        return path

    def changed(self, path, sql):
        connection = sqlite3.connect(path)
        connection.executescript(sql)
        connection.close()
        return path

    def check_refused(self, path, *words, user=None):
        """All commands refuse it, with one line that says why."""
        for command in (("-i", path), ("info", path), ("slice", path, "--from", "0", "-o", "part"),
                        ("truncate", path, "--keep", "gpu", "-o", "part")):  # fmt: skip
            ran = self.gpuprof(*command, user=user)
            self.assertEqual(ran.returncode, 20, f"{command}: {ran.stdout}{ran.stderr}")
            said = ran.stderr.removeprefix(REFUSED) if command[0] == "-i" else ran.stderr
            self.assertRegex(said, r"\Agpuprof: [^\n]+\n(  [^\n]+\n)?\Z")
            for word in (pathlib.Path(path).name, *words):
                self.assertIn(word, said.splitlines()[0])
            if command[0] == "-i":
                self.assertTrue(ran.stderr.startswith(REFUSED))
            self.assertNotIn("part", names_of(self.folder))

    def report(self, path, *options, code=0, user=None):
        """Without its first line, which is preceded by all warnings about the file."""
        ran = self.gpuprof("-i", path, *options, user=user)
        self.assertEqual(ran.returncode, code, ran.stderr)
        warnings, _, report = ran.stderr.partition("======== Profiling result:\n")
        self.assertTrue(report, ran.stderr)
        self.assertNotIn("Profiling result", report)
        return warnings, report

    def lost_rows(self, warnings):
        return {
            table: int(count)
            for count, table in re.findall(r"(\d+) rows? of (\w+) cannot be read", warnings)
        }


class NoProfiles(BadFiles):
    def test_other_files(self):
        (self.folder / "text").write_text("no database\n" * 1000)
        self.check_refused("text", "not an SQLite database")
        (self.folder / "zeros").write_bytes(bytes(100_000))
        self.check_refused("zeros", "not an SQLite database")
        (self.folder / "empty").touch()
        self.check_refused("empty", "empty")
        (self.folder / "packed").write_bytes(b"\x1f\x8b" + bytes(100))
        self.check_refused("packed", "compressed")
        (self.folder / "folder").mkdir()
        self.check_refused("folder", "folder")
        os.mkfifo(self.folder / "pipe")
        self.check_refused("pipe", "not a regular file")
        self.check_refused(SOURCE / "tests" / "captures" / "die.gpcap", "capture")

    def test_file_that_is_missing(self):
        for command in (("info", "no"), ("slice", "no", "--from", "0", "-o", "part"), ("-i", "no")):
            ran = self.gpuprof(*command)
            self.assertEqual(ran.returncode, 20)
            self.assertEqual(ran.stderr, "gpuprof: no: No such file or directory\n")

    @unittest.skipIf(os.geteuid() != 0, "takes another user")
    def test_file_that_may_not_be_read(self):
        path = self.nvprof("errors")
        path.chmod(0)
        self.check_refused(path, "Permission denied", user=NOBODY)

    def test_other_databases(self):
        self.check_refused(
            self.changed(self.folder / "other", "CREATE TABLE t(a)"), "not a profile"
        )
        only_version = "CREATE TABLE Version(version); INSERT INTO Version VALUES(18)"
        self.check_refused(self.changed(self.folder / "version", only_version), "not a profile")
        with sqlite3.connect(self.folder / "nothing") as connection:
            connection.execute("PRAGMA user_version = 1")
        self.check_refused("nothing", "not a profile")

    def test_exports_of_nsight_systems(self):
        for tables in (
            "CREATE TABLE StringIds(id, value); CREATE TABLE TARGET_INFO_GPU(id, name);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(start, [end], demangledName, globalPid)",
            "CREATE TABLE ENUM_NSYS_EVENT_TYPE(id, name); CREATE TABLE NVTX_EVENTS(start, [end])",
            "CREATE TABLE META_DATA_EXPORT(name, value); CREATE TABLE StringIds(id, value)",
        ):
            path = self.folder / "export.sqlite"
            path.unlink(missing_ok=True)
            self.check_refused(self.changed(path, tables), "Nsight Systems export")

    def test_a_file_for_both_is_nvprofs(self):
        path = self.nvprof("errors", "CREATE TABLE StringIds(id, value);"
                           "CREATE VIEW TARGET_INFO_GPU AS SELECT 1 AS id")  # fmt: skip
        self.assertIn("vectorAdd", self.report(path)[1])

    def test_versions(self):
        for version in (-1, 0, 7, 19, 1 << 40):
            path = self.nvprof("errors", f"UPDATE Version SET version = {version}", f"v{version}")
            self.check_refused(path, f"Version {version};", "8 to 18")
        for version in ("8", "18", "'18'"):
            path = self.nvprof("errors", f"UPDATE Version SET version = {version}", f"v{version}")
            self.assertEqual(self.report(path)[0], "")

    def test_header_alone(self):
        whole = self.nvprof("errors").read_bytes()
        for length in (17, 99, 100, 500, 4096):
            (self.folder / "short").write_bytes(whole[:length])
            self.check_refused("short")

    def test_list_of_tables_is_damaged(self):
        path = self.nvprof("errors")
        content = bytearray(path.read_bytes())
        content[100:4096] = b"\xff" * 3996
        path.write_bytes(content)
        self.check_refused(path, "damaged")


class Parts(BadFiles):
    """Something is missing or odd, and the rest is reported."""

    def test_no_version(self):
        whole = self.report(self.nvprof("errors", name="whole"))[1]
        for sql in ("DELETE FROM Version", "DROP TABLE Version"):
            path = self.nvprof("errors", sql)
            warnings, report = self.report(path)
            self.assertIn("does not say its Version", warnings)
            self.assertEqual(report, whole)
            path.unlink()

    def test_missing_tables(self):
        path = self.nvprof("basic", name="whole")
        with contextlib.closing(sqlite3.connect(path)) as connection:
            tables = [
                name
                for (name,) in connection.execute(
                    "SELECT name FROM sqlite_master WHERE type = 'table' AND name LIKE 'CUPTI%'"
                )
            ]
        self.assertGreater(len(tables), 50)
        whole = path.read_bytes()
        both = "--print-gpu-summary", "--print-api-summary"
        kernels, calls, whole_report = (
            self.report(path, *options)[1] for options in (both[:1], both[1:], both)
        )
        for table in tables:
            (self.folder / "file").write_bytes(whole)
            self.changed(self.folder / "file", f"DROP TABLE {table}")
            if any(word in table for word in ("KERNEL", "MEMCPY", "MEMSET")):
                expected, options = calls, both[1:]
            elif table in (PREFIX + "RUNTIME", PREFIX + "DRIVER"):
                expected, options = kernels, both[:1]
            else:
                expected, options = whole_report, both
            self.assertEqual(self.report("file", *options)[1], expected, table)

    def test_no_strings(self):
        path = self.nvprof("errors", "DROP TABLE StringTable")
        warnings, report = self.report(path)
        self.assertIn("has no StringTable", warnings)
        self.assertRegex(report, r"2\.0000us .* <kernel name 2>\n")
        self.assertIn("cudaLaunchKernel", report)

    def test_strings_that_dangle_are_counted(self):
        path = self.nvprof("errors", "UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET name = 77")
        report = self.report(path)[1]
        self.assertIn("<kernel name 77>", report)
        self.assertIn("cudaLaunchKernel", report)
        self.assertRegex(report, r"======== Warning: \d+ names? (is|are) not in StringTable\.\n")

    def test_blobs_of_a_wrong_size_are_counted(self):
        path = self.nvprof(
            "nvtx",
            """
            UPDATE CUPTI_ACTIVITY_KIND_MARKER SET objectId = x'00' WHERE _id_ = (
                SELECT min(_id_) FROM CUPTI_ACTIVITY_KIND_MARKER WHERE flags = 2)""",
        )
        report = self.report(path)[1]
        self.assertRegex(report, r"======== Warning: 1 record skipped: CUPTI_ACTIVITY_KIND_MARKER ")
        self.assertIn("API calls", report)

    def test_missing_columns(self):
        for table, column in (("RUNTIME", "end"), ("CONCURRENT_KERNEL", "start"),
                              ("DEVICE", "name")):  # fmt: skip
            path = self.nvprof("errors", f"ALTER TABLE {PREFIX}{table} DROP COLUMN [{column}]")
            warnings, report = self.report(path, code=20)
            self.assertIn(f"{PREFIX}{table} has no column {column}.", warnings)
            if table != "RUNTIME":
                self.assertIn("cudaLaunchKernel", report)
            if table != "CONCURRENT_KERNEL":
                self.assertIn("vectorAdd", report)
            path.unlink()
        path = self.nvprof("errors", "ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME "
                                     "DROP COLUMN returnValue")  # fmt: skip
        self.assertEqual(self.report(path)[0], "")


class Damage(BadFiles):
    def rows(self, report):
        """Rows of a trace as CSV."""
        return len(re.findall(r"^[\d.]+,", report, re.MULTILINE))

    def test_truncated_anywhere(self):
        path = self.nvprof("basic", MANY)
        whole = path.read_bytes()
        with contextlib.closing(sqlite3.connect(path)) as connection:
            total = connection.execute(
                "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"
            ).fetchone()[0]
        self.assertEqual(self.report(path, "--print-api-trace")[0].count("cannot be read"), 0)
        seen = set()
        for percent in (99, 95, 90, 80, 70, 60, 50):
            (self.folder / "cut").write_bytes(whole[: len(whole) * percent // 100])
            warnings, report = self.report("cut", "--print-api-trace", "--csv", code=20)
            missing = len(whole) - len(whole) * percent // 100
            self.assertIn(f"cut is truncated: {missing} of {len(whole)} bytes", warnings)
            there = self.rows(report)
            lost = self.lost_rows(warnings).get(PREFIX + "RUNTIME", 0)
            # The row at the cut has zeros.
            odd = re.search(r"Found (\d+) invalid records", warnings)
            self.assertEqual(there + lost + int(odd[1] if odd else 0), total, warnings)
            seen.add(there)
        self.assertGreater(len(seen), 3)

    def test_a_damaged_page_costs_its_rows(self):
        path = self.nvprof("basic", MANY)
        whole = bytearray(path.read_bytes())
        with contextlib.closing(sqlite3.connect(path)) as connection:
            total = connection.execute(
                "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"
            ).fetchone()[0]
            (page,) = connection.execute("PRAGMA page_size").fetchone()
        # A leaf in the middle of the table: it contains the time of a call there.
        time_of_call = (1700000001000000000 + 1000 * (ROWS // 2)).to_bytes(8, "big")
        at = [match.start() // page for match in re.finditer(re.escape(time_of_call), whole)]
        self.assertEqual(len(at), 1)
        expected = self.report(path, "--print-gpu-trace")
        for nonsense in (b"\xff", b"\x00"):
            content = whole[:]
            content[at[0] * page : (at[0] + 1) * page] = nonsense * page
            path.write_bytes(content)
            warnings, report = self.report(path, "--print-api-trace", "--csv", code=20)
            there, lost = self.rows(report), self.lost_rows(warnings)
            self.assertEqual(set(lost), {PREFIX + "RUNTIME"})
            self.assertTrue(0 < lost[PREFIX + "RUNTIME"] < 200)
            self.assertEqual(there + lost[PREFIX + "RUNTIME"], total)
            # The last calls are after the damage.
            self.assertIn(f"{1000 + ROWS}\n", report)
            # Other tables are intact.
            self.assertEqual(self.report(path, "--print-gpu-trace", code=20)[1], expected[1])
            info = json.loads(self.gpuprof("info", path, "--json").stdout)
            self.assertEqual(info["state"], "damaged")
            self.assertEqual(info["records"]["RUNTIME"], there)
            part = self.gpuprof("slice", path, "--from", "0", "-f", "-o", "part.sqlite")
            self.assertEqual(part.returncode, 20)
            self.assertEqual(self.lost_rows(part.stderr), lost)
            with contextlib.closing(sqlite3.connect(self.folder / "part.sqlite")) as connection:
                self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone()[0], "ok")
                self.assertEqual(
                    connection.execute(
                        "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME"
                    ).fetchone()[0],
                    there,
                )

    def test_a_truncated_file_of_ours(self):
        whole = self.capture("streams_graph").read_bytes()
        complete = json.loads(self.gpuprof("info", "streams_graph.sqlite", "--json").stdout)
        (self.folder / "cut").write_bytes(whole[:-100_000])
        ran = self.gpuprof("info", "cut", "--json")
        self.assertEqual(ran.returncode, 20)
        info = json.loads(ran.stdout)
        self.assertEqual((info["state"], info["format"]), ("damaged", "gpuprof"))
        self.assertTrue(any("truncated" in note for note in info["notes"]))
        lost = self.lost_rows("".join(info["notes"]))
        for kind, count in complete["records"].items():
            self.assertEqual(info["records"].get(kind, 0) + lost.get(PREFIX + kind, 0), count, kind)

    def test_random_damage(self):
        generator = random.Random(7)
        wholes = [self.nvprof(case, name=case).read_bytes()
                  for case in ("basic", "nvtx", "openacc", "um", "metrics")]  # fmt: skip
        wholes.append(self.capture("nvtx_threads").read_bytes())
        reports = (
            ("-i", "file"),
            ("-i", "file", "--print-gpu-trace", "--print-api-trace"),
            ("info", "file"),
            ("slice", "file", "--from", "0", "-f", "-o", "part"),
        )
        codes = set()
        for round in range(60):
            content = bytearray(generator.choice(wholes))
            begin, length = generator.randrange(len(content)), generator.randrange(1, 8192)
            if round % 3 == 0:
                content = content[:begin]
            elif round % 3 == 1:
                content[begin : begin + length] = bytes(len(content[begin : begin + length]))
            else:
                for _ in range(20):
                    content[generator.randrange(len(content))] = generator.randrange(256)
            (self.folder / "file").write_bytes(content)
            command = generator.choice(reports)
            ran = self.gpuprof(*command)
            self.assertIn(ran.returncode, (0, 20), f"{round} {command}: {ran.stderr[-500:]}")
            self.assertTrue(ran.stderr or ran.stdout)
            codes.add(ran.returncode)
        self.assertEqual(codes, {0, 20})


# Runs in a separate process: the arguments are the file and what to do with it.
WRITER = """
import os, sqlite3, sys, time
database = sqlite3.connect(sys.argv[1], isolation_level=None)
if sys.argv[2] == "log":
    database.execute("PRAGMA journal_mode = WAL")
    database.execute("PRAGMA wal_autocheckpoint = 0")
    database.execute("INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT NULL, cbid, start + 1000,"
                     "[end] + 1000, processId, threadId, correlationId + 1, returnValue "
                     "FROM CUPTI_ACTIVITY_KIND_RUNTIME")
else:
    database.execute("PRAGMA synchronous = OFF")
    database.execute("PRAGMA cache_size = 5")
    database.execute("BEGIN")
    database.execute("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME")
    for i in range(2000):
        database.execute("INSERT INTO StringTable(value) VALUES(?)", ("x" * 500 + str(i),))
print("ready", flush=True)
time.sleep(100)
"""


class Writers(BadFiles):
    def writer(self, path, how):
        process = subprocess.Popen([sys.executable, "-c", WRITER, str(path), how],
                                   stdout=subprocess.PIPE, text=True)  # fmt: skip

        def end():
            process.kill()
            process.wait()
            process.stdout.close()

        self.addCleanup(end)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return end

    def calls(self, path, user=None):
        """The number of calls in the summary, after a check that reading changed nothing."""
        folder = path.parent
        before = {name: (folder / name).read_bytes() for name in names_of(folder)
                  if (folder / name).is_file() and not name.endswith("-shm")}  # fmt: skip
        warnings, report = self.report(path, user=user)
        for name, content in before.items():
            self.assertEqual((folder / name).read_bytes(), content, name)
        self.assertLessEqual(names_of(folder) - set(before) - {"temporary"}, {path.name + "-shm"})
        return warnings, int(re.search(r"API calls: +\S+ +\S+ +(\d+) ", report)[1])

    def test_a_log_that_is_being_written(self):
        path = self.nvprof("errors")
        end = self.writer(path, "log")
        self.assertEqual(self.calls(path), ("", 2))
        info = json.loads(self.gpuprof("info", path, "--json").stdout)
        self.assertEqual(info["state"], "open in another process")
        end()

    def test_a_log_that_was_left(self):
        path = self.nvprof("errors")
        self.writer(path, "log")()
        self.assertEqual(self.calls(path), ("", 2))
        pathlib.Path(f"{path}-shm").unlink()
        self.assertEqual(self.calls(path), ("", 2))
        self.assertNotIn(path.name + "-shm", names_of(self.folder))

    @unittest.skipIf(os.geteuid() != 0, "takes another user")
    def test_a_log_in_a_folder_that_may_not_be_written(self):
        folder = self.folder / "locked"
        folder.mkdir()
        path = self.nvprof("errors", name="locked/file.sqlite")
        self.writer(path, "log")()
        folder.chmod(0o555)
        self.assertEqual(self.calls(path, user=NOBODY), ("", 2))
        pathlib.Path(f"{path}-shm").unlink()
        self.assertEqual(self.calls(path, user=NOBODY), ("", 2))
        pathlib.Path(f"{path}-wal").unlink()  # what was in the log is lost
        self.assertEqual(self.calls(path, user=NOBODY), ("", 1))
        self.assertEqual(names_of(folder), {path.name})

    def test_a_transaction_that_was_never_finished(self):
        path = self.nvprof("errors")
        self.writer(path, "journal")()
        self.assertIn("file.sqlite-journal", names_of(self.folder))
        warnings, calls = self.calls(path)
        self.assertIn("in the middle of a transaction", warnings)
        self.assertEqual(calls, 1)

    def test_ours_in_all_states(self):
        path = self.capture("vector_add")
        whole = self.report(path)[1]
        self.changed(path, "UPDATE RUN SET value = 0 WHERE key = 'finished'")
        warnings, report = self.report(path)
        self.assertIn("was never finished", warnings)
        self.assertEqual(report, whole)
        with contextlib.closing(
            sqlite3.connect(path)
        ) as computing:  # like the launcher while it computes derived tables
            computing.execute("BEGIN IMMEDIATE")
            self.assertIn("is still being written", self.report(path)[0])
        self.changed(path, "PRAGMA journal_mode = WAL")
        end = self.writer(path, "log")
        self.assertIn("is still being written", self.report(path)[0])
        end()
        self.assertIn("was never finished", self.report(path)[0])

    def test_locked_by_a_writer_for_good(self):
        path = self.nvprof("errors")
        connection = sqlite3.connect(path)
        connection.execute("BEGIN EXCLUSIVE")
        began = time.monotonic()
        ran = self.gpuprof("-i", path)
        self.assertEqual(ran.returncode, 20)
        self.assertIn("another process writes to it", ran.stderr)
        self.assertGreater(time.monotonic() - began, 5)
        connection.close()

    def test_ctrl_c_leaves_nothing(self):
        path = self.nvprof("basic", MANY)
        # Long enough for a signal.
        self.changed(
            path,
            f"""
            WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200)
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME SELECT NULL, cbid, start, [end], processId,
            threadId, correlationId + i * {ROWS}, returnValue
            FROM CUPTI_ACTIVITY_KIND_RUNTIME, n""",
        )
        before = names_of(self.folder)
        process = subprocess.Popen([GPUPROF, "slice", path, "--from", "0", "-o", "part.sqlite"],
                                   cwd=self.folder)  # fmt: skip
        until = time.monotonic() + 10
        while names_of(self.folder) == before and time.monotonic() < until:
            time.sleep(0.005)
        process.send_signal(signal.SIGINT)
        self.assertEqual(process.wait(timeout=60), 128 + signal.SIGINT)
        self.assertEqual(names_of(self.folder), before)


if __name__ == "__main__":
    unittest.main()
