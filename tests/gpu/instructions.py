"""Checks of counts by instruction: examples/count_lines.cu says what each line does."""

import collections
import json
import pathlib

from check import EXAMPLES, Skipped, check, run
from frameworks import python
from metrics import MEASURING, measure

SOURCE = EXAMPLES / "count_lines.cu"
LAUNCHES = 3
WARPS = LAUNCHES * 64 * 1024 // 32
ALL = "global_access,shared_access,branch,instruction_execution"
PREFIX = "CUPTI_ACTIVITY_KIND_"


def count(c, command, *choice, stdout=True):
    with MEASURING:
        database = c.gpuprof(command, *choice, "--source-level-analysis", ALL, stdout=stdout)
    told = [line for line in database.outcome.stderr.splitlines() if "SASS" in line]
    if told and not database.one("SELECT count(*) FROM SASS_METRIC"):
        raise Skipped(told[0])
    c.equal(told, [], "told")
    c.seen["stderr"] = database.outcome.stderr.strip()
    c.seen["metrics"] = [row[0] for row in database.rows("SELECT metric FROM SASS_METRIC")]
    return database


def lines():
    """NAME of "// counts: NAME" -> its line number."""
    found = {}
    for number, line in enumerate(SOURCE.read_text().splitlines(), 1):
        _, comment, name = line.partition("// counts: ")
        if comment:
            found[name.strip()] = number
    return found


def rows_at(database, table, columns, line):
    return database.rows(
        f"""SELECT {columns} FROM {PREFIX}{table} AS t
            JOIN {PREFIX}SOURCE_LOCATOR AS l ON l.id = t.sourceLocatorId
             AND l.processId = t.processId
            JOIN StringTable AS s ON s._id_ = l.fileName
            WHERE s.value LIKE '%count_lines.cu' AND l.lineNumber = ? ORDER BY pcOffset""",
        line,
    )


def raw(database, line):
    """All counts of a line, for printing."""
    values = collections.defaultdict(dict)
    for pc, metric, value in database.rows(
        "SELECT pc, metric, value FROM sass_metrics WHERE line = ? AND file LIKE '%count_lines.cu'",
        line,
    ):
        values[hex(pc)][metric] = value
    return dict(values)


@check
def instructions_of_lines(c):
    """Each memory access and branch: executions, threads, sectors, wavefronts, divergence. Exact."""
    database = count(c, [c.example("count_lines"), str(LAUNCHES)])
    c.sound(database)
    c.equal(database.one("SELECT count(*) FROM kernels"), 0, "kernels, which are not traced")
    numbers = lines()
    for text in database.outcome.stdout.decode().splitlines():
        name, *rest = text.split()
        executed, threads, sectors, ideal, wavefronts, without_conflicts, diverged = map(int, rest)
        line = numbers[name]
        load = 256 if name.endswith("load") else 0
        if sectors:
            table = "GLOBAL_ACCESS"
            columns = "flags, executed, threadsExecuted, l2_transactions, theoreticalL2Transactions"
            wanted = (load, 1, threads, sectors, ideal)
        elif wavefronts:
            table = "SHARED_ACCESS"
            columns = (
                "flags, executed, threadsExecuted, sharedTransactions, "
                "theoreticalSharedTransactions"
            )
            wanted = (load, 1, threads, wavefronts, without_conflicts)
        else:
            table = "BRANCH"
            columns = "0, executed, threadsExecuted, diverged"
            wanted = (0, 1, threads, diverged)
        wanted = (wanted[0], *(executed * each for each in wanted[1:]))
        c.equal(
            rows_at(database, table, columns, line),
            [wanted],
            f"{table} of {name} (line {line}): {columns}; raw {raw(database, line)}",
        )


