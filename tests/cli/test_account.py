"""gpuprof account: for the run and for any window, the same as brute force finds in the tables."""
# ctest-labels: plain

import collections
import contextlib
import csv
import functools
import io
import json
import os
import pathlib
import random
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.join(os.environ.get("GPUPROF_BUILD", ""), "share", "gpuprof", "python"))

sys.path.insert(0, str(pathlib.Path(__file__).parents[1] / "support"))

import gpuprof_cuda  # noqa: E402
from packed import replay_packed  # noqa: E402
from test_report import data_of  # noqa: E402

from scripts import load_script  # noqa: E402

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
CAPTURES = "vector_add", "torch_step", "two_processes", "streams_graph"
WORK = """
SELECT deviceId, {}, start, "end", processId, correlationId, contextId, streamId, {}
FROM CUPTI_ACTIVITY_KIND_{} WHERE 0 < start AND start < "end"
"""
WAITED_FOR = "copyKind IN (1, 2) AND (srcKind = 1 OR dstKind = 1 OR NOT flags & 1 AND graphId = 0)"
KINDS = (
    (
        "(SELECT value LIKE '%nccl%' FROM StringTable AS s WHERE s._id_ = name)",
        "0",
        "CONCURRENT_KERNEL",
    ),
    ("2 + copyKind", WAITED_FOR, "MEMCPY"),
    ("1000", "0", "MEMSET"),
)
CLOSE, LATENCY = 50_000, 10_000  # ns


def account(*words):
    return subprocess.run([GPUPROF, "account", *map(str, words)], capture_output=True, text=True,
                          encoding="utf-8", timeout=120, check=False)  # fmt: skip


class Run:
    def __init__(self, path):
        database = sqlite3.connect(path)
        self.work = [row for kind in KINDS for row in database.execute(WORK.format(*kind))]
        asked_for = {row[5] for row in self.work} - {row[5] for row in self.work if row[8]}
        self.calls = [
            (begin, -end, domain == "DRIVER", name, process, correlation, correlation in asked_for)
            for domain in ("RUNTIME", "DRIVER")
            for begin, end, name, process, correlation in database.execute(
                f"""SELECT c.start, c."end", n.name, c.processId, c.correlationId
                    FROM CUPTI_ACTIVITY_KIND_{domain} AS c
                    JOIN API_NAME AS n ON n.domain = '{domain.lower()}' AND n.cbid = c.cbid
                    WHERE 0 < c.start AND c.start < c."end" """
            )
        ]
        self.launches = {}  # by correlation id
        self.calls_of = collections.defaultdict(list)  # by process
        self.known = {}  # results of host()
        for call in self.calls:
            self.calls_of[call[4]].append(call)
            if call[6]:
                self.launches.setdefault(call[5], call)
        self.waits = database.execute(
            "SELECT processId, contextId, streamId, correlationId FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION "
            "WHERE type = 2"
        ).fetchall()
        self.copies = dict(
            database.execute(
                "SELECT value, name FROM ENUM_NAME WHERE enum = 'CUpti_ActivityMemcpyKind'"
            )
        )
        (self.zero,) = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()
        self.zero = int(self.zero)
        self.view = database.execute(
            "SELECT device_id, class, cause, duration_ms, intervals FROM account"
        ).fetchall()
        database.close()
        times = [time for row in self.work for time in row[2:4]]
        times += [time for call in self.calls for time in (call[0], -call[1])]
        self.first, self.last = min(times), max(times)

    def idle(self, now, until, before, after):
        """What idle time from `now` on was that the work `after` ended; `before`: None if the window cuts it."""
        process = after[3]
        launch = self.launches.get(after[4])
        if launch and now >= -launch[1] + LATENCY:
            waited = before and before[3] == process and before[5:7] != after[5:7] and any(
                wait[:3] == (process, *after[5:7]) and before[4] <= wait[3] < after[4]
                for wait in self.waits
            )  # fmt: skip
            return "queued", "cudaStreamWaitEvent" if waited else None
        if launch and now >= launch[0]:
            return "launch", re.sub("_.*", "", launch[3])
        key = process, now, until  # windows share their edges
        if key not in self.known:
            self.known[key] = self.host(*key)
        return self.known[key]

    def host(self, process, now, until):
        """What the host did meanwhile."""
        mine = self.calls_of[process]
        first = min((call for call in mine if call[0] <= now < -call[1]), default=None)
        if first:
            return "launch" if first[6] else "call", re.sub("_.*", "", first[3])
        launched_until = max((-call[1] for call in mine if call[6] and call[0] <= now), default=0)
        next_launch = min((call[0] for call in mine if call[6] and call[0] >= until), default=1e30)
        close = launched_until and next_launch - launched_until <= CLOSE
        return "launch" if close else "no call", None

    def expected(self, device, begin, end):
        """{(class, cause): ns}"""
        found = collections.Counter()
        for now, until, key in self.segments(device, begin, end):
            found[key] += until - now
        return dict(found)

    def segments(self, device, begin, end):
        """(from, to, (class, cause))"""
        work = sorted(row[1:] for row in self.work if row[0] == device)
        times = {time for row in work for time in row[1:3]}
        times |= {time for call in self.calls for time in (call[0], -call[1])}
        times |= {-call[1] + LATENCY for call in self.launches.values()}
        times = sorted({begin, end, *(time for time in times if begin < time < end)})
        first, last = min(row[1] for row in work), max(row[2] for row in work)
        for now, until in zip(times, times[1:]):
            running = [row[0] for row in work if row[1] <= now < row[2]]
            if running:
                what = min(running)
                key = (
                    ("compute", None) if what == 0
                    else ("communication", None) if what == 1
                    else ("set", None) if what == 1000
                    else ("copy", self.copies[what - 2])
                )  # fmt: skip
            elif now < first or now >= last:
                key = "before" if now < first else "after", None
            else:
                # The next work's process is the one that the GPU waited for.
                after = min((row for row in work if row[1] > now), key=lambda row: (row[1], row[0]))
                over = max((row for row in work if row[2] <= now), key=lambda row: (row[2], row[1]))
                inside = begin < over[2] and after[1] <= end
                key = self.idle(now, until, over if inside else None, after)
            yield now, until, key


