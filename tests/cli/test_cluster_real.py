"""gpuprof cluster on recordings of two GPUs: what it finds, how well it aligns clocks, and how it shows ranks.

Skipped without the packages that scripts/setup --tests puts into .tools/frames and .tools/duckdb."""
# ctest-labels: plain
# ctest-cost: 6

import contextlib
import dataclasses
import http.client
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest
from unittest import mock

BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", ""))
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
GPUPROF = os.environ.get("GPUPROF", "")
sys.path.append(str(SOURCE / "tests" / "support"))

from packages import TOOLS  # noqa: E402

FOLDERS = [TOOLS / "frames", TOOLS / "duckdb"]
KIND = "CUPTI_ACTIVITY_KIND_"

sys.path[:0] = [str(BUILD / "share" / "gpuprof" / "python"), *map(str, FOLDERS)]
THERE = all((folder / "unpacked").exists() for folder in FOLDERS)
if THERE:
    import json

    import duckdb
    import numpy as np
    import ranks
    from gpuprof_cuda._cluster import (
        clocks,
        database,
        matching,
        report,
        roll_up,
        store,
        stragglers,
        tasks,
        text,
        view,
    )
    from packed import replay_packed

PATH = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(map(str, FOLDERS)),
    "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
}


def gpuprof(*words):
    subprocess.run([GPUPROF, *map(str, words)], check=True, timeout=120)


def move_clock(path, offset, drift):
    """As if another machine had recorded it, whose clock is ahead and faster. Returns what was at which time."""
    columns = {"CONCURRENT_KERNEL": ("start", "end", "completed"), "MEMCPY": ("start", "end"),
               "MEMSET": ("start", "end"), "RUNTIME": ("start", "end"), "DRIVER": ("start", "end"),
               "MARKER": ("timestamp",)}  # fmt: skip
    starts = f"SELECT start FROM {KIND}CONCURRENT_KERNEL ORDER BY correlationId"
    database = sqlite3.connect(path)
    with database:
        true = np.array([row[0] for row in database.execute(starts)])
        (begin,) = database.execute(f"SELECT min(start) FROM {KIND}RUNTIME").fetchone()
        for kind, times in columns.items():
            changes = ", ".join(f"[{name}] = [{name}] + {offset} + CAST(([{name}] - {begin}) * {drift} AS INT)"
                                for name in times)  # fmt: skip
            database.execute(f"UPDATE {KIND}{kind} SET {changes}")
        moved = np.array([row[0] for row in database.execute(starts)])
        for table in ("NVTX_RANGE", "NVTX_PAYLOAD"):
            database.execute(f"DELETE FROM {table}")
        for key, value in (
            ("boot_id", "two"),
            ("host_name", "node2"),
            ("finished", 0),
            ("not_computed", "all"),
        ):
            database.execute("INSERT OR REPLACE INTO RUN VALUES(?, ?)", (key, value))
    database.close()
    gpuprof("finish", "-q", path)
    return true, moved


@unittest.skipUnless(GPUPROF and THERE, "GPUPROF is not set, or .tools has no frames and DuckDB")
class Pairs(unittest.TestCase):
    """Recordings of two ranks, by name: examples/ranks.py on two H100."""

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="cluster-real-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        archive = SOURCE / "tests/captures/ranks/pairs.tar.xz"
        subprocess.run(["tar", "-xf", archive, "-C", cls.folder], check=True)

    @classmethod
    def profiles(cls, name):
        made = [cls.folder / f"{name}{rank}.sqlite" for rank in range(2)]
        for rank, path in enumerate(made):
            if not path.exists():
                gpuprof("replay", "-q", "-o", path, cls.folder / f"{name}{rank}.gpcap")
        return made


