"""Calls that fail, buffers and disks that are full: reported in one line, and the target continues."""

import os
import shutil
import signal
import subprocess
import sys
import unittest

from fake_run import (
    BARE_CUPTI,
    CUPTI,
    FAKE,
    GPUPROF,
    PATIENCE,
    PREFIX,
    SANITIZED,
    FakeTest,
    has_driver,
)  # fmt: skip


@unittest.skipIf(SANITIZED, "many short runs, whose difference is what CUPTI answers")
class HardwareTracing(FakeTest):
    """Each answer that CUPTI may give, at the start and later: recorded in any case, and said."""

    def trace(self, mode, *options, version=130500, chip="GB202", cuda=13050, **more):
        run = self.profile(
            "hello", 10, options=["-f", "--hw-trace", mode, *options], check=0,
            FAKE_CUPTI_VERSION=version, FAKE_CUPTI_CHIP=chip, FAKE_CUDA_VERSION=cuda, **more,
        )  # fmt: skip
        database = self.database()
        self.assertEqual(database.losses(), {})
        by_hardware, all_kernels = database.rows(
            f"SELECT sum(channelID = 0), count(*) FROM {PREFIX}CONCURRENT_KERNEL"
        )[0]
        self.assertEqual(all_kernels, 23)
        used = database.one("SELECT value FROM RUN WHERE key = 'hw_trace'")
        last = run.stderr.splitlines()[-1]
        shown = f"off ({used[5:]})" if used.startswith("off: ") else used
        self.assertIn(f"hardware tracing {shown}, nothing lost", last)
        return used, by_hardware, run.stderr.splitlines()[:-1]

    def test_it_is_there(self):
        for version, mode in ((130500, "on"), (130100, "on"), (130500, "auto")):
            with self.subTest(version=version, mode=mode):
                self.assertEqual(self.trace(mode, version=version), ("on", 23, []))

    def test_refused(self):
        """Before the driver is up by a later message, and then at once."""
        for code, word in ((27, "NOT_SUPPORTED"), (33, "virtual GPU"), (41, "confidential"),
                           (42, "mining"), (43, "MIG"), (44, "SLI"), (45, "WSL"), (47, "MPS")):  # fmt: skip
            for version in (130500, 130100) if code == 27 else (130500,):
                with self.subTest(code=code, version=version):
                    used, kernels, (line,) = self.trace("on", version=version, FAKE_CUPTI_HES=code)
                    self.assertEqual((used[:5], kernels), ("off: ", 0))
                    self.assertIn(word, used)
                    self.assertIn(f"no hardware tracing ({used[5:]})", line)
        used, kernels, lines = self.trace("auto", FAKE_CUPTI_HES=27)
        self.assertEqual((used[:5], kernels, lines), ("off: ", 0, []))

    def test_it_ends_within_a_run(self):
        for mode in ("on", "auto"):
            used, by_hardware, (line,) = self.trace(mode, FAKE_CUPTI_HES="27@4")
            self.assertEqual((used[:5], by_hardware), ("off: ", 4))
            self.assertIn("no hardware tracing", line)

    def test_not_by_itself_where_programs_crashed(self):
        for settings, word in (
            ({"chip": "GH100"}, "needs a Blackwell GPU; the chip is GH100"),
            ({"chip": "GB100"}, "NVIDIA-NeMo/RL#4090"),
            ({"chip": "GR100"}, "NVIDIA/srt-slurm#418"),
            ({"version": 130400}, "before CUPTI 13.5"),
            ({"cuda": 13000}, "the driver is older than CUPTI, for CUDA 13.0"),
        ):
            with self.subTest(**settings):
                used, by_hardware, lines = self.trace("auto", **settings)
                self.assertIn(word, used)
                self.assertEqual((by_hardware, lines), (0, []))
        used, _, _ = self.trace("auto", "--kernel-latency-timestamps", "on")
        self.assertIn("--kernel-latency-timestamps", used)

    def test_the_buffer(self):
        options = ("--hw-trace-buffer", "64")
        self.assertEqual(self.trace("on", *options), ("on", 23, []))
        _, _, (line,) = self.trace("on", *options, FAKE_CUPTI_FAIL="cuptiActivitySetAttribute:24=1")
        self.assertIn("--hw-trace-buffer has no effect before CUPTI 13.5", line)

    def test_no_such_function(self):
        run = self.profile("hello", 10, options=["--hw-trace", "on"], cupti=BARE_CUPTI, check=0)
        self.assertIn("this libcupti is too old for it", run.stderr.splitlines()[-1])


