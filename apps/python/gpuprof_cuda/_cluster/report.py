"""What a store says: the facts as one value that JSON can hold, and as text and Markdown."""

from __future__ import annotations

import numpy as np

from . import clocks, links, matching, picture, stragglers
from .database import connect
from .words import is_are, ns, numbered

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .store import Store

VERSION = 1  # of the JSON
_BUBBLE = 0.05  # of a step; stages that wait for less are not named


def read(store: Store, threads: int = 0) -> dict[str, Any]:
    connection = connect(store, threads)
    try:
        return _read(connection)
    finally:
        connection.close()


def _read(connection: Any) -> dict[str, Any]:
    names = ("rank", "host", "boot_id", "world_size", "kernels", "collectives", "steps", "losses",
             "rolled_up", "clock_error_ns")  # fmt: skip
    ranks = [
        dict(zip(names, row))
        for row in connection.execute(
            f"SELECT {', '.join(names)} FROM ranks ORDER BY rank"
        ).fetchall()
    ]
    warm_up = matching.match(connection)
    wrong, wrong_count = matching.mismatches(connection)
    hosts = clocks.align(connection)
    causality = clocks.apply(connection, hosts)
    links.make_operations(connection)
    accounts = stragglers.read_accounts(connection)
    late = stragglers.lateness(accounts)
    used = links.communicators(connection, len(accounts.steps))
    report: dict[str, Any] = {
        "version": VERSION,
        "ranks": ranks,
        "steps": {"compared": len(accounts.steps), "warm_up": warm_up, "first": accounts.steps[0] if accounts.steps else None,
                  "last": accounts.steps[-1] if accounts.steps else None,
                  "step_ns": round(late.usual_step)},
        "clocks": _clocks(hosts, causality, {rank["rank"]: rank["clock_error_ns"] for rank in ranks}),
        "account": _account(connection, accounts),
        "communicators": used,
        "not_one": [row[0] for row in connection.execute("SELECT communicator FROM not_one ORDER BY 1").fetchall()],
        "mismatches": wrong,
        "mismatched_steps": wrong_count,
        "heat": _heat(accounts, late),
    }  # fmt: skip
    found = [*_missing(ranks), *_mismatched(wrong, wrong_count), *_jumps(connection, hosts)]
    found += _slow(used)
    found += _late(connection, accounts, late, hosts)
    found += _bubbles(links.pipeline_waits(connection, len(accounts.steps)), late)
    found += _losses(ranks)
    report["findings"] = found
    return report


def _most(values: list[int | None]) -> int | None:
    known = [value for value in values if value is not None]
    return max(known) if known and len(known) == len(values) else None


def _clocks(
    hosts: list[clocks.Host], causality: clocks.Causality, kept: dict[int, int | None]
) -> dict[str, Any]:
    first = {host.group: host.name for host in reversed(hosts)}
    return {
        "hosts": [
            {"host": host.name, "boot_id": host.boot_id, "ranks": host.ranks,
             "aligned_with": None if host is hosts[0] or not host.lines else first[host.group],
             "collectives": host.collectives, "offset_ns": host.offset,
             "drift_ppm": round(host.drift * 1e6, 3), "error_ns": host.error,
             "clock_error_ns": _most([kept[rank] for rank in host.ranks]),
             "jumps": [{"time": when, "ns": by} for when, by in host.jumps]}
            for host in hosts
        ],
        "one_clock": len({host.group for host in hosts}) <= 1,
        "error_ns": max((host.error for host in hosts), default=0),
        "causality": {"checked": causality.checked, "violated": causality.violated,
                      "worst_ns": causality.worst},
    }  # fmt: skip


