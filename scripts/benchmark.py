"""What the scripts bench_… share: options, how a command is measured, and the JSON of their figures."""

import argparse
import datetime
import json
import math
import os
import pathlib
import platform
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[1]


def parser(description, rounds):
    result = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("--build", type=pathlib.Path, default=ROOT / "build", metavar="DIR")
    result.add_argument("--rounds", type=int, default=rounds, metavar="N", help=f"({rounds})")
    result.add_argument("--json", metavar="FILE", help="also write the figures to this file")
    return result


def built(options, *targets):
    """The gpuprof of --build, with these targets of CMake up to date."""
    gpuprof = options.build / "bin/gpuprof"
    if not (options.build / "CMakeCache.txt").exists() or not targets and not gpuprof.exists():
        sys.exit(f"{pathlib.Path(sys.argv[0]).name}: {gpuprof} is missing; run scripts/build first")
    if targets:
        subprocess.run(["cmake", "--build", options.build, "--target", *targets, "gpuprof"],
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
    return gpuprof


def read_once(path):
    """Brings a file into the page cache."""
    with open(path, "rb") as file:
        while file.read(1 << 24):
            pass


def run(command):
    """Wall time and CPU time in s, peak memory in MiB."""
    memory = 0
    with tempfile.TemporaryFile() as errors:
        begin = time.monotonic()
        process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=errors)
        while True:
            # wait4 would include this program's memory, which the child had before its exec.
            status = pathlib.Path(f"/proc/{process.pid}/status").read_text(encoding="ascii")
            memory = max([memory, *map(int, re.findall(r"VmHWM:\s+(\d+)", status))])
            ended, code, usage = os.wait4(process.pid, os.WNOHANG)
            if ended:
                break
            time.sleep(0.01)
        seconds = time.monotonic() - begin
        process.returncode = os.waitstatus_to_exitcode(code)
        if process.returncode != 0:
            errors.seek(0)
            sys.exit(f"{command[0]} failed: {errors.read().decode()[-1000:]}")
    return seconds, usage.ru_utime + usage.ru_stime, memory / 1024


def interval_of_median(values):
    """Two of the values: the median of what they are drawn from lies between with 95 % confidence. None if they are few."""
    count, below = len(values), 0
    ways = 1  # of 2**count, in which at most BELOW values are below the median
    while ways * 40 <= 2**count:
        below += 1
        ways += math.comb(count, below)
    ordered = sorted(values)
    return (ordered[below - 1], ordered[-below]) if below else None


def group_bys(database):
    """A command for sqlite3 that sums up kernels, runtime and driver calls by name."""
    sql = "".join(
        f"SELECT {key}, count(*), sum([end] - start), min([end] - start), max([end] - start) "
        f"FROM CUPTI_ACTIVITY_KIND_{kind} WHERE start > 0 AND [end] >= start GROUP BY 1;"
        for kind, key in (("CONCURRENT_KERNEL", "name"), ("RUNTIME", "cbid"), ("DRIVER", "cbid"))
    )
    if program := shutil.which("sqlite3"):
        return [program, database, sql]
    code = (
        "import sqlite3, sys\n"
        "db = sqlite3.connect(sys.argv[1])\n"
        "for sql in sys.argv[2].split(';'): db.execute(sql).fetchall()"
    )
    return [sys.executable, "-c", code, database, sql]


def first_line(*command):
    try:
        ran = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
        return ran.stdout.strip().split("\n")[0] or None
    except (OSError, subprocess.CalledProcessError):
        return None


def processor():
    info = pathlib.Path("/proc/cpuinfo").read_text(encoding="utf-8")
    name = re.search(r"model name\s*: (.*)", info)
    return f"{name[1] if name else platform.machine()}, {len(os.sched_getaffinity(0))} cores"


class Figures:
    """The figures of one run of a benchmark."""

    def __init__(self, options, **parameters):
        self.path, self.figures = options.json, []
        changed = first_line("git", "status", "--porcelain", "--untracked-files=no")
        self.about = {
            "name": pathlib.Path(sys.argv[0]).name,
            "date": datetime.date.today().isoformat(),
            "commit": (first_line("git", "rev-parse", "HEAD") or "") + ("+changes" if changed else ""),
            "machine": processor(),
            "card": first_line("nvidia-smi", "--query-gpu=name", "--format=csv,noheader"),
            "parameters": parameters,
            "rounds": options.rounds,
        }  # fmt: skip

    def add(self, name, unit, values):
        """A value, or one of each round; None where a round has none."""
        values = list(values) if isinstance(values, (list, tuple)) else [values]
        known = [value for value in values if value is not None]
        if known:
            self.add_range(
                name, unit, statistics.median(known), min(known), max(known), values=values
            )

    def add_range(self, name, unit, median, low, high, **more):
        self.figures.append(
            {"name": name, "unit": unit, "median": median, "min": low, "max": high, **more}
        )

    def write(self, **more):
        if self.path:
            with open(self.path, "w", encoding="utf-8") as file:
                json.dump({**self.about, **more, "figures": self.figures}, file, indent=1)
                file.write("\n")
