"""gpuprof gate, its rules and floors, and baselines: files of runs are enough for all of it."""

import copy
import itertools
import json
import os
import pathlib
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import tempfile
import textwrap
import unittest
import xml.etree.ElementTree as xml

from builds import asan, load_tests  # noqa: F401
from fake_run import CUPTI, FAKE, FakeTest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
CAPTURE = SOURCE / "tests/captures/torch_step.gpcap"
MS = 1e6


def run_of(kernels, idle=10 * MS, **more):
    """A run: time of a step by kernel, and idle time."""
    return {
        "about": {
            "file": "run", "devices": "GPU", "driver": "1", "cupti": 1, "processes": 1,
            "device_count": 1, "lost": False, "kernels_without_times": 0, "memory_peak_bytes": 0,
            "steps": 20, "time_ns": sum(kernels.values()) + idle, "least_kernel": 0, **more,
        },
        "kernels": kernels, "idle": idle,
    }  # fmt: skip


def document(runs, shape=None):
    """A file of runs, as docs/json.md has it."""
    names = sorted({name for run in runs for name in run["kernels"]})
    return {
        "format": "gpuprof runs",
        "version": 1,
        "runs": [run["about"] for run in runs],
        "parts": [
            {"class": "compute", "cause": None, "time_ns": [sum(run["kernels"].values()) for run in runs]},
            {"class": "call", "cause": "cudaFree", "time_ns": [run["idle"] for run in runs]},
        ],
        "kernels": [
            {"name": name, "function": None, "shape": shape,
             "time_ns": [run["kernels"].get(name) for run in runs],
             "launches": [4 if name in run["kernels"] else None for run in runs]}
            for name in names
        ],
    }  # fmt: skip


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class GateTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gate-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.number = 0

    def file(self, content):
        self.number += 1
        path = self.folder / f"{self.number}.json"
        if not isinstance(content, (str, bytes)):
            content = json.dumps(content)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    def run_it(self, command, *words, code=0, **environment):
        ran = subprocess.run([GPUPROF, command, *map(str, words)], capture_output=True, text=True,
                             encoding="utf-8", timeout=120, check=False, cwd=self.folder,
                             env={**os.environ, **environment})  # fmt: skip
        if code is not None:
            self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran

    def compare(self, a, b, *options, shapes=(None, None)):
        files = [self.file(document(side, shape)) for side, shape in zip((a, b), shapes)]
        found = self.run_it("diff", *options, "--json", files[0], "--", files[1])
        return json.loads(found.stdout)


def steady(count=5, seed=1, idle=10 * MS, pace=0.0, **kernels):
    """Runs of ten kernels of 8 ms, or others, which vary by 0.1 %; and all of a run together by `pace`."""
    chance = random.Random(seed)
    times = {**{f"k{i}": 8 * MS for i in range(10)}, **kernels}
    runs = []
    for _ in range(count):
        factor = 1 + chance.gauss(0, pace)
        runs.append(
            run_of(
                {
                    name: factor * time * (1 + chance.gauss(0, 0.001))
                    for name, time in times.items()
                },
                idle,
            )
        )
    return runs


