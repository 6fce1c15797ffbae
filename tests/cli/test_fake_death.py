# ctest-labels: tsan
"""Each way for a program to end: its exit code is passed on, and no record is lost."""

import os
import signal
import unittest

from fake_run import PATIENCE, PREFIX, SANITIZED, FakeTest, pids_of


class Endings(FakeTest):
    def ends(self, how, code, n=500, wait_ms=0, kernels=None, salvaged=True, times=False):
        run = self.profile_with_ledger("die", how, n, wait_ms)
        self.assertEqual(run.code, code, run.stderr)
        database = self.database()
        self.assert_all_there(database)
        self.assertEqual(database.kernels(), {"_Z5dyingPf": kernels or n})
        self.assert_correlated(database)
        (process,) = database.rows(
            "SELECT exit_status, exit_signal, goodbye, salvaged FROM PROCESS"
        )
        expected_status = code if code < 128 else None
        expected_signal = code - 128 if code >= 128 else None
        self.assertEqual(process[:2], (expected_status, expected_signal))
        self.assertEqual(process[2], int(not salvaged))
        # If everything was flushed before the end, there was nothing to salvage.
        self.assertEqual(process[3], int(database.statistic("records_salvaged") > 0))
        if not salvaged:
            self.assertEqual(process[3], 0)
        run_table = database.run()
        self.assertEqual(run_table["finished"], 1)
        self.assertEqual(run_table.get("exit_status"), expected_status)
        self.assertEqual(run_table.get("exit_signal"), expected_signal)
        # Salvaged records and those without times are reported.
        self.assertEqual(database.statistic("strings_lost"), 0)
        without_times = database.one(
            f'SELECT count(*) FROM {PREFIX}CONCURRENT_KERNEL WHERE start = 0 AND "end" = 0'
        )
        self.assertEqual(
            database.statistics().get(("CONCURRENT_KERNEL", "records_without_times"), 0),
            without_times,
        )
        if times:
            self.assertEqual(without_times, 0)
        return database

    # In order: everything arrives with its times, and nothing needs to be salvaged.

    def test_return(self):
        self.ends("return", 7, salvaged=False, times=True)

    def test_exit(self):
        self.ends("exit", 8, salvaged=False, times=True)

    def test_quick_exit(self):
        self.ends("quick_exit", 10, salvaged=False, times=True)

    def test_exit_in_another_thread(self):
        self.ends("exit_in_thread", 11, salvaged=False, times=True)

    def test_main_thread_ends_first(self):
        self.ends("main_thread_ends", 12, kernels=1000, salvaged=False, times=True)

    # Sudden ends: records are salvaged, with names, whatever had been flushed.

    def test__exit(self):
        self.ends("_exit", 9)

    def test__exit_after_a_wait(self):
        """What the program has waited for has its times, though it ends without notice."""
        self.ends("waited", 14, times=True)

    def test_sigkill(self):
        self.ends("sigkill", 128 + signal.SIGKILL)

    def test_segfault(self):
        self.ends("segfault", 128 + signal.SIGSEGV)

    def test_abort(self):
        self.ends("abort", 128 + signal.SIGABRT)

    def test_uncaught_exception(self):
        self.ends("terminate", 128 + signal.SIGABRT)

    def test_many_records(self):
        self.ends("sigkill", 128 + signal.SIGKILL, n=8000 if SANITIZED else 20_000)

    def test_names_when_nothing_was_ever_flushed(self):
        database = self.ends("_exit", 9, n=3)
        self.assertEqual(database.rows("SELECT DISTINCT name FROM kernels"), [("dying(float*)",)])

    def test_after_flushes(self):
        self.ends("sigkill", 128 + signal.SIGKILL, wait_ms=400)

    def test_own_calls_are_left_out_of_what_is_salvaged(self):
        # The critical moment is short, hence several tries.
        for wait_ms in (0, 2, 5, 12) if SANITIZED else (0, 1, 2, 3, 5, 8, 12, 15, 20):
            with self.subTest(wait_ms=wait_ms):
                self.profile("die", "sigkill", 10, wait_ms, options=["-f", "--trace", "+queries"])
                self.assertEqual(self.database().own_calls(), 0)


class AnyMoment(FakeTest):
    def test_killed_at_odd_moments(self):
        # Between a batch and its slot's return, while a buffer is asked for, before a first flush.
        threads = 3
        moments = (200, 1000, 2500, 4000, 7000, 11_000, 16_000, 25_000, 60_000, 120_000)
        for microseconds in moments[::2] if SANITIZED else moments:
            with self.subTest(microseconds=microseconds):
                for file in self.folder.iterdir():
                    file.unlink()
                self.profile_with_ledger(
                    "short_lived", microseconds, threads, check=137, options=["--trace", "+queries"]
                )
                database = self.database()
                self.assert_all_there(database, slack=threads)
                self.assertLessEqual(set(database.kernels()), {"odd", "even"})
                # Storing it twice is as wrong as losing it.
                self.assertEqual(
                    database.one(f"""SELECT count(*) - count(DISTINCT correlationId)
                                     FROM {PREFIX}CONCURRENT_KERNEL"""),
                    0,
                )
                self.assertEqual(database.own_calls(), 0)


class FromOutside(FakeTest):
    def killed(self, number):
        process = self.start("steady", 30, 5, FAKE_CUPTI_LEDGER=self.folder / "ledger")
        self.assertEqual(process.stdout.readline(), b"launching\n")
        self.wait_for(lambda: self.output.exists() and self.rows_so_far() > 500)
        (target,) = pids_of(process.pid, "steady")
        os.kill(target, number)
        process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 128 + number)
        database = self.database()
        # One thread may be between writing a record and counting it.
        self.assert_all_there(database, slack=1)
        self.assertEqual(set(database.kernels()), {"steady"})
        self.assertEqual(database.run()["exit_signal"], number)

    def rows_so_far(self):
        database = self.database(integrity=False)
        try:
            return database.count("CONCURRENT_KERNEL")
        except Exception:
            return 0
        finally:
            database.close()

    def test_sigkill(self):
        self.killed(signal.SIGKILL)

    def test_sigterm(self):
        self.killed(signal.SIGTERM)

    def test_sigsegv(self):
        self.killed(signal.SIGSEGV)


if __name__ == "__main__":
    unittest.main()
