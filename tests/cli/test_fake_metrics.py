# ctest-requires: cupti
# ctest-labels: tsan
"""gpuprof --metrics on the stand-ins: each value is the one that launch has."""

import collections
import re
import subprocess
import unittest

from fake_metrics import ONE, THROUGHPUT, TWO_GROUPS, MetricTest, expected
from fake_run import CUPTI, FAKE, GPUPROF, PREFIX


class ApplicationReplay(MetricTest):
    def test_every_kernel_has_every_metric(self):
        metrics = (
            "achieved_occupancy,dram__bytes_read.sum,sm__ctas_launched.sum,ipc,"
            "gpu__time_duration.sum,flop_count_sp"
        )
        run, database = self.measure("shapes", 30, metrics=metrics)
        self.assertEqual(len(self.assert_all_measured(database, metrics)), 30)
        self.assertEqual(self.gaps(database), {})
        self.assertEqual(self.notices(run), [])
        # Four classes of cost, one run each.
        self.assertIn("metrics: run 4 of 4", run.stderr)
        self.assertNotIn("run 5", run.stderr)
        self.assertIn("metrics: 120 measurements of launches", run.stderr)
        self.assertIn("nothing lost", run.stderr)

    def test_versions(self):
        """What spoils measuring or tracing in one version of CUPTI or another is left out."""
        for version in (28, 130000, 130100, 130300, 130500):
            with self.subTest(version=version):
                run, database = self.measure("graphs", 4, 3, FAKE_CUPTI_VERSION=version)
                self.assertEqual(self.notices(run), [])
                self.assertEqual(len(self.assert_all_measured(database)), 4)
                self.assertEqual(database.count("CONCURRENT_KERNEL"), 16)
                self.assertEqual(database.losses(), {})
                left_out = [
                    kind.removeprefix(PREFIX)
                    for (kind,) in database.rows(
                        "SELECT kind FROM STATISTIC WHERE name = 'kind_unavailable'"
                    )
                ]
                for kind in ("JIT", "MEM_DECOMPRESS"):
                    self.assertIn(kind, left_out)
                self.assertEqual("PCIE" in left_out, version < 130200)

    def test_groups_and_the_plan(self):
        run, database = self.measure(
            "shapes", 6, options=["--metrics-plan"], metrics=f"{TWO_GROUPS},{THROUGHPUT}"
        )
        groups = database.rows(
            "SELECT _id_, chip, mode, scope, costClass, passes, metrics FROM METRIC_GROUP"
        )
        self.assertEqual(
            groups,
            [
                (1, "FAKE1", "application", "", "outside the SM", 1, "dram__bytes_read.sum"),
                (2, "FAKE1", "application", "", "inside the SM", 1, "sm__ctas_launched.sum"),
                (3, "FAKE1", "application", "", "inside the SM", 3, THROUGHPUT),
            ],
        )
        self.assertIn("application replay, 5 runs of the program", run.stderr)
        self.assertIn("group 3: FAKE1, inside the SM, 3 passes", run.stderr)
        self.assertEqual(
            database.rows("SELECT passGroup, count(*) FROM METRIC_RANGE GROUP BY 1"),
            [(1, 6), (2, 6), (3, 6)],
        )

    def test_the_plan_alone(self):
        plan = subprocess.run(
            [GPUPROF, "--cupti", str(CUPTI), "--metrics-plan", "--metrics", TWO_GROUPS],
            env=self.environment({}),
            capture_output=True,
            text=True,
            cwd=self.folder,
        )
        self.assertEqual(plan.returncode, 0, plan.stderr)
        self.assertIn("application replay, 2 runs of the program", plan.stdout)
        self.assertEqual(plan.stdout.count("  group "), 2)

    def test_one_run_only(self):
        run = self.profile(
            "shapes", 6, check=5, options=["--replay-mode", "disabled", "--metrics", TWO_GROUPS]
        )
        self.assertIn("these metrics take 2 runs on FAKE1", run.stderr)
        run, database = self.measure(
            "shapes", 6, options=["--replay-mode", "disabled"], metrics=ONE
        )
        self.assertEqual(len(self.assert_all_measured(database, ONE)), 6, run.stderr)

    def test_windows(self):
        _, database = self.measure("shapes", 50, options=["--metrics-batch", 4])
        self.assertEqual(len(self.assert_all_measured(database)), 50)
        self.assertEqual(self.gaps(database), {})

    def test_several_passes(self):
        for batch in (256, 4):
            with self.subTest(batch=batch):
                run, database = self.measure(
                    "shapes",
                    18,
                    options=["--metrics-batch", batch],
                    metrics=f"{THROUGHPUT},dram__bytes_read.sum",
                )
                self.assertEqual(
                    len(self.assert_all_measured(database, f"{THROUGHPUT},dram__bytes_read.sum")),
                    18,
                )
                self.assertEqual(self.gaps(database), {}, run.stderr)
                self.assertIn("run 4 of 4", run.stderr)

    def test_chips_devices_and_contexts(self):
        run, database = self.measure(
            "devices",
            3,
            10,
            metrics="achieved_occupancy,dram_read_bytes,ipc",
            FAKE_CUDA_DEVICES=3,
            FAKE_CUDA_CHIPS="FAKE1,FAKE2",
        )
        kernels = self.assert_all_measured(
            database, "achieved_occupancy,dram_read_bytes,ipc", ("FAKE1", "FAKE2")
        )
        self.assertEqual(len(kernels), 60, run.stderr)
        self.assertEqual(self.gaps(database), {})
        self.assertEqual(
            dict(database.rows("SELECT chip, count(*) FROM METRIC_GROUP GROUP BY 1")),
            {"FAKE1": 2, "FAKE2": 2},
        )
        # Chips share the runs.
        self.assertIn("run 2 of 2", run.stderr)
        self.assertNotIn("run 3", run.stderr)
        self.assertEqual(
            database.one(
                "SELECT group_concat(DISTINCT counters) FROM METRIC_GROUP "
                "WHERE counters LIKE 'dram%' AND chip = 'FAKE2'"
            ),
            "dram__bytes_op_read.sum",
        )

    def test_a_context_that_ends(self):
        _, database = self.measure("contexts")
        self.assertEqual(len(self.assert_all_measured(database)), 9)
        self.assertEqual(self.gaps(database), {})

    def test_threads(self):
        # One group only: which thread's launch comes first is not the same in each run.
        _, database = self.measure(
            "threads", 4, 50, metrics="sm__ctas_launched.sum", options=["--metrics-batch", 16]
        )
        self.assertEqual(len(self.assert_all_measured(database, "sm__ctas_launched.sum")), 200)
        self.assertEqual(self.gaps(database), {})

    def test_processes(self):
        run, database = self.measure("tree", 1, 3)
        self.assertEqual(len(self.assert_all_measured(database)), 18)
        self.assertEqual(self.gaps(database), {}, run.stderr)
        self.assertEqual(database.one("SELECT count(*) FROM PROCESS"), 3)

    def test_refused_launches_have_no_values(self):
        _, database = self.measure("failing", 9)
        self.assertEqual(len(self.assert_all_measured(database)), 6)
        self.assertEqual(self.gaps(database), {})

    def test_output_appears_once(self):
        run, database = self.measure("output", 32)
        self.assertEqual(len(run.stdout), 32 * 1024)
        self.assertEqual(run.stderr.count("first line"), 1)
        self.assertEqual(run.stderr.count("last line"), 1)
        self.assertEqual(len(self.assert_all_measured(database)), 2)

    def test_exit_code(self):
        run, database = self.measure("die", "return", 5, check=7)
        self.assertEqual(len(self.assert_all_measured(database)), 5)
        self.assertNotIn("ended with", run.stderr)

    def test_a_later_run_ends_in_another_way(self):
        again = (
            f"test -e {self.folder}/run && code=9 || code=4; touch {self.folder}/run; "
            f"{FAKE}/shapes 6; exit $code"
        )
        self.program = lambda name: f"/bin/{name}"
        run, database = self.measure("sh", "-c", again, check=4)
        self.assertIn("in run 2 the program ended with 9 and not with 4 as before", run.stderr)
        self.assertEqual(len(self.assert_all_measured(database)), 6)


