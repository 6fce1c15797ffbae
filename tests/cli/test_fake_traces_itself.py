# ctest-labels: tsan
# ctest-requires: cupti
"""A process that records itself while its threads launch: the collector's begin() and end()."""

import subprocess
import unittest

from fake_run import CUPTI, GPUPROF, PATIENCE, FakeTest


class TracesItself(FakeTest):
    def test_each_file_has_its_own(self):
        rounds = 5
        ran = subprocess.run(
            [self.program("traces_itself"), GPUPROF, CUPTI, str(rounds)], cwd=self.folder,
            env=self.environment({}), stdin=subprocess.DEVNULL, capture_output=True, text=True,
            timeout=4 * PATIENCE)  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout, "")
        for i in range(rounds):
            database = self.database(self.folder / f"{i}.sqlite")
            self.assertEqual(
                database.one("SELECT count(*) FROM kernels WHERE name = 'measured'"), 20, i
            )
            self.assertEqual(database.rows("SELECT * FROM losses"), [])
            self.assertEqual(database.one("SELECT count(*) FROM processes"), 1)


if __name__ == "__main__":
    unittest.main()
