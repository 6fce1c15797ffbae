"""libgpuprof.so through ctypes: its functions, and its errors as exceptions. gpuprof.h documents them."""

from __future__ import annotations

import ctypes
import os
import threading

from . import _arrow

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from typing import Any

ABI = 1
WRONG_QUESTION, UNREADABLE, STOPPED = 5, 20, 130


class Error(Exception):
    """Something that gpuprof cannot do. `hint` says what can be done about it, `code` is the exit code
    that the gpuprof program would return."""

    def __init__(self, message: str, hint: str = "", code: int = 4) -> None:
        super().__init__(message + (f" ({hint})" if hint else ""))
        self.hint = hint
        self.code = code


class FileError(Error):
    """The file is missing, not a profile, or cannot be read."""


class QuestionError(Error, ValueError):
    """A table, column, condition, report or SQL statement that is unavailable or invalid."""


def _places() -> list[str]:
    """Where libgpuprof.so may be: as the environment says, in the installed package, in a build."""
    chosen = os.environ.get("GPUPROF_LIBRARY")
    if chosen:
        return [chosen]
    here = os.path.dirname(os.path.abspath(__file__))
    return [
        os.path.join(here, "lib", "gpuprof", "libgpuprof.so"),  # in the wheel
        # From PREFIX/share/gpuprof/python/gpuprof_cuda: PREFIX/lib/gpuprof.
        os.path.normpath(os.path.join(here, *[".."] * 4, "lib", "gpuprof", "libgpuprof.so")),
    ]


def _load() -> ctypes.CDLL:
    places = _places()
    for place in places:
        if not os.path.exists(place):
            continue
        library = ctypes.CDLL(place)
        if library.gpuprof_abi_version() != ABI:
            raise ImportError(
                f"{place} is of another gpuprof than this package: install both again"
            )
        return library
    raise ImportError(
        "libgpuprof.so is missing: looked for "
        + ", ".join(places)
        + "; GPUPROF_LIBRARY names one that is elsewhere"
    )


def program() -> str:
    """The path of the gpuprof program that belongs to the library."""
    for place in _places():
        path = os.path.normpath(os.path.join(os.path.dirname(place), "..", "..", "bin", "gpuprof"))
        if os.path.exists(path):
            return path
    raise Error("the program gpuprof is missing", "libgpuprof.so is in lib/gpuprof next to bin")


_lock = threading.Lock()
_library: ctypes.CDLL | None = None


def library() -> ctypes.CDLL:
    """Loaded on first use."""
    global _library
    with _lock:
        if _library is None:
            loaded = _load()
            run, text, number = ctypes.c_void_p, ctypes.c_char_p, ctypes.c_int
            out, stream = ctypes.POINTER(text), ctypes.POINTER(_arrow.ArrowArrayStream)
            for name, result, *arguments in (
                ("version", text),
                ("queries", text),
                ("open", number, text, ctypes.POINTER(run)),
                ("close", None, run),
                ("error", text, run),
                ("hint", text, run),
                ("stop", None, run),
                ("contents", number, run, out),
                ("catalogue", number, run, out),
                ("notes", number, run, out),
                ("table", number, run, text, stream),
                ("sql", number, run, text, stream),
                ("memory", number, run, text, stream),
                ("accounts", number, run, text, stream),
                ("report", number, run, text, text, out),
                ("join", number, stream, ctypes.c_int64, stream),
            ):
                function = getattr(loaded, "gpuprof_" + name)
                function.restype, function.argtypes = result, arguments
            _library = loaded
        return _library


def meant(name: str, known: Iterable[str]) -> str:
    """A hint with the most similar names; empty if none is similar."""
    import difflib

    lower = {each.lower(): each for each in reversed(list(known))}
    found = [lower[each] for each in difflib.get_close_matches(name.lower(), lower, 3, 0.7)]
    return f"did you mean {' or '.join(found)}?" if found else ""


def _for_c(text: bytes) -> bytes:
    """C ends a text at a NUL, and would ignore everything after it."""
    if b"\0" in text:
        raise ValueError("there is a NUL in it")
    return text


class Handle:
    """A gpuprof_run. Any thread may use it; calls wait for one another."""

    def __init__(self, path: str) -> None:
        encoded = _for_c(os.fsencode(path))
        self._library = library()
        self._lock = threading.Lock()
        self._run: ctypes.c_void_p | None = ctypes.c_void_p()
        with self._lock:
            code = self._library.gpuprof_open(encoded, ctypes.byref(self._run))
            if code:
                error = self._error(code)
                self._close()
                raise error

    def __del__(self) -> None:
        self._close()

    def close(self) -> None:
        with self._lock:
            self._close()

    @property
    def closed(self) -> bool:
        return not self._run

    def _close(self) -> None:
        run, self._run = getattr(self, "_run", None), None
        if run:
            self._library.gpuprof_close(run)

    def _error(self, code: int) -> Exception:
        if not self._run:
            return MemoryError()
        message = self._library.gpuprof_error(self._run).decode()
        hint = self._library.gpuprof_hint(self._run).decode()
        kind = {WRONG_QUESTION: QuestionError, UNREADABLE: FileError}.get(code, Error)
        return kind(message, hint, code)

    def _call(self, name: str, *arguments: Any) -> None:
        if not self._run:
            raise Error("the profile is closed", "gpuprof.open() opens it again")
        function = getattr(self._library, "gpuprof_" + name)
        code = self._interruptible(lambda: function(self._run, *arguments))
        if code == STOPPED:
            raise KeyboardInterrupt
        if code:
            raise self._error(code)

    def _interruptible(self, call: Callable[[], int]) -> int:
        """Python handles signals such as Ctrl-C in its main thread, but not while that thread is in a
        library, so another thread makes the call."""
        if threading.current_thread() is not threading.main_thread():
            return call()
        codes: list[int] = []
        done = threading.Lock()

        def make() -> None:
            try:
                codes.append(call())
            finally:
                done.release()

        done.acquire()
        thread = threading.Thread(target=make, name="gpuprof", daemon=True)
        thread.start()
        try:
            done.acquire()
            thread.join()  # so that Python does not end while it does
        except BaseException:
            while not codes:
                self._library.gpuprof_stop(self._run)
                done.acquire(timeout=0.05)
            raise
        return codes[0]

    def text(self, name: str, *arguments: Any) -> str:
        """For contents, catalogue, report and notes."""
        with self._lock:
            text = ctypes.c_char_p()
            self._call(name, *map(_for_c, arguments), ctypes.byref(text))
            return (text.value or b"").decode()

    def stream(self, name: str, argument: str) -> _arrow.Stream:
        """For table, sql, memory and accounts."""
        with self._lock:
            stream = _arrow.Stream()
            self._call(name, _for_c(argument.encode()), ctypes.byref(stream.struct))
            return stream


def join(streams: Sequence[_arrow.Stream]) -> _arrow.Stream:
    """The chunks of all streams in one."""
    if len(streams) == 1:
        return streams[0]
    structs = (_arrow.ArrowArrayStream * len(streams))()
    for struct, stream in zip(structs, streams):
        size = ctypes.sizeof(struct)
        ctypes.memmove(ctypes.addressof(struct), ctypes.addressof(stream.struct), size)
        ctypes.memset(ctypes.addressof(stream.struct), 0, size)
    joined = _arrow.Stream()
    if library().gpuprof_join(structs, len(streams), ctypes.byref(joined.struct)):
        raise QuestionError("the files have other columns there", "choose those that all have")
    return joined
