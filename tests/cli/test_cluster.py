"""gpuprof cluster: what a store has of its files, and who is late in sets with planted faults.

Skipped without the packages that scripts/setup --tests puts into .tools/frames and .tools/duckdb."""
# ctest-labels: plain
# ctest-cost: 12

import contextlib
import importlib.util
import io
import json
import os
import pathlib
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
import unittest

BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", ""))
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
GPUPROF = os.environ.get("GPUPROF", "")
sys.path.append(str(SOURCE / "tests" / "support"))

from packages import TOOLS  # noqa: E402

FOLDERS = [TOOLS / "frames", TOOLS / "duckdb"]

sys.path[:0] = [str(BUILD / "share" / "gpuprof" / "python"), *map(str, FOLDERS)]
import ranks  # noqa: E402

THERE = all((folder / "unpacked").exists() for folder in FOLDERS)
if THERE:
    import duckdb
    import gpuprof_cuda
    import numpy as np
    from gpuprof_cuda._cluster import clocks, command, page, report, text

# What gpuprof cluster finds its packages by.
PATH = {
    **os.environ,
    "PYTHONPATH": os.pathsep.join(map(str, FOLDERS)),
    "PATH": os.pathsep.join([os.path.dirname(sys.executable), os.environ["PATH"]]),
}
KERNELS = [round(1000 * (1 + i % 7)) for i in range(34)]  # ns, without a capture


def run(*words, **more):
    return subprocess.run([GPUPROF, "cluster", *map(str, words)], capture_output=True, text=True,
                          timeout=300, env=PATH, **more)  # fmt: skip


def here(*words):
    """The same in this process, which has loaded the packages."""
    with (
        contextlib.redirect_stdout(io.StringIO()) as out,
        contextlib.redirect_stderr(io.StringIO()) as errors,
    ):
        code = command.main([*map(str, words)])
    return subprocess.CompletedProcess(words, code, out.getvalue(), errors.getvalue())


def content(folder):
    return {
        path.relative_to(folder): path.read_bytes() for path in folder.rglob("*") if path.is_file()
    }


def analysed(plan):
    """The report on a plan, without files."""
    connection = duckdb.connect(config={"threads": 1})
    ranks.fill(connection, ranks.Simulation(plan, KERNELS))
    return report._read(connection)


