"""--cpu-profiling: where the threads of a program use the processor, with native stacks."""

import json
import math
import os
import pathlib
import re
import resource
import subprocess
import sys
import unittest

from fake_run import FAKE, GPUPROF, SANITIZED, FakeTest

# Another interpreter: a command that runs one.
PYTHON = os.environ.get("GPUPROF_TEST_PYTHON", sys.executable).split()
RATE = 400  # samples of a second of a thread's processor time

PYTHON_PROGRAM = """\
import ctypes, hashlib, sys, time

cuda = ctypes.CDLL(sys.argv[1])


def native():
    end = time.thread_time() + 0.4
    while time.thread_time() < end:
        hashlib.pbkdf2_hmac("sha256", b"word", b"salt", 20_000)  # native


def interpreted():
    end = time.thread_time() + 0.4
    while time.thread_time() < end:
        for i in range(100_000):  # interpreted
            i + i  # interpreted


def outer():
    native()
    interpreted()


cuda.fake_init()
cuda.fake_launch(b"work", 1)
outer()
cuda.fake_launch(b"work", 1)
"""


class CpuSamplesTest(FakeTest):
    def record(self, *words, options=(), check=0, **environment):
        return self.profile("cpu_work", *words, check=check, options=(
            "--cpu-profiling", "on", "--cpu-profiling-frequency", RATE, *options), **environment)  # fmt: skip

    def report(self, *words):
        command = [GPUPROF, "-i", self.output, "--cpu-profiling", "on", *words]
        printed = subprocess.run(command, capture_output=True, check=True, timeout=120)
        return printed.stderr.decode()

    def rows(self, *words):
        command = [GPUPROF, "-i", self.output, "--json", "--cpu-profiling", "on", *words]
        printed = subprocess.run(command, capture_output=True, check=True, timeout=120).stdout
        [rows] = [each["rows"] for each in json.loads(printed)["tables"] if each["table"] == "cpu_profile"]  # fmt: skip
        return rows

    def samples(self):
        return self.database().one("SELECT coalesce(sum(samples), 0) FROM CPU_SAMPLE")

    def has_table(self, name):
        return name in self.database().tables()

    def has_samples(self):
        return self.has_table("CPU_SAMPLE")


