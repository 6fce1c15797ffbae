"""--step: which NVTX ranges are steps, for a run, a capture, and a file that is finished again.

GPUPROF is the path of the gpuprof binary.
"""
# ctest-labels: plain

import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF")
CAPTURE = pathlib.Path(__file__).parents[1] / "captures" / "torch_step.gpcap"


def gpuprof(*arguments):
    return subprocess.run([GPUPROF, *arguments], capture_output=True, text=True)


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Step(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.path = os.path.join(folder.name, "run.sqlite")

    def steps(self):
        connection = sqlite3.connect(self.path)
        self.addCleanup(connection.close)
        told = connection.execute("SELECT value FROM RUN WHERE key = 'step'").fetchall()
        return told, [row[0] for row in connection.execute("SELECT name FROM steps ORDER BY start")]

    def test_capture_and_finish(self):
        made = gpuprof("replay", "-q", "--step", "^for", "-o", self.path, CAPTURE)
        self.assertEqual(made.returncode, 0, made.stderr)
        told, names = self.steps()
        self.assertEqual(told, [("^for",)])
        self.assertEqual(set(names), {"forward"})
        # Finished again, with the file's expression, and with another one.
        self.assertEqual(gpuprof("finish", "-q", self.path).returncode, 0)
        self.assertEqual(self.steps(), (told, names))
        self.assertEqual(gpuprof("finish", "-q", "--step", "step 1", self.path).returncode, 0)
        self.assertEqual(self.steps(), ([("step 1",)], ["step 1"]))

    def test_run(self):
        made = gpuprof("-q", "--step", "epoch|\\d", "-o", self.path, "/bin/true")
        self.assertEqual(made.returncode, 0, made.stderr)
        self.assertEqual(self.steps()[0], [("epoch|\\d",)])

    def test_no_expression(self):
        for command in ([], ["replay"]):
            with self.subTest(command=command):
                tried = gpuprof(*command, "--step", "(", CAPTURE)
                self.assertNotEqual(tried.returncode, 0)
                self.assertIn("regular expression", tried.stderr)


if __name__ == "__main__":
    unittest.main()