class OtherRuns(MetricTest):
    """A run that does other things than the first is not joined with it."""

    def changing(self, how, metrics=TWO_GROUPS, *options, in_run=()):
        run, database = self.measure(
            "changing", self.folder / "runs", how, *in_run, metrics=metrics, options=options
        )
        (self.folder / "runs").unlink()
        values = self.values(database)
        self.assert_right(values)
        kernels = self.kernels(database)
        for one in values:
            self.assertEqual(
                kernels[one.correlation, one.process],
                (one.name, one.grid, one.block, one.device),
                "joined with another launch",
            )
        lost = database.statistic("metrics_mismatched")
        gaps = self.gaps(database)
        # Where there are more or fewer than in a pass before, none of the window can be told.
        self.assertEqual(
            sum(n for note, n in gaps.items() if "launched" in note or "has no such" in note), lost
        )
        self.assertEqual(
            [
                note
                for note in gaps
                if not re.match(
                    "(the first|another) run (launched another kernel here|has no such launch)"
                    "|CUPTI has [0-9]+ ranges for [0-9]+ launches",
                    note,
                )
            ],
            [],
        )
        if lost:
            self.assertIn(f"; {lost} were of other launches", run.stderr)
        else:
            self.assertNotIn("other launches", run.stderr)
        return database, collections.Counter(v.metric for v in values), gaps

    OTHER = "the first run launched another kernel here"
    ANOTHER = "another run launched another kernel here"
    NONE = "the first run has no such launch"

    def test_same(self):
        database, measured, gaps = self.changing("same")
        self.assert_all_measured(database)
        self.assertEqual(gaps, {})

    def test_other_name_or_grid(self):
        for how in ("name", "grid"):
            with self.subTest(how=how):
                database, measured, gaps = self.changing(how)
                self.assertEqual(measured, {"dram__bytes_read.sum": 10, "sm__ctas_launched.sum": 9})
                self.assertEqual(gaps, {self.OTHER: 1})
                # Of a launch that was not joined no more than its own is known.
                self.assertEqual(
                    database.rows("SELECT ordinal, correlation_id, measured FROM metric_gaps"),
                    [(6, None, 0)],
                )

    def test_more(self):
        _, measured, gaps = self.changing("more")
        self.assertEqual(measured, {"dram__bytes_read.sum": 10, "sm__ctas_launched.sum": 6})
        self.assertEqual(gaps, {self.OTHER: 4, self.NONE: 1})

    def test_fewer(self):
        _, measured, gaps = self.changing("fewer")
        self.assertEqual(measured, {"dram__bytes_read.sum": 10, "sm__ctas_launched.sum": 5})
        self.assertEqual(gaps, {self.OTHER: 4})

    def test_several_passes(self):
        # How many are good: all in windows before the change, and where it keeps the number, all
        # but the one. After it one may still be what it was before.
        for how, batch, good in (
            ("name", 256, 9),
            ("grid", 4, 9),
            ("more", 4, 6),
            ("fewer", 4, 5),
            ("more", 256, 0),
            ("fewer", 256, 0),
        ):
            with self.subTest(how=how, batch=batch):
                _, measured, gaps = self.changing(how, THROUGHPUT, "--metrics-batch", batch)
                self.assertEqual(measured.get(THROUGHPUT, 0), good, gaps)
                self.assertGreaterEqual(sum(gaps.values()), 10 - good - 1)

    def test_a_pass_between(self):
        """Only the second of three runs is another: neither the first nor the last shows it."""
        for how, batch, good in (
            ("name", 256, 9),
            ("grid", 4, 9),
            ("more", 256, 6),
            ("fewer", 256, 5),
        ):
            with self.subTest(how=how, batch=batch):
                _, measured, gaps = self.changing(
                    how, THROUGHPUT, "--metrics-batch", batch, in_run=(2,)
                )
                self.assertEqual(measured[THROUGHPUT], good, gaps)
                self.assertEqual(gaps, {self.ANOTHER: 10 - good})


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
        # What is not asked for lies between.
        database = self.measured("--metrics-batch", 4, "--kernels", "copy", metrics=THROUGHPUT)
        self.assert_measured(
            database, self.kernels(database, "s.value = '_Z4copyPKfPf'"), THROUGHPUT
        )

    def test_context_stream_name_invocation(self):
        database = self.measured("--kernels", "1:8:saxpy:2")
        kernels = self.kernels(database, "s.value = '_Z5saxpyfPKfPf'")
        self.assertEqual(len(kernels), 12)
        # The second of each shape.
        second = dict(sorted(kernels.items())[3:6])
        self.assert_measured(database, second, "dram__bytes_read.sum")
        for other in ("2:8:saxpy:2", "1:7:saxpy:2", "1:8:copy:2", "1:8:saxpy:9"):
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


