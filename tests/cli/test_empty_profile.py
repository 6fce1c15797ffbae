"""A profile of a program that did not use CUDA: what every file contains, and its size."""
# ctest-labels: plain

import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
LARGEST = 300_000  # bytes


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class EmptyProfile(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.profile = pathlib.Path(folder.name) / "empty.sqlite"
        subprocess.run([GPUPROF, "-q", "-o", cls.profile, "true"], check=True, timeout=60)
        cls.connection = sqlite3.connect(f"file:{cls.profile}?mode=ro", uri=True)
        cls.addClassCleanup(cls.connection.close)

    def test_it_is_small(self):
        self.assertLessEqual(self.profile.stat().st_size, LARGEST)

    def test_every_column_is_documented(self):
        documented = set(self.connection.execute('SELECT "table", "column" FROM COLUMN_DOC'))
        objects = self.connection.execute('SELECT "table", doc, type FROM TABLE_DOC').fetchall()
        self.assertGreater(len(objects), 150)
        names = {name for name, _ in documented}
        for name, doc, _ in objects:
            self.assertTrue(doc, name)
            if name in names:  # tables that nothing fills any more have no columns to query
                for column in self.connection.execute(f'PRAGMA table_info("{name}")'):
                    self.assertIn((name, column[1]), documented)
        docs = [doc for (doc,) in self.connection.execute("SELECT doc FROM COLUMN_DOC")]
        self.assertGreater(len(docs), 1500)
        self.assertTrue(all(docs))

    def test_nvprof_does_not_find_pc_samples(self):
        """nvprof looks for the name in its own spelling, and would crash on samples of concurrent kernels."""
        name = "CUPTI_ACTIVITY_KIND_PC_SAMPLING"
        found = self.connection.execute("SELECT 1 FROM sqlite_master WHERE name = ?", (name,))
        self.assertEqual(found.fetchall(), [])
        self.assertEqual(self.connection.execute(f"SELECT * FROM {name}").fetchall(), [])


if __name__ == "__main__":
    unittest.main()