@check
def instructions_in_a_row(c):
    """In kernels without branches each warp executes each instruction once."""
    database = count(c, [c.example("count_lines"), str(LAUNCHES)])
    for kernel in ("side_by_side", "far_apart", "transposed"):
        rows = database.rows(
            """SELECT pc, sum(value) FROM sass_metrics
               WHERE short_name = ? AND metric = 'inst_executed' GROUP BY pc ORDER BY pc""",
            kernel,
        )
        c.equal(
            [pc for pc, _ in rows], list(range(0, 16 * len(rows), 16)), f"instructions of {kernel}"
        )
        c.equal({value for _, value in rows}, {WARPS}, f"executions in {kernel}: {rows}")
        c.expect(len(rows) >= 8, f"{len(rows)} instructions in {kernel}")
        c.seen[f"threads in {kernel}"] = database.rows(
            """SELECT metric, value, count(*) FROM sass_metrics
               WHERE short_name = ? AND metric LIKE 'thread%' GROUP BY 1, 2""",
            kernel,
        )


@check
def instructions_against_metrics(c):
    """Sums over instructions match the range profiler's counts for the kernels."""
    command = [c.example("count_lines"), str(LAUNCHES)]
    counted = count(c, command)
    metrics = ["inst_executed", "thread_inst_executed", "thread_inst_executed_pred_on"]
    measured = measure(c, command, [f"smsp__sass_{metric}.sum" for metric in metrics])
    for metric in metrics:
        c.equal(
            counted.counts(
                "SELECT short_name, sum(value) FROM sass_metrics WHERE metric = ? GROUP BY 1",
                metric,
            ),
            measured.counts(
                "SELECT short_name, sum(value) FROM kernel_metrics WHERE metric = ? GROUP BY 1",
                f"smsp__sass_{metric}.sum",
            ),
            metric,
        )


@check
def instructions_of_modules(c):
    """A module that the program creates and unloads."""
    database = count(c, [c.example("nvrtc")])
    c.sound(database)
    functions = database.counts(
        "SELECT short_name, sum(value) FROM sass_metrics WHERE metric = 'inst_executed' GROUP BY 1"
    )
    c.equal(set(functions), {"compiled_at_run_time"}, "functions that were counted")
    c.seen["functions"] = functions


@check
def instructions_of_many_launches(c):
    """More launches than the GPU keeps up with, at which CUPTI hung while it traced kernels."""
    launches = 100_000
    for command, name, threads in (
        ([c.example("small_launches"), str(launches)], "tiny", 32 * (1000 + launches)),
        ([c.example("nvrtc"), str(launches)], "compiled_at_run_time", 1024 * launches),
    ):
        database = count(c, command, stdout=False)  # it prints times
        c.sound(database)
        counts = database.rows(
            """SELECT DISTINCT short_name, value FROM sass_metrics
               WHERE metric = 'thread_inst_executed'"""
        )
        c.equal(counts, [(name, threads)], "threads that executed each instruction")


LAUNCH_CALLS = """SELECT count(DISTINCT correlation_id) FROM api_calls
                  WHERE name LIKE 'cudaLaunch%' OR name LIKE 'cuLaunch%'"""


@check
def instructions_by_launch(c):
    """Each launch separately: the same each time, and together the total."""
    command = [c.example("count_lines"), str(LAUNCHES)]
    together = count(c, command)
    database = count(c, command, "--kernels", ".")
    c.sound(database)
    launches = database.counts(
        """SELECT short_name, count(DISTINCT correlation_id) FROM sass_metrics
           WHERE correlation_id IN (SELECT correlation_id FROM api_calls) GROUP BY 1"""
    )
    c.equal(set(launches.values()), {LAUNCHES}, "launches that were counted")
    c.equal(sum(launches.values()), database.one(LAUNCH_CALLS), "launches")
    # The addresses of the atomics depend on the values they find there.
    same = "metric NOT LIKE 'sectors%' OR short_name NOT IN ('divergent', 'convergent')"
    values = f"""SELECT short_name || ' ' || pc || ' ' || metric, sum(value) FROM sass_metrics
                 WHERE {same} GROUP BY 1"""
    c.equal(database.counts(values), together.counts(values), "sums")
    unlike = f"""SELECT short_name, pc, metric, group_concat(value) FROM sass_metrics
                 WHERE {same} GROUP BY 1, 2, 3 HAVING min(value) <> max(value) LIMIT 3"""
    c.equal(database.rows(unlike), [], "instructions that differ between launches")


