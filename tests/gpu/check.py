"""The building blocks of checks on a real GPU, and their runner: scripts/gpu_check.

Each other module here has checks: one function each, named after the check.
"""

import argparse
import collections
import concurrent.futures
import glob
import importlib
import itertools
import json
import os
import pathlib
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests" / "support"))
from profile_file import Profile  # noqa: E402

EXAMPLES = ROOT / "examples"
SUBJECTS = [
    "tracing",
    "endings",
    "frameworks",
    "live",
    "incidents",
    "reports",
    "kinds",
    "metrics",
    "derived",
    "sampling",
    "instructions",
    "memory",
    "twins",
]
TIMEOUT = 120  # seconds a target may take


class Skipped(Exception):
    pass


class Outcome:
    """A target that was run: exit code and output."""

    def __init__(self, process, stdout, stderr):
        self.code = process.returncode
        self.stdout = stdout
        self.stderr = stderr


def environment():
    variables = dict(os.environ)
    # The collector must not be tested under another tool, or under an outer gpuprof.
    for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
        variables.pop(name, None)
    variables["PYTHONDONTWRITEBYTECODE"] = "1"
    if nvrtc := find_files("libnvrtc.so.1[23]"):
        folder = os.path.dirname(nvrtc[0])
        variables["LD_LIBRARY_PATH"] = ":".join(
            filter(None, [variables.get("LD_LIBRARY_PATH"), folder])
        )
    return variables


def find_files(pattern):
    """Libraries of CUDA: from the toolkit, and from the Python packages."""
    folders = ["/usr/local/cuda*/lib64", "/usr/local/cuda*/extras/CUPTI/lib64"]
    for path in sys.path:
        folders.append(f"{path}/nvidia/*/lib")
    found = []
    for folder in folders:
        for path in sorted(glob.glob(f"{folder}/{pattern}")):
            if os.path.realpath(path) not in map(os.path.realpath, found):
                found.append(path)
    return found


