# ctest-cost: 60
# ctest-labels: tsan
"""While the target runs: signals, the growing file, a launcher that stops or dies, captures."""

import os
import pty
import shutil
import signal
import sqlite3
import subprocess
import time
import unittest

from fake_run import BUILD, GPUPROF, PATIENCE, PREFIX, FakeTest, without_cost


class Signals(FakeTest):
    def started(self, *target):
        process = self.start(*target, FAKE_CUPTI_LEDGER=self.folder / "ledger")
        process.stdout.readline()
        return process

    def finish(self, process):
        stdout, stderr = process.communicate(timeout=PATIENCE)
        return process.returncode, stdout, stderr.decode()

    def test_interrupt_to_the_group_ends_the_target(self):
        process = self.started("steady", 30)
        time.sleep(0.2)
        os.killpg(process.pid, signal.SIGINT)
        code, _, stderr = self.finish(process)
        self.assertEqual(code, 128 + signal.SIGINT, stderr)
        database = self.database()
        self.assert_all_there(database, slack=1)
        self.assertEqual(database.run()["finished"], 1)

    def test_ctrl_c_reaches_the_target_once(self):
        # Through a terminal, which signals the whole foreground group.
        pid, terminal = pty.fork()
        if pid == 0:
            command = self.command(["signals", 1], options=["-q"])
            os.execve(GPUPROF, command, self.environment({}))
        try:
            said = b""
            while b"ready" not in said:
                said += os.read(terminal, 100)
            time.sleep(0.1)
            os.write(terminal, b"\x03")
            _, status = os.waitpid(pid, 0)
        finally:
            os.close(terminal)
        self.assertEqual(os.waitstatus_to_exitcode(status), 10)
        self.assertGreater(self.database().count("CONCURRENT_KERNEL"), 10)

    def test_signals_are_passed_on(self):
        process = self.started("signals", 1)
        os.kill(process.pid, signal.SIGTERM)
        time.sleep(0.1)
        os.kill(process.pid, signal.SIGUSR1)
        time.sleep(0.1)
        os.kill(process.pid, signal.SIGINT)
        code, _, stderr = self.finish(process)
        self.assertEqual(code, 12, stderr)

    def test_terminating_the_launcher_ends_the_target(self):
        process = self.started("steady", 30)
        os.kill(process.pid, signal.SIGTERM)
        code, _, stderr = self.finish(process)
        self.assertEqual(code, 128 + signal.SIGTERM, stderr)
        self.assert_all_there(self.database(), slack=1)

    def test_stopped_launcher_loses_nothing(self):
        over = self.folder / "over"
        process = self.started("steady", PATIENCE, 25, over)
        os.kill(process.pid, signal.SIGSTOP)
        time.sleep(1)
        os.kill(process.pid, signal.SIGCONT)
        over.touch()
        code, stdout, stderr = self.finish(process)
        self.assertEqual(code, 5, stderr)
        database = self.database()
        self.assertEqual(database.kernels(), {"steady": int(stdout)})
        self.assert_all_there(database)
        self.assertEqual(database.losses(), {})

    def test_interrupt_while_waiting_for_a_daemon(self):
        script = 'setsid "$0" 30 >/dev/null 2>&1 & sleep 0.5; exit 3'
        self.program = lambda name: shutil.which(name) or str(BUILD / "tests" / "fake" / name)
        process = self.start("sh", "-c", script, BUILD / "tests" / "fake" / "steady")
        line = process.stderr.readline().decode()
        self.assertIn("waiting for its process", line)
        (daemon,) = [int(word) for word in line.split() if word.isdigit()]
        try:
            os.kill(process.pid, signal.SIGINT)
            code, _, stderr = self.finish(process)
            self.assertEqual(code, 3, stderr)
            self.assertGreater(self.database().count("CONCURRENT_KERNEL"), 100)
            os.kill(daemon, 0)  # it is alive
        finally:
            os.kill(daemon, signal.SIGKILL)