class Recorded(Pairs):
    def built(self, name, files):
        folder = str(self.folder / f"store-{name}")
        self.assertEqual(
            tasks.build(list(map(str, files)), folder, tasks.Executors(1, None), lambda *_: None),
            [],
        )
        return store.Store(folder)

    def report(self, name):
        return report.read(self.built(name, self.profiles(name)))

    def test_a_late_rank(self):
        """Rank 1 sleeps for 2 ms in each step."""
        whole = self.report("late")
        self.assertEqual(whole["steps"]["warm_up"], 2)
        (found,) = whole["findings"]
        self.assertEqual((found["kind"], found["ranks"]), ("straggler", [1]))
        evidence = found["evidence"]
        self.assertEqual((evidence["cause"], evidence["host_in"]), ("host", "no call"))
        self.assertEqual(evidence["last_share"], 1.0)
        self.assertGreater(evidence["idle_ns"], 2_000_000)

    def test_a_pipeline(self):
        """Two stages and four microbatches: a fifth of the step at least is a bubble."""
        (found,) = self.report("pipeline")["findings"]
        self.assertEqual((found["kind"], found["ranks"]), ("bubbles", [0, 1]))
        self.assertEqual(found["evidence"]["transfers"], 8)
        self.assertGreater(found["evidence"]["share"], 0.2)
        self.assertLess(found["evidence"]["share"], 0.3)

    def test_uneven_experts(self):
        """Rank 1 gets three of four tokens: 48 MiB from each rank, and 16 and 48 back; rank 0 gets 16 and 16."""
        (found,) = self.report("experts")["findings"]
        self.assertEqual((found["ranks"], found["evidence"]["cause"]), ([1], "experts"))
        evidence = found["evidence"]
        self.assertEqual(
            (evidence["received"], evidence["received_by_others"]), (160 << 20, 96 << 20)
        )
        self.assertAlmostEqual(evidence["kernels_ratio"], 3, delta=0.15)

    def test_share_of_the_link(self):
        """18 NVLinks of an H100, which CUPTI reports as 849.96 GB/s in both directions."""
        found = self.report("ddp")["communicators"]
        self.assertEqual({each["link_bytes_per_second"] for each in found}, {424_980_000_000})
        speeds = [each["bus_bytes_per_second"] for each in found if each["bus_bytes_per_second"]]
        self.assertTrue(speeds and all(0 < speed < 424_980_000_000 for speed in speeds))
        self.assertRegex(text.plain(self.report("ddp")), r"\b\d+(\.\d+)? of 425\b")

    def test_roll_ups_of_a_rank(self):
        """What --ranks keeps of rank 1, from parts of its recording: sums are those of the profile, and rank 1 is
        found late by it. With less room, each fourth step is kept."""
        profiles = self.profiles("late")
        whole = database.connect(self.built("late", profiles))
        first, last = whole.sql(
            "SELECT min(start), max(start) FROM kernels WHERE rank = 1"
        ).fetchone()
        for room, n in ((1_000_000, 1), (38_000, 4)):
            folder = str(self.folder / f"{room}.rollups")
            store.Store(folder).prepare()
            with mock.patch.object(roll_up, "BYTES_PER_HOUR", room):
                rolled = roll_up.RollUp(folder, 1, 10**10)
                for share in (0.7, 0.72, 0.9):
                    until = first + round((last - first) * share)
                    with mock.patch.object(rolled, "_time", return_value=until + rolled._margin_ns):
                        rolled.add(profiles[1], 0)
                rolled.add(profiles[1], None)
            self.assertLessEqual(store.Store(folder).bytes(), room)
            mixed = self.built(f"mixed{room}", [profiles[0], folder])
            stored = database.connect(mixed)
            for question in (
                "SELECT work, name, sum(count), sum(ns), min(min_ns), max(max_ns), sum(bytes) FROM rollups {} GROUP BY ALL",
                "SELECT class, cause, sum(ns) FROM account {} GROUP BY ALL",
                f"SELECT * FROM steps {{}} AND step % {n} = 0",
                f"SELECT * FROM collectives {{}} AND step % {n} = 0",
                "SELECT step, name, device_id, stream_id, count, ns, median_ns, p99_ns FROM rollups "
                f"{{}} AND step % {n} = 0",
            ):
                question = question.format("WHERE rank = 1") + " ORDER BY ALL"
                self.assertEqual(
                    stored.sql(question).fetchall(), whole.sql(question).fetchall(), question
                )
            found = report.read(mixed)
            self.assertEqual([each["ranks"] for each in found["findings"]], [[1]])
            self.assertIn("of rank 1 there are roll-ups only", text.plain(found))
        # Built again, they are not read again; and damage is said.
        self.assertEqual(
            self.built(f"mixed{room}", [profiles[0], folder]).manifests(), mixed.manifests()
        )
        for path in pathlib.Path(folder).glob("kind=account/*/*.parquet"):
            path.write_bytes(b"PAR1")
        (refused,) = tasks.build(
            [folder], str(self.folder / "store-damaged"), tasks.Executors(1, None), lambda *_: None
        )
        self.assertEqual(refused["path"], folder)

    def test_planted_faults(self):
        """Steps of these recordings, with their noise, as those of more ranks."""
        recorded = ranks.Recorded(self.profiles("experts")[1], self.profiles("ddp"))
        for fault in ("", *ranks.FAULTS):
            plan = ranks.Plan(
                ranks=4, steps=20, hosts=2, seed=1, fault=fault, clock_ns=5_000_000, drift=20e-6
            )
            if fault == "late host":
                plan = dataclasses.replace(plan, rank=2)
            connection = duckdb.connect(config={"threads": 1})
            ranks.fill(connection, ranks.Simulation(plan, [], recorded))
            with self.subTest(fault):
                self.assertEqual(ranks.found(report._read(connection)), ranks.expected(plan))
            connection.close()

    def test_one_that_waits_for_a_late_one(self):
        """What it is idle for is in its account, and that of others is hidden by a collective that waits."""
        recorded = ranks.Recorded(self.profiles("pipeline")[1], self.profiles("ddp"))
        plan = ranks.Plan(ranks=4, steps=24, seed=1010, fault="late host", rank=3)
        connection = duckdb.connect(config={"threads": 1})
        ranks.fill(connection, ranks.Simulation(plan, [], recorded))
        found = report._read(connection)
        self.assertEqual(ranks.found(found), ranks.expected(plan))
        accounts = stragglers.read_accounts(connection)
        late = stragglers.late_ranks(stragglers.lateness(accounts))
        self.assertEqual(sorted(late), [2, 3])
        connection.close()

    def test_a_line_of_python(self):
        """Where the host was while it was in no call, as --host-samples saw it."""
        connection = database.connect(self.built("late", self.profiles("late")))
        accounts = "CREATE TEMP TABLE account AS SELECT * REPLACE (CASE WHEN class = 'no call' THEN 'train.py:7 step' ELSE cause END AS cause) FROM main.account"
        connection.execute(accounts)
        (found,) = report._read(connection)["findings"]
        self.assertEqual(found["evidence"]["host_line"], "train.py:7 step")
        self.assertIn("no call of CUDA, at train.py:7 step", found["text"])

    def test_what_nccl_reported(self):
        """One file with both ranks. NVTX ranges say the same of each kernel that its own call launched."""
        path = self.folder / "nccl.sqlite"
        replay_packed(GPUPROF, "ranks/nccl", "nccl", path)
        connection = database.connect(self.built("nccl", [path]))
        self.assertEqual(
            connection.sql(
                "SELECT count(*), count(sequence) FROM collectives WHERE place IS NOT NULL"
            ).fetchone(),
            (64, 42),  # without those that graphs launched, and AlltoAll
        )
        answer = sqlite3.connect(path)
        of_view = answer.execute(
            """SELECT rank, start, communicator,
                      CASE WHEN peer IS NULL THEN function ELSE 'SendRecv' END,
                      sum(CASE WHEN peer IS NULL THEN bytes END),
                      sum(CASE WHEN peer IS NOT NULL THEN bytes * (function = 'Send') END)
               FROM collectives GROUP BY 1, 2 ORDER BY 1, 2""").fetchall()  # fmt: skip
        of_view = [(*row[:2], f"{row[2] & (2**64 - 1):016x}", *row[3:]) for row in of_view]
        of_store = "SELECT rank, start, communicator, operation, bytes, sent FROM collectives ORDER BY 1, 2"
        stored = connection.sql(of_store).fetchall()
        # NCCL makes sends and receives of an AlltoAll, which NVTX names.
        self.assertEqual([row[3] for row in stored].count("AlltoAll"), 2)
        self.assertEqual(
            [row for row in stored if row[3] != "AlltoAll"],
            [row for row, its in zip(of_view, stored) if its[3] != "AlltoAll"],
        )
        # By what NCCL reported, not by names.
        renamed = self.folder / "renamed.sqlite"
        shutil.copyfile(path, renamed)
        with contextlib.closing(sqlite3.connect(renamed)) as file, file:
            file.execute("UPDATE StringTable SET value = 'k', demangled = 'k', short = 'k', display = 'k'"
                         " WHERE short GLOB 'nccl*'")  # fmt: skip
        self.assertEqual(
            database.connect(self.built("renamed", [renamed])).sql(of_store).fetchall(), stored
        )
        # 3 of a coalesced one, 2 captured and launched 5 times.
        self.assertEqual(answer.execute("SELECT count(*) FROM collectives").fetchone(), (88,))
        answer.execute("DROP VIEW collectives")
        answer.execute("DELETE FROM NCCL_OPERATION")
        answer.executemany("UPDATE PROCESS SET rank = ? WHERE processId = ?", [(0, 698), (1, 699)])
        answer.commit()
        answer.close()
        other = database.connect(self.built("nvtx", [path])).sql(of_store).fetchall()
        self.assertEqual(len(other), 72)
        # Of coalesced and captured ones NVTX does not say.
        same = [(a, b) for a, b in zip(stored, other) if b[4] is not None or b[5] is not None]
        self.assertEqual(len(same), 50)
        self.assertEqual([a for a, _ in same], [b for _, b in same])

    def test_clocks(self):
        """Both are of one machine, so the truth is known: 5 ms and 20 ppm are recovered within 5 us, and a clock
        that is the same stays the same."""
        first, second = self.profiles("late")
        for number, (offset, drift) in enumerate(((5_000_000, 20e-6), (0, 0.0))):
            other = self.folder / f"moved{number}.sqlite"
            shutil.copyfile(second, other)
            true, moved = move_clock(other, offset, drift)
            connection = database.connect(self.built(f"moved{number}", [first, other]))
            matching.match(connection)
            hosts = clocks.align(connection)
            causality = clocks.apply(connection, hosts)
            connection.close()
            wrong = np.abs(hosts[1].aligned(moved) - true)
            self.assertLess(np.quantile(wrong, 0.99), 5000)
            self.assertLess(hosts[1].error, 5000)
            self.assertEqual((causality.checked, causality.violated), (47, 0))