class Statistics(GateTest):
    def test_p_of_all_kernels_together(self):
        """Westfall and Young: how often any kernel differs as much, over all ways to divide the runs."""
        a, b = steady(4, 1), steady(5, 2, k3=8.1 * MS)
        both = a + b
        standard = {}
        for name in both[0]["kernels"]:
            values = [run["kernels"][name] for run in both]
            mean = sum(values) / len(values)
            length = sum((value - mean) ** 2 for value in values) ** 0.5
            standard[name] = [(value - mean) / length for value in values]

        def differences(chosen):
            return {name: abs(sum(row[i] for i in chosen)) for name, row in standard.items()}

        observed = differences(range(4))
        hits, ways = dict.fromkeys(observed, 0), 0
        for chosen in itertools.combinations(range(9), 4):
            most = max(differences(chosen).values())
            ways += 1
            for name, each in observed.items():
                hits[name] += most >= each - 1e-9
        found = {row["name"]: row for row in self.compare(a, b)["kernels"]}
        for name, count in hits.items():
            self.assertAlmostEqual(found[name]["p"], count / ways, delta=1e-9)
        self.assertEqual(found["k3"]["verdict"], "slower")

    def test_a_kernel_among_many(self):
        many = {f"small{i}": 2.4 * MS for i in range(40)}
        found = self.compare(steady(**many), steady(seed=2, **{**many, "small7": 2.472 * MS}))
        slower = [row["name"] for row in found["kernels"] if row["verdict"] == "slower"]
        self.assertEqual(slower, ["small7"])

    def test_pace(self):
        """What hides in the noise of the clock is found; a clock that differs is reported as such."""
        a = steady(pace=0.01)
        found = self.compare(a, steady(seed=2, pace=0.01, idle=11.5 * MS))
        self.assertGreater(found["time"]["p"], 0.02)
        self.assertEqual(found["time_at_equal_pace"]["verdict"], "slower")
        self.assertEqual(found["verdict"], "slower")
        self.assertAlmostEqual(found["time_at_equal_pace"]["shift_ns"] / (1.5 * MS), 1, delta=0.1)
        same = self.compare(a, steady(seed=3, pace=0.01))
        self.assertIn(same["verdict"], ("same", "unknown"))
        slow = {f"k{i}": 8.4 * MS for i in range(10)}
        found = self.compare(steady(), steady(seed=4, **slow))
        self.assertEqual((found["verdict"], found["pace"]["verdict"]), ("slower", "slower"))
        self.assertIsNone(found["time_at_equal_pace"])
        text = self.run_it(
            "diff", self.file(document(steady())), self.file(document(steady(5, 4, **slow)))
        ).stdout
        self.assertIn("clock", text)
        # One kernel is most of the time: it has no pace but its own.
        big = self.compare(steady(big=200 * MS), steady(seed=2, big=200 * MS))
        self.assertIsNone(big["pace"])

    def test_floor(self):
        """A single run is judged by how much runs of one program differ."""
        chance = random.Random(7)

        def runs(count, factor=1.0):
            return [
                run_of({"x": 90 * MS * factor * (1 + chance.uniform(-0.01, 0.01))})
                for _ in range(count)
            ]

        floor = self.file(document(runs(20)))
        one = runs(1)
        self.assertEqual(self.compare(one, runs(1))["verdict"], "unknown")
        self.assertEqual(self.compare(one, runs(1, 1.05), "--floor", floor)["verdict"], "slower")
        self.assertEqual(self.compare(one, runs(1, 1.003), "--floor", floor)["verdict"], "same")
        for forged, says in (
            ({"devices": "another"}, "of other GPUs"), ({"steps": 0}, "of whole runs"),
        ):  # fmt: skip
            other = self.file(document([run_of({"x": 90 * MS}, **forged) for _ in range(4)]))
            found = self.compare(one, runs(1), "--floor", other)
            self.assertEqual(found["verdict"], "inconclusive")
            self.assertIn(says, found["reason"])
        # A part that the calibration lacks is not judged.
        other = [run_of({"y": 90 * MS})]
        found = self.compare(other, [run_of({"y": 95 * MS})], "--floor", floor)
        self.assertEqual([row["verdict"] for row in found["kernels"]], ["unknown"])

    def test_shapes(self):
        shapes = ("grid 1x1x1, block 64x1x1", "grid 2x1x1, block 64x1x1")
        found = self.compare(steady(), steady(seed=2), shapes=shapes)
        self.assertEqual({(row["shape_a"], row["shape_b"]) for row in found["kernels"]}, {shapes})
        files = [self.file(document(steady(), shape)) for shape in shapes]
        self.assertIn("shape changed: " + " > ".join(shapes), self.run_it("diff", *files).stdout)