@unittest.skipUnless(GPUPROF and THERE, "GPUPROF is not set, or .tools has no frames and DuckDB")
class Store(unittest.TestCase):
    PLAN = ranks.Plan(
        ranks=4, steps=12, hosts=2, fault="late host", clock_ns=5_000_000, drift=20e-6
    )

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="cluster-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        capture = SOURCE / "tests/captures/torch_step.gpcap"
        cls.files = ranks.Writer(GPUPROF, capture, cls.folder).write(cls.PLAN, cls.folder / "runs")
        cls.store = cls.folder / "store"
        cls.built = run("build", cls.folder / "runs", "-o", cls.store, "--jobs", "1")
        cls.before = content(cls.store)

    def test_it_is_built(self):
        self.assertEqual((self.built.returncode, self.built.stdout), (0, ""), self.built.stderr)
        self.assertRegex(
            self.built.stderr, r"^gpuprof: .*store: 4 ranks of 4 files, 2016 kernels\n$"
        )

    def test_sums_are_those_of_the_files(self):
        with gpuprof_cuda.cluster(self.store) as store:
            for rank, path in enumerate(self.files):
                profile = sqlite3.connect(path)
                kernels = dict(
                    profile.execute("SELECT name, sum(duration) FROM kernels GROUP BY 1")
                )
                asked = f"FROM rollups WHERE rank = {rank} AND work = 'kernel' GROUP BY 1"
                self.assertEqual(
                    dict(store.sql(f"SELECT name, sum(ns) {asked}").fetchall()), kernels
                )
                self.assertEqual(
                    dict(store.sql(f"SELECT name, sum(duration) FROM kernels WHERE rank = {rank} GROUP BY 1")
                         .fetchall()), kernels)  # fmt: skip
                account = dict(profile.execute(
                    "SELECT class, sum(duration) FROM DEVICE_ACCOUNT WHERE class NOT IN ('before', 'after') "
                    "GROUP BY 1"))  # fmt: skip
                found = store.sql(f"SELECT class, sum(ns) FROM account WHERE rank = {rank} "
                                  "AND class NOT IN ('before', 'after') GROUP BY 1").fetchall()  # fmt: skip
                self.assertEqual(dict(found), account)
                profile.close()

    def test_steps_and_collectives(self):
        with gpuprof_cuda.cluster(self.store) as store:
            count = store.sql("SELECT count(*), count(DISTINCT step), min(place), max(place) FROM collectives "
                              "WHERE rank = 2 AND communicator = '000000000000a000'").fetchone()  # fmt: skip
            self.assertEqual(count, (48, 12, 0, 3))
            bytes_of = dict(
                store.sql("SELECT DISTINCT operation, bytes FROM collectives").fetchall()
            )
            self.assertEqual(bytes_of, ranks.BYTES)
            # Work belongs to the step that asked for it, though it runs later.
            each = store.sql("SELECT DISTINCT count(*) FROM kernels GROUP BY rank, step").fetchall()
            self.assertEqual(each, [(42,)])
            self.assertEqual(
                store.ranks.fetchall()[3][:6], (3, 4, 1, "MASTER_PORT=1", "node1", "boot-0-1")
            )

    def test_the_report(self):
        ran = here("report", self.store, "--json")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        found = json.loads(ran.stdout)
        (finding,) = found["findings"]
        self.assertEqual((finding["ranks"], finding["evidence"]["cause"]), ([0, 1], "host"))
        self.assertEqual(finding["evidence"]["host_in"], "no call")
        self.assertLess(found["clocks"]["error_ns"], 5000)
        kept = [host["clock_error_ns"] for host in found["clocks"]["hosts"]]
        self.assertEqual(kept, [200_000, 250_000])
        with gpuprof_cuda.cluster(self.store) as store:
            self.assertEqual(store.report, found)
            self.assertEqual(store.stragglers, [finding])
        for options, begin in (
            ([], "4 ranks on 2 hosts; 11 steps that all of them recorded without the first"),
            (["--markdown"], "# Ranks\n"),
        ):
            ran = here("report", self.store, *options)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            self.assertTrue(ran.stdout.startswith(begin), ran.stdout)
            self.assertIn("late by", ran.stdout)
            self.assertIn("NTP or PTP keeps their clocks within 250 us", ran.stdout)

    def test_workers_elsewhere(self):
        """What .tools does not have is asked for, and nothing is written."""
        if importlib.util.find_spec("distributed"):
            self.skipTest("this Python has Dask")
        for words, package in (
            (["--dask", "tcp://127.0.0.1:1"], "distributed"),
            (["--slurm"], "dask-jobqueue"),
        ):
            ran = here("build", *self.files, "-o", self.folder / "elsewhere", *words)
            self.assertEqual((ran.returncode, ran.stdout), (4, ""))
            self.assertIn(f"needs the package {package}", ran.stderr)
            self.assertIn("gpuprof-cuda[cluster]", ran.stderr)
            self.assertEqual(list(self.folder.glob("elsewhere/files/*")), [])
        both = here(
            "build",
            *self.files,
            "-o",
            self.folder / "x",
            "--dask",
            "tcp://127.0.0.1:1",
            "--jobs",
            "2",
        )
        self.assertEqual(both.returncode, 5)

    def test_nothing_is_read_again(self):
        times = {path: path.stat().st_mtime_ns for path in self.store.rglob("*.parquet")}
        again = here("build", *self.files, "-o", self.store, "--jobs", "1")
        self.assertEqual(again.returncode, 0, again.stderr)
        self.assertEqual(
            times, {path: path.stat().st_mtime_ns for path in self.store.rglob("*.parquet")}
        )
        self.assertEqual(content(self.store), self.before)

    def test_killed_and_resumed(self):
        """What two workers did until then is kept, and the store is the one that one worker makes."""
        store = self.folder / "killed"
        words = [GPUPROF, "cluster", "build", self.folder / "runs", "-o", store, "--jobs", "2"]
        with subprocess.Popen(words, stderr=subprocess.DEVNULL, env=PATH) as build:
            end = time.monotonic() + 120
            while not list(store.glob("files/*.json")) and build.poll() is None:
                self.assertLess(time.monotonic(), end)
                time.sleep(0.01)
            build.send_signal(signal.SIGKILL)
        done = {path: path.stat().st_mtime_ns for path in store.glob("files/*.json")}
        self.assertTrue(done)
        left = store / "files" / f".{32 * 'a'}.json.1"
        left.write_text("half")
        notes = store / "files" / "notes.md"
        notes.write_text("the user's own")
        resumed = here("build", self.folder / "runs", "-o", store, "--jobs", "1")
        self.assertEqual(resumed.returncode, 0, resumed.stderr)
        self.assertEqual({path: path.stat().st_mtime_ns for path in done}, done)
        self.assertFalse(left.exists())
        self.assertEqual(notes.read_text(), "the user's own")
        notes.unlink()
        self.assertEqual(content(store), self.before)

    def test_a_process_without_gpu_work_is_no_rank(self):
        """As that of torchrun itself, whose file may come first."""
        runs = self.folder / "started"
        shutil.copytree(self.folder / "runs", runs)
        starter = runs / "a.sqlite"
        shutil.copy(self.files[0], starter)
        with contextlib.closing(sqlite3.connect(starter)) as profile:
            for (table,) in profile.execute(
                "SELECT name FROM sqlite_master WHERE type = 'table' AND (name GLOB 'CUPTI_ACTIVITY_KIND_*KERNEL' "
                "OR name GLOB 'CUPTI_ACTIVITY_KIND_MEM*' OR name GLOB 'ENVIRONMENT_VARIABLE*')"
            ).fetchall():  # fmt: skip
                profile.execute(f'DELETE FROM "{table}"')
            profile.execute("UPDATE PROCESS SET rank = NULL")
            profile.commit()
        built = here("build", runs, "-o", self.folder / "of-started", "--jobs", "1")
        self.assertEqual(built.returncode, 0, built.stderr)
        self.assertIn("4 ranks of 5 files, 2016 kernels", built.stderr)

    def test_what_cannot_be_read_is_left_out(self):
        runs = self.folder / "mixed"
        runs.mkdir()
        shutil.copy(self.files[0], runs / "a.sqlite")
        shutil.copy(self.files[0], runs / "b.sqlite")
        whole = self.files[1].read_bytes()
        (runs / "cut.sqlite").write_bytes(whole[: len(whole) // 2])
        (runs / "notes.txt").write_text("not a profile")
        sqlite3.connect(runs / "other.sqlite").executescript(
            "CREATE TABLE t(x); INSERT INTO t VALUES(1)"
        )
        for name, change in (("open", "UPDATE RUN SET value = 0 WHERE key = 'finished'"),
                             ("newer", "UPDATE RUN SET value = 2 WHERE key = 'schema_version'")):  # fmt: skip
            shutil.copy(self.files[1], runs / f"{name}.sqlite")
            with contextlib.closing(sqlite3.connect(runs / f"{name}.sqlite")) as database, database:
                database.execute(change)
        ran = here("build", runs, "-o", self.folder / "some", "--jobs", "1")
        self.assertEqual(ran.returncode, 20)
        said = [line for line in ran.stderr.splitlines() if "is left out" in line]
        names = [pathlib.Path(line.split()[1]).name for line in said]
        self.assertEqual(
            names, ["cut.sqlite", "newer.sqlite", "open.sqlite", "other.sqlite", "b.sqlite"]
        )
        self.assertIn("another version", said[1])
        self.assertIn("it is a database, but not a profile", said[3])
        self.assertIn("the same as", said[4])
        self.assertIn("1 ranks of 1 files", ran.stderr)
        # A folder that is no store is not touched, and a name that does not exist is refused.
        self.assertEqual(here("build", runs, "-o", runs).returncode, 21)
        self.assertEqual(len(list(runs.iterdir())), 7)
        self.assertEqual(
            here("build", self.folder / "none", "-o", self.folder / "x").returncode, 20
        )
        self.assertEqual(here("report", runs).returncode, 20)

    def test_sql_reads_the_store_alone(self):
        with gpuprof_cuda.cluster(self.store) as store:
            for question in (f"SELECT * FROM read_text('{SOURCE / 'LICENSE'}')",
                             f"COPY (SELECT 1) TO '{self.folder / 'out.csv'}'", "DROP VIEW kernels",
                             "SELECT 1; SELECT 2", "SET enable_external_access = true", "nonsense"):  # fmt: skip
                with self.assertRaises(gpuprof_cuda.QuestionError, msg=question):
                    store.sql(question).fetchall()
            self.assertFalse((self.folder / "out.csv").exists())


@unittest.skipUnless(THERE, ".tools has no frames and DuckDB")
class Analysis(unittest.TestCase):
    def found(self, fault, **more):
        plan = ranks.Plan(**{"ranks": 4, "steps": 20, "hosts": 2, "clock_ns": 5_000_000, "drift": 20e-6,
                             "seed": 1, "fault": fault, **more})  # fmt: skip
        whole = analysed(plan)
        self.assertEqual(ranks.found(whole), ranks.expected(plan))
        return whole

    def test_nobody_is_blamed(self):
        for seed in range(2):
            self.found("", seed=seed)
        self.found("", ranks=2, hosts=1)

    def test_causes(self):
        for fault, more in (
            ("slow rank", {"ranks": 8, "rank": 6}),
            ("late host", {"ranks": 8, "hosts": 2, "rank": 5}),
            ("throttling", {}),
            ("throttling", {"samples": False}),
            ("rotating", {}),
            ("slow link", {}),
            ("missing rank", {}),
            ("clock jump", {}),
        ):
            with self.subTest(fault, **more):
                self.found(fault, **more)

    def test_what_a_slow_rank_costs(self):
        """As much as the step is shorter without the fault."""
        sound = self.found("", hosts=1)["steps"]["step_ns"]
        for fault in ("slow rank", "late host"):
            slow = self.found(fault, hosts=1)
            gained = slow["steps"]["step_ns"] - sound
            self.assertAlmostEqual(slow["findings"][0]["cost_ns"], gained, delta=0.2 * gained)

    def test_a_mismatch_is_said(self):
        words = text.findings(self.found("mismatch"))
        self.assertEqual(words, ["Rank 1 called AllGather where the others called AllReduce, step 10, call 2 of "
                                 "communicator 000000000000a000."])  # fmt: skip

    def test_a_missing_record_is_no_mismatch(self):
        """Where NCCL's sequence numbers are known."""
        connection = duckdb.connect(config={"threads": 1})
        ranks.fill(connection, ranks.Simulation(ranks.Plan(), KERNELS))
        lost = "rank = 2 AND step = 7 AND communicator = '000000000000a000' AND place"
        connection.execute(
            "CREATE OR REPLACE TABLE collectives AS SELECT * REPLACE ((row_number() OVER (PARTITION BY rank, "
            "communicator, operation ORDER BY start) - 1) AS sequence) FROM collectives"
        )
        connection.execute(f"DELETE FROM collectives WHERE {lost} = 1")
        connection.execute(f"UPDATE collectives SET place = place - 1 WHERE {lost} > 1")
        self.assertEqual(report._read(connection)["findings"], [])
        matched = (
            "SELECT count(*) FROM matched WHERE step = 7 AND communicator = '000000000000a000'"
        )
        self.assertEqual(connection.execute(matched).fetchone(), (12,))

    def test_without_names_of_communicators(self):
        """The pairs share a name then, which is found where one pair ends before another begins."""
        whole = self.found("late host", hosts=1, named=False)
        self.assertEqual(whole["not_one"], ["stream 1"])

    def test_few_collectives_align_nothing(self):
        whole = analysed(ranks.Plan(ranks=4, steps=4, hosts=2, pairs=False))
        self.assertEqual([each["kind"] for each in whole["findings"]], ["no common clock"])
        self.assertFalse(whole["clocks"]["one_clock"])
        self.assertTrue(all(each["skew_ns"] is None for each in whole["communicators"]))

    def test_one_rank(self):
        whole = self.found("", ranks=1, hosts=1, pairs=False)
        self.assertEqual(
            text.findings(whole), ["There is one rank, and nothing to compare it with."]
        )

    def test_clocks(self):
        """Offset and drift are recovered, also with wrong ends among them and a jump; sound clocks are left."""
        chance = np.random.default_rng(5)
        times = np.sort(chance.integers(0, 60 * 10**9, 3000)) + ranks.T0
        for offset, drift, jump in (
            (0, 0.0, 0),
            (5_000_000, 20e-6, 0),
            (-4_000_000, -20e-6, 2_000_000),
        ):
            true = offset + drift * (times - times[0]) + jump * (times > times[1500])
            measured = true + chance.uniform(-2000, 2000, len(times))
            measured[chance.integers(0, len(times), 30)] += 300_000
            host = clocks.Host("b", "h", [0])
            clocks.fit(host, times, measured)
            wrong = np.abs(host.aligned(times) - times - true)
            self.assertLess(np.quantile(wrong, 0.99), 5000)
            self.assertEqual(len(host.jumps), 1 if jump else 0)

    def test_what_is_printed_is_clean(self):
        hostile = "<b>\x1b[31m|`x`\u202e</script>"
        whole = self.found("slow rank")
        for each in (whole["clocks"]["hosts"][0], whole["ranks"][0]):
            each["host"] = hostile
        whole["findings"][0]["text"] = hostile
        whole["communicators"][0]["communicator"] = hostile
        written = page.page(whole)
        for made in (text.plain(whole), text.markdown(whole), written):
            self.assertNotIn("\x1b", made)
            self.assertNotIn("\u202e", made)
        self.assertNotIn("<b>", written)
        self.assertNotIn("</script", written)
        self.assertNotRegex(text.markdown(whole), r"[^\\][<`]")
        self.assertIn("<svg", written)
        self.assertNotRegex(written, r"(src|href)=")

    def test_a_page_replaces_only_pages(self):
        whole = self.found("")
        with tempfile.TemporaryDirectory() as folder:
            path = pathlib.Path(folder) / "page.html"
            path.write_text("mine")
            with self.assertRaises(gpuprof_cuda.Error):
                page.write(whole, str(path))
            self.assertEqual(path.read_text(), "mine")
            path.write_text("")
            for _ in range(2):
                page.write(whole, str(path))
            self.assertEqual(path.read_text(), page.page(whole))
            self.assertEqual(len(list(path.parent.iterdir())), 1)


class Command(unittest.TestCase):
    def test_without_packages(self):
        """A Python without them gets a line that says how to get them."""
        ran = subprocess.run([GPUPROF, "cluster", "report", "nothing"], capture_output=True, text=True,
                             env={**os.environ, "PYTHONPATH": "", "PYTHONNOUSERSITE": "1"})  # fmt: skip
        if ran.returncode == 20:
            self.skipTest("this Python has them")
        self.assertEqual((ran.returncode, ran.stdout), (4, ""))
        self.assertRegex(ran.stderr, r"^gpuprof: gpuprof cluster needs the package \w+\n"
                         r"  pip install 'gpuprof-cuda\[cluster\]' brings it\n$")  # fmt: skip

    def test_wrong_words(self):
        for words in (
            [],
            ["build"],
            ["build", "x"],
            ["build", "x", "-o", "y", "--jobs", "0"],
            ["build", "x", "-o", "y", "--slurm", "--dask", "tcp://127.0.0.1:1"],
            ["view"],
            ["view", "x", "--port", "0"],
            ["merge"],
        ):
            ran = subprocess.run([GPUPROF, "cluster", *words], capture_output=True, text=True)
            self.assertEqual((ran.returncode, ran.stdout), (5, ""), words)
            self.assertTrue(ran.stderr.startswith("gpuprof: "), ran.stderr)

    def test_nothing_is_imported_from_here(self):
        with tempfile.TemporaryDirectory() as folder:
            for name in ("argparse", "json", "gpuprof_cuda", "duckdb"):
                (pathlib.Path(folder) / f"{name}.py").write_text("raise SystemExit(77)")
            ran = subprocess.run(
                [GPUPROF, "cluster", "--help"], cwd=folder, capture_output=True, text=True
            )
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