class Growing(FakeTest):
    def test_rows_come_while_the_target_runs(self):
        over = self.folder / "over"
        process = self.start("steady", PATIENCE, 2, over)
        counts, unfinished = [], 0
        while process.poll() is None:
            if len(set(counts)) >= 4 and unfinished >= 4:
                over.touch()
            if self.output.exists():
                reader = sqlite3.connect(f"file:{self.output}?mode=ro", uri=True)
                try:
                    counts.append(
                        reader.execute(
                            f"SELECT count(*) FROM {PREFIX}CONCURRENT_KERNEL"
                        ).fetchone()[0]
                    )
                    finished = reader.execute("SELECT value FROM RUN WHERE key = 'finished'")
                    if finished.fetchone() == (0,):
                        unfinished += 1
                except sqlite3.OperationalError as error:
                    if counts:
                        self.assertIn("locked", str(error))
                finally:
                    reader.close()
            time.sleep(0.1)
        stdout, stderr = process.communicate()
        self.assertEqual(process.returncode, 5, stderr)
        self.assertEqual(counts, sorted(counts))
        self.assertGreaterEqual(len(set(counts)), 4, counts)
        self.assertGreaterEqual(unfinished, 4)
        launches = int(stdout.split()[-1])
        self.assertEqual(self.database().kernels(), {"steady": launches})
        # A single file again.
        self.assertEqual(self.database().one("PRAGMA journal_mode"), "delete")

    def test_clocks_are_read_again(self):
        process = self.start("steady", 60, 1)
        again = 0
        while again == 0 and process.poll() is None:
            time.sleep(0.1)
            if not self.output.exists():
                continue
            reader = sqlite3.connect(f"file:{self.output}?mode=ro", uri=True)
            try:
                (again,) = reader.execute(
                    "SELECT count(*) FROM CLOCK WHERE moment = 'meanwhile'"
                ).fetchone()
            except sqlite3.OperationalError:
                pass
            finally:
                reader.close()
        os.kill(process.pid, signal.SIGINT)
        process.communicate()
        clocks = self.database().rows(
            "SELECT realtime, monotonic, cupti, monotonicRaw FROM CLOCK ORDER BY rowid"
        )
        self.assertGreaterEqual(len(clocks), 2)
        # The same time has passed on each of them, except for corrections.
        passed = [after - before for before, after in zip(clocks[0], clocks[1])]
        self.assertGreater(min(passed), 0)
        self.assertLess(max(passed), 1.05 * min(passed))

    def test_a_reader_that_leaves_late(self):
        """gpuprof waits a moment for it, and the result is a single file again."""
        process = self.start("steady", 1, 2)
        while not self.output.exists():
            time.sleep(0.02)
        reader = sqlite3.connect(f"file:{self.output}?mode=ro", uri=True)
        finished = (0,)
        while finished != (1,) and process.poll() is None:
            try:
                finished = reader.execute("SELECT value FROM RUN WHERE key = 'finished'").fetchone()
            except sqlite3.OperationalError:
                pass
            time.sleep(0.01)
        time.sleep(0.5)
        reader.close()
        process.communicate()
        self.assertEqual(self.database().one("PRAGMA journal_mode"), "delete")

    def test_views_during_the_run(self):
        over = self.folder / "over"
        process = self.start("steady", PATIENCE, 2, over)
        self.wait_for_rows("kernels")
        reader = sqlite3.connect(f"file:{self.output}?mode=ro", uri=True)
        self.assertGreater(reader.execute("SELECT count(*) FROM kernels").fetchone()[0], 0)
        self.assertEqual(
            reader.execute("SELECT DISTINCT mangled_name FROM kernels").fetchall(), [("steady",)]
        )
        self.assertEqual(reader.execute("SELECT count(*) FROM processes").fetchone()[0], 1)
        reader.close()
        over.touch()
        process.communicate()


