"""A report as text and as Markdown."""

from __future__ import annotations

from .words import is_are, ns, numbered, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any

_MOST_ROWS = 20  # of communicators


def words(report: dict[str, Any]) -> list[str]:
    """What was compared, one sentence each."""
    ranks = [rank["rank"] for rank in report["ranks"]]
    steps = report["steps"]
    hosts = report["clocks"]["hosts"]
    count = f"{len(hosts)} host{'s' * (len(hosts) != 1)}"
    without = {0: "", 1: " without the first"}.get(
        steps["warm_up"], f" without the first {steps['warm_up']}"
    )
    lines = [f"{len(ranks)} ranks on {count}; {steps['compared']} steps that all of them recorded{without}"
             + (f", {ns(steps['step_ns'])} each" if steps["compared"] else "")]  # fmt: skip
    rolled = [rank["rank"] for rank in report["ranks"] if rank["rolled_up"] is not None]
    if rolled:
        most = max(rank["rolled_up"] or 1 for rank in report["ranks"])
        each = "all steps" if most == 1 else f"each {most}th step"
        lines.append(f"of {numbered('rank', rolled)} there are roll-ups only, of {each}")
    if len(hosts) > 1:
        its = report["clocks"]
        if its["one_clock"]:
            checked = its["causality"]
            lines.append(f"clocks are aligned by collectives, within {ns(its['error_ns'])}; "
                         f"{checked['violated']} of {checked['checked']} collectives contradict that")  # fmt: skip
        else:
            lines.append("not all hosts have a common clock")
        errors = [host["clock_error_ns"] for host in hosts]
        if None not in errors:
            lines.append(
                f"NTP or PTP keeps their clocks within {ns(max(errors))}, as their kernels say"
            )
    for name in report["not_one"]:
        lines.append(f"communicator {name} is left out: ranks end before others begin, so that it is several. "
                     "NCCL's NVTX payloads would tell them apart")  # fmt: skip
    return lines


def account(report: dict[str, Any]) -> tuple[list[str], list[Sequence[str]]]:
    whole = sum(row["mean_ns"] for row in report["account"]) or 1
    rows = [(f"{row['mean_ns'] / whole:.2%}", ns(row["mean_ns"]), ns(row["worst_ns"]), str(row["worst_rank"]),
             row["class"]) for row in report["account"]]  # fmt: skip
    rows.append(("100.00%", ns(whole), "", "", "in all"))
    return ["Share", "Mean", "Worst", "Rank", "A step of the GPUs"], list(rows)


def _speed(bus: int | None, link: int | None) -> str:
    if bus is None:
        return ""
    return f"{bus / 1e9:.3g}" + (f" of {link / 1e9:.3g}" if link else "")


def communicators(report: dict[str, Any]) -> tuple[list[str], list[Sequence[str]]]:
    rows: list[Sequence[str]] = []
    for each in report["communicators"][:_MOST_ROWS]:
        skew = "" if each["skew_ns"] is None else ns(each["skew_ns"])
        if each["error_ns"]:
            skew += f" +-{ns(each['error_ns'])}"
        rows.append((each["communicator"], numbered("rank", each["ranks"]).partition(" ")[2], each["operation"],
                     "" if each["bytes"] is None else str(each["bytes"]), f"{each['calls_per_step']:g}",
                     ns(each["transfer_ns"]), skew, _speed(each["bus_bytes_per_second"], each["link_bytes_per_second"]),
                     each["verdict"]))  # fmt: skip
    return ["Communicator", "Ranks", "Operation", "Bytes", "Calls/step", "Transfer", "Arrival skew",
            "Bus GB/s", "Dominated by"], rows  # fmt: skip


def findings(report: dict[str, Any]) -> list[str]:
    lines = [
        finding["text"][:1].upper() + finding["text"][1:] + "." for finding in report["findings"]
    ]
    ranks = [rank["rank"] for rank in report["ranks"]]
    if not lines and len(ranks) < 2:
        return ["There is one rank, and nothing to compare it with."]
    if not lines and not report["steps"]["compared"]:
        return [f"No step was recorded by all of {numbered('rank', ranks)}."]
    return lines or [
        f"No rank makes the others wait: {numbered('rank', ranks)} {is_are(ranks)} alike."
    ]


def _table(heading: Sequence[str], rows: list[Sequence[str]]) -> list[str]:
    cells = [[printable(cell) for cell in row] for row in (heading, *rows)]
    widths = [max(len(row[i]) for row in cells) for i in range(len(heading))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells
    ]


def plain(report: dict[str, Any]) -> str:
    lines = [printable(line) for line in words(report)]
    lines += ["", *(printable(line) for line in findings(report))]
    for heading, rows in (account(report), communicators(report)):
        if rows:
            lines += ["", *_table(heading, rows)]
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    """As Markdown shows it: no markup, no cell, no line begins in a name."""
    for c in "\\`*_{}[]<>#|&~":
        text = text.replace(c, "\\" + c)
    return printable(text)


def markdown(report: dict[str, Any]) -> str:
    lines = ["# Ranks", "", *(f"{_cell(line)}.  " for line in words(report)), ""]
    lines += [f"- {_cell(line)}" for line in findings(report)]
    for heading, rows in (account(report), communicators(report)):
        if rows:
            lines += ["", "| " + " | ".join(heading) + " |", "|" + "---|" * len(heading)]
            lines += ["| " + " | ".join(map(_cell, row)) + " |" for row in rows]
    return "\n".join(lines) + "\n"
