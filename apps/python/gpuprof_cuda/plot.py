"""Plots of a run, drawn with matplotlib for notebooks and papers.

Each function accepts a run, draws into `ax` or into a new figure, and returns the Axes. Records that
lack a needed value (a time that was not collected) are not drawn. With several files, each has its
own rank.
"""

from __future__ import annotations

import itertools

from . import _palette
from ._library import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Any, SupportsIndex

    from matplotlib.axes import Axes

    from ._arrow import Array
    from ._measure import Measured
    from ._run import Run
    from ._table import Table

__all__ = ["kernel_histogram", "measured", "memory_curve", "overlap", "roofline", "timeline"]

# The six metrics that roofline() needs, for --metrics or trace(metrics=).
ROOFLINE_METRICS = (
    "flop_count_sp",
    "flop_count_hp",
    "flop_count_dp",
    "dram_read_bytes",
    "dram_write_bytes",
    "gpu__time_duration.sum",
)

# Classes of GPU work, by their name in docs/design/look.md.
_COLORS = {"kernel": "compute", "graph": "both", "memcpy": "copy", "memset": "set"}
_HATCHES = ("", "//", "..", "xx", "\\\\")
_MARKERS = ("o", "s", "^", "D", "v")
_PARTS = 4000  # of a window: gaps shorter than one part are invisible


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
    """A text of the file for matplotlib: without formulas, not hidden by a leading _, and not too long."""
    text = "".join(each if each.isprintable() else "?" for each in text)
    text = text if len(text) <= 60 else f"{text[:40]}…{text[-19:]}"
    return (" " if text.startswith("_") else "") + text.replace("$", r"\$")


def _looks(functions: Sequence[str]) -> list[tuple[str, int]]:
    """The color of each kernel, by its function's name as in the viewer, and how many before it have the
    same: the number of a hatch or a marker, so that no two look alike."""
    looks: list[tuple[str, int]] = []
    for function in functions:
        color = _palette.color(_palette.color_of_work(function))
        looks.append((color, sum(color == other for other, _ in looks)))
    return looks


def _function(name: str) -> str:
    """Of a demangled name."""
    return name.split("(")[0].split("<")[0].split(" ")[-1].split("::")[-1]


def _legend(ax: Axes) -> None:
    if ax.get_legend_handles_labels()[1]:
        ax.legend(fontsize="small")


def kernel_histogram(
    run: Run, name: str | None = None, *, top: int = 5, bins: int = 50, ax: Axes | None = None
) -> Axes:
    """How many kernels had which duration (us), in equal steps on a logarithmic axis.

    name  a regular expression: only kernels whose name it is found in
    top   the number of kernels with their own colour, those with the most time; the others share one
    bins  the number of steps"""
    ax = _axes(ax)
    import numpy
    from matplotlib.ticker import LogFormatter

    table = run.table("kernels")
    if name is not None:
        table = table.where(name=name)
    found = _columns(table, "display_name", "short_name", "duration", known=["duration"])
    names, times = _texts(found["display_name"]), found["duration"] / 1e3
    functions = dict(zip(names.tolist(), _texts(found["short_name"]).tolist()))
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
    looks = _looks([functions[str(kinds[kind])] for kind in order[:top]])
    colors = [color for color, _ in looks]
    if len(order) > top:
        groups.append(times[numpy.isin(which, order[top:])])
        labels.append(f"{len(order) - top} others")
        colors.append(_palette.color("overhead"))
    low, high = times.min(), times.max()
    if low == high:
        low, high = low / 1.1, high * 1.1
    edges = numpy.geomspace(low, high, bins + 1)
    _, _, drawn = ax.hist(groups, edges, stacked=True, label=labels, color=colors)
    # With one group, matplotlib returns its bars alone.
    for bars, (_, same) in zip([drawn] if len(groups) == 1 else drawn, looks):
        for bar in bars:
            bar.set(hatch=_HATCHES[same % len(_HATCHES)], edgecolor=_palette.color("ground"))
    _legend(ax)
    return ax


def memory_curve(run: Run, *, points: int = 1000, ax: Axes | None = None) -> Axes:
    """Memory in use (MB, 1,000,000 bytes) over the time of the run (ms): a line for each process,
    device and kind of memory. Each of `points` equal parts of the time shows its maximum, so peaks
    are exact to the byte."""
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
    styles = itertools.cycle(("-", "--", "-.", ":"))
    for (rank, process, device, memory, pool), (times, sizes) in curves.items():
        words = [f"{memory} of GPU {device}"]
        words += [f"{pool} pool"] if pool else []
        words += [f"process {process}"] if len(processes) > 1 else []
        words += [f"rank {rank}"] if rank is not None else []
        color, style = _palette.color("accent"), next(styles)
        ax.plot(
            times, sizes, style, color=color, drawstyle="steps-pre", label=_shown(", ".join(words))
        )
    ax.set(xlabel="time (ms)", ylabel="memory in use (MB)")
    _legend(ax)
    return ax


