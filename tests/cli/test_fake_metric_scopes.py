"""Which launches and ranges are measured, with the stand-ins."""

import collections
import unittest

from fake_metrics import ONE, THROUGHPUT, TWO_GROUPS, MetricTest, expected
from fake_run import PREFIX, SANITIZED


class Scopes(MetricTest):
    def measured(self, *options, target=("shapes", 24), metrics=ONE, **more):
        run, database = self.measure(*target, options=options, metrics=metrics, **more)
        self.assert_right(self.values(database))
        self.assertEqual(self.gaps(database), {})
        self.assertEqual(database.count("CONCURRENT_KERNEL"), len(self.kernels(database)))
        return database

    def test_kernels_by_name(self):
        for batch in (256, 4):
            database = self.measured("--metrics-batch", batch, "--kernels", "^saxpy")
            self.assert_measured(
                database,
                self.kernels(database, "s.value = '_Z5saxpyfPKfPf'"),
                "dram__bytes_read.sum",
            )
            self.assertEqual(database.one("SELECT scope FROM METRIC_GROUP"), "kernels ^saxpy")

    def test_several_passes(self):
        # Unrequested metrics are in between.
        database = self.measured("--metrics-batch", 4, "--kernels", "copy", metrics=THROUGHPUT)
        self.assert_measured(
            database, self.kernels(database, "s.value = '_Z4copyPKfPf'"), THROUGHPUT
        )

    def test_context_stream_name_invocation(self):
        database = self.measured("--kernels", "1:8:saxpy:2")
        kernels = self.kernels(database, "s.value = '_Z5saxpyfPKfPf'")
        self.assertEqual(len(kernels), 12)
        # The second launch of each shape.
        second = dict(sorted(kernels.items())[3:6])
        self.assert_measured(database, second, "dram__bytes_read.sum")
        others = ("1:8:saxpy:9", "2:8:saxpy:2", "1:7:saxpy:2", "1:8:copy:2")
        for other in others[:1] if SANITIZED else others:
            with self.subTest(other=other):
                self.assertEqual(self.values(self.measured("--kernels", other)), [])

    def test_devices(self):
        database = self.measured("--devices", "1", target=("devices", 2, 5), FAKE_CUDA_DEVICES=2)
        self.assert_measured(
            database, self.kernels(database, "deviceId = 1"), "dram__bytes_read.sum"
        )

    def test_metrics_of_their_own_for_different_kernels(self):
        run, database = self.measure(
            "shapes",
            24,
            metrics=None,
            options=[
                "--kernels",
                "copy",
                "--metrics",
                "dram__bytes_read.sum",
                "--kernels",
                "saxpy",
                "--metrics",
                "sm__ctas_launched.sum",
            ],
        )
        values = self.values(database)
        self.assert_right(values)
        self.assertEqual(
            collections.Counter((v.name, v.metric) for v in values),
            {
                ("_Z4copyPKfPf", "dram__bytes_read.sum"): 12,
                ("_Z5saxpyfPKfPf", "sm__ctas_launched.sum"): 12,
            },
        )

    def test_skip_and_count(self):
        database = self.measured("--launch-skip", 5, "--launch-count", 7)
        correlations = sorted(self.kernels(database))[5:12]
        self.assertEqual(
            sorted((v.correlation, v.process) for v in self.values(database)), correlations
        )

    def test_skip_and_count_among_kernels_of_a_name(self):
        database = self.measured("--kernels", "copy", "--launch-skip", 2, "--launch-count", 3)
        copies = sorted(self.kernels(database, "s.value = '_Z4copyPKfPf'"))[2:5]
        self.assertEqual(sorted((v.correlation, v.process) for v in self.values(database)), copies)

    def test_left_out(self):
        database = self.measured("--metrics-exclude", "^copy")
        self.assertEqual(self.measured_names(database), {"_Z5saxpyfPKfPf": 12})
        self.assertEqual(database.statistic("metrics_skipped_excluded"), 12)


