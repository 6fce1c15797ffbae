"""Recordings that are asked and controlled while they go on: gpuprof start, stop, status, flush and
snapshot, --delay, --duration, --max-size, --keep-last, --trigger, --ranks."""

import json
import os
import pathlib
import re
import signal
import socket
import subprocess
import sys
import time
import unittest

from builds import asan, load_tests  # noqa: F401
from fake_run import GPUPROF, PATIENCE, FakeTest, pids_of
from packages import TOOLS

CANNOT_FIND = 13
FOLDERS = [TOOLS / name for name in ("frames", "duckdb")]
KERNELS = "SELECT count(*) FROM kernels WHERE name = 'counted'"


class ControlTest(FakeTest):
    def run_obeys(self, *options, output=True, **environment):
        """A recorded program that takes commands."""
        return self.start_ready(
            self.command(["obeys"], options, output), TMPDIR=self.folder, **environment
        )

    def leave(self, target):
        """Ends the program. What gpuprof said."""
        self.tell(target, "exit")
        _, said = target.communicate(timeout=PATIENCE)
        self.assertEqual(target.returncode, 7, said)
        return said

    def control(self, *words):
        return subprocess.run([GPUPROF, *map(str, words)], text=True, capture_output=True,
                              cwd=self.folder, timeout=PATIENCE, check=False)  # fmt: skip

    def ask(self, *words):
        ran = self.control(*words)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout

    def when_found(self, whom):
        """The first commit of the run makes its file known."""
        self.wait_for(lambda: self.control("status", whom).returncode == 0)

    def status(self, whom):
        return json.loads(self.ask("status", whom, "--json"))


class Control(ControlTest):
    def test_by_hand(self):
        target = self.run_obeys()
        file = self.output.name
        self.when_found(file)
        self.tell(target, "launch 5")
        self.assertRegex(self.ask("flush", file), r"gpuprof: \d+ records in /.*/run.sqlite\n")
        database = self.database(integrity=False)
        self.assertEqual(database.one(KERNELS), 5)
        status = self.status(target.pid)
        self.assertEqual(status["state"], "records")
        self.assertEqual(status["files"], [str(self.output.resolve())])
        self.assertEqual((len(status["processes"]), status["missing"]), (1, 0))

        of_the_program = status["processes"][0]
        self.assertIn("stopped; ", self.ask("stop", of_the_program))
        self.assertEqual(self.status(file)["state"], "stopped")
        self.tell(target, "launch 70")
        self.assertIn("recording; so far ", self.ask("start", file))
        self.tell(target, "launch 11")
        self.assertRegex(
            self.ask("status", file), r"state +recording for [\d.]+\w+\n(.+\n)+losses +none\n"
        )

        self.ask("snapshot", file, "-o", "snapshot.sqlite", "-q")
        snapshot = self.database(self.folder / "snapshot.sqlite")
        self.assertEqual(snapshot.one(KERNELS), 16)
        self.tell(target, "launch 100")
        self.assertEqual(snapshot.one(KERNELS), 16)
        self.leave(target)
        database = self.database()
        self.assertEqual(database.one(KERNELS), 116)
        self.assertEqual(database.losses(), {})
        # CUPTI has seen each call end: none is taken for two later.
        self.assert_correlated(database)

    def test_without_a_file(self):
        """The processes alone are names then."""
        target = self.run_obeys(output=False)
        self.when_found(target.pid)
        self.ask("stop", target.pid)
        self.leave(target)

    def test_at_times(self):
        """The word of the user counts, whatever time was chosen."""
        target = self.run_obeys("--delay", "1000s", "--duration", "1000s")
        self.when_found(target.pid)
        self.assertEqual(self.status(target.pid)["state"], "waits")
        self.tell(target, "launch 5")
        self.ask("start", target.pid)
        self.tell(target, "launch 7")
        self.ask("stop", target.pid)
        self.tell(target, "launch 9")
        self.leave(target)
        self.assertEqual(self.database().one(KERNELS), 7)

    def test_a_part_of_the_time(self):
        target = self.run_obeys("--delay", "300ms", "--duration", "300ms")
        self.tell(target, "begin")
        self.assertIn("the time to record is over", target.stderr.readline())
        self.tell(target, "launch 9")
        self.tell(target, "end")
        self.leave(target)
        database = self.database()
        self.assertGreater(database.one("SELECT count(*) FROM kernels"), 0)
        self.assertEqual(database.one(KERNELS), 0)

    def test_by_the_wall_clock(self):
        """Half of each second. The stand-in's times are those of the clock."""
        target = self.run_obeys("--activate", "every:1s", "--duration", "500ms")
        self.when_found(target.pid)
        self.tell(target, "begin")
        self.wait_for(lambda: self.database(integrity=False).one(
            "SELECT count(DISTINCT start / 1000000000) >= 2 FROM kernels"))  # fmt: skip
        self.tell(target, "end")
        self.assertIn(self.status(target.pid)["state"], ("waits", "records"))
        self.leave(target)
        database = self.database()
        first, last = database.rows(
            "SELECT min(start % 1000000000), max(start % 1000000000) FROM kernels"
        )[0]
        self.assertLess(first, 100_000_000)
        self.assertLess(last, 900_000_000)

    def test_up_to_a_size(self):
        target = self.run_obeys("--max-size", "1MB")
        self.tell(target, "begin")
        self.assertIn("--max-size", target.stderr.readline())
        self.tell(target, "launch 9")
        self.tell(target, "end")
        self.leave(target)
        self.assertEqual(self.database().one(KERNELS), 0)

    def test_what_cannot_be(self):
        ran = self.control("status", "nothing.sqlite")
        self.assertEqual(ran.returncode, CANNOT_FIND)
        self.assertIn("no gpuprof of yours records into nothing.sqlite", ran.stderr)
        self.assertEqual(self.control("stop", os.getpid()).returncode, CANNOT_FIND)
        for words in (["--delay", "soon"], ["--max-size", "7"], ["--delay", "1s", "--pc-sampling"],
                      ["--delay", "1s", "--profile-from-start", "off"], ["--activate", "10s"],
                      ["--activate", "every:10s", "--delay", "1s"],
                      ["--activate", "every:10s", "--duration", "10s"]):  # fmt: skip
            with self.subTest(words=words):
                self.assertEqual(self.control(*words, "true").returncode, 5)


