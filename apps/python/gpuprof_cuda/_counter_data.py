"""Samples decoded by a Collector, and their values. pm_sampling exports the public part."""

from __future__ import annotations

import bisect
import ctypes
import operator
import threading
import typing
from dataclasses import dataclass

from . import _counters
from ._counters import WrongValue

if typing.TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import pandas
    import pyarrow

    from ._arrow import Array


@dataclass(frozen=True)
class Sample:
    """Times in ns on CUPTI's clock, and a value for each metric of the CounterData."""

    start_timestamp: int
    end_timestamp: int
    metric_values: list[float]


# Hosts for evaluation, by chip and device: given images of two devices, one host returns values for
# the first only; creating a host takes long.
_hosts: dict[tuple[str, int], _counters.Host] = {}
_hosts_lock = threading.Lock()


def _host(chip: str, device: int) -> _counters.Host:
    with _hosts_lock:
        if (chip, device) not in _hosts:
            _hosts[chip, device] = _counters.Host(chip=chip, profiler="samples")
        return _hosts[chip, device]


class _Part:
    """A counter data image, and the places of samples in it. Pickles its bytes."""

    def __init__(self, image: Array, places: Array, owner: object = None) -> None:
        self.image, self.places, self.owner = image, places, owner

    def __getstate__(self) -> dict[str, Any]:
        return {"image": self.image.copy(), "places": self.places.copy(), "owner": None}


def _view(address: int | None, dtype: Any, count: int, owner: object) -> Array:
    """Memory of samples as an array that keeps the samples alive."""
    import numpy

    if not address or not count:
        return numpy.empty(0, dtype)
    size = count * numpy.dtype(dtype).itemsize
    memory: Any = (ctypes.c_char * size).from_address(address)
    memory.owner = owner
    return numpy.frombuffer(memory, dtype)


class _Taken:
    """Owns a gpuprof_samples."""

    def __init__(self, library: ctypes.CDLL, handle: ctypes.c_void_p) -> None:
        self._library, self._handle = library, handle

    def __del__(self) -> None:
        self._library.gpuprof_samples_close(self._handle)


