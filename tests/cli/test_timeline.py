"""gpuprof timeline: what it draws, how wide, what it refuses."""
# ctest-labels: plain

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])


def run(*words, unicode=True):
    environment = {**os.environ, "LC_ALL": "C.UTF-8" if unicode else "C"}
    return subprocess.run([GPUPROF, "timeline", *map(str, words)], capture_output=True, text=True,
                          encoding="utf-8", timeout=120, env=environment, check=False)  # fmt: skip


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Timeline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="timeline-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.profile = cls.folder / "run.sqlite"
        capture = SOURCE / "tests/captures/vector_add.gpcap"
        subprocess.run([GPUPROF, "replay", "-q", "-o", cls.profile, capture], check=True)

    def draw(self, *options, **more):
        ran = run(self.profile, *options, **more)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout.splitlines()

    def test_gpu_streams_copies_and_ranges(self):
        lines = self.draw("--width", 100)
        names = [line[:24].strip() for line in lines[2:6]]
        self.assertEqual(names[:3], ["NVIDIA H200 (0)", "stream 7", "copies and sets"])
        self.assertRegex(names[3], "NVTX thread [0-9]+")
        self.assertIn("█", lines[2])
        self.assertIn("▏vector_add", lines[5])
        self.assertIn("▏copy in", lines[6])

    def test_width(self):
        for width in (60, 100, 333):
            with self.subTest(width):
                lines = self.draw("--width", width)[1:]
                self.assertLessEqual(max(map(len, lines)), width)
                self.assertGreater(max(map(len, lines)), width // 2)
        self.assertLessEqual(max(map(len, self.draw())), 120)  # no terminal

    def test_ascii(self):
        for lines in (self.draw("--ascii"), self.draw(unicode=False)):
            self.assertTrue("\n".join(lines).isascii())
            self.assertIn("#", lines[2])

    def test_window(self):
        whole = self.draw("--ascii")
        part = self.draw("--ascii", "--nvtx", "copy in")
        self.assertNotEqual(whole[0], part[0])
        self.assertIn("|copy in", part[-1])
        self.assertNotIn("compute", part[-1])
        self.assertEqual(self.draw("--from", "100s"), ["No GPU work has times here."])

    def test_what_is_refused(self):
        for code, words in {
            5: [("--width", "3"), ("--width", "wide"), ("--streams", "-1"), ("--from", "noon"),
                ("--from", "2s", "--to", "1s"), ("--nvtx", "no such range")],
        }.items():  # fmt: skip
            for options in words:
                with self.subTest(options):
                    ran = run(self.profile, *options)
                    self.assertEqual((ran.returncode, ran.stdout), (code, ""))
                    self.assertTrue(ran.stderr.startswith("gpuprof: "), ran.stderr)
        self.assertEqual(run(self.folder / "none").returncode, 20)
        self.assertEqual(run(SOURCE / "README.md").returncode, 20)


if __name__ == "__main__":
    unittest.main()
