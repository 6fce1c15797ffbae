# ctest-cost: 25
"""Unavailable metrics, failing calls and hanging launches: reported, and the target continues."""

import collections
import os
import signal
import unittest

from fake_metrics import ONE, THROUGHPUT, TIME, TWO_GROUPS, MetricTest
from fake_run import BARE_CUPTI, FAKE, PATIENCE, SANITIZED


class Known(MetricTest):
    """What the trial of the counters found is remembered."""

    def plan(self, check=0, **more):
        options = ["-f", "--metrics", ONE]
        return self.profile("shapes", 6, options=options, check=check, **{
            "XDG_CACHE_HOME": self.folder / "cache", **more})  # fmt: skip

    def test_only_what_is_well_is_remembered(self):
        file = self.folder / "cache/gpuprof/devices"
        refused = {"FAKE_CUPTI_UNSUPPORTED": "vGpu"}
        self.assertIn("virtual GPU", self.plan(**refused).stderr)
        self.assertFalse(file.exists())
        self.assertNotIn("virtual GPU", self.plan().stderr)
        self.assertEqual(file.stat().st_mode & 0o777, 0o600)
        self.assertIn("0\tFAKE1\tStand-in GPU\t\t", file.read_text())
        # No trial, which would be refused.
        self.assertNotIn("virtual GPU", self.plan(**refused).stderr)
        required = ["-f", "--require-metrics", "--metrics", ONE]
        run = self.profile("shapes", 6, options=required, check=22,
                           XDG_CACHE_HOME=self.folder / "cache", **refused)  # fmt: skip
        self.assertIn("virtual GPU", run.stderr)
        # Another device, or measuring fails: that is looked at anew.
        self.assertIn("virtual GPU", self.plan(CUDA_VISIBLE_DEVICES=0, **refused).stderr)
        self.plan()
        self.assertTrue(file.exists())
        busy = self.plan(FAKE_CUPTI_FAIL="cuptiRangeProfilerStart=26")
        self.assertIn("no more metrics", busy.stderr)
        self.assertIn("another program is using the counters", busy.stderr)
        self.assertFalse(file.exists())

    def test_a_file_that_others_can_write(self):
        file = self.folder / "cache/gpuprof/devices"
        self.plan()
        file.chmod(0o666)
        self.assertIn("virtual GPU", self.plan(FAKE_CUPTI_UNSUPPORTED="vGpu").stderr)


class TroubleTest(MetricTest):
    def trouble(self, settings, *target, metrics=ONE, options=(), check=0, **more):
        """`settings` apply only to the target: gpuprof's own probe finds nothing wrong."""
        words = [f"{name}={value}" for name, value in settings.items()]
        return self.measure(
            "/usr/bin/env",
            *words,
            FAKE / target[0],
            *target[1:],
            metrics=metrics,
            options=options,
            check=check,
            **more,
        )

    def assert_sound(self, database):
        """Values are right, and ranges without values have a reason."""
        self.assert_right(self.values(database))
        self.assertEqual(
            database.rows("""
            SELECT * FROM METRIC_RANGE WHERE note IS NULL
            AND _id_ NOT IN (SELECT range FROM METRIC_VALUE)"""),
            [],
        )

    def assert_told_once(self, run, *words):
        lines = self.notices(run)
        self.assertEqual(len(lines), 1, run.stderr)
        for word in words:
            self.assertIn(word, lines[0])