class CaptureRange(FakeTest):
    def recorded(self, part, *more):
        self.profile("marked", 20, options=["-f", "--capture-range", part, *more], check=0)
        return self.database()

    def test_parts(self):
        three = 3  # launches of a step
        steps = lambda *numbers: {f"in_{i}": three for i in numbers}  # noqa: E731
        for part, kernels in {
            "nvtx:step 7": steps(7),
            "nvtx:step 7..step 9": steps(7, 8, 9) | {"between": 2},
            "nvtx:part": {f"in_{i}": 1 for i in range(1, 21)},
            "step:3-5": steps(3, 4, 5) | {"between": 2},
            "step:19-": steps(19, 20) | {"between": 2},
            "every:8": steps(8, 16),
            "launch:6-8": {"in_2": 2, "between": 1},
            "launch:1": {"in_1": 1},
        }.items():
            with self.subTest(part=part):
                database = self.recorded(part)
                self.assertEqual(database.kernels(), kernels)
                self.assertEqual(database.rows("SELECT * FROM losses"), [])
                # Each kernel has its call.
                joined = "SELECT count(*) FROM launches WHERE api_name IS NOT NULL"
                self.assertEqual(database.one(joined), sum(kernels.values()))

    def test_ranges_are_whole(self):
        database = self.recorded("nvtx:step 7..step 8")
        names = database.rows("SELECT name FROM nvtx_ranges WHERE duration > 0 ORDER BY start")
        self.assertEqual([name for (name,) in names], ["step 7", "part", "step 8", "part"])

    def test_what_cannot_be(self):
        for options, why in (
            (["--capture-range", "step:5-3"], "every:1000"),
            (["--capture-range", "nvtx:"], "every:1000"),
            (["--capture-range", "step:3", "--delay", "1s"], "excludes --delay"),
            (["--capture-range", "step:3", "--metrics", "x"], "only tracing can be switched"),
        ):
            run = self.profile("hello", options=options, output=False)
            self.assertEqual(run.code, 5, run.stderr)
            self.assertIn(why, run.stderr)


