"""Checks of reports, replays and queries."""

import itertools
import re

from check import EXAMPLES, Profile, check, each, run, shorten
from frameworks import PYTHON_MODULES
from metrics import COUNTED, measure


@check
def summary(c):
    """Without -o, the summary on stderr; gpuprof -i prints the same for a stored run."""
    command = [c.example("vector_add"), "1000000", "10"]
    outcome = run([c.options.gpuprof, *command], cwd=c.folder)
    c.equal((outcome.code, outcome.stdout), (0, b"ok\n"), "exit code and stdout")
    path = c.gpuprof(command).path
    stored = run([c.options.gpuprof, "-i", path])
    c.equal(stored.code, 0, "exit code of -i")
    for text, which in ((outcome.stderr, "live"), (stored.stdout.decode() + stored.stderr, "-i")):
        for part in ("GPU activities", "vector_add", "[CUDA memcpy HtoD]", "cudaLaunchKernel"):
            c.expect(part in text, f"summary ({which}) without {part}")
    c.equal(sorted(path.name for path in c.folder.iterdir()), ["0.sqlite"], "files in the folder")


REPORTS = [
    [],
    ["--csv"],
    ["-u", "us"],
    ["--json"],
    ["--stats", "--top", "3"],
    ["--demangling", "modern"],
    ["--print-gpu-trace"],
    ["--print-api-trace", "--csv"],
    ["--print-gpu-trace", "--print-api-trace", "--json"],
    ["--print-summary-per-gpu"],
    ["--print-nvtx-summary"],
    ["--print-nvlink-topology", "--print-pci-topology"],
    ["--dependency-analysis"],
    ["--dependency-analysis", "--print-dependency-analysis-trace"],
]


# Lines of a run that do not belong to its report.
LIVE_ONLY = ("gpuprof: ", "======== GPUPROF is profiling", "======== Profiling application:")


@each("reports", ["nvtx_threads", "streams", "unified_memory"])
def reports(c, name):
    """Each report printed at the end of a run matches that of the stored file, byte for byte."""
    for number, options in enumerate(REPORTS):
        path = c.folder / f"{number}.sqlite"
        named = any(option.startswith(("--print", "--dependency")) for option in options)
        chosen = options if named else ["-s", *options]
        live = run([c.options.gpuprof, "-o", path, *chosen, c.example(name)], cwd=c.folder)
        stored = run([c.options.gpuprof, "-i", path, *chosen])
        what = " ".join(options) or "summary"
        c.equal((live.code, stored.code), (0, 0), f"exit codes of {what}")
        printed = "".join(
            line
            for line in re.sub(r"^==\d+== ", "======== ", live.stderr, flags=re.M).splitlines(True)
            if not line.startswith(LIVE_ONLY)
        )
        text = stored.stdout.decode() + stored.stderr
        c.expect(text.strip() != "", f"{what} prints nothing")
        c.expect(printed == text, f"{what} differs: {shorten(first_difference(printed, text))}")
        c.seen[what] = len(text)


def first_difference(one, two):
    pairs = itertools.zip_longest(one.splitlines(), two.splitlines())
    return next(((a, b) for a, b in pairs if a != b), None)


def differences(one, two):
    """Tables whose rows differ. Data that only a live run or only a replay can have is excluded."""
    found = []
    for table in one.tables():
        where = ""
        if table == "RUN":
            where = " WHERE key NOT IN ('gpuprof_command_line')"
        if table == "STATISTIC":
            where = " WHERE name <> 'spilled_bytes' AND (processId > 0 OR name NOT IN ('background_ns', 'cost_bytes'))"
        left, right = (
            set(map(str, db.rows(f'SELECT * FROM "{table}"{where}'))) for db in (one, two)
        )
        if left != right:
            found.append(
                f"{table}: {len(left - right)} rows only live {shorten(sorted(left - right)[:2])}, "
                f"{len(right - left)} only replayed {shorten(sorted(right - left)[:2])}"
            )
    return found


@each("replay", ["streams", "nvtx_threads", "die", "fork"])
def replay(c, name):
    """Replaying a capture gives the rows of the live run."""
    capture, again = c.folder / "run.gpcap", c.folder / "again.sqlite"
    command = [c.example(name)] + (["kill", "20", "200"] if name == "die" else [])
    live = c.gpuprof(command, "--save-capture", capture)
    outcome = run([c.options.gpuprof, "replay", capture, "-o", again])
    c.equal(outcome.code, 0, f"exit code of replay ({outcome.stderr.strip()})")
    replayed = Profile(again)
    c.equal(replayed.one("PRAGMA integrity_check"), "ok", "integrity_check of the replayed file")
    c.equal(differences(live, replayed), [], "live against replayed")
    c.seen["capture bytes"] = capture.stat().st_size


@check
def no_overwrite(c):
    """An existing file is refused without -f; the program is not run."""
    path = c.folder / "there.sqlite"
    path.write_text("mine")
    outcome = run([c.options.gpuprof, "-o", path, c.example("vector_add"), "1000"])
    c.equal((outcome.code, outcome.stdout), (21, b""), "exit code and stdout")
    c.equal(path.read_text(), "mine", "the file")


@check
def queries(c):
    """Every file of examples/queries runs on a live run's file."""
    command = [c.example("vector_add"), "1000000", "10"]
    database = c.gpuprof(command)
    measured = measure(c, command, COUNTED)
    for file in sorted((EXAMPLES / "queries").glob("*.sql")):
        if file.name == "graphs.sql":  # only files with stacks have its tables
            asked = run([c.options.gpuprof, "query", database.path, "graphs"])
            c.equal(asked.code, 0, f"{file.name}: {asked.stderr}")
            continue
        rows = (measured if file.name.startswith("metrics") else database).rows(file.read_text())
        # vector_add has no ranges that are called steps, and its kernels fill the device.
        none = ("steps.sql", "low_occupancy.sql", "hot_lines.sql", "uncoalesced.sql")
        none += ("bank_conflicts.sql", "divergent_branches.sql")  # need SASS metrics
        c.expect(rows or file.name in none, f"{file.name}: no rows")
    if PYTHON_MODULES.get("pandas") or run([c.options.python, "-c", "import pandas"]).code == 0:
        file = EXAMPLES / "queries" / "pandas_queries.py"
        outcome = run([c.options.python, file, database.path])
        c.equal(outcome.code, 0, f"pandas_queries.py: exit code ({outcome.stderr[-300:]})")
