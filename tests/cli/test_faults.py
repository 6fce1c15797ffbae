"""scripts/faults: each way of dying or misbehaving does what docs/reliability.md says."""
# ctest-labels: plain

import os
import pathlib
import subprocess
import sys
import unittest

SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE", pathlib.Path(__file__).resolve().parents[2]))


@unittest.skipUnless(os.environ.get("GPUPROF_BUILD"), "GPUPROF_BUILD is not set")
class Faults(unittest.TestCase):
    def test_all_behave_as_the_page_says(self):
        run = subprocess.run([sys.executable, SOURCE / "scripts/faults", "--build", os.environ["GPUPROF_BUILD"]], capture_output=True,
                             text=True, stdin=subprocess.DEVNULL, check=False)  # fmt: skip
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)


if __name__ == "__main__":
    unittest.main()