class FailingCalls(TroubleTest):
    EVERY_WINDOW = ("SetConfig", "Start", "Stop", "DecodeData")
    ONCE = ("Enable", "GetCounterDataSize", "CounterDataImageInitialize")

    @unittest.skipIf(SANITIZED, "many short runs, whose difference is what CUPTI answers")
    def test_refused_while_the_program_runs(self):
        """What a machine may have against it that only measuring shows: tracing goes on."""
        for code, words in (
            (33, "CUPTI does not profile this virtual GPU"),
            (41, "confidential computing"),
            (42, "mining"),
            (43, "a part of a GPU (MIG)"),
            (44, "SLI"),
            (45, "WSL"),
        ):
            with self.subTest(words):
                run, database = self.trouble(
                    {"FAKE_CUPTI_FAIL": f"cuptiRangeProfilerEnable={code};cuptiActivityEnable:20={code}"},
                    "hello", 5, options=["--system-profiling", "on"],
                )  # fmt: skip
                self.assertIn(words, run.stderr)
                self.assertEqual(database.count("CONCURRENT_KERNEL"), 13)
                self.assertEqual(database.count("ENVIRONMENT"), 0)
                self.assertIn("ENVIRONMENT stays empty", run.stderr)
                self.assertIn("nothing lost", run.stderr)

    def failing(self, function, time, *target, **more):
        run, database = self.trouble({"FAKE_CUPTI_FAIL": f"{function}=999@{time}"}, *target, **more)
        self.assert_sound(database)
        self.assert_told_once(run, "no more metrics", function, "CUPTI_ERROR_UNKNOWN")
        return database

    def test_first_time(self):
        # Below, all of them fail in their third time.
        some = ("Enable", "SetConfig", "Stop")
        for name in some if SANITIZED else self.ONCE + self.EVERY_WINDOW:
            with self.subTest(function=name):
                database = self.failing(
                    f"cuptiRangeProfiler{name}", 1, "shapes", 20, options=["--metrics-batch", 4]
                )
                self.assertEqual(database.count("CONCURRENT_KERNEL"), 20)
                self.assertEqual(self.values(database), [])
                lost = sum(self.gaps(database).values())
                self.assertEqual(lost, 4 if name in ("Stop", "DecodeData") else 0)
                self.assertEqual(database.statistic("metrics_skipped_failed"), 20 - lost)

    def test_third_time(self):
        for name in self.EVERY_WINDOW:
            with self.subTest(function=name):
                database = self.failing(
                    f"cuptiRangeProfiler{name}", 3, "shapes", 20, options=["--metrics-batch", 4]
                )
                self.assertEqual(database.count("CONCURRENT_KERNEL"), 20)
                self.assertEqual(len(self.values(database)), 8)
                reasons = {f"cuptiRangeProfiler{name}: CUPTI_ERROR_UNKNOWN": 4}
                self.assertEqual(
                    self.gaps(database), reasons if name in ("Stop", "DecodeData") else {}
                )

    def test_in_the_third_context(self):
        for name in self.ONCE:
            with self.subTest(function=name):
                database = self.failing(
                    f"cuptiRangeProfiler{name}", 3, "devices", 2, 5, FAKE_CUDA_DEVICES=2
                )
                self.assertEqual(database.count("CONCURRENT_KERNEL"), 20)
                # Earlier ranges keep theirs.
                self.assertEqual(len(self.values(database)), 10)

    def test_ranges(self):
        for name, calls in (("PushRange", (1, 3)), ("PopRange", (3, 1))):
            for call in calls[:1] if SANITIZED else calls:
                with self.subTest(function=name, call=call):
                    database = self.failing(
                        f"cuptiRangeProfiler{name}",
                        call,
                        "ranges",
                        6,
                        options=["--range", "nvtx:step", "--metrics-batch", 1],
                    )
                    # The trace ends with cudaProfilerStop.
                    self.assertEqual(database.count("CONCURRENT_KERNEL"), 18)
                    self.assertEqual(len(self.values(database, "range")), call - 1)

    def test_other_modes(self):
        for mode, names in (("kernel", ("Start", "Stop")), ("multiplex", ("Stop", "Start"))):
            for name in names[:1] if SANITIZED else names:
                with self.subTest(mode=mode, function=name):
                    database = self.failing(
                        f"cuptiRangeProfiler{name}",
                        3,
                        "training",
                        20,
                        metrics=ONE,
                        options=[
                            "--replay-mode",
                            mode,
                            "--metrics-batch",
                            4,
                            "--metrics-overhead",
                            "1000%",
                        ]
                        + (["--metrics-samples", 1000] if mode == "multiplex" else []),
                    )
                    self.assertEqual(database.count("CONCURRENT_KERNEL"), 800)

    def test_a_context_that_ends(self):
        _, database = self.trouble({"FAKE_CUPTI_FAIL": "cuptiRangeProfilerDisable=999"}, "contexts")
        self.assertEqual(len(self.assert_all_measured(database, ONE)), 9)

    def test_what_can_be_done_without(self):
        for name, told in (("cuptiProfilerInitialize", 0), ("cuptiGetStreamIdEx", 1)):
            with self.subTest(function=name):
                run, database = self.trouble({"FAKE_CUPTI_FAIL": f"{name}=999"}, "shapes", 12)
                self.assertEqual([name in line for line in self.notices(run)], [True] * told)
                self.assertEqual(len(self.assert_all_measured(database, ONE)), 12)

    def test_the_first_run_only(self):
        """Later runs are still joined with the launches that the first one made."""
        script = (
            f"test -e {self.folder}/run || export FAKE_CUPTI_FAIL=cuptiRangeProfilerStart=999"
            f"; touch {self.folder}/run; exec {FAKE}/shapes 12"
        )
        run, database = self.measure("/bin/sh", "-c", script)
        self.assert_told_once(run, "cuptiRangeProfilerStart")
        self.assert_measured(database, self.kernels(database), TIME)
        self.assertEqual(self.gaps(database), {})

    def test_a_later_run_only(self):
        script = (
            f"test -e {self.folder}/run && export FAKE_CUPTI_FAIL=cuptiRangeProfilerStart=999"
            f"; touch {self.folder}/run; exec {FAKE}/shapes 12"
        )
        run, database = self.measure("/bin/sh", "-c", script)
        self.assert_told_once(run, "cuptiRangeProfilerStart")
        self.assert_measured(database, self.kernels(database), ONE)