class KeepLast(ControlTest):
    def test_what_is_old_goes(self):
        target = self.run_obeys("--keep-last", "300ms")
        self.when_found(target.pid)
        self.tell(target, "launch 5")
        self.ask("flush", target.pid)
        self.tell(target, "begin")
        live = self.database(integrity=False)
        self.wait_for(lambda: live.one(KERNELS) == 0)
        # On a slow machine nothing may be as young as that for a moment.
        self.wait_for(lambda: live.one("SELECT count(*) FROM kernels") > 0)
        self.assertGreater(self.status(target.pid)["let_go"], 5)
        self.tell(target, "end")
        self.tell(target, "launch 7")
        target.send_signal(signal.SIGUSR2)
        wrote = re.fullmatch("gpuprof: wrote (.*): SIGUSR2\n", target.stderr.readline())
        snapshot = self.database(wrote[1])
        self.assertEqual(snapshot.one(KERNELS), 7)
        self.assertRegex(
            self.leave(target), r"\d+ records of 1 process, \d+ older ones let go, nothing lost"
        )
        database = self.database()
        # What describes the rest is older.
        self.assertEqual((database.count("DEVICE"), database.count("CONTEXT")), (1, 1))
        self.assertRegex(database.run()["derived_from"], "^--keep-last, which has let [0-9]+ older")
        first = database.one("SELECT min(start) FROM kernels")
        self.assertTrue(first is None or database.run()["zero_ns"] <= first)

    def test_killed(self):
        """The file is what was kept, at any moment."""
        target = self.run_obeys("--keep-last", "10MB")
        self.when_found(target.pid)
        (program,) = self.status(target.pid)["processes"]
        self.tell(target, "launch 90000")
        os.kill(program, signal.SIGKILL)
        target.communicate(timeout=PATIENCE)
        database = self.database()
        self.assertIn(database.one(KERNELS), range(30000, 85000))
        self.assertEqual(
            database.one("SELECT max(_id_) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"), 90005
        )

    def test_what_cannot_be_kept(self):
        for words in (["--keep-last", "60s"], ["--keep-last", "some", "-o", "x.sqlite"],
                      ["--keep-last", "9MB", "-o", "x.sqlite"],
                      ["--keep-last", "1GB", "-o", "x.sqlite", "--pc-sampling"],
                      ["--keep-last", "1GB", "-o", "x.sqlite", "--max-size", "2GB"]):  # fmt: skip
            with self.subTest(words=words):
                self.assertEqual(self.control(*words, "true").returncode, 5)


