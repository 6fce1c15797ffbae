"""Plots of a run, with matplotlib: where a notebook or a paper wants a picture.

Each function takes a run, draws into `ax` or into a figure of its own, and returns the Axes. What is not
known of a record (a time that was not collected) is not drawn. Of several files each has its own rank.
"""

from __future__ import annotations

from ._library import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, SupportsIndex

    from matplotlib.axes import Axes

    from ._arrow import Array
    from ._run import Run
    from ._table import Table

__all__ = ["kernel_histogram", "memory_curve", "overlap", "timeline"]

_COLORS = {"kernel": "C0", "graph": "C4", "memcpy": "C1", "memset": "C2"}
_PARTS = 4000  # of a window: gaps that are shorter than one cannot be seen


def _axes(ax: Axes | None) -> Axes:
    try:
        from matplotlib import pyplot
    except ImportError:
        raise Error(
            "plots are drawn with matplotlib, which is missing", "pip install matplotlib"
        ) from None
    return pyplot.subplots(layout="constrained")[1] if ax is None else ax


def _columns(table: Table, *names: str, known: Sequence[str]) -> dict[str, Array]:
    """Rows in which the columns `known` are not NULL."""
    import numpy

    columns = table.columns(*names).numpy()
    null = numpy.zeros(len(columns[names[0]]), bool)
    for name in known:
        null |= numpy.ma.getmaskarray(columns[name])
    for name in known:
        columns[name] = numpy.ma.getdata(columns[name])
    return {name: values[~null] for name, values in columns.items()}


def _texts(values: Array) -> Array:
    import numpy

    return numpy.ma.filled(numpy.ma.asarray(values).astype(str), "?")


def _shown(text: str) -> str:
    """A text of the file as matplotlib shows it: no formula, not hidden for a _ in front, not long."""
    text = "".join(each if each.isprintable() else "?" for each in text)
    text = text if len(text) <= 60 else f"{text[:40]}…{text[-19:]}"
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def _legend(ax: Axes) -> None:
    if ax.get_legend_handles_labels()[1]:
        ax.legend(fontsize="small")


def kernel_histogram(
    run: Run, name: str | None = None, *, top: int = 5, bins: int = 50, ax: Axes | None = None
) -> Axes:
    """How many kernels took how long (us), of equal steps on a logarithmic axis.

    name  a regular expression: of kernels in whose name it is found
    top   so many kernels, those that took most time, have a colour each; the others share one
    bins  how many steps there are"""
    ax = _axes(ax)
    import numpy
    from matplotlib.ticker import LogFormatter

    table = run.table("kernels")
    if name is not None:
        table = table.where(name=name)
    found = _columns(table, "display_name", "duration", known=["duration"])
    names, times = _texts(found["display_name"]), found["duration"] / 1e3
    names, times = names[times > 0], times[times > 0]
    ax.set(xscale="log", xlabel="duration (us)", ylabel="kernels")
    ax.xaxis.set_major_formatter(LogFormatter())
    ax.xaxis.set_minor_formatter(LogFormatter())
    if not len(times):
        return ax
    kinds, which = numpy.unique(names, return_inverse=True)
    order = numpy.argsort(-numpy.bincount(which, times), kind="stable")
    groups = [times[which == kind] for kind in order[:top]]
    labels = [_shown(kinds[kind]) for kind in order[:top]]
    if len(order) > top:
        groups.append(times[numpy.isin(which, order[top:])])
        labels.append(f"{len(order) - top} others")
    low, high = times.min(), times.max()
    if low == high:
        low, high = low / 1.1, high * 1.1
    edges = numpy.geomspace(low, high, bins + 1)
    ax.hist(groups, edges, stacked=True, label=labels)
    _legend(ax)
    return ax


def memory_curve(run: Run, *, points: int = 1000, ax: Axes | None = None) -> Axes:
    """How much memory (MB, 1,000,000 bytes) was in use over the time of the run (ms): a line for each
    process, device and kind of memory. Each of `points` equal parts of the time shows the most in it, so
    peaks are there to the byte."""
    ax = _axes(ax)
    curves: dict[tuple[Any, ...], tuple[list[float], list[float]]] = {}
    rows = list(run.memory.timeline(points).dicts())
    processes = {(row.get("rank"), row["process_id"]) for row in rows}
    for row in rows:
        key = tuple(
            row.get(name) for name in ("rank", "process_id", "device_id", "memory", "pool_type")
        )
        times, sizes = curves.setdefault(key, ([], []))
        times.append(row["relative_time_ns"] / 1e6)
        sizes.append(row["most_bytes"] / 1e6)
    for (rank, process, device, memory, pool), (times, sizes) in curves.items():
        words = [f"{memory} of GPU {device}"]
        words += [f"{pool} pool"] if pool else []
        words += [f"process {process}"] if len(processes) > 1 else []
        words += [f"rank {rank}"] if rank is not None else []
        ax.plot(times, sizes, drawstyle="steps-pre", label=_shown(", ".join(words)))
    ax.set(xlabel="time (ms)", ylabel="memory in use (MB)")
    _legend(ax)
    return ax


