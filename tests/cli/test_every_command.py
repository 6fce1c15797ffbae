"""Every command on captures of real runs, with ASan: none of them reads or writes where it may not.

What they print is compared in the portable build.
"""
# ctest-labels: asan
# ctest-cost: 30

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

import commands

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", ""))
CAPTURES = {
    "torch_step": SOURCE / "tests/captures/torch_step.gpcap",
    "metrics": BUILD / "tests/captures/metrics.gpcap",
    "kinds": BUILD / "tests/captures/kinds.gpcap",
}
# annotate: nothing was sampled; gate: the sides are different programs.
OTHER_CODES = {"annotate": [5], "gate": [3]}
# Commands that change or make files, or wait for somebody, and their arguments; %profile is a profile,
# %out the name of a new file.
WRITES = {
    "export": [["%profile", "-o", "%out" + ending]
               for ending in (".pftrace", ".json", ".json.gz", ".hta.json", ".nsys.sqlite", ".folded",
                              ".speedscope.json", ".pb.gz", ".csv", ".arrow")]
              + [["%profile", "--for", "nvprof", "-o", "%out.sqlite"]],
    "slice": [["%profile", "--anonymise", "-o", "%out.sqlite"],
              ["%profile", "--from", "0", "--to", "1ms", "-o", "%out.sqlite"]],
    "truncate": [["%profile", "--keep", "gpu", "-o", "%out.sqlite"]],
    "finish": [["%profile", "-o", "%out.sqlite"]],
    "report": [["%profile", "--html", "%out.html"]],
    "baseline": [["add", "name", "%profile", "--dir", "%out"], ["list"]],
    "annotate": [["%profile"]],
    "findings": [["%profile"], ["%profile", "--json", "--explain", "small_grids"],
                 ["%profile", "--packet"]],
}  # fmt: skip
# Tests of their own start these with ASan.
ELSEWHERE = {"attach", "status", "start", "stop", "flush", "snapshot", "sample", "listen", "import", "view", "serve", "top", "doctor", "bisect", "cluster",
             "merge"}  # fmt: skip


class EveryCommand(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="every-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.profiles = {}
        for name, capture in CAPTURES.items():
            cls.profiles[name] = cls.folder / f"{name}.sqlite"
            subprocess.run([GPUPROF, "replay", capture, "-q", "-o", cls.profiles[name]], check=True)
        # What comparing commands compare with.
        shutil.copyfile(cls.profiles["torch_step"], cls.folder / "run.sqlite")

    def check(self, words):
        with self.subTest(words=[str(word) for word in words]):
            ran = subprocess.run([GPUPROF, *map(str, words)], capture_output=True, cwd=self.folder,
                                 timeout=300, check=False)  # fmt: skip
            # ASan and UBSan end a program with 1.
            self.assertIn(
                ran.returncode,
                (0, *OTHER_CODES.get(words[0], ())),
                ran.stderr.decode(errors="replace"),
            )
            self.assertNotRegex(ran.stderr, b"runtime error|Sanitizer")

    def test_those_that_print(self):
        for name, profile in self.profiles.items():
            for words in commands.that_print(profile, CAPTURES[name]):
                of_a_file = any(word in (profile, CAPTURES[name]) for word in words)
                if words[0] not in ELSEWHERE and (of_a_file or name == "torch_step"):
                    self.check(words)

    def test_those_that_write(self):
        for name, profile in self.profiles.items():
            number = 0
            for command, calls in WRITES.items():
                for words in calls:
                    number += 1
                    replaced = {
                        "%profile": str(profile),
                        "%out": str(self.folder / f"{name}-{number}"),
                    }
                    for old, new in replaced.items():
                        words = [word.replace(old, new) for word in words]
                    self.check([command, *words])

    def test_queries(self):
        listed = subprocess.run(
            [GPUPROF, "query"], capture_output=True, text=True, check=True
        ).stdout
        names = [line.split()[0] for line in listed.splitlines() if "?" in line]
        self.assertGreater(len(names), 15)
        for name in names:
            self.check(["query", self.profiles["metrics"], name, "--json"])

    def test_no_command_is_forgotten(self):
        tried = {*commands.PRINTS, *WRITES, *ELSEWHERE}
        self.assertEqual(set(commands.names()) - tried, {"schema"})


if __name__ == "__main__":
    unittest.main()
