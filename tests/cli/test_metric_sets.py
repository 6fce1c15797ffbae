"""--set: what each set measures on each chip, and in how many runs, with the libcupti that needs no driver."""
# ctest-labels: plain

import csv
import os
import pathlib
import re
import subprocess
import sys
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
HOST = pathlib.Path(GPUPROF).resolve().parents[1] / "lib/gpuprof/host/libcupti.so.13"
SETS = "roofline", "memory", "compute", "occupancy", "findings", "stalls"
SHARED_MEMORY = {"GA10B", "GB10B", "GB20B", "GB20C"}
NO_TENSOR_CORES = {"TU116", "TU117"}
TENSOR = "sm__ops_path_tensor_"
SKIPPED = 77
PATIENCE = 400 if os.environ.get("GPUPROF_EMULATED") else 100


def gpuprof(*words):
    return subprocess.run(
        [GPUPROF, *map(str, words)], capture_output=True, text=True, timeout=PATIENCE
    )


class MetricSets(unittest.TestCase):
    def plan(self, *words, chip="GH100"):
        ran = gpuprof("--cupti", HOST, "--chip", chip, "--metrics-plan", *words)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def test_each_chip_has_all_of_each_set(self):
        """But for bytes of memory that others share, and types of numbers that it does not know."""
        ran = gpuprof("metric-map", "--sets", "--cupti", HOST)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        rows = list(csv.DictReader(ran.stdout.splitlines(), delimiter="\t"))
        with open(SOURCE / "tests/golden/metrics_by_chip.tsv", encoding="utf-8") as golden:
            chips = golden.readline().split()[2:]
        self.assertEqual([(row["chip"], row["set"]) for row in rows],
                         [(chip, name) for chip in chips for name in SETS])  # fmt: skip
        of_gh100 = {
            row["set"]: set(row["metrics"].split(",")) for row in rows if row["chip"] == "GH100"
        }
        for row in rows:
            chip, name = row["chip"], row["set"]
            with self.subTest(chip=chip, set=name):
                metrics = set(filter(None, row["metrics"].split(",")))
                tensor = {metric for metric in metrics if metric.startswith(TENSOR)}
                lacking = set(filter(None, row["left out"].split(": ")[0].split(",")))
                expected = {m for m in of_gh100[name] if m and not m.startswith(TENSOR)}
                memory = {metric for metric in expected if metric.startswith("dram_")}
                self.assertEqual(metrics - tensor, expected - lacking)
                self.assertEqual(lacking, memory if chip in SHARED_MEMORY else set())
                self.assertEqual(bool(tensor), name == "roofline" and chip not in NO_TENSOR_CORES)
                # Each type is counted as a number and as a share.
                types = {metric.split(".")[0] for metric in tensor}
                self.assertEqual(len(tensor), 2 * len(types))
                self.assertEqual(len({re.sub("op_h?g?mma_", "", t) for t in types}), len(types))
        self.assertFalse(of_gh100["stalls"] - {""})

    def test_runs_are_those_of_the_docs(self):
        page = (SOURCE / "docs/metrics.md").read_text(encoding="utf-8")
        (table,) = re.findall(r"\n\| set \|.*?\n\n", page, re.DOTALL)
        heading, _, *rows = [line.strip("| ").split(" | ") for line in table.strip().splitlines()]
        chips = [chip.split()[-1] for chip in heading[2:]]
        self.assertEqual([row[0].strip("`") for row in rows], list(SETS))
        for name, _, *runs in rows[:-1]:
            for chip, number in zip(chips, runs):
                with self.subTest(set=name, chip=chip):
                    text = self.plan("--set", name.strip("`"), chip=chip)
                    self.assertRegex(text, rf"^application replay, {number} runs? of the program")
        self.assertEqual(set(rows[-1][2:]), {"1"})

    def test_with_other_metrics(self):
        text = self.plan("--set", "occupancy,compute", "--metrics", "ipc,issue_slot_utilization")
        for metric in "achieved_occupancy", "sm__inst_executed_pipe_fma", "    ipc = ":
            self.assertIn(metric, text)
        self.assertEqual(text.count("issue_slot_utilization"), 1)
        self.assertEqual(self.plan("--metrics", "@findings"), self.plan("--set", "findings"))
        # Each for its own kernels.
        text = self.plan(
            "--kernels", "gemm", "--set", "occupancy", "--kernels", "copy", "--set", "memory"
        )
        self.assertRegex(text, r"kernels gemm\n    achieved_occupancy")
        self.assertRegex(text, r"kernels copy\n    dram_read_bytes")

    def test_one_run(self):
        text = self.plan("--set", "roofline", "--replay-mode", "multiplex")
        self.assertTrue(text.startswith("multiplex replay, 1 run of the program"))
        self.assertIn("    flop_dp_efficiency", text)
        self.assertNotIn("is without", text)
        self.assertIn("sm__ops_path_tensor_src_bf16_dst_fp32.sum", text)
        self.assertIn(": not on chips that share",
                      self.plan("--set", "memory", chip="GB10B"))  # fmt: skip

    def test_words(self):
        text = gpuprof("--help", "set").stdout
        for name in SETS:
            self.assertRegex(text, rf"\n +{name}: ")
        ran = gpuprof("--set", "occupancy,rooflin", "true")
        self.assertEqual(ran.returncode, 5)
        self.assertIn("did you mean roofline?", ran.stderr)
        self.assertIn('"rooflin" is not one of these', ran.stderr)
        ran = gpuprof("--metrics", "ipc,@finding", "true")
        self.assertEqual(ran.returncode, 5)
        self.assertIn("did you mean findings?", ran.stderr)
        ran = gpuprof("--set", "stalls,roofline", "true")
        self.assertEqual(ran.returncode, 5)
        self.assertIn("--set stalls and --metrics or --set need the same counters", ran.stderr)


if __name__ == "__main__":
    if not HOST.exists():
        print(f"{HOST} is missing: scripts/setup gets it")
        sys.exit(SKIPPED)
    unittest.main()
