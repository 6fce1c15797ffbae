# ctest-cost: 25
"""scripts/bench_torch with a child that does not need PyTorch: its turns, its numbers, its failures."""
# ctest-labels: plain

import importlib.machinery
import importlib.util
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", "."))
SOURCE = pathlib.Path(__file__).resolve().parents[2]
CHILD = pathlib.Path(__file__).parent / "fake_torch.py"
BENCH = SOURCE / "scripts" / "bench_torch"
sys.path.insert(0, str(BENCH.parent))
sys.dont_write_bytecode = True
import benchmark  # noqa: E402

OURS = ["none", "gpuprof", "gpuprof+queries", "gpuprof-gpu", "gpuprof+graph"]


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class BenchTorch(unittest.TestCase):
    def bench(self, *options, trouble="", variants=OURS, rounds=3):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-cli-")
        self.addCleanup(folder.cleanup)
        self.json = pathlib.Path(folder.name) / "result.json"
        process = subprocess.run(
            [sys.executable, BENCH, "--build", BUILD, "--rounds", str(rounds), "--seconds", "0.05",
             "--child-program", CHILD, "--json", self.json, "--python", sys.executable,
             "--cupti", BUILD / "lib/gpuprof/libcupti.so.13", "--variants", *variants, *options],
            env={**os.environ, "FAKE_TORCH": trouble, "PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, timeout=200)  # fmt: skip
        result = json.loads(self.json.read_text()) if self.json.exists() else None
        return process, result

    def test_intervals(self):
        """Of six rounds, all of which have the same ratio."""
        process, result = self.bench("--only", "captures", "--settle", "0", variants=["none", "gpuprof-stacks", "gpuprof+stacks"], rounds=6)  # fmt: skip
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertIn("gpuprof+stacks / gpuprof-stacks: 1.200 of the medians, by round 1.200 (1.200 to 1.200)", process.stdout)  # fmt: skip
        for end in ("least", "greatest"):
            bounds = self.figures(result, f"{end} of the median by round, 95 %")
            self.assertAlmostEqual(bounds["captures, gpuprof+stacks / gpuprof-stacks"], 1.2)

    def test_resting(self):
        variants = ["none", "gpuprof+host", "gpuprof+host-resting"]
        process, result = self.bench("--only", "captures", "--settle", "0", variants=variants)
        self.assertEqual(process.returncode, 0, process.stderr)
        medians = self.figures(result, "ms per step")
        self.assertEqual([medians[f"captures, {name}"] for name in variants], [10, 15, 13])
        self.assertIn("gpuprof+host / gpuprof+host-resting: 1.154 of the medians", process.stdout)

    def test_options(self):
        """Each variant of gpuprof is another one."""
        loader = importlib.machinery.SourceFileLoader("bench_torch", str(BENCH))
        bench = importlib.util.module_from_spec(
            importlib.util.spec_from_loader("bench_torch", loader)
        )
        loader.exec_module(bench)
        options = [tuple(words) for words in bench.OPTIONS.values()]
        self.assertEqual(len(set(options)), len(options))
        for words in options:
            with self.subTest(words=words), tempfile.TemporaryDirectory() as folder:
                ran = subprocess.run([GPUPROF, "-q", "-o", f"{folder}/run.sqlite", *words, "true"], capture_output=True, text=True, check=False)  # fmt: skip
                self.assertEqual(ran.returncode, 0, ran.stderr)

    def test_limit(self):
        process, result = self.bench("--only", "gpt2", "--limit", "0", variants=["none", "gpuprof"])
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(self.figures(result, "ms per step", "values"), {"gpt2, none": [10], "gpt2, gpuprof": [13]})  # fmt: skip
        self.assertEqual((result["rounds"], result["parameters"]["processes"]), (1, 1))
        self.assertRegex(process.stdout, "^1 rounds, 1 processes of each variant")

    def test_interval_of_median(self):
        self.assertIsNone(benchmark.interval_of_median([1, 2, 3, 4, 5]))
        self.assertEqual(benchmark.interval_of_median([6, 5, 4, 3, 2, 1]), (1, 6))
        # As in tables of the sign test.
        self.assertEqual(benchmark.interval_of_median(range(1, 101)), (40, 61))

    def figures(self, result, unit, key="median"):
        return {f["name"]: f[key] for f in result["figures"] if f["unit"] == unit}

    def test_turns_and_numbers(self):
        variants = ["none", "bare", "bare+queries", *OURS[1:]]
        process, result = self.bench("--only", "launch_bound", "gpt2", variants=variants)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(result["problems"], [])
        workloads = ("launch_bound", "gpt2")
        self.assertEqual(result["parameters"]["steps"], dict.fromkeys(workloads, 5))
        values = self.figures(result, "ms per step", "values")
        self.assertEqual(set(values), {f"{w}, {v}" for w in workloads for v in variants})
        self.assertEqual({len(times) for times in values.values()}, {3})
        medians = self.figures(result, "ms per step")
        ratios = self.figures(result, "ratio of the medians")
        by_round = self.figures(result, "median of the ratios by round")
        for workload in workloads:
            self.assertEqual(medians[f"{workload}, gpuprof"], 13)
            for name, ratio in (("gpuprof-gpu / none", 1.1), ("gpuprof / bare", 1.0)):
                self.assertEqual(ratios[f"{workload}, {name}"], ratio)
                self.assertEqual(by_round[f"{workload}, {name}"], ratio)
            self.assertAlmostEqual(ratios[f"{workload}, gpuprof+queries / bare+queries"], 1.2)
        # Three rounds are too few for an interval.
        self.assertNotIn("95 %", process.stdout + json.dumps(result))
        # Files of two processes each; without a GPU there are no records in them.
        counts = {
            unit: self.figures(result, unit) for unit in ("bytes", "records", "calls", "kernels")
        }
        for variant in OURS[1:]:
            bytes_, *others = (count[f"files, {variant}"] for count in counts.values())
            self.assertGreater(bytes_, 0)
            self.assertEqual(others, [0, 0, 0])
        self.assertRegex(process.stdout, r"(?m)^  gpuprof +13\.000 +13\.000 +13\.000 +1\.300$")
        self.assertRegex(process.stdout, r"(?m)^  gpuprof-gpu +0 +0 +0 +\d+\.\d$")

    def test_what_is_not_there_is_left_out(self):
        # Neither nsys, nor transformers in one process of the variant "none".
        process, result = self.bench(
            "--only", "launch_bound", "gpt2", variants=["none", "gpuprof", "nsys"],
            trouble="fails-gpt2:gpuprof", rounds=1)  # fmt: skip
        self.assertEqual(process.returncode, 1)
        self.assertEqual(set(self.figures(result, "ms per step")),
                         {"gpt2, none", "launch_bound, none", "launch_bound, gpuprof"})  # fmt: skip
        self.assertEqual(result["remarks"], ["nsys: there is no nsys on the PATH"])
        self.assertEqual(result["problems"], ["gpuprof: gpt2: ImportError: no transformers"])

    def test_a_process_that_dies(self):
        process, result = self.bench("--only", "launch_bound", trouble="dies:gpuprof")
        self.assertEqual(process.returncode, 1)
        medians = self.figures(result, "ms per step")
        self.assertNotIn("launch_bound, gpuprof", medians)
        self.assertEqual(medians["launch_bound, gpuprof-gpu"], 11)
        self.assertIn("no GPU here", process.stderr)
        # One that dies between rounds: its earlier measurements are kept.
        process, result = self.bench(
            "--only", "launch_bound", "--processes", "1", trouble="dies-later:gpuprof-gpu", rounds=5
        )
        self.assertEqual(process.returncode, 1)
        values = self.figures(result, "ms per step", "values")
        self.assertEqual(values["launch_bound, gpuprof-gpu"], [11, 11, 11, None, None])
        self.assertEqual(len(values["launch_bound, none"]), 5)

    def test_a_process_that_says_nothing(self):
        code = (
            "import importlib.machinery, importlib.util, os, sys\n"
            "sys.path.insert(0, os.path.dirname(sys.argv[1]))\n"
            "loader = importlib.machinery.SourceFileLoader('bench_torch', sys.argv.pop(1))\n"
            "spec = importlib.util.spec_from_loader('bench_torch', loader)\n"
            "bench = importlib.util.module_from_spec(spec)\n"
            "loader.exec_module(bench)\n"
            "bench.READY_SECONDS = 15\n"
            "sys.exit(bench.main())\n"
        )
        process = subprocess.run(
            [sys.executable, "-B", "-c", code, BENCH, "--build", BUILD, "--rounds", "1", "--only",
             "launch_bound", "--child-program", CHILD, "--variants", "none", "gpuprof"],
            env={**os.environ, "FAKE_TORCH": "silent:gpuprof"},
            capture_output=True, text=True, timeout=100)  # fmt: skip
        self.assertEqual(process.returncode, 1)
        self.assertIn("gpuprof: did not answer within", process.stderr)
        self.assertRegex(process.stdout, r"(?m)^  none +10\.000")


if __name__ == "__main__":
    unittest.main()
