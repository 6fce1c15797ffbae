"""gpuprof lines: the time of each line of Python, compared with SQL; and forged stacks."""

import collections
import gzip
import itertools
import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

from builds import asan, load_tests  # noqa: F401

GPUPROF = os.environ.get("GPUPROF", "")
CAPTURES = pathlib.Path(__file__).resolve().parents[1] / "captures"
PACKAGE = "/usr/lib/python3.12/site-packages/torch/nn.py"
FRAMES = [
    ("/home/me/train.py", "main", 7),
    ("/home/me/train.py", "step", 12),
    (PACKAGE, "Linear.forward", 40),
    ("/usr/lib/python3.12/threading.py", "Thread.run", 5),
    ("<frozen importlib._bootstrap>", "_load", 2),
    ("<stdin>", "<module>", 1),
    ("/tmp/torchinductor_me/ab/cab.py", "call", 99),
    ("/home/me/lib/python3.12.py", "mine", 3),
]
# Innermost first; the second member is the user's line.
STACKS = [
    ([2, 1, 0], 1),
    ([1, 0], 1),
    ([2, 3, 4], 2),
    ([6, 2, 0, 5], 0),
    ([2, 4, 5], 5),
    ([7, 0], 7),
    ([4, 3, 2], 4),
]


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Lines(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-lines-")
        self.addCleanup(folder.cleanup)
        self.path = pathlib.Path(folder.name) / "run.sqlite"
        subprocess.run([GPUPROF, "replay", "-q", "-o", self.path, CAPTURES / "torch_step.gpcap"],
                       check=True, timeout=120)  # fmt: skip

    def sql(self, statement, *values):
        with sqlite3.connect(self.path) as database:
            rows = database.execute(statement, values).fetchall()
        database.close()
        return rows

    def give_stacks(self):
        """Every third call has none. By correlation id the number of the stack."""
        [[process]] = self.sql("SELECT max(processId) FROM CUPTI_ACTIVITY_KIND_RUNTIME")
        ids = self.sql("SELECT DISTINCT correlationId FROM CUPTI_ACTIVITY_KIND_RUNTIME ORDER BY 1")
        chosen = {c: i % len(STACKS) for i, (c,) in enumerate(ids) if i % 3}
        with sqlite3.connect(self.path) as database:
            database.executemany(
                "INSERT INTO CALL_STACK(correlationId, stack, processId) VALUES(?, ?, ?)",
                [(c, 100 + s, process) for c, s in chosen.items()],
            )
            database.executemany(
                "INSERT INTO STACK_ENTRY(stack, position, frame, processId) VALUES(?, ?, ?, ?)",
                [(100 + s, p, f, process) for s, (stack, _) in enumerate(STACKS)
                 for p, f in enumerate(stack)],
            )  # fmt: skip
            database.executemany(
                "INSERT INTO STACK_FRAME(frame, module, function, line, processId) VALUES(?, ?, ?, ?, ?)",
                [(f, file, name, line, process) for f, (file, name, line) in enumerate(FRAMES)],
            )
        database.close()
        return chosen

    def lines(self, *words, check=True):
        return subprocess.run([GPUPROF, "lines", self.path, *words], capture_output=True, text=True,
                              check=check, timeout=120)  # fmt: skip

    def expected(self, chosen, frame_of):
        sums = collections.defaultdict(lambda: [0] * 6)

        def of(correlation):
            stack = chosen.get(correlation)
            return (None, None, None) if stack is None else FRAMES[frame_of(*STACKS[stack])]

        for view, count in (("kernels", 1), ("memcpys", 2), ("memsets", 2)):
            for correlation, time in self.sql(f"SELECT correlation_id, duration FROM {view}"):
                sums[of(correlation)][0] += time
                sums[of(correlation)][count] += 1
        for correlation, time in self.sql("SELECT correlation_id, duration FROM gpu_gaps"):
            sums[of(correlation)][3] += time
        for correlation, time in self.sql(
            "SELECT correlation_id, duration FROM api_calls AS a WHERE domain = 'runtime' OR NOT EXISTS"
            " (SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE correlationId = a.correlation_id)"
        ):
            sums[of(correlation)][4] += time
            sums[of(correlation)][5] += 1
        return {line: values for line, values in sums.items() if any(values)}

    def test_sums_are_those_of_sql(self):
        chosen = self.give_stacks()
        for words, frame_of in (
            ([], lambda stack, users: users),
            (["--all"], lambda stack, users: stack[0]),
        ):
            [table] = json.loads(self.lines(*words, "--json").stdout)["tables"]
            rows = table["rows"]
            found = {
                (row["file"], row["function"], row["line"]): [
                    row[key]
                    for key in ("gpu_ns", "kernels", "copies", "idle_ns", "call_ns", "calls")
                ]
                for row in rows
            }
            self.assertEqual(found, self.expected(chosen, frame_of))
            self.assertEqual([row["gpu_ns"] for row in rows],
                             sorted((row["gpu_ns"] for row in rows), reverse=True))  # fmt: skip

    def test_graphs_of_a_real_gpu_have_the_lines_that_were_captured(self):
        path = self.path.with_name("graph.sqlite")
        subprocess.run([GPUPROF, "replay", "-q", "-o", path, CAPTURES / "graph_lines.gpcap"],
                       check=True, timeout=120)  # fmt: skip
        ran = subprocess.run([GPUPROF, "lines", path, "--json"], capture_output=True, check=True,
                             timeout=120)  # fmt: skip
        [table] = json.loads(ran.stdout)["tables"]
        kernels = {
            (row["function"], row["line"]): row["kernels"]
            for row in table["rows"]
            if row["kernels"]
        }
        # Once by itself, and five times as nodes of the graph: mul_ three times, add_ once. Nothing
        # belongs to the line that replays. The capture itself has two kernels.
        self.assertEqual(
            kernels, {("layer", 3): 18, ("model", 6): 6, ("<module>", 2): 1, ("<module>", 10): 2}
        )

    def test_text_adds_up(self):
        self.give_stacks()
        text = self.lines("--top", "2").stdout.splitlines()
        self.assertRegex(text[0], r"^ +Share +GPU time +Kernels +Copies +GPU idle +In calls +Line$")
        self.assertEqual(
            [line.split(None, 6)[-1].split()[-1] for line in text[-2:]], ["lines", "all"]
        )
        kernels = [int(line.split()[2]) for line in text[1:]]
        self.assertEqual(sum(kernels[:-1]), kernels[-1])
        self.assertIn("no line of Python", self.lines().stdout)

    def test_a_file_without_stacks(self):
        self.assertEqual(self.lines().stdout,
                         "No call has a line of Python. gpuprof records those of a program's first thread, "
                         "with --stacks=launches those of all.\n")  # fmt: skip

    def test_exports_have_the_stacks(self):
        chosen = self.give_stacks()
        expected = collections.Counter()
        for correlation, name, time in self.sql(
            "SELECT correlation_id, name, duration FROM kernels"
        ):
            stack = chosen.get(correlation)
            if stack is not None:
                frames = [FRAMES[f] for f in reversed(STACKS[stack][0])]
                words = [f"{file.split('/')[-1]}:{line} {name}" for file, name, line in frames]
                expected[";".join(["GPU 0", *words, name])] += time
        folded = self.path.with_suffix(".folded")
        subprocess.run([GPUPROF, "export", "-q", "-o", folded, self.path], check=True, timeout=120)
        found = {}
        for line in folded.read_text().splitlines():
            stack, _, time = line.rpartition(" ")
            found[stack] = int(time)
        for stack, time in expected.items():
            self.assertEqual(found[stack], time)
        self.assertGreater(len(expected), 10)
        speedscope = self.path.with_suffix(".speedscope.json")
        subprocess.run(
            [GPUPROF, "export", "-q", "-o", speedscope, self.path], check=True, timeout=120
        )
        frames = json.loads(speedscope.read_text())["shared"]["frames"]
        self.assertIn({"name": "Linear.forward", "file": PACKAGE, "line": 40}, frames)
        self.assertEqual(sum(time for time in found.values()),
                         sum(sum(p["weights"]) for p in json.loads(speedscope.read_text())["profiles"]))  # fmt: skip
        pprof = self.path.with_suffix(".pb.gz")
        subprocess.run([GPUPROF, "export", "-q", "-o", pprof, self.path], check=True, timeout=120)
        self.assertIn(PACKAGE.encode(), gzip.decompress(pprof.read_bytes()))

    @asan
    def test_forged(self):
        self.give_stacks()
        ways = itertools.cycle(([], ["--all", "--json"], ["--csv"]))
        for words, sql in zip(ways, (
            "UPDATE STACK_FRAME SET module = printf('%.2000000c', '/'), function = x'00ff1b5b'",
            "UPDATE STACK_FRAME SET line = -9e18, module = '<' || char(27) || '[2J'",
            "UPDATE STACK_FRAME SET line = 'x', function = NULL, module = NULL",
            "UPDATE STACK_ENTRY SET position = NULL, frame = 'x'",
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO"
            " STACK_ENTRY(stack, position, frame, processId) SELECT i % 9, -i, i % 9, 1 FROM n",
            "UPDATE CALL_STACK SET correlationId = -9223372036854775807, stack = 1e300",
            "UPDATE CUPTI_ACTIVITY_KIND_RUNTIME SET start = -9223372036854775807, end = 9223372036854775807",
            "UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET end = 9223372036854775807",
            "UPDATE GPU_GAP SET start = -9223372036854775807, stop = 9223372036854775807",
            "CREATE TABLE NATIVE_LINE(processId, frame, file, line, function); INSERT INTO NATIVE_LINE"
            " SELECT processId, frame, char(27) || x'00ff', -9e18, 7 FROM STACK_FRAME",
            "DROP TABLE STACK_FRAME",
            "DROP TABLE CALL_STACK; CREATE TABLE CALL_STACK(stack)",
        )):  # fmt: skip
            with sqlite3.connect(self.path) as database:
                database.executescript(sql)
            database.close()
            ran = self.lines(*words, check=False)
            self.assertIn(ran.returncode, (0, 1), (sql, ran.stderr))
            self.assertNotIn("\x1b", ran.stdout + ran.stderr)
            self.assertNotIn("Sanitizer", ran.stderr)


if __name__ == "__main__":
    unittest.main()
