# ctest-cost: 25
# ctest-labels: plain
"""The user's files are never lost: files that gpuprof makes, and existing files with the same names."""

import contextlib
import fcntl
import os
import pathlib
import shlex
import shutil
import signal
import sqlite3
import subprocess
import sys
import unittest

from fake_run import FAKE, GPUPROF, PATIENCE, FakeTest, Profile

# Has a database open half of the time.
READER = """
import sqlite3, sys, time
while True:
    try:
        database = sqlite3.connect(f"file:{sys.argv[1]}?mode=ro", uri=True)
        database.execute("PRAGMA user_version").fetchall()
        print(flush=True)
        time.sleep(0.01)
        database.close()
    except sqlite3.Error:
        pass
    time.sleep(0.01)
"""


class FilesTest(FakeTest):
    def program(self, name):
        return name if "/" in str(name) else super().program(name)

    def names(self, folder=None):
        return sorted(entry.name for entry in (folder or self.folder).iterdir())

    def hidden(self):
        return [name for name in self.names() if name.startswith(".gpuprof-")]

    def gpuprof(self, *words, code=0, **environment):
        process = subprocess.run(
            [GPUPROF, *map(str, words)], capture_output=True, cwd=self.folder, text=True,
            env=self.environment(environment),
        )  # fmt: skip
        self.assertEqual(process.returncode, code, process.stderr)
        return process.stderr

    def make(self, path, launches=4, options=()):
        """A finished profile."""
        self.output, before = path, self.output
        self.profile("hello", launches, options=options, check=0)
        self.output = before
        return path

    def kernels(self, path=None):
        database = Profile(path or self.output)
        try:
            return database.count("CONCURRENT_KERNEL")
        finally:
            database.close()

    def start_waiting(self, *options):
        """A run whose program has not used CUDA yet, and the file that lets it."""
        go = self.folder / "go"
        script = (
            f"echo waiting; while ! test -e {shlex.quote(str(go))}; do sleep 0.05; done; "
            f"exec {FAKE}/hello 5"
        )
        process = self.start("/bin/sh", "-c", script, options=options)
        self.assertEqual(process.stdout.readline(), b"waiting\n")
        return process, go

    def go_on(self, process, go):
        go.touch()
        _, stderr = process.communicate(timeout=PATIENCE)
        go.unlink()
        return stderr.decode()


class ProgramThatCannotBeStarted(FilesTest):
    def setUp(self):
        super().setUp()
        self.log = self.folder / "log"
        self.capture = self.folder / "run.gpcap"
        script = self.folder / "script"
        script.write_text("#!/no/such/interpreter\n")  # exec finds it and refuses it
        script.chmod(0o755)

    def test_nothing_is_made(self):
        before = self.names()
        for program in ("typo", "./typo", self.folder / "script", "/"):
            self.gpuprof("-o", self.output, "--save-capture", self.capture, program, code=13)
            self.assertEqual(self.names(), before)
        # A later file finds no remains of another one next to it.
        other = self.make(self.folder / "other.sqlite")
        other.rename(self.output)
        self.assertEqual(self.kernels(), 11)

    def test_nothing_is_replaced(self):
        self.make(self.output)
        self.profile("hello", 4, options=["-f", "--save-capture", self.capture], check=0)
        self.log.write_text("precious")
        before = {name: (self.folder / name).read_bytes() for name in self.names()}
        for program in ("typo", self.folder / "script"):
            self.gpuprof("-f", "-o", self.output, "--save-capture", self.capture, program, code=13)
        self.gpuprof("--log-file", self.log, "-o", self.folder / "new.sqlite", "typo", code=13)
        after = {name: (self.folder / name).read_bytes() for name in self.names()}
        self.assertEqual(before, after)

    def test_last_folder_of_the_path_may_be_empty(self):
        shown = subprocess.run(
            [GPUPROF, "-q", "-o", str(self.output), "hello"], cwd=FAKE, capture_output=True,
            env={**os.environ, "PATH": "/no/such:"},
        )  # fmt: skip
        self.assertEqual(shown.stdout, b"hello from the target\n", shown.stderr)


