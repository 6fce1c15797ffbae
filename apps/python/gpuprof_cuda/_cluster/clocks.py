"""One clock for all hosts. Ranks with the same boot id have the same clock. Between hosts, offset and drift
follow from the ends of matched collectives: nobody leaves one long before the others do."""

from __future__ import annotations

import dataclasses

import numpy as np

from .matching import CAUSAL

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Numbers = Any  # an array of numpy

LEAST = 20  # collectives; with fewer, nothing is claimed between hosts
_PIECE = 500  # collectives of a straight line
_JUMP = 50_000  # ns; a clock that was set, and not drift
_DRIFT = 200e-6  # more than any clock drifts
_AROUND = 5  # collectives on each side of a jump


@dataclasses.dataclass
class Host:
    """A clock, and its distance from that of the reference host."""

    boot_id: str
    name: str
    ranks: list[int]
    group: int = 0  # hosts of one group have a common clock
    collectives: int = 0
    offset: int = 0  # ns, at the first collective
    drift: float = 0.0  # share
    error: int = 0  # ns: 99 % of the ends are closer to the lines than this
    jumps: list[tuple[int, int]] = dataclasses.field(default_factory=list)  # when (its clock), ns
    until: Numbers = dataclasses.field(default_factory=lambda: np.array([], dtype=np.int64))
    lines: list[tuple[int, float, float]] = dataclasses.field(default_factory=list)  # by piece

    def aligned(self, times: Numbers) -> Numbers:
        """Times of this host on the clock of the reference host of its group."""
        if not self.lines:
            return times
        piece = np.searchsorted(self.until[:-1], times)
        base = np.array([line[0] for line in self.lines], dtype=np.int64)[piece]
        at = np.array([line[1] for line in self.lines])[piece]
        slope = np.array([line[2] for line in self.lines])[piece]
        return np.asarray(times + np.rint(at + slope * (times - base)).astype(np.int64))


def _line(times: Numbers, apart: Numbers) -> tuple[int, float, float]:
    """Theil and Sen's line, of the pairs that are half of the piece apart: (base, at the base, slope)."""
    base = int(times[0])
    x = (times - base).astype(np.float64)
    half = len(x) // 2
    spans = x[half:] - x[: len(x) - half]
    rises = apart[half:] - apart[: len(apart) - half]
    slopes = rises[spans > 0] / spans[spans > 0]
    slope = float(np.clip(np.median(slopes), -_DRIFT, _DRIFT)) if len(slopes) else 0.0
    return base, float(np.median(apart - slope * x)), slope


def _jumps(times: Numbers, apart: Numbers) -> list[int]:
    """Places before which the distance jumped, and stayed."""
    rise = np.abs(np.diff(apart))
    usual = float(np.median(rise)) if len(rise) else 0.0
    most = np.maximum(_JUMP, 20 * usual) + _DRIFT * np.diff(times)
    found: list[int] = []
    for place in np.flatnonzero(rise > most) + 1:
        before = apart[max(0, place - _AROUND) : place]
        after = apart[place : place + _AROUND]
        if abs(np.median(after) - np.median(before)) > most[place - 1]:
            if not found or place - found[-1] >= _AROUND:
                found.append(int(place))
    return found


