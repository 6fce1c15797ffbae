"""gpuprof serve: its numbers are those of SQL over the same window, for those who may ask."""

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

    def refused(self, path=None, **headers):
        try:
            self.get(path, **headers)
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
            self.assertEqual(served.refused(), 200)
            self.assertEqual(served.refused(Host="localhost:1"), 200)
            self.assertEqual(served.refused(Host="example.com"), 403)
            self.assertEqual(served.refused(base), 404)
            self.assertEqual(served.refused(base + "api/begin"), 404)
            request = urllib.request.Request(served.address, method="POST", data=b"x")
            with self.assertRaises(urllib.error.HTTPError) as caught:
                urllib.request.urlopen(request, timeout=60)
            self.assertEqual(caught.exception.code, 405)
            caught.exception.close()
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
            self.assertEqual(served.refused(), 401)
            self.assertEqual(served.refused(Authorization="Bearer 0123456789abcdee"), 401)
            self.assertEqual(served.refused(Authorization="0123456789abcdef"), 401)
            right = {"Authorization": "Bearer 0123456789abcdef"}
            self.assertEqual(served.refused(Host="example.com", **right), 200)

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
            self.tell(target, "exit")
            target.communicate(timeout=60)
            self.assertEqual(target.returncode, 7)
            self.wait_for(lambda: served.numbers()["gpuprof_records_total"])
        self.assertEqual(self.database().one("SELECT value FROM RUN WHERE key = 'finished'"), 1)


if __name__ == "__main__":
    unittest.main()
