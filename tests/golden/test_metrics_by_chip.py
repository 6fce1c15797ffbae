"""Which formula of each of nvprof's metrics and events a chip can collect: metrics_by_chip.tsv.

A row per name, a column per chip: 1 or 2 for the first formula that CUPTI takes, - for none.

  python3 tests/golden/test_metrics_by_chip.py --write

writes it anew. To be read before it is committed: a "-" that is new is a metric that was lost.
"""
# ctest-requires: cupti

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
    # The one that the golden file was made with, with a driver too.
    command = [GPUPROF, "metric-map", "--by-chip", "--cupti", str(HOST)]
    ran = subprocess.run(command, capture_output=True, text=True, timeout=200)
    if ran.returncode:
        raise AssertionError(ran.stderr)
    return ran.stdout


def rows(text):
    lines = [line.split("\t") for line in text.splitlines()]
    chips = lines[0][2:]
    return {(kind, name): dict(zip(chips, row)) for kind, name, *row in lines[1:]}


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
        """One that no chip takes has a misspelt name, or is behind one that they all take."""
        printed = subprocess.run([GPUPROF, "metric-map"], capture_output=True, text=True).stdout
        rows = [line.split(" | ") for line in printed.splitlines() if line.startswith("| `")]
        formulas = {row[0].strip("| `"): row[2].split("<br>") for row in rows if row[2]}
        # Names that CUPTI before 13.0 has.
        older = {"warp_execution_efficiency", "warp_nonpred_execution_efficiency"}
        for (kind, name), choices in self.found.items():
            if kind == "event" and ("metric", name) in self.found:
                continue
            used = set(choices.values()) - {"-"}
            count = 1 if name in older else len(formulas[name])
            with self.subTest(name=name):
                self.assertEqual(used, {str(i + 1) for i in range(count)})

    def test_what_is_missing(self):
        """Of the names that have a formula."""
        missing = {name for (_, name), row in self.found.items() for c in row if row[c] == "-"}
        for name in missing:
            with self.subTest(name=name):
                self.assertRegex(
                    name,
                    "^(dram_|fb_subp|nvlink_|pcie_)"  # chips without such a memory or link
                    "|^l2_local_load_bytes$|^stall_constant_memory_dependency$",
                )


if __name__ == "__main__":
    if os.environ.get("GPUPROF_SANITIZE"):
        print("a sanitizer refuses CUPTI's dlopen with RTLD_DEEPBIND")
        sys.exit(SKIPPED)
    if not HOST.exists():
        print(f"{HOST} is missing: scripts/setup gets it")
        sys.exit(SKIPPED)
    if sys.argv[1:] == ["--write"]:
        GOLDEN.write_text(by_chip(), encoding="utf-8")
    else:
        unittest.main()
