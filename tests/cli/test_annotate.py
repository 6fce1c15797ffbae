"""gpuprof annotate on captures of an H200: sums match the tables, and no program runs unasked."""
# ctest-labels: plain

import os
import pathlib
import re
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))
from scripts import load_script  # noqa: E402

make_expected = load_script(TESTS / "captures" / "make_expected")

GPUPROF = os.environ.get("GPUPROF", "")
ROW = re.compile(
    r" *(?:(?P<share>[0-9.]+)% +(?P<samples>[0-9]+))? +(?P<pc>[0-9a-f]{4,5})(?:  (?P<text>.*))?$"
)


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Annotate(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-annotate-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def profile(self, name):
        (capture,) = [each for each in make_expected.captures() if each.stem == name]
        return make_expected.replayed(GPUPROF, capture, str(self.folder / f"{name}.sqlite"))

    def annotate(self, *words, check=0, path=None):
        environment = {**os.environ, **({"PATH": path} if path else {})}
        ran = subprocess.run([GPUPROF, "annotate", *map(str, words)], capture_output=True,
                             text=True, env=environment)  # fmt: skip
        self.assertEqual(ran.returncode, check, ran.stderr)
        return ran

    def nvdisasm(self, script):
        program = self.folder / "nvdisasm"
        program.write_text(f"#!/bin/sh\n{script}\n")
        program.chmod(0o755)
        return program

    def test_samples(self):
        profile = self.profile("pc_sampling")
        text = self.annotate(profile).stdout
        functions = re.split(r"\n\n", text)
        found = {}
        for function in functions:
            rows = [ROW.match(line) for line in function.splitlines()]
            found[function.split("(")[0]] = {
                int(row["pc"], 16): int(row["samples"]) for row in rows if row and row["samples"]
            }
        database = sqlite3.connect(profile)
        expected = {}
        for name, pc, samples in database.execute(
            "SELECT short_name, pc, sum(samples) FROM pc_samples GROUP BY 1, 2"
        ):
            expected.setdefault(name, {})[pc] = samples
        database.close()
        self.assertEqual(found, expected)
        self.assertTrue(text.startswith("strided("), text[:80])
        self.assertIn("; /tmp/gpuprof-sources/examples/slow_lines.cu:25\n", text)

    def test_counts(self):
        profile = self.profile("instructions")
        text = self.annotate(profile, "--kernels", "divergent", "--top", 1).stdout
        rows = [line.split() for line in text.splitlines()[3:] if ";" not in line]
        rows = [row for row in rows if len(row) == 3]
        database = sqlite3.connect(profile)
        expected = database.execute(
            """SELECT pcOffset, sum(executed), sum(threadsExecuted)
               FROM CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION AS i
               JOIN CUPTI_ACTIVITY_KIND_FUNCTION AS f ON f.id = i.functionId
               JOIN StringTable AS s ON s._id_ = f.name
               WHERE s.value LIKE '%divergent%' GROUP BY 1 ORDER BY 1"""
        ).fetchall()
        database.close()
        self.assertEqual(
            [(int(pc, 16), int(executed), threads) for executed, threads, pc in rows],
            [(pc, executed, f"{threads / executed:.2f}") for pc, executed, threads in expected],
        )

    def test_top_and_kernels(self):
        profile = self.profile("pc_sampling")
        self.assertIn("and 1 more functions", self.annotate(profile, "--top", 1).stdout)
        self.assertTrue(
            self.annotate(profile, "--kernels", "unbal").stdout.startswith("unbalanced(")
        )
        self.assertIn("such a kernel", self.annotate(profile, "--kernels", "x1", check=5).stderr)
        self.assertIn("--top", self.annotate(profile, "--top", "0", check=5).stderr)
        self.assertIn("--pc-sampling", self.annotate(self.profile("vector_add"), check=5).stderr)

    def test_assembly(self):
        profile = self.profile("pc_sampling")
        program = self.nvdisasm(r"""test "$1" = -c && test -s "$2" || exit 1
            printf '.text._Z7stridedPKfPf:\n  /*0120*/  LDG.E R5 ;\n  /*fff0*/ EXIT\033]0;x\007 ;\n'
        """)
        text = self.annotate(profile, "--kernels", "strided", "--nvdisasm", program).stdout
        rows = {row["pc"]: row for row in map(ROW.match, text.splitlines()) if row}
        self.assertEqual(rows["0120"]["text"], "LDG.E R5")
        self.assertGreater(int(rows["0120"]["samples"]), 0)
        # Every instruction is printed, and none of its text can control a terminal.
        self.assertIsNone(rows["fff0"]["samples"])
        self.assertNotIn("\x1b", text)
        # Also found automatically.
        path = f"{self.folder}:{os.environ['PATH']}"
        self.assertIn("LDG.E R5", self.annotate(profile, "--disassemble", path=path).stdout)

    def test_nothing_runs_unasked(self):
        self.nvdisasm(f"touch {self.folder}/ran")
        self.annotate(self.profile("pc_sampling"), path=f"{self.folder}:{os.environ['PATH']}")
        self.assertFalse((self.folder / "ran").exists())

    def test_a_disassembler_that_fails(self):
        profile = self.profile("pc_sampling")
        told = self.annotate(profile, "--nvdisasm", self.nvdisasm("exit 3"), check=20).stderr
        self.assertIn("cannot read a cubin", told)
        told = self.annotate(profile, "--nvdisasm", self.folder / "none", check=5).stderr
        self.assertIn("cuda-nvdisasm", told)


if __name__ == "__main__":
    unittest.main()