class KilledLauncher(FakeTest):
    def wait_for_kernels(self, count):
        def there():
            try:
                return self.database(integrity=False).count("CONCURRENT_KERNEL") > count
            except sqlite3.OperationalError:  # no file yet
                return False

        self.wait_for(there, PATIENCE)

    def test_the_target_runs_on_and_the_file_is_sound(self):
        done, over = self.folder / "done", self.folder / "over"
        script = f'"$0" {PATIENCE} 3 {over}; echo $? > {done}'
        self.program = lambda name: shutil.which(name) or name
        process = self.start("sh", "-c", script, BUILD / "tests" / "fake" / "steady")
        process.stdout.readline()
        self.wait_for_kernels(1000)
        os.kill(process.pid, signal.SIGKILL)
        process.wait()
        # As a reader would: without knowing that the writer died.
        connection = sqlite3.connect(self.output)
        self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        rows = connection.execute("SELECT count(*) FROM kernels").fetchone()[0]
        self.assertGreater(rows, 1000)
        self.assertEqual(
            connection.execute("SELECT value FROM RUN WHERE key = 'finished'").fetchone(), (0,)
        )
        connection.close()
        time.sleep(0.5)
        self.assertFalse(done.exists())
        over.touch()
        self.wait_for(lambda: done.exists() and done.read_text())
        self.assertEqual(done.read_text(), "5\n")
        launches = int(process.stdout.readline())
        self.assertGreater(launches, rows)

    def test_summary_of_the_unfinished_file(self):
        process = self.start("steady", 60, 10)
        process.stdout.readline()
        self.wait_for_kernels(0)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        summary = subprocess.run([GPUPROF, "-i", str(self.output)], capture_output=True)
        self.assertEqual(summary.returncode, 0, summary.stderr)
        self.assertIn(b"steady", summary.stderr)


class OtherUsersOfTheFile(FakeTest):
    def test_a_lock_is_waited_for(self):
        """A lock held longer than SQLite's own patience of 10 s."""
        # The lock is taken while nothing arrives: otherwise gpuprof hardly ever releases it.
        fake, go = BUILD / "tests" / "fake", self.folder / "go"
        script = (f"{fake}/hello; while [ ! -e {go} ]; do sleep 0.05; done; "
                  f"exec {fake}/steady 2 5")  # fmt: skip
        self.program = lambda name: name
        process = self.start("sh", "-c", script, FAKE_CUPTI_LEDGER=self.folder / "ledger")
        process.stdout.readline()
        self.wait_for(self.output.exists)
        other = sqlite3.connect(self.output, isolation_level=None, timeout=PATIENCE)
        other.execute("BEGIN IMMEDIATE")
        go.touch()
        self.assertIn(b"holds the lock", process.stderr.readline())  # for 5 s
        time.sleep(7)
        other.execute("COMMIT")
        other.close()
        _, stderr = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 5, stderr)
        self.assertEqual(len(without_cost(stderr.decode()).splitlines()), 1, stderr)
        self.assertIn(b"nothing lost", stderr)
        database = self.database()
        self.assert_all_there(database)
        self.assertEqual(database.losses(), {})

    def gone(self, remove, output=None):
        self.output = output or self.output
        process = self.start("steady", 2, 2)
        process.stdout.readline()
        self.wait_for(self.output.exists)
        remove()
        stdout, stderr = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 21, stderr)
        self.assertGreater(int(stdout), 0)  # the program ran to its end
        self.assertEqual(len(without_cost(stderr.decode()).splitlines()), 1, stderr)
        self.assertIn(f"{self.output}: somebody removed or replaced it", stderr.decode())
        self.assertNotIn(b"-wal", stderr)

    def test_the_file_is_removed(self):
        self.gone(lambda: self.output.unlink())
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_its_folder_is_removed(self):
        folder = self.folder / "results"
        folder.mkdir()
        self.gone(lambda: shutil.rmtree(folder), folder / "run.sqlite")

    def test_another_file_takes_its_place(self):
        another = self.folder / "another"
        another.write_text("precious")
        self.gone(lambda: another.rename(self.output))
        self.assertEqual(self.output.read_text(), "precious")
        self.assertEqual([file.name for file in self.folder.iterdir()], ["run.sqlite"])

    def test_one_of_several_is_removed(self):
        self.output = self.folder / "run-%p.sqlite"
        self.program = lambda name: shutil.which(name)
        steady = BUILD / "tests" / "fake" / "steady"
        process = self.start("sh", "-c", f"{steady} 2 2 & {steady} 2 2; wait")
        files = self.wait_for(
            lambda: (lambda all: len(all) == 2 and all)(list(self.folder.glob("run-*.sqlite")))
        )
        files[0].unlink()
        stdout, stderr = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 21, stderr)
        self.assertIn(f"{files[0]}: somebody removed or replaced it", stderr.decode())
        last = stderr.decode().splitlines()[-1]
        self.assertNotIn(str(files[0]), last)
        self.assertIn("of 1 process, nothing lost", last)
        launches = self.database(files[1]).count("CONCURRENT_KERNEL")
        self.assertIn(str(launches).encode(), stdout)