class TheOldFile(FilesTest):
    def test_stays_until_a_process_is_there(self):
        capture = self.folder / "run.gpcap"
        self.profile("hello", 4, options=["--save-capture", capture], check=0)
        before = self.output.read_bytes(), capture.read_bytes()
        process, go = self.start_waiting("-f", "--save-capture", capture)
        self.assertEqual((self.output.read_bytes(), capture.read_bytes()), before)
        self.assertEqual(len(self.hidden()), 2)
        self.assertEqual((self.folder / self.hidden()[0]).stat().st_mode & 0o777, 0o700)
        self.go_on(process, go)
        self.assertEqual(self.kernels(), 13)
        self.assertNotEqual(capture.read_bytes(), before[1])
        self.assertEqual(self.names(), ["run.gpcap", "run.sqlite"])

    def test_stays_when_gpuprof_is_killed(self):
        before = self.make(self.output).read_bytes()
        process, _ = self.start_waiting("-f")
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.assertEqual(self.output.read_bytes(), before)
        self.assertEqual(len(self.hidden()), 1)
        # The next run removes the remains, whatever file it makes.
        self.profile("hello", options=["-f"], check=0)
        self.assertEqual(self.names(), ["run.sqlite"])

    def test_stays_without_a_process(self):
        capture = self.folder / "run.gpcap"
        self.profile("hello", 4, options=["--save-capture", capture], check=0)
        before = self.output.read_bytes(), capture.read_bytes()
        replacing = ["-f", "-o", self.output, "--save-capture", capture]
        said = self.gpuprof(*replacing, "true")
        self.assertEqual(said.splitlines()[-1],
                         f"gpuprof: 0 records, so {self.output} stays as it was")  # fmt: skip
        self.gpuprof(*replacing, "--fail-if-empty", "true", code=24)
        self.gpuprof(*replacing, "false", code=1)
        self.assertEqual((self.output.read_bytes(), capture.read_bytes()), before)
        self.assertEqual(self.names(), ["run.gpcap", "run.sqlite"])
        # An unused name, and an empty file, get a profile that says so.
        (self.folder / "empty.sqlite").touch()
        for name in ("new.sqlite", "empty.sqlite"):
            said = self.gpuprof("-f", "-o", self.folder / name, "true")
            self.assertIn("0 records: no process used CUDA", said)
            self.assertEqual(self.kernels(self.folder / name), 0)

    def kill_in_the_middle(self):
        process = self.start("steady", 30, 20)
        process.stdout.readline()
        self.wait_for(self.output.exists)
        self.wait_for(self.kernels)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()

    def test_readers_that_come_and_go_do_no_harm(self):
        """One that comes first shortens the log's index: gpuprof must not have lost its own lock on it."""
        self.kill_in_the_middle()
        with contextlib.ExitStack() as stack:
            for _ in range(3):
                reader = stack.enter_context(
                    subprocess.Popen(
                        [sys.executable, "-c", READER, self.output], stdout=subprocess.PIPE
                    )
                )
                stack.callback(reader.kill)
                reader.stdout.readline()
            for _ in range(12):
                run = subprocess.run([GPUPROF, "-f", "-o", self.output, "true"], capture_output=True,
                                     cwd=self.folder, env=self.environment({}), check=False)  # fmt: skip
                self.assertIn(run.returncode, (0, 21), run.stderr)

    def test_its_log_is_not_the_new_files(self):
        self.kill_in_the_middle()
        log = pathlib.Path(f"{self.output}-wal")
        self.assertGreater(log.stat().st_size, 0)
        self.assertIn("never finished", self.gpuprof("-i", self.output))
        self.check_that_readers_are_in_nobodys_way()
        # With a target that is still alive, and is read meanwhile.
        process = self.start("steady", 2, 5, options=["-f"])
        process.stdout.readline()
        self.wait_for(lambda: "never" not in self.gpuprof("-i", self.output))
        process.communicate(timeout=PATIENCE)
        database = self.database()
        self.assertEqual(database.one("SELECT count(*) FROM PROCESS"), 1)
        self.assertEqual(database.run()["finished"], 1)
        self.assertEqual(self.names(), ["run.sqlite"])

    def check_that_readers_are_in_nobodys_way(self):
        read = self.folder / "read.sqlite"
        for _ in range(3):
            for end in ("", "-wal", "-shm"):
                shutil.copy(f"{self.output}{end}", f"{read}{end}")
            command = [sys.executable, "-c", READER, read]
            with subprocess.Popen(command, stdout=subprocess.PIPE) as reader:
                try:
                    reader.stdout.readline()
                    self.make(read, 3, options=["-f"])
                finally:
                    reader.kill()
            self.assertEqual(self.kernels(read), 9)
        self.assertNotIn("read-2.sqlite", self.names())
        for path in self.folder.glob("read.sqlite*"):
            path.unlink()

    def test_a_log_without_its_file_is_not_lost(self):
        log = pathlib.Path(f"{self.output}-wal")
        log.write_bytes(b"\x37\x7f\x06\x82" + bytes(28))
        self.assertIn("run.sqlite-wal", self.gpuprof("-o", self.output, "true", code=21))
        self.assertEqual(self.names(), [log.name])
        self.profile("hello", options=["-f"], check=0)
        self.assertEqual(self.names(), ["run.sqlite"])
        self.assertEqual(self.kernels(), 23)

    def test_what_is_beside_it_and_is_no_log(self):
        beside = pathlib.Path(f"{self.make(self.output)}-wal")
        beside.write_text("precious")
        said = self.gpuprof("-f", "-o", self.output, "true", code=21)
        self.assertIn("run.sqlite-wal is in the way", said)
        self.assertEqual(beside.read_text(), "precious")

    def test_open_elsewhere(self):
        """A reader keeps its data, and its end takes nothing from the new file."""
        self.make(self.output)
        reader = sqlite3.connect(self.output)
        self.assertEqual(reader.execute("PRAGMA journal_mode = WAL").fetchone(), ("wal",))
        count = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"
        self.assertEqual(reader.execute(count).fetchone(), (11,))
        process = self.start("steady", 2, 5, options=["-f"])
        process.stdout.readline()
        self.wait_for(self.kernels)
        self.assertEqual(reader.execute(count).fetchone(), (11,))
        reader.close()
        launches = int(process.communicate(timeout=PATIENCE)[0])
        self.assertEqual(self.kernels(), launches)