def _joined(starts: Array, ends: Array, gap: float) -> tuple[Array, Array]:
    """Times merged so that they do not overlap; those less than `gap` apart are joined."""
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
    """What GPUs did between `start` and `end` (ns, as in the column start), a row for each stream:
    kernels, copies and sets over the time of the run (ms). The default is the whole run. Gaps shorter
    than 1/4000 of the time shown are not drawn."""
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
    which = which.reshape(-1)  # numpy 2.0 returns another shape
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
            # A legend omits labels that begin with _.
            label = "_" + kind if kind in used else _shown(kind)
            ax.broken_barh(
                bars,
                (place - 0.4, 0.8),
                facecolors=_palette.color(_COLORS.get(kind, "peer")),
                label=label,
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
    """How long each device copied in each direction (ms), and for how much of that time kernels ran too:
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
    ax.barh(places, beside, color=_palette.color("both"), label="with kernels")
    ax.barh(places, alone, left=beside, color=_palette.color("copy"), label="without kernels")
    ax.set_yticks(places, labels)
    ax.invert_yaxis()
    ax.set(xlabel="copying (ms)")
    _legend(ax)
    return ax


def measured(m: Measured, metric: str = "duration", *, ax: Axes | None = None) -> Axes:
    """The medians of a metric over the configurations of gpuprof.measure(), in its unit, with bars of one
    median absolute deviation to each side. Single numeric configurations form a scale; others are
    labelled in their order."""
    ax = _axes(ax)
    from ._measure import text_of

    rows = [row for row in m.rows if row["metric"] == metric]
    if not rows:
        names = dict.fromkeys(row["metric"] for row in m.rows)
        raise Error(f"there is no metric {metric}", "there are " + ", ".join(names))
    unit = rows[0]["unit"]
    rows = [row for row in rows if row["median"] is not None]
    configs = [row["config"] for row in rows]
    numbers = all(len(c) == 1 and type(c[0]) in (int, float) for c in configs)
    places = [c[0] if numbers else place for place, c in enumerate(configs)]
    order = sorted(range(len(rows)), key=lambda i: places[i])
    ax.errorbar(
        [places[i] for i in order],
        [rows[i]["median"] for i in order],
        [rows[i]["mad"] for i in order],
        fmt="o-" if numbers else "o",
        color=_palette.color("accent"),
        capsize=3,
    )
    if not numbers:
        ax.set_xticks(places, [_shown(text_of(c)) for c in configs])
    ax.set(xlabel=_shown(m.name), ylabel=_shown(f"{metric} ({unit})" if unit else metric))
    return ax


# FP32 units of a multiprocessor by compute capability (CUDA C++ Programming Guide, throughput of
# arithmetic instructions). Each does a multiply-add, two operations, per cycle.
_FP32_UNITS = {
    "7.0": 64, "7.2": 64, "7.5": 64, "8.0": 64, "8.6": 128, "8.7": 128, "8.9": 128, "9.0": 128,
    "10.0": 128, "12.0": 128,
}  # fmt: skip
_BYTES = (("dram__bytes.sum",), ("dram_read_bytes", "dram_write_bytes"),
          ("dram__bytes_read.sum", "dram__bytes_write.sum"))  # fmt: skip
_TIME = "gpu__time_duration.sum"


def _peaks(run: Run) -> dict[tuple[Any, Any], tuple[float | None, float | None]]:
    """By rank and device: operations and DRAM bytes per second, where known."""
    peaks: dict[tuple[Any, Any], tuple[float | None, float | None]] = {}
    for row in run.table("devices").dicts():
        units = _FP32_UNITS.get(row["compute_capability"])
        clock = row["core_clock"]
        flops = 2.0 * units * row["multiprocessors"] * clock if units and clock else None
        peaks[row.get("rank"), row["device_id"]] = flops, row["memory_bandwidth"] or None
    return peaks


def _measured_kernels(run: Run) -> tuple[dict[tuple[Any, ...], dict[str, float]], set[str]]:
    """Values by metric for each launch, with its time (ns) as `time`; and the metrics that exist."""
    launches: dict[tuple[Any, ...], dict[str, float]] = {}
    metrics: set[str] = set()
    for row in run.table("kernel_metrics").dicts():
        key = tuple(row.get(name) for name in (
            "rank", "process_id", "device_id", "context_id", "ordinal", "name"))  # fmt: skip
        launch = launches.setdefault(key, {})
        launch[row["metric"]] = row["value"]
        metrics.add(row["metric"])
        if row["duration"]:
            launch.setdefault("time", row["duration"])
    for launch in launches.values():
        if _TIME in launch:
            launch["time"] = launch[_TIME]
    return launches, metrics


def roofline(
    run: Run,
    *,
    flops: Sequence[str] | None = None,
    traffic: Sequence[str] | None = None,
    peak_flops: float | None = None,
    peak_bandwidth: float | None = None,
    top: int = 5,
    ax: Axes | None = None,
) -> Axes:
    """Each measured kernel as a point: floating-point operations per second (GFLOP/s) over operations per
    byte of DRAM traffic (FLOP/byte), both logarithmic, under the roof of the device's capability.

        gpuprof --metrics flop_count_sp,flop_count_hp,flop_count_dp,dram_read_bytes,dram_write_bytes,gpu__time_duration.sum -o run.sqlite ./app
        gpuprof.trace("run.sqlite", metrics=gpuprof.plot.ROOFLINE_METRICS)

    A kernel's launches are added up. A point's area is proportional to its share of the time. Kernels
    without floating-point operations or DRAM traffic have no place on such axes and are left out.

    flops           metrics of operations to add up. By default, those of flop_count_sp, _hp and _dp that
                    the run has. These exclude tensor cores, which are counted by
                    sm__ops_path_tensor_src_bf16_dst_fp32.sum and similar metrics
    traffic         metrics of bytes to add up. By default, those of DRAM that the run has
    peak_flops      operations per second of the device. By default, of the FP32 units: 2 x units of a
                    multiprocessor x multiprocessors x core clock, from the view devices
    peak_bandwidth  bytes per second of the memory that `traffic` counts. By default memory_bandwidth
                    in the view devices, which is DRAM's
    top             the number of kernels with their own colour, those with the most time; the others
                    share one"""
    ax = _axes(ax)
    ax.set(xscale="log", yscale="log", xlabel="FLOP / byte", ylabel="GFLOP/s")
    launches, metrics = _measured_kernels(run)
    done_by = list(flops or [name for name in ROOFLINE_METRICS[:3] if name in metrics])
    moved_by = list(traffic or next((names for names in _BYTES if metrics.issuperset(names)), ()))
    missing = [name for name in done_by + moved_by if name not in metrics]
    missing += [] if done_by else ["floating-point operations"]
    missing += [] if moved_by else ["DRAM traffic"]
    if missing:
        wanted = [*(flops or ROOFLINE_METRICS[:3]), *(traffic or _BYTES[1]), _TIME]
        raise Error(
            f"the run has no values of {' and '.join(missing)} by kernel",
            "record it with --metrics " + ",".join(wanted),
        )
    sums: dict[tuple[Any, ...], list[float]] = {}
    for (rank, _, device, _, _, name), launch in launches.items():
        if all(each in launch for each in ("time", *done_by, *moved_by)):
            own = sums.setdefault((rank, device, name), [0.0, 0.0, 0.0])
            own[0] += sum(launch[each] for each in done_by)
            own[1] += sum(launch[each] for each in moved_by)
            own[2] += launch["time"]
    points = sorted(
        (key for key, (done, moved, time) in sums.items() if min(done, moved, time) > 0),
        key=lambda key: -sums[key][2],
    )
    whole = sum(sums[key][2] for key in points)
    looks = _looks([_function(key[2] or "") for key in points[:top]])
    for place, key in enumerate(points):
        done, moved, time = sums[key]
        label = _shown(key[2] or "?") if place < top else "_others"
        if place == top:
            label = f"{len(points) - top} others"
        color, same = looks[place] if place < top else (_palette.color("overhead"), 0)
        marker = _MARKERS[same % len(_MARKERS)]
        size = 20 + 400 * time / whole
        ax.scatter(done / moved, done / time, s=size, marker=marker, color=color, label=label)
    known = _peaks(run)
    roofs = {
        (peak_flops or own[0], peak_bandwidth or own[1])
        for own in (known.get(key[:2], (None, None)) for key in points)
    }
    at = [sums[key][0] / sums[key][1] for key in points]
    for most, rate in sorted(roofs, key=str):
        ridge = most / rate if most and rate else None
        left = min([*at, *([ridge] if ridge else [])]) / 4
        right = max([*at, *([ridge] if ridge else [])]) * 4
        if rate:
            end = ridge or right
            ax.plot(
                [left, end], [left * rate / 1e9, end * rate / 1e9], color=_palette.color("faint")
            )
        if most:
            ax.plot([ridge or left, right], [most / 1e9] * 2, color=_palette.color("faint"))
    _legend(ax)
    return ax
