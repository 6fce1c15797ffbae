"""Checks of PM and PC sampling. Each has the GPU to itself, because counters count everybody's work."""

import bisect
import re

from check import EXAMPLES, Profile, alone, run

INTERVAL = 200_000  # ns


def samples_of(database, metric):
    """(start, end, value), in order of time."""
    names = [
        name
        for (name,) in database.rows("SELECT DISTINCT metric FROM pm_samples")
        if re.match(metric, name)
    ]
    assert len(names) == 1, f"metrics that are {metric}: {names}"
    return database.rows(
        'SELECT start, "end", value FROM pm_samples WHERE metric = ? ORDER BY start', names[0]
    )


def inside(samples, start, end):
    return [s for s in samples if s[0] >= start and s[1] <= end]


def mean(samples):
    return sum(s[2] for s in samples) / len(samples) if samples else None


def phases_of(database):
    """(name, start, end) by what the GPU did; idle phases are the times in between."""
    all = []
    for name, start, end in database.rows(
        'SELECT name, start, "end" FROM nvtx_ranges ORDER BY start'
    ):
        if name == "idle":
            all.append((name, all[-1][2], end))
            continue
        work = database.row(
            'SELECT min(start), max("end") FROM gpu_activities WHERE range_name = ?'
            " AND start BETWEEN ? AND ?",
            name,
            start,
            end,
        )
        all.append((name, *work))
    return all


@alone
def pm_phases(c):
    """Copies, products and idle time, distinguished by the samples alone."""
    database = c.gpuprof(
        [c.example("phases"), "10", "20"],
        "--pm-sampling",
        f"--pm-interval={INTERVAL}ns",
        stdout=False,
    )
    c.sound(database)
    c.equal(database.rows("SELECT * FROM pm_gaps"), [], "gaps")
    said = float(re.search(rb": ([\d.e+]+) bytes/s", database.outcome.stdout)[1])
    read = samples_of(database, r"dram__bytes.*read.*per_second")
    tensor = samples_of(database, r"sm__pipe_tensor.*pct")
    phases = phases_of(database)
    c.equal(len(phases), 30, "phases")
    copies = [(start, end) for name, start, end in phases if name == "copy"]
    read_in_copies = [s for span in copies for s in inside(read, *span)]
    level = mean(read_in_copies)
    c.expect(len(read_in_copies) > 300, f"{len(read_in_copies)} samples of copies")
    c.expect(abs(level / said - 1) < 0.03, f"read {level:.4g} bytes/s, the program says {said:.4g}")
    c.seen["read, bytes/s"] = [level, said]
    starts = [s[0] for s in read]
    off = []
    for name, start, end in phases:
        busy = mean(inside(tensor, start, end))
        if name == "multiply":
            c.expect(busy > 50, f"tensor units are busy {busy} % in products")
        else:
            c.expect(busy < 1, f"tensor units are busy {busy} % in phase {name}")
        if name == "copy":
            near = slice(
                bisect.bisect_left(starts, start - 5 * INTERVAL),
                bisect.bisect_left(starts, end + 5 * INTERVAL),
            )
            high = [s for s in read[near] if s[2] > level / 2]
            off += [abs(high[0][0] - start), abs(high[-1][1] - end)]
        if name == "idle":
            idle = mean(inside(read, start + INTERVAL, end - 2 * INTERVAL))
            c.expect(idle < level / 100, f"{idle:.4g} bytes/s are read when nothing runs")
    c.expect(max(off) <= 2 * INTERVAL, f"a copy phase begins or ends {max(off)} ns off")
    c.seen["boundaries off, ns"] = max(off)


@alone
def pm_without_gaps(c):
    """Samples of an idle device at 50 us, all of them."""
    path = c.folder / "idle.sqlite"
    outcome = run(
        [c.options.gpuprof, "sample", "--duration", "5s", "--pm-interval", "50us", "-o", path]
    )
    c.equal(outcome.code, 0, f"exit code; {outcome.stderr}")
    database = Profile(path)
    count, span = database.row("SELECT count(*), max(stop) - min(start) FROM PM_SAMPLE")
    parts = database.one("SELECT count(DISTINCT part) FROM PM_METRIC")
    c.expect(span > 4.5e9, f"samples span {span} ns")
    c.expect(abs(count / parts / (span / 50_000) - 1) < 0.01, f"{count / parts} in {span} ns")
    c.equal(database.rows("SELECT reason, count(*) FROM pm_gaps GROUP BY 1"), [], "gaps")
    c.seen["samples"] = count


def line_of(comment):
    lines = (EXAMPLES / "slow_lines.cu").read_text().splitlines()
    return next(i for i, line in enumerate(lines, 1) if line.endswith(f"// {comment}"))


def slow_lines_lead(c, database):
    for kernel, comment, reasons in (
        ("strided", "slow: strided load", {"long_scoreboard", "lg_throttle"}),
        ("unbalanced", "slow: barrier", {"barrier"}),
    ):
        lines = database.rows(
            "SELECT line, sum(samples) FROM pc_samples WHERE short_name = ? GROUP BY 1 ORDER BY 2 DESC",
            kernel,
        )
        c.expect(lines, f"{kernel} has no samples")
        if not lines:
            continue
        # A waiting warp is sampled at the instruction that it would issue next: after a barrier.
        slow = line_of(comment)
        c.expect(lines[0][0] in (slow, slow + 1), f"lines of {kernel}: {lines[:4]}, not {slow}")
        lead = database.row(
            """SELECT stall_reason, sum(samples) FROM pc_samples WHERE short_name = ? AND line = ?
               GROUP BY 1 ORDER BY 2 DESC LIMIT 1""",
            kernel,
            lines[0][0],
        )
        c.expect(lead[0] in reasons, f"{kernel} waits for {lead}")
        c.seen[kernel] = [sum(n for _, n in lines), lines[0], lead]
    dropped = database.one(
        "SELECT sum(droppedSamples) FROM CUPTI_ACTIVITY_KIND_PC_SAMPLING_RECORD_INFO"
    )
    c.equal(dropped, 0, "dropped samples")


@alone
def pc_lines(c):
    database = c.gpuprof([c.example("slow_lines"), "3"], "--pc-sampling", stdout=False)
    c.sound(database)
    slow_lines_lead(c, database)


@alone
def pm_in_kernels(c):
    """Samples in kernels show that SMs work, and samples before them that none does."""
    database = c.gpuprof(
        [c.example("slow_lines"), "3"], "--pm-sampling", f"--pm-interval={INTERVAL}ns", stdout=False
    )
    c.sound(database)
    active = samples_of(database, r"sm__cycles_active.*pct")
    spans = database.rows('SELECT start, "end" FROM kernels ORDER BY start')
    within = [s for start, end in spans[10:200] for s in inside(active, start, end)]
    before = inside(active, 0, spans[0][0] - INTERVAL)
    c.expect(len(within) > 20 and mean(within) > 80, f"in kernels SMs are active {mean(within)} %")
    c.expect(before and mean(before[-20:]) < 10, f"before them {mean(before[-20:])} %")
    c.seen["active"] = [mean(within), len(within)]
