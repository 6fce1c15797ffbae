"""Checks of the ways in which a program may end."""

import signal

from check import check, each

WAYS = ["return", "exit", "reset", "quick_exit", "_exit", "exec", "abort", "segv", "kill"]
IN_ORDER = ("return", "exit", "reset", "quick_exit")  # handlers run: the collector flushes all


def dies(c, how, busy, *options, pause=0):
    kernels = 50
    command = [c.example("die"), how, str(kernels), str(busy), str(pause)]
    database = c.gpuprof(command, *options)
    c.sound(database, losses=how not in IN_ORDER)
    c.correlated(database, api_calls=True)
    wanted = {"finished_work": kernels, "unfinished_work": kernels}
    if busy:
        wanted["keep_busy"] = 1
    c.kernels(database, wanted)
    c.calls(database, "cudaLaunchKernel", sum(wanted.values()))
    untimed = database.one(
        'SELECT count(*) FROM gpu_activities WHERE start IS NULL OR "end" IS NULL'
    )
    if pause:
        finished = database.one(
            "SELECT sum(start > 0) FROM kernels WHERE short_name = 'finished_work'"
        )
        c.equal(finished, kernels, f"finished_work with times, {pause} ms after its end")
    statistics = database.counts(
        "SELECT name, sum(value) FROM STATISTIC WHERE value > 0 AND name NOT LIKE 'records_%ed'"
        " GROUP BY 1"
    )
    c.seen[f"{how}, busy {busy} ms"] = {"without times": untimed, **statistics}
    c.equal(statistics.get("records_without_times", 0), untimed, "records_without_times")
    if untimed:
        c.equal(database.one("SELECT value FROM RUN WHERE key = 'loss'"), 1, "RUN.loss")
    goodbye, salvaged, status, number = database.row(
        "SELECT goodbye, salvaged, exit_status, exit_signal FROM PROCESS"
    )
    if how in IN_ORDER:
        c.equal((goodbye, salvaged), (1, 0), "goodbye, salvaged")
    else:
        c.equal((goodbye or 0, salvaged), (0, 1), "goodbye, salvaged")
        marked = database.one(
            "SELECT coalesce(sum(value), 0) FROM STATISTIC WHERE name = 'records_salvaged'"
        )
        c.expect(marked > 0, "no statistic records_salvaged")
    endings = {"return": 0, "exit": 3, "_exit": 4, "quick_exit": 5, "reset": 0, "exec": 0}
    signals = {"abort": signal.SIGABRT, "segv": signal.SIGSEGV, "kill": signal.SIGKILL}
    c.equal((status, number), (endings.get(how), signals.get(how)), "PROCESS: status, signal")
    run_end = database.counts("SELECT key, value FROM RUN WHERE key LIKE 'exit_%'")
    key = "exit_status" if how in endings else "exit_signal"
    c.equal(run_end, {key: endings.get(how, signals.get(how))}, "RUN: status, signal")


@each("die", WAYS)
def die(c, how):
    dies(c, how, 0)


@each("die_busy", WAYS)
def die_busy(c, how):
    """With a kernel running and others after it that never start."""
    dies(c, how, 300)


@check
def die_after_pause(c):
    """Work that ended a second before the death has its times: records are flushed periodically."""
    dies(c, "kill", 300, pause=1500)


@check
def die_gpu_only(c):
    """No API rows, but names are still there."""
    database = c.gpuprof([c.example("die"), "kill", "50", "0"], "--trace", "gpu")
    c.sound(database, losses=True)
    c.correlated(database, api_calls=False)
    c.kernels(database, {"finished_work": 50, "unfinished_work": 50})