class FailingCalls(FakeTest):
    def failing(self, fail, *target, options=(), cupti=CUPTI):
        target = target or ("hello", 10)
        run = self.profile(*target, options=["-f", *options], cupti=cupti, FAKE_CUPTI_FAIL=fail)
        self.assertEqual(run.code, 0, run.stderr)
        if target[0] == "hello":
            self.assertEqual(run.stdout, b"hello from the target\n")
        return run, self.database()

    def told(self, run, *words):
        """One line about it, in addition to the last one."""
        lines = run.stderr.splitlines()
        self.assertEqual(len(lines), 2, run.stderr)
        for word in words:
            self.assertIn(word, lines[0])

    def test_no_subscription(self):
        run, database = self.failing("cuptiSubscribe=999")
        self.told(run, "no usable libcupti", "CUPTI_ERROR_UNKNOWN", str(CUPTI))
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 0)

    def test_no_callbacks(self):
        run, database = self.failing("cuptiActivityRegisterCallbacks=1")
        self.told(run, "cuptiActivityRegisterCallbacks", "CUPTI_ERROR_INVALID_PARAMETER")
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 0)
        self.assertNotIn("nothing lost", run.stderr)

    def test_not_a_cupti(self):
        run, database = self.failing("", cupti=FAKE / "libcuda.so.1")
        self.told(run, "has no cupti")

    def test_version_too_old(self):
        run = self.profile("hello", FAKE_CUPTI_VERSION=23, check=0)
        self.told(run, "23", "24")

    def test_one_kind_is_not_to_be_had(self):
        run, database = self.failing("cuptiActivityEnable:10=2")
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 0)
        self.assertEqual(database.count("MEMCPY"), 10)
        self.assertEqual(database.count("RUNTIME"), 34)
        self.assertEqual(database.losses().get("cupti_errors", 0), 0)

    def test_one_kind_fails(self):
        _, database = self.failing("cuptiActivityEnable:10=999")
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 0)
        self.assertEqual(database.count("MEMCPY"), 10)
        self.assertEqual(database.losses().get("cupti_errors"), 1)

    def test_kinds_that_plain_enabling_has(self):
        _, database = self.failing("cuptiActivityEnableAndDump=14")
        self.assertEqual(database.count("CONTEXT"), 1)
        self.assertEqual(database.count("DEVICE"), 1)

    def test_small_things(self):
        callback = "cuptiEnableCallback"  # without callbacks some of the others are not called
        others = (
            "cuptiActivitySetAttribute",
            "cuptiActivityEnableDriverApi",
            "cuptiSetThreadIdType",
            "cuptiActivityConfigureUnifiedMemoryCounter",
            "cuptiGetContextId",
            "cuptiActivityDisable",
            "cuptiGetCallbackName",
            "cuptiActivityGetNumDroppedRecords",
        )
        # The others together; and alone, where that costs little.
        for failing in ((callback,), others, *(() if SANITIZED else zip(others))):
            with self.subTest(failing=failing):
                run, database = self.failing(
                    ";".join(f"{call}=999" for call in failing),
                    options=["--trace", "+module,+queries,+cuda-event"],
                )
                self.assertEqual(database.count("CONCURRENT_KERNEL"), 23)
                self.assertEqual(database.own_calls(), 0)
                # Counted each time, reported once.
                self.assertGreaterEqual(database.losses().get("cupti_errors", 0), len(failing))
                self.assertEqual(
                    sorted(database.rows("SELECT severity, text FROM DIAGNOSTIC")),
                    sorted(("notice", f"{call}: CUPTI_ERROR_UNKNOWN") for call in failing),
                )
                for call in failing:
                    self.assertEqual(
                        run.stderr.count(f"{call}: CUPTI_ERROR_UNKNOWN"), 1, run.stderr
                    )

    def test_expected_results(self):
        # Older versions return this for anything unknown.
        callback = "cuptiEnableCallback=1"  # as above
        others = (
            "cuptiActivitySetAttribute=1",
            "cuptiActivityEnableDriverApi=1",
            "cuptiSetThreadIdType=1",
            "cuptiActivityConfigureUnifiedMemoryCounter=28",
            "cuptiGetCallbackName=1",
            "cuptiActivityEnable:10=21",
            "cuptiActivityEnableAndDump=999",
        )
        for failing in (callback, ";".join(others), *(() if SANITIZED else others)):
            with self.subTest(failing=failing):
                _, database = self.failing(failing, options=["--trace", "+queries"])
                self.assertEqual(database.losses().get("cupti_errors", 0), 0)
                self.assertEqual(database.rows("SELECT text FROM DIAGNOSTIC"), [])

    def test_clock_and_end(self):
        for call in ("cuptiGetTimestamp", "cuptiUnsubscribe"):
            with self.subTest(call=call):
                _, database = self.failing(f"{call}=999")
                self.assertEqual(database.count("CONCURRENT_KERNEL"), 23)

    def test_flush_fails(self):
        # Unflushed records are salvaged.
        run, database = self.failing("cuptiActivityFlushAll=999")
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 23)
        self.assertGreater(database.losses().get("cupti_errors", 0), 0)

    def test_cupti_gives_up_by_itself(self):
        run = self.profile("late", "fatal", check=0)
        database = self.database()
        self.assertEqual(database.kernels(), {"before": 10})
        self.assertIn("CUPTI stopped after an error", run.stderr)
        self.assertNotEqual(database.losses(), {})