def no_core_dump():
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def run(command, timeout=TIMEOUT, cwd=None):
    process = subprocess.Popen(
        [str(word) for word in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        stdin=subprocess.DEVNULL,
        env=environment(),
        cwd=cwd,
        preexec_fn=no_core_dump,
        start_new_session=True,
    )
    try:
        stdout, stderr = process.communicate(timeout=timeout)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        stdout, stderr = process.communicate()
        text = stderr.decode(errors="replace")
        raise AssertionError(f"no end after {timeout} s: {' '.join(map(str, command))}: {text}")
    return Outcome(process, stdout, stderr.decode(errors="replace"))


class Check:
    """One check: runs targets, collects expectations that were not met."""

    plain_lock = threading.Lock()
    plain_runs = {}

    def __init__(self, options, folder):
        self.options = options
        self.folder = pathlib.Path(folder)
        self.problems = []
        self.expectations = 0
        self.seen = {}  # numbers useful in the report
        self.numbers = itertools.count()

    # Expectations

    def expect(self, holds, what):
        self.expectations += 1
        if not holds:
            self.problems.append(what)
        return holds

    def equal(self, got, wanted, what):
        return self.expect(got == wanted, f"{what}: {shorten(got)}, not {shorten(wanted)}")

    # Running

    def example(self, name):
        path = self.options.examples / name
        if not path.exists():
            raise Skipped(f"{path} was not built")
        return path

    def plain(self, command):
        """The target without gpuprof; run once for all checks."""
        key = tuple(map(str, command))
        with self.plain_lock:
            future = self.plain_runs.get(key)
            if mine := future is None:
                future = self.plain_runs[key] = concurrent.futures.Future()
        if mine:
            try:
                future.set_result(run(command, cwd=self.folder))
            except BaseException as error:  # passed on to all that wait for it
                future.set_exception(error)
        return future.result()

    def gpuprof(self, command, *options, stdout=True):
        """Runs the target under gpuprof; compares exit code and stdout with a plain run's."""
        path = self.folder / f"{next(self.numbers)}.sqlite"
        plain = self.plain(command)
        if plain.code == 77:
            raise Skipped(plain.stderr.strip() or "the target skipped itself")
        outcome = run([self.options.gpuprof, *options, "-o", path, *command], cwd=self.folder)
        # gpuprof reports a signal as 128 + its number, subprocess as a negative code.
        wanted = plain.code if plain.code >= 0 else 128 - plain.code
        self.equal(outcome.code, wanted, "exit code")
        if stdout:
            self.equal(outcome.stdout, plain.stdout, "stdout")
        if not path.exists():
            raise AssertionError(f"no database; stderr: {outcome.stderr.strip()}")
        database = Profile(path)
        database.path = path
        database.outcome = outcome
        return database

    # Invariants of every database

    def sound(self, database, losses=False, finished=True):
        self.equal(database.one("PRAGMA integrity_check"), "ok", "integrity_check")
        if finished:
            mark = database.one("SELECT value FROM RUN WHERE key = 'finished'")
            self.equal(mark, 1, "finished")
        if not losses:
            lost = database.rows("SELECT name, kind, value FROM losses")
            self.equal(lost, [], "losses")
        bad = database.rows(
            """SELECT type, name, start, "end" FROM gpu_activities
               WHERE "end" < start LIMIT 3"""
        )
        self.equal(bad, [], "GPU work that ends before it starts")
        if not losses:
            untimed = database.counts(
                """SELECT type, count(*) FROM gpu_activities
                   WHERE start IS NULL OR "end" IS NULL GROUP BY type"""
            )
            self.equal(untimed, {}, "GPU work without times")
        nameless = database.one("SELECT count(*) FROM kernels WHERE name IS NULL OR name = ''")
        self.equal(nameless, 0, "kernels without name")
        self.received_is_there(database)

    def received_is_there(self, database):
        """Every record that the collector counted is a row."""
        counted = database.counts(
            """SELECT kind, sum(value) FROM STATISTIC
               WHERE name = 'records_received' AND kind <> '' GROUP BY kind"""
        )
        rows = {kind: database.one(f'SELECT count(*) FROM "{kind}"') for kind in counted}
        self.equal(rows, counted, "rows against records received")

    def correlated(self, database, api_calls=True):
        """Each GPU activity has exactly one call that requested it, and starts after that call did."""
        zero = database.one("SELECT count(*) FROM gpu_activities WHERE correlation_id = 0")
        self.equal(zero, 0, "GPU work with correlation id 0")
        if not api_calls:
            return
        # Some driver calls inside a runtime call have its correlation id; they do not count.
        calls = {}
        for domain in ("RUNTIME", "DRIVER"):
            for correlation_id, start, process in database.rows(
                f"SELECT correlationId, start, processId FROM CUPTI_ACTIVITY_KIND_{domain}"
            ):
                found = calls.setdefault(correlation_id, {"RUNTIME": [], "DRIVER": []})
                found[domain].append((start, process))
        wrong = collections.Counter()
        examples = {}
        for kind, name, correlation_id, start, process in database.rows(
            "SELECT type, name, correlation_id, start, process_id FROM gpu_activities"
        ):
            found = calls.get(correlation_id, {"RUNTIME": [], "DRIVER": []})
            candidates = found["RUNTIME"] or found["DRIVER"]
            problem = None
            if len(candidates) != 1:
                problem = f"{kind} with {len(candidates)} calls"
            elif candidates[0][1] != process:
                problem = f"{kind} with a call of another process"
            elif start and start < candidates[0][0]:
                problem = f"{kind} that starts before its call"
                examples.setdefault(problem, []).append(candidates[0][0] - start)
            if problem:
                wrong[problem] += 1
                examples.setdefault(problem, []).append((name, correlation_id))
        self.equal(dict(wrong), {}, f"correlation {shorten(examples)}")

    def kernels(self, database, wanted):
        """The exact number of kernels by short name."""
        got = database.counts("SELECT short_name, count(*) FROM kernels GROUP BY 1")
        self.equal(got, wanted, "kernels")

    def copies(self, database, wanted):
        """{kind: (copies, bytes)}, which must match exactly."""
        got = {
            kind: (copies, size)
            for kind, copies, size in database.rows(
                "SELECT kind, count(*), sum(bytes) FROM memcpys GROUP BY kind"
            )
        }
        self.equal(got, wanted, "copies")

    def sets(self, database, count, size):
        got = database.row("SELECT count(*), coalesce(sum(bytes), 0) FROM memsets")
        self.equal(got, (count, size), "memsets")

    def calls(self, database, name, wanted, domain="runtime"):
        got = database.one(
            "SELECT count(*) FROM api_calls WHERE name = ? AND domain = ?", name, domain
        )
        self.equal(got, wanted, f"calls of {name}")


def shorten(value, limit=300):
    text = value.decode(errors="replace") if isinstance(value, bytes) else str(value)
    return text if len(text) <= limit else text[: limit - 3] + "..."


CHECKS = {}
ALONE = set()  # checks that must run alone


def check(function):
    assert function.__name__ not in CHECKS, function.__name__
    CHECKS[function.__name__] = function
    return function


def alone(function):
    ALONE.add(function.__name__)
    return check(function)


def each(name, values, *, register_one=check):
    """A check per value: NAME_VALUE."""

    def register(function):
        for value in values:

            def one(c, value=value):
                function(c, value)

            one.__name__ = f"{name}_{value}".replace("-", "_")
            register_one(one)
        return function

    return register


def gpu_count():
    """Devices that the driver sees, queried in a separate process."""
    question = (
        "import ctypes\n"
        "driver = ctypes.CDLL('libcuda.so.1')\n"
        "count = ctypes.c_int(0)\n"
        "ok = driver.cuInit(0) == 0 and driver.cuDeviceGetCount(ctypes.byref(count)) == 0\n"
        "print(count.value if ok else 0)\n"
    )
    outcome = run([sys.executable, "-c", question])
    return int(outcome.stdout or 0) if outcome.code == 0 else 0


def carry_out(name, options):
    started = time.monotonic()
    with tempfile.TemporaryDirectory(prefix=f"gpu_check-{name}-") as folder:
        c = Check(options, folder)
        result = {"name": name}
        try:
            CHECKS[name](c)
        except Skipped as reason:
            result |= {"result": "skip", "why": [str(reason)]}
        except AssertionError as error:
            c.problems.append(str(error))
        except Exception as error:
            where = traceback.extract_tb(error.__traceback__)[-1]
            place = f"{where.name}, line {where.lineno}"
            c.problems.append(f"{type(error).__name__}: {error} ({place})")
    if "result" not in result:
        result |= {"result": "FAIL" if c.problems else "ok", "why": c.problems}
    return result | {
        "expectations": c.expectations,
        "seconds": round(time.monotonic() - started, 1),
        "seen": c.seen,
    }


def carried_out(names, jobs, options):
    with concurrent.futures.ThreadPoolExecutor(jobs) as pool:
        yield from pool.map(lambda name: carry_out(name, options), names)


def main(description):
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument(
        "--only",
        metavar="NAME",
        action="append",
        default=[],
        help="checks whose name begins so; may be repeated",
    )
    parser.add_argument("--list", action="store_true", help="names of the checks")
    parser.add_argument("--json", metavar="FILE", help="also write the results to this file")
    parser.add_argument("--jobs", type=int, default=1, help="checks at a time (1)")
    parser.add_argument("--gpuprof", type=pathlib.Path, default=ROOT / "build/bin/gpuprof")
    parser.add_argument(
        "--examples",
        type=pathlib.Path,
        default=ROOT / "build/examples",
        help="folder of the compiled examples (build/examples)",
    )
    parser.add_argument("--python", default=sys.executable, help="python3 that has PyTorch")
    options = parser.parse_args()
    for subject in SUBJECTS:
        importlib.import_module(subject)
    options.gpuprof, options.examples = options.gpuprof.absolute(), options.examples.absolute()

    names = [
        name
        for name in CHECKS
        if not options.only or any(name.startswith(only) for only in options.only)
    ]
    if options.list:
        print("\n".join(names))
        return 0
    if not names:
        print(f"gpu_check: no check is called {' or '.join(options.only)}", file=sys.stderr)
        return 2
    if not options.gpuprof.exists():
        print(f"gpu_check: {options.gpuprof} is missing: run scripts/build", file=sys.stderr)
        return 2
    if gpu_count() == 0:
        print("gpu_check: no usable NVIDIA GPU here, nothing was checked", file=sys.stderr)
        return 77

    results = []
    together = [name for name in names if name not in ALONE]
    for jobs, chosen in ((options.jobs, together), (1, [n for n in names if n in ALONE])):
        for result in carried_out(chosen, jobs, options):
            results.append(result)
            line = f"{result['result']:4}  {result['name']}"
            if result["why"]:
                line += ": " + "; ".join(result["why"])
            else:
                line += f" ({result['expectations']} expectations, {result['seconds']} s)"
            print(line.replace("\n", " "), flush=True)
    count = collections.Counter(result["result"] for result in results)
    print(
        f"{count['ok']} ok, {count['FAIL']} failed, {count['skip']} skipped, "
        f"{sum(result['expectations'] for result in results)} expectations"
    )
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(results, indent=1, default=str) + "\n")
    return 1 if count["FAIL"] else 0
