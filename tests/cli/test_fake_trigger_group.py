"""--trigger where each rank of a job has a gpuprof of its own: an incident of one has snapshots of
all, of the same time."""

import contextlib
import os
import re
import socket
import struct
import threading
import time
import unittest

from builds import asan, load_tests  # noqa: F401
from fake_run import PATIENCE
from test_fake_control import ControlTest

JOB = "prterun-host-4711@1"
TIME = r"-\d{8}-\d{6}"


def fields(**pairs):
    """A request or an answer, as gpuprof sends them."""
    message = struct.pack("<I", len(pairs))
    for pair in pairs.items():
        for text in pair:
            encoded = str(text).encode()
            message += struct.pack("<I", len(encoded)) + encoded
    return message


class Launcher:
    def __init__(self, test, name, options, environment):
        test.output = test.folder / f"run-{name}.sqlite"
        self.test, self.name = test, name
        self.said = []
        self.waiting = []  # lines that no one asked for yet
        self.process = test.run_obeys(*options, **environment)
        test.when_found(self.process.pid)
        test.wait_for(lambda: test.status(self.process.pid)["files"])

    def tell(self, command):
        self.test.tell(self.process, command)

    def line(self, matching):
        """The first line that says this and was not asked for yet."""
        while not (found := [line for line in self.waiting if re.search(matching, line)]):
            line = self.process.stderr.readline()
            self.test.assertTrue(line, f"not said: {matching}; but {self.said}")
            self.said.append(line)
            self.waiting.append(line)
        self.waiting.remove(found[0])
        return found[0]

    def snapshot(self):
        """The file, the time in its name, and why it was written."""
        wrote = re.fullmatch(r"gpuprof: wrote (\S+): (.*)\n", self.line("wrote /"))
        database = self.test.database(wrote[1])
        self.test.assertEqual(database.run()["written_because"], wrote[2])
        moment = re.search(rf"/run-{self.name}({TIME})\.sqlite$", str(wrote[1]))
        return database, moment[1], wrote[2]

    def leave(self):
        """All that it said."""
        return "".join(self.said) + self.test.leave(self.process)