class Shares(CpuSamplesTest):
    """Two threads whose time is known. They are recorded once."""

    time = 0.4 if SANITIZED else 0.7  # each thread's, of the processor

    def setUp(self):
        super().setUp()
        self.ran = self.made_once(lambda: self.record("shares", self.time))

    def assert_share(self, hits, share, of):
        """Within six standard deviations of a drawing, and a sample for where a loop ends."""
        allowed = 6 * math.sqrt(of * share * (1 - share)) + 1
        self.assertAlmostEqual(hits, share * of, delta=allowed)

    def test_shares_of_two_threads(self):
        run, time = self.ran, self.time
        threads = {int(line) for line in run.stdout.split()}
        self.assertEqual(len(threads), 2)
        database = self.database()
        self.assertNotIn("CPU samples", run.stderr)
        self.assertNotIn("no host samples", run.stderr)
        # What a thread had used when it was found has no samples; the rest has, to one.
        for thread in threads:
            hits, cpu_time = database.row(
                "SELECT sum(samples), sum(cpuTime) FROM CPU_SAMPLE WHERE threadId = ?", thread
            )
            self.assertEqual(cpu_time, hits * 1_000_000_000 // RATE)
            self.assertLess(cpu_time / 1e9, time + 0.3)
            self.assertGreater(cpu_time / 1e9, time * 0.5)
        self.assertEqual(database.one("SELECT count(*) FROM CPU_SAMPLE WHERE stop < time"), 0)
        rows = self.rows("--cpu-profiling-mode", "top-down", "--cpu-profiling-thread-mode",
                         "separated")  # fmt: skip
        for thread in threads:
            hits = {}
            for row in rows:
                if row["thread_id"] == thread:
                    name = row["function"]
                    hits[name] = max(hits.get(name, 0), row["samples"])
            of = hits["seven_tenths(double)"] + hits["three_tenths(double)"]
            self.assert_share(hits["seven_tenths(double)"], 0.7, of)
            self.assertGreaterEqual(hits["work(double)"], of)
            self.assertGreater(of, 0.95 * hits["work(double)"])
        # Innermost first, the loop is where nearly all of it goes.
        rows = self.rows("--cpu-profiling-mode", "flat")
        flat = {row["function"]: row for row in rows}
        self.assertGreater(flat["turn_wheels()"]["time_percent"], 80)
        self.assertTrue(flat["turn_wheels()"]["library"].endswith("/cpu_work"))
        # Libraries may have functions of the same name.
        self.assertAlmostEqual(sum(row["time_percent"] for row in rows), 100, delta=0.1)

    def test_reports(self):
        text = self.report("--cpu-profiling-mode", "top-down", "--cpu-profiling-show-library", "on",
                           "--cpu-profiling-percentage-threshold", "5")  # fmt: skip
        self.assertIn(f"======== Data collected at {RATE}Hz frequency\n", text)
        self.assertIn("======== Percentage threshold: 5%\n", text)
        program = re.escape(str(FAKE / "cpu_work"))
        self.assertRegex(text, rf"main {program}\n(.*\n)*.* work\(double\) {program}\n")
        text = self.report("--cpu-profiling-unwind-stack", "off")
        self.assertNotRegex(text, r"%.*  \| ")
        self.assertRegex(
            self.report(), r" turn_wheels\(void\)\n.*  [| ] (seven|three)_tenths\(double\)\n"
        )
        for row in self.rows("--cpu-profiling-max-depth", "2"):
            self.assertLess(row["depth"], 2)
        # The address of an instruction, and its line where a program says it.
        [first, *_] = self.rows("--cpu-profiling-scope", "instruction", "--cpu-profiling-mode", "flat")  # fmt: skip
        self.assertEqual(first["function"], "turn_wheels()")
        self.assertGreater(first["offset"], 0)

    def test_what_else_reads_samples_sees_none(self):
        """The account's causes come from samples of what a thread waits for, too, which nobody
        asked for; lines come from calls."""
        self.assertFalse(self.has_table("HOST_SAMPLE"))
        printed = subprocess.run([GPUPROF, "account", self.output, "--json"], capture_output=True,
                                 check=True, timeout=120)  # fmt: skip
        [table] = json.loads(printed.stdout)["tables"]
        self.assertEqual(
            {row["cause"] for row in table["rows"] if row["class"] == "no call"}, {None}
        )

    def test_what_it_cost_is_counted(self):
        costs = dict(self.database().rows(
            "SELECT name, sum(value) FROM STATISTIC WHERE kind = 'samples' GROUP BY 1"))  # fmt: skip
        self.assertGreater(costs["cost_ns"], 0)
        self.assertGreater(costs["background_ns"], 0)


class CpuSamples(CpuSamplesTest):
    def test_without_the_option_nothing_is_interrupted(self):
        self.profile("cpu_work", "shares", 0.1, check=0)
        self.assertFalse(self.has_samples())

    def test_a_handler_of_the_programs_own(self):
        run = self.record("handler", 0.25)
        sent, got = map(int, run.stdout.split())
        self.assertEqual(got, sent)
        self.assertGreater(self.samples(), 20)
        self.assertNotIn("CPU samples", run.stderr)

    def test_a_handler_that_comes_later(self):
        run = self.record("handler_later", 0.4)
        sent, got = map(int, run.stdout.split())
        self.assertEqual(got, sent)
        self.assertIn("CPU samples end here: the program has a handler of its own for SIGURG now", run.stderr)  # fmt: skip
        self.assertGreater(self.samples(), 20)

    def test_forks_and_executes_all_the_time(self):
        run = self.record("forks", 0.1)
        forked, failed = map(int, run.stdout.split())
        self.assertGreater(forked, 10)
        self.assertEqual(failed, 0)
        self.assertGreater(self.samples(), 0)

    def test_threads_come_and_go(self):
        self.record("threads", 0.5)
        database = self.database()
        self.assertGreater(database.one("SELECT count(DISTINCT threadId) FROM CPU_SAMPLE"), 5)

    def test_calls_that_wait_are_not_interrupted(self):
        plain = self.profile("cpu_work", "blocks", 0.25, output=False, check=0)
        run = self.record("blocks", 0.25)
        calls, interrupted = map(int, run.stdout.split())
        self.assertGreater(calls, 100)
        self.assertEqual(interrupted, int(plain.stdout.split()[1]))
        self.assertGreater(self.samples(), 5)

    @unittest.skipIf(SANITIZED, "a sanitizer wants its own stack")
    def test_a_stack_that_is_none(self):
        self.record("lost", 0.3)
        self.assertGreater(self.samples(), 50)
        names = self.database().rows(
            "SELECT DISTINCT f.function FROM CPU_SAMPLE AS s JOIN STACK_FRAME AS f"
            " ON f.frame = s.frame AND f.processId = s.processId"
        )
        self.assertTrue(any("lose_stack" in (name or "") for (name,) in names), names)

    def test_threads_that_block_the_signal(self):
        run = self.record("masked", 0.15)
        self.assertIn("no CPU samples: the program's threads block SIGURG", run.stderr)
        self.assertFalse(self.has_samples() and self.samples())

    def test_a_thread_that_waits_for_the_signal_gets_none_of_ours(self):
        for how in ("waits", "suspends"):
            run = self.record(how, 0.7, options=["-f"])
            self.assertEqual(run.stdout.strip(), b"0", how)

    def test_no_timers(self):
        limit = resource.getrlimit(resource.RLIMIT_SIGPENDING)
        program = [sys.executable, "-c", "import os, resource, sys; resource.setrlimit("
                   "resource.RLIMIT_SIGPENDING, (0, 0)); os.execv(sys.argv[1], sys.argv[1:])"]  # fmt: skip
        words = [*program, self.program("cpu_work"), "shares", 0.1]
        run = self.profile(*words, options=("--cpu-profiling", "on"), check=0)
        self.assertEqual(resource.getrlimit(resource.RLIMIT_SIGPENDING), limit)
        self.assertIn("CPU samples lack threads: timer_create: Resource temporarily unavailable, "
                      "the limit of pending signals is reached (ulimit -i)", run.stderr)  # fmt: skip
        self.assertEqual(self.database().count("RUNTIME") > 0, True)

    @unittest.skipIf(SANITIZED, "an interpreter without the sanitizer cannot load the collector")
    def test_native_functions_within_python(self):
        program = self.folder / "program.py"
        program.write_text(PYTHON_PROGRAM)
        run = self.profile(*PYTHON, program, FAKE / "libcuda.so.1", check=0, options=(
            "--cpu-profiling", "on", "--cpu-profiling-frequency", RATE))  # fmt: skip
        self.assertNotIn("CPU samples", run.stderr)
        rows = self.rows("--cpu-profiling-mode", "top-down")
        path, inside = [], {}
        for row in rows:
            path = path[: row["depth"]] + [row["function"]]
            if "outer" in path and path[-1] in ("native", "interpreted"):
                inside[path[-1]] = row["samples"]
        self.assertGreater(inside["native"], 0.2 * RATE)
        self.assertGreater(inside["interpreted"], 0.2 * RATE)
        # Below native() there is OpenSSL's code, where it ends; the interpreter's own is Python's.
        flat = {}
        for row in self.rows("--cpu-profiling-mode", "flat"):
            library = pathlib.Path(row["library"]).name
            flat[library] = flat.get(library, 0) + row["samples"]
        own = flat["program.py"]
        self.assertGreater(own, 0.5 * inside["interpreted"])
        self.assertGreater(sum(flat.values()) - own, 0.5 * inside["native"])
        of_interpreter = sum(hits for name, hits in flat.items() if "python3" in name)
        self.assertLess(of_interpreter, 0.1 * sum(flat.values()), flat)
        lines = {i for i, text in enumerate(PYTHON_PROGRAM.split("\n"), 1) if "# interpreted" in text}  # fmt: skip
        places = {row["line"] for row in self.rows("--cpu-profiling-scope", "instruction", "--cpu-profiling-mode",
                                                   "flat") if row["function"] == "interpreted"}  # fmt: skip
        self.assertTrue(lines & places, places)


if __name__ == "__main__":
    unittest.main()
