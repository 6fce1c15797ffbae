"""Checks of what a file knows when its run is over, compared with the same computed here and elsewhere."""

import collections
import json
import pathlib
import sys
import tempfile

from check import EXAMPLES, check, run
from frameworks import python

API = ("CUPTI_ACTIVITY_KIND_RUNTIME", "CUPTI_ACTIVITY_KIND_DRIVER")


def innermost(ranges, time):
    """Among (start, end, id): the last that was opened and is still open."""
    found = [(start, id) for start, end, id in ranges if start <= time and (end or time + 1) > time]
    return max(found)[1] if found else None


def busy(spans):
    total, until = 0, 0
    for start, end in sorted(spans):
        total += max(0, end - max(start, until))
        until = max(until, end)
    return total


def is_right(c, database):
    by_thread, by_process = collections.defaultdict(list), collections.defaultdict(list)
    around = {}
    for id, process, thread, start, end, parent in database.rows(
        'SELECT id, process_id, thread_id, start, "end", parent FROM nvtx_ranges'
    ):
        around[id] = parent
        by_process[process].append((start, end, id))
        if thread:
            by_thread[process, thread].append((start, end, id))
    ranges = {}
    for table in API:
        for correlation, process, thread, start in database.rows(
            f"SELECT correlationId, processId, threadId, start FROM {table}"
        ):
            if correlation in ranges:
                continue
            found = innermost(by_thread[process, thread], start)
            match = "thread"
            if found is None:
                found, match = innermost(by_process[process], start), "time"
            ranges[correlation] = (found, match if found else None)
    work = database.rows(
        """SELECT correlation_id, device_id, start, "end", range_id, range_match
           FROM gpu_activities WHERE "end" > start"""
    )
    c.expect(len(work) > 0, "there is no GPU work")
    wrong = [row for row in work if ranges.get(row[0], (None, None)) != (row[4], row[5])]
    c.equal(wrong[:5], [], f"work with another range than it has here, {len(wrong)} of {len(work)}")
    of_range, of_device = collections.defaultdict(list), collections.defaultdict(list)
    for _, device, start, end, range_id, _ in work:
        of_device[device].append((start, end))
        while range_id:
            of_range[range_id, device].append((start, end))
            range_id = around[range_id]
    c.equal(
        {(a, b): n for a, b, n in database.rows("SELECT range, deviceId, busy FROM RANGE_TIME")},
        {key: busy(spans) for key, spans in of_range.items()},
        "busy time of ranges",
    )
    c.equal(
        dict(database.rows("SELECT deviceId, busy FROM DEVICE_TIME")),
        {key: busy(spans) for key, spans in of_device.items()},
        "busy time of devices",
    )
    c.seen["matched"] = dict(
        database.rows("SELECT range_match, count(*) FROM gpu_activities GROUP BY 1")
    )
    c.seen["utilization"] = database.rows("SELECT * FROM gpu_utilization")


@check
def derived_threads(c):
    is_right(c, c.gpuprof([c.example("nvtx_threads"), "4", "20"]))


@check
def derived_streams(c):
    is_right(c, c.gpuprof([c.example("streams"), "4", "50"]))


@check
def derived_training(c):
    is_right(c, c.gpuprof([python(c, "torch"), EXAMPLES / "train.py", "--steps", "20"]))


def questions_are_answered(c, command):
    """Every query compared with what tests/golden computes from the tables."""
    database = c.gpuprof(command)
    test = pathlib.Path(__file__).resolve().parents[1] / "golden" / "test_queries.py"
    named = (f"GPUPROF={c.options.gpuprof}", f"GPUPROF_PROFILES={database.path}")
    outcome = run(["env", *named, sys.executable, test], timeout=300)
    c.equal(outcome.code, 0, outcome.stderr[-3000:])
    c.seen["answered"] = outcome.stderr.strip().splitlines()[-3:]


@check
def questions_pytorch(c):
    command = [python(c, "torch"), EXAMPLES / "train.py", "--steps", "40"]
    questions_are_answered(c, command)


@check
def questions_hugging_face(c):
    command = [python(c, "torch", "transformers"), EXAMPLES / "gpt2.py"]
    questions_are_answered(c, command)


@check
def torch_ranges(c):
    """GPU time by range, compared with torch.profiler's for the same program."""
    command = [
        *(python(c, "torch"), EXAMPLES / "train.py", "--steps", "100"),
        *("--batch", "32768", "--width", "2048"),
    ]
    names = ("forward", "backward", "optimizer")
    with tempfile.TemporaryDirectory() as folder:
        trace = pathlib.Path(folder) / "trace.json"
        outcome = run([*command, "--chrome-trace", trace])
        if not c.expect(trace.exists(), outcome.stderr[-500:]):
            return
        events = json.loads(trace.read_text())["traceEvents"]
    # A kernel is in the range that was open when it was launched, on whichever thread.
    spans = [
        (event["ts"], event["ts"] + event["dur"], event["name"])
        for event in events
        if event.get("cat") == "user_annotation" and event["name"] in names
    ]
    launched = {
        event["args"]["correlation"]: event["ts"]
        for event in events
        if event.get("cat") in ("cuda_runtime", "cuda_driver") and "correlation" in event["args"]
    }
    theirs, their_kernels = collections.Counter(), collections.Counter()
    for event in events:
        if event.get("cat") == "kernel":
            time = launched.get(event["args"]["correlation"])
            for start, end, name in spans:
                if time is not None and start <= time < end:
                    theirs[name] += event["dur"]
                    their_kernels[name, event["name"]] += 1
    database = c.gpuprof(command)
    ours = dict(database.rows("SELECT range_name, sum(duration) / 1e3 FROM kernels GROUP BY 1"))
    # Names are written differently there, so only the counts must match.
    our_kernels = database.rows(
        """SELECT range_name, count(*) FROM kernels
           WHERE range_name IN ('forward', 'backward', 'optimizer') GROUP BY range_name, name"""
    )
    c.equal(
        sorted(our_kernels),
        sorted((name, count) for (name, _), count in their_kernels.items()),
        "kernels of each name by range",
    )
    c.seen["us"] = {name: (round(theirs[name], 1), round(ours.get(name, 0), 1)) for name in names}
    for name in names:
        c.expect(theirs[name] > 0, f"torch.profiler has nothing for {name}")
        # The clocks of two runs differ.
        c.expect(
            abs(ours.get(name, 0) - theirs[name]) <= 0.05 * theirs[name],
            f"{name}: {ours.get(name, 0)} us, torch.profiler has {theirs[name]}",
        )