class Reasons(FakeTest):
    """The reason for missing data is in the file, and shown wherever the loss is."""

    WHY = "cuptiActivityRegisterCallbacks: CUPTI_ERROR_INVALID_PARAMETER"

    def failed(self):
        return self.profile("hello", 5, options=["-f"], check=0,
                            FAKE_CUPTI_FAIL="cuptiActivityRegisterCallbacks=1")  # fmt: skip

    def test_table_and_view(self):
        self.failed()
        database = self.database()
        (row,) = database.rows(
            "SELECT time > 1700000000000000000, severity, statistic, text FROM DIAGNOSTIC"
        )
        self.assertEqual(row, (1, "error", "not_profiled", self.WHY))
        self.assertEqual(
            database.rows("SELECT name, reason FROM losses"), [("not_profiled", self.WHY)]
        )

    def test_last_line(self):
        last = self.failed().stderr.splitlines()[-1]
        self.assertTrue(last.endswith(f"0 records of 1 process, 1 process not profiled ({self.WHY})"),
                        last)  # fmt: skip

    def test_info_and_reports(self):
        self.failed()
        for words in (["info", self.output], ["-i", self.output]):
            told = subprocess.run([GPUPROF, *words], capture_output=True, text=True)
            self.assertEqual(told.returncode, 0, told.stderr)
            self.assertIn(self.WHY, told.stdout + told.stderr)

    def test_terminal_codes_are_not_passed_on(self):
        evil = self.folder / "\x1b]0;evil"
        evil.mkdir()
        run = self.profile("hello", 5, options=["--cupti", shutil.copy(__file__, evil)], check=0,
                           FAKE_CUPTI_FAIL="cuptiSubscribe=39")  # fmt: skip
        database = self.database()
        self.assertIn("\x1b", database.one("SELECT text FROM DIAGNOSTIC"))
        for words in (["info", self.output], ["-i", self.output]):
            told = subprocess.run([GPUPROF, *words], capture_output=True, text=True)
            self.assertIn("evil", told.stdout + told.stderr)
            self.assertNotIn("\x1b", told.stdout + told.stderr)
        self.assertNotIn("\x1b", run.stderr)