class View(Pairs):
    """The server of gpuprof view STORE."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.files = cls.profiles("late")
        folder = cls.folder / "store"
        tasks.build(
            list(map(str, cls.files)), str(folder), tasks.Executors(1, None), lambda *_: None
        )
        cls.store = store.Store(str(folder))
        cls.server = view._Server(view._Pages(cls.store), 0)
        thread = threading.Thread(target=cls.server.serve_forever, args=(0.05,))
        thread.start()
        for end in (thread.join, cls.server.server_close, cls.server.shutdown):
            cls.addClassCleanup(end)

    def ask(self, path, method="GET", token=None, host=None):
        port = self.server.server_address[1]
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=60)
        headers = {"Host": host or f"127.0.0.1:{port}"}
        connection.request(method, f"/{token or self.server.token}/{path}", headers=headers)
        answer = connection.getresponse()
        body = answer.read()
        connection.close()
        return answer, body

    def test_who_is_answered(self):
        for status, more in ((200, {}), (200, {"host": "LOCALHOST:1"}), (403, {"host": "other.example"}),
                             (403, {"host": "127.0.0.1.other.example"}), (403, {"token": 32 * "0"}),
                             (403, {"token": "%00"}), (405, {"method": "POST"}), (405, {"method": "DELETE"})):  # fmt: skip
            answer, body = self.ask("", **more)
            self.assertEqual(answer.status, status, more)
            self.assertIn("default-src 'none'", answer.getheader("Content-Security-Policy"))
            self.assertEqual(b"<canvas" in body, status == 200)
        for path, status in (("nothing", 404), ("../view.py", 404), ("rank/7/", 404), ("rank/x/", 404), ("open", 400),
                             ("open?rank=x", 400), ("open?rank=7", 404), ("open?rank=1&step=x", 400)):  # fmt: skip
            self.assertEqual(self.ask(path)[0].status, status, path)
        for path in ("", "view.js", "view.css"):
            self.assertNotRegex(self.ask(path)[1], rb"https?:")

    def test_the_picture(self):
        """Its numbers are those of the store, and the parts of a step are the step."""
        body = self.ask("picture")[1]
        head, _, rest = body.partition(b"\n")
        about = json.loads(head)
        cells = len(about["ranks"]) * len(about["steps"])
        numbers = np.frombuffer(rest, dtype="<f4")
        self.assertEqual(len(numbers), cells * (len(about["classes"]) + 1))
        ns = numbers[: cells * len(about["classes"])].reshape(2, len(about["steps"]), -1)
        connection = database.connect(self.store)
        account = connection.execute(
            "SELECT rank, step, class, sum(ns) FROM account WHERE step >= 2 GROUP BY 1, 2, 3"
        )
        for rank, step, name, time in account.fetchall():
            found = ns[rank, about["steps"].index(step), about["classes"].index(name)]
            self.assertAlmostEqual(found, time, delta=time * 1e-6)
        steps = connection.execute(
            'SELECT rank, step, "end" - start FROM steps WHERE step >= 2'
        ).fetchall()
        self.assertEqual(len(steps), cells)
        for rank, step, time in steps:
            self.assertAlmostEqual(ns[rank, about["steps"].index(step)].sum(), time, delta=10)
        connection.close()
        heat = report.read(self.store)["heat"]
        late = numbers[cells * len(about["classes"]) :].reshape(2, -1)
        np.testing.assert_allclose(late, heat["late_ns"], atol=1)
        self.assertEqual((heat["ranks"], heat["steps"]), (about["ranks"], about["steps"]))

    def test_into_the_records_of_a_rank(self):
        answer, _ = self.ask("open?rank=1&step=5")
        where = answer.getheader("Location")
        self.assertEqual(answer.status, 303)
        profile = sqlite3.connect(self.files[1])
        (zero,) = profile.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()
        starts = dict(
            profile.execute("SELECT name, start FROM steps WHERE name IN ('step 5', 'step 6')")
        )
        profile.close()
        window = f"#from={starts['step 5'] - zero}&to={starts['step 6'] - zero}"
        self.assertEqual(where, f"/{self.server.token}/rank/1/{window}")
        answer, body = self.ask("rank/1/")
        self.assertEqual(
            (answer.status, answer.getheader("Content-Type")), (200, "text/html; charset=utf-8")
        )
        self.assertIn(b"app.js", body)
        answer, body = self.ask("rank/1/api/run")
        self.assertEqual(answer.status, 200)
        self.assertIn("account", json.loads(body))
        # A file that is another one now is not opened.
        self.assertEqual(self.ask("rank/0/")[0].status, 200)
        viewers = dict(self.server.pages._viewers)
        os.utime(self.files[0], ns=(1, 1))
        self.server.pages._viewers.pop(0)
        answer, body = self.ask("rank/0/")
        self.assertEqual((answer.status, b"has changed" in body), (404, True))
        for viewer in viewers.values():
            viewer._child.terminate()
            viewer._child.wait()
            viewer._child.stdout.close()
            viewer._child.stderr.close()

    def test_the_command(self):
        with subprocess.Popen([GPUPROF, "view", self.store.path, "--no-browser"], stdout=subprocess.PIPE, text=True,
                              env=PATH) as ran:  # fmt: skip
            self.assertRegex(ran.stdout.readline(), r"^http://127\.0\.0\.1:[0-9]+/[0-9a-f]{32}/\n$")
            ran.send_signal(signal.SIGINT)
            self.assertEqual(ran.wait(20), 130)
        ran = subprocess.run(
            [GPUPROF, "view", self.store.path, "--live"], capture_output=True, text=True
        )
        self.assertEqual((ran.returncode, ran.stdout), (5, ""))


if __name__ == "__main__":
    unittest.main()
