"""Shared by tests of the tools for profiles: files of gpuprof and nvprof, and the expected content of a
part, computed from the whole, row by row.
"""

import contextlib
import json
import os
import pathlib
import re
import sqlite3
import subprocess
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
# Rows that are kept whatever the window is.
ALWAYS = ("DEVICE", "DEVICE_ATTRIBUTE", "CONTEXT", "STREAM", "GREEN_CONTEXT", "NVLINK", "PCIE",
          "NAME", "FUNCTION", "SOURCE_LOCATOR", "MODULE")  # fmt: skip


@contextlib.contextmanager
def database(path):
    connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    connection.row_factory = sqlite3.Row
    yield connection
    connection.close()


COMPUTED_COLUMN = ("StringTable", "display")


def schema(connection):
    return {
        (row["type"], row["name"]): row["sql"]
        for row in connection.execute("SELECT * FROM sqlite_master WHERE name NOT LIKE 'sqlite_%'")
    }


def rows(connection, table):
    """By row id; rows of a table without ids are their own keys. Without tables that are recomputed
    for a part."""
    names = [row["name"] for row in connection.execute(f'PRAGMA table_info("{table}")')]
    columns = ", ".join(f'"{name}"' for name in names if (table, name) != COMPUTED_COLUMN)
    try:
        return {
            row[0]: row for row in connection.execute(f'SELECT rowid, {columns} FROM "{table}"')
        }
    except sqlite3.OperationalError:
        return {tuple(row): row for row in connection.execute(f'SELECT * FROM "{table}"')}


# Recomputed from the content of the part.
DERIVED = tuple(
    name
    for name in re.findall(r'\.name = "(\w+)"', (SOURCE / "schema/derived.hpp").read_text())
    if name != "PM_KERNEL"  # only if there are PM samples
)


class Whole:
    """The rows of all tables of a file, and which of them are in a window."""

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
        """Table: row ids."""
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
