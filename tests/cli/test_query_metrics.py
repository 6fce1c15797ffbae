"""gpuprof --query-metrics and --query-events, with the libcupti that needs no driver."""
# ctest-labels: plain

import csv
import ctypes.util
import functools
import io
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

from fake_run import GPUPROF, PATIENCE

SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
HOST = pathlib.Path(GPUPROF).resolve().parents[1] / "lib/gpuprof/host/libcupti.so.13"
SKIPPED = 77


def query(*words, chip="GH100"):
    command = [GPUPROF, "--cupti", str(HOST), "--chip", chip, *words]
    return subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE)


@functools.cache
def all_metrics():
    """Of a chip with few: CUPTI takes 1 ms for each to describe it."""
    return query("--query-metrics", chip="TU117")


class QueryMetrics(unittest.TestCase):
    def output(self, *words, **more):
        ran = query(*words, **more)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def test_everything(self):
        """nvprof's names in nvprof's layout, then CUPTI's."""
        ran = all_metrics()
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        lines = ran.stdout.splitlines()
        self.assertEqual(lines[:3], [
            "Available Metrics:", "                            Name   Description", "Chip TU117:",
        ])  # fmt: skip
        self.assertRegex(lines[3], "^        achieved_occupancy:  [A-Z]")
        missing, bases = lines.index("Not on this chip:"), lines.index("CUPTI's Metrics:")
        self.assertLess(missing, bases)
        not_there = lines[missing:bases]
        self.assertTrue(any(line.startswith("        cf_issued:  ") for line in not_there))
        self.assertGreater(len(lines) - bases, 1700)
        text = "\n".join(lines[bases:])
        for line in (
            "        counter:  .avg .max .min .sum, alone or with .peak_sustained",
            "        dram__bytes_read:  # of bytes read from DRAM (counter, dram, byte)\n",
        ):
            self.assertIn("\n" + line, text)
        self.assertNotIn("passes", text)

    def test_products_and_capabilities(self):
        expected = self.output("--query-metrics", "--filter", "^ipc$")
        for name in ("H100", "h200", "sm_90", "NVIDIA H100", "gh100"):
            self.assertEqual(self.output("--query-metrics", "--filter", "^ipc$", chip=name),
                             expected, name)  # fmt: skip
        for name, chip in (("A100", "GA100"), ("GeForce RTX 4090", "AD102"), ("L4", "AD104")):
            self.assertIn(f"Chip {chip}:",
                          self.output("--query-metrics", "--filter", "^ipc$", chip=name))  # fmt: skip
        ran = query("--query-metrics", chip="sm_86")
        self.assertEqual(ran.returncode, 5)
        self.assertIn("GA102, GA103, GA104, GA106, GA107", ran.stderr)
        # --metrics-plan uses the same names.
        plan = query("--metrics-plan", "--metrics", "ipc", chip="H200")
        self.assertIn("GH100", plan.stdout, plan.stderr)

    def test_filter(self):
        text = self.output("--query-metrics", "--filter", "^dram_read|^dram__bytes_")
        self.assertEqual(
            re.findall(r"^        (\w+):  ", text, re.MULTILINE),
            ["dram_read_bytes", "dram_read_throughput", "dram_read_transactions", "counter",
             "dram__bytes_read", "dram__bytes_write"],
        )  # fmt: skip
        self.assertIn("            = dram__bytes_read.sum.per_second\n", text)
        self.assertEqual(len(re.findall("passes 1[)]$", text, re.MULTILINE)), 2)
        # Not a regular expression.
        self.assertEqual(query("--query-metrics", "--filter", "(").returncode, 5)

    def test_one_metric(self):
        text = self.output("--query-metrics", "--filter", "sm__throughput")
        self.assertTrue(text.startswith("sm__throughput on GH100\n"))
        self.assertRegex(text, "\n    type +throughput\n")
        self.assertRegex(text, r"\n        passes [2-9]: \.avg ")
        self.assertRegex(text, "\n        sm__inst_executed.sum: [0-9]+\n")
        device = self.output("--query-metrics", "--filter", "nvlrx__bytes")
        self.assertRegex(device, "\n    counted for +the whole device")
        self.assertIn("\n        sm__inst_executed.sum: cannot be combined\n", device)

    def test_json(self):
        document = json.loads(
            self.output("--query-metrics", "--query-events", "--json", "--filter", "ipc$|fb_subp0")
        )
        self.assertEqual(document["chip"], "GH100")
        self.assertEqual([row["name"] for row in document["nvprof_metrics"]], ["ipc", "issued_ipc"])
        self.assertEqual(document["nvprof_metrics"][0]["counters"],
                         [document["nvprof_metrics"][0]["formula"]])  # fmt: skip
        events = document["nvprof_events"]
        self.assertEqual([row["name"] for row in events],
                         ["fb_subp0_read_sectors", "fb_subp0_write_sectors"])  # fmt: skip
        self.assertIn("do not add them", events[0]["note"])
        base = json.loads(self.output("--query-metrics", "--json", "--filter", "dram__bytes_read"))
        self.assertEqual(base["metrics"], [{
            "name": "dram__bytes_read", "type": "counter",
            "description": "# of bytes read from DRAM",
            "hardware_unit": "dram", "dimension": "byte", "device_level": False, "passes": 1,
        }])  # fmt: skip
        self.assertIn(".sum.per_second", base["sub_metrics"]["counter"])

    def test_csv(self):
        text = self.output("--query-events", "--csv", chip="GB202")
        rows = {row["Name"]: row for row in csv.DictReader(io.StringIO(text))}
        self.assertEqual(len(rows), 72)
        self.assertEqual(rows["fb_subp0_read_sectors"]["Formula"], "dram__sectors_op_read.sum")
        self.assertEqual({row["Kind"] for row in rows.values()}, {"nvprof event"})
        self.assertEqual({row["Chip"] for row in rows.values()}, {"GB202"})

    def test_wrong_chip(self):
        ran = query("--query-metrics", chip="GH999")
        self.assertEqual(ran.returncode, 5)
        self.assertIn("CUPTI knows no chip GH999", ran.stderr)
        self.assertIn("GB202", ran.stderr)
        self.assertIn("Chip AD102:", self.output("--query-events", chip="ad102"))

    def test_nothing_found(self):
        ran = query("--query-metrics", "--filter", "dram__bytes_raed")
        self.assertEqual((ran.returncode, ran.stdout), (5, ""))
        self.assertIn("did you mean: dram__bytes_read", ran.stderr)

    def test_no_cupti(self):
        ran = subprocess.run(
            [GPUPROF, "--cupti", "/dev/null", "--chip", "GH100", "--query-metrics"],
            capture_output=True, text=True,
        )  # fmt: skip
        self.assertEqual(ran.returncode, 22)
        self.assertIn("metrics need CUPTI", ran.stderr)
        self.hints_at_what_answers(ran.stderr)

    def hints_at_what_answers(self, text):
        if ctypes.util.find_library("cuda"):
            self.assertIn("name a libcupti of CUDA 12.6 or newer", text)
        else:
            self.assertIn("without a driver CUPTI up to 13.1 answers: pip install", text)

    def test_a_list_in_place_of_a_libcupti(self):
        """It answers about a chip as its libcupti did, except for passes."""
        with tempfile.TemporaryDirectory(prefix="gpuprof-metrics-") as folder:
            metrics = pathlib.Path(folder) / "metrics.catalogue"
            subprocess.run([sys.executable, SOURCE / "scripts/metric_catalogue", "--cupti", HOST.resolve(),
                            "--output", metrics, "--chips", "TU117"],
                           check=True, stdout=subprocess.DEVNULL)  # fmt: skip

            def of_list(*words):
                return subprocess.run([GPUPROF, "--cupti", metrics, "--chip", "TU117", *words],
                                      capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip

            for words in (
                ["--query-metrics"],
                ["--query-events"],
                ["--query-metrics", "--json"],
                ["--query-metrics", "--csv"],
                ["--query-metrics", "--filter", "^dram__bytes_raed"],
            ):
                with self.subTest(words):
                    everything = words == ["--query-metrics"]
                    theirs = all_metrics() if everything else query(*words, chip="TU117")
                    ours = of_list(*words)
                    self.assertEqual((ours.returncode, ours.stdout, ours.stderr),
                                     (theirs.returncode, theirs.stdout, theirs.stderr))  # fmt: skip
            one = of_list("--query-metrics", "--filter", "sm__throughput").stdout
            self.assertTrue(one.startswith("sm__throughput on TU117\n"))
            self.assertIn("passes         not known here", one)
            self.assertIn(".avg .max .min .sum, with .pct_of_peak_sustained_active", one)
            listed = of_list("--query-metrics", "--filter", "^dram__bytes_").stdout
            self.assertIn("dram__bytes_read:  ", listed)
            self.assertNotIn("passes", listed)
            ran = of_list("--metrics-plan", "--metrics", "dram__bytes_read.sum")
            self.assertEqual(ran.returncode, 22)
            self.assertIn("no CUPTI here can say which counters metrics take", ran.stderr)
            self.hints_at_what_answers(ran.stderr)
            # Names are available.
            ran = of_list("--metrics-plan", "--metrics", "dram__bytes_raed.sum")
            self.assertEqual(ran.returncode, 5)
            self.assertIn("did you mean dram__bytes_read.sum", ran.stderr)
            ran = subprocess.run([GPUPROF, "--cupti", metrics, "--chip", "GH100", "--query-metrics"],
                                 capture_output=True, text=True)  # fmt: skip
            self.assertEqual(ran.returncode, 5)
            self.assertIn("CUPTI knows no chip GH100", ran.stderr)
            for wrong in (
                b"",
                b"gpuprof metrics 2\n",
                b"gpuprof metrics 1\nchip\tTU117\nmetric\ta\t9\n",
            ):
                metrics.write_bytes(wrong)
                ran = of_list("--query-metrics")
                self.assertEqual(ran.returncode, 22)
                self.assertIn("is not a list of metrics", ran.stderr)


if __name__ == "__main__":
    if not HOST.exists():
        print(f"{HOST} is missing: scripts/setup gets it")
        sys.exit(SKIPPED)
    unittest.main()
