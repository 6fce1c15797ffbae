# ctest-cost: 25
"""scripts/bench_torch with a child that does not need PyTorch: its turns, its numbers, its failures."""

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
# These have no bare collector, and would test nothing more of the script.
SANITIZED = bool(os.environ.get("GPUPROF_SANITIZE"))
OURS = ["none", "gpuprof", "gpuprof+queries", "gpuprof-gpu", "gpuprof+graph"]


@unittest.skipUnless(GPUPROF and not SANITIZED, "GPUPROF is not set, or has a sanitizer")
class BenchTorch(unittest.TestCase):
    def bench(self, *options, trouble="", variants=OURS, rounds=3):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-cli-")
        self.addCleanup(folder.cleanup)
        self.json = pathlib.Path(folder.name) / "result.json"
        process = subprocess.run(
            [sys.executable, BENCH, "--build", BUILD, "--rounds", str(rounds), "--seconds", "0.05",
             "--child-program", CHILD, "--json", self.json, "--variants", *variants, *options],
            env={**os.environ, "FAKE_TORCH": trouble, "PATH": "/usr/bin:/bin"},
            capture_output=True, text=True, timeout=200)  # fmt: skip
        result = json.loads(self.json.read_text()) if self.json.exists() else None
        return process, result

    def test_turns_and_numbers(self):
        variants = ["none", "bare", "bare+queries", *OURS[1:]]
        process, result = self.bench("--only", "launch_bound", "gpt2", variants=variants)
        self.assertEqual(process.returncode, 0, process.stderr)
        self.assertEqual(result["problems"], [])
        self.assertEqual(set(result["workloads"]), {"launch_bound", "gpt2"})
        for workload in result["workloads"].values():
            self.assertEqual(workload["steps"], 5)
            self.assertEqual(set(workload["ms"]), set(variants))
            for times in workload["ms"].values():
                self.assertEqual(len(times), 3)
            self.assertEqual(workload["median_ms"]["gpuprof"], 13)
            self.assertEqual(workload["ratios"]["gpuprof-gpu / none"], [1.1, 1.1])
            self.assertEqual(workload["ratios"]["gpuprof / bare"], [1.0, 1.0])
            self.assertAlmostEqual(workload["ratios"]["gpuprof+queries / bare+queries"][0], 1.2)
        # Files of two processes each; without a GPU there are no records in them.
        for variant in OURS[1:]:
            file = result["files"][variant]
            self.assertGreater(file["bytes"], 0)
            self.assertEqual((file["records"], file["calls"], file["kernels"]), (0, 0, 0))
        self.assertRegex(process.stdout, r"(?m)^  gpuprof +13\.000 +13\.000 +13\.000 +1\.300$")
        self.assertRegex(process.stdout, r"(?m)^  gpuprof-gpu +0 +0 +0 +\d+\.\d$")

    def test_what_is_not_there_is_left_out(self):
        # Neither nsys, nor transformers in one process of the variant "none".
        process, result = self.bench(
            "--only", "launch_bound", "gpt2", variants=["none", "gpuprof", "nsys"],
            trouble="fails-gpt2:gpuprof", rounds=1)  # fmt: skip
        self.assertEqual(process.returncode, 1)
        self.assertEqual(set(result["workloads"]["gpt2"]["median_ms"]), {"none"})
        self.assertEqual(set(result["workloads"]["launch_bound"]["median_ms"]), {"none", "gpuprof"})
        self.assertEqual(result["remarks"], ["nsys: there is no nsys on the PATH"])
        self.assertEqual(result["problems"], ["gpuprof: gpt2: ImportError: no transformers"])

    def test_a_process_that_dies(self):
        process, result = self.bench("--only", "launch_bound", trouble="dies:gpuprof")
        self.assertEqual(process.returncode, 1)
        self.assertNotIn("gpuprof", result["workloads"]["launch_bound"]["median_ms"])
        self.assertEqual(result["workloads"]["launch_bound"]["median_ms"]["gpuprof-gpu"], 11)
        self.assertIn("no GPU here", process.stderr)
        # One that dies between rounds: its earlier measurements are kept.
        process, result = self.bench(
            "--only", "launch_bound", "--processes", "1", trouble="dies-later:gpuprof-gpu", rounds=5
        )
        self.assertEqual(process.returncode, 1)
        times = result["workloads"]["launch_bound"]["ms"]["gpuprof-gpu"]
        self.assertEqual(times, [11, 11, 11, None, None])
        self.assertEqual(len(result["workloads"]["launch_bound"]["ms"]["none"]), 5)

    def test_a_process_that_says_nothing(self):
        code = (
            "import importlib.machinery, importlib.util, sys\n"
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
