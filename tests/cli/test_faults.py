# ctest-requires: cupti
"""scripts/faults: each way of dying or misbehaving does what docs/reliability.md says."""

import os
import pathlib
import subprocess
import unittest

SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE", pathlib.Path(__file__).resolve().parents[2]))


@unittest.skipUnless(os.environ.get("GPUPROF_BUILD"), "GPUPROF_BUILD is not set")
class Faults(unittest.TestCase):
    maxDiff = None

    def test_all_behave_as_the_page_says(self):
        run = subprocess.run([SOURCE / "scripts/faults", "--markdown"], capture_output=True, text=True,
                             stdin=subprocess.DEVNULL)
        self.assertEqual(run.returncode, 0, run.stdout + run.stderr)
        self.assertIn(run.stdout, (SOURCE / "docs/reliability.md").read_text())


if __name__ == "__main__":
    unittest.main()
