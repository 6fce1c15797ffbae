"""Views as answered by DuckDB, which attaches a profile and runs the SQL of its views itself.

GPUPROF is the path of the gpuprof binary. Skipped if scripts/setup has not installed DuckDB.
"""
# ctest-labels: plain

import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parents[2]
BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", ""))
DUCKDB = SOURCE / ".tools" / "duckdb"
GPUPROF = os.environ.get("GPUPROF")
# Its values are texts and numbers, and DuckDB has one type per column: all are texts there.
MIXED = {"nvtx_payloads"}
CAPTURES = ((SOURCE, "torch_step"), (SOURCE, "two_processes"), (BUILD, "kinds"))

ASK = """
import decimal, duckdb, json, pathlib, sys
[extension] = pathlib.Path(sys.argv[1]).glob("duckdb_extension_sqlite_scanner/**/*.duckdb_extension")
database = duckdb.connect(config={"allow_unsigned_extensions": True})
database.execute(f"LOAD '{extension}'")
database.execute("SET enable_progress_bar = false")
database.execute("SET threads = 1")
database.execute(f"ATTACH '{sys.argv[2]}' AS run (TYPE sqlite)")
def plain(value):
    if isinstance(value, bytes):
        return value.decode()
    return float(value) if isinstance(value, decimal.Decimal) else value
answers = {}
for view in sys.argv[3:]:
    try:
        rows = database.execute(f'SELECT * FROM run."{view}"').fetchall()
        answers[view] = [[plain(value) for value in row] for row in rows]
    except Exception as error:
        answers[view] = str(error)[:300]
print(json.dumps(answers))
"""


def in_order(rows, columns, mixed):
    """Values in a common form: numbers to nine digits, throughputs, which DuckDB rounds and SQLite
    truncates, to four."""

    def plain(value, column):
        if mixed and isinstance(value, (int, float, str)):
            try:
                return f"{float(value):.9g}"
            except ValueError:
                return value
        if column == "throughput" and value is not None:
            return f"{value:.4g}"
        if isinstance(value, float):
            value = float(f"{value:.9g}")
        return int(value) if isinstance(value, (bool, float)) and value == int(value) else value

    return sorted((list(map(plain, row, columns)) for row in rows), key=repr)


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
@unittest.skipUnless(DUCKDB.is_dir(), "scripts/setup got no DuckDB")
class DuckDb(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="duckdb-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)

    def check(self, profile):
        connection = sqlite3.connect(profile)
        self.addCleanup(connection.close)
        views = [name for (name,) in
                 connection.execute("SELECT name FROM sqlite_master WHERE type = 'view'")]  # fmt: skip
        ran = subprocess.run(
            [sys.executable, "-c", ASK, DUCKDB, profile, *views], text=True, capture_output=True,
            env={**os.environ, "PYTHONPATH": str(DUCKDB)}, timeout=300, check=False)  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stderr)
        answers = json.loads(ran.stdout)
        for view in views:
            with self.subTest(view, profile=profile.name):
                self.assertIsInstance(answers[view], list, answers[view])
                cursor = connection.execute(f'SELECT * FROM "{view}"')
                shape = [column[0] for column in cursor.description], view in MIXED
                self.assertEqual(in_order(answers[view], *shape), in_order(cursor, *shape))

    def test_views_are_answered_as_by_sqlite(self):
        for folder, capture in CAPTURES:
            profile = self.folder / f"{capture}.sqlite"
            path = folder / f"tests/captures/{capture}.gpcap"
            if path.exists():  # the build's are unpacked there
                subprocess.run([GPUPROF, "replay", "-q", "-o", profile, path], check=True)
                self.check(profile)

    def test_the_same_while_a_run_goes_on(self):
        """Sums are computed at that time."""
        profile = self.folder / "open.sqlite"
        subprocess.run([GPUPROF, "replay", "-q", "-o", profile,
                        SOURCE / "tests/captures/torch_step.gpcap"], check=True)  # fmt: skip
        connection = sqlite3.connect(profile)
        for table in ("KERNEL_TIME", "API_TIME", "LAUNCH_TIME", "OCCUPANCY_TIME"):
            connection.execute(f"DELETE FROM {table}")
        connection.commit()
        connection.close()
        self.check(profile)


if __name__ == "__main__":
    unittest.main()