class NameTakenMeanwhile(FilesTest):
    def test_by_somebody_else(self):
        process, go = self.start_waiting("--save-capture", self.folder / "run.gpcap")
        self.output.write_text("precious")
        (self.folder / "run.gpcap").write_text("precious")
        said = self.go_on(process, go)
        self.assertEqual(process.returncode, 0, said)
        self.assertEqual(self.names(), ["run-2.gpcap", "run-2.sqlite", "run.gpcap", "run.sqlite"])
        self.assertEqual(self.output.read_text(), "precious")
        self.assertEqual((self.folder / "run.gpcap").read_text(), "precious")
        self.assertIn("run-2.sqlite: ", said)
        self.assertEqual(self.kernels(self.folder / "run-2.sqlite"), 13)

    def test_names_of_our_own(self):
        """Files in the private folder do not conflict with anything."""
        for name in ("lock", "new-lock", "old-wal", "unfinished", "-x.sqlite"):
            self.output = self.folder / name
            self.profile("hello", 5, check=0)
            self.assertEqual(self.kernels(), 13)
        self.assertEqual(len(self.names()), 5)

    def test_two_files_of_a_run(self):
        said = self.gpuprof("-o", "a", "--save-capture", "./a", "true", code=21)
        self.assertIn("another file of this run", said)
        self.assertEqual(self.names(), [])


