"""PM sampling: counters of a whole GPU over time, for all processes, from inside a program.

Names, parameters, defaults and exceptions are those of cupti.pm_sampling in cupti-python 13.4.0.
Beyond it: collectors of one device share a session; passes() and buffer_size_for() answer in
advance; start(background=True) decodes on a thread of the library; CounterData.to_numpy(),
to_pandas() and to_arrow() evaluate all samples in one call, on a clock of your choice; the first
sample after a start, which begins before it, is left out; disable() does not affect other
collectors.

While a collector is started, CUPTI locks the GPU's clocks.
"""

from __future__ import annotations

import atexit
import ctypes
import sys
import threading
import typing
import weakref

from . import _counters
from ._counter_data import CounterData, Sample
from ._counters import (
    DecodeStopReason,
    HardwareBufferAppendMode,
    NotSupportedError,
    TriggerMode,
    WrongState,
    WrongValue,
    cuptiError,
    metrics_to_c_array,
    names,
)
from ._library import Error

if typing.TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

HardwareBuffer_AppendMode = HardwareBufferAppendMode

__all__ = [
    "Collector",
    "CounterData",
    "DecodeStopReason",
    "HardwareBufferAppendMode",
    "HardwareBuffer_AppendMode",
    "NotSupportedError",
    "Sample",
    "TriggerMode",
    "cuptiError",
    "metrics_to_c_array",
    "passes",
]


# Collectors enabled when the process ends: they have to leave CUPTI before it is unloaded.
_enabled: weakref.WeakSet[Collector] = weakref.WeakSet()


@atexit.register
def _disable_all() -> None:
    for collector in list(_enabled):
        collector.disable()


