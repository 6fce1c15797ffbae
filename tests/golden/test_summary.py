"""The summary against nvprof 11.8's: databases of ./nvprof/*.json, printed by `gpuprof -i`.

GPUPROF is the path of the gpuprof binary. Rows of equal time are compared as sets, as nvprof prints
them in the order of its hash.
"""

import json
import os
import pathlib
import re
import sqlite3
import subprocess
import tempfile
import unittest

CASES = pathlib.Path(__file__).parent / "nvprof"
GPUPROF = os.environ.get("GPUPROF")

# Sections that nvprof prints behind the two of the summary and gpuprof does not print yet. Each
# pattern is where the comparison of a case ends; take the entry out with the section's arrival.
NOT_YET = {
    "cpusampling": r"\n======== CPU profiling result",
    "nvtx": r"\n======== NVTX result",
    "openacc": r" OpenACC \(excl\):",
    "openmp": r"  OpenMP \(incl\):",
    "system": r"\n======== System profiling result",
    "um": r"\n======== Unified Memory profiling result",
}

# Not compared at all: the columns "Calls (host)" and "Calls (device)" of files with CDP_KERNEL rows.
SKIPPED = {("cdp", "default"), ("cdp", "gpu-summary")}

# Cases with C++ kernels, whose names nvprof writes in an older style: "foo(void)", "int=32". Of
# these names only the function itself is compared: "void ns::foo<int=3>(void)" as "ns::foo".
DEMANGLER_STYLE = {
    "basic",
    "cpusampling",
    "deps",
    "memory",
    "nvtx",
    "old_v11",
    "openmp",
    "system",
    "topology",
    "um",
}

# Names that one of the two demanglers leaves mangled or writes as something else; not compared.
NAMES_SKIPPED = {"demangle"}

ROW = re.compile(
    r"(?P<label>[ \w()]{15}[ :])(?P<numbers>  [ \d.]{6}%(?:  [ \w.+]{8}){5})  (?P<name>.*)"
)
TIME_END = 16 + 9 + 10  # label, Time(%), Time


def function_of(name):
    """The function's own name, without return type, template arguments and parameters."""
    return re.split(r"[<(]", name.removeprefix("void "), maxsplit=1)[0]


def comparable(case, text):
    """Lines of a summary, in groups: a group's lines may come in any order."""
    if case in NOT_YET:
        text = re.split(NOT_YET[case], text, maxsplit=1)[0]
    groups = []
    previous = None
    for line in text.split("\n"):
        row = ROW.fullmatch(line)
        if not row:
            groups.append([line])
            previous = None
            continue
        name = row["name"]
        if case in DEMANGLER_STYLE:
            name = function_of(name)
        elif case in NAMES_SKIPPED:
            name = ""
        time = line[16:TIME_END]
        if row["label"].strip() or time != previous:
            groups.append([row["label"]])
        groups[-1].append(row["numbers"] + "  " + name)
        previous = time
    return [sorted(group) for group in groups]


class Summary(unittest.TestCase):
    maxDiff = None

    def check(self, case, mode):
        golden = json.loads((CASES / f"{case}.json").read_text(encoding="utf-8"))
        expected = golden["modes"][mode]
        with tempfile.TemporaryDirectory() as folder:
            database = sqlite3.connect(os.path.join(folder, "db.sqlite"))
            database.executescript(golden["database_sql"])
            database.close()
            ran = subprocess.run(
                [GPUPROF, *expected["args"]], cwd=folder, capture_output=True, text=True, timeout=60
            )
        self.assertEqual(ran.returncode, expected["exit_code"], ran.stderr)
        self.assertEqual(ran.stdout, "")
        self.assertEqual(comparable(case, ran.stderr), comparable(case, expected["stderr"]))


def add_tests():
    for path in sorted(CASES.glob("*.json")):
        case = path.stem
        for mode in ("default", "gpu-summary", "api-summary"):
            if (case, mode) in SKIPPED:
                continue
            name = f"test_{case}_{mode}".replace("-", "_")
            setattr(Summary, name, lambda self, case=case, mode=mode: self.check(case, mode))


add_tests()

if __name__ == "__main__":
    if not GPUPROF:
        raise SystemExit("set GPUPROF to the path of the gpuprof binary")
    unittest.main()