class Ranges(MetricTest):
    def ranges(self, range_, *target, metrics=TWO_GROUPS, options=()):
        run, database = self.measure(
            *target, options=["--range", range_, *options], metrics=metrics
        )
        self.assertEqual(self.gaps(database), {}, run.stderr)
        return run, database, self.values(database, "range")

    def assert_sums(self, values, launches):
        for one in values:
            self.assertEqual(one.value, expected(one.metric, launches), one)

    def test_nvtx(self):
        names = (("step", 5), ("forward", 3), ("backward", 2))
        for name, launches in names[:1] if SANITIZED else names:
            with self.subTest(name=name):
                run, database, values = self.ranges(f"nvtx:^{name}$", "ranges", 4)
                # Ranges with the same name stay separate.
                self.assertEqual(
                    collections.Counter((v.name, v.metric) for v in values),
                    {(name, metric): 4 for metric in TWO_GROUPS.split(",")},
                )
                self.assert_sums(values, [(64, 256)] * launches)
                self.assertEqual(self.values(database), [])
                # Metrics with different costs per launch are still counted in one run.
                self.assertNotIn("metrics: run", run.stderr)

    def test_regular_expression(self):
        # Ranges inside a measured one are part of it.
        _, _, values = self.ranges("nvtx:ward", "ranges", 3, metrics=ONE)
        self.assertEqual(collections.Counter(v.name for v in values), {"forward": 3, "backward": 3})
        _, _, values = self.ranges("nvtx:", "ranges", 3, metrics=ONE)
        self.assertEqual(collections.Counter(v.name for v in values), {"step": 3})

    def test_times(self):
        two_runs = f"{ONE},flop_count_sp"
        _, database, _ = self.ranges("nvtx:forward", "ranges", 4, metrics=two_runs)
        rows = database.rows(
            "SELECT start, stop, ordinal FROM METRIC_RANGE WHERE passGroup = 1 ORDER BY start"
        )
        self.assertEqual([row[2] for row in rows], [1, 2, 3, 4])
        first, last = database.rows(
            f'SELECT min(start), max("end") FROM {PREFIX}CONCURRENT_KERNEL'
        )[0]
        for start, end, _ in rows:
            self.assertTrue(first - 10**9 < start < end < last + 10**9)
        # Ranges of a later run had other times than those of the traced run.
        self.assertEqual(
            database.rows("SELECT start, stop FROM METRIC_RANGE WHERE passGroup = 2"),
            4 * [(None, None)],
        )

    def test_profiler(self):
        _, _, values = self.ranges("profiler", "ranges", 4)
        self.assertEqual(len(values), 2)
        self.assert_sums(values, [(64, 256)] * 12)
        _, _, values = self.ranges("profiler", "windows", "runtime")
        self.assertEqual(len(values), 4)
        self.assert_sums(values, [(64, 256)] * 7)

    def test_graphs(self):
        """Kernels of graphs are part of a range, and not traced."""
        _, database, values = self.ranges("profiler", "graphs", 4, 3)
        eager = database.rows(f"""
            SELECT gridX * gridY * gridZ, blockX * blockY * blockZ
            FROM {PREFIX}CONCURRENT_KERNEL""")
        self.assertEqual(len(eager), 4)
        self.assertEqual(len(values), 2)
        self.assert_sums(values, eager + 12 * [(64, 256)])
        # Tracing them would add instructions to them.
        self.assertEqual(database.losses(), {"graphs_not_traced": 4})
        # CUPTI's own patches are not in them.
        run, database = self.measure(
            "graphs", 4, 3, options=["--range", "profiler"], metrics=f"{ONE},flop_count_sp"
        )
        self.assertEqual([v.metric for v in self.values(database, "range")], [ONE])
        self.assertEqual(
            self.gaps(database),
            {"counters of patched code leave out the CUDA graphs that were launched": 1},
        )

    def test_a_range_that_is_open_at_the_end(self):
        _, _, values = self.ranges("profiler", "ranges", 3, "open")
        self.assertEqual(len(values), 2)
        self.assert_sums(values, [(64, 256)] * 17)
        _, _, values = self.ranges("nvtx:step", "ranges", 3, "open")
        self.assertEqual(len(values), 6)
        self.assert_sums(values, [(64, 256)] * 5)

    def test_windows_and_passes(self):
        _, _, values = self.ranges(
            "nvtx:step",
            "ranges",
            7,
            options=["--metrics-batch", 3],
            metrics=f"{THROUGHPUT},dram__bytes_read.sum",
        )
        self.assertEqual(
            collections.Counter(v.metric for v in values),
            {THROUGHPUT: 7, "dram__bytes_read.sum": 7},
        )
        self.assert_sums(values, [(64, 256)] * 5)


if __name__ == "__main__":
    unittest.main()
