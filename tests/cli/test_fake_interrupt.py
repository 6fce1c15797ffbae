"""Ctrl-C after the program's end: a second one always ends gpuprof, and the file is sound."""

import os
import signal
import sqlite3
import time
import unittest

from fake_run import PATIENCE, FakeTest, pids_of


class SecondInterrupt(FakeTest):
    """Without it each of these would last indefinitely."""

    def ended(self, process):
        """How gpuprof ends after a second request, and its output."""
        began = time.monotonic()
        process.wait(timeout=PATIENCE)
        # One second is promised; a loaded machine may need more.
        self.assertLess(time.monotonic() - began, 20)
        self.assertEqual(process.returncode, 128 + signal.SIGINT)

    def locked(self, end_it=None):
        """While the program runs, something takes the lock; then the program is killed, or ended."""
        process = self.start("steady", 600, 2, self.folder / "over")
        process.stdout.readline()
        self.wait_for(lambda: self.rows() > 0)
        other = sqlite3.connect(self.output, isolation_level=None, timeout=PATIENCE)
        self.addCleanup(other.close)
        other.execute("BEGIN IMMEDIATE")
        if end_it:
            end_it(process)
        else:
            os.kill(pids_of(process.pid, "steady")[0], signal.SIGKILL)
        self.wait_for(lambda: not pids_of(process.pid, "steady"))
        return process, other

    def rows(self):
        try:
            return self.database(integrity=False).count("CONCURRENT_KERNEL")
        except sqlite3.OperationalError:
            return 0

    def test_while_another_process_holds_the_lock(self):
        process, other = self.locked()
        os.kill(process.pid, signal.SIGINT)
        self.assertIn(b"writing what was recorded", process.stderr.readline())
        os.kill(process.pid, signal.SIGINT)
        self.ended(process)
        self.assertIn(b"ends now", process.stderr.read())
        other.execute("COMMIT")
        self.assertGreater(self.database().count("CONCURRENT_KERNEL"), 0)
        self.assertEqual(self.database().run()["finished"], 0)

    def test_one_that_the_program_got_counts(self):
        process, other = self.locked(end_it=lambda each: os.killpg(each.pid, signal.SIGINT))
        os.kill(process.pid, signal.SIGINT)
        self.ended(process)
        other.execute("COMMIT")
        self.assertGreater(self.database().count("CONCURRENT_KERNEL"), 0)

    def test_while_nobody_reads_the_report(self):
        # The report of 2000 kernels is longer than a pipe.
        process = self.start("steady", 600, 2000, "/", options=["--print-gpu-trace"])
        self.wait_for(lambda: self.rows() > 0 and self.finished())
        os.kill(process.pid, signal.SIGINT)
        time.sleep(0.2)
        os.kill(process.pid, signal.SIGINT)
        self.ended(process)
        self.assertGreater(self.database().count("CONCURRENT_KERNEL"), 0)

    def finished(self):
        return self.database(integrity=False).run().get("finished") == 1

    def test_the_first_one_loses_nothing(self):
        """It may end the search for what a dead process left, which is reported."""
        process, other = self.locked(end_it=lambda _: (self.folder / "over").touch())
        os.kill(process.pid, signal.SIGINT)
        self.assertIn(b"writing what was recorded", process.stderr.readline())
        other.execute("COMMIT")
        stdout, stderr = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 5, stderr)
        self.assertEqual(self.database().kernels(), {"steady": int(stdout)})
        self.assertLessEqual(self.database().losses().keys(), {"salvage_failed"})
        self.assertEqual(self.database().run()["finished"], 1)


if __name__ == "__main__":
    unittest.main()
