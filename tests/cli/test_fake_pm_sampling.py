"""Counters of the stand-in's devices over time: --pm-sampling and gpuprof sample."""
# ctest-labels: tsan

import itertools
import json
import os
import signal
import subprocess
import time
import unittest

from fake_run import CUPTI, FAKE, GPUPROF, PATIENCE, SANITIZED, FakeTest, Run, pids_of

ACTIVE = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
READ = "dram__bytes_read.sum.per_second"
TOO_MANY = [f"sm__{name}.sum" for name in ("ctas_launched", "cycles_active", "inst_executed",
                                           "warps_active", "warps_launched")]  # fmt: skip
INTERVAL_NS = 1_000_000
KERNELS = 43  # in hello 20
SLOW = ["--pm-interval", "1ms"]


class PmTest(FakeTest):
    def environment(self, more):
        return super().environment({"LD_LIBRARY_PATH": FAKE, **more})

    def sample_command(self, *options, output=True, interval="1ms"):
        command = [GPUPROF, "sample", "--cupti", str(CUPTI), "--pm-interval", interval]
        command += map(str, options)
        return command + (["-o", str(self.output)] if output else [])

    def sample(self, *options, check=0, output=True, interval="1ms", **environment):
        process = subprocess.run(
            self.sample_command(*options, output=output, interval=interval),
            env=self.environment(environment),
            stdin=subprocess.DEVNULL, capture_output=True, cwd=self.folder, timeout=PATIENCE,
        )  # fmt: skip
        run = Run(process.returncode, process.stdout, process.stderr.decode())
        self.assertEqual(run.code, check, run.stderr)
        return run

    def statistics(self, database):
        return dict(
            database.rows("SELECT name, value FROM STATISTIC WHERE name LIKE 'pm%' AND value > 0")
        )

    def warnings(self, database):
        return [text for (text,) in database.rows("SELECT text FROM DIAGNOSTIC")]

    def assert_in_order(self, database, devices=(0,)):
        """Samples of a device are contiguous, except for the gaps in PM_GAP."""
        gaps = set(database.rows("SELECT deviceId, start, stop FROM PM_GAP"))
        for device in devices:
            times = database.rows(
                "SELECT start, stop FROM PM_SAMPLE WHERE deviceId = ? AND part = 0 ORDER BY _id_",
                device,
            )
            self.assertGreater(len(times), 3)
            self.assertEqual({stop - start for start, stop in times}, {INTERVAL_NS})
            missing = {
                (device, before[1], behind[0])
                for before, behind in zip(times, times[1:])
                if before[1] != behind[0]
            }
            self.assertEqual({gap for gap in gaps if gap[0] == device}, missing)

    def assert_right(self, database):
        """Values match pm_blocks in the stand-in's pm_sampling.cpp."""
        rows = database.rows(f"SELECT start, value FROM pm_samples WHERE metric = '{READ}'")
        for start, value in rows:
            blocks = 1000 if start // 10_000_000 % 2 == 0 else 0
            self.assertEqual(value, 1024 * blocks / INTERVAL_NS * 1e9)