@functools.cache
def run_of(path):
    """Of a file that no test changes."""
    return Run(path)


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Account(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="account-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.profiles = {name: cls.folder / f"{name}.sqlite" for name in CAPTURES}
        for name, profile in cls.profiles.items():
            capture = SOURCE / f"tests/captures/{name}.gpcap"
            subprocess.run([GPUPROF, "replay", "-q", "-o", profile, capture], check=True)

    def rows(self, name, *options):
        ran = account(self.profiles[name], "--json", *options)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        (table,) = json.loads(ran.stdout)["tables"]
        return table["rows"]

    def check(self, run, rows, begin, end):
        devices = {row["device_id"] for row in rows}
        self.assertEqual(devices, {row[0] for row in run.work})
        for device in devices:
            mine = [row for row in rows if row["device_id"] == device]
            self.assertEqual(sum(row["duration_ns"] for row in mine), end - begin)
            self.assertAlmostEqual(sum(row["share"] for row in mine), 1, delta=1e-4)
            found = {(row["class"], row["cause"]): row["duration_ns"] for row in mine}
            self.assertEqual(found, run.expected(device, begin, end))
            self.assertTrue(all(row["intervals"] > 0 for row in mine))

    def test_of_the_run(self):
        for name, profile in self.profiles.items():
            with self.subTest(name):
                run, rows = run_of(profile), self.rows(name)
                self.check(run, rows, run.first, run.last)
                stored = {row[:3]: (round(row[3] * 1e6), row[4]) for row in run.view}
                self.assertEqual(
                    {(row["device_id"], row["class"], row["cause"]): (row["duration_ns"], row["intervals"])
                     for row in rows}, stored)  # fmt: skip

    def test_of_any_window(self):
        chance = random.Random(33)
        for name, profile in self.profiles.items():
            run = run_of(profile)
            edges = [time for row in run.work for time in row[2:4]]
            for number in range(12):
                if number % 3 == 0:  # from or to where something begins or ends
                    begin, end = sorted(chance.sample(edges, 2))
                else:
                    begin = chance.randrange(run.first, run.last)
                    end = begin + chance.randrange(1, (run.last - run.first) // 10 ** (number % 4))
                with self.subTest(name, begin=begin - run.zero, end=end - run.zero):
                    if begin < end:
                        window = "--from", f"{begin - run.zero}ns", "--to", f"{end - run.zero}ns"
                        self.check(run, self.rows(name, *window), begin, end)

    def test_many_windows_at_once(self):
        """Through Python: next to each other, apart, in gaps and in the middle of work."""
        chance = random.Random(35)
        for name, profile in self.profiles.items():
            run = run_of(profile)
            edges = [time for row in run.work for time in row[2:4]]
            times = set(chance.sample(edges, 6)) | {
                chance.randrange(run.first, run.last) for _ in range(6)
            }
            times = sorted(times - {run.first, run.last})
            windows = [(None, times[0]), *zip(times, times[1:]), (times[-1], None)]
            del windows[3]
            with gpuprof_cuda.open(profile) as opened, self.subTest(name):
                rows = list(opened.accounts(windows).dicts())
                self.assertEqual({row["window"] for row in rows}, set(range(len(windows))))
                for place, (begin, end) in enumerate(windows):
                    begin, end = begin or run.first, end or run.last
                    mine = [
                        {
                            **row,
                            "duration_ns": row["duration"],
                            "share": row["duration"] / (end - begin),
                        }
                        for row in rows
                        if row["window"] == place
                    ]
                    self.check(run, mine, begin, end)
                for wrong in ([(5, 5)], [(1, 5), (4, 6)], [(4, 6), (1, 3)], [(None, 5), (None, 6)]):
                    with self.assertRaises(gpuprof_cuda.QuestionError):
                        list(opened.accounts(wrong))
                self.assertEqual(list(opened.accounts([])), [])

    def test_all_captures(self):
        """As scripts/check_accounts does, which also takes large files."""
        checker = load_script(SOURCE / "scripts/check_accounts")
        paths = []
        for capture in sorted((SOURCE / "tests/captures").glob("*.gpcap")):
            paths.append(self.folder / f"checked_{capture.stem}.sqlite")
            subprocess.run([GPUPROF, "replay", "-q", "-o", paths[-1], capture], check=True)
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            checker.main(
                [
                    *map(str, paths),
                    "--windows",
                    "30",
                    "--seed",
                    "34",
                    "--build",
                    os.environ["GPUPROF_BUILD"],
                ]
            )
        lines = said.getvalue().splitlines()
        self.assertEqual([line.split(": ", 1)[0] for line in lines], [*map(str, paths)])
        # The process of one of them died before its kernel began.
        self.assertEqual(sum("30 windows, no difference" in line for line in lines), len(paths) - 1)
        # It would say so.
        path = self.folder / "checked_vector_add.sqlite"
        expected = checker.Expected(path)
        begin, end = expected.begin, expected.end
        with gpuprof_cuda.open(path) as run:
            rows = list(run.accounts([(begin, end)]).dicts())
        self.assertIsNone(expected.difference(rows, begin, end))
        work, idle = (next(row for row in rows if (row["class"] in ("compute", "copy")) == works)
                      for works in (True, False))  # fmt: skip
        idle["duration"] += 1
        self.assertIn("add up to", expected.difference(rows, begin, end))
        work["duration"] -= 1
        self.assertIn(" for {", expected.difference(rows, begin, end))

    def test_half_a_window(self):
        run = run_of(self.profiles["vector_add"])
        middle = (run.first + run.last) // 2
        at = f"{middle - run.zero}ns"
        self.check(run, self.rows("vector_add", "--from", at), middle, run.last)
        self.check(run, self.rows("vector_add", "--to", at), run.first, middle)

    def test_text_and_csv(self):
        profile = self.profiles["vector_add"]
        text = account(profile).stdout.splitlines()
        self.assertRegex(text[0], r"^NVIDIA H200 \(0\), [0-9.]+m?s from .* on:$")
        self.assertEqual(text[1].split()[:3], ["Share", "Time", "Intervals"])
        self.assertRegex(text[-1], r"100\.00% .* in all$")
        rows = list(csv.DictReader(account(profile, "--csv").stdout.splitlines()))
        self.assertEqual(
            [(row["class"], int(row["duration_ns"])) for row in rows],
            [(row["class"], row["duration_ns"]) for row in self.rows("vector_add")],
        )
        # Functions with little time are one line.
        shown = [row for row in rows if not row["cause"] or row["class"] not in ("call", "launch")
                 or float(row["share"]) >= 0.001]  # fmt: skip
        self.assertLess(len(shown), len(rows))
        self.assertEqual(len(text), len(shown) + 4)
        self.assertIn(f"the host in {len(rows) - len(shown)} other functions", text[-2])

    def sampled(self, name):
        """The profile torch_step with an empty HOST_SAMPLE and stacks 7 to 10, and its process."""
        profile = self.folder / name
        shutil.copy(self.profiles["torch_step"], profile)
        database = sqlite3.connect(profile)
        (process,) = database.execute("SELECT process_id FROM processes").fetchone()
        database.execute(
            "CREATE TABLE HOST_SAMPLE (time, stop, samples, ofProcess, threadId, state, stack, holder, processId)"
        )
        files = "/src/a.py", "/src/b.py", "/usr/lib/python3.12/queue.py", "/src/'; DROP\x1b.py"
        for number, file in enumerate(files):
            database.execute(
                "INSERT INTO STACK_FRAME (frame, module, function, line, processId) VALUES (?, ?, ?, ?, ?)",
                (7 + number, file, "f", 10 + number, process),
            )
            database.execute(
                "INSERT INTO STACK_ENTRY (stack, position, frame, processId) VALUES (?, 0, ?, ?)",
                (7 + number, 7 + number, process),
            )
        return profile, database, process

    def launches(self, database):
        """Begin and thread of each, in time order."""
        return database.execute(
            "SELECT start, threadId FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId IN"
            " (SELECT correlationId FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL) ORDER BY 1"
        ).fetchall()

    def check_moments(self, profile, moments):
        """Causes of the time in no call are those of the moments in it, by number."""
        run = Run(profile)
        ran = account(profile, "--json")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        (table,) = json.loads(ran.stdout)["tables"]
        found = {
            row["cause"]: row["duration_ns"] for row in table["rows"] if row["class"] == "no call"
        }
        [device] = {row["device_id"] for row in table["rows"]}
        away = [segment[:2] for segment in run.segments(device, run.first, run.last)
                if segment[2] == ("no call", None)]  # fmt: skip
        whole = sum(until - now for now, until in away)
        self.assertEqual(sum(found.values()), whole)
        counts, place = collections.Counter(), 0
        for at, words in moments:
            while place < len(away) and away[place][1] <= at:
                place += 1
            counts[words] += place < len(away) and away[place][0] <= at
        counts = +counts
        self.assertGreater(sum(counts.values()), 50)
        for words, count in counts.items():
            self.assertAlmostEqual(found.pop(words), whole * count / sum(counts.values()), delta=1)
        self.assertEqual(found, {})
        return counts

    def test_lines_of_the_host(self):
        """Random samples of three threads, in two processes; the second that launches was not seen."""
        profile, database, process = self.sampled("sampled.sqlite")
        run, chance = Run(profile), random.Random(37)
        threads = [thread for _, thread in self.launches(database)]
        main = max(threads, key=threads.count)
        at, moments = run.first, []
        while at < run.last:
            stop = at + chance.randrange(100_000, 300_000)
            state, stack = chance.randrange(5), chance.randrange(7, 11)
            database.execute(
                "INSERT INTO HOST_SAMPLE VALUES (?, ?, 1, ?, ?, ?, ?, ?, ?)",
                (at, stop, process, main, state, stack, main + 1, process),
            )
            place = ("a.py:10 f", "b.py:11 f", "queue.py:12 f", "'; DROP\\x1b.py:13 f")[stack - 7]
            words = (place, f"waiting for a processor in {place}",
                     "waiting for the interpreter's lock, held by a.py:10 f", f"sleeping in {place}",
                     f"waiting in {place}")[state]  # fmt: skip
            if state == 4 and stack == 9:
                words = "b.py:11 f in a child process"
            moments.append((at, words))
            at = stop
        for thread, of, state, stack in ((main + 1, process, 4, 7), (5, 77, 0, 8)):
            database.execute("INSERT INTO HOST_SAMPLE VALUES (?, ?, 1, ?, ?, ?, ?, 0, ?)",
                             (run.first, run.last + 1, of, thread, state, stack, process))  # fmt: skip
        for wrong in ((0, 5, 1), (9, 2, 1), (run.first, 2**62, 2**31), ("x", b"y", None)):
            database.execute("INSERT INTO HOST_SAMPLE VALUES (?, ?, ?, 5, 6, 9, -1, 0, ?)",
                             (*wrong, process))  # fmt: skip
        database.commit()
        database.close()
        self.check_moments(profile, moments)

    def test_the_thread_that_launches_next_counts(self):
        """That of autograd has no Python: a line waits for it. After the last launch: who launched most."""
        profile, database, process = self.sampled("turns.sqlite")
        run, launches = Run(profile), self.launches(database)
        threads = [thread for _, thread in launches]
        main, autograd = sorted(set(threads), key=threads.count, reverse=True)
        waits = "a.py:10 f, in a thread without Python"
        moments = []
        for at in range(run.first, run.last, 100_000):
            turn = next((thread for begin, thread in launches if begin >= at), main)
            state = 4 if turn == autograd else 0
            for thread, its_state, stack in ((main, state, 7), (autograd, 4 - state, 0)):
                database.execute("INSERT INTO HOST_SAMPLE VALUES (?, ?, 1, ?, ?, ?, ?, 0, ?)",
                                 (at, at + 100_000, process, thread, its_state, stack, process))  # fmt: skip
            moments.append((at, waits if turn == autograd else "a.py:10 f"))
        database.commit()
        database.close()
        self.assertEqual(set(self.check_moments(profile, moments)), {waits, "a.py:10 f"})

    def test_communication_is_what_nccl_reported(self):
        """Of two GPUs: not what is called so. Names count in files without such reports."""
        profile, page = self.folder / "reported.sqlite", self.folder / "reported.html"
        replay_packed(GPUPROF, "ranks/nccl", "nccl", profile)

        def change(*statements):
            with contextlib.closing(sqlite3.connect(profile)) as database, database:
                for statement in statements:
                    database.execute(statement)
            subprocess.run([GPUPROF, "finish", "-q", profile], check=True)

        def found():
            """What communicated, in ns by GPU, in the account, and the colors of kernels. In the statistics
            of a window names decide, which is the same where a name has only kernels of one kind."""
            subprocess.run([GPUPROF, "report", profile, "--html", page, "-f", "-q"], check=True)
            data = data_of(page.read_text(encoding="utf-8"))
            exposed = [device["exposed"] for device in data["statistics"]["devices"]]
            times = [
                sum(row["duration"] for row in gpu["rows"] if row["class"] == "communication")
                for gpu in data["account"]["gpus"]
            ]
            # Some of it GPU 0 also copied.
            return times, exposed, {name: color for _, name, color in data["names"].values()}

        before, exposed, _ = found()
        self.assertGreater(min(before), 0)
        self.assertEqual([a - b for a, b in zip(before, exposed)], [9568, 0])
        one = "SELECT min(_id_) FROM StringTable WHERE short = 'splitKreduce_kernel'"
        for where, name in (("short GLOB 'nccl*'", "k"), (f"_id_ = ({one})", "ncclLooksLike")):
            change(f"UPDATE StringTable SET value = '{name}', demangled = '{name}', short = '{name}',"
                   f" display = NULL WHERE {where}")  # fmt: skip
        *after, colors = found()
        self.assertEqual(after, [before, exposed])
        self.assertEqual(colors["k"], "communication")
        self.assertRegex(colors["ncclLooksLike"], "^kernel-")
        # An operation whose kernel is not known: in its process names count as well.
        change("UPDATE NCCL_OPERATION SET correlationId = NULL WHERE _id_ = (SELECT min(_id_)"
               " FROM NCCL_OPERATION WHERE graphNode IS NULL)")  # fmt: skip
        partly, _, colors = found()
        self.assertEqual([a == b for a, b in zip(partly, before)], [True, False])
        self.assertEqual(colors["ncclLooksLike"], "communication")
        change("DROP VIEW collectives", "DROP TABLE NCCL_OPERATION", "DROP TABLE NCCL_NODE",
               "DROP TABLE NCCL_KERNEL")  # fmt: skip
        named, exposed, colors = found()
        self.assertEqual(named, exposed)
        self.assertLess(max(named), min(before))
        self.assertGreater(min(named), 0)
        self.assertRegex(colors["k"], "^kernel-")
        self.assertEqual(colors["ncclLooksLike"], "communication")

    def test_files_of_nvprof(self):
        """They have no short names, no processes and no names of functions."""
        profile, old = self.profiles["torch_step"], self.folder / "nvprof.sqlite"
        subprocess.run(
            [GPUPROF, "export", "-q", "--for", "nvprof", "-f", "-o", old, profile], check=True
        )
        ran = account(old, "--json")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        (table,) = json.loads(ran.stdout)["tables"]
        durations = collections.Counter()
        for row in table["rows"]:
            durations[row["class"]] += row["duration_ns"]
        expected = collections.Counter()
        for row in self.rows("torch_step"):
            expected[row["class"]] += row["duration_ns"]
        self.assertEqual(durations, expected)

    def test_a_run_without_work(self):
        empty = self.folder / "empty.sqlite"
        subprocess.run([GPUPROF, "-q", "-o", empty, "true"], check=True)
        ran = account(empty)
        self.assertEqual(ran.returncode, 0)
        self.assertIn("nothing to account for", ran.stdout)
        self.assertEqual(account(empty, "--csv").stdout.count("\n"), 1)

    def test_wrong_words(self):
        profile = self.profiles["vector_add"]
        for words in (["--csv", "--json"], ["--from", "x"], ["--nvtx", "nothing has this name"]):
            ran = account(profile, *words)
            self.assertNotEqual(ran.returncode, 0, words)
            self.assertEqual(ran.stdout, "")
            self.assertIn("gpuprof: ", ran.stderr)


if __name__ == "__main__":
    unittest.main()
