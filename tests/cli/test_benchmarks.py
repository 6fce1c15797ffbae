"""Each benchmark script runs once on a tiny input, so that none breaks unnoticed.

Only the presence of numbers is checked, not their values. GPUPROF_BUILD is a plain build.
"""
# ctest-labels: plain

import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", "."))
SCRIPTS = pathlib.Path(__file__).resolve().parents[2] / "scripts"
# tests/cli/test_bench_torch.py has bench_torch.
COVERED_ELSEWHERE = {"bench_torch"}

# Prints what examples/small_launches prints, with more time under a collector.
PROGRAM = """#!/bin/sh
if [ -n "$CUDA_INJECTION64_PATH" ]; then time=200; else time=100; fi
echo "$time ns per launch, 1024 KiB resident, 512 KiB shared"
"""


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Benchmarks(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def bench(self, name, *options):
        ran = subprocess.run(
            [SCRIPTS / name, "--build", BUILD, *map(str, options)],
            capture_output=True, text=True, timeout=300, env={**os.environ, "TMPDIR": str(self.folder)},
        )  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def small_profile(self):
        path = self.folder / "run.sqlite"
        subprocess.run([SCRIPTS / "make_big_database", path, "--rows", "3000", "--build", BUILD],
                       check=True, capture_output=True, timeout=120)  # fmt: skip
        return path

    def test_all_scripts_are_here(self):
        names = {path.name for path in SCRIPTS.glob("bench_*")}
        here = {name.removeprefix("test_") for name in dir(self) if name.startswith("test_bench_")}
        self.assertEqual(names - COVERED_ELSEWHERE, here)

    def test_bench_load(self):
        said = self.bench("bench_load", "--rows", 1000, "--rounds", 1, "--records", 3000)
        self.assertRegex(said, r"3000 records in [\d.]+ s")

    def test_bench_end(self):
        said = self.bench("bench_end", "--records", 3000)
        self.assertRegex(said, r"replay: [\d.]+ s CPU")
        again = self.bench("bench_end", "--database", self.small_profile())
        self.assertTrue(again.strip())

    def test_bench_intervals(self):
        said = self.bench("bench_intervals", "--intervals", 10000, "--rounds", 1)
        self.assertTrue(said.strip())

    def test_bench_columns(self):
        said = self.bench("bench_columns", self.small_profile(), "--rounds", 1)
        self.assertTrue(said.strip())

    def test_bench_summary(self):
        said = self.bench("bench_summary", self.small_profile(), "--rounds", 1)
        self.assertTrue(said.strip())

    def test_bench_queries(self):
        said = self.bench("bench_queries", self.small_profile(), "--rounds", 1)
        self.assertIn("top_kernels", said)

    def test_bench_python(self):
        said = self.bench("bench_python", self.small_profile(), "--rounds", 1)
        self.assertTrue(said.strip())

    def test_bench_view(self):
        said = self.bench("bench_view", self.small_profile(), "--rounds", 1, "--windows", 3)
        self.assertIn("whole run ms", said)

    def test_bench_overhead(self):
        program = self.folder / "launches"
        program.write_text(PROGRAM, encoding="utf-8")
        program.chmod(0o755)
        result = self.folder / "result.json"
        cupti = BUILD / "tests" / "fake" / "libcupti.so.13"
        said = self.bench("bench_overhead", "--rounds", 2, "--launches", 10, "--program", program,
                          "--cupti", cupti, "--json", result)  # fmt: skip
        self.assertRegex(said, r"gpuprof / bare: 1\.000 of the medians")
        runs = json.loads(result.read_text(encoding="utf-8"))["runs"]
        self.assertEqual({name: len(each) for name, each in runs.items()},
                         {"none": 2, "bare": 2, "gpuprof": 2})  # fmt: skip

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