class Beside(PmTest):
    def test_a_run(self):
        run = self.profile("steady", 0.2, options=["--pm-sampling", *SLOW], check=5)
        self.assertIn("sampling counters of 1 GPU", run.stderr)
        self.assertIn(" samples of counters, nothing lost", run.stderr)
        database = self.database()
        self.assert_in_order(database)
        self.assert_right(database)
        self.assertEqual(
            database.rows("SELECT deviceId, chip, intervalNs, keepLatest, leftOut FROM PM_DEVICE"),
            [(0, "FAKE1", INTERVAL_NS, 0, None)],
        )
        metrics = [name for (name,) in database.rows("SELECT name FROM PM_METRIC ORDER BY _id_")]
        self.assertEqual(metrics[0], ACTIVE)
        self.assertIn(READ, metrics)
        samples = database.one("SELECT count(*) FROM PM_SAMPLE")
        self.assertEqual(self.statistics(database), {"pm_samples": samples})
        # Sampling began before the program and ended after it, and the sampler does not count as
        # one of its processes.
        self.assertEqual(
            database.one(
                "SELECT (SELECT min(start) FROM PM_SAMPLE) < min(start) AND "
                "(SELECT max(stop) FROM PM_SAMPLE) > max(end) FROM kernels"
            ),
            1,
        )
        self.assertEqual(database.one("SELECT count(*) FROM PROCESS"), 1)
        self.assertEqual(database.losses(), {})
        # The stand-in's kernels take 1 us, which is too short for a sample.
        self.assertEqual(database.one("SELECT count(*) FROM PM_KERNEL"), 0)

    def test_report(self):
        """The numbers follow from the samples."""
        run = self.profile("steady", 0.2, options=["--print-pm-sampling", *SLOW], check=5)
        self.assertIn("PM sampling result:", run.stderr)
        summary = subprocess.run(
            [GPUPROF, "-i", self.output], env=self.environment({}), capture_output=True, check=True
        ).stderr.decode()
        samples = self.database().one("SELECT count(*) FROM PM_SAMPLE")
        self.assertIn(f"======== {samples} PM samples, ", summary)
        process = subprocess.run(
            [GPUPROF, "-i", self.output, "--print-pm-sampling", "--json"],
            env=self.environment({}), capture_output=True, check=True,
        )  # fmt: skip
        rows = json.loads(process.stdout)["tables"][0]["rows"]
        database = self.database()
        self.assertEqual(len(rows), database.one("SELECT count(*) FROM PM_METRIC"))
        for row in rows:
            values = sorted(
                database.rows(
                    'SELECT value, "end" - start FROM pm_samples WHERE metric = ?', row["metric"]
                )
            )
            time = sum(weight for _, weight in values)
            mean = sum(value * weight for value, weight in values) / time
            self.assertEqual((row["samples"], row["time_ns"]), (len(values), time))
            self.assertAlmostEqual(row["mean"], mean, delta=1e-5 + abs(mean) * 1e-9)
            self.assertAlmostEqual(row["max"], values[-1][0], delta=1e-5)
            for percent in (50, 90, 99):
                reached = itertools.accumulate(weight for _, weight in values)
                place = next(i for i, until in enumerate(reached) if until * 100 >= percent * time)
                self.assertAlmostEqual(row[f"p{percent}"], values[place][0], delta=1e-5)

    def test_named_metrics(self):
        """More than fit in one row, and one computed by a formula."""
        names = [f"lts__t_sectors.{roll}" for roll in ("sum", "avg", "min", "max")]
        names += [f"{name}.{behind}" for name in ("lts__t_sectors.sum", "dram__bytes_read.sum")
                  for behind in ("per_second", "per_cycle_active", "per_cycle_elapsed",
                                 "peak_sustained", "pct_of_peak_sustained_elapsed")]  # fmt: skip
        names += ["dram__bytes_write.sum", "dram__bytes_write.avg", "dram_read_bytes"]
        self.profile("hello", options=["--pm-metrics", ",".join(names), *SLOW], check=0)
        database = self.database()
        self.assert_in_order(database)
        self.assert_right(database)
        self.assertEqual(
            [name for (name,) in database.rows("SELECT name FROM PM_METRIC ORDER BY _id_")], names
        )
        self.assertEqual(
            dict(database.rows("SELECT part, count(*) FROM PM_METRIC GROUP BY 1")), {0: 16, 1: 1}
        )
        samples = database.one("SELECT count(*) FROM PM_SAMPLE WHERE part = 0")
        counts = dict(database.rows("SELECT metric, count(*) FROM pm_samples GROUP BY 1"))
        self.assertEqual(counts, {name: samples for name in names})
        self.assertEqual(
            database.one(
                "SELECT count(*) FROM pm_samples AS a JOIN pm_samples AS b ON b.start = a.start "
                "WHERE a.metric = 'dram_read_bytes' AND b.metric = 'dram__bytes_read.sum.per_second'"
                ' AND abs(a.value / (b."end" - b.start) * 1e9 - b.value) > 1'
            ),
            0,
        )

    def test_columns_of_usual_metrics(self):
        usual = {
            "dram__bytes_read.sum.per_second": "dram_read_rate",
            "dram__bytes_write.sum.per_second": "dram_write_rate",
        }
        names = ["lts__t_sectors.sum", *usual]
        self.profile("hello", options=["--pm-metrics", ",".join(names), *SLOW], check=0)
        database = self.database()
        for metric, column in usual.items():
            wanted = database.rows(
                'SELECT device_id, start, "end", value FROM pm_samples WHERE metric = ? ORDER BY 2',
                metric,
            )
            self.assertGreater(len(wanted), 0)
            self.assertEqual(
                database.rows(
                    f'SELECT device_id, start, "end", {column} FROM pm_samples_wide ORDER BY 2'
                ),
                wanted,
            )
        self.assertEqual(database.one("SELECT count(sm_active) FROM pm_samples_wide"), 0)

    def test_everything(self):
        """All groups of the trace and PM samples, in one file and on one clock."""
        run = self.profile("modules", "first", 10, options=["--everything", *SLOW], check=0)
        self.assertRegex(run.stderr, r"\d samples of counters, nothing lost")
        database = self.database()
        self.assert_in_order(database)
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 10)
        self.assertGreater(database.count("MODULE"), 0)
        self.assertEqual(
            database.one(
                "SELECT (SELECT min(start) FROM PM_SAMPLE) < min(start) AND "
                "(SELECT max(stop) FROM PM_SAMPLE) > max(end) FROM kernels"
            ),
            1,
        )

    def test_devices(self):
        self.profile("hello", options=["--pm-sampling", *SLOW], check=0, FAKE_CUDA_DEVICES=2,
                     FAKE_CUDA_CHIPS="FAKE1,FAKE2")  # fmt: skip
        database = self.database()
        self.assert_in_order(database, (0, 1))
        read = dict(
            database.rows(
                "SELECT device_id, group_concat(DISTINCT metric) FROM pm_samples "
                "WHERE metric LIKE 'dram__bytes%read%' GROUP BY 1"
            )
        )
        self.assertEqual(read, {0: READ, 1: "dram__bytes_op_read.sum.per_second"})

    def test_cycles_and_keeping_the_latest(self):
        self.profile("hello", check=0, options=["--pm-sampling", "--pm-interval", "500000cycles",
                                                "--pm-keep", "latest"])  # fmt: skip
        database = self.database()
        self.assert_in_order(database)
        self.assertEqual(
            database.rows("SELECT intervalNs, intervalCycles, keepLatest FROM PM_DEVICE"),
            [(None, 500_000, 1)],
        )

    def test_a_file_for_each_process(self):
        """Each has the samples from its creation on, and their definitions."""
        self.profile(
            "hello",
            check=0,
            output=False,
            options=["--pm-sampling", *SLOW, "-o", self.folder / "run-%p.sqlite"],
        )
        (path,) = self.folder.glob("run-*.sqlite")
        database = self.database(path)
        self.assertEqual(database.one("SELECT count(*) FROM PROCESS"), 1)
        self.assertEqual(database.one("SELECT chip FROM PM_DEVICE"), "FAKE1")
        self.assertIn((READ,), database.rows("SELECT name FROM PM_METRIC"))

    def test_what_does_not_fit(self):
        run = self.profile("hello", options=["--pm-metrics", ",".join(TOO_MANY)], check=5)
        self.assertIn("do not fit into one pass", run.stderr)
        self.assertIn(",".join(TOO_MANY[:4]) + "; " + TOO_MANY[4], run.stderr)
        run = self.profile("hello", options=["--pm-metrics", "sm__cycles_activ.sum"], check=5)
        self.assertIn("did you mean sm__cycles_active.sum", run.stderr)

    def test_what_needs_the_same_counters(self):
        for option in ("--pm-sampling", "--everything"):
            for others in (
                ["--metrics", "ipc"],
                ["--metrics", "ipc", "--metrics-plan"],
                ["--pc-sampling"],
                ["--pc-sampling", "--events", "x"],
            ):
                run = self.profile("hello", options=[option, *others], check=5)
                self.assertIn(f"{option} and --", run.stderr)
                self.assertIn("need the same counters of the GPU", run.stderr)
                self.assertFalse(self.output.exists())


