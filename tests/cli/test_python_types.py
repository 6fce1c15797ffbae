# ctest-labels: plain
"""What type checkers know about the Python package, from the view of a program that uses it.

Without mypy (installed by scripts/setup) only the list of tables is tested."""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", ""))
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
GPUPROF = os.environ.get("GPUPROF", "")
PACKAGES = BUILD / "share" / "gpuprof" / "python"

sys.path.append(str(SOURCE / "tests" / "support"))
sys.path.insert(0, str(PACKAGES))

import gpuprof  # noqa: E402
from packages import TOOLS  # noqa: E402

MYPY = TOOLS / "mypy"

# Lines with a comment are those in which something is found.
PROGRAM = """
import gpuprof
from gpuprof import pm_sampling

run = gpuprof.open(["a.sqlite", "b.sqlite"])
reveal_type(run)  # "gpuprof_cuda._run.Run"
reveal_type(run.kernels.where(name="gemm", device=[0, 1]).columns("start"))  # "gpuprof_cuda._table.Table"
reveal_type(run.CUPTI_ACTIVITY_KIND_DEVICE)  # "gpuprof_cuda._table.Table"
reveal_type(run.table("profGraph"))  # "gpuprof_cuda._table.Table"
reveal_type(run.memory.by("nvtx"))  # "gpuprof_cuda._table.Answer"
reveal_type(run.summary())  # "str"
reveal_type(len(run.kernels))  # "int"
reveal_type(next(run.kernels.dicts()))  # "dict[str, Any]"
run.kernels.parquet(7)  # "int"
run.kernls  # "kernls"
run.memory.by("nobody")  # "Literal['nobody']"
run.kernels.where("gemm")  # Too many positional arguments
run.report("gpu-trace", layout="xml")  # "Literal['xml']"
gpuprof.open(7)  # "int"
with gpuprof.trace("c.sqlite", "gpu") as t:
    reveal_type(t.run)  # "gpuprof_cuda._run.Run"
reveal_type(gpuprof.bench(print, runs=3).median_ns)  # "float"
with gpuprof.range("step", ["dram__bytes_read.sum"]) as r:
    reveal_type(r.values)  # "dict[str, float | None]"
reveal_type(gpuprof.range("step", "dram__bytes_read.sum").run(print, 7))  # "gpuprof_cuda._range.Range"
gpuprof.range("step", 7)  # "int"
@gpuprof.measure(configs=[(1024,)], runs=3)
def product(n: int) -> None: ...
reveal_type(product())  # "gpuprof_cuda._measure.Measured"
with pm_sampling.Collector() as c:
    data = c.decode()
    reveal_type(data[0])  # "gpuprof_cuda._counter_data.Sample"
    reveal_type(data[:2])  # "list[gpuprof_cuda._counter_data.Sample]"
"""


class Types(unittest.TestCase):
    maxDiff = None

    def test_the_tables_that_are_named_are_those_of_a_file(self):
        stub = (PACKAGES / "gpuprof_cuda" / "_tables.pyi").read_text(encoding="utf-8")
        names = re.findall(r"^    (\w+): Table$", stub, re.MULTILINE)
        self.assertFalse(set(names) & set(vars(gpuprof.Run)))
        with tempfile.TemporaryDirectory(prefix="gpuprof-types-") as folder:
            path = os.path.join(folder, "run.sqlite")
            capture = SOURCE / "tests" / "captures" / "vector_add.gpcap"
            subprocess.run([GPUPROF, "replay", capture, "-q", "-o", path], check=True)
            with gpuprof.open(path) as run:
                tables = run.catalogue()
        self.assertEqual([name for name in names if name not in tables], [])
        views = [name for name, table in tables.items() if table["view"] and name[0].islower()]
        # Views that nvprof's readers expect but gpuprof never fills are not in the list.
        self.assertEqual(
            {name for name in views if name not in names},
            {"collLibrary", "collFunction", "collInstruction", "collSourcePos", "collCCFFMessage",
             "collHit", "collFunctionCall", "collRootCall", "collFunctionCCFFMessage",
             "collInstructionCCFFMessage", "collSourcePosCCFFMessage", "profIndex",
             "profStringTable", "profCall", "profGraph"})  # fmt: skip

    @unittest.skipUnless(MYPY.is_dir(), "there is no mypy")
    def test_mypy_sees_the_types_and_wrong_names_of_a_program(self):
        with tempfile.TemporaryDirectory(prefix="gpuprof-types-") as folder:
            program = pathlib.Path(folder) / "program.py"
            program.write_text(PROGRAM, encoding="utf-8")
            ran = subprocess.run(
                [sys.executable, "-m", "mypy", "--config-file=", "--cache-dir=/dev/null",
                 "--ignore-missing-imports", "--no-error-summary", "program.py"],
                env={**os.environ, "PYTHONPATH": str(MYPY), "MYPYPATH": str(PACKAGES)},
                cwd=folder, capture_output=True, text=True, check=False)  # fmt: skip
        self.assertEqual(ran.stderr, "")
        found = {}
        for line in ran.stdout.splitlines():
            place, _, said = line.partition(": ")
            file, _, number = place.partition(":")
            self.assertEqual(file, "program.py", line)
            found[int(number)] = found.get(int(number), "") + said
        for number, line in enumerate(PROGRAM.splitlines(), 1):
            code, _, wanted = line.partition("  # ")
            with self.subTest(code=code):
                self.assertIn(wanted, found.pop(number, ""))
        self.assertEqual(found, {})


if __name__ == "__main__":
    unittest.main()
