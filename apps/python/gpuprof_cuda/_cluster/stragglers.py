"""Who makes the others wait, and why.

A rank that is waited for waits least itself. Its own time of a step is what its account has without
communication: computing, copying, and idle. That needs no common clock."""

from __future__ import annotations

import dataclasses

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Numbers = Any  # an array of numpy

LEAST_SHARE = 0.01  # of a step: a rank that is later than others by less is not named
_EXPLAINS = 0.6  # of what it is later by; a cause that explains less is not claimed
_PAUSE = 0.1  # of a step; hosts without a fault pause for up to that in recordings
_NOISE = 4  # times what half of a rank's steps vary by
_MORE = 1.2  # times the bytes of others
_WAITS = 0.5  # of what it is later by: a rank that waits for another for longer is late because of that one
_MOST_COMPARED = 64  # late ranks, each with each
_WINDOWS = 4  # parts of the run in which a rank may be late
_STEPS_OF_WINDOW = 8  # at least
_CLASSES = ("compute", "communication", "copy", "idle")


@dataclasses.dataclass
class Accounts:
    """The account of each rank and step, in ns: one array for each of _CLASSES, with a row for each rank and a
    column for each step that all ranks recorded."""

    ranks: list[int]
    steps: list[int]
    time: dict[str, Numbers]

    @property
    def own(self) -> Numbers:
        return np.asarray(self.time["compute"] + self.time["copy"] + self.time["idle"])

    @property
    def step(self) -> Numbers:
        return np.asarray(self.own + self.time["communication"])


def read_accounts(connection: Any) -> Accounts:
    """Of a rank with several devices, the mean of them. Needs the table compared_steps."""
    columns = connection.execute(
        """
        SELECT rank, step,
               sum(ns) FILTER (class = 'compute') AS compute,
               sum(ns) FILTER (class = 'communication') AS communication,
               sum(ns) FILTER (class IN ('copy', 'set')) AS copy,
               sum(ns) FILTER (class NOT IN ('compute', 'communication', 'copy', 'set')) AS idle,
               count(DISTINCT device_id) AS devices
        FROM account SEMI JOIN compared_steps USING (step) GROUP BY 1, 2
        """
    ).fetchall()
    ranks = sorted({row[0] for row in columns})
    steps = sorted({row[1] for row in columns})
    row_of, column_of = {r: i for i, r in enumerate(ranks)}, {s: i for i, s in enumerate(steps)}
    time = {name: np.zeros((len(ranks), len(steps))) for name in _CLASSES}
    for rank, step, *parts, devices in columns:
        for name, part in zip(_CLASSES, parts):
            time[name][row_of[rank], column_of[step]] = (part or 0) / devices
    return Accounts(ranks, steps, time)


