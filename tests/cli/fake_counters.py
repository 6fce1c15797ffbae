"""Programs that use gpuprof.pm_sampling and gpuprof.profiler_host on the stand-ins, each in a separate
process, because the first libcupti stays loaded."""

import json
import os
import pathlib
import subprocess
import sys
import textwrap
import unittest

from fake_run import BUILD, CUPTI, FAKE, PATIENCE
from packages import TOOLS

SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
FRAMES = TOOLS / "frames"

ACTIVE_NAME = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
READ_NAME = "dram__bytes_read.sum.per_second"
BEFORE = """
import json, pickle, sys, threading, time
from gpuprof import pm_sampling, profiler_host
from gpuprof.pm_sampling import Collector, CounterData
ACTIVE = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"
READ, WRITE = "dram__bytes_read.sum.per_second", "dram__bytes_write.sum.per_second"
MS = 1_000_000
FIVE = [f"sm__{name}.sum" for name in ("ctas_launched", "cycles_active", "inst_executed",
                                       "warps_active", "warps_launched")]

def refused(call, *arguments, **named):
    try:
        call(*arguments, **named)
    except Exception as error:
        kinds = [kind.__name__ for kind in type(error).__mro__]
        return {"kinds": kinds, "text": str(error), "status": getattr(error, "status", None)}
    raise AssertionError("it was not refused")

def enabled(*metrics, device=0, **settings):
    collector = Collector(device)
    collector.enable()
    settings.setdefault("sampling_interval", MS)
    collector.configure(metrics=list(metrics), **settings)
    return collector

def until(condition):
    while not condition():
        time.sleep(0.005)

def decoded(collector, count=20):
    # Samples of several calls, until there are `count`.
    parts = []
    while sum(map(len, parts)) < count:
        time.sleep(0.01)
        parts.append(collector.decode())
    return parts

def expected(start):
    return 1024.0 * (1000 if start // 10_000_000 % 2 == 0 else 0) / MS * 1e9

def right(data, column=0):
    return len(data) > 0 and all(
        value == expected(start)
        for start, value in zip(data.timestamps()[:, 0].tolist(), data.to_numpy()[:, column]))
"""


@unittest.skipUnless(FRAMES.exists() and CUPTI.exists(), "there is no numpy, or no stand-in")
class Program(unittest.TestCase):
    def environment(self, **more):
        return {
            **os.environ,
            "LD_LIBRARY_PATH": str(FAKE),
            "GPUPROF_CUPTI": str(CUPTI),
            "PYTHONPATH": os.pathsep.join([str(BUILD / "share/gpuprof/python"), str(FRAMES)]),
            "GPUPROF_LIBRARY": str(BUILD / "lib/gpuprof/libgpuprof.so"),
            **more,
        }

    def ran(self, code, **environment):
        """The value that the code prints at its end: `answer`."""
        code = (
            BEFORE
            + textwrap.dedent(code)
            + "\nprint(json.dumps(answer, default=lambda value: value.item()))"
        )
        done = subprocess.run(
            [sys.executable, "-c", code], env=self.environment(**environment),
            capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        self.assertEqual(done.returncode, 0, done.stderr)
        self.stderr = done.stderr
        return json.loads(done.stdout)

    def assert_refused(self, answer, kind, text):
        self.assertIn(kind, answer["kinds"], answer)
        self.assertIn("Error", answer["kinds"], answer)
        self.assertIn(text, answer["text"])
