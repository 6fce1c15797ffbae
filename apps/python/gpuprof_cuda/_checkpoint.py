"""Checkpoints of a GPU's memory through NVIDIA's libcheckpoint, which comes with CUPTI."""

from __future__ import annotations

import ctypes
import os

from ._library import Error


class _Handle(ctypes.Structure):  # CUpti_Checkpoint
    _fields_ = (
        ("size", ctypes.c_size_t),
        ("context", ctypes.c_void_p),
        ("device_mb", ctypes.c_size_t),
        ("host_mb", ctypes.c_size_t),
        ("overwrite", ctypes.c_uint8),
        ("optimizations", ctypes.c_uint8),
        ("own", ctypes.c_void_p),
    )


def _places() -> list[str]:
    """Next to each libcupti of this process, and where the loader looks."""
    found = []
    with open("/proc/self/maps", encoding="utf-8", errors="surrogateescape") as maps:
        for line in maps:
            path = line.rstrip("\n").partition("/")[2]
            folder, _, name = ("/" + path).rpartition("/")
            place = os.path.join(folder, "libcheckpoint.so")
            if name.startswith("libcupti.so") and place not in found:
                found.append(place)
    return [place for place in found if os.path.exists(place)] + ["libcheckpoint.so"]


def _load() -> ctypes.CDLL:
    why = ""
    for place in _places():
        try:
            return ctypes.CDLL(place)
        except OSError as error:
            why = str(error)
    raise Error(
        f"no checkpoints: {why}",
        "libcheckpoint.so comes with CUPTI: LD_LIBRARY_PATH can name its folder, or choose that "
        "CUPTI with cupti=",
    )


class Checkpoint:
    """The memory of the current context. Save it once; restore() restores it as often as needed; free()
    releases the copy. Each call waits for the GPU."""

    def __init__(self) -> None:
        self._library = _load()
        context = ctypes.c_void_p()
        driver = ctypes.CDLL("libcuda.so.1")
        # Without an explicit context CUPTI 13.5 does not find it (measured).
        if driver.cuCtxGetCurrent(ctypes.byref(context)) or not context:
            raise Error("no checkpoint: the thread has no CUDA context", "use the GPU before it")
        self._handle = _Handle(size=ctypes.sizeof(_Handle), context=context)
        self._call("cuptiCheckpointSave")

    def restore(self) -> None:
        self._call("cuptiCheckpointRestore")

    def free(self) -> None:
        self._library["cuptiCheckpointFree"](ctypes.byref(self._handle))

    def _call(self, name: str) -> None:
        result = self._library[name](ctypes.byref(self._handle))
        if result:
            raise Error(
                f"no checkpoint: {name} answers {result}",
                "CUPTI's documentation of its checkpoints says what they cannot hold",
            )
