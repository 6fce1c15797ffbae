"""gpuprof info, slice and truncate, on files of ours and of nvprof.

What a part has to hold is worked out here from the whole, row by row.
"""

import contextlib
import json
import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
CASES = SOURCE / "tests" / "golden" / "nvprof"
OLD_SQLITE = SOURCE / "scripts" / "old_sqlite"
CAPTURES = ("streams_graph", "nvtx_threads", "torch_step", "die")

PREFIX = "CUPTI_ACTIVITY_KIND_"
GPU_WORK = ("KERNEL", "CONCURRENT_KERNEL", "CDP_KERNEL", "MEMCPY", "MEMCPY2", "MEMSET",
            "GRAPH_TRACE", "MEM_DECOMPRESS")  # fmt: skip
API = ("RUNTIME", "DRIVER", "INTERNAL_LAUNCH_API")
# Rows that are there whatever the window is.
ALWAYS = ("DEVICE", "DEVICE_ATTRIBUTE", "CONTEXT", "STREAM", "GREEN_CONTEXT", "NVLINK", "PCIE",
          "NAME", "FUNCTION", "SOURCE_LOCATOR", "MODULE")  # fmt: skip


@contextlib.contextmanager
def database(path):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    yield connection
    connection.close()


def schema(connection):
    return {
        (row["type"], row["name"]): row["sql"]
        for row in connection.execute("SELECT * FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
    }


def rows(connection, table):
    """By their numbers; those of a table without numbers by themselves."""
    try:
        return {row[0]: row for row in connection.execute(f'SELECT rowid, * FROM "{table}"')}
    except sqlite3.OperationalError:
        return {tuple(row): row for row in connection.execute(f'SELECT * FROM "{table}"')}


# Computed anew, of what is in the part.
DERIVED = ("NVTX_PATH", "LAUNCH_RANGE", "RANGE_TIME", "DEVICE_TIME", "STREAM_TIME", "GPU_GAP")


class Whole:
    """The rows of all tables of a file, and those of them that a window has."""

    def __init__(self, path):
        with database(path) as connection:
            self.schema = schema(connection)
            self.tables = {
                name: rows(connection, name) for kind, name in self.schema if kind == "table"
            }
        self.first = min(
            row[time]
            for kinds, time in (((*GPU_WORK[:6], *API[:2]), "start"), (("MARKER",), "timestamp"))
            for kind in kinds
            for row in self.tables.get(PREFIX + kind, {}).values()
            if row[time] > 0
        )

    def window(self, begin, end):
        """Table: numbers of its rows."""
        begin, end = self.first + begin, self.first + end
        kept, ids = {}, set()

        def choose(table, condition):
            kept[table] = {i for i, row in self.tables[table].items() if condition(row)}
            return [self.tables[table][i] for i in kept[table]]

        kinds = [name for name in self.tables if name.startswith(PREFIX)]
        short = {name: name.removeprefix(PREFIX) for name in kinds}
        for table in kinds:
            if short[table] in GPU_WORK:
                for row in choose(table, lambda row: begin <= row["start"] < end):
                    ids.add(row["correlationId"])
        ids -= {0}
        calls = set()
        for table in kinds:
            if short[table] in API:
                for row in choose(table, lambda row: begin <= row["start"] < end
                                  or row["correlationId"] in ids):  # fmt: skip
                    calls.add(row["correlationId"])
        markers = self.markers(begin, end)
        for table in self.tables:
            if table in kept:
                continue
            some = next(iter(self.tables[table].values()), None)
            columns = some.keys() if some else ()
            if short.get(table) in ("MARKER", "MARKER_DATA") or table == "NVTX_RANGE":
                choose(table, lambda row: self.marker_id(row) in markers)
            elif table not in kinds or short[table] in ALWAYS:
                choose(table, lambda row: True)
            elif time := next((t for t in ("start", "timestamp", "time") if t in columns), None):
                choose(table, lambda row: begin <= row[time] < end)
            elif "correlationId" in columns:
                choose(table, lambda row: row["correlationId"] in (ids | calls) - {0})
            else:
                choose(table, lambda row: True)
        return kept

    @staticmethod
    def marker_id(row):
        return (row["processId"] if "processId" in row.keys() else 0, row["id"])

    def markers(self, begin, end):
        opened, closed, chosen = {}, {}, set()
        for row in self.tables.get(PREFIX + "MARKER", {}).values():
            name, time = self.marker_id(row), row["timestamp"]
            if row["flags"] & 2:
                opened[name] = min(time, opened.get(name, time))
            elif row["flags"] & 4:
                closed[name] = max(time, closed.get(name, time))
            elif begin <= time < end:
                chosen.add(name)
        for name in {*opened, *closed}:
            if name not in opened:
                inside = begin <= closed[name] < end
            else:
                late = name not in closed or closed[name] > begin or opened[name] >= begin
                inside = opened[name] < end and late
            if inside:
                chosen.add(name)
        return chosen


class Tools(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-tools-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def gpuprof(self, *words, code=0):
        ran = subprocess.run([GPUPROF, *map(str, words)], cwd=self.folder, capture_output=True,
                             text=True, timeout=120)  # fmt: skip
        self.assertEqual(ran.returncode, code, f"{words}\n{ran.stdout}{ran.stderr}")
        return ran

    def capture(self, name):
        path = self.folder / f"{name}.sqlite"
        self.gpuprof("replay", SOURCE / "tests" / "captures" / f"{name}.gpcap", "-q", "-o", path)
        return path

    def nvprof(self, case, sql=""):
        path = self.folder / f"{case}.sqlite"
        text = json.loads((CASES / f"{case}.json").read_text(encoding="utf-8"))["database_sql"]
        connection = sqlite3.connect(path)
        connection.executescript(text + ";" + sql)
        connection.close()
        return path

    def info(self, path, *options, code=0):
        return json.loads(self.gpuprof("info", path, "--json", *options, code=code).stdout)

    def log_of_another_file(self, path):
        other = self.folder / "other"
        with sqlite3.connect(other) as connection:
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("CREATE TABLE other(a)")
            connection.commit()
            path.write_bytes(pathlib.Path(f"{other}-wal").read_bytes())
        connection.close()
        other.unlink()

    def assert_sound(self, path):
        with database(path) as connection:
            self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone()[0], "ok")
        header = path.read_bytes()[18:20]
        self.assertEqual(header, b"\x01\x01", "the journal mode is not DELETE")
        left = {file.name for file in self.folder.iterdir() if path.name in file.name}
        self.assertEqual(left, {path.name})


class Slice(Tools):
    def check(self, path, begin, end):
        before = path.read_bytes()
        part = self.folder / "part.sqlite"
        self.gpuprof("slice", path, "--from", f"{begin}ns", "--to", f"{end}ns", "-f", "-o", part)
        self.assertEqual(path.read_bytes(), before)
        self.assert_sound(part)
        whole = Whole(path)
        expected = whole.window(begin, end)
        with database(part) as connection:
            made = schema(connection)
            for key, sql in whole.schema.items():
                self.assertEqual(made[key], sql)
            for table, numbers in expected.items():
                if table in DERIVED:
                    continue
                there = rows(connection, table)
                if table == "RUN":
                    there = {i: row for i, row in there.items() if row["key"] != "derived_from"}
                self.assertEqual(set(there), numbers, table)
                for number, row in there.items():
                    self.assertEqual(tuple(row), tuple(whole.tables[table][number]))
        return part, expected

    def windows(self, path):
        info = self.info(path)
        length = info["last_ns"] - info["first_ns"] + 1
        yield 0, length
        yield length // 3, length // 2
        yield length // 2, length
        yield length // 2, length // 2 + 1

    def test_our_files(self):
        total = 0
        for name in CAPTURES:
            path = self.capture(name)
            for window in self.windows(path):
                with self.subTest(name=name, window=window):
                    _, kept = self.check(path, *window)
                    total += sum(len(kept[PREFIX + kind]) for kind in GPU_WORK[:6])
        self.assertGreater(total, 0)

    def test_nvprofs_files(self):
        for case in ("basic", "nvtx", "um", "metrics", "openacc", "cdp", "system", "cpusampling"):
            path = self.nvprof(case)
            for window in self.windows(path):
                with self.subTest(case=case, window=window):
                    self.check(path, *window)

    def test_launches_of_kept_kernels_are_kept(self):
        path = self.capture("streams_graph")
        with database(path) as connection:
            kernel, call = connection.execute(
                "SELECT k.start, r.start FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL k "
                "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING(correlationId) "
                "ORDER BY k.start - r.start DESC LIMIT 1").fetchone()  # fmt: skip
        self.assertGreater(kernel, call)
        first = Whole(path).first
        part, _ = self.check(path, kernel - first, kernel - first + 1)
        with database(part) as connection:
            launches = connection.execute("SELECT api_start FROM launches").fetchall()
        self.assertIn((call,), map(tuple, launches))

    def test_reports_of_the_part_are_those_of_the_window(self):
        for name in ("streams_graph", "torch_step"):
            path = self.capture(name)
            for begin, end in self.windows(path):
                window = ("--from", f"{begin}ns", "--to", f"{end}ns")
                part = self.folder / "part.sqlite"
                self.gpuprof("slice", path, *window, "-f", "-o", part)
                for report in ("--print-gpu-summary", "--print-gpu-trace"):
                    with self.subTest(name=name, window=window, report=report):
                        expected = self.gpuprof("-i", path, *window, report, "--csv").stderr
                        # That there is more in the whole.
                        expected = re.sub("(?m)^.* left out all of .*\n", "", expected)
                        self.assertEqual(
                            self.gpuprof("-i", part, report, "--csv").stderr, expected)  # fmt: skip

    def test_times_that_are_shown_can_be_given_back(self):
        """Times count from one zero: in JSON, filters, the whole and its parts."""
        path = self.capture("torch_step")

        def rows(file, *words):
            printed = self.gpuprof("-i", file, "--print-gpu-trace", "--json", *words).stdout
            # Which columns there are depends on what is printed.
            return [
                {name: value for name, value in row.items() if value is not None}
                for row in json.loads(printed)["tables"][0]["rows"]
            ]

        zero = self.info(path)["run"]["zero_ns"]
        with contextlib.closing(sqlite3.connect(path)) as connection:
            (earliest,) = connection.execute(
                "SELECT min(t) FROM (SELECT min(start) AS t FROM api_calls UNION ALL "
                "SELECT min(start) FROM gpu_activities UNION ALL "
                f"SELECT min(timestamp) FROM {PREFIX}MARKER)"
            ).fetchone()
        self.assertEqual(zero, earliest)
        whole = rows(path)
        row = whole[20]
        self.assertEqual(row["relative_start_ns"], row["start_ns"] - zero)
        window = ("--from", f"{row['relative_start_ns']}ns",
                  "--to", f"{row['relative_start_ns'] + 1}ns")  # fmt: skip
        self.assertEqual(rows(path, *window), [row])
        part = self.folder / "part.sqlite"
        self.gpuprof("slice", path, *window, "-o", part)
        self.assertEqual(rows(part), [row])
        self.assertEqual(rows(part, *window), [row])

    def test_window_of_a_range(self):
        path = self.capture("torch_step")
        with contextlib.closing(sqlite3.connect(path)) as connection:
            (start, end), *_ = connection.execute(
                "SELECT start, \"end\" FROM nvtx_ranges WHERE name = 'step 1' ORDER BY start"
            )

        def starts(file, *words):
            printed = self.gpuprof("-i", file, "--print-gpu-trace", "--json", *words).stdout
            return [row["start_ns"] for row in json.loads(printed)["tables"][0]["rows"]]

        inside = [time for time in starts(path) if start <= time < end]
        self.assertTrue(0 < len(inside) < len(starts(path)))
        self.assertEqual(starts(path, "--nvtx", "step 1"), inside)
        self.assertEqual(starts(path, "--from", "nvtx:step 1", "--to", "nvtx:step 1"), inside)
        self.assertEqual(starts(path, "--from", "nvtx:step 1"),
                         [time for time in starts(path) if start <= time])  # fmt: skip
        part = self.folder / "part.sqlite"
        self.gpuprof("slice", path, "--nvtx", "step 1", "-o", part)
        self.assertEqual(starts(part), inside)
        for command in (["-i", path, "--nvtx", "no"], ["slice", path, "--nvtx", "no", "-o", "x"]):
            told = self.gpuprof(*command, code=5).stderr
            self.assertIn("no NVTX range is called no\n", told)

    def test_units_of_time_and_open_ends(self):
        path = self.capture("nvtx_threads")
        kept = set()
        for words in (("--from", "0.2"), ("--from", "0.2s"), ("--from", "200ms"),
                      ("--from", "200000us"), ("--from", "200000000ns")):  # fmt: skip
            part = self.folder / "part.sqlite"
            self.gpuprof("slice", path, *words, "-f", "-o", part)
            kept.add(json.dumps(self.info(part)["records"]))
        self.assertEqual(len(kept), 1)
        later = self.info(part)["records"]["RUNTIME"]
        self.gpuprof("slice", path, "--to", "200ms", "-f", "-o", part)
        sooner = self.info(part)["records"]["RUNTIME"]
        self.assertTrue(0 < later < 48 and 0 < sooner < 48 <= later + sooner)
        self.gpuprof("slice", path, "-f", "-o", part, code=5)
        self.gpuprof("slice", path, "--from", "2", "--to", "1", "-f", "-o", part, code=5)
        self.gpuprof("slice", path, "--from", "soon", "-f", "-o", part, code=5)

    def test_records_without_times_are_counted(self):
        path = self.capture("die")
        with database(path) as connection:
            (without,) = connection.execute(
                "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL WHERE start = 0"
            ).fetchone()
        self.assertGreater(without, 0)
        ran = self.gpuprof("slice", path, "--from", "0", "-o", "part.sqlite")
        self.assertIn(f"{without} records of GPU work have no times", ran.stderr)

    def test_what_is_unknown_is_copied(self):
        path = self.nvprof("basic", """
            CREATE TABLE of_mine(id INTEGER PRIMARY KEY, text TEXT, twice AS (2 * id));
            INSERT INTO of_mine(id, text) VALUES(7, 'seven');
            CREATE INDEX of_mine_too ON of_mine(text);
            CREATE VIEW seen AS SELECT count(*) AS n FROM of_mine;
            CREATE TRIGGER changed AFTER INSERT ON of_mine BEGIN DELETE FROM of_mine; END;
            CREATE TABLE CUPTI_ACTIVITY_KIND_LATER(_id_ INTEGER PRIMARY KEY, start INT, what INT);
            INSERT INTO CUPTI_ACTIVITY_KIND_LATER VALUES(3, 5, 1);
            ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN extra INT DEFAULT 9;
            PRAGMA user_version = 12;
            """)  # fmt: skip
        self.gpuprof("slice", path, "--from", "0", "-o", "part.sqlite")
        with database(self.folder / "part.sqlite") as connection:
            self.assertEqual(tuple(connection.execute("SELECT * FROM of_mine").fetchone()),
                             (7, "seven", 14))  # fmt: skip
            self.assertEqual(connection.execute("SELECT n FROM seen").fetchone()[0], 1)
            self.assertEqual(connection.execute("PRAGMA user_version").fetchone()[0], 12)
            self.assertEqual(rows(connection, PREFIX + "LATER"), {})
            self.assertEqual(
                connection.execute("SELECT sum(extra) > 0 FROM CUPTI_ACTIVITY_KIND_RUNTIME")
                .fetchone()[0], 1)  # fmt: skip
            self.assertIn(("index", "of_mine_too"), schema(connection))
            self.assertNotIn(("trigger", "changed"), schema(connection))

    def test_old_files_keep_their_version_and_get_the_missing_tables(self):
        path = self.nvprof("old_v11", "DROP TABLE CUPTI_ACTIVITY_KIND_DEVICE")
        self.gpuprof("slice", path, "--from", "0", "-o", "part.sqlite")
        with database(self.folder / "part.sqlite") as connection:
            self.assertEqual(connection.execute("SELECT * FROM Version").fetchone()[0], 11)
            self.assertIn(("table", PREFIX + "DEVICE"), schema(connection))
            self.assertIn(("table", PREFIX + "JIT"), schema(connection))

    def test_output_is_not_overwritten_by_accident(self):
        path = self.capture("vector_add")
        before = path.read_bytes()
        part = self.folder / "part.sqlite"
        part.write_text("something else")
        words = ("slice", path, "--from", "0", "-o")
        self.assertIn("-f", self.gpuprof(*words, part, code=21).stderr)
        self.assertEqual(part.read_text(), "something else")
        self.gpuprof(*words, path, "-f", code=21)
        self.gpuprof(*words, self.folder, "-f", code=21)
        self.gpuprof(*words, self.folder / "no" / "where", code=21)
        part.write_bytes(b"")
        self.log_of_another_file(self.folder / "part.sqlite-wal")
        self.gpuprof(*words, part, "-f")
        self.assert_sound(part)
        self.assertEqual(path.read_bytes(), before)

    def test_file_that_is_being_written(self):
        path = self.capture("vector_add")
        writer = sqlite3.connect(path)
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE RUN SET value = 0 WHERE key = 'finished'")
        writer.commit()
        writer.execute("DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY")  # not committed
        ran = self.gpuprof("slice", path, "--from", "0", "-o", "part.sqlite")
        self.assertIn("still being written", ran.stderr)
        writer.close()
        self.assert_sound(self.folder / "part.sqlite")
        self.assertEqual(self.info("part.sqlite")["records"]["MEMCPY"], 3)

    def check_pairing(self, older, stop):
        path = self.capture("nvtx_threads")
        connection = sqlite3.connect(path)
        ranges = connection.execute("SELECT count(*) FROM NVTX_RANGE").fetchone()[0]
        self.assertGreater(ranges, 0)
        connection.executescript(
            f"{older}DELETE FROM NVTX_RANGE; UPDATE RUN SET value = 0 WHERE key = 'finished'; "
            "DROP INDEX INDEX_CUPTI_ACTIVITY_KIND_RUNTIME")  # fmt: skip
        connection.close()
        self.gpuprof("slice", path, "--from", "0", "-o", "part.sqlite")
        with database(self.folder / "part.sqlite") as connection:
            self.assertEqual(
                connection.execute("SELECT count(*) FROM NVTX_RANGE").fetchone()[0], ranges
            )
            self.assertIn(("index", "INDEX_CUPTI_ACTIVITY_KIND_RUNTIME"), schema(connection))
            self.assertEqual(
                connection.execute(
                    f'SELECT count(*) FROM NVTX_RANGE WHERE "{stop}" > start'
                ).fetchone()[0],
                ranges,
            )

    def test_ranges_of_a_writer_that_was_ended_are_paired(self):
        self.check_pairing("", "stop")

    def test_ranges_of_an_older_writer_are_paired(self):
        self.check_pairing(
            'DROP VIEW nvtx_ranges; ALTER TABLE NVTX_RANGE RENAME COLUMN stop TO "end"; ', "end"
        )

    def test_a_part_of_a_part(self):
        path = self.capture("torch_step")
        self.gpuprof("slice", path, "--from", "1s", "-o", "later.sqlite")
        self.gpuprof("truncate", "later.sqlite", "--keep", "gpu", "-o", "least.sqlite")
        info = self.info("least.sqlite")
        self.assertEqual(info["run"]["derived_from"], "gpuprof truncate later.sqlite --keep gpu")
        self.assertEqual(info["format"], "gpuprof")
        self.assertNotIn("RUNTIME", info["records"])


class Truncate(Tools):
    def kept(self, path, kinds):
        part = self.folder / "part.sqlite"
        self.gpuprof("truncate", path, "--keep", kinds, "-f", "-o", part)
        self.assert_sound(part)
        whole = Whole(path)
        with database(part) as connection:
            self.assertLessEqual(
                {key for key in whole.schema if key[1].startswith(PREFIX)}, set(schema(connection))
            )
            for table in whole.tables:
                if ("table", table) not in schema(connection):
                    continue
                there = rows(connection, table)
                if table == "RUN" or table in DERIVED:
                    continue
                if there:
                    self.assertEqual(
                        {i: tuple(row) for i, row in there.items()},
                        {i: tuple(row) for i, row in whole.tables[table].items()},
                    )
                elif not table.startswith(PREFIX) and table != "NVTX_RANGE":
                    self.assertFalse(whole.tables[table], table)
        return set(self.info(part)["records"]) - set(ALWAYS)

    def test_names_of_kinds(self):
        path = self.capture("torch_step")
        all_kinds = set(self.info(path)["records"]) - set(ALWAYS)
        self.assertEqual(self.kept(path, "kernel"), {"CONCURRENT_KERNEL"})
        self.assertEqual(self.kept(path, "kernel,memcpy,runtime"),
                         {"CONCURRENT_KERNEL", "MEMCPY", "RUNTIME"})  # fmt: skip
        self.assertEqual(self.kept(path, "gpu,api"),
                         {"CONCURRENT_KERNEL", "MEMCPY", "RUNTIME", "DRIVER"})  # fmt: skip
        self.assertEqual(self.kept(path, "CUPTI_ACTIVITY_KIND_DRIVER"), {"DRIVER"})
        self.assertEqual(self.kept(path, "concurrent-kernel"), {"CONCURRENT_KERNEL"})
        self.assertEqual(self.kept(path, "unified-memory"), set())
        self.assertEqual(self.kept(path, "gpu,api,nvtx,sync,overhead,memory"), all_kinds)

    def test_ranges_go_with_markers(self):
        path = self.capture("nvtx_threads")
        for kinds, ranges in (("nvtx", True), ("marker", True), ("gpu", False)):
            self.kept(path, kinds)
            with database(self.folder / "part.sqlite") as connection:
                self.assertEqual(bool(rows(connection, "NVTX_RANGE")), ranges)

    def test_an_unknown_name(self):
        ran = self.gpuprof("truncate", self.capture("vector_add"), "--keep", "gpu,bananas", "-o",
                           "part.sqlite", code=5)  # fmt: skip
        self.assertIn("bananas", ran.stderr)
        self.assertFalse((self.folder / "part.sqlite").exists())

    def test_reports_of_what_is_kept(self):
        for case, kinds, report in (
            ("basic", "gpu", "--print-gpu-summary"),
            ("basic", "api", "--print-api-summary"),
            ("cdp", "kernel", "--print-gpu-trace"),
            ("openacc", "openacc", "--print-openacc-summary"),
        ):
            with self.subTest(case=case, kinds=kinds):
                path = self.nvprof(case)
                self.kept(path, kinds)
                self.assertEqual(
                    self.gpuprof("-i", "part.sqlite", report).stderr.splitlines()[1:],
                    self.gpuprof("-i", path, report).stderr.splitlines()[1:],
                )
                path.unlink()

    def test_cpu_samples(self):
        path = self.nvprof("cpusampling")
        self.kept(path, "gpu")
        with database(self.folder / "part.sqlite") as connection:
            self.assertNotIn(("table", "collLibrary"), schema(connection))
        self.gpuprof("truncate", path, "--keep", "cpu-sampling", "-o", "samples.sqlite")
        with database(path) as whole, database(self.folder / "samples.sqlite") as part:
            self.assertEqual(len(rows(part, "collHit")), len(rows(whole, "collHit")))


class OldSqlite(Tools):
    def test_old_versions_read_parts(self):
        build = subprocess.run([sys.executable, OLD_SQLITE, "--build"], capture_output=True)
        if build.returncode == 77:
            self.skipTest("there is no old SQLite here")
        parts = []
        for path in (self.capture("nvtx_threads"), self.nvprof("nvtx"), self.nvprof("old_v11")):
            for words in (("slice", path, "--from", "1us"), ("truncate", path, "--keep", "nvtx")):
                part = self.folder / f"{len(parts)}.part"
                self.gpuprof(*words, "-o", part)
                parts.append(part)
        result = subprocess.run([sys.executable, OLD_SQLITE, *parts], text=True,
                                capture_output=True)  # fmt: skip
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.count(" views, "), 2 * len(parts))


