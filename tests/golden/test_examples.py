"""The queries of examples/queries on captures of real runs: all run, and each finds something.

GPUPROF is the path of the gpuprof binary. The pandas file is skipped where pandas is missing.
"""

import importlib.util
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
# Packed ones are unpacked in the build tree.
BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", ""))
CAPTURES = sorted(
    capture
    for folder in (SOURCE, BUILD)
    for capture in (folder / "tests" / "captures").glob("*.gpcap")
)
QUERIES = SOURCE / "examples" / "queries"
GPUPROF = os.environ.get("GPUPROF")


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="examples-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.databases = {}
        for capture in CAPTURES:
            path = cls.folder / f"{capture.stem}.sqlite"
            subprocess.run([GPUPROF, "replay", "-q", "-o", path, capture], check=True)
            cls.databases[capture.stem] = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            cls.addClassCleanup(cls.databases[capture.stem].close)

    def test_each_query_finds_something(self):
        files = sorted(QUERIES.glob("*.sql"))
        self.assertGreaterEqual(len(files), 5)
        for file in files:
            with self.subTest(query=file.name):
                text = file.read_text()
                if "3.25" in text.splitlines()[0] + text.splitlines()[1]:
                    if sqlite3.sqlite_version_info < (3, 25):
                        continue
                rows = {
                    name: len(run.execute(text).fetchall()) for name, run in self.databases.items()
                }
                self.assertTrue(any(rows.values()), rows)

    def test_each_query_says_what_it_answers(self):
        for file in QUERIES.glob("*.sql"):
            with self.subTest(query=file.name):
                self.assertRegex(file.read_text().splitlines()[0], r"^-- [A-Z].*\?")

    def test_time_in_ranges_is_that_of_the_work_asked_for_inside(self):
        run = self.databases["vector_add"]
        text = (QUERIES / "nvtx_time.sql").read_text()
        rows = {path: (ranges, kernels, ms) for path, ranges, _, kernels, ms in run.execute(text)}
        kernels, gpu = run.execute("SELECT count(*), sum(duration) / 1e6 FROM kernels").fetchone()
        copies = run.execute(
            "SELECT sum(duration) / 1e6 FROM memcpys WHERE range_name = 'copy in'"
        ).fetchone()[0]
        self.assertEqual(rows["vector_add / compute"][:2], (1, kernels))
        self.assertAlmostEqual(rows["vector_add / compute"][2], gpu)
        self.assertEqual(rows["vector_add"][:2], (1, kernels))
        self.assertGreater(rows["vector_add"][2], gpu)
        self.assertEqual(rows["vector_add / copy in"][:2], (1, 0))
        self.assertAlmostEqual(rows["vector_add / copy in"][2], copies)

    def test_lost_names_what_is_missing(self):
        text = (QUERIES / "lost.sql").read_text()
        self.assertEqual(self.databases["vector_add"].execute(text).fetchone()[0], "nothing")
        names = {row[0] for row in self.databases["die"].execute(text)}
        self.assertNotIn("nothing", names)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_pandas_queries(self):
        specification = importlib.util.spec_from_file_location(
            "pandas_queries", QUERIES / "pandas_queries.py"
        )
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        for query in module.QUERIES:
            with self.subTest(query=query.__name__):
                rows = {name: len(query(run)) for name, run in self.databases.items()}
                self.assertTrue(any(rows.values()), rows)


if __name__ == "__main__":
    unittest.main()
