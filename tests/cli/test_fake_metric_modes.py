"""Metrics in one run of the program, with the stand-ins: multiplexing and kernel replay."""
# ctest-labels: plain

import collections
import re
import unittest

from fake_metrics import ONE, THROUGHPUT, TWO_GROUPS, MetricTest, expected


class Multiplex(MetricTest):
    METRICS = "dram__bytes_read.sum,sm__ctas_launched.sum,gpu__time_duration.sum"

    def multiplex(self, *target, options=(), metrics=METRICS, **more):
        return self.measure(
            *target, options=["--replay-mode", "multiplex", *options], metrics=metrics, **more
        )

    def test_every_shape_in_every_group(self):
        # Only the number of samples decides what is measured, also where a start is expensive and
        # each group has to wait until it has earned the next one.
        for start_ms in (0, 100):
            with self.subTest(start_ms=start_ms):
                self.assert_every_shape_in_every_group(start_ms)

    def assert_every_shape_in_every_group(self, start_ms):
        samples, batch = 5, 16
        run, database = self.multiplex(
            "training",
            300,
            options=[
                "--metrics-overhead",
                "1000%",
                "--metrics-samples",
                samples,
                "--metrics-batch",
                batch,
            ],
            FAKE_CUPTI_START_COST_MS=f"{start_ms},0",
        )
        self.assertNotIn("run 2", run.stderr)
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 12000)
        self.assertEqual(self.gaps(database), {})
        values = self.values(database)
        self.assert_right(values)
        self.assertEqual(len({(v.correlation, v.metric) for v in values}), len(values))
        measured = collections.Counter((v.name, v.metric) for v in values)
        self.assertEqual(len(measured), 12 * 3)
        self.assertGreaterEqual(min(measured.values()), samples)
        self.assertLessEqual(max(measured.values()), samples + batch)
        self.assert_covered(database, measured)

    def assert_covered(self, database, measured):
        rows = database.rows(
            "SELECT name, metric, launches, measured, mean, variance FROM metric_coverage"
        )
        self.assertEqual(sum(row[3] for row in rows), sum(measured.values()))
        for name, metric, launches, count, mean, variance in rows:
            self.assertEqual(count, measured[name, metric])
            self.assertEqual(
                launches, database.one("SELECT count(*) FROM kernels WHERE name = ?", name)
            )
            if count:
                blocks = int(re.search("[0-9]+$", name)[0]) + 1
                self.assertEqual(mean, expected(metric, [(blocks, 256)]))
            self.assertEqual(variance, 0 if count > 1 else None)

    def test_budget(self):
        """If a measured launch is expensive, few are measured, and the cost is recorded."""

        def measured(steps, overhead):
            return self.multiplex(
                "training",
                steps,
                options=["--metrics-overhead", overhead, "--metrics-samples", 3000],
                metrics=ONE,
                FAKE_CUPTI_METRIC_COST_US=300,
                FAKE_CUPTI_UNSTEADY=1,
            )[1]

        generous = measured(150, "1000%")
        self.assertEqual(generous.statistic("metrics_launches"), 6000)
        # Long enough to earn the first start of a profiler object, assumed to cost 0.2 s.
        narrow = measured(1000, "50%")
        self.assertEqual(narrow.statistic("metrics_launches"), 40000)
        self.assertGreater(narrow.statistic("metrics_ranges"), 0)
        # How much either measures depends on the machine and its load.
        shares = [run.statistic("metrics_ranges") / run.statistic("metrics_launches")
                  for run in (generous, narrow)]  # fmt: skip
        self.assertGreater(shares[0], 2 * shares[1])
        self.assertGreater(narrow.statistic("metrics_overhead_permille"), 0)

    def test_what_is_known_well_gets_no_more(self):
        """Values that do not vary are known after a few launches; others continue to be measured."""

        def measured(**more):
            _, database = self.multiplex(
                "training",
                800,
                options=[
                    "--metrics-overhead",
                    "1000%",
                    "--metrics-samples",
                    3000,
                    "--flush-period",
                    20,
                ],
                metrics=ONE,
                **more,
            )
            return collections.Counter(v.name for v in self.values(database))

        steady = measured()
        self.assertEqual(len(steady), 12)
        self.assertGreaterEqual(min(steady.values()), 8)
        self.assertGreater(sum(measured(FAKE_CUPTI_UNSTEADY=1).values()), 2 * sum(steady.values()))

    def test_no_budget_for_a_start(self):
        _, database = self.multiplex(
            "training", 20, options=["--metrics-overhead", "0.1%"], FAKE_CUPTI_START_COST_MS="50,5"
        )
        self.assertEqual(database.statistic("metrics_ranges"), 0)
        self.assertEqual(self.values(database), [])
        rows = database.rows("SELECT metric, launches, measured, mean FROM metric_coverage")
        self.assertEqual(len(rows), 12 * 3)
        self.assertEqual({row[2:] for row in rows}, {(0, None)})

    def test_each_pass_in_another_launch(self):
        """One sample of a metric of three passes takes three launches of the shape."""
        _, database = self.multiplex(
            "training",
            300,
            options=["--metrics-overhead", "1000%", "--metrics-samples", 3],
            metrics=f"{THROUGHPUT},{ONE}",
        )
        values = self.values(database)
        self.assert_right(values)
        samples = collections.Counter((v.name, v.metric) for v in values)
        self.assertEqual(len(samples), 12 * 2)
        of_passes = [n for (_, metric), n in samples.items() if metric == THROUGHPUT]
        self.assertEqual((min(of_passes), max(of_passes)), (3, 3))
        self.assertEqual(
            database.rows("SELECT passes, metrics FROM METRIC_GROUP ORDER BY passes"),
            [(1, ONE), (3, THROUGHPUT)],
        )
        self.assertEqual(self.gaps(database), {})

    def test_fewer_launches_than_passes(self):
        """Two launches are wanted, and the metric takes three."""
        options = ["--metrics-overhead", "1000%", "--kernels", "layer_0", "--launch-skip", 400,
                   "--launch-count", 2]  # fmt: skip
        _, database = self.multiplex("training", 120, options=options, metrics=THROUGHPUT)
        self.assertEqual(self.values(database), [])
        note = "the kernel was not launched once for each pass of these metrics"
        self.assertEqual(self.gaps(database), {note: 1})