class Info(Tools):
    def test_our_file(self):
        path = self.capture("two_processes")
        info = self.info(path)
        self.assertEqual((info["format"], info["version"], info["state"]),
                         ("gpuprof", 18, "complete"))  # fmt: skip
        self.assertEqual(info["size_bytes"], path.stat().st_size)
        self.assertEqual(info["run"]["command_line"], "./two_processes")
        self.assertEqual([process["processId"] for process in info["processes"]], [2182, 2183])
        self.assertEqual([process["cupti_version"] for process in info["processes"]],
                         [130500, 130500])  # fmt: skip
        self.assertEqual([device["name"] for device in info["devices"]], ["NVIDIA H200"])
        self.assertFalse(info["records_estimated"] or info["times_estimated"])
        self.assertEqual(info["losses"], [])
        with database(path) as connection:
            for kind, count in info["records"].items():
                self.assertEqual(len(rows(connection, PREFIX + kind)), count)
            tables = [name for kind, name in schema(connection) if kind == "table"]
            filled = {name.removeprefix(PREFIX) for name in tables
                      if name.startswith(PREFIX) and rows(connection, name)}  # fmt: skip
        self.assertEqual(set(info["records"]), filled)
        text = self.gpuprof("info", path).stdout
        for word in ("./two_processes", "NVIDIA H200", "CUPTI 13.5", "CUDA 13.0", "status 0",
                     " KiB", "complete", "nothing"):  # fmt: skip
            self.assertIn(word, text)

    def test_losses(self):
        path = self.capture("die")
        losses = {loss["name"]: loss["value"] for loss in self.info(path)["losses"]}
        self.assertGreater(losses["records_without_times"], 0)
        self.assertIn(f"{losses['records_without_times']} records_without_times",
                      self.gpuprof("info", path).stdout)  # fmt: skip

    def test_nvprofs_file(self):
        info = self.info(self.nvprof("old_v11"))
        self.assertEqual((info["format"], info["version"]), ("nvprof", 11))
        info = self.info(self.nvprof("basic"))
        self.assertEqual((info["format"], info["version"], info["state"]),
                         ("nvprof", 18, "complete"))  # fmt: skip
        self.assertIn("Version 18", info["description"])
        self.assertTrue(info["processes"][0]["processId"] > 0)

    def test_files_that_are_no_profile(self):
        (self.folder / "text").write_text("text")
        for sql, name, kind in (
            ("CREATE TABLE t(a)", "other", "other-database"),
            ("CREATE TABLE StringIds(id, value); CREATE TABLE META_DATA_EXPORT(name, value)",
             "nsys", "nsight-systems"),
            (None, "text", "no-database"),
        ):  # fmt: skip
            if sql:
                connection = sqlite3.connect(self.folder / name)
                connection.executescript(sql)
                connection.close()
            info = self.info(name, code=20)
            self.assertEqual((info["format"], info["state"]), (kind, "unreadable"))
            self.assertIn(name, info["problem"])
            self.assertIn(info["description"], self.gpuprof("info", name, code=20).stdout)

    def test_large_files_are_estimated(self):
        path = self.capture("vector_add")
        small = self.info(path)
        connection = sqlite3.connect(path)
        connection.executescript(
            "DELETE FROM CUPTI_ACTIVITY_KIND_DRIVER WHERE _id_ = 3; "
            "INSERT INTO RUN VALUES('derived_from', 'a test')")  # fmt: skip
        connection.close()
        os.truncate(path, 600_000_000)  # SQLite takes no notice of what is behind the last page
        info = self.info(path)
        self.assertTrue(info["records_estimated"] and info["times_estimated"])
        self.assertEqual(info["records"], small["records"])
        self.assertEqual((info["first_ns"], info["last_ns"]),
                         (small["first_ns"], small["last_ns"]))  # fmt: skip
        self.assertIn("--exact", self.gpuprof("info", path).stdout)
        exact = self.info(path, "--exact")
        self.assertEqual(exact["records"]["DRIVER"], small["records"]["DRIVER"] - 1)
        self.assertFalse(exact["records_estimated"] or exact["times_estimated"])

    def test_states(self):
        path = self.capture("vector_add")
        writer = sqlite3.connect(path)
        writer.execute("UPDATE RUN SET value = 0 WHERE key = 'finished'")
        writer.commit()
        self.assertEqual(self.info(path)["state"], "unfinished")
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO RUN VALUES('one', 'more')")
        writer.commit()
        info = self.info(path)
        self.assertEqual(info["state"], "being written")
        self.assertEqual(info["log_bytes"], pathlib.Path(f"{path}-wal").stat().st_size)
        self.assertIn("in its log", self.gpuprof("info", path).stdout)
        self.assertEqual(info["run"]["one"], "more")
        writer.close()


if __name__ == "__main__":
    unittest.main()
