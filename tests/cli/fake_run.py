"""Runs the shipped gpuprof, collector and salvage on a program linked to the stand-in libraries.

GPUPROF is the path of the gpuprof binary, GPUPROF_BUILD the build tree. The settings of the
stand-ins are in tests/fake_cupti/cupti/settings.hpp.
"""

import ctypes
import os
import pathlib
import shlex
import signal
import sqlite3
import struct
import subprocess
import sys
import tempfile
import time
import unittest

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from profile_file import PREFIX, Profile  # noqa: E402

GPUPROF = os.environ.get("GPUPROF", "")
BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", "."))
FAKE = BUILD / "tests" / "fake"
CUPTI = FAKE / "libcupti.so.13"
BARE_CUPTI = FAKE / "bare" / "libcupti.so.12"
COMPILER = shlex.split(os.environ.get("CC", "cc"))
SANITIZED = bool(os.environ.get("GPUPROF_SANITIZE"))
# A test fails because of errors, never because the machine stalls for a while.
PATIENCE = 300 if SANITIZED or os.environ.get("GPUPROF_EMULATED") else 120
# Messages of gpuprof if something takes long.
SLOW_NOTICES = (
    "the program has ended; waiting for its process",
    "another process holds the lock of the database",
)


def has_other_users():
    """Root, unless it is alone in a namespace."""
    count = pathlib.Path("/proc/self/uid_map").read_text(encoding="utf-8").split()[2]
    return os.geteuid() == 0 and count != "1"


KIND = {
    "MEMCPY": 1, "MEMSET": 2, "DRIVER": 4, "RUNTIME": 5, "DEVICE": 8, "CONTEXT": 9,
    "CONCURRENT_KERNEL": 10, "MARKER": 12, "MARKER_DATA": 13, "STREAM": 37, "SYNCHRONIZATION": 38,
    "MEMORY2": 49,
}  # fmt: skip


def without_slow_notices(stderr):
    lines = stderr.splitlines(keepends=True)
    return "".join(x for x in lines if not any(notice in x for notice in SLOW_NOTICES))


def is_cost(line):
    """What a run cost, which no two runs have in common; tests/cli/test_fake_cost.py tests it."""
    return line.startswith("gpuprof: cost: ")


def without_cost(stderr):
    return "".join(line for line in stderr.splitlines(keepends=True) if not is_cost(line))


class Run:
    """A finished run: exit code, stdout, stderr (without notices about slow machines), its cost."""

    def __init__(self, code, stdout, stderr):
        self.code, self.stdout = code, stdout
        self.stderr = without_cost(without_slow_notices(stderr))
        self.cost = "".join(filter(is_cost, stderr.splitlines(keepends=True)))


