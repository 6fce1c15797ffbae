"""Databases are read by SQLite 3.17 and 3.24, older and newer than nvprof's tools have, and by gpuprof's.

Replays every capture of tests/captures, and one written here. Skipped if no old SQLite is built
and cargo is missing or cannot fetch its sources: see scripts/old_sqlite.
"""
# ctest-labels: plain

import os
import pathlib
import sqlite3
import struct
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
OLD_SQLITE = SOURCE / "scripts" / "old_sqlite"
GPUPROF = os.environ.get("GPUPROF", str(SOURCE / "build" / "bin" / "gpuprof"))
SKIPPED = 77

HELLO, TABLE, BATCH, GOODBYE = 1, 6, 8, 11
U32, U64, STRING = 6, 8, 10
PLAIN, CORRELATION = 0, 1
WIDTH = {U32: 4, U64: 8, STRING: 4}


def text(value):
    return struct.pack("<I", len(value)) + value.encode()


def frame(kind, payload):
    return struct.pack("<IIQ", kind, 0, len(payload)) + payload


def table(number, name, columns):
    payload = struct.pack("<I", number) + text(name) + text("doc") + struct.pack("<I", len(columns))
    for column, kind, role in columns:
        payload += text(column) + struct.pack("<BBHB", kind, role, WIDTH[kind], 1) + text("doc")
    return frame(TABLE, payload)


def small_capture():
    """Two kernels, their launches, a range, and an unknown table."""
    fields = {"process_id": "100", "parent_process_id": "1", "command_line": "app"}
    hello = struct.pack("<II", 1, len(fields)) + b"".join(
        text(key) + text(value) for key, value in fields.items()
    )
    kernel = [
        ("start", U64, PLAIN),
        ("end", U64, PLAIN),
        ("deviceId", U32, PLAIN),
        ("correlationId", U32, CORRELATION),
        ("name", STRING, PLAIN),
    ]
    call = [
        ("cbid", U32, PLAIN),
        ("start", U64, PLAIN),
        ("end", U64, PLAIN),
        ("processId", U32, PLAIN),
        ("threadId", U32, PLAIN),
        ("correlationId", U32, CORRELATION),
    ]
    marker = [
        ("flags", U32, PLAIN),
        ("timestamp", U64, PLAIN),
        ("id", U32, PLAIN),
        ("objectKind", U32, PLAIN),
        ("name", STRING, PLAIN),
        ("domain", STRING, PLAIN),
        ("threadId", U32, PLAIN),
    ]
    strings = struct.pack("<I", 1) + text("_Z1fv") + struct.pack("<I", 2) + text("range")
    blocks = [
        (0, 2, strings),
        (10, 2, struct.pack("<QQIII", 10, 20, 0, 1, 1) + struct.pack("<QQIII", 30, 40, 0, 2, 1)),
        (
            5,
            2,
            struct.pack("<IQQIII", 211, 1, 2, 100, 7, 1)
            + struct.pack("<IQQIII", 211, 3, 4, 100, 7, 2),
        ),
        (
            12,
            2,
            struct.pack("<IQIIIII", 2, 1, 1, 2, 2, 0, 7)
            + struct.pack("<IQIIIII", 4, 9, 1, 2, 0, 0, 7),
        ),
        (99, 1, struct.pack("<I", 5)),
    ]
    batch = struct.pack("<IIII", 0xFFFFFFFF, 0, len(blocks), 0)
    for number, rows, data in blocks:
        batch += struct.pack("<IIQ", number, rows, len(data)) + data
    return (
        b"gpcap\r\n\x1a"
        + struct.pack("<I", 1)
        + frame(HELLO, hello)
        + table(10, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", kernel)
        + table(5, "CUPTI_ACTIVITY_KIND_RUNTIME", call)
        + table(12, "CUPTI_ACTIVITY_KIND_MARKER", marker)
        + table(99, "CUPTI_ACTIVITY_KIND_OF_LATER", [("value", U32, PLAIN)])
        + frame(BATCH, batch)
        + frame(GOODBYE, b"")
    )


class OldSqlite(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        folder = pathlib.Path(cls.folder.name)
        small = folder / "small.gpcap"
        small.write_bytes(small_capture())
        cls.databases = []
        for capture in [small, *sorted((SOURCE / "tests" / "captures").glob("**/*.gpcap"))]:
            database = folder / f"{len(cls.databases)}-{capture.stem}.sqlite"
            replay = subprocess.run(
                [GPUPROF, "replay", capture, "-q", "-o", database], text=True, capture_output=True
            )
            assert replay.returncode == 0, f"{capture}: {replay.stderr}"
            cls.databases.append(database)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_what_was_written(self):
        connection = sqlite3.connect(self.databases[0])
        for name, rows in (
            ("CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", 2),
            ("kernels", 2),
            ("CUPTI_ACTIVITY_KIND_RUNTIME", 2),
            ("NVTX_RANGE", 1),
            ("CUPTI_ACTIVITY_KIND_OF_LATER", 1),
            ("Version", 1),
        ):
            self.assertEqual(connection.execute(f"SELECT count(*) FROM {name}").fetchone(), (rows,))
        connection.close()

    def test_old_versions_read_all(self):
        result = subprocess.run(
            [sys.executable, OLD_SQLITE, *self.databases], text=True, capture_output=True
        )
        self.assertEqual(result.returncode, 0, result.stdout + result.stderr)
        self.assertEqual(result.stdout.count(" views, "), 2 * len(self.databases))

    def test_ours_reads_all(self):
        for database in self.databases:
            connection = sqlite3.connect(database)
            objects = connection.execute("SELECT type, name FROM sqlite_master").fetchall()
            for kind, name in objects:
                if kind in ("table", "view"):
                    connection.execute(f'SELECT * FROM "{name}" LIMIT 1').fetchall()
            self.assertEqual(connection.execute("PRAGMA integrity_check").fetchall(), [("ok",)])
            self.assertEqual(connection.execute("PRAGMA journal_mode").fetchone(), ("delete",))
            connection.close()


def main():
    build = subprocess.run([sys.executable, OLD_SQLITE, "--build"], text=True, capture_output=True)
    if build.returncode == SKIPPED:
        print("skipped:", build.stderr.strip())
        sys.exit(SKIPPED)
    if build.returncode != 0:
        print(build.stderr)
        sys.exit(1)
    unittest.main()


if __name__ == "__main__":
    main()
