"""Communicators: how long their collectives transfer, and how far apart the ranks arrive."""

from __future__ import annotations

import statistics

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_DOMINATES = 0.6  # of transfer and skew together
_SLOW = 1.3  # times as long as in communicators alike
_LEAST_NS = 10_000  # by which a slow one is longer
_FEW_CALLS = 3  # say nothing of a link: first ones take long

# The transfer is the time of the rank that came last: the shortest. It needs no common clock, the skew does.
_OPERATIONS = """
CREATE TEMP TABLE operations AS
WITH transfers AS (
  SELECT communicator, step, place, min(operation) AS operation, max(bytes) AS bytes, count(*) AS ranks,
         min("end" - start) AS transfer
  FROM matched ANTI JOIN not_one USING (communicator) SEMI JOIN compared_steps USING (step) GROUP BY 1, 2, 3),
skews AS (
  SELECT communicator, step, place, max(start) - min(start) AS skew, max(error) AS error,
         first(rank ORDER BY start DESC, rank) AS last_rank, max(start) - max(start, 2)[2] AS last_by
  FROM arrivals SEMI JOIN compared_steps USING (step) GROUP BY 1, 2, 3)
SELECT t.*, s.skew, s.error, s.last_rank, s.last_by
FROM transfers AS t LEFT JOIN skews AS s USING (communicator, step, place);
"""


def make_operations(connection: Any) -> None:
    """The temporary table operations: a row for each matched collective."""
    connection.execute(_OPERATIONS)


def _bus_bytes(operation: str, size: int | None, ranks: int) -> float | None:
    """What a link carries at least, as NCCL's tests count it. NCCL's NVTX payloads have the bytes of one rank's
    buffer: of ReduceScatter and AllGather, the part of one rank."""
    if not size or ranks < 2:
        return None
    factor = {"AllReduce": 2 * (ranks - 1) / ranks, "AllGather": ranks - 1.0, "ReduceScatter": ranks - 1.0,
              "Broadcast": 1.0, "Reduce": 1.0}.get(operation)  # fmt: skip
    return None if factor is None else factor * size


def _link(ranks: list[int], hosts: int, speeds: dict[int, int | None]) -> int | None:
    """The most that the links between these ranks carry in one direction, in bytes per second, where that is known:
    those of NVLink in one machine."""
    known = [speed for rank in ranks if (speed := speeds.get(rank)) is not None]
    return min(known) if hosts == 1 and len(known) == len(ranks) else None


def _verdict(transfer: int, skew: int | None, error: int) -> str:
    if skew is None:
        return "no common clock"
    least, most = max(0, skew - 3 * error), skew + 3 * error
    if transfer and transfer >= _DOMINATES * (transfer + most):
        return "transfer"
    if least and least >= _DOMINATES * (transfer + least):
        return "arrival"
    return "inconclusive" if skew < 3 * error else "mixed"


def communicators(connection: Any, steps: int) -> list[dict[str, Any]]:
    """A row for each communicator, operation and size. Times are medians, in ns."""
    rows = connection.execute(
        """
        SELECT communicator, operation, bytes, max(ranks), count(*), sum(transfer)::BIGINT,
               quantile_disc(transfer, 0.5), quantile_disc(skew, 0.5), max(error)
        FROM operations GROUP BY 1, 2, 3 ORDER BY 6 DESC, 1, 2, 3
        """
    ).fetchall()
    members = {
        communicator: (ranks, hosts)
        for communicator, ranks, hosts in connection.execute(
            "SELECT communicator, list(DISTINCT c.rank ORDER BY c.rank), count(DISTINCT r.boot_id) "
            "FROM collectives AS c JOIN ranks AS r ON r.rank = c.rank GROUP BY 1"
        ).fetchall()
    }
    speeds = dict(connection.execute("SELECT rank, link_bytes_per_second FROM ranks").fetchall())
    found = []
    for communicator, operation, size, ranks, count, total, transfer, skew, error in rows:
        moved = _bus_bytes(operation, size, ranks)
        found.append({
            "communicator": communicator, "operation": operation, "bytes": size,
            "ranks": members[communicator][0], "hosts": members[communicator][1], "calls": count,
            "calls_per_step": round(count / max(1, steps), 3),
            "transfer_ns": transfer, "transfer_ns_per_step": round(total / max(1, steps)),
            "skew_ns": skew, "error_ns": error,
            "bus_bytes_per_second": None if moved is None or not transfer else round(moved / transfer * 1e9),
            "link_bytes_per_second": _link(*members[communicator], speeds),
            "verdict": _verdict(transfer, skew, error or 0)})  # fmt: skip
    return found


def slow_links(found: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Communicators that take longer for the same than others with the same number of ranks and hosts."""
    alike: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for each in found:
        if each["bytes"] is not None and each["calls"] > _FEW_CALLS:
            key = (each["operation"], each["bytes"], len(each["ranks"]), each["hosts"])
            alike.setdefault(key, []).append(each)
    slow = []
    for group in alike.values():
        for each in group:
            others = [other["transfer_ns"] for other in group if other is not each]
            if not others:
                continue
            usual = statistics.median_low(others)
            more = each["transfer_ns"] - usual
            if each["transfer_ns"] >= _SLOW * usual and more >= _LEAST_NS:
                slow.append({**each, "usual_ns": usual, "of": len(group),
                             "cost_ns": round(more * each["calls_per_step"])})  # fmt: skip
    return sorted(slow, key=lambda each: (-each["cost_ns"], each["communicator"]))


def pipeline_waits(connection: Any, steps: int) -> list[dict[str, Any]]:
    """Of communicators whose kernels either send or receive: how long each rank waits in them in a step, in ns. A
    transfer takes what the shortest of as many bytes takes; the rest is waiting."""
    rows = connection.execute(
        """
        WITH each AS (
          SELECT communicator, rank, "end" - start AS ns, min("end" - start) OVER (PARTITION BY communicator, sent,
                 received) AS transfer, sent > 0 AND received > 0 AS is_exchange
          FROM collectives SEMI JOIN compared_steps USING (step) WHERE sent IS NOT NULL)
        SELECT communicator, rank, sum(ns - transfer)::BIGINT / $1, count(*) / $1
        FROM each ANTI JOIN (SELECT communicator FROM each WHERE is_exchange) USING (communicator)
        GROUP BY 1, 2 ORDER BY 1, 2
        """,
        [max(1, steps)],
    ).fetchall()
    found: dict[str, dict[str, Any]] = {}
    for communicator, rank, wait, transfers in rows:
        each = found.setdefault(
            communicator, {"communicator": communicator, "ranks": [], "wait_ns": [], "transfers": 0}
        )
        each["ranks"].append(rank)
        each["wait_ns"].append(round(wait))
        each["transfers"] = max(each["transfers"], round(transfers, 2))
    return [each for each in found.values() if len(each["ranks"]) > 1]


def last_shares(connection: Any) -> dict[int, float]:
    """The share of the collectives of a rank in which it came last."""
    rows = connection.execute(
        "SELECT a.rank, count(*) FILTER (o.last_rank = a.rank) / count(*) FROM arrivals AS a "
        "JOIN operations AS o USING (communicator, step, place) GROUP BY 1"
    ).fetchall()
    return {rank: round(share, 4) for rank, share in rows}
