"""bench(): how long the GPU works for a call, measured from the records of a trace."""

from __future__ import annotations

import ctypes
import os
import statistics
import tempfile

from ._library import Error
from ._trace import trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from typing import Any

    from ._run import Path

    Work = list[tuple[int, int, str]]  # start, end, name

_L2_CACHE_SIZE = 38  # CU_DEVICE_ATTRIBUTE_L2_CACHE_SIZE
_SMALL = 4099  # bytes of a mark without a flush: an odd size that programs do not use


class _Driver:
    """The few calls of the CUDA driver needed here, in the caller's context."""

    def __init__(self) -> None:
        try:
            self._cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            raise Error(f"the CUDA driver cannot be loaded: {error}") from None

    def call(self, name: str, *arguments: Any) -> None:
        code = getattr(self._cuda, name)(*arguments)
        if code:
            raise Error(f"{name} failed with CUDA error {code}")

    def has_context(self) -> bool:
        context = ctypes.c_void_p()
        code = self._cuda.cuCtxGetCurrent(ctypes.byref(context))
        return code == 0 and bool(context.value)

    def l2_bytes(self) -> int:
        device, size = ctypes.c_int(), ctypes.c_int()
        self.call("cuCtxGetDevice", ctypes.byref(device))
        self.call("cuDeviceGetAttribute", ctypes.byref(size), _L2_CACHE_SIZE, device)
        return size.value


class _Marks:
    """Memsets of a buffer that delimit the runs in the records: each run is between two marks."""

    def __init__(self, driver: _Driver, size: int) -> None:
        self._driver = driver
        self.size = size
        self._buffer = ctypes.c_uint64()
        driver.call("cuMemAlloc_v2", ctypes.byref(self._buffer), ctypes.c_size_t(size))

    def set(self) -> None:
        self._driver.call("cuCtxSynchronize")
        self._driver.call(
            "cuMemsetD8_v2", self._buffer, ctypes.c_ubyte(0), ctypes.c_size_t(self.size)
        )
        self._driver.call("cuCtxSynchronize")

    def free(self) -> None:
        self._driver.call("cuMemFree_v2", self._buffer)


def marks_of(flush_l2: bool) -> _Marks:
    """Marks in the thread's context, as large as the L2 cache if that should be flushed."""
    driver = _Driver()
    if not driver.has_context():
        raise Error("no CUDA context is current in this thread", "the function has to use CUDA")
    return _Marks(driver, (driver.l2_bytes() if flush_l2 else 0) or _SMALL)


class Bench:
    """How long the GPU worked for each of several calls, in ns. Time in which several things ran counts
    once, and gaps do not count. A span is the time from the start of the first to the end of the
    last.

    kernels has a dict for each kernel, copy or set: name, count (per run), median_ns, min_ns,
    max_ns (of its total time in a run)."""

    def __init__(
        self,
        name: str,
        times: list[int],
        spans: list[int],
        kernels: list[dict[str, Any]],
        flush_l2: bool,
    ) -> None:
        self.name = name
        self.samples_ns = times
        self.span_samples_ns = spans
        self.kernels = kernels
        self.flush_l2 = flush_l2
        self.runs = len(times)
        self.median_ns = statistics.median(times)
        self.mad_ns = statistics.median(abs(time - self.median_ns) for time in times)
        self.mean_ns = statistics.fmean(times)
        self.min_ns = min(times)
        self.max_ns = max(times)
        self.span_median_ns = statistics.median(spans)

    def __repr__(self) -> str:
        cache = "L2 flushed" if self.flush_l2 else "L2 warm"
        return (
            f"<gpuprof bench {self.name}: {_text(self.median_ns)} ± {_text(self.mad_ns)}"
            f" (median and MAD of {self.runs} runs; {_text(self.min_ns)} to {_text(self.max_ns)};"
            f" {len(self.kernels)} kernels; {cache})>"
        )


def _text(ns: float) -> str:
    for unit, factor in (("s", 1e9), ("ms", 1e6), ("us", 1e3)):
        if ns >= factor:
            return f"{ns / factor:.4g} {unit}"
    return f"{ns:.4g} ns"


def _busy(work: Work) -> int:
    """How long at least one of these intervals, sorted by start, was open."""
    busy, until = 0, 0
    for start, end, _ in work:
        busy += max(end - max(start, until), 0)
        until = max(until, end)
    return busy


def _runs(rows: Iterable[tuple[Any, ...]], size: int, count: int) -> list[Work]:
    """The work between marks, without that before the second mark."""
    work: Work = []
    runs: list[Work] = []
    marks = 0
    for type_, name, start, end, set_bytes in rows:
        if type_ == "memset" and set_bytes == size:
            if marks >= 2:
                runs.append(work)
            work, marks = [], marks + 1
        else:
            work.append((start, end, name))
    if len(runs) != count:
        raise Error(
            f"the records have {len(runs)} runs instead of {count}",
            "gpuprof lost records, or the function sets as many bytes as its marks",
        )
    return runs


def _of_kernels(runs: list[Work]) -> list[dict[str, Any]]:
    taken = []
    for work in runs:
        times: dict[str, tuple[int, int]] = {}
        for start, end, name in work:
            count, time = times.get(name, (0, 0))
            times[name] = count + 1, time + end - start
        taken.append(times)
    kernels = []
    for name in {name for times in taken for name in times}:
        counts, sums = zip(*(each.get(name, (0, 0)) for each in taken))
        kernels.append(
            {"name": name, "count": statistics.median(counts), "median_ns": statistics.median(sums),
             "min_ns": min(sums), "max_ns": max(sums)})  # fmt: skip
    return sorted(kernels, key=lambda kernel: (-kernel["median_ns"], kernel["name"]))


def bench(
    f: Callable[..., object],
    *args: Any,
    runs: int = 50,
    warmup: int = 3,
    flush_l2: bool = True,
    cupti: Path | None = None,
    **kwargs: Any,
) -> Bench:
    """Measures how long the GPU works for f(*args, **kwargs), and returns a Bench.

    runs      how often it is measured
    warmup    how often it is called before that, at least once, because the CUDA context has to exist
    flush_l2  whether a buffer of the L2 cache's size is written before each run
    cupti     as in trace()

    All work on the caller's device counts: nothing else should run there. The function need not
    wait for the GPU."""
    if runs < 1:
        raise ValueError("bench() needs at least one run")
    for _ in range(max(warmup, 1)):
        f(*args, **kwargs)
    marks = marks_of(flush_l2)
    try:
        with tempfile.TemporaryDirectory(prefix="gpuprof-bench-") as folder:
            path = os.path.join(folder, "bench.sqlite")
            with trace(path, "gpu", cupti=cupti) as t:
                # The first is left out, because it contains CUPTI's one-time work.
                marks.set()
                for _ in range(runs + 1):
                    f(*args, **kwargs)
                    marks.set()
            with t.run as run:
                rows = run.sql(
                    'SELECT type, name, start, "end", bytes FROM gpu_activities '
                    "WHERE start > 0 ORDER BY start"
                )
                measured = _runs(rows, marks.size, runs)
    finally:
        marks.free()
    if not any(measured):
        raise Error(
            "the function gave the GPU nothing to do", "it may have failed, or uses no CUDA"
        )
    spans = [
        max((end for _, end, _ in work), default=0) - (work[0][0] if work else 0)
        for work in measured
    ]
    name = getattr(f, "__name__", None) or type(f).__name__
    return Bench(name, [_busy(work) for work in measured], spans, _of_kernels(measured), flush_l2)