class NothingRecorded(FakeTest):
    def test_last_line_comes(self):
        for name in ("true", "./without_cuda"):
            with self.subTest(name=name):
                os.path.exists(self.folder / "without_cuda") or shutil.copy(
                    FAKE / "without_cuda", self.folder
                )
                self.output.unlink(missing_ok=True)
                run = subprocess.run(
                    [GPUPROF, "-f", "-o", self.output, name],
                    cwd=self.folder,
                    text=True,
                    capture_output=True,
                    env=self.environment({"LD_LIBRARY_PATH": FAKE}),
                )
                self.assertEqual(run.returncode, 0 if name == "true" else 6)
                self.assertEqual(
                    run.stderr.splitlines()[-1],
                    f"gpuprof: {self.output}: 0 records: no process used CUDA",
                )

    def test_it_can_be_a_failure(self):
        for target, code, *outputs in (
            (["true"], 24, ["-o", self.output], []),
            ([self.program("without_cuda")], 6, [], ["-o", self.output]),
            ([self.program("hello"), "5"], 0, ["-o", self.output], []),
        ):
            for more in outputs[:1] if SANITIZED else outputs:
                with self.subTest(target=target, more=more):
                    run = subprocess.run(
                        [GPUPROF, "-f", "--fail-if-empty", "--cupti", CUPTI, *more, *target],
                        cwd=self.folder,
                        text=True,
                        capture_output=True,
                        env=self.environment({}),
                    )
                    self.assertEqual(run.returncode, code, run.stderr)
                    self.assertEqual("nothing was recorded" in run.stderr, code == 24)


# As in a program with NVTX and without CUDA.
NVTX_ALONE = """
import ctypes, os
collector = ctypes.CDLL(os.environ["NVTX_INJECTION64_PATH"])
prototype = ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_uint32)
tables = prototype(lambda number: None)
collector.InitializeInjectionNvtx2(tables)
"""


@unittest.skipIf(SANITIZED, "an interpreter without the sanitizer cannot load the collector")
class NoDriver(FakeTest):
    @unittest.skipIf(has_driver(), "there is a driver")
    def test_it_is_said_in_one_line(self):
        # CUPTI's answer without a driver.
        run = self.profile(sys.executable, "-c", NVTX_ALONE, check=0, LD_LIBRARY_PATH="",
                           FAKE_CUPTI_FAIL="cuptiGetVersion=15")  # fmt: skip
        self.assertRegex(
            run.stderr.splitlines()[0],
            r"^gpuprof: process \d+: no CUDA driver \(libcuda.so.1\) on this machine$",
        )
        self.assertNotIn("--cupti", run.stderr)