class TriggerGroup(ControlTest):
    def launch(self, rank, *options, keep="60s", job=JOB, name=None, trigger="range:part>250ms"):
        """The launcher of a rank of Open MPI's."""
        words = ["--keep-last", keep, *options]
        if trigger:
            words += ["--trigger", trigger]
        variables = {"OMPI_COMM_WORLD_RANK": rank, "PMIX_NAMESPACE": job} if job else {}
        return Launcher(self, rank if name is None else name, words, variables)

    def snapshots(self, name="*"):
        return [p for p in self.folder.glob(f"run-{name}-*.sqlite") if re.search(TIME, p.stem)]

    def test_two(self):
        """The other one needs no trigger, and is not asked by SIGUSR2."""
        first, second = self.launch(0), self.launch(1, trigger=None)
        status = self.status(second.process.pid)
        self.assertEqual((status["job"], status["rank"]), (f"openmpi PMIX_NAMESPACE={JOB}", 1))
        self.assertRegex(
            self.ask("status", second.process.pid), rf"\njob +openmpi .*{JOB}, rank 1\n"
        )
        for each in (first, second):
            each.tell("begin")
        first.tell("range part 300")
        snapshots = [each.snapshot() for each in (first, second)]
        (_, moment, why), (_, others, whys) = snapshots
        self.assertRegex(why, r'^range "part" of process \d+ took 3\d\d')
        self.assertEqual(whys, f"{why} (asked for by rank 0 (gpuprof {first.process.pid}))")
        self.assertEqual(moment, others)
        starts = [database.one("SELECT max(start) FROM kernels") for database, _, _ in snapshots]
        self.assertLess(abs(starts[0] - starts[1]), 1_000_000_000)
        os.kill(first.process.pid, 12)  # SIGUSR2
        self.assertIn("SIGUSR2", first.line("wrote /"))
        for each in (first, second):
            each.tell("end")
            each.leave()
        self.assertEqual((len(self.snapshots(0)), len(self.snapshots(1))), (2, 1))

    def test_four_and_strangers(self):
        """Another job, a launcher with the variables of a shell, and one that wants to be alone."""
        ranks = [self.launch(rank) for rank in range(4)]
        strangers = [
            self.launch(4, job="prterun-host-4712@1"),
            self.launch(2, name="shell"),
            self.launch(5, "--trigger-group", "off"),
            self.launch(6, "--trigger-group", JOB),
            self.launch(7, job=None),
        ]
        ranks[2].tell("range part 300")
        snapshots = [rank.snapshot() for rank in ranks]
        self.assertEqual(len({moment for _, moment, _ in snapshots}), 1)
        self.assertEqual(len({why.split(" (asked")[0] for _, _, why in snapshots}), 1)
        for rank, (_, _, why) in enumerate(snapshots):
            self.assertEqual(
                f"(asked for by rank 2 (gpuprof {ranks[2].process.pid}))" in why, rank != 2
            )
        # What they were asked was answered before this.
        for each in strangers:
            self.status(each.process.pid)
        for each in strangers + ranks:
            self.assertNotRegex(each.leave(), "wrote no snapshot|did not answer")
        self.assertEqual(len(self.snapshots()), 4)

    def test_named(self):
        one, two = (
            self.launch(name, "--trigger-group", "all of it", job=None) for name in ("one", "two")
        )
        two.tell("range part 300")
        two.snapshot()
        _, _, why = one.snapshot()
        self.assertIn(f" (asked for by gpuprof {two.process.pid})", why)
        for each in (one, two):
            each.leave()

    def test_one_at_its_limit(self):
        keep = "600ms"  # so that the next snapshot may come after 300 ms
        first = self.launch(0, keep=keep, trigger="range:part>150ms")
        second = self.launch(1, "--snapshots", "1", keep=keep, trigger="range:other>150ms")
        second.tell("range other 200")
        for each in (second, first):
            each.snapshot()
        time.sleep(2)  # of what happens before, the one that there is has it
        first.tell("range part 200")
        first.snapshot()
        line = first.line("wrote no snapshot")
        self.assertEqual(
            line,
            f"gpuprof: rank 1 (gpuprof {second.process.pid}) wrote no snapshot of this time: it has "
            "written 1 snapshot, and writes no more (--snapshots)\n",
        )
        # What it still asks for it gets.
        for each in (first, second):
            each.leave()
        self.assertEqual((len(self.snapshots(0)), len(self.snapshots(1))), (2, 1))

    def listen(self, name):
        folder = self.folder / f"gpuprof-{name}"
        folder.mkdir(mode=0o700)
        listener = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.addCleanup(listener.close)
        listener.bind(str(folder / "control"))
        listener.listen(1)
        listener.settimeout(PATIENCE)
        return listener

    def test_peers_that_hang_and_lie(self):
        first, second = self.launch(0, keep="600ms"), self.launch(1, keep="600ms")
        silent, liar = self.listen("silent"), self.listen("liar00")
        requests, lies = [], [b"\xff" * 99, fields(refused="\x1b[31m" + "x" * 999, rank="-7\n")]

        def lie():
            with contextlib.suppress(OSError):  # the test is over
                while True:
                    asked, _ = liar.accept()
                    with asked:
                        requests.append(asked.recv(1 << 16))
                        asked.send(lies[0])

        threading.Thread(target=lie, daemon=True).start()
        for _ in range(2):
            first.tell("range part 300")
            snapshots = [each.snapshot() for each in (first, second)]
            self.assertEqual(snapshots[0][1], snapshots[1][1])
            time.sleep(2.5)
            lies.reverse()
        # Commands of other tests may ask as well, of a process of theirs.
        command = fields(process="").removesuffix(struct.pack("<I", 0))
        own = [request for request in requests if not request.startswith(command)]
        self.assertTrue(own, requests)
        for request in own:
            self.assertIn(b"snapshot-of-job", request)
        said = first.leave()
        second.leave()
        # Both have this number. It is said once, however often it happens.
        line = f"gpuprof: gpuprof {os.getpid()} did not answer within 2 s: if it is of this job, it may have no"
        self.assertEqual(said.count(line), 1, said)
        self.assertRegex(
            said, rf"gpuprof {os.getpid()} wrote no snapshot of this time: \\x1b\[31mx+…\n"
        )
        silent.close()
        liar.close()

    @asan
    def test_requests_that_make_no_sense(self):
        second = self.launch(1)
        (path,) = self.folder.glob("gpuprof-*/control")
        now = time.time_ns()
        right = {"do": "snapshot-of-job", "job": f"openmpi PMIX_NAMESPACE={JOB}", "named": 0, "rank": 0,
                 "time": "-20261127-120000", "until": now, "why": "because"}  # fmt: skip

        def ask(**changes):
            with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as peer:
                peer.connect(str(path))
                peer.settimeout(PATIENCE)
                peer.send(fields(**(right | changes)))
                return peer.recv(1 << 16)

        nothing = fields()
        for changes in (
            {"job": "openmpi PMIX_NAMESPACE=other"},
            {"job": ""},
            {"rank": 1},
            {"rank": "x"},
            {"named": 1},
            {"time": "/../../../tmp/x"},
            {"time": "-20261127-12000"},
            {"time": "-20261127-120000/"},
            {"time": ""},
            {"until": now - 60_000_000_000},
            {"until": now + 60_000_000_000},
            {"until": "soon"},
        ):
            with self.subTest(changes=changes):
                self.assertEqual(ask(**changes), nothing)
        self.assertEqual(self.snapshots(), [])
        taken = ask(why="\x1b[31m" + "y" * 5000 + "\n--until=0")
        self.assertEqual(taken, fields(taken=1, rank=1))
        _, moment, why = second.snapshot()
        self.assertEqual(moment, right["time"])
        self.assertRegex(why, rf"^\\x1b\[31my+… \(asked for by rank 0 \(gpuprof {os.getpid()}\)\)$")
        self.assertLess(len(why), 600)
        # One in ten seconds.
        self.assertIn(b"refused", ask())
        second.leave()
        self.assertEqual(len(self.snapshots()), 1)

    def test_copies_that_end_together(self):
        """--until: the time of day of a launch among others."""
        target = self.launch(0).process
        self.tell(target, "launch 5")
        time.sleep(0.2)
        until = time.time_ns()
        self.tell(target, "launch 7")
        self.ask("flush", target.pid)
        file = str(self.output)
        self.ask("snapshot", file, "--as-it-is", "--until", until, "-o", "cut.sqlite")
        self.ask("snapshot", file, "--as-it-is", "-o", "whole.sqlite")
        cut, whole = (self.database(self.folder / f"{name}.sqlite") for name in ("cut", "whole"))
        counted = "SELECT count(*) FROM kernels WHERE name = 'counted'"
        self.assertEqual((cut.one(counted), whole.one(counted)), (5, 12))
        for table in ("DEVICE", "CONTEXT"):
            self.assertEqual(cut.count(table), whole.count(table))
        self.assert_correlated(cut)
        self.leave(target)

    def test_what_cannot_be(self):
        ran = self.control("--trigger-group", "x", "true")
        self.assertEqual(ran.returncode, 5, ran.stderr)
        self.assertIn("--trigger-group needs --keep-last", ran.stderr)


if __name__ == "__main__":
    unittest.main()
