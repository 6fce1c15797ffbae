"""Checks of metrics: examples/known_counts.cu has known values."""

import collections
import json
import pathlib
import statistics
import subprocess
import threading
import time

from check import EXAMPLES, TIMEOUT, Skipped, check, environment, run
from frameworks import python

MEASURING = threading.Lock()  # a GPU's counters serve one process at a time
FLOPS = [f"smsp__sass_thread_inst_executed_op_{op}_pred_on.sum" for op in ("fadd", "fmul", "ffma")]
COUNTED = ["sm__ctas_launched.sum", "sm__warps_launched.sum", *FLOPS]


def measure(c, command, metrics, *options, stdout=True):
    with MEASURING:
        return c.gpuprof(
            command, "--require-metrics", *options, "--metrics", ",".join(metrics), stdout=stdout
        )


def all_measured(c, database, metrics, losses=False):
    """Each kernel row has each metric once, and nothing else has."""
    c.sound(database, losses=losses)
    c.equal(database.rows("SELECT note, count(*) FROM metric_gaps GROUP BY 1"), [], "gaps")
    kernels = database.one("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL")
    joined = database.counts(
        """SELECT m.name, count(*) FROM METRIC_RANGE AS r JOIN METRIC_VALUE AS v ON v.range = r._id_
           JOIN METRIC AS m ON m._id_ = v.metric JOIN CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL AS k
             ON k.correlationId = r.correlationId AND k.processId = r.processId AND k.name = r.name
            AND k.gridX = r.gridX AND k.gridY = r.gridY AND k.blockX = r.blockX
           GROUP BY 1"""
    )
    c.equal(joined, {metric: kernels for metric in metrics}, f"values of {kernels} kernels")
    c.equal(database.one("SELECT count(*) FROM kernels WHERE name LIKE '%WaitNs%'"), 0, "WaitNs")


def counted_right(c, database, launches):
    """Compared with what examples/known_counts prints about itself."""
    values = collections.defaultdict(collections.Counter)
    for kernel, metric, value in database.rows(
        "SELECT short_name, metric, value FROM kernel_metrics"
    ):
        values[kernel, metric][value] += 1
    for line in database.outcome.stdout.decode().splitlines():
        name, blocks, warps, flops, *_ = line.split()
        for metric, wanted in (
            ("sm__ctas_launched.sum", blocks),
            ("sm__warps_launched.sum", warps),
        ):
            c.equal(values[name, metric], {float(wanted): launches}, f"{metric} of {name}")
        per_kernel = sum(
            (2 if "ffma" in metric else 1) * value
            for metric in FLOPS
            for value in values[name, metric]
        )
        c.equal(per_kernel, float(flops), f"flops of {name}")


@check
def metrics_application(c):
    metrics = [*COUNTED, "dram__bytes_read.sum", "achieved_occupancy"]
    database = measure(c, [c.example("known_counts"), "2"], metrics)
    all_measured(c, database, metrics)
    counted_right(c, database, 2)
    read = database.one(
        "SELECT min(value) FROM kernel_metrics WHERE metric = 'dram__bytes_read.sum'"
        " AND short_name = 'copy'"
    )
    c.expect(2**28 <= read < 1.01 * 2**28, f"copy reads {read} bytes of 2^28")


@check
def metrics_several_passes(c):
    metrics = ["sm__throughput.avg.pct_of_peak_sustained_elapsed"]
    database = measure(c, [c.example("known_counts"), "2"], metrics)
    all_measured(c, database, metrics)
    passes = database.one("SELECT max(passes) FROM METRIC_GROUP")
    c.expect(passes > 1, f"{passes} passes")
    bad = database.rows("SELECT * FROM kernel_metrics WHERE NOT value BETWEEN 0 AND 100.5")
    c.equal(bad, [], "throughput in percent")


@check
def metrics_kernel_replay(c):
    metrics = [*COUNTED, "dram__bytes_read.sum"]
    database = measure(c, [c.example("known_counts"), "2"], metrics, "--replay-mode", "kernel")
    all_measured(c, database, metrics, losses=True)
    counted_right(c, database, 2)
    c.seen["losses"] = database.rows("SELECT name, value FROM losses")