class SecondClient(FakeTest):
    def test_it_was_first(self):
        run = self.profile("second_client", "first", CUPTI, check=4)
        self.assertEqual(run.stdout, b"0\n")
        lines = run.stderr.splitlines()
        self.assertEqual(len(lines), 2, run.stderr)
        self.assertIn("another profiler", lines[0])
        self.assertIn("CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED", lines[0])
        database = self.database()
        self.assertEqual(database.losses().get("cupti_second_client"), 1)
        self.assertEqual(database.run()["loss"], 1)

    def test_it_was_first_with_another_copy(self):
        run = self.profile("second_client", "first", BARE_CUPTI, check=4)
        self.assertEqual(run.stdout, b"0\n")
        self.assertIn("another profiler", run.stderr)

    def test_it_comes_later(self):
        for copy in (CUPTI, BARE_CUPTI):
            with self.subTest(copy=copy):
                options = ["-f", "--no-share"]
                run = self.profile("second_client", "last", copy, options=options, check=4)
                self.assertEqual(run.stdout, b"39\n")
                self.assertEqual(self.database().kernels(), {"shared": 20})

    @unittest.skipIf(SANITIZED, "a sanitizer wants to be preloaded first")
    def test_linked_against_cupti(self):
        run = self.profile("linked_client", options=["--no-share"], check=4, LD_PRELOAD=CUPTI)
        self.assertEqual(run.stdout, b"39\n39\n39\n")
        database = self.database()
        self.assertEqual(database.kernels(), {"shared": 20})
        lines = [line for line in run.stderr.splitlines() if line.startswith("gpuprof: ")]
        self.assertEqual(len(lines), 2, run.stderr)
        self.assertIn("linked_client", lines[0])


class FullBuffers(FakeTest):
    def burst(self, n, threads, *options):
        run = self.profile_with_ledger("burst", n, threads, options=options, check=0)
        return run, *self.accounted(n * threads)

    def accounted(self, launches):
        database = self.database()
        dropped = database.statistic("records_dropped_by_cupti")
        # Every written record arrived or is counted, and so is every unwritten one.
        self.assert_all_accounted_for(database)
        written = self.ledger()
        # (The collector's own driver calls may be among the dropped ones.)
        missing = 2 * launches - written["CONCURRENT_KERNEL"] - written["RUNTIME"]
        self.assertTrue(missing <= dropped <= missing + 165, (missing, dropped))
        return database, dropped

    def test_arena_is_too_small(self):
        run, database, dropped = self.burst(10_000, 6, "--activity-buffers", 4)
        # Six threads each want one of four.
        self.assertGreater(dropped, 0)
        self.assertEqual(database.losses()["records_dropped_by_cupti"], dropped)
        self.assertGreater(database.statistic("slots_exhausted"), 0)
        self.assertEqual(database.run()["loss"], 1)
        # Calls that found no room are counted as well.
        discarded = sum(
            value
            for (_, name), value in database.statistics().items()
            if name == "records_discarded"
        )
        self.assertIn(f"{dropped + discarded} lost", run.stderr)

    def test_no_room_for_times(self):
        # CUPTI gets more of the device's memory once kernels come without times.
        run = self.profile("steady", 0.6, 2, check=5, FAKE_CUPTI_TIMES=100)
        self.assertEqual(run.stderr.count("kernels come without times"), 1, run.stderr)
        database = self.database()
        kernels = "FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"
        untimed = database.one(f'SELECT count(*) {kernels} WHERE start = 0 AND "end" = 0')
        self.assertGreater(untimed, 0)
        self.assertEqual(database.losses(), {"records_without_times": untimed})
        last = f"SELECT start > 0 {kernels} ORDER BY correlationId DESC LIMIT 1"
        self.assertEqual(database.one(last), 1)

    def test_launcher_stands_still(self):
        target = self.start_ready(
            self.command(["obeys"], ["--activity-buffers", 4]),
            FAKE_CUPTI_LEDGER=self.folder / "ledger",
        )
        self.wait_for_rows("PROCESS")
        os.kill(target.pid, signal.SIGSTOP)
        try:
            # The program does not wait for the launcher, except for the goodbye: this comes back.
            self.tell(target, "launch 70000")
        finally:
            os.kill(target.pid, signal.SIGCONT)
        self.tell(target, "exit")
        _, stderr = target.communicate(timeout=PATIENCE)
        self.assertEqual(target.returncode, 7, stderr)
        database, dropped = self.accounted(70_005)
        self.assertNotEqual(database.losses(), {})  # there was more than its buffers hold
        self.assertEqual(database.losses().get("records_dropped_by_cupti", 0), dropped)
        self.assertEqual(database.one("SELECT goodbye FROM PROCESS"), 1)

    def test_usual_arena(self):
        # No more than fit, because a sanitizer can slow the launcher more than the program.
        _, database, dropped = self.burst(5_000 if SANITIZED else 50_000, 2)
        self.assertEqual(dropped, 0)
        self.assertEqual(database.losses(), {})
        self.assert_correlated(database)