class WhatForceReplaces(FilesTest):
    def setUp(self):
        super().setUp()
        self.capture = self.folder / "some.gpcap"
        self.source = self.folder / "some.sqlite"
        self.output, before = self.source, self.output
        self.profile("hello", 4, options=["--save-capture", self.capture], check=0)
        self.output = before

    def commands(self, file):
        hello = (f"{FAKE}/hello", 5)
        yield "run", ("-f", "-o", file, *hello)
        yield "capture", ("-f", "--save-capture", file, "-o", self.folder / "new", *hello)
        yield "slice", ("slice", self.source, "--from", "0", "-f", "-o", file)
        yield "truncate", ("truncate", self.source, "--keep", "gpu", "-f", "-o", file)
        yield "replay", ("replay", self.capture, "-f", "-o", file)

    def refuses(self, file, *words):
        before = file.read_bytes()
        for name, command in self.commands(file):
            with self.subTest(command=name, file=file.name):
                said = self.gpuprof(*command, code=21)
                for word in (file.name, *words):
                    self.assertIn(word, said)
                self.assertEqual(file.read_bytes(), before)
                self.assertEqual(self.hidden(), [])
                self.assertFalse((self.folder / "new").exists())

    def replaces(self, make):
        for name, command in self.commands(self.output):
            with self.subTest(command=name):
                self.output.unlink(missing_ok=True)
                (self.folder / "new").unlink(missing_ok=True)
                make(self.output)
                before = self.output.read_bytes()
                self.gpuprof(*command)
                self.assertNotEqual(self.output.read_bytes(), before)

    def test_not_a_text(self):
        file = self.folder / "thesis.tex"
        file.write_text("precious")
        self.refuses(file, "neither a profile nor a capture", "-f replaces")

    def test_not_another_database(self):
        file = self.folder / "photos.db"
        with sqlite3.connect(file) as database:
            database.execute("CREATE TABLE photo(a)")
        database.close()
        self.refuses(file, "not a profile", "-f replaces")

    def test_not_a_database_that_cannot_be_read(self):
        file = self.folder / "broken.db"
        file.write_bytes(b"SQLite format 3\0" + b"\xff" * 4080)
        self.refuses(file, "-f replaces")

    def test_not_one_that_is_being_written(self):
        # In the same state as during a run: a log that its writer has open.
        file = self.folder / "live.sqlite"
        file.write_bytes(self.source.read_bytes())
        writer = sqlite3.connect(file, isolation_level=None)
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE RUN SET value = 0 WHERE key = 'finished'")
        self.refuses(file, "another gpuprof may be at work on it")
        writer.close()

    def test_a_profile(self):
        self.replaces(lambda file: file.write_bytes(self.source.read_bytes() + b"x"))

    def test_a_profile_of_nvprof(self):
        def make(file):
            with sqlite3.connect(file) as database:
                database.execute("CREATE TABLE Version(version INT)")
                database.execute("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL(_id_ INT)")
            database.close()

        self.replaces(make)

    def test_a_capture(self):
        self.replaces(lambda file: file.write_bytes(self.capture.read_bytes() + b"x"))

    def test_an_empty_file(self):
        self.replaces(lambda file: file.touch())


