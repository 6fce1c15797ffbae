"""Python processes that record themselves, with the stand-ins."""

import subprocess
import sys
import textwrap

from fake_run import BUILD, CUPTI, FAKE, PATIENCE, FakeTest

# The beginning of each script: `trace` with the stand-in CUPTI, and work for it.
HEAD = f"""
import ctypes, gc, json, os, signal, sys, threading, warnings
import gpuprof
cuda = ctypes.CDLL({str(FAKE / "libcuda.so.1")!r}, mode=ctypes.RTLD_GLOBAL)

def trace(path, *words, **more):
    return gpuprof.trace(path, *words, cupti={str(CUPTI)!r}, **more)

def work(launches):
    cuda.fake_nvtx_push(b"step")
    cuda.fake_launch(b"kernel", launches)
    cuda.fake_synchronize()
    cuda.fake_nvtx_pop()
"""


class ScriptTest(FakeTest):
    def start_script(self, script, **environment):
        process = subprocess.Popen(
            [sys.executable, "-c", HEAD + textwrap.dedent(script)], cwd=self.folder,
            env=self.environment({"PYTHONPATH": BUILD / "share" / "gpuprof" / "python",
                                  **environment}),
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            start_new_session=True, text=True)  # fmt: skip
        self.addCleanup(self.end, process)
        return process

    def run_script(self, script, **environment):
        """Its standard output; gpuprof must print nothing there."""
        process = self.start_script(script, **environment)
        out, err = process.communicate(timeout=PATIENCE)
        self.assertEqual(process.returncode, 0, err)
        self.stderr = err
        return out
