"""gpuprof finish: completes what a run normally computes at its end.

GPUPROF is the path of the gpuprof binary.
"""
# ctest-labels: plain

import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

from profile_tools import DERIVED

GPUPROF = os.environ.get("GPUPROF")
CAPTURES = pathlib.Path(__file__).parents[1] / "captures"
# Small files have no ROW_GROUP and no ACCOUNT_BLOCK.
COMPUTED = ("NVTX_RANGE", *(t for t in DERIVED if t not in ("ROW_GROUP", "ACCOUNT_BLOCK")))


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Finish(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.whole = self.folder / "whole.sqlite"
        self.gpuprof("replay", CAPTURES / "torch_step.gpcap", "-o", self.whole)
        self.cut = self.folder / "cut.sqlite"
        shutil.copy(self.whole, self.cut)

    def gpuprof(self, *words, code=0):
        ran = subprocess.run([GPUPROF, *words], capture_output=True, text=True, timeout=300)
        self.assertEqual(ran.returncode, code, ran.stderr)
        return ran.stderr

    def rows(self, path, sql):
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def cut_short(self):
        """As a killed launcher leaves its file."""
        connection = sqlite3.connect(self.cut)
        for table in COMPUTED:
            connection.execute(f"DELETE FROM {table}")
        connection.execute("UPDATE StringTable SET display = NULL")
        connection.execute("UPDATE RUN SET value = 0 WHERE key = 'finished'")
        for (index,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'index' AND name LIKE 'INDEX_%'"
        ).fetchall():
            connection.execute(f"DROP INDEX {index}")
        connection.commit()
        connection.close()

    def assert_finished(self, path):
        for table in COMPUTED:
            with self.subTest(table=table):
                expected = self.rows(self.whole, f"SELECT * FROM {table}")
                self.assertTrue(expected)
                self.assertEqual(self.rows(path, f"SELECT * FROM {table}"), expected)
        indexes = "SELECT name FROM sqlite_master WHERE type = 'index' ORDER BY 1"
        self.assertEqual(self.rows(path, indexes), self.rows(self.whole, indexes))
        self.assertEqual(self.rows(path, "SELECT * FROM StringTable"),
                         self.rows(self.whole, "SELECT * FROM StringTable"))  # fmt: skip
        self.assertEqual(self.rows(path, "SELECT 1 FROM RUN WHERE key = 'derived_from'"), [])

    def test_into_a_copy(self):
        self.cut_short()
        before = self.cut.read_bytes()
        self.gpuprof("finish", self.cut, "-o", self.folder / "made.sqlite")
        self.assertEqual(self.cut.read_bytes(), before)
        self.assert_finished(self.folder / "made.sqlite")

    @unittest.skipIf(sqlite3.sqlite_version_info < (3, 35), "SQLite drops no columns")
    def test_of_an_older_gpuprof(self):
        """It lacks tables and a column that today's views use."""
        connection = sqlite3.connect(self.cut)
        for (view,) in connection.execute(
            "SELECT name FROM sqlite_master WHERE type = 'view'"
        ).fetchall():
            connection.execute(f"DROP VIEW {view}")
        for table in ("LAUNCH_SHAPE", "KERNEL_TIME", "API_TIME", "LAUNCH_TIME", "STEP"):
            connection.execute(f"DROP TABLE {table}")
        connection.execute("CREATE TABLE API_TIME(domain TEXT, name TEXT, median INT, p90 INT, p99 INT,"
                           " PRIMARY KEY(domain, name)) WITHOUT ROWID")  # fmt: skip
        connection.execute("ALTER TABLE StringTable DROP COLUMN display")
        for view in ("kernels", "steps", "api_summary"):
            connection.execute(f"CREATE VIEW {view} AS SELECT 1 AS name")
        connection.commit()
        connection.close()
        self.gpuprof("finish", self.cut)
        for sql in ("SELECT * FROM kernels ORDER BY start", "SELECT * FROM steps ORDER BY start",
                    "SELECT * FROM api_summary ORDER BY 1, 2"):  # fmt: skip
            self.assertEqual(self.rows(self.cut, sql), self.rows(self.whole, sql))

    def test_in_place(self):
        self.cut_short()
        said = self.gpuprof("finish", self.cut)
        self.assertIn(f"{self.cut}: ", said)
        self.assert_finished(self.cut)
        # The records that never arrived are still missing.
        self.assertEqual(
            self.rows(self.cut, "SELECT value FROM RUN WHERE key = 'finished'"), [(0,)]
        )
        self.gpuprof("finish", self.cut, "-q")  # a second time
        self.assert_finished(self.cut)

    def test_where_nothing_but_computing_was_left_out(self):
        """As an interrupted launcher leaves its file."""
        self.cut_short()
        connection = sqlite3.connect(self.cut)
        connection.execute("INSERT INTO RUN VALUES('not_computed', 'indexes')")
        connection.commit()
        connection.close()
        said = subprocess.run([GPUPROF, "-i", self.cut], capture_output=True, text=True).stderr
        self.assertIn("All records are there; gpuprof finish", said)
        self.gpuprof("finish", self.cut, "-q")
        self.assert_finished(self.cut)
        told = "SELECT key, value FROM RUN WHERE key IN ('finished', 'not_computed')"
        self.assertEqual(self.rows(self.cut, told), [("finished", 1)])

    def test_a_file_of_nvprof(self):
        foreign = self.folder / "nvprof.sqlite"
        connection = sqlite3.connect(foreign)
        connection.executescript(
            "CREATE TABLE Version(version INTEGER); INSERT INTO Version VALUES(18);"
            "CREATE TABLE StringTable(_id_ INTEGER PRIMARY KEY, value TEXT);"
            "CREATE TABLE CUPTI_ACTIVITY_KIND_RUNTIME(_id_ INTEGER PRIMARY KEY, cbid INT, "
            "start INT, [end] INT, processId INT, threadId INT, correlationId INT, returnValue INT);"
            "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES(1, 211, 10, 20, 1, 1, 1, 0);"
        )
        connection.close()
        said = self.gpuprof("finish", foreign, "-o", self.folder / "made.sqlite")
        self.assertIn("indexes were made, but it has no tables", said)
        indexes = "SELECT name FROM sqlite_master WHERE type = 'index'"
        self.assertEqual(
            self.rows(self.folder / "made.sqlite", indexes),
            [("INDEX_CUPTI_ACTIVITY_KIND_RUNTIME",)],
        )

    def test_a_file_that_somebody_writes(self):
        self.cut_short()
        writer = sqlite3.connect(self.cut)
        self.addCleanup(writer.close)
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("INSERT INTO StringTable(value) VALUES('more')")
        writer.commit()
        said = self.gpuprof("finish", self.cut, code=21)
        self.assertIn("is in use", said)
        self.assertEqual(self.rows(self.cut, "SELECT count(*) FROM LAUNCH_RANGE"), [(0,)])

    def test_not_a_profile(self):
        self.cut.write_text("no database at all, but long enough to have a header " * 20)
        self.gpuprof("finish", self.cut, code=20)


if __name__ == "__main__":
    unittest.main(verbosity=2)