@unittest.skipUnless(GPUPROF and CUPTI.exists(), "GPUPROF is not set, or there are no stand-ins")
class FakeTest(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-cli-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.output = self.folder / "run.sqlite"

    def program(self, name):
        return str(FAKE / name)

    def command(self, target, options=(), output=True, cupti=CUPTI):
        command = [GPUPROF, "--cupti", str(cupti), *map(str, options)]
        if output:
            command += ["-o", str(self.output)]
        return command + [self.program(target[0]), *map(str, target[1:])]

    def environment(self, more):
        # A program's leaks do not matter here, and it dies as it would without a sanitizer.
        options = {}
        for name, ours in (
            ("ASAN_OPTIONS", "detect_leaks=0:handle_segv=0:handle_abort=0"),
            ("TSAN_OPTIONS", "handle_segv=0:handle_abort=0"),
        ):
            options[name] = f"{os.environ.get(name, '')}:{ours}".strip(":")
        # Nothing is known of devices from the run before, which had other settings.
        options["XDG_CACHE_HOME"] = "/dev/null/none"
        return {**os.environ, **options, **{k: str(v) for k, v in more.items()}}

    def start(self, *target, options=(), output=True, cupti=CUPTI, **environment):
        """In its own process group."""
        process = subprocess.Popen(
            self.command(target, options, output, cupti),
            env=self.environment(environment), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, cwd=self.folder, start_new_session=True,
        )  # fmt: skip
        self.addCleanup(self.end, process)
        return process

    def start_ready(self, command, **environment):
        """In its own process group, a program that says "ready" and then takes commands; see tell()."""
        process = subprocess.Popen(
            command, env=self.environment(environment), text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=self.folder, start_new_session=True,
        )  # fmt: skip
        self.addCleanup(self.end, process)
        self.addCleanup(process.stdin.close)
        self.assertEqual(process.stdout.readline(), "ready\n")
        return process

    def answer(self, process, command):
        """What the program says before "done"."""
        process.stdin.write(command + "\n")
        process.stdin.flush()
        answer = ""
        for line in iter(process.stdout.readline, "done\n"):
            self.assertTrue(line, "the program has ended")
            answer += line
        return answer

    def tell(self, process, command):
        self.assertEqual(self.answer(process, command), "")

    def end(self, process):
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
        process.wait()
        process.stdout.close()
        process.stderr.close()

    def profile(self, *target, options=(), output=True, cupti=CUPTI, check=None, **environment):
        """Runs to the end. `check`: the required exit code."""
        process = subprocess.run(
            self.command(target, options, output, cupti),
            env=self.environment(environment), stdin=subprocess.DEVNULL, capture_output=True,
            cwd=self.folder, timeout=PATIENCE,
        )  # fmt: skip
        run = Run(process.returncode, process.stdout, process.stderr.decode())
        if check is not None:
            self.assertEqual(run.code, check, run.stderr)
        return run

    def made_once(self, record, *key):
        """What record() returns, and the folder with what it made: the first time it is asked for
        this key, for all tests of the class. They must only read it."""
        cls = type(self)
        known = cls.__dict__.get("_made")
        if known is None:
            known = cls._made = {}
        if key not in known:
            folder = tempfile.TemporaryDirectory(prefix="gpuprof-cli-")
            cls.addClassCleanup(folder.cleanup)
            self.folder = pathlib.Path(folder.name)
            self.output = self.folder / "run.sqlite"
            known[key] = record(), self.folder, self.output
        result, self.folder, self.output = known[key]
        return result

    def wait_for_rows(self, table):
        """Waits until the file being recorded has rows."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            time.sleep(0.05)
            if not self.output.exists():
                continue
            try:
                database = sqlite3.connect(f"file:{self.output}?mode=ro", uri=True)
                found = database.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
                database.close()
                if found:
                    return
            except sqlite3.Error:
                pass
        self.fail(f"{table} stays empty")

    def database(self, path=None, integrity=True):
        database = Profile(path or self.output)
        self.addCleanup(database.close)
        if integrity:
            self.assertEqual(database.one("PRAGMA integrity_check"), "ok")
        return database

    def ledger(self, path=None):
        """What the stand-ins wrote, per kind, summed over the processes."""
        total = {name: 0 for name in KIND}
        for file in self.folder.glob("ledger.*"):
            content = file.read_bytes()
            words = struct.unpack("64Q", content) if content else [0] * 64
            for name, kind in KIND.items():
                total[name] += words[kind]
        return total

    def profile_with_ledger(self, *target, **arguments):
        return self.profile(*target, FAKE_CUPTI_LEDGER=self.folder / "ledger", **arguments)

    def assert_all_there(self, database, slack=0):
        """Every record that was written is in the database."""
        for name, written in self.ledger().items():
            there = database.count(name)
            if name == "DRIVER":
                there -= database.own_calls()
            self.assertTrue(written <= there <= written + slack, f"{name}: {written}, {there}")

    def assert_all_accounted_for(self, database):
        """Every record that was written is in the database, or counted as discarded."""
        discarded = {}
        for (kind, name), value in database.statistics().items():
            if name == "records_discarded":
                discarded[kind] = value
        sums = {name: database.count(name) + discarded.get(name, 0) for name in KIND}
        # The collector's own calls are excluded from both.
        sums["DRIVER"] -= database.own_calls()
        self.assertEqual(sums, self.ledger())
        return discarded

    def assert_correlated(self, database):
        """Each kernel joins the one call that launched it, in the same process."""
        self.assertEqual(
            database.rows(f"""
                SELECT k._id_, k.correlationId, count(a.correlationId)
                FROM {PREFIX}CONCURRENT_KERNEL AS k
                LEFT JOIN (SELECT correlationId, processId FROM {PREFIX}RUNTIME
                           UNION ALL SELECT correlationId, processId FROM {PREFIX}DRIVER) AS a
                  ON a.correlationId = k.correlationId AND a.processId = k.processId
                GROUP BY k._id_ HAVING count(a.correlationId) != 1 LIMIT 5"""),
            [],
        )  # fmt: skip

    def wait_for(self, what, seconds=PATIENCE):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            value = what()
            if value:
                return value
            time.sleep(0.02)
        self.fail("it did not happen in time")


def has_driver():
    try:
        ctypes.CDLL("libcuda.so.1")
        return True
    except OSError:
        return False


def pids_of(process, name):
    """Processes below `process` whose program has this name."""
    children = {}
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit():
            continue
        try:
            stat = (entry / "stat").read_text()
        except OSError:
            continue
        comm = stat[stat.index("(") + 1 : stat.rindex(")")]
        parent = int(stat[stat.rindex(")") + 2 :].split()[1])
        children.setdefault(parent, []).append((int(entry.name), comm))
    found, waiting = [], [process]
    while waiting:
        for pid, comm in children.get(waiting.pop(), []):
            waiting.append(pid)
            if comm == name:
                found.append(pid)
    return found