class Trouble(PmTest):
    def test_overflow(self):
        """The buffer holds 64 samples, and is first read after 100 ms."""
        run = self.sample("--duration", "500ms", "--pm-buffer", "64K")
        database = self.database()
        counted = self.statistics(database)
        self.assertGreaterEqual(counted["pm_overflows"], 1)
        gaps = database.rows("SELECT start, stop FROM PM_GAP WHERE reason = 'overflow'")
        self.assertLessEqual(len(gaps), counted["pm_overflows"])
        self.assertIn("lost (", run.stderr)
        # There are no samples in a gap, and no holes elsewhere.
        self.assertEqual(
            database.one(
                "SELECT count(*) FROM PM_GAP AS g JOIN PM_SAMPLE AS s "
                "ON s.start < g.stop AND s.stop > g.start"
            ),
            0,
        )
        self.assertEqual(database.one("SELECT value FROM RUN WHERE key = 'loss'"), 1)

    def test_no_permission(self):
        answers = (
            ("cuptiPmSamplingSetConfig", 999, "cuptiPmSamplingSetConfig 999"),
            ("cuptiPmSamplingEnable", 26, "another program is using the counters"),
            ("cuptiPmSamplingEnable", 7, "another program is using the counters"),
            ("cuptiPmSamplingEnable", 35, "only administrators read counters"),
        )
        for call, code, text in answers[:2] if SANITIZED else answers:
            with self.subTest(call=call, code=code):
                run = self.profile("hello", 20, options=["-f", "--pm-sampling"], check=0,
                                   FAKE_CUPTI_FAIL=f"{call}={code}")  # fmt: skip
                self.assertIn(text, run.stderr)
                database = self.database()
                self.assertEqual(self.statistics(database), {"pm_failed": 1})
                self.assertTrue(any(text in said for said in self.warnings(database)))
                self.assertEqual(database.count("CONCURRENT_KERNEL"), KERNELS)
        run = self.sample("-f", "--duration", "10s", check=22,
                          FAKE_CUPTI_FAIL="cuptiPmSamplingEnable=35")  # fmt: skip
        self.assertIn("only administrators read counters", run.stderr)

    def test_one_of_two_devices(self):
        self.sample("--duration", "200ms", FAKE_CUDA_DEVICES=2,
                    FAKE_CUPTI_FAIL="cuptiPmSamplingEnable:0=26")  # fmt: skip
        database = self.database()
        self.assert_in_order(database, (1,))
        self.assertEqual(database.one("SELECT count(*) FROM PM_SAMPLE WHERE deviceId = 0"), 0)
        self.assertEqual(self.statistics(database)["pm_failed"], 1)

    def test_not_supported(self):
        run = self.profile("hello", 20, options=["--pm-sampling"], check=0,
                           FAKE_CUPTI_UNSUPPORTED="vGpu")  # fmt: skip
        self.assertIn("a virtual GPU without the permission to profile", run.stderr)
        self.assertEqual(self.database().count("CONCURRENT_KERNEL"), KERNELS)

    def test_an_error_later(self):
        """Earlier samples are kept; the program continues."""
        run = self.profile("steady", 0.2, options=["--pm-sampling", *SLOW], check=5,
                           FAKE_CUPTI_FAIL="cuptiPmSamplingDecodeData=999@4")  # fmt: skip
        self.assertIn("ended early", run.stderr)
        database = self.database()
        self.assertEqual(self.statistics(database)["pm_ended_early"], 1)
        self.assertGreater(database.count("CONCURRENT_KERNEL"), 0)

    def test_a_killed_sampler(self):
        process = self.start("steady", 30, 5, self.folder / "end", options=["--pm-sampling", *SLOW])
        sampler = self.wait_for(lambda: pids_of(process.pid, "gpuprof-sampler"), PATIENCE)
        self.assertEqual(process.stdout.readline(), b"launching\n")
        self.wait_for(lambda: self.output.exists() and self.live_samples() > 3, PATIENCE)
        os.kill(sampler[0], signal.SIGKILL)
        (self.folder / "end").touch()
        _, stderr = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 5, stderr)
        self.assertIn(b"the sampler ended too early", stderr)
        database = self.database()
        self.assert_in_order(database)
        self.assertIn("stream_cut", [name for _, name in database.statistics()])

    def live_samples(self):
        database = self.database(integrity=False)
        return database.one("SELECT count(*) FROM PM_SAMPLE WHERE part = 0")

    def test_a_hanging_sampler(self):
        """A call that does not return is abandoned together with the process."""
        began = time.monotonic()
        run = self.profile("hello", 20, options=["--pm-sampling", *SLOW], check=0,
                           FAKE_CUPTI_HANG="cuptiPmSamplingStop")  # fmt: skip
        self.assertIn("CUPTI did not come back", run.stderr)
        self.assertEqual(self.database().count("CONCURRENT_KERNEL"), KERNELS)
        self.assertLess(time.monotonic() - began, PATIENCE)

    def test_a_killed_launcher(self):
        process = subprocess.Popen(
            self.sample_command("--duration", "60s"), env=self.environment({}),
            stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
            cwd=self.folder,
        )  # fmt: skip
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        sampler = self.wait_for(lambda: pids_of(process.pid, "gpuprof-sampler"), PATIENCE)[0]
        self.wait_for(lambda: self.output.exists() and self.live_samples(), PATIENCE)
        process.kill()
        self.wait_for(lambda: not is_alive(sampler), PATIENCE)