class Triggers(ControlTest):
    """Incidents, of which a run that keeps the last minute writes a snapshot."""

    def run_watched(self, *triggers, keep="60s", **environment):
        options = [word for trigger in triggers for word in ("--trigger", trigger)]
        return self.run_obeys("--keep-last", keep, *options, **environment)

    def snapshot(self, target):
        """The next file that is written, and why, as the line and the file say."""
        line = target.stderr.readline()
        wrote = re.fullmatch(r"gpuprof: wrote (\S+): (.*)\n", line)
        self.assertTrue(wrote, line)
        database = self.database(wrote[1])
        self.assertEqual(database.run()["written_because"], wrote[2])
        return database, wrote[2]

    def test_long_ranges(self):
        target = self.run_watched("range:part>250ms", "step>3x")
        (self.folder / "run-20261126-000000.sqlite").write_text("the user's")
        for name in ["step_1"] * 12 + ["other"]:
            self.tell(target, f"range {name} 10")
        self.tell(target, "range part_7 300")
        snapshot, why = self.snapshot(target)
        self.assertRegex(
            why, r'^range "part_7" of process \d+ took 3\d\d(\.\d)? ms, longer than 250 ms$'
        )
        ranges = snapshot.rows("SELECT name FROM nvtx_ranges WHERE duration > 0 ORDER BY start")
        self.assertEqual(ranges[-1], ("part_7",))
        info = self.ask("info", self.folder / snapshot.path)
        self.assertIn(why, info)
        # Ten seconds have not passed, so the run ends first.
        self.tell(target, "range step_13 500")
        self.tell(target, "launch 5")
        time.sleep(1.2)
        said = self.leave(target)
        long = re.search(
            r'gpuprof: (range "step_13" of .* times the median of 1\S+ ms): the run', said
        )
        self.assertTrue(long, said)
        self.assertEqual(self.database().run()["written_because"], long[1])
        self.assertEqual(len(list(self.folder.glob("run*.sqlite"))), 3)

    def test_no_work(self):
        target = self.run_watched("idle:1s")
        self.tell(target, "launch 7")
        snapshot, why = self.snapshot(target)
        self.assertEqual(why, "no GPU work ended for 1 s; the last kernel was counted")
        self.assertEqual(snapshot.one(KERNELS), 7)
        self.leave(target)
        self.assertNotIn("written_because", self.database().run())

    def test_out_of_memory(self):
        for options, why in (
            ((), r"cudaMalloc of process \d+ found no memory"),
            (("--track-memory",), r"cuMemAlloc of process \d+ asked for 1.049e\+06 MiB and found"),
        ):
            with self.subTest(options=options):
                target = self.run_obeys("-f", "--keep-last", "60s", "--trigger", "oom", *options)
                self.tell(target, "ask 4096")
                self.tell(target, f"ask {1 << 40}")
                line = target.stderr.readline()
                while "wrote" not in line:
                    line = target.stderr.readline()
                self.assertRegex(line, why)
                name = re.search("wrote (.*?):", line)[1]
                self.leave(target)
                if options:
                    self.assertRegex(
                        self.ask("memory", name), r"1e\+03GB .* 4.0000KB .* cuMemAlloc"
                    )

    def test_questions(self):
        target = self.run_watched(
            "sql:SELECT name, count(*) FROM kernels WHERE name = 'counted' AND start > :since",
            "sql:SELECT 1 FROM missing",
        )
        self.tell(target, "launch 7")
        self.assertRegex(target.stderr.readline(), "--trigger sql:SELECT 1 FROM missing is not asked "
                         "any more: no such table: missing")  # fmt: skip
        snapshot, why = self.snapshot(target)
        self.leave(target)

    def test_death_of_one(self):
        """The last process's is in the run's file, of which there is no copy."""
        steady = self.program("steady")
        target = self.start_ready(
            [*self.command(["obeys"], ["--keep-last", "60s"])[:-1], "sh", "-c",
             f"{steady} 100 1 >/dev/null 2>&1 & {steady} 100 1 >/dev/null & exec {self.program('obeys')}"]
        )  # fmt: skip
        processes = self.wait_for(lambda: self.control("status", target.pid, "--json").stdout
                                  and len(self.status(target.pid)["processes"]) == 3
                                  and self.status(target.pid)["processes"])  # fmt: skip
        others = [pid for pid in pids_of(target.pid, "steady") if pid in processes]
        os.kill(others[0], signal.SIGSEGV)
        snapshot, why = self.snapshot(target)
        self.assertEqual(why, f"process {others[0]} was ended by signal 11 (Segmentation fault)")
        self.assertEqual(snapshot.one("SELECT count(*) FROM PROCESS"), 3)
        os.kill(others[1], signal.SIGKILL)
        said = self.leave(target)
        died = f"process {others[1]} was ended by signal 9 (Killed)"
        self.assertIn(died + ": the run's file has", said)
        self.assertIn(died, self.database().run()["written_because"])

    def test_a_file_for_each_process(self):
        """What happens in one process writes a snapshot of all, of the same time."""
        steady = self.program("steady")
        self.output = self.folder / "run-%p.sqlite"
        options = ["--keep-last", "60s", "--trigger", "range:part>250ms"]
        target = self.start_ready(
            [*self.command(["obeys"], options)[:-1], "sh", "-c",
             f"{steady} 100 1 >/dev/null & exec {self.program('obeys')}"], TMPDIR=self.folder
        )  # fmt: skip
        self.wait_for(lambda: len(list(self.folder.glob("run-*.sqlite"))) == 2)
        self.tell(target, "begin")
        self.tell(target, "range part 300")
        snapshots = [self.snapshot(target) for _ in range(2)]
        self.assertEqual(len({why for _, why in snapshots}), 1)
        self.assertRegex(snapshots[0][1], r'range "part" of .* \(run-\d+.sqlite\)$')
        self.assertEqual(len({p.stem[-15:] for p in self.folder.glob("run-*-*-*.sqlite")}), 1)
        ends = [database.one('SELECT max("end") FROM kernels') for database, _ in snapshots]
        self.assertLess(max(ends) - min(ends), 2_000_000_000)
        ran = self.control("snapshot", target.pid, "-o", "x.sqlite")
        self.assertIn("it records into 2 files", ran.stderr)
        one = min(self.folder.glob("run-*.sqlite"), key=lambda path: len(path.name))
        self.ask("snapshot", one, "-o", "x.sqlite")
        for process in pids_of(target.pid, "steady"):
            os.kill(process, signal.SIGKILL)
        self.leave(target)

    def test_storm(self):
        """A number of snapshots is the most, and then nothing more is said."""
        target = self.run_obeys(
            "--keep-last", "400ms", "--trigger", "range:*>1us", "--snapshots", "2"
        )
        lines = []
        for _ in range(3):
            for _ in range(60):
                self.tell(target, "range any 20")
            lines.append(target.stderr.readline())
        lines.sort(key=lambda line: "no more" in line)
        self.assertEqual(["gpuprof: wrote" in line for line in lines], [True, True, False], lines)
        self.assertIn("2 snapshots were written, no more are (--snapshots)", lines[2])
        self.assertIn("more)", lines[1])
        self.leave(target)
        self.assertEqual(len(list(self.folder.glob("run-*.sqlite"))), 2)

    def test_what_cannot_be(self):
        for words, why in ((["oom"], "needs --keep-last"),
                           (["step>3x", "--keep-last", "60s"], "needs -o"),
                           (["step>3", "--keep-last", "60s", "-o", "x"], "step>50ms, step>3x"),
                           (["range:>3x", "--keep-last", "60s", "-o", "x"], "step>50ms, step>3x"),
                           (["idle:60s", "--keep-last", "60s", "-o", "x"], "longer --keep-last")):  # fmt: skip
            with self.subTest(words=words):
                ran = self.control("--trigger", *words, "true")
                self.assertEqual(ran.returncode, 5, ran.stderr)
                self.assertIn(why, ran.stderr)