@check
def metrics_multiplex(c):
    database = measure(
        c,
        [c.example("small_launches"), "1000000"],
        ["sm__ctas_launched.sum", "dram_read_bytes"],
        "--replay-mode",
        "multiplex",
        "--metrics-overhead",
        "50%",
        stdout=False,
    )
    c.sound(database)
    counted = database.row(
        """SELECT count(*), min(value), max(value) FROM kernel_metrics
           WHERE metric = 'sm__ctas_launched.sum'"""
    )
    c.expect(counted[0] >= 4 and counted[1:] == (1, 1), f"blocks measured {counted}")
    groups = database.one("SELECT count(DISTINCT passGroup) FROM METRIC_RANGE")
    c.equal(groups, 2, "groups that had a turn")
    kernels = database.one("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL")
    c.equal(kernels, 1_001_000, "kernels")
    c.seen["coverage"] = database.rows("SELECT metric, launches, measured FROM metric_coverage")
    c.seen["permille"] = database.one(
        "SELECT value FROM STATISTIC WHERE name = 'metrics_overhead_permille'"
    )


@check
def metrics_of_several_passes(c):
    """Multiplexing takes each pass from another launch, which gives what several runs do."""
    metric = "sm__throughput.avg.pct_of_peak_sustained_elapsed"
    means = {}
    # Tracing concurrent kernels would add instructions to those of many small blocks.
    for mode, launches in (("application", 3), ("multiplex", 8000)):
        database = measure(
            c, [c.example("known_counts"), str(launches)], [metric], "--replay-mode", mode,
            "--metrics-overhead", "100%", "--metrics-samples", "4", "--concurrent-kernels", "off",
            stdout=False,
        )  # fmt: skip
        c.sound(database)
        means[mode] = database.counts(
            "SELECT short_name, avg(value) FROM kernel_metrics WHERE value > 0 GROUP BY 1"
        )
    c.seen["means"] = means
    c.expect(len(means["multiplex"]) >= 3, f"kernels that were measured: {means}")
    for name, mean in means["multiplex"].items():
        c.expect(abs(mean / means["application"][name] - 1) <= 0.03, f"{metric} of {name}: {means}")


@check
def metrics_range(c):
    """A range has the sum of its kernels."""
    command = [c.example("vector_add"), "1000000", "10"]
    database = measure(c, command, COUNTED[:2], "--range", "nvtx:^compute$")
    c.sound(database)
    blocks = (1_000_000 + 255) // 256
    c.equal(
        database.counts("SELECT metric, value FROM range_metrics"),
        {"sm__ctas_launched.sum": 10.0 * blocks, "sm__warps_launched.sum": 80.0 * blocks},
        "values of the range",
    )


@check
def metrics_of_streams(c):
    metrics = ["sm__ctas_launched.sum", "gpu__time_duration.sum"]
    all_measured(c, measure(c, [c.example("streams"), "4", "8"], metrics), metrics)


@check
def metrics_beside_graphs(c):
    """Kernels of graphs are traced, counted and not measured; those between them are exact."""
    command = [c.example("graph"), "5", "10", "3"]
    blocks, adds = metrics = [
        "sm__ctas_launched.sum",
        "smsp__sass_thread_inst_executed_op_fadd_pred_on.sum",
    ]
    for mode in ("application", "kernel", "multiplex"):
        options = ["--replay-mode", mode, "--metrics-overhead", "1000%"]
        database = measure(c, command, metrics, *options)
        # Kernels that CUPTI 13.0 replays have no times.
        old = database.one("SELECT max(cupti_version) FROM PROCESS") < 130100
        untimed = 15 if old and mode == "kernel" else 0
        c.sound(database, losses=untimed > 0)
        lost = {"records_without_times": untimed} if untimed else {}
        c.equal(database.counts("SELECT name, value FROM losses"), lost, f"losses, {mode}")
        c.kernels(database, {"add_step": 65})
        timed = database.one(
            "SELECT count(*) FROM kernels WHERE duration > 0 AND graph_node_id > 0"
        )
        c.equal(timed, 50, f"kernels of graphs that have times, {mode}")
        skipped = database.one("SELECT value FROM STATISTIC WHERE name = 'metrics_skipped_graph'")
        c.equal(skipped, 5, f"graph launches that were not measured, {mode}")
        rows = database.rows("SELECT metric, value, count(*) FROM kernel_metrics GROUP BY 1, 2")
        c.seen[mode] = rows
        exact = [(blocks, 64, 15), (adds, 16 * 1024, 15)]
        if mode == "multiplex":
            c.expect({r[:2] for r in rows} <= {r[:2] for r in exact}, f"values, {mode}: {rows}")
        else:
            c.equal(rows, exact, f"values, {mode}")
    database = measure(c, command, metrics, "--range", "nvtx:^launches$")
    c.sound(database, losses=True)
    c.kernels(database, {"add_step": 15})  # tracing those of graphs would change the counts
    c.equal(database.counts("SELECT name, value FROM losses"), {"graphs_not_traced": 5}, "losses")
    gaps = "counters of patched code leave out the CUDA graphs that were launched"
    c.equal(database.rows("SELECT note, count(*) FROM metric_gaps GROUP BY 1"), [(gaps, 1)], "gaps")
    rows = database.rows("SELECT metric, value FROM range_metrics")
    c.equal([row[0] for row in rows], [blocks], "metrics of a range with graphs")
    # The graph's memset is a kernel of the driver.
    c.seen["blocks in a range with graphs"] = rows
    c.expect(65 * 64 <= rows[0][1] <= 65 * 64 + 5 * 64, f"blocks in a range with graphs: {rows}")