class CounterData:
    """Samples in order of time. len(), an index or a slice, and iteration return Samples; the first
    access evaluates all of them in one call. Can be pickled."""

    def __init__(
        self,
        *,
        image: Array,
        metrics: list[str],
        chip_name: str,
        num_total_samples: int,
        num_populated_samples: int,
        num_completed_samples: int,
        start_timestamps: list[int],
        end_timestamps: list[int],
    ) -> None:
        import numpy

        image = numpy.ascontiguousarray(image).view(numpy.uint8)
        self._fill(
            [_Part(image, numpy.arange(num_completed_samples))],
            None,
            metrics,
            chip_name,
            (num_total_samples, num_populated_samples, num_completed_samples),
            numpy.asarray(start_timestamps[:num_completed_samples], numpy.int64),
            numpy.asarray(end_timestamps[:num_completed_samples], numpy.int64),
        )

    def _fill(
        self,
        parts: list[_Part],
        values: Array | None,
        metrics: list[str],
        chip: str,
        counts: tuple[int, int, int],
        starts: Array,
        ends: Array,
        device: int | None = None,
        clocks: tuple[int, ...] | None = None,
    ) -> None:
        self._parts, self._values = parts, values
        self.metrics = list(metrics)
        self._chip_name = chip
        self.num_total_samples, self.num_populated_samples, self.num_completed_samples = counts
        self._starts, self._ends = starts, ends
        self._device, self._clocks = device, clocks

    @classmethod
    def _of(
        cls,
        library: ctypes.CDLL,
        handle: ctypes.c_void_p,
        metrics: list[str],
        chip: str,
        device: int,
        most: int,
    ) -> CounterData:
        import numpy

        owner = _Taken(library, handle)
        count = library.gpuprof_samples_count(handle)
        starts = _view(library.gpuprof_samples_starts(handle), numpy.int64, count, owner)
        ends = _view(library.gpuprof_samples_ends(handle), numpy.int64, count, owner)
        address = library.gpuprof_samples_values(handle)
        values = _view(address, numpy.float64, count * len(metrics), owner) if address else None
        parts = []
        for number in range(library.gpuprof_samples_images(handle)):
            size, places, inside = ctypes.c_int64(), ctypes.c_void_p(), ctypes.c_int64()
            image = library.gpuprof_samples_image(
                handle, number, ctypes.byref(size), ctypes.byref(places), ctypes.byref(inside)
            )
            parts.append(
                _Part(
                    _view(image, numpy.uint8, size.value, owner),
                    _view(places.value, numpy.int64, inside.value, owner),
                )
            )
        clocks = (ctypes.c_int64 * 3)()
        library.gpuprof_samples_clocks(handle, clocks)
        if values is None and count == 0:
            values = numpy.empty(0)
        if values is not None:
            values = values.reshape(count, len(metrics))
        data = cls.__new__(cls)
        populated = library.gpuprof_samples_populated(handle)
        counts = (most, populated, count)
        data._fill(parts, values, metrics, chip, counts, starts, ends, device, tuple(clocks))
        return data

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        # The device may not exist where this is unpickled, so values are stored instead of images.
        state["_starts"], state["_ends"] = self._starts.copy(), self._ends.copy()
        if self._values is not None:
            state["_values"], state["_parts"] = self._values.copy(), []
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)

    def __repr__(self) -> str:
        return f"<{len(self)} PM samples of {len(self.metrics)} metrics, {self._chip_name}>"

    def __len__(self) -> int:
        return self.num_completed_samples

    def to_numpy(self) -> Array:
        """float64 of shape (samples, metrics), in the order of `metrics`; NaN where there is no value.
        Read-only, because further calls return the same array."""
        import numpy

        if self._values is None:
            values = numpy.full((len(self), len(self.metrics)), numpy.nan)
            host = _counters.Host(chip=self._chip_name, profiler="samples") \
                if self._device is None else _host(self._chip_name, self._device)  # fmt: skip
            row = 0
            for part in self._parts:
                after = row + len(part.places)
                host.evaluate(part.image.ctypes.data, part.image.nbytes, part.places, self.metrics,
                              values[row:after])  # fmt: skip
                row = after
            self._values = values
            self._values.flags.writeable = False
        return self._values

    def timestamps(self, clock: str = "cupti") -> Array:
        """int64 of shape (samples, 2): start and end of each, in ns. `clock` is "cupti" for CUPTI's
        clock, which gpuprof's files use, "unix" for time.time_ns(), or "monotonic" for
        time.monotonic_ns(). The clocks were compared when the samples were decoded."""
        import numpy

        clocks = ("cupti", "unix", "monotonic")
        if clock not in clocks:
            raise WrongValue(f"there is no clock {clock!r}", "cupti, unix or monotonic")
        moved = 0
        if clock != "cupti":
            if self._clocks is None:
                raise WrongValue("only samples of a Collector know other clocks than CUPTI's")
            moved = self._clocks[clocks.index(clock)] - self._clocks[0]
        return numpy.stack([self._starts, self._ends], axis=1) + moved

    def _columns(self, clock: str) -> dict[str, Array]:
        times, values = self.timestamps(clock), self.to_numpy()
        columns = {"start": times[:, 0], "end": times[:, 1]}
        columns.update((name, values[:, i]) for i, name in enumerate(self.metrics))
        return columns

    def to_pandas(self, clock: str = "cupti") -> pandas.DataFrame:
        """A pandas.DataFrame: start and end in ns, and a column for each metric."""
        import pandas

        return pandas.DataFrame(self._columns(clock))

    def to_arrow(self, clock: str = "cupti") -> pyarrow.Table:
        """A pyarrow.Table with the columns of to_pandas()."""
        import pyarrow

        return pyarrow.table(self._columns(clock))

    def __iter__(self) -> Iterator[Sample]:
        for start, end, row in zip(self._starts.tolist(), self._ends.tolist(), self.to_numpy()):
            yield Sample(start, end, row.tolist())

    @typing.overload
    def __getitem__(self, index: int) -> Sample: ...

    @typing.overload
    def __getitem__(self, index: slice) -> list[Sample]: ...

    def __getitem__(self, index: int | slice) -> Sample | list[Sample]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        index = operator.index(index)  # numpy's integers too
        place = index + len(self) if index < 0 else index
        if not 0 <= place < len(self):
            raise IndexError(f"there are {len(self)} samples, so no sample {index}")
        row = self.to_numpy()[place].tolist()
        return Sample(int(self._starts[place]), int(self._ends[place]), row)

    def at(self, timestamp: int, clock: str = "cupti") -> Sample | None:
        """The sample being taken at that time, or None."""
        times = self.timestamps(clock)
        place = bisect.bisect_right(times[:, 0], timestamp) - 1
        return self[place] if place >= 0 and timestamp < times[place, 1] else None


# The name that pickles and error messages use.
Sample.__module__ = CounterData.__module__ = "gpuprof_cuda.pm_sampling"