def is_alive(pid):
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


class Alone(PmTest):
    def test_a_duration(self):
        run = self.sample("--duration", "300ms")
        self.assertIn(" samples of counters, nothing lost", run.stderr)
        database = self.database()
        self.assert_in_order(database)
        self.assert_right(database)
        self.assertEqual(database.one("SELECT count(*) FROM PROCESS"), 0)
        self.assertEqual(database.one("SELECT value FROM RUN WHERE key = 'finished'"), 1)
        self.assertEqual(database.one("SELECT min(t_ms) FROM pm_samples"), 0)

    def test_until_it_is_interrupted(self):
        process = subprocess.Popen(
            self.sample_command("--live"), env=self.environment({}), stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
        )  # fmt: skip
        self.addCleanup(self.end, process)
        line = process.stdout.readline().decode()
        self.assertRegex(line, r"^device 0: sm__cycles_active [0-9.]+ %, dram__bytes_read ")
        process.send_signal(signal.SIGINT)
        _, stderr = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, stderr)
        self.assert_in_order(self.database())

    @unittest.skipIf(SANITIZED, "this build is without the command slice")
    def test_a_slice(self):
        self.sample("--duration", "300ms")
        part = self.folder / "part.sqlite"
        subprocess.run(
            [GPUPROF, "slice", str(self.output), "--from", "50ms", "--to", "100ms", "-o",
             str(part)], check=True, capture_output=True, env=self.environment({}),
        )  # fmt: skip
        whole, some = self.database(), self.database(part)
        first = whole.one("SELECT min(start) FROM PM_SAMPLE")
        self.assertEqual(
            some.rows("SELECT start FROM PM_SAMPLE"),
            [(first + i * INTERVAL_NS,) for i in range(50, 100)],
        )
        self.assertEqual(
            some.rows("SELECT * FROM PM_METRIC"), whole.rows("SELECT * FROM PM_METRIC")
        )


if __name__ == "__main__":
    unittest.main()