@check
def metrics_of_green_contexts(c):
    """The same work in 1/4 and 3/4 of the multiprocessors: counts alike, shares those of the part."""
    share = "sm__inst_executed.avg.pct_of_peak_sustained_elapsed"
    metrics = [share, "smsp__inst_executed.sum", "sm__cycles_active.avg", "sm__cycles_active.sum"]
    database = measure(c, [c.example("green_context"), "1", "32", "20000"], metrics)
    all_measured(c, database, metrics)
    if database.one("SELECT max(cupti_version) FROM PROCESS") < 130300:
        raise Skipped("CUPTI measures parts of a device from 13.3 on")
    parts = dict(database.rows("SELECT context_id, coalesce(multiprocessors, 132) FROM contexts"))
    c.equal(sorted(parts.values()), [32, 100, 132], "multiprocessors")
    found = collections.defaultdict(dict)
    for context, metric, value in database.rows(
        "SELECT context_id, metric, value FROM kernel_metrics WHERE short_name = 'known_work'"
    ):
        found[context][metric] = value
    c.equal(set(found), set(parts), "contexts with the work")
    for context, values in found.items():
        c.expect(values[share] > 80, f"{values[share]} % of the peak of {parts[context]} SMs")
        mean, total = values["sm__cycles_active.avg"], values["sm__cycles_active.sum"]
        c.expect(abs(mean * parts[context] / total - 1) < 1e-6, f"{total} cycles, {mean} of an SM")
    c.equal(
        len({values["smsp__inst_executed.sum"] for values in found.values()}), 1, "instructions"
    )


@check
def metrics_killed(c):
    """Values measured more than a second before the death are kept."""
    for pause, least in ((0, 0), (2500, 50)):
        command = [c.example("die"), "kill", "50", "0", str(pause)]
        database = measure(c, command, ["sm__ctas_launched.sum"])
        c.sound(database, losses=True)
        c.kernels(database, {"finished_work": 50, "unfinished_work": 50})
        measured = database.one("SELECT count(*) FROM kernel_metrics")
        c.expect(least <= measured <= 100, f"{measured} kernels measured, pause {pause} ms")
        c.seen[f"measured after {pause} ms"] = measured


@check
def metrics_torch(c):
    metrics = ["sm__ctas_launched.sum", "gpu__time_duration.sum"]
    command = [python(c, "torch"), EXAMPLES / "train.py", "--steps", "3"]
    database = measure(c, command, metrics)
    c.sound(database, losses=True)
    kernels = database.one("SELECT count(*) FROM kernels WHERE coalesce(graph_node_id, 0) = 0")
    counted = database.counts("SELECT metric, count(*) FROM kernel_metrics GROUP BY 1")
    c.seen["kernels and values"] = [kernels, counted]
    c.equal(counted.get(metrics[0]), kernels, "kernels measured in the first run")
    gaps = database.counts("SELECT note, count(*) FROM metric_gaps GROUP BY 1")
    c.equal(counted.get(metrics[1], 0) + sum(gaps.values()), kernels, f"in the second, {gaps}")
    wrong = database.one(
        """SELECT count(*) FROM kernel_metrics AS m JOIN kernels AS k USING (correlation_id)
           WHERE m.metric = 'sm__ctas_launched.sum' AND
             m.value <> (SELECT gridX * gridY * gridZ FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
                         WHERE correlationId = m.correlation_id)"""
    )
    c.equal(wrong, 0, "kernels whose blocks were counted wrong")


