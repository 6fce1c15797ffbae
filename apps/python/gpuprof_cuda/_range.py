"""range(): metrics of what a part of a program does on the GPU, as one value each."""

from __future__ import annotations

import os
import tempfile

from . import _trace
from ._checkpoint import Checkpoint
from ._library import Error
from ._run import open as open_run
from ._trace import Trace, names_of

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    from ._run import Path, Run

_VALUES = """
    SELECT ordinal, metric, value, unit, device_id, context_id FROM range_metrics
    WHERE kind = 'range' ORDER BY ordinal, context_id, id"""


class Values:
    """Values of a file's ranges, by the number of the range."""

    def __init__(self, run: Run) -> None:
        self.units: dict[str, str] = dict(run.sql("SELECT name, unit FROM METRIC ORDER BY _id_"))
        self.rows: dict[int, list[dict[str, Any]]] = {}
        self.notes: dict[int, list[str]] = {}
        for row in run.sql(_VALUES).dicts():
            self.rows.setdefault(row.pop("ordinal"), []).append(row)
        gaps = "SELECT DISTINCT ordinal, note FROM metric_gaps WHERE kind = 'range'"
        for number, note in run.sql(gaps):
            self.notes.setdefault(number, []).append(note)

    def of(self, number: int) -> dict[str, float | None]:
        rows = self.rows.get(number, [])
        contexts = sorted({(row["device_id"], row["context_id"]) for row in rows})
        if len(contexts) > 1:
            raise Error(
                "the range has values of several contexts: "
                + ", ".join(f"{context} on device {device}" for device, context in contexts),
                "the rows distinguish them",
            )
        found = {row["metric"]: row["value"] for row in rows}
        return {name: found.get(name) for name in self.units}