class Multiplex(MetricTest):
    METRICS = "dram__bytes_read.sum,sm__ctas_launched.sum,gpu__time_duration.sum"

    def multiplex(self, *target, options=(), metrics=METRICS, **more):
        return self.measure(
            *target, options=["--replay-mode", "multiplex", *options], metrics=metrics, **more
        )

    def test_every_shape_in_every_group(self):
        # What is measured is decided by the samples alone, also where a start is dear and each group
        # has to wait until the next one is earned.
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
        """Where a launch that is measured is dear, few are, and what that took is known."""

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
        self.assertGreater(generous.statistic("metrics_ranges"), 4000)
        # Long enough to earn the first start of a profiler object, which is taken to cost 0.2 s.
        narrow = measured(1000, "50%")
        self.assertEqual(narrow.statistic("metrics_launches"), 40000)
        self.assertGreater(narrow.statistic("metrics_ranges"), 0)
        self.assertLess(narrow.statistic("metrics_ranges"), 10000)
        # A third of the run; one window may be begun that is dearer than was thought.
        self.assertGreater(narrow.statistic("metrics_overhead_permille"), 100)
        self.assertLess(narrow.statistic("metrics_overhead_permille"), 600)

    def test_what_is_known_well_gets_no_more(self):
        """Values that do not vary are known after a few launches, others are measured on."""

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

    def test_several_passes_are_refused(self):
        run = self.profile(
            "training", 1, options=["--replay-mode", "multiplex", "--metrics", THROUGHPUT], check=5
        )
        self.assertIn(
            f"3 passes, and multiplexing measures a launch once: {THROUGHPUT}", run.stderr
        )
        self.assertIn("--replay-mode application", run.stderr)
        self.assertEqual(run.stdout, b"")
        self.assertFalse(self.output.exists())
        # Those of one pass are not to blame.
        run = self.profile(
            "training",
            1,
            check=5,
            options=["--replay-mode", "multiplex", "--metrics", f"{THROUGHPUT},{TWO_GROUPS}"],
        )
        self.assertIn(f"measures a launch once: {THROUGHPUT}\n", run.stderr)


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
        self.assertEqual(
            database.rows("SELECT mode, metrics FROM METRIC_GROUP"),
            [("kernel", metrics.replace(",", ", "))],
        )

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
        for name, launches in (("forward", 3), ("backward", 2), ("step", 5)):
            with self.subTest(name=name):
                run, database, values = self.ranges(f"nvtx:^{name}$", "ranges", 4)
                # Ranges of one name stay apart.
                self.assertEqual(
                    collections.Counter((v.name, v.metric) for v in values),
                    {(name, metric): 4 for metric in TWO_GROUPS.split(",")},
                )
                self.assert_sums(values, [(64, 256)] * launches)
                self.assertEqual(self.values(database), [])

    def test_regular_expression(self):
        # What lies inside a measured one is part of it.
        _, _, values = self.ranges("nvtx:ward", "ranges", 3, metrics=ONE)
        self.assertEqual(collections.Counter(v.name for v in values), {"forward": 3, "backward": 3})
        _, _, values = self.ranges("nvtx:", "ranges", 3, metrics=ONE)
        self.assertEqual(collections.Counter(v.name for v in values), {"step": 3})

    def test_times(self):
        _, database, _ = self.ranges("nvtx:forward", "ranges", 4)
        rows = database.rows(
            "SELECT start, stop, ordinal FROM METRIC_RANGE WHERE passGroup = 1 ORDER BY start"
        )
        self.assertEqual([row[2] for row in rows], [1, 2, 3, 4])
        first, last = database.rows(
            f'SELECT min(start), max("end") FROM {PREFIX}CONCURRENT_KERNEL'
        )[0]
        for start, end, _ in rows:
            self.assertTrue(first - 10**9 < start < end < last + 10**9)
        # Ranges of a later run were at other times than those of the run that was traced.
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


