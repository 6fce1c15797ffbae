"""gpuprof memory of runs with the stand-in: which memory is a leak, and when no claim is made."""
# ctest-labels: plain

import json
import signal
import subprocess
import unittest

from fake_run import GPUPROF, FakeTest


class Leaks(FakeTest):
    def tables(self, *options):
        ran = subprocess.run(
            [GPUPROF, "memory", self.output, "--json", *options],
            capture_output=True, text=True, timeout=60,
        )  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return {table["table"]: table["rows"] for table in json.loads(ran.stdout)["tables"]}

    def left(self, tables):
        return [(row["class"], row["allocations"], row["bytes"]) for row in tables["memory_leaks"]]

    def test_what_is_allocated_after_the_first_kernel_and_never_released_is_lost(self):
        self.profile("leaks", "return", 5, check=0)
        tables = self.tables()
        self.assertEqual(self.left(tables), [("lost", 5, 5120), ("kept", 1, 4096)])
        (process,) = tables["memory_processes"]
        self.assertEqual((process["leaks_known"], process["why_not"]), (1, None))
        (peak,) = tables["memory_peaks"]
        self.assertEqual(peak["peak_bytes"], 4096 + 5 * 1024 + 512)
        self.assertEqual((peak["allocations"], peak["releases"]), (11, 5))

    def unclaimed(self, why):
        tables = self.tables()
        self.assertEqual(self.left(tables), [("alive", 5, 5120), ("alive", 1, 4096)])
        (process,) = tables["memory_processes"]
        self.assertEqual(process["leaks_known"], 0)
        self.assertRegex(process["why_not"], why)
        text = subprocess.run([GPUPROF, "memory", self.output], capture_output=True, text=True)
        self.assertIn("No leaks are claimed of process", text.stdout)
        self.assertNotIn(" lost ", text.stdout)

    def test_no_leaks_are_claimed_of_a_process_that_was_killed(self):
        self.profile("leaks", "sigkill", 5, check=128 + signal.SIGKILL)
        self.unclaimed("ended by signal 9")

    def test_no_leaks_are_claimed_of_a_process_that_ended_by_exit_without_handlers(self):
        self.profile("leaks", "_exit", 5, check=0)
        self.unclaimed("did not end in order")

    def test_a_file_without_allocations_says_what_records_them(self):
        self.profile("leaks", "return", options=["--trace", "-memory"], check=0)
        ran = subprocess.run([GPUPROF, "memory", self.output], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stdout), (5, ""))
        self.assertRegex(ran.stderr, r"allocations were not recorded.*\n.*--trace \+memory")

    def test_a_program_that_allocates_nothing(self):
        self.profile("die", "return", 1, check=7)
        ran = subprocess.run([GPUPROF, "memory", self.output], capture_output=True, text=True)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("allocated nothing", ran.stdout)


if __name__ == "__main__":
    unittest.main()
