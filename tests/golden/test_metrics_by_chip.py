"""Which formula of each of nvprof's metrics and events a chip can collect: metrics_by_chip.tsv.

A row per name, a column per chip: 1, 2 or 3 for the first formula that CUPTI accepts, - for none.

  python3 tests/golden/test_metrics_by_chip.py --write

rewrites it. Read the difference before you commit it: a new "-" is a metric that was lost.
"""
# ctest-labels: plain

import os
import pathlib
import subprocess
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
GPUPROF = os.environ.get("GPUPROF") or str(ROOT / "build/bin/gpuprof")
GOLDEN = ROOT / "tests/golden/metrics_by_chip.tsv"
HOST = pathlib.Path(GPUPROF).resolve().parents[1] / "lib/gpuprof/host/libcupti.so.13"
SKIPPED = 77


def by_chip():
    # The version that made the golden file, even if there is a driver.
    command = [GPUPROF, "metric-map", "--by-chip", "--cupti", str(HOST)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=1800)
    if ran.returncode:
        raise AssertionError(ran.stderr)
    return ran.stdout


def rows(text):
    lines = [line.split("\t") for line in text.splitlines()]
    chips = lines[0][2:]
    return {(kind, name): dict(zip(chips, row)) for kind, name, *row in lines[1:]}


def metric_map():
    """Name, unit, formulas, note of each."""
    printed = subprocess.run([GPUPROF, "metric-map"], capture_output=True, text=True).stdout
    rows = [line.removesuffix("|").split(" | ") for line in printed.splitlines()]
    return [[row[0].strip("| `"), *(cell.strip() for cell in row[1:])]
            for row in rows if row[0].startswith("| `")]  # fmt: skip


class ByChip(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.golden = rows(GOLDEN.read_text(encoding="utf-8"))
        cls.found = rows(by_chip())

    def test_as_before(self):
        self.assertEqual(set(self.found), set(self.golden))
        for name, choices in self.golden.items():
            with self.subTest(name=name):
                self.assertEqual(self.found[name], choices)

    def test_each_formula_works_somewhere(self):
        """A formula that no chip accepts has a misspelt name, or follows one that all chips accept."""
        formulas = {row[0]: row[2].split("<br>") for row in metric_map() if row[2]}
        # Names that only CUPTI before 13.0 has.
        older = {"warp_execution_efficiency", "warp_nonpred_execution_efficiency"}
        for (kind, name), choices in self.found.items():
            if kind == "event" and ("metric", name) in self.found:
                continue
            used = set(choices.values()) - {"-"}
            count = 1 if name in older else len(formulas[name])
            with self.subTest(name=name):
                self.assertEqual(used, {str(i + 1) for i in range(count)})

    def test_what_a_chip_lacks_has_a_reason(self):
        notes = {row[0]: row[3] for row in metric_map()}
        for (_, name), row in self.found.items():
            if "-" in row.values():
                with self.subTest(name=name):
                    self.assertRegex(
                        notes[name], "not on chips|^newer chips do not|^Blackwell no longer"
                    )

    def test_names_that_several_counters_make_up(self):
        """On each chip, except those that have no such link."""
        without = {
            "nvlink": {"TU116", "TU117", "GA10B", "AD102", "AD103", "AD104", "AD106", "AD107",
                       "GB10B", "GB202", "GB203", "GB205", "GB206", "GB207", "GB20B", "GB20C"},
            "sysmem": {"GA10B", "GB10B", "GB20B", "GB20C"},
        }  # fmt: skip
        for name in (
            "cf_fu_utilization",
            "gld_requested_throughput",
            "gst_requested_throughput",
            "inst_replay_overhead",
            "ldst_executed",
            "local_hit_rate",
            "local_memory_overhead",
            "nvlink_data_receive_efficiency",
            "nvlink_data_transmission_efficiency",
            "nvlink_total_response_data_received",
            "nvlink_user_response_data_received",
            "shared_load_transactions_per_request",
            "shared_store_transactions_per_request",
            "sysmem_read_utilization",
            "sysmem_utilization",
            "sysmem_write_utilization",
            "tex_cache_throughput",
            "tex_utilization",
        ):
            with self.subTest(name=name):
                row = self.found["metric", name]
                lacking = {chip for chip, choice in row.items() if choice == "-"}
                self.assertEqual(lacking, without.get(name.split("_")[0], set()))


if __name__ == "__main__":
    if not HOST.exists():
        print(f"{HOST} is missing: scripts/setup gets it")
        sys.exit(SKIPPED)
    if sys.argv[1:] == ["--write"]:
        GOLDEN.write_text(by_chip(), encoding="utf-8")
    else:
        unittest.main()
