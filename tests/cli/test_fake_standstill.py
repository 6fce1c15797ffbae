# ctest-requires: cupti
"""A launcher that stands still, for longer than anybody waits for it: nothing is lost in silence, and
the target runs on."""

import os
import re
import signal
import struct
import subprocess
import time
import unittest

from fake_run import FakeTest, pids_of

# Longer than the collector waits for an answer, or with a frame.
LONG = 3
# Longer than it waits with the last ones when the program ends.
LONGER = 9


class StandStill(FakeTest):
    def launching(self, *target, options=(), **environment):
        """A run whose target launches by now."""
        process = self.start(*target, options=options, FAKE_CUPTI_LEDGER=self.folder / "ledger",
                             **environment)  # fmt: skip
        self.wait_for(lambda: self.ledger()["CONCURRENT_KERNEL"] > 100)
        return process

    def stand_still(self, process, seconds):
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(seconds)
        os.kill(process.pid, signal.SIGCONT)

    def finish(self, process, code):
        stdout, stderr = process.communicate(timeout=120)
        self.assertEqual(process.returncode, code, stderr)
        return stdout, stderr.decode()

    def test_while_there_is_room_nothing_is_lost(self):
        process = self.launching("steady", LONG + 1, 20)
        self.stand_still(process, LONG)
        stdout, stderr = self.finish(process, 5)
        self.assertIn("nothing lost", stderr)
        database = self.database()
        self.assertEqual(database.losses(), {})
        self.assert_all_there(database)
        self.assertEqual(database.kernels(), {"steady": int(stdout.split()[-1])})
        self.assertEqual(database.rows("SELECT goodbye, salvaged FROM PROCESS"), [(1, 0)])

    def test_what_there_is_no_room_for_is_counted(self):
        process = self.launching("steady", LONG + 1, 200, options=["--activity-buffers", 8])
        self.stand_still(process, LONG)
        _, stderr = self.finish(process, 5)
        database = self.database()
        discarded = self.assert_all_accounted_for(database)
        self.assertGreater(discarded.get("CONCURRENT_KERNEL", 0), 0)
        self.assertGreater(discarded.get("RUNTIME", 0), 0)
        dropped = database.statistic("records_dropped_by_cupti")
        self.assertIn(f" {sum(discarded.values()) + dropped} lost", stderr)
        self.assertEqual(database.losses()["records_discarded"], sum(discarded.values()))
        self.assertEqual(database.run()["loss"], 1)
        self.assertEqual(database.rows("SELECT goodbye, salvaged FROM PROCESS"), [(1, 0)])
        # It recorded on when the launcher read again.
        times = database.one("SELECT (max(start) - min(start)) / 1e9 FROM kernels")
        self.assertGreater(times, LONG)

    def test_the_target_ends_meanwhile(self):
        """What it could not send is read from its buffers."""
        process = self.launching("steady", 1, 200, options=["--activity-buffers", 16])
        self.stand_still(process, LONGER)
        _, stderr = self.finish(process, 5)
        database = self.database()
        discarded = self.assert_all_accounted_for(database)
        self.assertGreater(sum(discarded.values()), 0)
        dropped = database.statistic("records_dropped_by_cupti")
        self.assertIn(f" {sum(discarded.values()) + dropped} lost", stderr)
        # In order, though nobody heard its goodbye.
        self.assertEqual(database.rows("SELECT goodbye, salvaged FROM PROCESS"), [(1, 1)])
        self.assertEqual(set(database.kernels()), {"steady"})
        self.assertEqual(database.statistic("strings_lost"), 0)

    def test_the_target_is_killed_meanwhile(self):
        process = self.launching("steady", 60, 200, options=["--activity-buffers", 16])
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(LONG)
        (target,) = pids_of(process.pid, "steady")
        os.kill(target, signal.SIGKILL)
        os.kill(process.pid, signal.SIGCONT)
        self.finish(process, 128 + signal.SIGKILL)
        database = self.database()
        made = self.ledger()
        there = {name: database.count(name) for name in made}
        for name in ("CONCURRENT_KERNEL", "RUNTIME"):
            lost = database.statistics().get((name, "records_discarded"), 0)
            # One record may be between being written and being counted by the stand-in.
            self.assertIn(there[name] + lost - made[name], (0, 1), name)
        self.assertEqual(database.rows("SELECT goodbye, salvaged FROM PROCESS"), [(0, 1)])

    def test_names_of_nvtx_survive(self):
        """They are text of the program's: packed before it dies, or lost."""
        n = 20_000
        process = self.launching("nvtx", "before", n, options=["--activity-buffers", 64])
        self.stand_still(process, LONGER)
        self.finish(process, 0)
        database = self.database()
        discarded = self.assert_all_accounted_for(database)
        self.assertEqual(database.statistic("strings_lost"), 0)
        names = dict(database.rows("""
            SELECT s.value, count(*) FROM CUPTI_ACTIVITY_KIND_MARKER AS m
            JOIN StringTable AS s ON s._id_ = m.name WHERE m.name != 0 GROUP BY 1"""))
        self.assertLessEqual(set(names), {"outer", "inner", "here"})
        if not discarded:
            self.assertEqual(names, {"outer": n, "inner": n, "here": n})


class BeforeTheStart(FakeTest):
    """The launcher stands still when a process connects."""

    def started_by_hand(self, *target, config=True):
        """A target under a launcher that is stopped before it has started. Its process, the
        launcher's."""
        go, done = self.folder / "go", self.folder / "done"
        script = (
            f'while [ ! -e {go} ]; do sleep 0.02; done; "$0" "$@"; echo $? > {done}.part; '
            f"mv {done}.part {done}")
        self.program = lambda name: name if name == "sh" else str(FakeTest.program(self, name))
        command = ["sh", "-c", script, FakeTest.program(self, target[0]), *target[1:]]
        launcher = self.start(*command, FAKE_CUPTI_LEDGER=self.folder / "ledger",
                              TMPDIR=self.folder)  # fmt: skip
        (shell,) = self.wait_for(lambda: pids_of(launcher.pid, "sh"))
        self.wait_for(lambda: list(self.folder.glob("gpuprof-*/config")))
        if not config:
            for file in self.folder.glob("gpuprof-*/config"):
                file.unlink()
        os.kill(launcher.pid, signal.SIGSTOP)
        go.touch()
        began = time.monotonic()
        self.wait_for(done.exists, seconds=60)
        self.took = time.monotonic() - began
        os.kill(launcher.pid, signal.SIGCONT)
        _, stderr = launcher.communicate(timeout=60)
        return done.read_text().strip(), stderr.decode()

    def test_the_target_goes_by_what_is_written_down(self):
        code, stderr = self.started_by_hand("hello", 10)
        self.assertEqual(code, "0")
        self.assertIn("nothing lost", stderr)
        database = self.database()
        self.assert_all_there(database)
        self.assertEqual(database.losses(), {})
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 23)
        self.assertEqual(database.one("SELECT count(*) FROM PROCESS"), 1)
        self.assertGreater(database.one("SELECT count(*) FROM API_NAME"), 100)

    def test_nothing_is_written_down(self):
        code, stderr = self.started_by_hand("hello", 10, config=False)
        self.assertEqual(code, "0")
        self.assertNotIn("nothing lost", stderr)
        self.assertNotIn("did not use CUDA", stderr)
        self.assertIn("1 process not profiled", stderr)
        database = self.database()
        self.assertEqual(database.losses(), {"not_profiled": 1})
        self.assertEqual(database.run()["loss"], 1)


if __name__ == "__main__":
    unittest.main()