def fit(host: Host, times: Numbers, apart: Numbers) -> None:
    """Lines through the distances, in order of time on the host's clock."""
    jumps = _jumps(times, apart)
    host.jumps = [(int(times[place]), int(round(float(np.median(apart[place : place + _AROUND])
                   - np.median(apart[max(0, place - _AROUND) : place]))))) for place in jumps]  # fmt: skip
    until, residuals = [], []
    for first, last in zip([0, *jumps], [*jumps, len(times)]):
        pieces = max(1, (last - first) // _PIECE)
        edges = [first + (last - first) * i // pieces for i in range(pieces + 1)]
        for begin, end in zip(edges, edges[1:]):
            base, at, slope = _line(times[begin:end], apart[begin:end])
            host.lines.append((base, at, slope))
            until.append(int(times[end - 1]))
            residuals.append(apart[begin:end] - (at + slope * (times[begin:end] - base)))
    host.until = np.array(until, dtype=np.int64)
    host.collectives = len(times)
    host.offset = int(round(host.lines[0][1]))
    host.drift = float(np.median([line[2] for line in host.lines]))
    host.error = int(np.quantile(np.abs(np.concatenate(residuals)), 0.99)) + 1


def _ends(connection: Any) -> dict[str, dict[tuple[Any, ...], int]]:
    """By clock, the end of each causal collective that clocks share: the median of its ranks."""
    rows = connection.execute(
        """
        WITH ends AS (
          SELECT m.communicator, m.step, m.place, r.boot_id, quantile_disc(m."end", 0.5) AS ended,
                 count(*) OVER (PARTITION BY m.communicator, m.step, m.place) AS clocks
          FROM matched AS m JOIN ranks AS r USING (rank)
          WHERE list_contains($1, m.operation) GROUP BY 1, 2, 3, 4)
        SELECT boot_id, communicator, step, place, ended FROM ends WHERE clocks > 1 ORDER BY ALL
        """,
        [list(CAUSAL)],
    ).fetchall()
    found: dict[str, dict[tuple[Any, ...], int]] = {}
    for boot_id, communicator, step, place, ended in rows:
        found.setdefault(boot_id, {})[communicator, step, place] = ended
    return found


def align(connection: Any) -> list[Host]:
    """The hosts, by their lowest ranks. The first is the reference; each other one is aligned with
    it, or with the host among those that are with which it shares most collectives. One that shares fewer
    than LEAST is a group of its own."""
    hosts = [
        Host(boot_id, name or "?", ranks)
        for boot_id, name, ranks in connection.execute(
            "SELECT boot_id, min(host), list(rank ORDER BY rank) FROM ranks GROUP BY 1 ORDER BY min(rank)"
        ).fetchall()
    ]
    if len(hosts) < 2:
        return hosts
    ends = _ends(connection)
    done, waiting = hosts[:1], hosts[1:]
    while waiting:
        host, other = _next(done, waiting, ends)
        _align(host, other, ends, len(done))
        done.append(host)
        waiting.remove(host)
    return hosts


def _next(
    done: list[Host], waiting: list[Host], ends: dict[str, dict[tuple[Any, ...], int]]
) -> tuple[Host, Host]:
    """Which host is aligned next, and with which."""

    def shared(host: Host, other: Host) -> int:
        return len(ends.get(host.boot_id, {}).keys() & ends.get(other.boot_id, {}).keys())

    if shared(waiting[0], done[0]) >= LEAST:
        return waiting[0], done[0]
    pairs = [(shared(host, other), host, other) for host in waiting for other in done]
    _, host, other = max(pairs, key=lambda each: each[0])
    return host, other


def _align(
    host: Host, other: Host, ends: dict[str, dict[tuple[Any, ...], int]], number: int
) -> None:
    mine, its = ends.get(host.boot_id, {}), ends.get(other.boot_id, {})
    keys = sorted(mine.keys() & its.keys(), key=lambda key: mine[key])
    host.collectives = len(keys)
    if len(keys) < LEAST:
        host.group = number
        return
    host.group = other.group
    times = np.array([mine[key] for key in keys], dtype=np.int64)
    fit(
        host,
        times,
        (other.aligned(np.array([its[key] for key in keys], dtype=np.int64)) - times).astype(
            np.float64
        ),
    )
    host.error += other.error


@dataclasses.dataclass
class Causality:
    """Whether nobody left a collective before the last had come."""

    checked: int = 0
    violated: int = 0  # by more than the error of the clocks
    worst: int = 0  # ns


def apply(connection: Any, hosts: list[Host]) -> Causality:
    """Makes the table `arrivals`: matched collectives on the common clock, of communicators whose ranks have
    one. A communicator in which causality is often violated is not one, and is left out of it."""
    columns = connection.execute(
        'SELECT communicator, step, place, rank, operation, start, "end", bytes FROM matched ORDER BY ALL'
    ).fetchnumpy()
    rank = np.asarray(columns["rank"])
    start, end = np.asarray(columns["start"]).copy(), np.asarray(columns["end"]).copy()
    group, error = np.zeros(len(rank), dtype=np.int64), np.zeros(len(rank), dtype=np.int64)
    for host in hosts:
        of_host = np.isin(rank, host.ranks)
        duration = end[of_host] - start[of_host]
        end[of_host] = host.aligned(end[of_host])
        start[of_host] = end[of_host] - duration
        group[of_host], error[of_host] = host.group, host.error
    import pyarrow as pa

    # With types, which the columns of a store without collectives do not tell.
    texts, numbers = ("communicator", "operation"), ("step", "place", "rank", "bytes")
    table = {name: pa.array(columns[name], pa.string()) for name in texts}
    table.update({name: pa.array(columns[name], pa.int64()) for name in numbers})
    table.update({
        name: pa.array(values, pa.int64())
        for name, values in (("start", start), ("end", end), ("clock", group), ("error", error))})  # fmt: skip
    connection.register("_aligned", pa.table(table))
    connection.execute(
        """
        CREATE TEMP TABLE checked AS
        SELECT communicator, step, place, min(operation) AS operation, count(DISTINCT clock) AS clocks,
               max(start) - min("end") AS violation, max(error) AS error
        FROM _aligned GROUP BY 1, 2, 3
        """
    )
    connection.execute(
        """
        CREATE TEMP TABLE not_one AS
        SELECT communicator FROM checked WHERE clocks = 1 AND list_contains($1, operation)
        GROUP BY 1 HAVING count(*) FILTER (violation > error + 1000) > 0.1 * count(*)
        """,
        [list(CAUSAL)],
    )
    connection.execute(
        "CREATE TEMP TABLE arrivals AS SELECT a.* FROM _aligned AS a JOIN checked AS c USING (communicator, "
        "step, place) ANTI JOIN not_one USING (communicator) WHERE c.clocks = 1"
    )
    connection.unregister("_aligned")
    checked, violated, worst = connection.execute(
        "SELECT count(*), count(*) FILTER (violation > error), coalesce(max(violation), 0) FROM checked "
        "ANTI JOIN not_one USING (communicator) WHERE clocks = 1 AND list_contains($1, operation)",
        [list(CAUSAL)],
    ).fetchone()
    return Causality(checked, violated, max(0, worst))