class NvprofTables(MetricTest):
    METRICS = "achieved_occupancy,inst_executed,dram__bytes_read.sum"

    def test_rows(self):
        _, database = self.measure("shapes", 12, metrics=self.METRICS)
        kernels = self.kernels(database)
        ids = dict(database.rows("SELECT name, nvprofId FROM METRIC"))
        self.assertIsNone(ids.pop("dram__bytes_read.sum"))
        for name, metric_id in ids.items():
            rows = database.rows(
                f"SELECT correlationId, value FROM {PREFIX}METRIC WHERE id = ?", metric_id
            )
            self.assertEqual({row[0] for row in rows}, {key[0] for key in kernels}, name)
        self.assertEqual(database.one(f"SELECT count(*) FROM {PREFIX}METRIC"), 24)

    def test_reports(self):
        self.measure("shapes", 12, metrics=self.METRICS)
        summary = subprocess.run(
            [GPUPROF, "-i", str(self.output)], capture_output=True, text=True, cwd=self.folder
        )
        text = summary.stdout + summary.stderr
        self.assertIn("Metric result", text)
        for name in self.METRICS.split(","):
            self.assertIn(name, text)
        trace = subprocess.run(
            [GPUPROF, "-i", str(self.output), "--print-gpu-trace", "--csv"],
            capture_output=True,
            text=True,
            cwd=self.folder,
        )
        lines = [
            line
            for line in (trace.stdout + trace.stderr).splitlines()
            if "copy(" in line or "achieved_occupancy" in line
        ]
        self.assertEqual(len(lines), 1 + 6, trace.stderr)

    def test_metrics_in_the_summary_of_a_run(self):
        run = self.profile("shapes", 6, options=["--metrics", self.METRICS], output=False, check=0)
        self.assertIn("Metric result", run.stderr)
        self.assertIn("achieved_occupancy", run.stderr)