def _account(connection: Any, accounts: stragglers.Accounts) -> list[dict[str, Any]]:
    """Each class, per rank and step: the mean of all ranks, which add up to the step, and the rank that has
    most."""
    rows = connection.execute(
        """
        WITH each AS (
          SELECT rank, class, sum(ns) AS ns FROM account SEMI JOIN compared_steps USING (step) GROUP BY 1, 2),
        devices AS (
          SELECT rank, count(DISTINCT device_id) AS n FROM account SEMI JOIN compared_steps USING (step) GROUP BY 1)
        SELECT class, sum(ns / n ORDER BY rank), max(ns / n), first(rank ORDER BY ns / n DESC, rank) FROM each JOIN devices USING (rank)
        GROUP BY 1 ORDER BY 2 DESC, 1
        """
    ).fetchall()
    per = max(1, len(accounts.steps))
    return [{"class": name, "mean_ns": round(total / per / max(1, len(accounts.ranks))),
             "worst_ns": round(worst / per), "worst_rank": rank}
            for name, total, worst, rank in rows]  # fmt: skip


def _heat(accounts: stragglers.Accounts, late: stragglers.Lateness) -> dict[str, Any]:
    """Lateness by rank and step, ns; of long runs the mean of neighbouring steps."""
    edges = picture.edges(len(accounts.steps))
    return {
        "steps": [accounts.steps[edge] for edge in edges[:-1]],
        "ranks": accounts.ranks,
        "late_ns": [[round(float(np.mean(row[a:b]))) for a, b in zip(edges, edges[1:])]
                    for row in late.excess],
    }  # fmt: skip


# Findings: {"kind", "ranks", "cost_ns" (per step; 0: not one of time), "text", "evidence"}


def _finding(
    kind: str, ranks: list[int], cost: float, text: str, **evidence: Any
) -> dict[str, Any]:
    return {
        "kind": kind,
        "ranks": ranks,
        "cost_ns": round(cost),
        "text": text,
        "evidence": evidence,
    }