class SymbolicLinks(FilesTest):
    def test_one_that_leads_nowhere(self):
        victim = self.folder / "victim"
        capture = self.folder / "some.gpcap"
        other = self.folder / "other.sqlite"
        self.output = other
        self.profile("hello", options=["--save-capture", capture], check=0)
        link = self.folder / "link"
        link.symlink_to(victim)
        for force in ((), ("-f",)):
            for words in (
                (*force, "-o", link, "true"),
                (*force, "--save-capture", link, "true"),
                ("slice", other, "--from", "0", *force, "-o", link),
                ("replay", capture, *force, "-o", link),
            ):
                said = self.gpuprof(*words, code=21)
                self.assertIn("leads nowhere", said)
                self.assertFalse(victim.exists())
                self.assertTrue(link.is_symlink())
        self.assertEqual(self.names(), ["link", "other.sqlite", "some.gpcap"])

    def test_logs_of_runs(self):
        """The log of a run replaces no other file, not even the run's own."""
        self.make(self.output)
        before = self.output.read_bytes()
        program = self.folder / "program"
        program.write_text(f"#!/bin/sh\nexec {FAKE}/hello\n")
        program.chmod(0o755)
        log = self.folder / "log"
        for name in (self.output, program):
            self.gpuprof("--log-file", name, program, code=21)
        new = self.folder / "new.sqlite"
        for words in (["-o", new], ["-o", self.folder / "x", "--save-capture", new]):
            self.assertIn("another file of this run",
                          self.gpuprof(*words, "--log-file", new, program, code=21))  # fmt: skip
        self.assertFalse(new.exists())
        self.assertEqual(self.output.read_bytes(), before)
        self.assertTrue(program.read_text().startswith("#!/bin/sh"))
        log.write_text("======== of an earlier run\n")
        self.gpuprof("--log-file", log, "-f", "-o", new, program)
        self.assertIn("records of 1 process", log.read_text())
        self.assertNotIn("earlier run", log.read_text())
        self.assertEqual(self.names(), ["log", "new.sqlite", "program", "run.sqlite"])

    def test_of_a_log_that_leads_nowhere(self):
        link = self.folder / "log"
        link.symlink_to(self.folder / "victim")
        self.assertIn("can't open", self.gpuprof("--log-file", link, "-o", "a", "true", code=21))
        self.assertFalse((self.folder / "victim").exists())

    def test_one_that_leads_to_a_profile(self):
        """The link is replaced, not its target."""
        profile = self.make(self.folder / "old.sqlite")
        before = profile.read_bytes()
        self.output.symlink_to(profile)
        self.profile("hello", 5, options=["-f"], check=0)
        self.assertEqual(profile.read_bytes(), before)
        self.assertFalse(self.output.is_symlink())
        self.assertEqual(self.kernels(), 13)

    def test_of_a_folder(self):
        real = self.folder / "real"
        real.mkdir()
        (self.folder / "link").symlink_to(real)
        self.output = self.folder / "link" / "run.sqlite"
        run = self.profile("hello", check=0)
        self.assertIn(f"{self.output}: ", run.stderr)
        self.assertEqual(self.names(real), ["run.sqlite"])