class DroppedRanges(TroubleTest):
    def test_told_and_never_joined(self):
        run, database = self.trouble(
            {"FAKE_CUPTI_DROP_RANGES": 10}, "shapes", 32, options=["--metrics-batch", 8]
        )
        self.assert_sound(database)
        # The tenth, twentieth and thirtieth launch: three windows of eight.
        self.assertEqual(len(self.values(database)), 8)
        self.assertEqual(self.gaps(database), {"CUPTI has 7 ranges for 8 launches": 24})
        self.assertEqual(database.statistic("metrics_ranges_dropped"), 3)
        self.assertEqual(database.losses().get("metrics_ranges_dropped"), 3)
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 32)

    def test_in_each_run(self):
        _, database = self.trouble(
            {"FAKE_CUPTI_DROP_RANGES": 10},
            "shapes",
            32,
            metrics=TWO_GROUPS,
            options=["--metrics-batch", 8],
        )
        self.assert_sound(database)
        self.assertEqual(
            collections.Counter(v.metric for v in self.values(database)),
            {metric: 8 for metric in TWO_GROUPS.split(",")},
        )

    def test_several_passes(self):
        _, database = self.trouble(
            {"FAKE_CUPTI_DROP_RANGES": 10},
            "shapes",
            32,
            metrics=THROUGHPUT,
            options=["--metrics-batch", 8],
        )
        self.assert_sound(database)
        self.assertEqual(len(self.values(database)), 8)


