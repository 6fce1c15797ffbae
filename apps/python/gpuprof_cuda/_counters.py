"""What pm_sampling and profiler_host share: CUPTI's enums, errors, and libgpuprof's functions for
counters through ctypes. gpuprof.h documents the functions."""

from __future__ import annotations

import ctypes
import enum
import json
import os
import threading

from ._library import Error, library

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

OUT_OF_MEMORY, INVALID_OPERATION = 8, 7
INSUFFICIENT_PRIVILEGES, VIRTUALIZED_INSUFFICIENT_PRIVILEGES = 35, 40
WRONG_VALUE, NO_DRIVER = 5, 23


class cuptiError(Error):
    """CUPTI refused, and no other exception is more specific. `status` is its CUptiResult."""

    def __init__(self, message: str, hint: str = "", code: int = 22, status: int = 0) -> None:
        super().__init__(message, hint, code)
        self.status = status


class WrongValue(Error, ValueError):
    """A device, metric, chip, set or number that is unavailable or invalid."""


class WrongState(Error, RuntimeError):
    """Not possible now or here: nothing is enabled or configured, another program uses the counters,
    or there is no driver or no CUPTI."""


class NotSupportedError(WrongState):
    """There is no CUDA driver. cupti-python uses this name for it."""


class NotPermitted(Error, PermissionError):
    """The driver restricts the counters to administrators."""


class Overflow(Error, MemoryError):
    """The GPU's buffer was full, or memory ran out."""


class TriggerMode(enum.IntEnum):
    """What `sampling_interval` counts: cycles of the GPU's system clock, or ns."""

    GPU_SYSCLK_INTERVAL = 0
    GPU_TIME_INTERVAL = 1
    COUNT = 2


class DecodeStopReason(enum.IntEnum):
    """Why CUPTI stopped decoding."""

    OTHER = 0
    COUNTER_DATA_FULL = 1
    END_OF_RECORDS = 2
    COUNT = 3


class HardwareBufferAppendMode(enum.IntEnum):
    """What is lost when the GPU's buffer is full: new samples (and the session overflows), or old ones."""

    KEEP_OLDEST = 0
    KEEP_LATEST = 1


class ProfilerType(enum.IntEnum):
    """Which metrics are meant: those of ranges and kernels, or those of PM sampling."""

    RANGE_PROFILER = 0
    PM_SAMPLING = 1
    PROFILER_INVALID = 2


class MetricType(enum.IntEnum):
    COUNTER = 0
    RATIO = 1
    THROUGHPUT = 2
    _COUNT = 3


class MetricCollectionScope(enum.IntEnum):
    CONTEXT = 0
    DEVICE = 1
    INVALID = 2


def error(code: int, message: str, hint: str, status: int) -> Error:
    """The exception for an error returned by a function of libgpuprof."""
    if status in (INSUFFICIENT_PRIVILEGES, VIRTUALIZED_INSUFFICIENT_PRIVILEGES):
        return NotPermitted(message, hint, code)
    if status == OUT_OF_MEMORY:
        return Overflow(message, hint, code)
    if status == INVALID_OPERATION:
        return WrongState(message, hint, code)
    if status:
        return cuptiError(message, hint, code, status)
    if code == WRONG_VALUE:
        return WrongValue(message, hint, code)
    kind = NotSupportedError if code == NO_DRIVER else WrongState
    return kind(message, hint, code)


_TEXT, _NUMBER, _HANDLE = ctypes.c_char_p, ctypes.c_int, ctypes.c_void_p
_LONG, _BYTES = ctypes.c_int64, ctypes.c_void_p
_OUT = ctypes.POINTER
_FUNCTIONS: tuple[Any, ...] = (
    ("host_open", _NUMBER, _TEXT, _OUT(_HANDLE)),
    ("host_close", None, _HANDLE),
    ("host_error", _TEXT, _HANDLE),
    ("host_hint", _TEXT, _HANDLE),
    ("host_cupti_result", _NUMBER, _HANDLE),
    ("host_ask", _NUMBER, _HANDLE, _TEXT, _OUT(_TEXT)),
    ("host_config_image", _NUMBER, _HANDLE, _TEXT, _OUT(_BYTES), _OUT(_LONG)),
    ("host_passes", _NUMBER, _HANDLE, _BYTES, _LONG, _OUT(_LONG)),
    ("host_evaluate", _NUMBER, _HANDLE, _BYTES, _LONG, _BYTES, _LONG, _TEXT, _BYTES),
    ("pm_open", _NUMBER, _TEXT, _OUT(_HANDLE)),
    ("pm_close", None, _HANDLE),
    ("pm_error", _TEXT, _HANDLE),
    ("pm_hint", _TEXT, _HANDLE),
    ("pm_cupti_result", _NUMBER, _HANDLE),
    ("pm_configure", _NUMBER, _HANDLE, _TEXT),
    ("pm_start", _NUMBER, _HANDLE, _LONG),
    ("pm_stop", _NUMBER, _HANDLE),
    ("pm_wait", None, _HANDLE, _LONG),
    ("pm_take", _NUMBER, _HANDLE, _LONG, _OUT(_HANDLE)),
    ("pm_image_bytes", _NUMBER, _HANDLE, _TEXT, _LONG, _OUT(_LONG)),
    ("pm_state", _NUMBER, _HANDLE, _OUT(_TEXT)),
    ("samples_close", None, _HANDLE),
    ("samples_count", _LONG, _HANDLE),
    ("samples_populated", _LONG, _HANDLE),
    ("samples_starts", _BYTES, _HANDLE),
    ("samples_ends", _BYTES, _HANDLE),
    ("samples_values", _BYTES, _HANDLE),
    ("samples_images", _LONG, _HANDLE),
    ("samples_image", _BYTES, _HANDLE, _LONG, _OUT(_LONG), _OUT(_BYTES), _OUT(_LONG)),
    ("samples_clocks", None, _HANDLE, _LONG * 3),
)
_lock = threading.Lock()
_functions: ctypes.CDLL | None = None


