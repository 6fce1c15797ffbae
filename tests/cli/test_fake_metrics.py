"""Metrics by several runs of the program, with the stand-ins: values, processes, nvprof's tables."""
# ctest-labels: plain

import collections
import re
import subprocess
import unittest

from fake_metrics import ONE, THROUGHPUT, TIME, TWO_GROUPS, MetricTest
from fake_run import CUPTI, FAKE, GPUPROF, PREFIX, SANITIZED


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
        # Patched code has a run of its own, and time is not measured in the first one.
        self.assertIn("metrics: run 2 of 2", run.stderr)
        self.assertNotIn("run 3", run.stderr)
        self.assertIn("metrics: 60 measurements of launches", run.stderr)
        self.assertIn("nothing lost", run.stderr)

    def test_a_set(self):
        """What the chip has of it; gpuprof kernels shows the values."""
        run, database = self.measure("shapes", 6, metrics="", options=["--set", "occupancy"])
        values = database.rows(
            "SELECT m.name, count(*) FROM METRIC_VALUE AS v JOIN METRIC AS m ON m._id_ = v.metric "
            "GROUP BY 1"
        )
        self.assertEqual(
            values, [("achieved_occupancy", 6), ("issue_slot_utilization", 6), ("sm_efficiency", 6)]
        )
        (notice,) = self.notices(run)
        self.assertIn("the set occupancy on FAKE1 is without eligible_warps_per_cycle: "
                      "this chip does not count it", notice)  # fmt: skip
        if SANITIZED:  # this build is without the command
            return
        shown = subprocess.run([GPUPROF, "kernels", self.output], capture_output=True, text=True)
        self.assertIn("achieved (achieved_occupancy)", shown.stdout)

    def test_versions(self):
        """What would disturb measuring or tracing in one version of CUPTI or another is left out."""
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

    def test_green_contexts(self):
        """Values of units inside of multiprocessors are those of the kernel's part of the device."""
        metric = "sm__cycles_active.avg"
        for way, version in (([], 130500), (["current"], 130500), ([], 130100)):
            with self.subTest(way=way, version=version):
                run, database = self.measure(
                    "green", *way, metrics=f"{metric},{ONE}", FAKE_CUPTI_VERSION=version
                )
                known = version >= 130300
                self.assertEqual(
                    collections.Counter(database.rows(
                        "SELECT name, context_id, value FROM kernel_metrics WHERE metric = ?", metric)),
                    # 4 per ns of each of 4 instances, or of those of the part.
                    {("whole()", 1, 1000): 3,
                     ("quarter()", 2 if known else 1, 4000 if known else 1000): 2,
                     ("quarters()", 3 if known else 1, 4000 / 3 if known else 1000): 2},
                )  # fmt: skip
                # DRAM belongs to no part.
                self.assertEqual(
                    database.rows(
                        "SELECT DISTINCT value FROM kernel_metrics WHERE metric = ?", ONE
                    ),
                    [(1024 * 64,)],
                )
                self.assertEqual("CUPTI does not say which part" in run.stderr, not known)
                self.assertEqual(self.gaps(database), {})
                if version < 130200:
                    continue
                self.assertEqual(
                    database.rows("SELECT context_id, is_green, multiprocessors, partition, parent_id "
                                  "FROM contexts ORDER BY 1"),
                    [(1, 0, None, None, 0), (2, 1, 33, "00B6250000000000", 1),
                     (3, 1, 99, "00B6250000000000", 1)],
                )  # fmt: skip
                if not way:
                    continue  # the kernels' own records name the context that it was made from
                report = subprocess.run(
                    [GPUPROF, "-i", self.output, "--print-gpu-trace"],
                    capture_output=True,
                    text=True,
                )
                self.assertIn("2 (33 SMs)", report.stdout + report.stderr)

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
                (2, "FAKE1", "application", "", "inside the SM", 3, THROUGHPUT),
                (3, "FAKE1", "application", "", "device time", 1, TIME),
            ],
        )
        self.assertIn("application replay, 5 runs of the program", run.stderr)
        self.assertIn("group 2: FAKE1, inside the SM, 3 passes", run.stderr)
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
            metrics=f"dram_read_bytes,{TIME}",
            FAKE_CUDA_DEVICES=3,
            FAKE_CUDA_CHIPS="FAKE1,FAKE2",
        )
        kernels = self.assert_all_measured(database, f"dram_read_bytes,{TIME}", ("FAKE1", "FAKE2"))
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
        # Only one group, because the order of the threads' launches differs between runs.
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
    """A run that behaves differently from the first is not joined with it."""

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
        # If there are more or fewer than in an earlier pass, the whole window is unknown.
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
                self.assertEqual(measured, {ONE: 10, TIME: 9})
                self.assertEqual(gaps, {self.OTHER: 1})
                # For a launch that was not joined, only its own values are known.
                self.assertEqual(
                    database.rows("SELECT ordinal, correlation_id, measured FROM metric_gaps"),
                    [(6, None, 0)],
                )

    def test_more(self):
        _, measured, gaps = self.changing("more")
        self.assertEqual(measured, {ONE: 10, TIME: 6})
        self.assertEqual(gaps, {self.OTHER: 4, self.NONE: 1})

    def test_fewer(self):
        _, measured, gaps = self.changing("fewer")
        self.assertEqual(measured, {ONE: 10, TIME: 5})
        self.assertEqual(gaps, {self.OTHER: 4})

    def test_several_passes(self):
        # The number of good ones: all in windows before the change and, if the number stays the
        # same, all except the changed one. After that, one may still be the same as before.
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
        """Only the second of three runs differs: neither the first nor the last shows it."""
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
        # Two images with 40 ranges each.
        self.assertGreater(large, small + 2 * 40 * 16)


if __name__ == "__main__":
    unittest.main()