class NoMetrics(MetricTest):
    """Detected before the target starts."""

    def refused(self, *words, options=(), **more):
        run, database = self.measure("hello", 5, options=options, **more)
        self.assertEqual(run.stdout, b"hello from the target\n")
        told = "\n".join(self.notices(run))
        for word in ("no metrics can be collected", "traced without metrics", *words):
            self.assertIn(word, told)
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 13)
        self.assertEqual(database.rows("SELECT * FROM METRIC"), [])
        self.assertNotIn("measurements", run.stderr)
        return run

    def test_privileges(self):
        # Below, the others fail with other results.
        for call in ("SetConfig",) if SANITIZED else ("Enable", "SetConfig", "Start"):
            self.refused(
                "only administrators",
                "CAP_SYS_ADMIN",
                "NVreg_RestrictProfilingToAdminUsers=0",
                FAKE_CUPTI_FAIL=f"cuptiRangeProfiler{call}=35",
            )

    def test_hardware_is_busy(self):
        self.refused(
            "another program is using the counters",
            "dcgmi profiling --pause",
            FAKE_CUPTI_FAIL="cuptiRangeProfilerStart=26",
        )

    def test_virtual_gpu(self):
        self.refused("virtual GPU", FAKE_CUPTI_FAIL="cuptiRangeProfilerEnable=40")
        self.refused("virtual GPU", FAKE_CUPTI_UNSUPPORTED="vGpu")

    def test_device_is_not_supported(self):
        reasons = {
            "sli": "SLI",
            "confidentialCompute": "confidential computing",
            "architecture": "too old",
        }
        for what, words in [*reasons.items()][: 1 if SANITIZED else None]:
            self.refused(words, FAKE_CUPTI_UNSUPPORTED=what)

    def test_limited_support(self):
        """A device that does not count all: that is said once, and the rest is measured."""
        other = "sm__ctas_launched.sum"
        run, database = self.measure(
            "shapes", 6, metrics=f"{ONE},{other}",
            FAKE_CUPTI_UNSUPPORTED="limited", FAKE_CUPTI_NO_NUMBERS="dram",
        )  # fmt: skip
        self.assertIn(
            f"6 measurements of launches; no numbers from this device for {ONE}", run.stderr
        )
        self.assertEqual(collections.Counter(v.metric for v in self.values(database)), {other: 6})
        self.assertEqual(self.gaps(database), {f"no number: {ONE}": 6})

    def test_required(self):
        for settings in (
            {"FAKE_CUPTI_FAIL": "cuptiRangeProfilerEnable=35"},
            {"FAKE_CUPTI_UNSUPPORTED": "vGpu"},
        ):
            run = self.profile(
                "hello", options=["--require-metrics", "--metrics", ONE], check=22, **settings
            )
            self.assertEqual(run.stdout, b"")
            self.assertIn("no metrics can be collected", run.stderr)
            self.assertFalse(self.output.exists())

    def test_cupti_without_range_profiler(self):
        run, database = self.measure("hello", 5, cupti=BARE_CUPTI)
        told = self.notices(run)
        self.assertIn(f"{BARE_CUPTI} has no host profiling API", told[0])
        self.assertIn("traced without metrics", told[0])
        self.assertIn("--cupti PATH", told[1])
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 13)
        run = self.profile(
            "hello",
            cupti=BARE_CUPTI,
            check=22,
            options=["-f", "--require-metrics", "--metrics", ONE],
        )
        self.assertEqual(run.stdout, b"")

    def test_no_driver(self):
        run = self.profile("hello", 5, options=["--metrics", ONE], check=0, LD_LIBRARY_PATH="")
        self.assertIn("no CUDA driver", run.stderr)
        self.assertEqual(self.database().count("CONCURRENT_KERNEL"), 13)

    def test_unknown_metric_without_a_driver(self):
        for option, name, told in (
            ("--metrics", "achieved_ocupancy", "did you mean achieved_occupancy?"),
            ("--metrics", "dram__byte_read.sum", "did you mean dram__bytes_read.sum?"),
            ("--metrics", "dram__bytes_read", "roll-up"),
            ("--metrics", "dram__bytes_read.suum", "did you mean .sum?"),
            ("--events", "warps_lunched", "did you mean warps_launched?"),
        ):  # fmt: skip
            with self.subTest(name=name):
                run = self.profile("hello", options=[option, name], check=5, LD_LIBRARY_PATH="")
                self.assertIn(told, run.stderr)
                self.assertEqual(run.stdout, b"")

    def test_unknown_metric(self):
        for name, nearest in (
            ("achieved_ocupancy", "achieved_occupancy"),
            ("dram__byte_read.sum", "dram__bytes_read"),
            ("dram__bytes_read", "roll-up"),
        ):
            with self.subTest(name=name):
                run = self.profile("hello", options=["--metrics", name], check=5)
                self.assertIn(name, run.stderr)
                self.assertIn(nearest, run.stderr.replace(name + " ", ""))
                self.assertEqual(run.stdout, b"")
                self.assertFalse(self.output.exists())

    def test_a_metric_that_no_chip_can_count(self):
        # NVIDIA names no counterpart.
        run = self.profile("hello", options=["--metrics", "cf_issued"], check=5)
        self.assertIn("cf_issued", run.stderr)
        self.assertEqual(run.stdout, b"")