class Rules(GateTest):
    def gate(self, rules, a, b, code, *options):
        """What the JUnit file says: name to what failed, or None."""
        report = self.folder / "report.xml"
        files = [self.file(document(side)) for side in (a, b)]
        ran = self.run_it(
            "gate", "--rules", self.file(rules), "--junit", report, *options, *files, code=code
        )
        suite = xml.parse(report).getroot().find("testsuite")
        cases = {}
        for case in suite:
            [outcome] = list(case)
            cases[case.get("name")] = None if outcome.tag == "system-out" else outcome.tag
        for what, tag in ("failures", "failure"), ("errors", "error"), ("skipped", "skipped"):
            self.assertEqual(int(suite.get(what)), list(cases.values()).count(tag))
        self.assertEqual(int(suite.get("tests")), len(cases))
        return cases, ran.stdout

    def test_other_files_are_not_replaced(self):
        for mine in ("notes", "<?xml version='1.0'?><testsuites/>"):
            report = self.folder / "report.xml"
            report.write_text(mine, encoding="utf-8")
            files = [self.file(document(steady(seed=seed))) for seed in (1, 2)]
            ran = self.run_it("gate", "--junit", report, *files, code=21)
            self.assertIn("report.xml holds something else", ran.stderr)
            self.assertEqual(report.read_text(encoding="utf-8"), mine)
            kept = self.folder / "kept/main.json"
            kept.parent.mkdir(exist_ok=True)
            kept.write_text(mine, encoding="utf-8")
            self.run_it("baseline", "add", "main", *files, "--replace", "--dir", "kept", code=21)
            self.assertEqual(kept.read_text(encoding="utf-8"), mine)
            self.assertEqual(os.listdir(kept.parent), ["main.json"])

    def test_limits(self):
        a = steady()
        b = steady(seed=2)
        for run in b:
            run["about"]["memory_peak_bytes"] = 3_000_000_000
        keeps = {"limits": {"step": "91 ms", "idle": "12%", "memory": "4GB"}}
        cases, _ = self.gate(keeps, a, b, 0)
        self.assertEqual(set(cases.values()), {None})
        for limits, name in (
            ({"step": "89ms"}, "rule: the time"),
            ({"idle": "10 %"}, "rule: idle time"),
            ({"memory": "2.9GB"}, "rule: the peak of device memory"),
        ):
            cases, text = self.gate({"limits": limits}, a, b, 1)
            self.assertEqual([case for case, tag in cases.items() if tag], [name])
            self.assertIn("A rule is broken", text)
        cases, text = self.gate({"limits": {"memory": "1GB"}}, a, steady(), 0)
        self.assertEqual(cases["rule: the peak of device memory"], "skipped")
        self.assertIn("--track-memory", text)

    def test_thresholds(self):
        a, b = steady(), steady(seed=2, k0=8.3 * MS, idle=10.25 * MS)
        cases, _ = self.gate({"threshold": "2%", "kernels": {"^k0$": "3%"}}, a, b, 1)
        self.assertEqual(cases["rule: k0"], "failure")
        self.assertEqual(
            self.gate({"threshold": "2%", "kernels": {"^k0$": "5%"}}, a, b, 0)[0]["rule: k0"], None
        )
        name = "rule: idle"
        cases, _ = self.gate({"threshold": "2%", "parts": {"idle": "0.1%"}}, a, b, 1)
        self.assertEqual([case for case, tag in cases.items() if tag], [name])
        self.assertIsNone(self.gate({"threshold": "2%", "parts": {"idle": "1%"}}, a, b, 0)[0][name])
        cases, text = self.gate({"kernels": {"zzz": "1%"}}, a, b, 1)
        self.assertEqual(cases["rule: zzz"], "skipped")
        # Of another GPU only limits count.
        for run in b:
            run["about"]["devices"] = "another"
        cases, _ = self.gate({"kernels": {"^k0$": "3%"}, "parts": {"idle": "0.1%"}}, a, b, 3)
        self.assertEqual(set(cases.values()) - {None}, {"error", "skipped"})
        self.gate({"limits": {"step": "1ms"}}, a, b, 1)
        for run in b:
            run["about"]["devices"] = "GPU"
        self.gate({"threshold": "0.1%"}, a, b, 1)
        self.gate({"threshold": "0.1%"}, a, b, 0, "--threshold", "2%")

    def test_names_in_xml(self):
        a, b = steady(**{"<&\"'\x1b]>": 20 * MS}), steady(seed=2, **{"<&\"'\x1b]>": 21 * MS})
        cases, _ = self.gate({"threshold": "9%", "kernels": {"<": "1%"}}, a, b, 1)
        self.assertIn("failure", cases.values())

    @asan
    def test_wrong_rules(self):
        a = self.file(document(steady(1)))
        for rules, says in (
            ("[]", "not a JSON object"),
            ("{", "not JSON"),
            ("[" * 60_000, "nested"),
            ('{"threshold": 1}', "takes a text"),
            ('{"threshold": "1e999%"}', "takes a text"),
            ('{"threshold": "-1%"}', "takes a text"),
            ('{"limits": {"step": "5 weeks"}}', "takes a text"),
            ('{"limits": {"speed": "5ms"}}', "not one of step"),
            ('{"limits": 3}', "not a JSON object"),
            ('{"kernels": {"(": "1%"}}', "("),
            ('{"parts": {"walk": "1%"}}', "not one of compute"),
            ('{"run": "rm -rf /"}', "does not know"),
            ('{"version": 2}', "does not know"),
            ('{"kernels": {%s}}' % ",".join(f'"{i}": "1%"' for i in range(101)), "more than 100"),
            ("x" * 70_000, "larger"),
        ):
            ran = self.run_it("gate", "--rules", self.file(rules), a, a, code=None)
            self.assertIn(ran.returncode, (5, 20), ran.stderr)
            self.assertIn(says, ran.stderr)
        self.run_it("gate", "--rules", self.folder, a, a, code=20)