@unittest.skipUnless(
    all((folder / "unpacked").exists() for folder in FOLDERS), ".tools has no frames and DuckDB"
)
class Ranks(ControlTest):
    """--ranks: of some ranks everything is recorded, and of others only roll-ups stay."""

    ENVIRONMENT = {
        "PYTHONPATH": os.pathsep.join(map(str, FOLDERS)),
        "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
    }

    def manifests(self):
        return [
            json.loads(path.read_text()) for path in self.folder.glob("run.rollups/files/*.json")
        ]

    def test_roll_ups(self):
        target = self.run_obeys("--ranks", "0,::2", "--roll-up-every", "3s", RANK=3, WORLD_SIZE=4,
                                **self.ENVIRONMENT)  # fmt: skip
        self.tell(target, "launch 5")
        self.wait_for(self.manifests)
        self.tell(target, "launch 70")
        said = self.leave(target)
        self.assertRegex(
            said, r"gpuprof: \S*run.rollups: roll-ups of \d+ kernels in 1 steps; \d+ kB\n"
        )
        self.assertNotIn("records of 1 process", said)
        (manifest,) = self.manifests()
        (rank,) = manifest["ranks"]
        self.assertEqual((rank["rank"], rank["world_size"], rank["rolled_up"]), (3, 4, 1))
        if not rank["losses"]:  # a machine that stands still rolls up late
            self.assertEqual(rank["kernels"], 80)
        # Nothing else is left.
        self.assertFalse(self.output.exists())
        self.assertEqual(list(self.folder.glob("gpuprof-*")), [])
        # A folder that is there is replaced by -f alone, and nothing runs before that is known.
        again = self.profile("obeys", options=("--ranks", "0"), RANK=3, **self.ENVIRONMENT)
        self.assertEqual(again.code, 21)
        self.assertIn("run.rollups is there already", again.stderr)

    def test_a_rank_of_the_list(self):
        ran = self.profile("obeys", options=("--ranks", "5,2:9:3"), SLURM_PROCID=8)
        self.assertEqual(ran.code, 0, ran.stderr)
        self.assertTrue(self.output.exists())
        self.assertEqual(list(self.folder.glob("*.rollups")), [])

    def test_not_known(self):
        for words in (["0"], ["0", "-o", "x.sqlite"], ["1:x", "-o", "x.sqlite"], ["0,", "-o", "x.sqlite"],
                      ["0", "-o", "x.sqlite", "--keep-last", "60s"],
                      ["0", "-o", "x.sqlite", "--pc-sampling"]):  # fmt: skip
            with self.subTest(words=words):
                ran = self.control("--ranks", *words, "true")
                self.assertEqual((ran.returncode, ran.stdout), (5, ""), ran.stderr)


class Socket(ControlTest):
    @asan
    def test_strangers(self):
        """Nobody else can open it, and what makes no sense is not answered."""
        target = self.run_obeys()
        (path,) = self.folder.glob("gpuprof-*/control")
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertEqual(path.parent.stat().st_mode & 0o777, 0o700)
        requests = [b"", b"\0", b"\xff" * 9, os.urandom(4000), b"\xff\xff\xff\x7f" * 9000,
                    b"\1\0\0\0\2\0\0\0do\3\0\0\0xyz", b"\1\0\0\0\2\0\0\0do\xff\0\0\0x"]  # fmt: skip
        for request in requests:
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as stranger:
                stranger.connect(str(path))
                stranger.settimeout(PATIENCE)
                if request:
                    stranger.send(request)
                else:
                    stranger.shutdown(socket.SHUT_WR)
                answer = stranger.recv(1 << 16)
                self.assertTrue(not answer or b"does not know xyz" in answer or len(answer) < 9)
        self.when_found(target.pid)
        os.kill(target.pid, signal.SIGKILL)
        self.assertEqual(self.control("status", target.pid).returncode, CANNOT_FIND)
        self.assertTrue(pathlib.Path(path).exists())


if __name__ == "__main__":
    unittest.main()