class Captures(FakeTest):
    def tables(self, path):
        """All contents, except what describes the run as a whole."""
        database = self.database(path)
        contents = {}
        for name, sql in database.rows("SELECT name, sql FROM sqlite_master WHERE type = 'table'"):
            if name == "RUN" or name.startswith("sqlite_"):
                continue
            rows = database.rows(f'SELECT * FROM "{name}"')
            if name == "STATISTIC":  # without what gpuprof itself used while it recorded
                rows = [x for x in rows if x[2] not in ("background_ns", "cost_bytes") or x[0] != 0]
            # Counters are in the order of their first occurrence.
            contents[name] = (sql, sorted(rows, key=repr) if name == "STATISTIC" else rows)
        contents["views"] = database.rows(
            "SELECT name, sql FROM sqlite_master WHERE type IN ('view', 'index') ORDER BY name"
        )
        return contents

    def replay(self, capture, output, code=0, options=()):
        process = subprocess.run(
            [GPUPROF, "replay", str(capture), "-o", str(output), *options], capture_output=True
        )
        self.assertEqual(process.returncode, code, process.stderr)
        return without_cost(process.stderr.decode())

    def same(self, *target):
        capture = self.folder / "run.gpcap"
        run = self.profile(*target, options=["--save-capture", capture])
        again = self.folder / "again.sqlite"
        said = self.replay(capture, again)
        self.assertEqual(
            said.split(": ", 2)[2], run.stderr.splitlines()[-1].split(": ", 2)[2] + "\n"
        )
        live, replayed = self.tables(self.output), self.tables(again)
        self.assertEqual(live.keys(), replayed.keys())
        for name in live:
            self.assertEqual(live[name], replayed[name], name)
        keys = self.database(again).run()
        for key, value in self.database().run().items():
            self.assertEqual(keys.get(key), value, key)
        return capture

    def test_replay_gives_the_same_rows(self):
        """Of several programs, one of which is killed, and one of which has children; those of a
        single one are compared below."""
        programs = ("threads 4 300", "die sigkill 300", "tree 1 5", "nvtx before")
        script = "; ".join(str(BUILD / "tests" / "fake" / program) for program in programs)
        self.program = lambda name: shutil.which(name)
        self.same("sh", "-c", script)
        self.assertEqual(self.database().one("SELECT count(*) FROM PROCESS"), len(programs) + 2)

    def test_replay_into_one_file_per_process(self):
        capture = self.same("tree", 1, 5)
        self.replay(capture, self.folder / "p-%p.sqlite")
        files = list(self.folder.glob("p-*.sqlite"))
        self.assertEqual(len(files), 3)
        self.assertEqual(sum(self.database(file).count("CONCURRENT_KERNEL") for file in files), 30)

    def test_cut_capture(self):
        capture = self.same("hello", 50)
        size = capture.stat().st_size
        for part in (0.3, 0.9):
            cut = self.folder / "cut.gpcap"
            cut.write_bytes(capture.read_bytes()[: int(size * part)])
            said = self.replay(cut, self.folder / "cut.sqlite", code=20, options=["-f"])
            self.assertIn("what came before is loaded", said)
            self.assertEqual(
                self.database(self.folder / "cut.sqlite").losses(), {"frames_malformed": 1}
            )


if __name__ == "__main__":
    unittest.main()