class SamePid(FilesTest):
    """One file per process, where two processes have the same id."""

    def setUp(self):
        super().setUp()
        self.output = self.folder / "run-%p.sqlite"

    def test_program_that_becomes_another(self):
        for options in ([], ["-f"]):
            with self.subTest(options=options):
                for file in self.folder.iterdir():
                    file.unlink()
                run = self.profile("execs", 20, self.program("hello"), 3, options=options, check=0)
                names = self.names()
                self.assertEqual(len(names), 2, names)
                self.assertRegex(" ".join(names), r"^run-(\d+)-2\.sqlite run-\1\.sqlite$")
                second, first = (self.folder / name for name in names)
                self.assertEqual(self.database(first).kernels(), {"first_program": 20})
                self.assertEqual(self.kernels(second), 9)
                for file in (first, second):
                    self.assertEqual(self.database(file).run()["finished"], 1)
                self.assertIn(f"{first}, {second}: ", run.stderr)

    def test_forged_ids(self):
        script = f"""
import sys
sys.path.insert(0, {str(pathlib.Path(__file__).parent)!r})
from wire_client import *
for number in range(3):
    client = Client(process_id=7)
    client.send(table(1, f"OF_{{number}}", [("a", "u64")]), batch(1, [bytes(8)]), frame(GOODBYE))
    client.socket.close()
"""
        self.profile(sys.executable, "-c", script)
        # The process has one id, whatever it claims.
        self.assertRegex(
            " ".join(self.names()),
            r"^run-(?!7[-.])(\d+)-2\.sqlite run-\1-3\.sqlite run-\1\.sqlite$",
        )
        tables = set()
        for name in self.names():
            database = self.database(self.folder / name)
            tables |= set(database.rows("SELECT name FROM sqlite_master WHERE name LIKE 'OF__'"))
        self.assertEqual(tables, {("OF_0",), ("OF_1",), ("OF_2",)})

    def test_what_was_there(self):
        script = f"echo $$; read go; exec {FAKE}/hello 5"
        for options, replaced in (([], False), (["-f"], True)):
            with self.subTest(options=options):
                for file in self.folder.iterdir():
                    file.unlink()
                process = subprocess.Popen(
                    self.command(("/bin/sh", "-c", script), options), stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder,
                    env=self.environment({}), start_new_session=True,
                )  # fmt: skip
                self.addCleanup(process.stdin.close)
                self.addCleanup(self.end, process)
                pid = int(process.stdout.readline())
                old = self.make(self.folder / f"run-{pid}.sqlite")
                text = self.folder / f"run-{pid}-2.sqlite"
                text.write_text("precious")
                before = old.read_bytes()
                _, stderr = process.communicate(b"\n", timeout=PATIENCE)
                self.assertEqual(process.returncode, 0, stderr)
                self.assertEqual(text.read_text(), "precious")
                new = old if replaced else self.folder / f"run-{pid}-3.sqlite"
                self.assertEqual(self.kernels(new), 13)
                self.assertTrue(replaced or old.read_bytes() == before)


class TemporaryFolders(FilesTest):
    def test_relative_tmpdir(self):
        """The program changes its folder before it uses CUDA."""
        (self.folder / "tmp").mkdir()
        run = self.profile("/bin/sh", "-c", f"cd / && exec {FAKE}/hello 5", check=0, TMPDIR="tmp")
        self.assertNotIn("no CUDA", run.stderr)
        self.assertEqual(self.kernels(), 13)
        self.assertEqual(self.names(), ["run.sqlite", "tmp"])
        self.assertEqual(self.names(self.folder / "tmp"), [])

    def test_what_killed_launchers_left(self):
        temporary = self.folder / "tmp"
        temporary.mkdir()

        def start(output):
            process = self.start("steady", 60, 5, output=output, TMPDIR=temporary)
            process.stdout.readline()
            return process

        def folders():
            return {name for name in self.names(temporary) if name.startswith("gpuprof-")}

        process = start(False)  # its own profile and a socket
        left = folders()
        self.assertEqual(len(left), 2)
        os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        self.assertEqual(folders(), left)
        # Folders of another user, of a live process, and without a lock.
        stranger = temporary / "gpuprof-abcdef"
        stranger.mkdir()
        (stranger / "file").write_text("precious")
        locked = temporary / "gpuprof-locked"
        locked.mkdir(0o700)
        with open(locked / "lock", "w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            alive = start(True)
            now = folders()
            self.assertEqual(now & left, set())
            self.assertEqual((stranger / "file").read_text(), "precious")
            self.assertTrue((locked / "lock").exists())
            self.assertEqual(len(now), 3)
        again = self.folder / "again.sqlite"
        self.gpuprof(
            "-o", again, "--cupti", FAKE / "libcupti.so.13", f"{FAKE}/hello", TMPDIR=temporary
        )
        self.assertEqual(folders(), now - {locked.name})
        self.assertIsNone(alive.poll())


if __name__ == "__main__":
    unittest.main()