class Captures(MetricTest):
    def ranges_of(self, path):
        database = self.database(path)
        return database.rows("""
            SELECT r.correlationId, r.kind, s.value, r.ordinal, r.gridX, r.start, r.stop,
                   r.passGroup, r.note, m.name, v.value
            FROM METRIC_RANGE AS r LEFT JOIN METRIC_VALUE AS v ON v.range = r._id_
            LEFT JOIN METRIC AS m ON m._id_ = v.metric LEFT JOIN StringTable AS s ON s._id_ = r.name
            ORDER BY r._id_, m.name"""), database.rows("SELECT * FROM METRIC_GROUP")

    def replayed(self, *target, options=()):
        capture = self.folder / "run.gpcap"
        capture.unlink(missing_ok=True)
        self.measure(*target, options=["--save-capture", capture, *options])
        again = self.folder / "again.sqlite"
        subprocess.run(
            [GPUPROF, "replay", str(capture), "-f", "-o", str(again)],
            check=True,
            capture_output=True,
            cwd=self.folder,
        )
        first, second = self.ranges_of(self.output), self.ranges_of(again)
        self.assertEqual(first, second)
        self.assertGreater(len(first[0]), 0)
        return capture.stat().st_size

    def test_replay(self):
        self.replayed("shapes", 12)
        self.replayed("changing", self.folder / "runs", "more")
        self.replayed("ranges", 3, options=["--range", "nvtx:step"])

    def test_counter_data_is_kept(self):
        small = self.replayed("shapes", 40)
        large = self.replayed("shapes", 40, options=["--keep-counter-data"])
        # Two images of 40 ranges.
        self.assertGreater(large, small + 2 * 40 * 16)


if __name__ == "__main__":
    unittest.main()