@check
def metrics_taken(c):
    """Another process measures: reported before the program starts, which is traced nevertheless."""
    with MEASURING:
        other = subprocess.Popen(
            [c.options.gpuprof, "-q", "-o", c.folder / "other.sqlite", "--metrics",
             "sm__warps_active.avg.pct_of_peak_sustained_active",
             c.example("small_launches"), "8000"],
            stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment(),
        )  # fmt: skip
        time.sleep(3.5)
        database = c.gpuprof(
            [c.example("vector_add"), "1000000", "10"], "--metrics", "sm__ctas_launched.sum"
        )
        still = other.poll() is None
        other.wait(TIMEOUT)
    c.seen["stderr"] = database.outcome.stderr.splitlines()[:4]
    c.kernels(database, {"vector_add": 10})
    if still:
        c.expect("another program is using the counters" in database.outcome.stderr, "nothing said")


@check
def metrics_from_python(c):
    """A process that measures itself finds the same as `gpuprof --metrics`."""
    one_pass = ["sm__warps_launched.sum", "sm__inst_executed.sum", "dram__bytes_read.sum"]
    several = ["sm__throughput.avg.pct_of_peak_sustained_elapsed"]
    script = pathlib.Path(__file__).with_name("measures_itself.py")
    command = [python(c, "torch"), script, "ranges"]
    database = measure(c, command, one_pass + several, "--range", "nvtx:^attention$")
    wanted = collections.defaultdict(list)
    for metric, value in database.rows("SELECT metric, value FROM range_metrics"):
        wanted[metric].append(value)
    packages = c.options.gpuprof.resolve().parents[1] / "share" / "gpuprof" / "python"
    words = (c.options.python, script, ",".join(one_pass), ",".join(several))
    with MEASURING:
        outcome = run(["env", f"PYTHONPATH={packages}", *words], timeout=300, cwd=c.folder)
    if not c.equal(outcome.code, 0, outcome.stderr[-2000:]):
        return
    found = json.loads(outcome.stdout)
    passes, seen = found["checkpoint"]
    c.expect(passes > 1, f"{passes} passes")
    after = [(1 << 20) * (1 + number) for number in range(passes)]
    c.equal(seen, [0] * passes + after, "what each pass found, with a checkpoint and without")
    c.seen["by gpuprof --metrics"] = wanted
    c.seen["by gpuprof.range()"] = {name: found[name] for name in ("with", "run", "units")}
    for metric in one_pass[:2]:  # how much is read from DRAM depends on the caches
        right = statistics.median(wanted[metric])
        values = [each[metric] for each in found["with"] + found["run"]]
        values += [row["median"] for row in found["rows"] if row["metric"] == metric][1:]
        far = [value for value in values if value is None or abs(value / right - 1) > 0.01]
        c.equal(far, [], f"{metric}, {right} by gpuprof --metrics")
    c.expect(all(each[several[0]] for each in found["run"]), "no values of several passes")
    c.expect(found["passes"] > 1, f"{found['passes']} passes")
    c.expect("one pass can take" in found["refused"], found["refused"])
    c.expect(found["kernels"] > 0, "no kernels under kernel replay")
    c.equal(len(found["blocks"]), found["kernels"], "kernels measured")
    c.equal([each for each in found["blocks"] if each[0] != each[1]], [], "blocks")
    c.equal(found["plain"], [found["kernels"], ["begun_late"]], "a trace after all that")
    rows = {(row["config"][0], row["metric"]): row["median"] for row in found["rows"]}
    first, last = found["flops"]
    c.expect(first == last and first >= 1 << 20, f"operations first and last: {found['flops']}")
    c.seen["by gpuprof.measure()"] = {" ".join(map(str, key)): rows[key] for key in rows}
    for metric in ("duration", one_pass[1]):
        c.expect(rows[2048, metric] > rows[1024, metric] > 0, f"{metric} by size: {rows}")
