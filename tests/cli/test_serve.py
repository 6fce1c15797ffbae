"""gpuprof serve: its numbers and profiles are those of SQL over the same window, for those who may
ask."""

import collections
import json
import os
import pathlib
import re
import socket
import sqlite3
import subprocess
import tempfile
import unittest
import urllib.error
import urllib.request

from builds import asan, load_tests  # noqa: F401
from fake_run import FakeTest
from otlp_profiles import Profiles

GPUPROF = os.environ.get("GPUPROF", "")
CAPTURES = pathlib.Path(__file__).parents[1] / "captures"
SERIES = re.compile(r"(\w+?)(?:\{(.*)\})? (\S+)")
LABEL = re.compile(r'(\w+)="((?:[^"\\]|\\.)*)"')
SHORT = "(SELECT coalesce(short, demangled, value) FROM StringTable AS s WHERE s._id_ = name)"


class Served:
    """A server of ours on a free port, as long as the block lasts."""

    def __init__(self, *words):
        self.process = subprocess.Popen(
            [GPUPROF, "serve", *map(str, words), "--listen", "127.0.0.1:0"],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )  # fmt: skip
        self.address = self.process.stdout.readline().strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        self.process.communicate(timeout=60)

    def get(self, path=None, **headers):
        request = urllib.request.Request(path or self.address, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.headers["Content-Type"].startswith("text/plain; version=0.0.4")
            return answer.read().decode()

    @property
    def profiles_address(self):
        return self.address.removesuffix("metrics") + "v1development/profiles"

    def profiles(self, **headers):
        request = urllib.request.Request(self.profiles_address, headers=headers)
        with urllib.request.urlopen(request, timeout=60) as answer:
            assert answer.headers["Content-Type"] == "application/x-protobuf"
            message = answer.read()
        assert len(message) <= 4 << 20
        return Profiles(message)

    def refused(self, path=None, method="GET", **headers):
        request = urllib.request.Request(path or self.address, headers=headers, method=method)
        try:
            urllib.request.urlopen(request, timeout=60).close()
        except urllib.error.HTTPError as error:
            error.close()
            return error.code
        return 200

    def numbers(self, **headers):
        """By name, the values by labels."""
        found = {}
        text = self.get(**headers)
        for line in text.splitlines():
            if line.startswith("#"):
                assert re.fullmatch(r"# (HELP \w+ .+|TYPE \w+ (gauge|counter|summary))", line), line
                continue
            name, labels, value = SERIES.fullmatch(line).groups()
            key = tuple(value for _, value in LABEL.findall(labels or ""))
            assert key not in found.setdefault(name, {}), line
            found[name][key] = float(value) if "." in value or "e" in value else int(value)
        assert sum(map(len, found.values())) <= 500
        return found


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Numbers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.file = cls.folder / "run.sqlite"
        subprocess.run([GPUPROF, "replay", CAPTURES / "torch_step.gpcap", "-q", "-o", cls.file],
                       check=True, timeout=120)  # fmt: skip
        cls.database = sqlite3.connect(f"file:{cls.file}?mode=ro", uri=True)
        cls.addClassCleanup(cls.database.close)

    def sql(self, text, window):
        return self.database.execute(text, window).fetchall()

    def assert_true(self, found):
        begin, end = window = [found[f"gpuprof_window_{name}_ns"][()] for name in ("start", "end")]
        self.assertAlmostEqual(found["gpuprof_window_seconds"][()], (end - begin) / 1e9, places=9)
        within = 'WHERE start >= ? AND start < ? AND "end" > 0'
        kernels = self.sql(f"""
            SELECT deviceId, {SHORT}, count(*), sum("end" - start) / 1e9
            FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL {within} GROUP BY 1, 2""", window)  # fmt: skip
        self.assertEqual(
            found.get("gpuprof_kernels", {}),
            {(str(d), name): count for d, name, count, _ in kernels},
        )
        for device, name, _, seconds in kernels:
            self.assertAlmostEqual(
                found["gpuprof_kernel_seconds"][str(device), name], seconds, places=9
            )
        copies = self.sql(f"""
            SELECT deviceId, e.name, sum(bytes) FROM CUPTI_ACTIVITY_KIND_MEMCPY AS m
            JOIN ENUM_NAME AS e ON e.enum = 'CUpti_ActivityMemcpyKind' AND e.value = m.copyKind
            {within} GROUP BY 1, 2""", window)  # fmt: skip
        self.assertEqual(
            found.get("gpuprof_copy_bytes", {}), {(str(d), kind): size for d, kind, size in copies}
        )
        steps = self.sql("""
            SELECT count(*), sum("end" - start) / 1e9, max("end" - start) / 1e9 FROM steps
            WHERE start >= ? AND start < ? AND "end" > 0 AND range_id IS NOT NULL""", window)  # fmt: skip
        count, seconds, longest = steps[0]
        self.assertEqual(sum(found.get("gpuprof_step_seconds_count", {}).values()), count)
        if count:
            self.assertAlmostEqual(
                sum(found["gpuprof_step_seconds_sum"].values()), seconds, places=9
            )
            quantiles = found["gpuprof_step_seconds"]
            self.assertAlmostEqual(max(quantiles.values()), longest, places=9)
        zero = self.database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()[0]
        printed = subprocess.run(
            [GPUPROF, "account", self.file, "--json", "--from", f"{begin - zero}ns", "--to", f"{end - zero}ns"],
            capture_output=True, text=True, timeout=60, check=True,
        )  # fmt: skip
        (table,) = json.loads(printed.stdout)["tables"]
        classes = {}
        for row in table["rows"]:
            key = (str(row["device_id"]), row["class"])
            classes[key] = classes.get(key, 0) + row["duration_ns"]
        account = found["gpuprof_account_seconds"]
        self.assertEqual({key: round(value * 1e9) for key, value in account.items()}, classes)
        return count, len(kernels)

    def test_of_windows(self):
        with Served(self.file, "--last", "60min") as whole:
            steps, kernels = self.assert_true(whole.numbers())
            self.assertGreater(steps, 1)
            self.assertGreater(kernels, 5)
        for last in ("100ms", "20ms"):
            with self.subTest(last=last), Served(self.file, "--last", last) as part:
                self.assert_true(part.numbers())

    def test_of_the_recording(self):
        with Served(self.file) as served:
            found = served.numbers()
        came = self.database.execute(
            "SELECT kind, sum(value) FROM STATISTIC WHERE name = 'records_received' GROUP BY 1"
        ).fetchall()
        self.assertEqual(
            found["gpuprof_records_total"],
            {(kind.removeprefix("CUPTI_ACTIVITY_KIND_"),): count for kind, count in came},
        )
        losses = self.database.execute("SELECT name, sum(value) FROM losses GROUP BY 1").fetchall()
        self.assertEqual(
            found.get("gpuprof_losses_total", {}), {(name,): value for name, value in losses}
        )

    @asan
    def test_who_may_ask(self):
        with Served(self.file) as served:
            base = served.address.removesuffix("metrics")
            for page in (served.address, served.profiles_address):
                with self.subTest(page=page):
                    self.assertEqual(served.refused(page), 200)
                    self.assertEqual(served.refused(page, Host="localhost:1"), 200)
                    self.assertEqual(served.refused(page, Host="example.com"), 403)
                    self.assertEqual(served.refused(page + "/"), 404)
                    for method in ("POST", "HEAD"):
                        self.assertEqual(served.refused(page, method), 405)
            self.assertEqual(served.refused(base), 404)
            self.assertEqual(served.refused(base + "api/begin"), 404)
            self.assertEqual(served.refused(base + "v1/profiles"), 404)
            host, port = base.split("/")[2].split(":")
            for head in (
                b"GET  HTTP/1.1\r\nHost: localhost\r\n\r\n",
                b"GET * HTTP/1.1\r\nHost: localhost\r\n\r\n",
            ):
                with socket.create_connection((host, int(port)), timeout=60) as strange:
                    strange.sendall(head)
                    self.assertRegex(strange.recv(100), rb"HTTP/1.1 40\d")

    def test_with_a_token(self):
        token = self.folder / "token"
        token.write_text("0123456789abcdef\n")
        token.chmod(0o600)
        with Served(self.file, "--token-file", token) as served:
            for page in (served.address, served.profiles_address):
                with self.subTest(page=page):
                    self.assertEqual(served.refused(page), 401)
                    wrong = "Bearer 0123456789abcdee"
                    self.assertEqual(served.refused(page, Authorization=wrong), 401)
                    self.assertEqual(served.refused(page, Authorization="0123456789abcdef"), 401)
                    right = {"Authorization": "Bearer 0123456789abcdef"}
                    self.assertEqual(served.refused(page, Host="example.com", **right), 200)

    def test_refusals(self):
        short, readable = self.folder / "short", self.folder / "readable"
        short.write_text("0123456789abcde")
        short.chmod(0o600)
        readable.write_text("0123456789abcdef")
        readable.chmod(0o644)
        for words, why in (
            ((self.file, "--listen", "0.0.0.0:0"), "need a token"),
            ((self.file, "--listen", "here"), "127.0.0.1:9400"),
            ((self.file, "--token-file", short), "no token of 16"),
            ((self.file, "--token-file", readable), "chmod 600"),
            ((self.file, "--token-file", self.folder / "none"), "cannot be read"),
            ((self.folder / "none.sqlite",), "none.sqlite"),
            ((os.getpid(),), "no gpuprof of yours records process"),
        ):
            with self.subTest(words=words):
                ran = subprocess.run([GPUPROF, "serve", *map(str, words)], capture_output=True,
                                     text=True, timeout=60, check=False)  # fmt: skip
                self.assertNotEqual(ran.returncode, 0)
                self.assertIn(why, ran.stderr)


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class OfStacks(unittest.TestCase):
    """OpenTelemetry's profiles."""

    # Name, file, and the call's place in the code, which frames of Python do not have.
    FRAMES = [
        ("main", "/home/me/train.py", None),
        ("step", "/home/me/train.py", None),
        ("_ZN2at6native3mulEv", "/usr/lib/libtorch.so", 64),
        (None, "/usr/lib/libtorch.so", 128),
        (None, None, 256),
    ]
    NAMES = ["main", "step", "at::native::mul()", "libtorch.so", "unknown code"]
    STACKS = [[1, 0], [2, 1, 0], [3, 2, 0], [4]]  # the innermost first

    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.file = pathlib.Path(folder.name) / "run.sqlite"
        self.run_gpuprof("replay", CAPTURES / "torch_step.gpcap", "-q", "-o", self.file)
        self.database = sqlite3.connect(self.file)
        self.addCleanup(self.database.close)

    def run_gpuprof(self, *words):
        subprocess.run([GPUPROF, *map(str, words)], check=True, timeout=120)

    def give_stacks(self):
        """By correlation id the frames' names, outermost first; every third call has none."""
        calls = self.database.execute(
            "SELECT DISTINCT correlationId, processId FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY 1"
        ).fetchall()
        ((process,),) = {call[1:] for call in calls}
        insert = self.database.executemany
        insert("INSERT INTO STACK_FRAME(processId, frame, function, module, offset) VALUES(?, ?, ?, ?, ?)",
               [(process, i, *frame) for i, frame in enumerate(self.FRAMES)])  # fmt: skip
        insert("INSERT INTO STACK_ENTRY(processId, stack, position, frame) VALUES(?, ?, ?, ?)",
               [(process, i, p, f) for i, stack in enumerate(self.STACKS) for p, f in enumerate(stack)])  # fmt: skip
        chosen = {c: i % len(self.STACKS) for i, (c, _) in enumerate(calls) if i % 3}
        insert("INSERT INTO CALL_STACK(correlationId, processId, stack) VALUES(?, ?, ?)",
               [(c, process, stack) for c, stack in chosen.items()])  # fmt: skip
        self.database.commit()
        names = [[self.NAMES[f] for f in reversed(stack)] for stack in self.STACKS]
        return {c: names[stack] for c, stack in chosen.items()}

    def truth(self, stacks, begin, end):
        """Time and number of work that begins in the window, by device, process and stack."""
        found = collections.defaultdict(lambda: [0, 0])
        for device, process, name, path, correlation, duration in self.database.execute(
            'SELECT device_id, process_id, name, range_path, correlation_id, "end" - start'
            " FROM gpu_activities WHERE start >= ? AND start < ?", (begin, end)):  # fmt: skip
            above = stacks.get(correlation) or (path.split(" / ") if path else [])
            sums = found[(f"GPU {device}", process, *above, name)]
            sums[0] += duration
            sums[1] += 1
        return {key: tuple(sums) for key, sums in found.items()}

    def sums(self, profiles):
        found = collections.defaultdict(lambda: [0, 0])
        for sample in profiles.samples:
            place = [sample.attributes[key] for key in ("cuda.device", "process.pid")]
            sums = found[(*place, *sample.frames)]
            sums[0] += sample.time
            sums[1] += sample.count
        return {key: tuple(sums) for key, sums in found.items()}

    def window(self, profiles):
        return [profiles.attributes[f"gpuprof.window.{name}_ns"] for name in ("start", "end")]

    def assert_true(self, served, stacks):
        profiles = served.profiles()
        metrics = served.numbers()
        window = self.window(profiles)
        self.assertEqual(
            window, [metrics[f"gpuprof_window_{name}_ns"][()] for name in ("start", "end")]
        )
        self.assertEqual(profiles.duration, window[1] - window[0])
        ((realtime, cupti),) = self.database.execute(
            "SELECT realtime, cupti FROM CLOCK ORDER BY abs(cupti - ?) LIMIT 1", window[:1]
        )
        self.assertEqual(profiles.begin - realtime, window[0] - cupti)
        found = self.sums(profiles)
        self.assertEqual(found, self.truth(stacks, *window))
        self.assertNotIn("gpuprof.stacks.left_out", profiles.attributes)
        return profiles

    def test_of_windows(self):
        stacks = self.give_stacks()
        for last in ("60min", "100ms", "20ms"):
            with self.subTest(last=last), Served(self.file, "--last", last) as served:
                profiles = self.assert_true(served, stacks)
                kinds = {
                    (name, kind)
                    for sample in profiles.samples
                    for name, kind in zip(sample.frames, sample.kinds)
                    if name in self.NAMES
                }
        self.assertLessEqual(
            kinds, {(n, "cpython" if i < 2 else "native") for i, n in enumerate(self.NAMES)}
        )

    def test_kinds_of_frames(self):
        self.give_stacks()
        with Served(self.file, "--last", "60min") as served:
            kinds = {tuple(zip(s.frames, s.kinds))[:-1] for s in served.profiles().samples}
        kind = dict(zip(self.NAMES, ["cpython"] * 2 + ["native"] * 3))
        for stack in self.STACKS:
            names = [self.NAMES[frame] for frame in reversed(stack)]
            self.assertIn(tuple((name, kind[name]) for name in names), kinds)

    def test_without_stacks(self):
        with Served(self.file, "--last", "60min") as served:
            profiles = self.assert_true(served, {})
        self.assertTrue(any(len(sample.frames) > 2 for sample in profiles.samples))
        self.assertEqual({k for s in profiles.samples for k in s.kinds[:-1]}, {None})

    def test_an_export_of_the_same_window(self):
        """The same message but for the limits."""
        self.give_stacks()
        with Served(self.file, "--last", "100ms") as served:
            profiles = served.profiles()
        ((zero,),) = self.database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'")
        begin, end = (f"{time - int(zero)}ns" for time in self.window(profiles))
        exported = self.file.with_suffix(".otlp")
        self.run_gpuprof("export", self.file, "-q", "--from", begin, "--to", end, "-o", exported)
        other = Profiles(exported.read_bytes())
        self.assertEqual((other.begin, other.duration, other.attributes),
                         (profiles.begin, profiles.duration, profiles.attributes))  # fmt: skip
        self.assertEqual(self.sums(other), self.sums(profiles))

    def assert_bounded(self, names, kept):
        """With a kernel of each name, each longer than the one before."""
        self.database.execute("DELETE FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL WHERE _id_ > 1")
        columns = [row[1] for row in self.database.execute(
            "PRAGMA table_info(CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)")]  # fmt: skip
        (row,) = self.database.execute(
            f"SELECT {', '.join(columns)} FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"
        )
        row = dict(zip(columns, row))
        ((string,),) = self.database.execute("SELECT max(_id_) + 1 FROM StringTable")
        self.database.executemany(
            "INSERT INTO StringTable(_id_, value) VALUES(?, ?)",
            [(string + i, name) for i, name in enumerate(names)],
        )
        rows = [
            row | {"_id_": 2 + i, "name": string + i, "correlationId": 0, "end": row["start"] + 1000 + i}
            for i in range(len(names))
        ]  # fmt: skip
        self.database.executemany(
            f"INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL({', '.join(map(json.dumps, columns))})"
            f" VALUES({', '.join('?' * len(columns))})",
            [tuple(each.values()) for each in rows],
        )
        self.database.commit()
        with Served(self.file, "--last", "60min") as served:
            profiles = served.profiles()
        total = self.database.execute(
            'SELECT sum("end" - start), count(*) FROM gpu_activities WHERE start > 0').fetchone()  # fmt: skip
        self.assertEqual(
            tuple(sum(getattr(s, value) for s in profiles.samples) for value in ("time", "count")),
            total,
        )
        others = [s for s in profiles.samples if s.frames == ["(others)"]]
        self.assertEqual(
            [(s.attributes, s.kinds) for s in others], [({"cuda.device": "GPU 0"}, [None])]
        )
        samples = len(profiles.samples) - 1
        self.assertIn(samples, kept)
        ((stacks,),) = self.database.execute(
            "SELECT count(*) FROM (SELECT DISTINCT stream_id, name, range_path FROM gpu_activities"
            " WHERE start > 0)")  # fmt: skip
        self.assertEqual(profiles.attributes["gpuprof.stacks.left_out"], stacks - samples)
        shortest = min(s.time for s in profiles.samples if s is not others[0])
        return shortest

    def test_at_most_ten_thousand_stacks(self):
        shortest = self.assert_bounded([f"kernel_{i}" for i in range(12_000)], {10_000})
        self.assertGreater(shortest, 2000)  # the longest are in it

    def test_at_most_four_mebibytes(self):
        self.assert_bounded([f"{i}".rjust(100_000, "x") for i in range(60)], range(30, 50))


class OfARecording(FakeTest):
    def test_it_grows(self):
        target = self.start_ready(self.command(["obeys"]), TMPDIR=self.folder)
        self.wait_for(self.output.exists)
        self.tell(target, "launch 7")
        for _ in range(3):
            self.tell(target, "range step_1 5")
        counts = lambda found: found.get("gpuprof_kernels", {}).get(("0", "counted"), 0)  # noqa: E731
        with Served(self.output) as served:
            self.wait_for(lambda: counts(served.numbers()) == 7)
            self.tell(target, "launch 20")
            self.wait_for(lambda: counts(served.numbers()) == 27)
            self.assertEqual(served.numbers()["gpuprof_step_seconds_count"], {("step",): 3})
            counted = lambda: sum(  # noqa: E731
                s.count for s in served.profiles().samples if s.frames[-1] == "counted")  # fmt: skip
            self.wait_for(lambda: counted() == 27)
            self.tell(target, "launch 30")
            self.wait_for(lambda: counted() == 57)
            self.wait_for(lambda: counts(served.numbers()) == 57)
            self.tell(target, "exit")
            target.communicate(timeout=60)
            self.assertEqual(target.returncode, 7)
            self.wait_for(lambda: served.numbers()["gpuprof_records_total"])
        self.assertEqual(self.database().one("SELECT value FROM RUN WHERE key = 'finished'"), 1)


if __name__ == "__main__":
    unittest.main()