def _usual(values: Numbers) -> Numbers:
    """The lower median over ranks: half of the ranks may be late, and it is of one that is not."""
    return np.asarray(np.sort(values, axis=0)[(len(values) - 1) // 2])


@dataclasses.dataclass
class Lateness:
    """How much later than the usual rank each is, in each step, as its own time says: ns."""

    excess: Numbers  # rank x step
    usual_step: float  # ns


def lateness(accounts: Accounts) -> Lateness:
    own = accounts.own
    usual_step = float(np.median(accounts.step)) if own.size else 0.0
    return Lateness(own - _usual(own) if own.size else own, usual_step)


def cost(connection: Any, accounts: Accounts, rows: list[int]) -> Numbers:
    """How much of each step, in ns, the others wait for these ranks, at least: how much longer their longest own
    time is than the longest of the others, or how much later they come to one collective, where that is more:
    communication that runs while a rank is idle hides in its account. Never more than the others
    communicate alone."""
    own, time = accounts.own, accounts.time["communication"]
    others = [row for row in range(len(own)) if row not in rows]
    if not others:
        return np.zeros(own.shape[1])
    longer = own[rows].max(axis=0) - own[others].max(axis=0)
    later = dict(connection.execute(
        """
        WITH each AS (
          SELECT step, max(start) FILTER (list_contains($1, rank)) - max(start) FILTER (NOT list_contains($1, rank))
            AS lag
          FROM arrivals GROUP BY communicator, step, place)
        SELECT step, max(lag) FROM each GROUP BY 1
        """,
        [[accounts.ranks[row] for row in rows]],
    ).fetchall())  # fmt: skip
    arrive = np.minimum(np.array([later.get(step) or 0 for step in accounts.steps], dtype=np.float64),
                        np.median(time[others], axis=0))  # fmt: skip
    return np.asarray(np.maximum(0, np.maximum(longer, arrive)))


def _windows(steps: int) -> list[slice]:
    count = max(1, min(_WINDOWS, steps // _STEPS_OF_WINDOW))
    return [slice(steps * i // count, steps * (i + 1) // count) for i in range(count)]


def late_ranks(late: Lateness) -> dict[int, slice]:
    """Rows of ranks that are late in three of four steps of a part of the run, and that part: from the first
    to the last of such parts."""
    found: dict[int, slice] = {}
    if len(late.excess) < 2 or not late.excess.shape[1]:
        return found
    for window in _windows(late.excess.shape[1]):
        typical, most = np.quantile(late.excess[:, window], (0.25, 0.75), axis=1)
        spread = float(_usual(np.abs(np.median(late.excess[:, window], axis=1))))
        least = max(LEAST_SHARE * late.usual_step, 3 * spread if len(late.excess) > 2 else 0.0)
        # What varies by more than that from step to step is noise of the host.
        for row in np.flatnonzero((typical > least) & (typical > most - typical)):
            first = found[row].start if row in found else window.start
            found[int(row)] = slice(first, window.stop)
    return found


def without_waiting(
    connection: Any, accounts: Accounts, late: Lateness, slow: dict[int, slice]
) -> dict[int, slice]:
    """Without late ranks that wait in collectives for another late rank: idle time in which no collective runs is
    their own, and that of ranks that wait elsewhere meanwhile is not. Needs no common clock: of two ranks the one
    whose kernels of NCCL take longer waits."""
    if not 1 < len(slow) <= _MOST_COMPARED:
        return slow
    row_of = {accounts.ranks[row]: row for row in slow}
    waits = connection.execute(
        """
        SELECT a.rank, b.rank, a.step, sum((a."end" - a.start) - (b."end" - b.start))
        FROM matched AS a JOIN matched AS b USING (communicator, step, place) SEMI JOIN compared_steps USING (step)
        WHERE a.rank <> b.rank AND list_contains($1, a.rank) AND list_contains($1, b.rank) GROUP BY 1, 2, 3
        """,
        [list(row_of)],
    ).fetchall()
    column_of = {step: i for i, step in enumerate(accounts.steps)}
    by_pair: dict[tuple[int, int], list[float]] = {}
    for rank, other, step, ns in waits:
        row, column = row_of[rank], column_of.get(step)
        if column is not None and slow[row].start <= column < slow[row].stop:
            by_pair.setdefault((row, row_of[other]), []).append(float(ns))
    waiting = {
        row
        for (row, _), ns in by_pair.items()
        if np.median(ns) > _WAITS * np.median(late.excess[row, slow[row]])
    }
    return {row: part for row, part in slow.items() if row not in waiting}


def pauses(accounts: Accounts, late: Lateness, persistent: set[int]) -> list[tuple[int, int]]:
    """(row, column) of long waits for ranks that are not late all the time, and are idle meanwhile: kernels that
    take longer may be those of a rank that waits, with which NCCL's kernel shares the GPU."""
    idle = accounts.time["idle"]
    more_idle = idle - _usual(idle) if idle.size else idle
    low, middle = (
        np.quantile(late.excess, (0.1, 0.5), axis=1, keepdims=True) if idle.size else (0.0, 0.0)
    )
    least = np.maximum(_PAUSE * late.usual_step, _NOISE * (middle - low))
    long = (late.excess > least) & (more_idle > _EXPLAINS * late.excess)
    return [
        (int(row), int(column)) for row, column in zip(*np.nonzero(long)) if row not in persistent
    ]


def is_rotating(found: list[tuple[int, int]], ranks: int, steps: int) -> bool:
    """Pauses of several ranks, of which none has most, in one of twenty steps at least."""
    if len({column for _, column in found}) < max(3, steps / 20):
        return False
    rows = [row for row, _ in found]
    most = max(rows.count(row) for row in set(rows))
    return len(set(rows)) >= min(3, ranks) and most < 0.7 * len(found)


@dataclasses.dataclass
class Cause:
    name: str  # host, kernels, experts, throttling, copies, unknown
    evidence: dict[str, Any]


def cause_of(
    connection: Any, accounts: Accounts, row: int, part: slice, others: list[int]
) -> Cause:
    """Why the rank is late in that part of the run, compared with the other rows."""
    more = {
        name: float(np.mean(time[row, part]) - np.mean(np.median(time[others, part], axis=0)))
        for name, time in accounts.time.items()
        if name != "communication"
    }
    late = sum(more.values())
    evidence: dict[str, Any] = {f"{name}_ns": round(value) for name, value in more.items()}
    explained = {name: value / late for name, value in more.items()} if late > 0 else {}
    name = max(explained, key=lambda each: explained[each], default="")
    if not name or explained[name] < _EXPLAINS:
        return Cause("unknown", evidence)
    evidence["explains"] = round(min(1.0, explained[name]), 3)
    rank, steps = accounts.ranks[row], accounts.steps[part]
    peers = [accounts.ranks[each] for each in others]
    if name == "idle":
        evidence.update(_host_evidence(connection, rank, peers, steps))
        return Cause("host", evidence)
    if name == "copy":
        return Cause("copies", evidence)
    evidence.update(_kernel_evidence(connection, rank, peers, steps))
    evidence.update(_clock_evidence(connection, rank, peers, steps))
    if part.start > 0 and "clock_mhz" not in evidence:
        earlier = _kernel_evidence(connection, rank, peers, accounts.steps[: part.start])
        evidence["kernels_ratio_before"] = earlier.get("kernels_ratio", 1.0)
    if _is_throttled(evidence, part):
        return Cause("throttling", evidence)
    evidence.update(_exchange_evidence(connection, rank, peers, steps))
    return Cause("experts" if "received" in evidence else "kernels", evidence)


def _host_evidence(
    connection: Any, rank: int, peers: list[int], steps: list[int]
) -> dict[str, Any]:
    """What the host did while the GPU was idle, in ns per step: the largest difference from others; and the
    number of gaps in a step."""
    rows = connection.execute(
        """
        WITH each AS (
          SELECT rank, class, cause, sum(ns) / $3 AS ns FROM account SEMI JOIN compared_steps USING (step)
          WHERE step BETWEEN $4 AND $5 AND (rank = $1 OR list_contains($2, rank))
            AND class NOT IN ('compute', 'communication', 'copy', 'set') GROUP BY 1, 2, 3)
        SELECT class, cause, sum(ns) FILTER (rank = $1) AS mine,
               coalesce(sum(ns) FILTER (rank <> $1), 0) / $6 AS others
        FROM each GROUP BY 1, 2 HAVING mine IS NOT NULL ORDER BY mine - others DESC, class, cause LIMIT 1
        """,
        [rank, peers, len(steps), steps[0], steps[-1], len(peers)],
    ).fetchall()
    gaps = connection.execute(
        "SELECT count(*) FILTER (rank = $1) / $3, count(*) FILTER (rank <> $1) / $3 / $6 FROM gaps "
        "SEMI JOIN compared_steps USING (step) WHERE step BETWEEN $4 AND $5 AND (rank = $1 OR list_contains($2, rank))",
        [rank, peers, len(steps), steps[0], steps[-1], len(peers)],
    ).fetchone()
    found = {"gaps": round(gaps[0], 1), "gaps_of_others": round(gaps[1], 1)}
    for kind, call, mine, others in rows:
        found.update(host_in=call if kind == "call" else kind, host_in_ns=round(mine),
                     host_in_ns_of_others=round(others))  # fmt: skip
        if kind == "no call" and call:
            found["host_line"] = call  # of Python, as --host-samples saw it
    return found


def _kernel_evidence(
    connection: Any, rank: int, peers: list[int], steps: list[int]
) -> dict[str, Any]:
    """How much slower its kernels are, by name: the ratio of times per launch, weighted by time."""
    rows = connection.execute(
        """
        WITH mine AS (
          SELECT name, sum(ns) AS ns, sum(count) AS n FROM rollups SEMI JOIN compared_steps USING (step)
          WHERE rank = $1 AND work = 'kernel' AND step BETWEEN $3 AND $4 AND NOT starts_with(name, 'nccl')
          GROUP BY 1),
        others AS (
          SELECT name, sum(ns) AS ns, sum(count) AS n FROM rollups SEMI JOIN compared_steps USING (step)
          WHERE list_contains($2, rank) AND work = 'kernel' AND step BETWEEN $3 AND $4 GROUP BY 1)
        SELECT name, mine.ns, mine.ns / mine.n / (others.ns / others.n) AS ratio
        FROM mine JOIN others USING (name) WHERE others.ns > 0 ORDER BY 2 DESC, 1
        """,
        [rank, peers, steps[0], steps[-1]],
    ).fetchall()
    if not rows:
        return {}
    time = np.array([row[1] for row in rows], dtype=np.float64)
    ratio = np.array([row[2] for row in rows])
    whole = float(np.sum(time) / np.sum(time / ratio))
    alike = float(
        np.sum(time[np.abs(ratio - whole) < max(0.02, 0.3 * abs(whole - 1))]) / np.sum(time)
    )
    slowest = max(rows, key=lambda row: (row[1] * (1 - 1 / row[2]), row[0]))
    return {"kernels_ratio": round(whole, 4), "alike": round(alike, 3), "kernel": slowest[0],
            "kernel_ratio": round(slowest[2], 4)}  # fmt: skip


def _exchange_evidence(
    connection: Any, rank: int, peers: list[int], steps: list[int]
) -> dict[str, Any]:
    """What it receives in exchanges of all with all, in bytes per step, if that is more than others: a rank
    with more to do than they have. In these a kernel both sends and receives, unlike in pipelines."""
    mine, others = connection.execute(
        """
        SELECT sum(received) FILTER (rank = $1) / $3, sum(received) FILTER (rank <> $1) / $3 / $6
        FROM collectives SEMI JOIN compared_steps USING (step)
        WHERE sent > 0 AND received > 0 AND step BETWEEN $4 AND $5 AND (rank = $1 OR list_contains($2, rank))
        """,
        [rank, peers, len(steps), steps[0], steps[-1], len(peers)],
    ).fetchone()
    if not mine or not others or mine < _MORE * others:
        return {}
    return {"received": round(mine), "received_by_others": round(others)}


def _clock_evidence(
    connection: Any, rank: int, peers: list[int], steps: list[int]
) -> dict[str, Any]:
    """The mean clock of the multiprocessors in MHz, where it was sampled in those steps."""
    mine, others, reasons = connection.execute(
        """
        SELECT avg(e.sm_clock) FILTER (e.rank = $1), avg(e.sm_clock) FILTER (e.rank <> $1),
               bit_or(e.throttle_reasons) FILTER (e.rank = $1)
        FROM environment AS e JOIN steps AS s ON s.rank = e.rank AND e.time >= s.start AND e.time < s."end"
        WHERE s.step BETWEEN $3 AND $4 AND (e.rank = $1 OR list_contains($2, e.rank))
        """,
        [rank, peers, steps[0], steps[-1]],
    ).fetchone()
    if mine is None or others is None:
        return {}
    return {"clock_mhz": round(mine), "clock_mhz_of_others": round(others),
            "throttle_reasons": int(reasons or 0)}  # fmt: skip


def _is_throttled(evidence: dict[str, Any], part: slice) -> bool:
    """Its clock was lower; or, where clocks were not sampled, all of its kernels became slower alike."""
    if "clock_mhz" in evidence:
        return bool(evidence["clock_mhz"] < 0.98 * evidence["clock_mhz_of_others"])
    slower = evidence.get("kernels_ratio", 1.0) - 1
    became = part.start > 0 and evidence["kernels_ratio_before"] - 1 < 0.5 * slower
    return bool(became and evidence.get("alike", 0) >= 0.8)