class Baselines(GateTest):
    def profile(self, sql=""):
        path = self.folder / f"profile{self.number}.sqlite"
        self.number += 1
        if not hasattr(Baselines, "replayed"):
            folder = tempfile.TemporaryDirectory(prefix="gate-")
            type(self).addClassCleanup(folder.cleanup)
            Baselines.replayed = pathlib.Path(folder.name) / "run.sqlite"
            subprocess.run([GPUPROF, "replay", "-q", "-o", Baselines.replayed, CAPTURE], check=True)
        shutil.copy(Baselines.replayed, path)
        database = sqlite3.connect(path)
        database.executescript(sql)
        database.close()
        return path

    def test_add_list_and_rm(self):
        run = self.profile()
        self.run_it("baseline", "add", "main", run, run, "--dir", "kept")
        path = self.folder / "kept/main.json"
        self.assertEqual(path.stat().st_mode & 0o777, 0o600)
        self.assertLess(path.stat().st_size, 200_000)
        self.run_it("baseline", "add", "main", run, "--dir", "kept", code=21)
        self.run_it("baseline", "add", "one", run, code=0, GPUPROF_BASELINES="kept")
        self.assertEqual(sorted(os.listdir(self.folder / "kept")), ["main.json", "one.json"])
        self.run_it("baseline", "add", "main", run, "--replace", "--dir", "kept")
        listed = self.run_it("baseline", "list", GPUPROF_BASELINES="kept").stdout.splitlines()
        self.assertRegex(listed[1], r"^ *1 .* main +NVIDIA")
        completed = self.run_it(
            "complete", "fish", "diff", "--against", "", GPUPROF_BASELINES="kept"
        ).stdout
        self.assertEqual([line.split()[0] for line in completed.splitlines()[1:]], ["main", "one"])
        for words in ("diff", "x.sqlite"), ("baseline", "add", "main"):
            self.assertEqual(self.run_it("complete", "fish", *words, "").stdout, "files\n")
        self.run_it("baseline", "rm", "one", "--dir", "kept")
        self.run_it("baseline", "rm", "one", "--dir", "kept", code=21)
        self.assertEqual(os.listdir(self.folder / "kept"), ["main.json"])
        self.run_it("baseline", "add", "x", run)
        self.assertEqual(os.listdir(self.folder / ".gpuprof/baselines"), ["x.json"])

    def test_history(self):
        """Each baseline against the one before it, in the order of their names or that is given."""
        for name, times in (("1", steady(seed=1)), ("2", steady(seed=2)),
                            ("3", steady(seed=3, k0=16 * MS))):  # fmt: skip
            self.run_it("baseline", "add", name, self.file(document(times)))
        rows = json.loads(self.run_it("baseline", "history", "--json").stdout)["tables"][0]["rows"]
        self.assertEqual([(row["name"], row["runs"], row["verdict"]) for row in rows],
                         [("1", 5, None), ("2", 5, "same"), ("3", 5, "slower")])  # fmt: skip
        self.assertAlmostEqual(rows[2]["change_percent"],
                               100 * (rows[2]["time_ns"] / rows[1]["time_ns"] - 1), 4)  # fmt: skip
        self.assertRegex(rows[2]["most_changed"], r"^\+\S+ the GPU computed")
        ran = self.run_it("baseline", "history", "3", "1")
        self.assertRegex(ran.stdout, r"(?m)^ +5 .* -8\.. % +faster +1 ")
        csv = self.run_it("baseline", "history", "--csv").stdout.splitlines()
        self.assertEqual([line.split(",")[2] for line in csv[-3:]],
                         [str(row["time_ns"]) for row in rows])  # fmt: skip
        self.run_it("baseline", "history", "4", code=20)

    def test_a_baseline_is_the_run(self):
        run = self.profile()
        self.run_it("baseline", "add", "main", run)
        found = json.loads(self.run_it("diff", "--json", "--against", "main", run).stdout)
        for row in (found["time"], *found["parts"], *found["kernels"]):
            self.assertEqual(row["a_ns"], row["b_ns"])
        self.assertEqual(found["differences"], [])
        for run_a, run_b in zip(found["a"], found["b"], strict=True):
            self.assertEqual(run_a, run_b)
        for row in found["kernels"]:
            self.assertEqual(row["shape_a"], row["shape_b"])
        self.assertTrue(any(row["shape_a"] for row in found["kernels"]))
        bigger = self.profile(
            "UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET gridX = gridX * 2 WHERE name IN "
            "(SELECT name FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL LIMIT 1)"
        )
        found = json.loads(self.run_it("diff", "--json", "--against", "main", bigger).stdout)
        self.assertEqual(sum(row["shape_a"] != row["shape_b"] for row in found["kernels"]), 1)
        self.run_it("gate", "--against", "main", run, "--threshold", "1%")

    def test_large_runs(self):
        """Names and kernels that are too much are abridged; a kernel that was left out is not new."""
        kernels = {f"kernel_{i}_{'n' * 300}": (1000 - i) * 100.0 for i in range(1000)}
        whole = self.file(document([run_of(kernels)]))
        self.run_it("baseline", "add", "big", whole)
        path = self.folder / ".gpuprof/baselines/big.json"
        self.assertLessEqual(path.stat().st_size, 100_000)
        kept = json.loads(path.read_text(encoding="utf-8"))
        self.assertGreater(len(kept["kernels"]), 50)
        self.assertGreater(kept["runs"][0]["least_kernel"], 0)
        found = json.loads(self.run_it("diff", "--json", "--against", "big", whole).stdout)
        self.assertEqual({row["a_ns"] - row["b_ns"] for row in found["kernels"]}, {0})

    def test_wrong_words(self):
        run = self.file(document(steady(1)))
        for words, says, code in (
            ((), "required", 5),
            (("add", "main"), "at least one file", 5),
            (("keep", "main", run), "add, list, history or rm", 5),
            (("list", "main"), "add, list, history or rm", 5),
            (("rm",), "takes the name", 5),
            (("add", "main", self.folder / "none"), "none", 20),
        ):
            self.assertIn(says, self.run_it("baseline", *words, code=code).stderr)
        for name in "../x", "a/b", "..", ".x", "-x", "x" * 101, "a b", "a\nb":
            for words in (("add", "--", name, run), ("rm", "--", name)):
                ran = self.run_it("baseline", *words, code=None)
                self.assertEqual(ran.returncode, 5, ran.stderr)
        self.assertEqual(set(os.listdir(self.folder)), {run.name})
        for words, says in (
            (("--against", "../x", run), "cannot be the name"),
            (("--against", "main", run, "--", run), "side A"),
            (("--against", "main"), "only one"),
            (("--floor", run, run, run), "single run"),
        ):
            self.assertIn(says, self.run_it("diff", *words, code=5).stderr)
        self.run_it("diff", "--against", "main", run, code=20)

    @asan
    def test_hostile_files(self):
        good = document(steady(2))
        path = self.file(good)
        self.run_it("diff", path, path)
        hostile = [
            b"{",
            b"{\xff\xfe",
            b'{"a":' * 50_000,
            b"{" + b" " * 11_000_000,
            b"{}\0",
            b'{"a": 1e999}',
        ]
        for place in (
            ("format",), ("version",), ("runs",), ("runs", 0), ("runs", 0, "time_ns"),
            ("runs", 0, "device_count"), ("runs", 0, "file"), ("runs", 0, "least_kernel"), ("parts",),
            ("parts", 0), ("parts", 0, "class"), ("parts", 0, "time_ns"), ("parts", 0, "time_ns", 0),
            ("kernels",), ("kernels", 0, "name"), ("kernels", 0, "launches"), ("kernels", 0, "time_ns", 1),
        ):  # fmt: skip
            for value in (
                None,
                -1,
                1e300,
                2**70,
                "x" * 5000,
                [],
                [[]],
                {},
                {"a": {}},
                True,
                [0] * 9,
            ):
                forged = copy.deepcopy(good)
                inner = forged
                for key in place[:-1]:
                    inner = inner[key]
                inner[place[-1]] = value
                hostile.append(forged)
        # Many in one process each would take long; list reads all of a folder.
        folder = self.folder / "many"
        folder.mkdir()
        for number, content in enumerate(hostile):
            content = content if isinstance(content, bytes) else json.dumps(content).encode()
            (folder / f"{number}.json").write_bytes(content)
        (folder / "folder.json").mkdir()
        (folder / "\x1b[31m.json").write_bytes(b"{}")
        os.mkfifo(folder / "pipe.json")
        ran = self.run_it("baseline", "list", "--dir", folder)
        self.assertGreater(len(ran.stderr.splitlines()), len(hostile) // 2)
        self.assertNotIn("runtime error", ran.stderr)
        self.assertNotIn("\x1b", ran.stderr + ran.stdout)
        # Some are sound enough to be compared.
        for forged in (
            {"parts": []}, {"kernels": []}, {"kernels": good["kernels"] * 2},
            {"runs": [{**run, "time_ns": 1e18} for run in good["runs"]]},
            {"runs": [{**run, "file": "\x1b[31m"} for run in good["runs"]]},
        ):  # fmt: skip
            ran = self.run_it("diff", path, self.file({**good, **forged}))
            self.assertNotIn("runtime error", ran.stderr)
            for character in "\x1b", "nan", "inf":
                self.assertNotIn(character, ran.stdout)


class Commands(FakeTest):
    """Gate runs the commands; the stand-in's kernels take as long as the script says."""

    def setUp(self):
        super().setUp()
        self.script = self.folder / "work.py"
        self.script.write_text(textwrap.dedent(
            f"""
            import ctypes, sys
            name, time = sys.argv[1], int(sys.argv[2])
            with open("log", "a") as log:
                print(name, file=log)
            print("printed by", name)
            if time < 0:
                sys.exit(-time)
            cuda = ctypes.CDLL({str(FAKE / "libcuda.so.1")!r})
            cuda.fake_kernel_time(ctypes.c_uint64(time))
            for _ in range(6):
                cuda.fake_nvtx_push(b"step")
                cuda.fake_launch(b"kernel", 3)
                cuda.fake_synchronize()
                cuda.fake_nvtx_pop()
            """))  # fmt: skip

    def work(self, name, time):
        return f"{sys.executable} {self.script} {name} {time}"

    def gate(self, *words, code=0):
        ran = subprocess.run(
            [GPUPROF, "gate", "--options", f"--cupti '{CUPTI}'", *map(str, words)], cwd=self.folder,
            env=self.environment({}), capture_output=True, text=True, timeout=300)  # fmt: skip
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran

    def test_records_in_turns(self):
        a, b = self.work("a", 30_000_000), self.work("b", 60_000_000)
        ran = self.gate("-n", 2, "--base", a, "--new", b, "--json", code=1)
        found = json.loads(ran.stdout)
        self.assertEqual(found["verdict"], "slower")
        self.assertEqual(
            [run["file"] for run in found["a"] + found["b"]], ["base-1", "base-2", "new-1", "new-2"]
        )
        self.assertEqual((self.folder / "log").read_text().split(), list("ababba"))
        self.assertIn("printed by a", ran.stderr)
        self.assertIn("recording new-2", ran.stderr)
        self.assertEqual(sorted(os.listdir(self.folder)), ["log", "work.py"])

    def test_calibration_baseline_and_kept_profiles(self):
        a = self.work("a", 3_000_000)
        ran = self.gate("--calibrate", a, "-n", 4, "-o", "floor.json", "--keep", "kept")
        self.assertIn("kernel", ran.stdout)
        self.assertEqual(
            sorted(os.listdir(self.folder / "kept")), [f"run-{i}.sqlite" for i in range(1, 5)]
        )
        self.assertEqual(len(json.loads((self.folder / "floor.json").read_text())["runs"]), 4)
        self.gate("--calibrate", a, "-n", 4, "-o", "floor.json", code=21)
        (self.folder / ".gpuprof/baselines").mkdir(parents=True)
        (self.folder / "floor.json").rename(self.folder / ".gpuprof/baselines/main.json")
        self.gate("-n", 1, "--against", "main", "--new", self.work("b", 9_000_000),
                  "--floor", ".gpuprof/baselines/main.json", code=1)  # fmt: skip

    def test_interrupted(self):
        temporary = self.folder / "temporary"
        temporary.mkdir()
        words = [GPUPROF, "gate", "--base", "touch begun; exec sleep 100", "--new", "true"]
        process = subprocess.Popen(
            words, cwd=self.folder, env=self.environment({"TMPDIR": temporary}), start_new_session=True,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE)  # fmt: skip
        self.addCleanup(self.end, process)
        self.wait_for((self.folder / "begun").exists)
        os.killpg(process.pid, signal.SIGINT)
        self.assertEqual(process.wait(60), 130)
        self.assertEqual(os.listdir(temporary), [])

    def test_what_fails(self):
        good, bad = self.work("a", 1000), self.work("b", -3)
        ran = self.gate("-n", 1, "--base", good, "--new", bad, code=26)
        self.assertIn("ended with 3", ran.stderr)
        self.assertEqual(ran.stdout, "")
        self.assertIn(
            "no GPU work", self.gate("-n", 1, "--base", "true", "--new", good, code=26).stderr
        )
        for words, says in (
            (("--base", good), "without --new"),
            (("--new", good), "--against"),
            (("--base", good, "--new", good, "x.sqlite"), "not both"),
            (("--calibrate", good), "-o"),
            (("--calibrate", good, "-o", "x", "--new", good), "compares with nothing"),
            (("-n", 0, "--base", good, "--new", good), "from 1"),
            (("x.sqlite", "y.sqlite", "-n", 3), "runs to record"),
        ):
            self.assertIn(says, self.gate(*words, code=5).stderr)


if __name__ == "__main__":
    unittest.main()
