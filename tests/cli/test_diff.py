"""gpuprof diff and gate: figures are those of the tables, verdicts those of the statistics."""
# ctest-labels: plain

import itertools
import json
import os
import pathlib
import random
import shutil
import sqlite3
import statistics
import subprocess
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
CAPTURES = SOURCE / "tests/captures"
TABLES = ("CONCURRENT_KERNEL", "KERNEL", "MEMCPY", "MEMSET", "RUNTIME", "DRIVER")
STEP = 1_000_000


def permutation_p(a, b):
    observed = abs(statistics.fmean(b) - statistics.fmean(a))
    both, hits, ways = a + b, 0, 0
    for chosen in itertools.combinations(range(len(both)), len(a)):
        first = [both[i] for i in chosen]
        rest = [both[i] for i in range(len(both)) if i not in chosen]
        hits += abs(statistics.fmean(rest) - statistics.fmean(first)) >= observed - 1e-6
        ways += 1
    return hits / ways


def limits(a, b):
    """Of the shift, with 95 %: by the number of pairs of ranks that are in order."""
    counts = [
        sum(i > j for i in chosen for j in range(len(a) + len(b)) if j not in chosen)
        for chosen in itertools.combinations(range(len(a) + len(b)), len(a))
    ]
    outside = 0
    while sum(u <= outside for u in counts) / len(counts) <= 0.025:
        outside += 1
    differences = sorted(y - x for x in a for y in b)
    return (differences[outside - 1], differences[-outside]) if outside else (None, None)


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Diff(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="diff-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.empty = cls.folder / "empty.sqlite"
        for name in "torch_step", "two_processes":
            path = cls.folder / f"{name}.sqlite"
            subprocess.run(
                [GPUPROF, "replay", "-q", "-o", path, CAPTURES / f"{name}.gpcap"], check=True
            )
            setattr(cls, name, path)
        shutil.copy(cls.torch_step, cls.empty)
        database = sqlite3.connect(cls.empty)
        for table in (*(f"CUPTI_ACTIVITY_KIND_{kind}" for kind in TABLES), "STEP"):
            database.execute(f"DELETE FROM {table}")
        database.commit()
        database.close()

    def setUp(self):
        self.number = 0

    def made(self, kernels, steps=6, gap=100, **other):
        """A run whose steps have these kernels, name to ns, one after the other with `gap` between."""
        self.number += 1
        path = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / f"{self.number}.sqlite"
        shutil.copy(self.empty, path)
        database = sqlite3.connect(path)
        names = {}
        for i, name in enumerate(kernels):
            names[name] = 1_000_000 + i
            database.execute(
                "INSERT INTO StringTable(_id_, value) VALUES(?, ?)", (names[name], name)
            )
        now = 10**18
        for step in range(steps):
            if other.get("steps_are_named", True):
                database.execute(
                    "INSERT INTO STEP(name, start, stop, threadId, processId) VALUES(0, ?, ?, 1, 1)",
                    (now, now + 1),
                )
            for name, time in kernels.items():
                # The first step warms up.
                time = time * 10 if step == 0 else time
                database.execute(
                    """INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, "end", deviceId, name,
                       correlationId) VALUES(?, ?, 0, ?, ?)""",
                    (now, now + time, names[name], step),
                )
                now += time + gap
        for sql in other.get("sql", ()):
            database.execute(sql)
        database.commit()
        database.close()
        return path

    def run_it(self, command, *words, code=0):
        ran = subprocess.run([GPUPROF, command, *map(str, words)], capture_output=True, text=True,
                             encoding="utf-8", timeout=120, check=False)  # fmt: skip
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran

    def document(self, a, b, *options):
        return json.loads(self.run_it("diff", *options, "--json", *a, "--", *b).stdout)

    def check_sums(self, document):
        for side in "a_ns", "b_ns", "difference_ns":
            self.assertAlmostEqual(
                sum(part[side] for part in document["parts"]), document["time"][side], delta=0.01
            )

    def test_a_step_is_from_the_second_to_the_last(self):
        a, b = self.made({"x": 300, "y": 500}), self.made({"x": 400, "y": 500})
        found = self.document([a], [b])
        self.check_sums(found)
        self.assertTrue(found["per_step"])
        self.assertEqual((found["time"]["a_ns"], found["time"]["b_ns"]), (1000, 1100))
        self.assertEqual([run["steps"] for run in found["a"] + found["b"]], [4, 4])
        parts = {(row["class"], row["cause"]): row["difference_ns"] for row in found["parts"]}
        self.assertEqual(parts[("compute", None)], 100)
        kernels = {row["name"]: row for row in found["kernels"]}
        self.assertEqual(kernels["x"]["difference_ns"], 100)
        self.assertEqual((kernels["y"]["a_ns"], kernels["y"]["b_ns"]), (500, 500))
        self.assertEqual(kernels["x"]["launches_a"], 1)

    def test_without_steps_it_is_the_time_of_the_gpu(self):
        for path in self.torch_step, self.two_processes:
            found = self.document([path], [path])
            self.check_sums(found)
            self.assertFalse(found["per_step"])
            database = sqlite3.connect(path)
            [(first, last)] = database.execute(
                'SELECT min(start), max("end") FROM gpu_activities WHERE start < "end"'
            ).fetchall()
            kernels = dict(database.execute(
                "SELECT name, sum(duration) * 1.0 / (SELECT count(DISTINCT device_id) FROM gpu_activities) "
                "FROM kernels WHERE duration > 0 GROUP BY 1"
            ))  # fmt: skip
            database.close()
            self.assertEqual(found["time"]["a_ns"], last - first)
            self.assertEqual({row["name"]: row["a_ns"] for row in found["kernels"]}, kernels)

    def test_statistics(self):
        chance = random.Random(1)
        for n, m in (4, 4), (5, 5), (4, 7), (6, 5):
            a = [{"x": 100_000 + chance.randrange(2000)} for _ in range(n)]
            b = [{"x": 101_000 + chance.randrange(2000)} for _ in range(m)]
            time = self.document(map(self.made, a), map(self.made, b))["time"]
            a, b = ([each["x"] + 100 for each in side] for side in (a, b))
            self.assertAlmostEqual(time["p"], permutation_p(a, b), delta=1e-9)
            shift = statistics.median(y - x for x in a for y in b)
            self.assertAlmostEqual(time["shift_ns"], shift, delta=1e-6)
            for found, expected in zip(
                (time["shift_from_ns"], time["shift_to_ns"]), limits(a, b), strict=True
            ):
                self.assertAlmostEqual(found, expected, delta=1e-6)
        time = self.document([self.made({"x": 1000})] * 3, [self.made({"x": 1001})] * 9)["time"]
        self.assertIsNone(time["p"])

    def side(self, *times, **other):
        return [self.made({"x": time, "y": 10 * STEP}, **other) for time in times]

    def verdicts(self, a, b, *options):
        """What diff says; gate's exit code agrees."""
        document = self.document(a, b, *options)
        code = {"slower": 1, "inconclusive": 3}.get(document["verdict"], 0)
        self.run_it("gate", *options, *a, "--", *b, code=code)
        return document["verdict"]

    def test_verdicts(self):
        noisy = (0.995, 1.005, 1.0, 1.002, 0.998)
        a = self.side(*(int(STEP * each) for each in noisy))
        for change, expected in (1.0, "same"), (1.2, "slower"), (0.8, "faster"):
            b = self.side(*(int(STEP * each * change) for each in noisy))
            self.assertEqual(self.verdicts(a, b), expected)
            self.assertEqual(self.verdicts(a[:3], b[:3]), expected)
            self.assertEqual(self.verdicts(a[:1], b[:1]), "unknown")
            self.assertEqual(self.verdicts(a[:1], b[:1], "--threshold", "1%"), expected)
        # 1.8 % of the step.
        slower = self.side(*(int(STEP * 1.2 * each) for each in noisy))
        self.assertEqual(self.verdicts(a, slower, "--threshold", "5%"), "same")
        wild = self.side(STEP, 2 * STEP, 4 * STEP, 2 * STEP, STEP)
        self.assertEqual(self.verdicts(a, wild), "unknown")
        self.run_it("gate", "--strict", *a, "--", *wild, code=3)

    def test_kernels_have_verdicts_of_their_own(self):
        def runs(x, y):
            return [
                self.made({"x": int(x * wobble), "y": int(y / wobble), "tiny": 10})
                for wobble in (0.999, 1.001, 1.0, 1.002, 0.998)
            ]

        found = self.document(runs(50_000, 60_000), runs(60_000, 50_000))
        self.assertEqual(found["verdict"], "same")
        verdicts = {row["name"]: row["verdict"] for row in found["kernels"]}
        self.assertEqual(verdicts, {"x": "slower", "y": "faster", "tiny": "unknown"})

    def test_what_cannot_be_compared(self):
        a = self.side(*[STEP] * 4)
        for what, b in (
            ("GPUs", self.side(*[STEP] * 4, sql=[
                "INSERT INTO StringTable(_id_, value) VALUES(77777, 'Other GPU')",
                "UPDATE CUPTI_ACTIVITY_KIND_DEVICE SET name = 77777"])),
            ("processes", self.side(*[STEP] * 4, sql=[
                "CREATE TABLE t AS SELECT * FROM PROCESS", "UPDATE t SET number = 7",
                "INSERT INTO PROCESS SELECT * FROM t", "DROP TABLE t"])),
            ("lacks records", self.side(*[STEP] * 4, sql=["UPDATE RUN SET value = 1 WHERE key = 'loss'"])),
            ("without times", self.side(*[STEP] * 4, sql=[
                "UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET start = 0 WHERE correlationId = 3"])),
            ("steps", self.side(*[STEP] * 4, steps_are_named=False)),
        ):  # fmt: skip
            with self.subTest(what):
                found = self.document(a, b)
                self.assertEqual(found["verdict"], "inconclusive")
                self.assertIn(what, found["reason"])
                self.assertTrue(any(each["matters"] for each in found["differences"]))
                self.assertNotEqual(self.verdicts(a, b, "--force"), "inconclusive")
        renamed = [self.made({"x2": STEP, "y2": 10 * STEP}) for _ in range(4)]
        found = self.document(a, renamed)
        self.assertEqual(found["verdict"], "inconclusive")
        self.assertIn("kernels", found["reason"])
        # Each is most likely the other's that takes as long; that is a guess, so it is not "same".
        self.assertEqual({row["name"]: (row["was"], row["a_ns"] == row["b_ns"])
                          for row in found["kernels"]},
                         {"x2": ("x", True), "y2": ("y", True)})  # fmt: skip
        self.assertIn("(in A most likely x)", self.run_it("diff", *a, "--", *renamed).stdout)
        # Not those that are launched more often, or take three times as long.
        for other in ({"x2": STEP, "y2": 30 * STEP, "z": STEP // 5},):
            others = [self.made(other) for _ in range(4)]
            found = self.document(a, others)
            self.assertEqual({row["name"]: (row["was"], row["a_ns"] == 0, row["b_ns"] == 0)
                              for row in found["kernels"]},
                             {"x2": ("x", False, False), "y2": (None, True, False),
                              "z": (None, True, False), "y": (None, False, True)})  # fmt: skip

    def test_text_and_markdown(self):
        evil = "<b>|@all `x` \x1b[31m\n*bold*"
        a, b = self.made({"x": 3000, evil: 500}), self.made({"x": 4000, evil: 500})
        text = self.run_it("diff", a, b).stdout
        self.assertIn("Unknown: a single run", text)
        self.assertRegex(text, r"\+1\.0000us +3\.0000us +4\.0000us +1  x\n")
        self.assertRegex(text, r"\+1\.0000us +3\.7000us +4\.7000us  in all\n")
        self.assertNotIn("\x1b", text)
        markdown = self.run_it("diff", "--markdown", a, b).stdout
        for character in "\x1b", "<b>", "@", "`", "*":
            self.assertNotIn(character, markdown)
        for line in markdown.splitlines():
            if line.startswith("|"):
                self.assertIn(line.count("|"), (5, 7))
        many = {f"kernel_{i}_" + 3000 * "n": 1000 + i for i in range(200)}
        markdown = self.run_it("diff", "--markdown", self.made(many), self.made(many)).stdout
        self.assertLess(len(markdown.encode()), 60_000)

    def test_steps_on_one_side_only(self):
        said = self.run_it("diff", self.torch_step, self.made({"one": 1000})).stdout
        self.assertRegex(said.splitlines()[0], r"A run takes \S+ in A, a step \S+ in B\.$")

    def test_a_window(self):
        found = self.document([self.torch_step], [self.torch_step], "--from", "3.6", "--to", "3.7")
        self.assertEqual(found["time"]["a_ns"], 100_000_000)
        self.check_sums(found)

    def test_wrong_words(self):
        for words, says, code in (
            ((self.torch_step,), "only one is named", 5),
            ((self.torch_step,) * 3, "only one is named", 5),
            ((self.torch_step, "--"), "only one is named", 5),
            ((self.torch_step, self.torch_step, "--threshold", "fast"), "percentage", 5),
            ((self.torch_step, self.empty), "no GPU work", 20),
            ((self.torch_step, self.folder / "none"), "none", 20),
        ):
            self.assertIn(says, self.run_it("diff", *words, code=code).stderr)

    def test_forged_values(self):
        huge = 2**63 - 1
        for sql in (
            f'UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET "end" = {huge} WHERE correlationId = 2',
            f"UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET start = {-huge} WHERE correlationId = 2",
            f"UPDATE STEP SET start = {huge} WHERE rowid % 2",
            "UPDATE STEP SET start = 'soon'",
            "UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET name = -1, deviceId = rowid * 7919",
            "UPDATE StringTable SET value = x'ff00fe'",
            "UPDATE RUN SET value = NULL",
            "DROP TABLE STEP",
            "DROP TABLE RUN",
            "DROP TABLE PROCESS",
        ):
            with self.subTest(sql):
                forged = self.made({"x": 1000, "y": 2000}, sql=[sql])
                ran = subprocess.run([GPUPROF, "diff", self.made({"x": 1000}), forged], timeout=120,
                                     capture_output=True, text=True, check=False)  # fmt: skip
                self.assertIn(ran.returncode, (0, 20), ran.stderr)
                self.assertNotIn("nan", ran.stdout)


if __name__ == "__main__":
    unittest.main()