class Collector:
    """PM sampling of one device. Collectors of the same device in a process share its session: it
    counts the metrics of all started ones, which together have to fit into one pass at one
    interval. When one with other metrics starts, the samples of the others have a gap.

    Call enable(), configure(), start(), decode() repeatedly, stop(), disable(); or use `with`, which
    enables and disables. The GPU's clocks are locked from start() to stop()."""

    def __init__(self, device_index: int = 0) -> None:
        self._device_index = device_index
        self._pm: _counters.Handle | None = None
        self._metrics: list[str] = []
        self._thread: threading.Thread | None = None
        self._started = False

    def __enter__(self) -> Collector:
        self.enable()
        return self

    def __exit__(self, *error: object) -> None:
        self.disable()

    def __repr__(self) -> str:
        state = "disabled"
        if self._pm:
            state = "sampling; the GPU's clocks are locked" if self._started else "enabled"
        return f"<Collector of device {self._device_index}: {state}>"

    def enable(self) -> None:
        """Acquires the device's counters, or shares them with collectors of this process.

        ValueError: there is no such device. PermissionError: the driver restricts the counters to
        administrators. RuntimeError: it is already enabled, another process has the counters, or there
        is no driver or no CUPTI. cuptiError: CUPTI does not sample this device. Messages say what to
        do."""
        if self._pm:
            raise WrongState("the collector is enabled already")
        self._pm = _counters.Handle("pm", device=self._device_index)
        _enabled.add(self)

    def _ready(self) -> _counters.Handle:
        if not self._pm:
            raise WrongState("the collector is not enabled", "enable() comes first")
        return self._pm

    def configure(
        self,
        *,
        metrics: list[str],
        hardware_buffer_size: int = 536870912,
        sampling_interval: int = 10000,
        trigger_mode: TriggerMode = TriggerMode.GPU_TIME_INTERVAL,
        hw_buffer_append_mode: HardwareBufferAppendMode = HardwareBufferAppendMode.KEEP_OLDEST,
        single_pass_metric_set_name: str | None = None,
    ) -> None:
        """Sets what is sampled; may be called again while stopped. `sampling_interval` is in ns, or in
        cycles with TriggerMode.GPU_SYSCLK_INTERVAL, which Turing and GA100 need.

        ValueError: a metric that the device does not have, metrics that need more than one pass (the
        message has sets that do not), a number that is not positive, or a conflict with another started
        collector of the device."""
        pm = self._ready()
        for name, value in (
            ("hardware_buffer_size", hardware_buffer_size),
            ("sampling_interval", sampling_interval),
        ):
            if not isinstance(value, int) or value <= 0:
                raise WrongValue(f"{name} is a positive number, not {value!r}")
        if trigger_mode not in (TriggerMode.GPU_SYSCLK_INTERVAL, TriggerMode.GPU_TIME_INTERVAL):
            raise WrongValue(f"{trigger_mode!r} is not a TriggerMode")
        if hw_buffer_append_mode not in tuple(HardwareBufferAppendMode):
            raise WrongValue(f"{hw_buffer_append_mode!r} is not a HardwareBufferAppendMode")
        names(metrics)
        pm.call(
            "configure",
            _counters.request(
                metrics=list(metrics),
                interval=sampling_interval,
                cycles=trigger_mode == TriggerMode.GPU_SYSCLK_INTERVAL,
                buffer_bytes=hardware_buffer_size,
                keep_latest=hw_buffer_append_mode == HardwareBufferAppendMode.KEEP_LATEST,
                set=single_pass_metric_set_name,
            ),
        )
        self._metrics = list(metrics)

    def start(
        self,
        *,
        background: bool = False,
        ring: int = 100_000,
        on_samples: Callable[[CounterData], object] | None = None,
    ) -> None:
        """Starts sampling, and locks the GPU's clocks.

        background: a thread of the library decodes and evaluates, so that the GPU's buffer does not
        overflow; decode() returns its samples, at most the last `ring` not yet returned.
        on_samples: called with each CounterData, on a separate thread, until stop(); decode() raises
        an error then. Its exceptions go to sys.excepthook, and later samples still arrive."""
        pm = self._ready()
        if ring <= 0:
            raise WrongValue(f"ring is a positive number, not {ring!r}")
        pm.call("start", ring if background or on_samples else 0)
        self._started = True
        if on_samples:
            self._thread = threading.Thread(
                target=self._call_back, args=(on_samples,), name="gpuprof pm_sampling", daemon=True
            )
            self._ended = threading.Event()
            self._thread.start()

    def _call_back(self, on_samples: Callable[[CounterData], object]) -> None:
        pm = self._ready()
        while pm._handle:  # on_samples may disable()
            last = self._ended.is_set()
            if not last:
                pm._library.gpuprof_pm_wait(pm._handle, 50)
            try:
                data = self._take(pm, 10_000)
                while len(data):
                    on_samples(data)
                    if not pm._handle:
                        return
                    data = self._take(pm, 10_000)
            except Exception:
                sys.excepthook(*sys.exc_info())
                if not pm._handle or pm.text("state")["problem"]:
                    return
                continue
            if last:
                return

    def stop(self) -> None:
        """Stops sampling. Samples already taken can still be decoded."""
        self._ready().call("stop")
        self._started = False
        self._join()

    def _join(self) -> None:
        thread, self._thread = self._thread, None
        if thread:
            self._ended.set()
            if thread is not threading.current_thread():
                thread.join()

    def _take(self, pm: _counters.Handle, most: int) -> CounterData:
        taken = ctypes.c_void_p()
        pm.call("take", most, ctypes.byref(taken))
        chip = pm.text("state")["chip"]
        library = pm._library
        return CounterData._of(library, taken, self._metrics, chip, self._device_index, most)

    def decode(self, max_samples: int = 10000) -> CounterData:
        """The next samples available now, at most `max_samples`.

        MemoryError: the GPU's buffer was full, and its content is lost. Sampling continues."""
        pm = self._ready()
        if not isinstance(max_samples, int) or max_samples <= 0:
            raise WrongValue(f"max_samples is a positive number, not {max_samples!r}")
        if self._thread and self._thread is not threading.current_thread():
            raise WrongState("the samples go to on_samples", "stop() it first")
        return self._take(pm, max_samples)

    def buffer_size_for(self, metrics: Sequence[str], max_samples: int = 10000) -> int:
        """Bytes of memory that decode(max_samples) needs for these metrics."""
        size = ctypes.c_int64()
        self._ready().call("image_bytes", names(metrics), max_samples, ctypes.byref(size))
        return size.value

    def state(self) -> dict[str, Any]:
        """chip; consumers (collectors of the device in this process); samples that this one received;
        lost (torn, or dropped from a full ring); overflows of the GPU's buffer; problem, the reason
        why decoding in the background ended."""
        state: dict[str, Any] = self._ready().text("state")
        return state

    def disable(self) -> None:
        """Stops, and ends the session if nothing else shares it. A second call does nothing."""
        pm, thread = self._pm, self._thread
        if pm and self._started:
            self._started = False
            try:
                pm.call("stop")
            except Error:
                pass  # it is closed in any case
        if thread:
            self._join()
        self._pm = None
        _enabled.discard(self)
        if pm:
            pm.close()


def passes(metrics: Sequence[str], chip: str | None = None, device_index: int = 0) -> int:
    """How many passes these metrics need; PM sampling allows 1. For a chip by name, otherwise for the
    device. Not in cupti-python."""
    import numpy

    host = _counters.Host(
        chip=chip, profiler="samples", device=None if chip is not None else device_index
    )
    return host.passes(numpy.frombuffer(host.config_image(metrics), numpy.uint8))