class Limits(FakeTest):
    """The shell limits what the target may use."""

    def limited(self, limit):
        hello = FAKE / "hello"
        self.program = lambda name: shutil.which(name)
        return self.profile("sh", "-c", f"ulimit {limit}; exec {hello} 5")

    def test_file_size(self):
        run = self.limited("-f 100")
        self.assertEqual(run.stdout, b"hello from the target\n", run.stderr)
        self.assertEqual(run.code, 0, run.stderr)

    @unittest.skipIf(SANITIZED, "needs more address space itself")
    def test_address_space(self):
        run = self.limited("-v 200000")
        self.assertEqual(run.stdout, b"hello from the target\n", run.stderr)
        self.assertEqual(run.code, 0, run.stderr)
        self.assertIn("shared memory", run.stderr)
        self.assertNotIn("nothing lost", run.stderr)

    def test_descriptors(self):
        run = self.limited("-n 20")
        self.assertEqual(run.stdout, b"hello from the target\n", run.stderr)
        self.assertEqual(run.code, 0, run.stderr)
        self.assertEqual(self.database().count("CONCURRENT_KERNEL"), 13)


@unittest.skipUnless(os.geteuid() == 0, "only root may mount")
class FullDisk(FakeTest):
    def mount(self, size):
        disk = self.folder / "disk"
        disk.mkdir(exist_ok=True)
        mounted = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(disk)], capture_output=True
        )
        if mounted.returncode != 0:
            self.skipTest("tmpfs cannot be mounted here")
        self.addCleanup(subprocess.run, ["umount", "-l", str(disk)])
        self.output = disk / "run.sqlite"

    def test_full_in_the_middle(self):
        self.mount("4m")
        run = self.profile("burst", 30_000)
        lines = run.stderr.splitlines()
        self.assertEqual(len([line for line in lines if "full" in line]), 1, run.stderr)
        self.assertEqual(run.code, 21)
        database = self.database()
        self.assertEqual(database.run()["finished"], 0)

    def test_the_target_runs_on(self):
        self.mount("3m")
        run = self.profile("steady", 1, 300)
        self.assertEqual(run.code, 21, run.stderr)
        self.assertRegex(run.stdout, rb"^launching\n[0-9]+\n$")
        self.assertIn("the program runs on", run.stderr)
        self.assertEqual(run.stderr.count("full"), 1, run.stderr)

    def test_full_for_the_capture(self):
        """The database continues without it."""
        self.mount("1m")
        capture = self.output.with_name("run.gpcap")
        self.output = self.folder / "run.sqlite"
        run = self.profile_with_ledger("burst", 10_000, options=["--save-capture", capture])
        self.assertEqual(run.code, 21, run.stderr)
        lines = run.stderr.splitlines()
        self.assertEqual(len([line for line in lines if f"{capture}: " in line]), 1, run.stderr)
        self.assertIn("the database goes on", lines[0])
        self.assertIn("nothing lost; the capture is not whole", lines[-1])
        database = self.database()
        self.assert_all_there(database)
        self.assertEqual(database.statistic("capture_cut"), 1)
        self.assertEqual(database.losses(), {})
        self.assertEqual(database.run()["finished"], 1)

    def test_full_from_the_start(self):
        self.mount("64k")
        run = self.profile("hello")
        self.assertEqual(run.code, 21, run.stderr)
        self.assertEqual(len(run.stderr.splitlines()), 2 if "\n  " in run.stderr else 1, run.stderr)


if __name__ == "__main__":
    unittest.main()