class Hangs(TroubleTest):
    TIMEOUT = ["--hang-timeout", 1]

    def hanging(self, what, *target, options=(), **more):
        return self.trouble(
            {"FAKE_CUPTI_HANG": what}, *target, options=[*self.TIMEOUT, *options], **more
        )

    def assert_told(self, run, what):
        self.assertIn(f"this did not come back: {what}; no more metrics", run.stderr)
        self.assertIn("--metrics-exclude", run.stderr)
        self.assertEqual(run.stderr.count("did not come back"), 1, run.stderr)

    def test_kernel(self):
        """Earlier measurements have values; the rest of the run continues without."""
        for mode in ("kernel", "application"):
            with self.subTest(mode=mode):
                runs = self.folder / "runs"
                runs.unlink(missing_ok=True)
                run, database = self.hanging(
                    "other:2",
                    "changing",
                    runs,
                    "name",
                    1,
                    options=["--replay-mode", mode, "--metrics-batch", 2],
                )
                self.assert_told(run, "other")
                self.assertEqual(database.count("CONCURRENT_KERNEL"), 10)
                self.assert_sound(database)
                # It was the sixth launch, which did return in the end.
                self.assertIn(len(self.values(database)), (4, 6))
                self.assertEqual(self.gaps(database), {})

    def test_demangled_name(self):
        run, database = self.hanging("_Z5saxpyfPKfPf:2", "shapes", 4)
        self.assert_told(run, "saxpy(float, float const*, float*)")
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 4)

    def test_call(self):
        run, database = self.hanging(
            "cuptiRangeProfilerStop:2", "shapes", 12, options=["--metrics-batch", 4]
        )
        self.assert_told(run, "cuptiRangeProfilerStop")
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 12)
        self.assert_sound(database)
        self.assertEqual(self.gaps(database), {})

    def test_in_a_later_run(self):
        """That run is repeated without the kernel, and nothing is stored twice."""
        runs = self.folder / "runs"
        run, database = self.hanging(
            "other", "changing", runs, "name", 2, metrics=TWO_GROUPS, options=["--metrics-batch", 2]
        )
        self.assert_told(run, "other")
        self.assertIn("this run is ended; it is made again", run.stderr)
        self.assertEqual(runs.read_text(), "3\n")
        self.assertEqual(len(self.assert_all_measured(database)), 10)
        self.assertEqual(self.gaps(database), {})
        self.assertNotIn("ended with", run.stderr)

    def test_in_a_later_pass(self):
        runs = self.folder / "runs"
        run, database = self.hanging(
            "other", "changing", runs, "name", 2, metrics=THROUGHPUT, options=["--metrics-batch", 2]
        )
        self.assertEqual(runs.read_text(), "4\n")
        self.assertEqual(len(self.assert_all_measured(database, THROUGHPUT)), 10, run.stderr)

    def test_the_first_run_warns_the_later_ones(self):
        """A kernel that hung in the first run is not measured in later ones."""
        run, database = self.hanging("_Z5saxpyfPKfPf:2", "shapes", 6, metrics=TWO_GROUPS)
        self.assert_told(run, "saxpy(float, float const*, float*)")
        self.assertNotIn("made again", run.stderr)
        self.assert_measured_if(database)

    def assert_measured_if(self, database):
        self.assert_sound(database)
        values = [v for v in self.values(database) if v.metric == TIME]
        self.assertEqual({v.name for v in values}, {"_Z4copyPKfPf"})

    def test_the_user_ends_it(self):
        process = self.start(
            "/usr/bin/env",
            "FAKE_CUPTI_HANG=_Z5saxpyfPKfPf",
            FAKE / "shapes",
            4,
            options=[*self.TIMEOUT, "--replay-mode", "kernel", "--metrics", ONE],
        )
        told = process.stderr.readline().decode()
        self.assertIn("saxpy", told)
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 130, stderr)
        self.assertEqual(self.database().count("CONCURRENT_KERNEL"), 1)


class Deaths(TroubleTest):
    def test_killed(self):
        run, database = self.measure(
            "die", "sigkill", 100, options=["--metrics-batch", 16], check=137
        )
        self.assert_sound(database)
        kernels = self.kernels(database)
        self.assertEqual(len(kernels), 100)
        measured = collections.Counter(v.metric for v in self.values(database))
        # All except the last window.
        self.assertEqual(measured, {metric: 96 for metric in TWO_GROUPS.split(",")})
        for one in self.values(database):
            self.assertEqual(
                kernels[one.correlation, one.process], (one.name, one.grid, one.block, one.device)
            )
        # CUPTI's own kernels have the same correlation ids, and names that were never launched.
        self.assertEqual(len({kernel[:3] for kernel in kernels.values()}), 1)

    def test_a_window_that_lasts(self):
        """It is sent before it is full."""
        run, database = self.measure("die", "sigkill", 100, 8000 if SANITIZED else 2500, check=137)
        self.assert_sound(database)
        measured = collections.Counter(v.metric for v in self.values(database))
        self.assertEqual(measured, {metric: 100 for metric in TWO_GROUPS.split(",")})

    def test_killed_while_it_runs(self):
        process = self.start("die", "wait", 100, options=["--metrics-batch", 16, "--metrics", ONE])
        self.assertEqual(process.stdout.readline(), b"waiting\n")
        self.wait_for(self.output.exists)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        # gpuprof was killed too; the database opens, with what had been written.
        self.assert_sound(self.database())

    def test_interrupted(self):
        """Ctrl-C ends the target; no further run is started."""
        process = self.start("steady", 600, options=["--metrics", TWO_GROUPS])
        self.assertEqual(process.stdout.readline(), b"launching\n")
        self.wait_for_rows("METRIC_VALUE")
        os.killpg(process.pid, signal.SIGINT)
        _, stderr = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 130, stderr)
        database = self.database()
        self.assert_sound(database)
        self.assertEqual({v.metric for v in self.values(database)}, {ONE})
        self.assertNotIn(b"run 2 of 2", stderr)


if __name__ == "__main__":
    unittest.main()
