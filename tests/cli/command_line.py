"""What tests of the command line share: a small profile, and nvprof's options."""

import json
import os
import pathlib
import sqlite3
import subprocess
import tempfile
import unittest

from fake_run import GPUPROF

SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])

# Every option of nvprof 11.8, with a value that it accepts, and the exit code it then has with -i.
NVPROF = """
--aggregate-mode on 0
--analysis-metrics - 5
--annotate-mpi off 0
--concurrent-kernels off 0
--continuous-sampling-interval 1 0
--cpu-thread-tracing off 0
--dependency-analysis - 0
--device-buffer-size 8 0
--device-cdp-buffer-size 8 0
--devices 0 0
--event-collection-mode kernel 0
--events all 5
-e all 5
--kernel-latency-timestamps off 0
--kernels vector 0
--metrics ipc 5
-m ipc 5
--pc-sampling-period 5 0
--profile-all-processes - 5
--profile-api-trace none 0
--profile-child-processes - 0
--profile-from-start on 0
--profiling-semaphore-pool-size 65536 0
--query-events - 5
--query-metrics - 5
--replay-mode disabled 0
--skip-kernel-replay-save-restore off 0
--source-level-analysis branch 5
-a branch 5
--system-profiling on 0
--timeout 5 0
-t 5 0
--trace gpu,api 0
--track-memory-allocations on 0
--unified-memory-profiling per-process-device 0
--cpu-profiling off 0
--cpu-profiling-explain-ccff file.xml 0
--cpu-profiling-frequency 500 0
--cpu-profiling-max-depth 0 0
--cpu-profiling-mode flat 0
--cpu-profiling-percentage-threshold 100 0
--cpu-profiling-scope instruction 0
--cpu-profiling-show-ccff on 0
--cpu-profiling-show-library on 0
--cpu-profiling-thread-mode separated 0
--cpu-profiling-unwind-stack off 0
--openacc-profiling on 0
--openmp-profiling off 0
--context-name c%i-%p 0
--csv - 0
--demangling off 0
--normalized-time-unit col 0
-u s 0
--openacc-summary-mode inclusive 0
--print-api-summary - 0
--print-api-trace - 0
--print-dependency-analysis-trace - 5
--print-gpu-summary - 0
--print-gpu-trace - 0
--print-openacc-constructs - 0
--print-openacc-summary - 0
--print-openacc-trace - 0
--print-openmp-summary - 0
--print-summary - 0
-s - 0
--print-summary-per-gpu - 0
--process-name p%p 0
--quiet - 0
--stream-name s%i 0
--export-profile out.sqlite 5
-o out.sqlite 5
--force-overwrite - 0
-f - 0
--import-profile db.sqlite 0
-i db.sqlite 0
--log-file log.txt 0
--print-nvlink-topology - 0
--print-pci-topology - 0
--help - 0
-h - 0
--version - 0
-V - 0
"""

BOTH = "======== Error: Cannot run an application and import a profile at the same time.\n"
MORE = '======== Use "gpuprof --help" to get more information.\n'


def invalid(word, *more):
    return f"======== Error: Encountered invalid option : {word}\n" + "".join(
        f"======== {line}\n" for line in more
    )


class CommandLine(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-cli-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        golden = json.loads((SOURCE / "tests/golden/nvprof/errors.json").read_text())
        cls.sql = golden["database_sql"]
        database = sqlite3.connect(cls.folder / "db.sqlite")
        database.executescript(cls.sql)
        database.close()

    def run_gpuprof(self, *arguments, **environment):
        return subprocess.run(
            [GPUPROF, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
            env={**os.environ, **environment}, timeout=60,
        )  # fmt: skip

    def imported(self, *arguments, **environment):
        return self.run_gpuprof("-i", "db.sqlite", *arguments, **environment)

    def summary(self):
        summary = self.imported()
        self.assertEqual(summary.returncode, 0, summary.stderr)
        self.assertIn("vectorAdd", summary.stderr)
        return summary.stderr

    def check(self, ran, code, stderr):
        self.assertEqual((ran.stderr, ran.returncode), (stderr, code))
