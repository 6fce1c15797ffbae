"""Each benchmark script runs once on a tiny input, so that none breaks unnoticed.

Only the presence of numbers and the shape of the JSON are checked, not values. GPUPROF_BUILD is a plain
build. docs/measurements/README.md describes the shape; the files there have it too.
"""
# ctest-labels: plain

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", "."))
SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
# tests/cli/test_bench_torch.py has bench_torch.
COVERED_ELSEWHERE = {"bench_torch"}
SHAPE = {"name", "date", "commit", "machine", "card", "parameters", "rounds", "figures", "problems",
         "remarks"}  # fmt: skip

# Prints what examples/small_launches prints, with more time under a collector.
PROGRAM = """#!/bin/sh
if [ -n "$CUDA_INJECTION64_PATH" ]; then time=200; else time=100; fi
echo "$time ns per launch, 1024 KiB resident, 512 KiB shared"
"""


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Benchmarks(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-cli-")
        cls.addClassCleanup(folder.cleanup)
        cls.small = pathlib.Path(folder.name) / "small.sqlite"
        subprocess.run([SCRIPTS / "make_big_database", cls.small, "--rows", "3000", "--names", "5", "--build", BUILD],
                       check=True, capture_output=True, timeout=120)  # fmt: skip

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def bench(self, name, *options, rounds=1):
        """What it prints, and its figures: (name, unit) to median and values."""
        result = self.folder / "result.json"
        ran = subprocess.run(
            [SCRIPTS / name, "--build", BUILD, "--rounds", str(rounds), "--json", result, *map(str, options)],
            capture_output=True, text=True, timeout=300, env={**os.environ, "TMPDIR": str(self.folder)},
        )  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        about = json.loads(result.read_text(encoding="utf-8"))
        self.check_shape(about, name)
        self.assertEqual(about["rounds"], rounds)
        return ran.stdout, {(f["name"], f["unit"]): f for f in about["figures"]}

    def check_shape(self, about, name):
        self.assertEqual(about["name"], name)
        self.assertLessEqual(
            {"date", "commit", "machine", "card", "parameters", "rounds"}, set(about)
        )
        self.assertLessEqual(set(about), SHAPE)
        self.assertRegex(about["date"], r"^\d{4}-\d\d-\d\d$")
        self.assertRegex(about["commit"] or "-", r"^([0-9a-f]{7,40}(\+changes)?|-)$")
        self.assertTrue(about["machine"])
        self.assertTrue(about["figures"])
        for figure in about["figures"]:
            self.assertLessEqual({"name", "unit", "median", "min", "max"}, set(figure))
            self.assertLessEqual(set(figure), {"name", "unit", "median", "min", "max", "values"})
            self.assertLessEqual(figure["min"], figure["median"])
            self.assertLessEqual(figure["median"], figure["max"])

    def small_profile(self):
        return pathlib.Path(shutil.copy(self.small, self.folder / "run.sqlite"))

    def test_all_scripts_are_here(self):
        names = {path.name for path in SCRIPTS.glob("bench_*")}
        here = {name.removeprefix("test_") for name in dir(self) if name.startswith("test_bench_")}
        self.assertEqual(names - COVERED_ELSEWHERE, here)

    def test_files_of_the_documentation(self):
        files = sorted((SCRIPTS.parent / "docs" / "measurements").glob("*.json"))
        self.assertTrue(files)
        for file in files:
            with self.subTest(file=file.name):
                about = json.loads(file.read_text(encoding="utf-8"))
                self.check_shape(about, about["name"])
                self.assertTrue(file.name.startswith(f"{about['date']}-{about['name']}"))

    def test_bench_load(self):
        said, figures = self.bench("bench_load", "--rows", 1000, "--records", 3000)
        self.assertRegex(said, r"3000 records in [\d.]+ s")
        kinds = [name for name, unit in figures if unit == "times"]
        self.assertEqual(kinds, ["kernel, ratio", "api, ratio", "mixed, ratio"])
        self.assertEqual(len(figures["replay", "s"]["values"]), 3)

    def test_bench_end(self):
        said, figures = self.bench("bench_end", "--records", 3000, "--against", GPUPROF)
        self.assertRegex(said, r"replay: [\d.]+ s CPU")
        self.assertIn(("replay, other", "s of CPU"), figures)
        again, figures = self.bench("bench_end", "--database", self.small_profile())
        self.assertTrue(again.strip())
        self.assertIn(("all", "s of CPU"), figures)

    def test_bench_gate(self):
        said, figures = self.bench("bench_gate")
        self.assertIn("3 % in a kernel of a fifth", said)
        self.assertIn(("5 + 5, one pace, nothing: step called slower", "%"), figures)

    @unittest.skipUnless((SCRIPTS.parent / ".tools/duckdb/unpacked").exists(), "there is no DuckDB")
    def test_bench_cluster(self):
        said, figures = self.bench(
            "bench_cluster", "--tables", "--recorded", "--only", "mismatch", "--first", "3"
        )
        self.assertIn("mismatch", said)
        self.assertEqual(figures["mismatch: right", "sets"]["median"], 1)
        said, figures = self.bench("bench_cluster", "--speed", "1x20000")
        self.assertIn("1 ranks x 21000 kernels", said)
        self.assertIn(("build", "s of CPU"), figures)

    def test_bench_intervals(self):
        said, figures = self.bench("bench_intervals", "--intervals", 10000)
        self.assertTrue(said.strip())
        self.assertIn(("length of the union", "ns per interval"), figures)

    def test_bench_columns(self):
        said, figures = self.bench("bench_columns", self.small_profile())
        self.assertTrue(said.strip())
        self.assertLessEqual({("pages", "s"), ("SQLite", "s"), ("GROUP BY", "s")}, set(figures))

    def test_bench_summary(self):
        said, figures = self.bench("bench_summary", self.small_profile(), rounds=2)
        self.assertTrue(said.strip())
        self.assertEqual(len(figures["gpuprof -i", "s"]["values"]), 2)

    def test_bench_queries(self):
        said, figures = self.bench("bench_queries", self.small_profile())
        self.assertIn("top_kernels", said)
        self.assertIn(("top_kernels", "s of CPU"), figures)

    def test_bench_python(self):
        said, figures = self.bench("bench_python", self.small_profile())
        self.assertTrue(said.strip())
        self.assertIn(("view, gpuprof, pandas", "s"), figures)
        _, figures = self.bench("bench_python", self.small_profile(), "--only", "gpuprof, polars")
        self.assertEqual({name for name, unit in figures if unit == "s"},
                         {"table, gpuprof, polars", "view, gpuprof, polars"})  # fmt: skip

    def test_bench_view(self):
        said, figures = self.bench("bench_view", self.small_profile(), "--windows", 3)
        self.assertIn("whole run ms", said)
        self.assertIn(("whole run", "ms"), figures)

    def test_bench_overhead(self):
        program = self.folder / "launches"
        program.write_text(PROGRAM, encoding="utf-8")
        program.chmod(0o755)
        cupti = BUILD / "tests" / "fake" / "libcupti.so.13"
        said, figures = self.bench(
            "bench_overhead", "--launches", 10, "--threads", 2, "--program", program,
            "--cupti", cupti, "--against", BUILD, rounds=2)  # fmt: skip
        self.assertRegex(said, r"gpuprof / bare: 1\.000 of the medians")
        self.assertRegex(said, r"gpuprof / other: 1\.000 of the medians")
        self.assertEqual({name: len(f["values"]) for (name, unit), f in figures.items()
                          if unit == "ns per launch"},
                         {"none": 2, "bare": 2, "gpuprof": 2, "other": 2})  # fmt: skip

    def test_bench_nvtx(self):
        program = self.folder / "pairs"
        target = BUILD / "tests" / "fake" / "nvtx"
        program.write_text(f"#!/bin/sh\n{target} only 1\necho $1 2.5\n", encoding="utf-8")
        program.chmod(0o755)
        cupti = BUILD / "tests" / "fake" / "libcupti.so.13"
        said, figures = self.bench(
            "bench_nvtx", "--program", program, "--threads", 3, "--cupti", cupti, "--against", BUILD,
            rounds=2)  # fmt: skip
        self.assertRegex(
            said, r"(?m)^gpuprof, 3 threads +3\.0 \(3\.0 to 3\.0\) +2\.5 \(2\.5 to 2\.5\)$"
        )
        self.assertIn(("other, 3 threads, later", "ns per pair"), figures)

    def test_bench_stacks(self):
        said, figures = self.bench("bench_stacks", "--functions", 3, "--calls", 20, "--python", sys.executable,
                                   "--against", BUILD)  # fmt: skip
        self.assertRegex(said, r"(?m)^launch, another thread, by C( +[0-9]+){7}$")
        self.assertIn(("other stacks: node, first thread, by Python", "ns per call"), figures)

    def test_bench_cost(self):
        program = self.folder / "launches"
        target = BUILD / "tests" / "fake" / "hello"
        program.write_text(
            f"#!/bin/sh\n{target} 10 >&2\necho '100 ns per launch'\n", encoding="utf-8"
        )
        program.chmod(0o755)
        said, figures = self.bench(
            "bench_cost", "--program", program, "--cupti", BUILD / "tests/fake/libcupti.so.13",
            "--only", "launches", "--options=--trace gpu,api", rounds=2)  # fmt: skip
        self.assertRegex(said, r"(?m)^launches +100 +100 +100 +0 +0 +\d+")
        self.assertGreater(figures["launches, cost of start", "ns per launch"]["min"], 0)

    def test_bench_cpu_samples(self):
        said, figures = self.bench(
            "bench_cpu_samples", "--cupti", BUILD / "tests/fake/libcupti.so.13", "--rates", "100,400",
            BUILD / "tests/fake/cpu_work", "shares", "0.1", rounds=2)  # fmt: skip
        rows = dict(
            re.findall(r"(?m)^(100 Hz|400 Hz) +[\d.]+ +[\d.]+ +[\d.]+ +[\d.]+ +(\d+)", said)
        )
        self.assertGreater(int(rows["400 Hz"]), int(rows["100 Hz"]))
        self.assertIn(("none", "s"), figures)

    def test_bench_metrics(self):
        """Its examples are programs for a GPU: here it says which one is missing."""
        ran = subprocess.run(
            [SCRIPTS / "bench_metrics", "--build", BUILD, "--examples", self.folder],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        self.assertNotEqual(ran.returncode, 0)
        self.assertRegex(ran.stderr, "^bench_metrics: .*known_counts is missing")


if __name__ == "__main__":
    sys.exit(unittest.main())
