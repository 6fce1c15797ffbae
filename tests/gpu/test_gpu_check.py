"""scripts/gpu_check as a test: on a machine without a GPU it is skipped."""

import os
import pathlib
import subprocess
import sys

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent

if __name__ == "__main__":
    command = [sys.executable, SOURCE / "scripts" / "gpu_check"]
    if gpuprof := os.environ.get("GPUPROF"):
        command += ["--gpuprof", gpuprof]
    if build := os.environ.get("GPUPROF_BUILD"):
        command += ["--examples", pathlib.Path(build) / "examples"]
    sys.exit(subprocess.run(command).returncode)
