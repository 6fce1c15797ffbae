# ctest-labels: tsan
"""A process that records itself while its threads launch: the collector's begin() and end()."""

import subprocess
import unittest

from fake_metrics import ONE, MetricTest
from fake_run import CUPTI, GPUPROF, PATIENCE, SANITIZED


class TracesItself(MetricTest):
    rounds = 3 if SANITIZED else 5  # begun the first time, again, and after one that was again

    def files(self, *options, kernels=20, **environment):
        ran = subprocess.run(
            [self.program("traces_itself"), GPUPROF, CUPTI, str(self.rounds), *options],
            cwd=self.folder, env=self.environment(environment), stdin=subprocess.DEVNULL,
            capture_output=True, text=True, timeout=4 * PATIENCE)  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertEqual(ran.stdout, "")
        for i in range(self.rounds):
            database = self.database(self.folder / f"{i}.sqlite")
            self.assertEqual(
                database.one("SELECT count(*) FROM kernels WHERE name = 'measured'"), kernels, i
            )
            self.assertEqual(database.one("SELECT count(*) FROM processes"), 1)
            yield database

    def test_each_file_has_its_own(self):
        for database in self.files():
            self.assertEqual(database.rows("SELECT * FROM losses"), [])

    def test_kernels_are_measured(self):
        for database in self.files("--replay-mode", "kernel", "--metrics", ONE):
            values = [v.value for v in self.values(database) if v.name == "measured"]
            gaps = self.gaps(database)
            # A launch that began long before CUPTI was subscribed, and has not ended.
            if not (len(gaps) == 1 and "ranges for" in list(gaps)[0]):
                self.assertEqual((values, gaps), ([64 * 1024] * 20, {}))

    def test_samples(self):
        """Sampling begins while kernels are launched."""
        for database in self.files("--pc-sampling", FAKE_CUPTI_PC_SLOW_MS=5):
            self.assertEqual(
                database.rows("SELECT sum(samples) FROM pc_samples WHERE function = 'measured'"),
                [(20 * 60,)],
            )
            self.assertEqual(database.rows("SELECT * FROM losses"), [])

    def test_counts_of_instructions(self):
        for options in ([], ["--kernels", "measured"]):
            analyses = ("--source-level-analysis", "instruction_execution")
            found = set()
            for database in self.files("-f", *options, *analyses, kernels=0):
                found.add(
                    database.one("""
                        SELECT sum(value) FROM sass_metrics
                        WHERE function = 'measured' AND metric = 'inst_executed'""")
                )
            self.assertEqual(len(found), 1, found)
            self.assertGreater(found.pop(), 0)

    def test_memory(self):
        for database in self.files("--stacks"):
            self.assertGreater(database.one("SELECT count(*) FROM DEVICE_MEMORY"), 0)

    def test_ranges_are_measured(self):
        for database in self.files("--range", "profiler", "--metrics", ONE):
            (value,) = self.values(database, "range")
            self.assertEqual(value.name, "range")
            # Other launches in that time are part of it.
            self.assertGreaterEqual(value.value, 20 * 64 * 1024)
            self.assertEqual(value.value % (64 * 1024), 0)


if __name__ == "__main__":
    unittest.main()