@check
def instructions_of_chosen_launches(c):
    """Three of many launches, where the others continue without waiting; and all of them."""
    launches = 20_000
    for command, name, threads in (
        ([c.example("small_launches"), str(launches)], "tiny", 32),
        ([c.example("nvrtc"), str(launches)], "compiled_at_run_time", 1024),
    ):
        for choice, wanted in (
            (("--kernels", name, "--launch-skip", "5000", "--launch-count", "3"), 3),
            (("--kernels", name), None),
        ):
            database = count(c, command, *choice, stdout=False)
            c.sound(database)
            calls = database.one(LAUNCH_CALLS)
            c.expect(calls >= launches, f"{calls} launches")
            c.equal(
                database.rows(
                    """SELECT count(DISTINCT correlation_id), min(value), max(value)
                       FROM sass_metrics WHERE metric = 'thread_inst_executed'"""
                ),
                [(wanted or calls, threads, threads)],
                f"launches of {name} that were counted",
            )


@check
def instructions_of_chosen_kernels_of_torch(c):
    command = [python(c, "torch"), EXAMPLES / "train.py", "--steps", "20"]
    database = count(c, command, "--kernels", "gemm", stdout=False)
    c.sound(database)
    traced = c.gpuprof(command, stdout=False)
    counted = database.one("SELECT count(DISTINCT correlation_id) FROM sass_metrics")
    kernels = traced.one("SELECT count(*) FROM kernels WHERE name LIKE '%gemm%'")
    c.equal(counted, kernels, "launches that were counted")
    c.seen["counted"] = counted


@check
def instructions_of_torch(c):
    command = [python(c, "torch"), EXAMPLES / "train.py", "--steps", "20"]
    database = count(c, command, stdout=False)
    functions = database.one("SELECT count(DISTINCT mangled_name) FROM sass_metrics")
    traced = c.gpuprof(command, stdout=False)
    kernels = traced.one("SELECT count(DISTINCT mangled_name) FROM kernels")
    c.expect(functions >= kernels > 0, f"{functions} functions, {kernels} kernels")
    c.seen["functions"] = functions


@check
def instructions_from_python(c):
    """A process that records itself repeatedly finds the same as gpuprof, and its kernels."""
    script = pathlib.Path(__file__).with_name("records_itself.py")
    database = count(c, [python(c, "torch"), script, "work"])
    wanted = dict(
        database.rows("""
            SELECT function, sum(value) FROM sass_metrics WHERE metric = 'inst_executed' GROUP BY 1""")
    )
    packages = c.options.gpuprof.resolve().parents[1] / "share" / "gpuprof" / "python"
    words = ["env", f"PYTHONPATH={packages}", c.options.python, script]
    with MEASURING:
        outcome = run(words, timeout=200, cwd=c.folder)
    if not c.equal(outcome.code, 0, outcome.stderr[-2000:]):
        return
    found = json.loads(outcome.stdout)
    c.seen |= {"traces": found, "by gpuprof": wanted}
    own = max(wanted, key=wanted.get)  # the product
    samples = [facts["sampled"].get(own, 0) for name, facts in found if name == "samples"]
    c.expect(min(samples) > 0.9 * max(samples) > 0, f"samples of the product: {samples}")
    for number, (name, facts) in enumerate(found):
        where = f"trace {number}, {name}"
        late = ["begun_late"] * (number > 0)
        beside = "beside" in name
        c.equal(facts["messages"], [], where)
        losses = [each for each in facts["losses"] if each != "sass_instructions_dropped"]
        c.equal(losses if beside else facts["losses"], late, where)
        if name in ("samples", "plain"):
            c.equal(facts["kernels"], 42, f"{where}: kernels")
        if name == "samples":
            c.expect(facts["code"] > 0, f"{where}: no code")
        if beside and "samples" in name:
            c.expect(facts["sampled"].get(own, 0) > 0, f"{where}: no samples")
            c.expect(facts["kernels"] > 42, f"{where}: {facts['kernels']} kernels")
        if name == "counts":
            c.equal(facts["counted"], wanted, where)
        if name == "counts beside":
            c.equal(facts["counted"].get(own), wanted[own], where)
        if name == "chosen":
            c.expect(len(facts["counted"]) > 0, f"{where}: nothing was counted")
        if name == "memory":
            c.equal(facts["peak"], 100 << 20, f"{where}: peak")
            c.expect(facts["frames"] > 0, f"{where}: no function of Python")
