"""--csv=plain: the rows of --json as one table, with nothing around it."""
# ctest-labels: plain

import csv
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
REPORTS = (
    (),
    ("--print-gpu-trace",),
    ("--print-api-trace",),
    ("--print-summary-per-gpu",),
    ("--stats", "--top", "2"),
    ("--print-nvtx-summary",),
    ("--dependency-analysis",),
    ("--print-gpu-trace", "--print-nvlink-topology"),
)


def run(*words):
    return subprocess.run([GPUPROF, *map(str, words)], capture_output=True, text=True, timeout=120)


def flat(document):
    """The rows of a JSON document in CSV form."""
    for table in document["tables"]:
        context = {key: value for key, value in table.items() if key != "rows"}
        for row in table["rows"]:
            cells = dict(context)
            for key, value in row.items():
                if key in ("grid", "block"):
                    for axis, number in zip("xyz", value or (None, None, None)):
                        cells[f"{key}_{axis}"] = number
                else:
                    cells[key] = value
            yield {key: value for key, value in cells.items() if value not in (None, "")}


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class PlainCsv(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="plain-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.profiles = []
        for name in ("torch_step", "two_processes"):
            cls.profiles.append(cls.folder / f"{name}.sqlite")
            capture = SOURCE / f"tests/captures/{name}.gpcap"
            subprocess.run([GPUPROF, "replay", "-q", "-o", cls.profiles[-1], capture], check=True)

    def test_the_rows_are_those_of_json(self):
        for profile in self.profiles:
            for report in REPORTS:
                with self.subTest(profile=profile.name, report=report):
                    plain = run("-i", profile, *report, "--csv=plain")
                    document = json.loads(run("-i", profile, *report, "--json").stdout)
                    self.assertEqual(plain.returncode, 0)
                    names, *rows = csv.reader(plain.stdout.splitlines())
                    self.assertEqual(names[0], "table")
                    self.assertEqual(len(set(names)), len(names))
                    self.assertTrue(all(len(row) == len(names) for row in rows))
                    found = [{k: v for k, v in zip(names, row) if v} for row in rows]
                    expected = list(flat(document))
                    self.assertEqual([set(row) for row in found], [set(row) for row in expected])
                    for got, wanted in zip(found, expected):
                        for key, value in wanted.items():
                            as_number = isinstance(value, (int, float))
                            self.assertEqual(
                                type(value)(got[key]) if as_number else got[key], value
                            )
                    self.assertEqual(
                        [line.split(": ", 2)[2] for line in plain.stderr.splitlines()
                         if line.startswith("gpuprof: warning: ")],
                        [text.split("\n")[0] for text in document["warnings"]],
                    )  # fmt: skip

    def test_nothing_to_report_is_a_line_of_names(self):
        ran = run("-i", self.profiles[0], "--kernels", "no such kernel", "--print-nvlink-topology",
                  "--csv=plain")  # fmt: skip
        self.assertEqual(ran.returncode, 0)
        self.assertTrue(ran.stdout.startswith('"table"'), ran.stdout)

    def test_replay_takes_it_too(self):
        capture = SOURCE / "tests/captures/vector_add.gpcap"
        ran = run("replay", capture, "--csv=plain")
        self.assertEqual(ran.returncode, 0)
        self.assertTrue(ran.stdout.startswith('"table","type",'), ran.stdout)
        self.assertIn('"Type","Time(%)"', run("replay", capture, "--csv").stderr)

    def test_no_other_word_may_follow(self):
        self.assertEqual(run("-i", self.profiles[0], "--csv=tidy").returncode, 5)
        self.assertEqual(run("replay", "x", "--csv=tidy").returncode, 5)
        self.assertEqual(run("-i", self.profiles[0], "--csv", "--csv=plain").returncode, 5)


if __name__ == "__main__":
    unittest.main()