class KernelReplay(MetricTest):
    def kernel(self, *target, options=(), metrics=f"{TWO_GROUPS},{THROUGHPUT}", **more):
        return self.measure(
            *target, options=["--replay-mode", "kernel", *options], metrics=metrics, **more
        )

    def test_all_in_one_run(self):
        metrics = f"{TWO_GROUPS},{THROUGHPUT}"
        run, database = self.kernel("shapes", 12, options=["--metrics-batch", 5])
        self.assertEqual(len(self.assert_all_measured(database, metrics)), 12)
        self.assertEqual(self.gaps(database), {})
        self.assertNotIn("metrics: run", run.stderr)
        self.assertNotIn("have no times", run.stderr)
        self.assertEqual(
            database.rows("SELECT mode, metrics FROM METRIC_GROUP"),
            [("kernel", metrics.replace(",", ", "))],
        )

    def test_a_version_without_times(self):
        run, _ = self.kernel("shapes", 2, options=["-f"], FAKE_CUPTI_VERSION=130000)
        self.assertIn("kernels that CUPTI 13.0 or older replays have no times", run.stderr)

    def test_kernels_that_wait_for_others(self):
        run, database = self.kernel("cooperative", 4)
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 16)
        self.assertEqual(self.measured_names(database), {"ordinary": 4})
        self.assert_right(self.values(database))
        self.assertEqual(self.gaps(database), {})
        self.assertEqual(database.statistic("metrics_skipped_excluded"), 12)

    def test_only_kernel_replay_leaves_them_out(self):
        _, database = self.measure("cooperative", 4)
        self.assertEqual(len(self.assert_all_measured(database)), 16)

    def test_graphs(self):
        for mode in ("kernel", "application", "multiplex"):
            with self.subTest(mode=mode):
                run, database = self.measure(
                    "graphs",
                    6,
                    3,
                    options=[
                        "--replay-mode",
                        mode,
                        "--metrics-batch",
                        4,
                        "--metrics-overhead",
                        "1000%",
                    ],
                )
                self.assertEqual(database.count("CONCURRENT_KERNEL"), 24)
                self.assertEqual(database.statistic("metrics_skipped_graph"), 6)
                self.assertEqual(self.gaps(database), {}, run.stderr)
                if mode != "multiplex":
                    self.assertEqual(len(self.assert_all_measured(database)), 6)

    def test_graphs_with_several_passes(self):
        run, database = self.measure("graphs", 6, 3, metrics=THROUGHPUT)
        self.assertEqual(len(self.assert_all_measured(database, THROUGHPUT)), 6, run.stderr)

    def test_captures(self):
        """Neither Start nor Stop while a stream is captured: the stand-in would answer 999."""
        for mode in ("application", "kernel"):
            for metrics in (TWO_GROUPS, THROUGHPUT):
                with self.subTest(mode=mode, metrics=metrics):
                    run, database = self.measure(
                        "capture",
                        5,
                        options=["--replay-mode", mode, "--metrics-batch", 3],
                        metrics=metrics,
                    )
                    self.assertEqual(self.notices(run), [])
                    self.assertEqual(len(self.assert_all_measured(database, metrics)), 20)
                    self.assertEqual(self.gaps(database), {})
                    self.assertEqual(database.statistic("metrics_skipped_capture"), 10)
                    self.assertEqual(database.statistic("metrics_skipped_graph"), 5)
                    self.assertIn(
                        "launches that were not measured: 5 CUDA graphs, 10 captured into graphs",
                        run.stderr,
                    )


if __name__ == "__main__":
    unittest.main()
