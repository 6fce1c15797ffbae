"""measure(): how long the GPU works for a function, and metrics of its work, by configuration."""

from __future__ import annotations

import functools
import os
import statistics
import tempfile

from ._bench import bench, marks_of
from ._library import Error
from ._range import Values
from ._run import open as open_run
from ._trace import Trace, active, names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

    import pandas as pd
    from matplotlib.axes import Axes

    from ._run import Path

    Config = tuple[Any, ...]

DURATION = "duration"


class Measured:
    """The results of measure(): a row for each configuration and metric.

    name  of the function
    rows  dicts: config (the arguments, a tuple), metric, unit, median, mad (median absolute
          deviation from it), min, max, runs (with a value), values (of each run; None if missing),
          notes (why values are missing). The metric "duration" is how long the GPU worked, in ns,
          as in bench(). median, mad, min and max are None if there is no value."""

    def __init__(self, name: str, rows: list[dict[str, Any]]) -> None:
        self.name = name
        self.rows = rows

    def pandas(self) -> pd.DataFrame:
        """The rows as a pandas.DataFrame."""
        import pandas

        return pandas.DataFrame(self.rows)

    def plot(self, metric: str = DURATION, *, ax: Axes | None = None) -> Axes:
        """gpuprof.plot.measured(): the median over the configurations, with its spread."""
        from . import plot

        return plot.measured(self, metric, ax=ax)

    def __str__(self) -> str:
        table = [["config", "metric", "unit", "median", "mad", "runs"]]
        for row in self.rows:
            numbers = [
                "-" if row[name] is None else f"{row[name]:.6g}" for name in ("median", "mad")
            ]
            table.append([text_of(row["config"]), row["metric"], row["unit"], *numbers, str(row["runs"])])  # fmt: skip
        widths = [max(map(len, column)) for column in zip(*table)]
        return "\n".join(
            "  ".join(
                text.ljust(width) if place < 3 else text.rjust(width)
                for place, (text, width) in enumerate(zip(line, widths))
            ).rstrip()
            for line in table
        )

    def __repr__(self) -> str:
        return f"<gpuprof measured {self.name}:\n{self}>"


def text_of(config: Config) -> str:
    """A configuration on one line: 1024, or 1024, 'half'."""
    return ", ".join(repr(argument) for argument in config) or "-"


def _row(
    config: Config,
    metric: str,
    unit: str,
    values: Sequence[float | None],
    notes: Iterable[str] = (),
) -> dict[str, Any]:
    known = [value for value in values if value is not None]
    median = statistics.median(known) if known else None
    return {
        "config": config,
        "metric": metric,
        "unit": unit,
        "median": median,
        "mad": None if median is None else statistics.median(abs(v - median) for v in known),
        "min": min(known, default=None),
        "max": max(known, default=None),
        "runs": len(known),
        "values": list(values),
        "notes": sorted(set(notes)),
    }


def _metrics(
    call: Callable[[Config], object],
    name: str,
    configs: list[Config],
    runs: int,
    flush_l2: bool,
    trace: Trace,
) -> list[list[dict[str, Any]]]:
    """Rows of metrics for each configuration; each pass calls all configurations."""
    trace._repeats = True
    marks = marks_of(True) if flush_l2 else None
    try:
        with trace:
            while True:
                numbers: list[list[int]] = []
                for config in configs:
                    numbers.append([])
                    for _ in range(runs):
                        if marks is not None:
                            marks.set()
                        numbers[-1].append(trace._begin_range(f"{name}({text_of(config)})"))
                        try:
                            call(config)
                        finally:
                            trace._end_range()
                if not trace._next_pass():
                    break
    finally:
        if marks is not None:
            marks.free()
    with open_run(trace.path) as run:
        values = Values(run)
    rows = []
    for config, own in zip(configs, numbers):
        found = [values.of(number) for number in own]
        notes = [note for number in own for note in values.notes.get(number, [])]
        if not any(number in values.rows for number in own):
            notes += trace.messages[:-1]
        rows.append(
            [
                _row(config, metric, unit, [each[metric] for each in found], notes)
                for metric, unit in values.units.items()
            ]
        )
    return rows


def measure(
    configs: Iterable[Any] = ((),),
    metrics: Sequence[str] = (),
    runs: int = 5,
    *,
    warmup: int = 3,
    flush_l2: bool = True,
    path: Path | None = None,
    overwrite: bool = False,
    cupti: Path | None = None,
    options: Sequence[object] = (),
) -> Callable[[Callable[..., object]], Callable[[], Measured]]:
    """Turns a function into one that measures it: called without arguments, it calls the function
    for each configuration and returns a Measured.

        @gpuprof.measure(configs=[(1024,), (2048,)], metrics=["dram__bytes_read.sum"], runs=5)
        def product(n): ...
        print(product())

    configs    the arguments of each, a tuple; anything else is the only argument
    metrics    to measure in addition to the time, named as in the program's --metrics
    runs       how often each configuration is measured, for the time and for the metrics
    warmup     how often it is called before that, at least once
    flush_l2   whether a buffer of the L2 cache's size is written before each run
    path       a file to keep, with the metrics as ranges named f(config)
    overwrite, cupti, options    as in trace(); options apply to the metrics

    Time is measured as by bench(), without counters. Metrics come from a separate trace in which
    the function is called again for each pass that they need: it has to give the GPU the same work
    each time."""
    if runs < 1:
        raise ValueError("measure() needs at least one run")
    wanted = [each if isinstance(each, tuple) else (each,) for each in configs]
    names = names_of(metrics)

    def decorate(f: Callable[..., object]) -> Callable[[], Measured]:
        name = getattr(f, "__name__", None) or type(f).__name__

        @functools.wraps(f)
        def measured() -> Measured:
            if active() is not None:
                raise Error("this process is being traced already", "end that trace first")
            rows: list[list[dict[str, Any]]] = []
            for config in wanted:
                b = bench(f, *config, runs=runs, warmup=warmup, flush_l2=flush_l2, cupti=cupti)
                rows.append([_row(config, DURATION, "ns", b.samples_ns)])
            if names:
                with tempfile.TemporaryDirectory(prefix="gpuprof-measure-") as folder:
                    file = os.path.join(folder, "measure.sqlite") if path is None else path
                    trace = Trace(file, None, names, "range", overwrite, cupti, options)
                    more = _metrics(lambda config: f(*config), name, wanted, runs, flush_l2, trace)
                for own, others in zip(rows, more):
                    own += others
            return Measured(name, [row for own in rows for row in own])

        return measured

    return decorate