def functions() -> ctypes.CDLL:
    global _functions
    with _lock:
        if _functions is None:
            loaded = library()
            for name, result, *arguments in _FUNCTIONS:
                function = getattr(loaded, "gpuprof_" + name)
                function.restype, function.argtypes = result, arguments
            _functions = loaded
        return _functions


def request(**members: Any) -> bytes:
    """JSON of the members that are not None. Without GPUPROF_CUPTI the package's libcupti is used."""
    return json.dumps({key: value for key, value in members.items() if value is not None}).encode()


def cupti() -> str | None:
    return os.environ.get("GPUPROF_CUPTI") or None


class Handle:
    """A gpuprof_host or gpuprof_pm. Calls wait for one another, and let other Python threads run."""

    def __init__(self, kind: str, **members: Any) -> None:
        self._library = functions()
        self._kind = kind
        self._handle: ctypes.c_void_p | None = ctypes.c_void_p()
        self._lock = threading.RLock()
        opened = getattr(self._library, f"gpuprof_{kind}_open")
        code = opened(request(cupti=cupti(), **members), ctypes.byref(self._handle))
        if code:
            wrong = self._error(code)
            self.close()
            raise wrong

    def __del__(self) -> None:
        self.close()

    def close(self) -> None:
        handle, self._handle = getattr(self, "_handle", None), None
        if handle:
            getattr(self._library, f"gpuprof_{self._kind}_close")(handle)

    def _error(self, code: int) -> Exception:
        if not self._handle:
            return MemoryError()
        ask = [
            getattr(self._library, f"gpuprof_{self._kind}_{what}")(self._handle)
            for what in ("error", "hint", "cupti_result")
        ]
        return error(code, ask[0].decode(), ask[1].decode(), ask[2])

    def call(self, name: str, *arguments: Any) -> None:
        with self._lock:
            if not self._handle:
                raise WrongState("it is closed")
            function = getattr(self._library, f"gpuprof_{self._kind}_{name}")
            code = function(self._handle, *arguments)
            if code:
                raise self._error(code)

    def text(self, name: str, *arguments: Any) -> Any:
        with self._lock:
            text = ctypes.c_char_p()
            self.call(name, *arguments, ctypes.byref(text))
            return json.loads(text.value or b"null")


class Host(Handle):
    """Answers questions about the metrics of a chip, or about chips in general."""

    def __init__(self, **members: Any) -> None:
        super().__init__("host", **members)

    def ask(self, question: str, **members: Any) -> Any:
        return self.text("ask", request(ask=question, **members))

    def config_image(self, metrics: Iterable[str]) -> bytes:
        with self._lock:
            place, size = ctypes.c_void_p(), ctypes.c_int64()
            self.call("config_image", names(metrics), ctypes.byref(place), ctypes.byref(size))
            return ctypes.string_at(place, size.value)

    def passes(self, image: Any) -> int:
        count = ctypes.c_int64()
        self.call("passes", image.ctypes.data, image.nbytes, ctypes.byref(count))
        return count.value

    def evaluate(
        self, address: int, size: int, places: Any, metrics: Iterable[str], values: Any
    ) -> None:
        """`places` and `values` are numpy arrays."""
        self.call("evaluate", address, size, places.ctypes.data, len(places), names(metrics),
                  values.ctypes.data)  # fmt: skip


def names(metrics: Iterable[str]) -> bytes:
    if isinstance(metrics, (str, bytes)):
        raise WrongValue("metrics are a list of names, and this is one text")
    listed = list(metrics)
    for each in listed:
        if not isinstance(each, str):
            raise WrongValue(f"a metric's name is a text, not {each!r}")
    return json.dumps(listed).encode()


def metrics_to_c_array(metrics: Sequence[str]) -> tuple[ctypes.Array[ctypes.c_char_p], int]:
    """The names as an array of char*, and its address, for calling CUPTI directly. The address is
    valid as long as the array is kept."""
    encoded = [each.encode() for each in metrics]
    array = (ctypes.c_char_p * len(encoded))(*encoded)
    return array, ctypes.addressof(array)
