# ctest-cost: 10
# ctest-labels: plain
"""A launcher that stops for longer than anything waits for it: nothing is lost silently, and the
target continues."""

import contextlib
import os
import pathlib
import signal
import sqlite3
import time
import unittest

from fake_run import FakeTest, pids_of

# Longer than the collector waits for an answer, or to send a frame.
LONG = 3
# More launches than the buffers of these tests can hold.
MANY = 200_000
SECONDS = 300  # limit for anything that eventually happens


class StandStill(FakeTest):
    def launching(self, *target, options=(), **environment):
        """A run whose target is already launching."""
        process = self.start(*target, options=options, FAKE_CUPTI_LEDGER=self.folder / "ledger",
                             **environment)  # fmt: skip
        self.wait_for(self.launches, SECONDS)
        return process

    def launching_steadily(self, per_ms, options=()):
        """Until end_target()."""
        return self.launching("steady", SECONDS, per_ms, self.folder / "over", options=options)

    def end_target(self):
        (self.folder / "over").touch()

    def launches(self):
        return self.ledger()["CONCURRENT_KERNEL"]

    @contextlib.contextmanager
    def standing_still(self, process, launches=0):
        """The launcher is stopped during `with`, for some time and until that many more launches."""
        os.kill(process.pid, signal.SIGSTOP)
        before = self.launches()
        time.sleep(LONG)
        self.wait_for(lambda: self.launches() >= before + launches, SECONDS)
        yield
        os.kill(process.pid, signal.SIGCONT)

    def has_ended(self, pid):
        """Without reaping it, so that it remains visible."""
        stat = pathlib.Path(f"/proc/{pid}/stat").read_text()
        return stat[stat.rindex(")") + 2] == "Z"

    def finish(self, process, code):
        stdout, stderr = process.communicate(timeout=SECONDS)
        self.assertEqual(process.returncode, code, stderr)
        return stdout, stderr.decode()

    def test_while_there_is_room_nothing_is_lost(self):
        process = self.launching_steadily(20)
        with self.standing_still(process):
            pass
        self.end_target()
        stdout, stderr = self.finish(process, 5)
        self.assertIn("nothing lost", stderr)
        database = self.database()
        self.assertEqual(database.losses(), {})
        self.assert_all_there(database)
        self.assertEqual(database.kernels(), {"steady": int(stdout.split()[-1])})
        self.assertEqual(database.rows("SELECT goodbye, salvaged FROM PROCESS"), [(1, 0)])

    def test_what_there_is_no_room_for_is_counted(self):
        process = self.launching_steadily(200, ["--activity-buffers", 8])
        with self.standing_still(process, MANY):
            pass
        # It continues recording when the launcher reads again.
        self.wait_for(lambda: self.seconds_recorded() > LONG, SECONDS)
        self.end_target()
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

    def seconds_recorded(self):
        database = self.database(integrity=False)
        try:
            return database.one("SELECT (max(start) - min(start)) / 1e9 FROM kernels") or 0
        except sqlite3.OperationalError:
            return 0
        finally:
            database.close()

    def test_the_target_ends_meanwhile(self):
        """What it could not send is read from its buffers."""
        process = self.launching_steadily(200, ["--activity-buffers", 16])
        (target,) = pids_of(process.pid, "steady")
        with self.standing_still(process, MANY):
            self.end_target()
            # It waits for a while to send what it has.
            self.wait_for(lambda: self.has_ended(target), SECONDS)
        _, stderr = self.finish(process, 5)
        database = self.database()
        discarded = self.assert_all_accounted_for(database)
        self.assertGreater(sum(discarded.values()), 0)
        dropped = database.statistic("records_dropped_by_cupti")
        self.assertIn(f" {sum(discarded.values()) + dropped} lost", stderr)
        # In order, although its goodbye was not received.
        self.assertEqual(database.rows("SELECT goodbye, salvaged FROM PROCESS"), [(1, 1)])
        self.assertEqual(set(database.kernels()), {"steady"})
        self.assertEqual(database.statistic("strings_lost"), 0)

    def test_the_target_is_killed_meanwhile(self):
        process = self.launching_steadily(200, ["--activity-buffers", 16])
        (target,) = pids_of(process.pid, "steady")
        with self.standing_still(process, MANY):
            os.kill(target, signal.SIGKILL)
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
        """They are the program's own texts: packed before it dies, or lost."""
        # On a busy machine the program can end before this test looks for it.
        for n in (20_000, 100_000, 300_000):
            process = self.launching("nvtx", "before", n, options=["-f", "--activity-buffers", 64])
            targets = pids_of(process.pid, "nvtx")
            if targets:
                break
            self.finish(process, 0)
            (self.folder / "ledger").unlink(missing_ok=True)
        (target,) = targets
        with self.standing_still(process):
            self.wait_for(lambda: self.has_ended(target), SECONDS)
        self.finish(process, 0)
        database = self.database()
        discarded = self.assert_all_accounted_for(database)
        self.assertEqual(database.statistic("strings_lost"), 0)
        names = dict(
            database.rows("""
            SELECT s.value, count(*) FROM CUPTI_ACTIVITY_KIND_MARKER AS m
            JOIN StringTable AS s ON s._id_ = m.name WHERE m.name != 0 GROUP BY 1""")
        )
        self.assertLessEqual(set(names), {"outer", "inner", "here"})
        if not discarded:
            self.assertEqual(names, {"outer": n, "inner": n, "here": n})


class BeforeTheStart(FakeTest):
    """The launcher is stopped when a process connects."""

    def started_by_hand(self, *target, config=True):
        """A target under a launcher that is stopped before the target has started. Returns the process
        of the target and of the launcher."""
        go, done = self.folder / "go", self.folder / "done"
        script = (
            f'while [ ! -e {go} ]; do sleep 0.02; done; "$0" "$@"; echo $? > {done}.part; '
            f"mv {done}.part {done}"
        )
        self.program = lambda name: name if name == "sh" else str(FakeTest.program(self, name))
        command = ["sh", "-c", script, FakeTest.program(self, target[0]), *target[1:]]
        launcher = self.start(*command, FAKE_CUPTI_LEDGER=self.folder / "ledger",
                              TMPDIR=self.folder)  # fmt: skip
        self.wait_for(lambda: pids_of(launcher.pid, "sh"), SECONDS)
        self.wait_for(lambda: list(self.folder.glob("gpuprof-*/config")), SECONDS)
        if not config:
            for file in self.folder.glob("gpuprof-*/config"):
                file.unlink()
        os.kill(launcher.pid, signal.SIGSTOP)
        go.touch()
        self.wait_for(done.exists, SECONDS)
        os.kill(launcher.pid, signal.SIGCONT)
        _, stderr = launcher.communicate(timeout=SECONDS)
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