def _missing(ranks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    size = max((rank["world_size"] or 0 for rank in ranks), default=0)
    there = {rank["rank"] for rank in ranks}
    missing = [rank for rank in range(min(size, 1 << 16)) if rank not in there]
    if not missing:
        return []
    text = f"{numbered('rank', missing)} of {size} {is_are(missing)} missing from the store"
    return [_finding("missing rank", missing, 0, text, world_size=size)]


def _losses(ranks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    lossy = [rank["rank"] for rank in ranks if rank["losses"]]
    if not lossy:
        return []
    text = f"records of {numbered('rank', lossy)} were lost: the view losses says which"
    return [_finding("losses", lossy, 0, text)]


def _mismatched(wrong: list[dict[str, Any]], count: int) -> list[dict[str, Any]]:
    found = []
    for each in wrong[:10]:
        for other in each["others"]:
            what = "called " + other["operation"] if other["operation"] else "called nothing"
            usual = "called " + each["usual"] if each["usual"] else "called nothing more"
            text = (f"{numbered('rank', other['ranks'])} {what} where the others {usual}, step {each['step']}, "
                    f"call {each['place']} of communicator {each['communicator']}")  # fmt: skip
            found.append(_finding("mismatch", other["ranks"], 0, text, **each))
    if count > 10:
        found.append(
            _finding("mismatch", [], 0, f"the same in {count - 10} more steps of communicators")
        )
    return found


def _jumps(connection: Any, hosts: list[clocks.Host]) -> list[dict[str, Any]]:
    found = []
    for host in hosts:
        for when, by in host.jumps:
            (step,) = connection.execute(
                "SELECT max(step) FROM steps WHERE rank = ? AND start <= ?", [host.ranks[0], when]
            ).fetchone()
            text = f"the clocks of {hosts[0].name} and {host.name} moved apart by {ns(abs(by))} at step {step}"
            found.append(
                _finding("clock jump", host.ranks, 0, text, ns=by, step=step, host=host.name)
            )
    for host in hosts[1:]:
        if not host.lines:
            text = (f"{host.name} has no common clock with {hosts[0].name}: they share {host.collectives} "
                    f"collectives, fewer than {clocks.LEAST}. Nothing is said about waits between them")  # fmt: skip
            found.append(
                _finding("no common clock", host.ranks, 0, text, collectives=host.collectives)
            )
    return found


def _slow(used: list[dict[str, Any]]) -> list[dict[str, Any]]:
    found = []
    for each in links.slow_links(used):
        text = (f"{each['operation']} of {numbered('rank', each['ranks'])} takes {ns(each['transfer_ns'])} to "
                f"transfer, and the {each['of'] - 1} other communicators alike take {ns(each['usual_ns'])}: "
                f"up to {ns(each['cost_ns'])} of each step; cause: network, a slow link")  # fmt: skip
        found.append(
            _finding(
                "slow link",
                each["ranks"],
                each["cost_ns"],
                text,
                cause="network",
                **{key: value for key, value in each.items() if key != "ranks"},
            )
        )
    return found


def _bubbles(waits: list[dict[str, Any]], late: stragglers.Lateness) -> list[dict[str, Any]]:
    """Of pipelines, in which stages wait for each other."""
    found = []
    for each in waits:
        cost = sum(each["wait_ns"]) / len(each["ranks"])
        share = cost / late.usual_step if late.usual_step else 0.0
        if share < _BUBBLE:
            continue
        waiting = ", ".join(f"rank {rank} {wait / late.usual_step:.1%}"
                            for rank, wait in list(zip(each["ranks"], each["wait_ns"]))[:8])  # fmt: skip
        text = (f"the stages of a pipeline ({numbered('rank', each['ranks'])}) wait for each other for {ns(cost)} of a "
                f"step ({share:.1%}) in {each['transfers']:g} sends and receives: {waiting}; cause: bubbles, which more "
                "microbatches shorten")  # fmt: skip
        found.append(_finding("bubbles", each["ranks"], cost, text, cause="bubbles", share=round(share, 4),
                              communicator=each["communicator"], transfers=each["transfers"],
                              wait_ns=each["wait_ns"]))  # fmt: skip
    return found


def _late(
    connection: Any,
    accounts: stragglers.Accounts,
    late: stragglers.Lateness,
    hosts: list[clocks.Host],
) -> list[dict[str, Any]]:
    slow = stragglers.late_ranks(late)
    size = (len(accounts.ranks), len(accounts.steps))
    pauses = stragglers.pauses(accounts, late, set(slow))
    if stragglers.is_rotating(pauses, *size):
        slow = {}
        pauses = stragglers.pauses(accounts, late, set())
    last = links.last_shares(connection)
    normal = [row for row in range(len(accounts.ranks)) if row not in slow]
    slow = stragglers.without_waiting(connection, accounts, late, slow)
    found = []
    for rows in _groups(accounts, slow, hosts):
        part = slow[rows[0]]
        others = normal or [row for row in range(len(accounts.ranks)) if row not in rows]
        cause = stragglers.cause_of(connection, accounts, rows[0], part, others)
        found.append(_straggler(connection, accounts, late, rows, part, cause, last, hosts))
    if stragglers.is_rotating(pauses, *size):
        rotating = _rotating(connection, accounts, late, pauses)
        if rotating["cost_ns"] >= stragglers.LEAST_SHARE * late.usual_step:
            found.append(rotating)
    return sorted(found, key=lambda each: (-each["cost_ns"], each["ranks"]))


def _groups(
    accounts: stragglers.Accounts, slow: dict[int, slice], hosts: list[clocks.Host]
) -> list[list[int]]:
    """Rows of late ranks: all ranks of a host together, and others alone."""
    groups = []
    left = set(slow)
    for host in hosts:
        rows = [row for row, rank in enumerate(accounts.ranks) if rank in host.ranks]
        if len(hosts) > 1 and len(rows) > 1 and left.issuperset(rows):
            groups.append(rows)
            left -= set(rows)
    return groups + [[row] for row in sorted(left)]


def _straggler(
    connection: Any, accounts: stragglers.Accounts, late: stragglers.Lateness, rows: list[int], part: slice,
    cause: stragglers.Cause, last: dict[int, float], hosts: list[clocks.Host],
) -> dict[str, Any]:  # fmt: skip
    ranks = [accounts.ranks[row] for row in rows]
    cost = float(np.mean(stragglers.cost(connection, accounts, rows)[part]))
    by = float(np.mean(late.excess[rows, part]))
    share = cost / late.usual_step if late.usual_step else 0.0
    first, final = accounts.steps[part][0], accounts.steps[part][-1]
    who = numbered("rank", ranks)
    if len(rows) > 1:
        name = next(host.name for host in hosts if ranks[0] in host.ranks)
        who = f"all ranks of host {name} ({', '.join(map(str, ranks))})"
    text = f"{who} {is_are(ranks)} late by {ns(by)} per step"
    if part.start > 0 or part.stop < len(accounts.steps):
        text += f" in steps {first} to {final}"
    text += f", which costs the others {ns(cost)} per step ({share:.1%})"
    shares = [last[rank] for rank in ranks if rank in last]
    if shares:
        text += (
            f"; last in {max(shares):.0%} of {'its' if len(ranks) == 1 else 'their'} collectives"
        )
    text += f"; cause: {_cause_text(cause)}"
    return _finding("straggler", ranks, cost, text, cause=cause.name, late_ns=round(by), share=round(share, 4),
                    first_step=first, last_step=final, last_share=max(shares, default=None),
                    **cause.evidence)  # fmt: skip


def _cause_text(cause: stragglers.Cause) -> str:
    its = cause.evidence
    if cause.name == "host":
        where = its.get("host_in", "unknown")
        where = {
            "launch": "its launches",
            "no call": "no call of CUDA",
            "short gap": "short gaps",
            "unknown": "calls that were not recorded",
        }.get(where, where)
        if "host_line" in its:
            where += f", at {its['host_line']}"
        mine, others = its.get("host_in_ns", 0), its.get("host_in_ns_of_others", 0)
        part = (
            "for the most part"
            if 2 * (mine - others) > its["idle_ns"]
            else "the largest part of it"
        )
        return (f"host: its GPU is idle for {ns(its['idle_ns'])} longer, {part} with the host in {where} "
                f"({ns(mine)} per step, others {ns(others)})")  # fmt: skip
    if cause.name in ("kernels", "throttling", "experts"):
        text = f"{cause.name}: its kernels take {its.get('kernels_ratio', 0):.3f} times as long"
        if its.get("alike", 0) >= 0.8:
            text += ", all alike"
        elif "kernel" in its:
            text += f", most of all {its['kernel']} ({its['kernel_ratio']:.2f} times)"
        if cause.name == "experts":
            text += (f"; it receives {its['received'] / its['received_by_others']:.2f} times as many bytes from the "
                     "others in each step as they do")  # fmt: skip
        if "clock_mhz" in its:
            text += f"; clock {its['clock_mhz']} MHz, others {its['clock_mhz_of_others']} MHz"
        return text
    if cause.name == "copies":
        return f"copies: they take {ns(its['copy_ns'])} longer"
    parts = ", ".join(f"{name} {ns(its[name + '_ns'])}" for name in ("compute", "copy", "idle"))
    return f"unknown: no part of its time explains it (more than others: {parts})"


def _rotating(
    connection: Any,
    accounts: stragglers.Accounts,
    late: stragglers.Lateness,
    pauses: list[tuple[int, int]],
) -> dict[str, Any]:
    rows = sorted({row for row, _ in pauses})
    ranks = [accounts.ranks[row] for row in rows]
    columns = sorted({column for _, column in pauses})
    costs = {row: stragglers.cost(connection, accounts, [row]) for row in rows}
    cost = sum(costs[row][column] for row, column in pauses) / len(accounts.steps)
    lengths = [float(late.excess[row, column]) for row, column in pauses]
    part = {name: float(sum(time[row, column] - np.median(time[:, column]) for row, column in pauses))
            for name, time in accounts.time.items() if name != "communication"}  # fmt: skip
    cause = max(part, key=lambda name: part[name])
    text = (f"pauses rotate: {len(pauses)} of {ns(float(np.median(lengths)))} each on {len(ranks)} ranks, in "
            f"{len(columns)} of {len(accounts.steps)} steps, cost the others {ns(cost)} per step "
            f"({cost / late.usual_step:.1%}); cause: rotating, for the most part "
            f"{ {'idle': 'with the GPU idle', 'compute': 'in kernels', 'copy': 'in copies'}[cause] }")  # fmt: skip
    return _finding("rotating", ranks, cost, text, cause="rotating", pauses=len(pauses), steps=len(columns),
                    median_ns=round(float(np.median(lengths))), where=cause)  # fmt: skip