class Range:
    """A part of the program whose metrics are measured; made by range().

    name      of the range
    metrics   the requested metrics
    path      the file, or None if none is kept
    passes    how often the part has to run for these metrics; known from the start
    values    after the end: metric to value, in the units. None if there is no value; notes say why
    units     metric to unit; "" is a plain number
    rows      a dict for each context and metric: metric, value, unit, device_id, context_id
    notes     why values are missing
    messages  what gpuprof printed, as lines
    result    of run(): the last return value of the function
    """

    def __init__(
        self,
        name: str,
        metrics: Sequence[str] | None,
        path: Path | None,
        trace: str | None,
        overwrite: bool,
        cupti: Path | None,
        options: Sequence[object],
        checkpoint: bool,
    ) -> None:
        self.name = name
        self.metrics = names_of(metrics or ())
        self.path = None if path is None else os.path.abspath(os.fsdecode(os.fspath(path)))
        self.result: Any = None
        self._of_trace = (trace, overwrite, cupti, options)
        self._puts_back = checkpoint
        self._trace: Trace | None = None
        self._owned = False  # the trace exists only for this range
        self._folder: tempfile.TemporaryDirectory[str] | None = None  # of a temporary file
        self._failed = False  # the body of the range failed
        self._number = 0
        self._values: Values | None = None

    def _begin(self, repeats: bool) -> Trace:
        if self._trace is not None:
            raise Error("a range is used once", "gpuprof.range() makes another")
        active = _trace.active()
        if active is not None:
            self._join(active, repeats)
            return active
        if not self.metrics:
            raise Error(
                "gpuprof.range() has no metrics",
                'name them, or use it inside of gpuprof.trace(FILE, metrics=[...], replay="range")',
            )
        kinds, overwrite, cupti, options = self._of_trace
        path = self.path
        if path is None:
            self._folder = tempfile.TemporaryDirectory(prefix="gpuprof-range-")
            path = os.path.join(self._folder.name, "range.sqlite")
        self._trace = Trace(path, kinds, self.metrics, "range", overwrite, cupti, options)
        self._trace._repeats = repeats
        self._owned = True
        try:
            return self._trace.__enter__()
        except BaseException:
            self._forget()
            raise

    def _join(self, active: Trace, repeats: bool) -> None:
        """Takes part in the active trace, which then has the values."""
        if not active._measures_ranges:
            raise Error(
                f"this process is being traced, into {active.path}, without metrics of ranges",
                'gpuprof.trace(FILE, metrics=[...], replay="range") has them',
            )
        if repeats:
            raise Error("run() needs its own trace, and one is on", "use the range in a `with`")
        missing = [name for name in self.metrics if name not in active.metrics]
        if missing:
            raise Error(
                f"the trace that is on does not measure {', '.join(missing)}",
                "name them where it begins",
            )
        self._trace, self.metrics, self.path = active, active.metrics, active.path

    def __enter__(self) -> Range:
        if self._puts_back:
            raise Error("a checkpoint is for run(), which calls again", "leave checkpoint out")
        trace = self._begin(False)
        try:
            self._number = trace._begin_range(self.name)
        except BaseException as error:
            self._end(type(error), error, error.__traceback__)
            raise
        return self

    def __exit__(self, kind: Any, error: Any, where: Any) -> None:
        trace = self._trace
        if trace is None or not trace._is_recording():
            return
        trace._end_range()
        self._end(kind, error, where)

    def run(self, f: Callable[..., object], *args: Any, **kwargs: Any) -> Range:
        """Calls f(*args, **kwargs) in each pass, `passes` times in total, and measures it; f has to
        give the GPU the same work each time. Returns this range, with values."""
        trace = self._begin(True)
        checkpoint = None
        try:
            while True:
                if checkpoint is not None:
                    checkpoint.restore()
                elif self._puts_back and trace.passes > 1:
                    checkpoint = Checkpoint()
                self._number = trace._begin_range(self.name)
                try:
                    self.result = f(*args, **kwargs)
                finally:
                    trace._end_range()
                if not trace._next_pass():
                    break
        except BaseException as error:
            self._end(type(error), error, error.__traceback__)
            raise
        finally:
            if checkpoint is not None:
                checkpoint.free()
        self._end(None, None, None)
        return self

    def _end(self, kind: Any, error: Any, where: Any) -> None:
        """Ends the trace if it exists only for this range."""
        if not self._owned:
            return
        assert self._trace is not None
        self._failed = kind is not None
        try:
            self._trace.__exit__(kind, error, where)
            if kind is None:
                self._read()
        finally:
            self._forget()

    def _forget(self) -> None:
        if self._folder is not None:
            self._folder.cleanup()
            self._folder = None

    def _read(self) -> Values:
        if self._values is not None:
            return self._values
        if self._failed:
            raise Error(f"the range {self.name!r} has no values: what is inside of it failed")
        trace = self._trace
        if trace is None or trace._state != "complete":
            raise Error(
                f"the range {self.name!r} has no values yet",
                "they are there when the trace that it is of has ended",
            )
        with open_run(trace.path) as run:
            values = Values(run)
        if not values.rows.get(self._number) and not values.notes.get(self._number):
            said = "; ".join(trace.messages[:-1])
            raise Error(
                f"nothing was measured of the range {self.name!r}" + (f": {said}" if said else ""),
                "it has to use CUDA in this process",
            )
        self._values = values
        return values

    @property
    def passes(self) -> int:
        if self._trace is None:
            raise Error("how many passes it takes is known when the range begins")
        return self._trace.passes

    @property
    def values(self) -> dict[str, float | None]:
        return self._read().of(self._number)

    @property
    def units(self) -> dict[str, str]:
        return self._read().units

    @property
    def rows(self) -> list[dict[str, Any]]:
        return self._read().rows.get(self._number, [])

    @property
    def notes(self) -> list[str]:
        return self._read().notes.get(self._number, [])

    @property
    def messages(self) -> list[str]:
        return [] if self._trace is None else self._trace.messages

    def __repr__(self) -> str:
        if self._values is None:
            return f"<gpuprof range {self.name}: {', '.join(self.metrics)}>"
        lines = [f"<gpuprof range {self.name}"]
        for row in self.rows:
            lines.append(f"  {row['metric']} {row['value']:.6g} {row['unit']}".rstrip())
        return "\n".join(lines + [f"  {note}" for note in self.notes]) + ">"


def range(
    name: str,
    metrics: Sequence[str] | None = None,
    *,
    path: Path | None = None,
    trace: str | None = None,
    overwrite: bool = False,
    cupti: Path | None = None,
    options: Sequence[object] = (),
    checkpoint: bool = False,
) -> Range:
    """Measures metrics of what the GPU does inside `with`, as one value each:

        with gpuprof.range("attention", ["dram__bytes_read.sum"]) as r:
            f(x)
        r.values, r.units

    metrics    named as in the program's --metrics
    path       a file to keep, with the values and a trace; otherwise none is kept
    trace      what else to record, as in the program's --trace
    overwrite, cupti, options    as in trace()
    checkpoint for run(): restores the GPU's memory before each pass except the first, for
               functions that change the data they work on. Uses CUPTI's libcheckpoint

    Both ends wait for the GPU. Metrics that need several passes are refused, with a list of those
    that fit into one: range(name, metrics).run(f, *args) calls f once for each pass. Inside
    trace(FILE, metrics=[...], replay="range") the range takes part in that trace, which then has the
    values. It takes an additional second or two, for the plan and the first start of the counters."""
    return Range(name, metrics, path, trace, overwrite, cupti, options, checkpoint)