def _joined(starts: Array, ends: Array, gap: float) -> tuple[Array, Array]:
    """Times as few that do not overlap; what lies less than `gap` apart is one."""
    import numpy

    order = numpy.argsort(starts, kind="stable")
    starts, ends = starts[order], numpy.maximum.accumulate(ends[order])
    first = numpy.concatenate([[True], starts[1:] > ends[:-1] + gap])
    return starts[first], ends[numpy.concatenate([first[1:], [True]])]


def timeline(
    run: Run,
    start: SupportsIndex | None = None,
    end: SupportsIndex | None = None,
    *,
    device: int | Sequence[int] | None = None,
    ax: Axes | None = None,
) -> Axes:
    """What GPUs did between `start` and `end` (ns, as the column start has it), a row for each stream:
    kernels, copies and sets over the time of the run (ms). Without them, the whole run. Gaps of less
    than a 4000th of the time shown are not drawn."""
    ax = _axes(ax)
    import operator

    import numpy

    ax.set(xlabel="time (ms)")
    table = run.table("gpu_activities").where(end=end, device=device)
    names = ["start", "end", "t_ms", "type", "device_id", "stream_id"]
    rows = _columns(table, *names, known=["start", "end", "t_ms"])
    if start is not None:
        shown = rows["end"] > operator.index(start)
        rows = {name: values[shown] for name, values in rows.items()}
    if not len(rows["start"]):
        return ax
    begin = rows["t_ms"]
    finish = begin + (rows["end"] - rows["start"]) / 1e6
    left, right = begin.min(), finish.max()
    if start is not None:
        left = begin[0] + (operator.index(start) - int(rows["start"][0])) / 1e6
    if end is not None:
        right = begin[0] + (operator.index(end) - int(rows["start"][0])) / 1e6
    kinds = _texts(rows["type"])
    lanes, which = numpy.unique(
        numpy.stack([_texts(rows[name]) for name in ("rank", "device_id", "stream_id") if name in rows]),
        axis=1, return_inverse=True)  # fmt: skip
    which = which.reshape(-1)  # numpy 2.0 gives it another shape
    labels = []
    order = sorted(range(lanes.shape[1]), key=lambda i: [_number(text) for text in lanes[:, i]])
    used = []
    for place, lane in enumerate(order):
        *rank, gpu, stream = lanes[:, lane]
        words = [*(f"rank {each}" for each in rank), f"GPU {gpu} stream {stream}"]
        labels.append(_shown(", ".join(words)))
        for kind in numpy.unique(kinds[which == lane]):
            here = (which == lane) & (kinds == kind)
            starts, ends = _joined(begin[here], finish[here], (right - left) / _PARTS)
            bars = list(zip(starts.tolist(), (ends - starts).tolist()))
            label = "_" + kind if kind in used else _shown(kind)  # a legend leaves out those with _
            ax.broken_barh(
                bars, (place - 0.4, 0.8), facecolors=_COLORS.get(kind, "C3"), label=label
            )
            used.append(kind)
    ax.set_xlim(left, right)
    ax.set_yticks(range(len(labels)), labels)
    ax.invert_yaxis()
    _legend(ax)
    return ax


def _number(text: str) -> tuple[float, str]:
    return (float(text), "") if text.lstrip("-").isdigit() else (float("inf"), text)


def overlap(run: Run, *, ax: Axes | None = None) -> Axes:
    """How long each device copied in each direction (ms), and how much of that kernels ran beside it:
    the view copy_overlap."""
    ax = _axes(ax)
    rows = list(run.table("copy_overlap").dicts())
    labels = []
    for row in rows:
        words = [f"rank {row['rank']}"] if "rank" in row else []
        labels.append(_shown(", ".join([*words, f"GPU {row['device_id']} {row['kind']}"])))
    places = range(len(rows))
    beside = [row["beside_kernels_ms"] or 0.0 for row in rows]
    alone = [(row["copying_ms"] or 0.0) - part for row, part in zip(rows, beside)]
    ax.barh(places, beside, color="C0", label="beside kernels")
    ax.barh(places, alone, left=beside, color="C1", label="without kernels")
    ax.set_yticks(places, labels)
    ax.invert_yaxis()
    ax.set(xlabel="copying (ms)")
    _legend(ax)
    return ax
