"""trace(): records what this process does on GPUs. A helper process, `gpuprof listen`, writes the
file; the collector is loaded into this process and sends it the records, from its own threads."""

from __future__ import annotations

import ctypes
import os
import threading
import warnings

from . import _library
from ._library import Error

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any, NoReturn

    from ._run import Path, Run

_lock = threading.Lock()
_active: Trace | None = None  # the active Trace of this process
_collector: ctypes.CDLL | None = None

_NO_SUCH = 5  # an exit code

_INJECTION = {"CUDA_INJECTION64_PATH": "with", "NVTX_INJECTION64_PATH": "process"}


def _load(path: str) -> ctypes.CDLL:
    """The collector stays loaded: the CUDA driver and CUPTI call it until the process ends."""
    global _collector
    if _collector is None:
        loaded = ctypes.CDLL(path)
        loaded.gpuprof_collector_begin.restype = ctypes.c_char_p
        loaded.gpuprof_collector_begin.argtypes = [ctypes.c_char_p]
        loaded.gpuprof_collector_end.restype = None
        loaded.gpuprof_collector_end.argtypes = []
        loaded.gpuprof_collector_begin_range.restype = ctypes.c_uint64
        loaded.gpuprof_collector_begin_range.argtypes = [ctypes.c_char_p]
        loaded.gpuprof_collector_end_range.restype = None
        loaded.gpuprof_collector_end_range.argtypes = []
        _collector = loaded
    return _collector


class Trace:
    """A recording of this process, as a context manager; made by trace().

    path      the file
    run       the opened profile, after the end of `with`
    losses    what is missing from it, as dicts; empty if nothing is
    messages  what gpuprof printed, as lines
    metrics   the requested metrics
    passes    how often the body of `with` has to run for them; known from the start
    """

    def __init__(
        self,
        path: Path,
        trace: str | None,
        metrics: Sequence[str],
        replay: str,
        overwrite: bool,
        cupti: Path | None,
        options: Sequence[object],
        *,
        pc_sampling: bool = False,
        source_level_analysis: Sequence[str] = (),
        track_memory: bool = False,
        stacks: bool | str = False,
    ) -> None:
        if replay not in ("kernel", "multiplex", "range"):
            raise ValueError(f"replay is kernel, multiplex or range, not {replay!r}")
        self.path = os.path.abspath(os.fsdecode(os.fspath(path)))
        self.messages: list[str] = []
        words = [] if trace is None else ["--trace=" + trace]
        words += ["--force-overwrite"] * bool(overwrite)
        words += [] if cupti is None else ["--cupti", os.fsdecode(os.fspath(cupti))]
        self.metrics = names_of(metrics)
        if self.metrics:
            words.append("--range=profiler" if replay == "range" else "--replay-mode=" + replay)
            words.append("--metrics=" + ",".join(self.metrics))
        words += ["--pc-sampling"] * bool(pc_sampling)
        if analyses := names_of(source_level_analysis):
            words.append("--source-level-analysis=" + ",".join(analyses))
        words += ["--track-memory"] * bool(track_memory)
        words += ["--stacks" if stacks is True else f"--stacks={stacks}"] * bool(stacks)
        self._words = words + [str(word) for word in options]
        self._measures_ranges = bool(self.metrics) and replay == "range"
        self._in_range = False
        self._repeats = False  # the body of `with` runs in each pass
        self._pass, self.passes = 0, 1
        self._state = "not begun"
        self._process: int | None = None
        self._helper: Any = None  # subprocess.Popen
        self._run: Run | None = None

    def __enter__(self) -> Trace:
        global _active
        with _lock:
            if (other := active()) is not None:
                raise Error(
                    f"this process is being traced already, into {other.path}",
                    "end that trace first",
                )
            if self._state != "not begun":
                raise Error(
                    "a trace is used once", "gpuprof.trace() with another name makes another"
                )
            if os.environ.get("GPUPROF_SOCKET"):
                raise Error(
                    "the program gpuprof records this process already",
                    "start it without gpuprof, or leave gpuprof.trace() out",
                )
            self._process = os.getpid()
            try:
                self._begin()
            except BaseException:  # Ctrl-C too
                self._take_back()
                raise
            _active = self
        return self

    def _begin(self) -> None:
        import subprocess
        import tempfile

        self._state = "failed"
        program = _library.program()
        self._log = tempfile.TemporaryFile(prefix="gpuprof-")
        # In a separate session, so that Ctrl-C and the like, which end this process, let it finish the file.
        try:
            self._helper = subprocess.Popen(
                [program, "listen", "-o", self.path.replace("%", "%%"), *self._words,
                 str(self._process)],
                stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=self._log,
                start_new_session=True)  # fmt: skip
        except OSError as error:
            raise Error(f"{program} cannot be run: {error.strerror}") from None
        self._begin_pass()
        self._state = "recording"

    def _begin_pass(self) -> None:
        import json

        line = self._helper.stdout.readline()
        if not line:
            self._fail(None)
        places = json.loads(line)
        self._pass, self.passes = places["pass"], places["passes"]
        if self.passes > 1 and not self._repeats:
            self._fail(*_too_many(self.passes, places["one_pass"]))
        try:
            why_not = self._connect(places)
        except OSError as error:
            why_not = str(error)
        if why_not:
            self._fail(why_not)
        try:
            self._helper.stdin.write(b"connected\n")
            self._helper.stdin.flush()
        except BrokenPipeError:
            self._disconnect()
            self._fail(None)

    def _next_pass(self) -> bool:
        """Ends this pass and starts the next. Returns False if it was the last one, which then continues."""
        global _active
        if self._pass + 1 >= self.passes:
            return False
        self._state = "failed"  # until it succeeds
        try:
            self._disconnect()
            self._begin_pass()
        except BaseException:
            self._take_back()
            _active = None
            raise
        self._state = "recording"
        return True

    def _is_recording(self) -> bool:
        """Recording in this process, and not in the child of a fork."""
        return self._state == "recording" and self._process == os.getpid()

    def _begin_range(self, name: str) -> int:
        """The range's number among those of the process; 0 if it is not measured."""
        assert _collector is not None
        if self._in_range:
            raise Error("a range is being measured already", "one range at a time")
        self._in_range = True
        text = name.replace("\0", "?").encode(errors="replace")
        return int(_collector.gpuprof_collector_begin_range(text))

    def _end_range(self) -> None:
        assert _collector is not None
        self._in_range = False
        _collector.gpuprof_collector_end_range()

    def _take_back(self) -> None:
        if _collector is not None:
            _collector.gpuprof_collector_end()
        if self._helper is not None:
            for stream in (self._helper.stdin, self._helper.stdout):
                stream.close()

    def _connect(self, places: dict[str, Any]) -> str | None:
        """None, or the reason why the collector does not work."""
        self._before = {name: os.environ.get(name) for name in _INJECTION}
        for name, value in self._before.items():
            if not value:
                os.environ[name] = places["collector"]
        why_not = _load(places["collector"]).gpuprof_collector_begin(places["socket"].encode())
        if why_not is not None:
            self._restore(_INJECTION)
            return str(why_not, errors="replace")
        return None

    def _restore(self, names: Iterable[str]) -> None:
        for name in names:
            before = self._before[name]
            if before is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = before

    def _disconnect(self) -> None:
        assert _collector is not None
        _collector.gpuprof_collector_end()
        # A library reads the other variable only at its first NVTX call.
        self._restore(name for name, until in _INJECTION.items() if until == "with")

    def _fail(self, why: str | None, hint: str = "") -> NoReturn:
        """Ends the helper, which makes no file in the first pass, and raises its message as an error."""
        code = self._end_helper()
        if why is None:
            why = self.messages[-1] if self.messages else f"gpuprof listen ended with {code}"
        raise Error(why, hint, _NO_SUCH if hint else code if code > 0 else 4)

    def _end_helper(self) -> int:
        self._helper.stdin.close()
        self._helper.stdout.close()
        code: int = self._helper.wait()
        self._log.seek(0)
        text = self._log.read().decode(errors="replace")
        self._log.close()
        for line in text.splitlines():
            if line.startswith(" ") and self.messages:
                self.messages[-1] += " (" + line.strip() + ")"
            elif line:
                self.messages.append(line[9:] if line.startswith("gpuprof: ") else line)
        return code

    def __exit__(self, kind: Any, error: Any, where: Any) -> None:
        global _active
        if not self._is_recording():
            return
        with _lock:
            self._state = "failed"
            try:
                self._disconnect()
            finally:
                _active = None
        code = self._end_helper()
        if code:
            if code < 0:
                why = f"gpuprof listen was ended by signal {-code}; {self.path} is not complete"
                hint = "gpuprof finish FILE completes it with what there is"
            else:
                why, hint = self.messages[-1] if self.messages else f"gpuprof listen: {code}", ""
            if kind is None:
                raise Error(why, hint, code if code > 0 else 4)
            warnings.warn(why, RuntimeWarning, stacklevel=2)
            return
        self._state = "complete"
        for message in self.messages[:-1]:  # the last is the outcome
            warnings.warn(message, RuntimeWarning, stacklevel=2)

    @property
    def run(self) -> Run:
        if self._state != "complete":
            raise Error(f"{self.path}: the trace is {self._state}", "it is there after `with`")
        if self._run is None:
            from ._run import open as open_run

            self._run = open_run(self.path)
        return self._run

    @property
    def losses(self) -> list[dict[str, Any]]:
        rows = list(self.run.losses.dicts())
        late = self.run.sql("SELECT name, value FROM STATISTIC WHERE name = 'begun_late'")
        for row in late.dicts():
            rows.append({**row, "severity": "notice", "reason": _LATE})
        return rows

    def __repr__(self) -> str:
        outcome = f": {self.messages[-1]}" if self._state == "complete" and self.messages else ""
        return f"<gpuprof trace {self.path}: {self._state}{outcome}>"


_LATE = (
    "CUDA was at work in this process before the trace began: what was allocated, loaded, captured "
    "in graphs or named before is not in the file"
)


def active() -> Trace | None:
    """The active trace of this process, or None."""
    return _active if _active is not None and _active._process == os.getpid() else None


def names_of(metrics: Sequence[str]) -> list[str]:
    """Names from a list, or from one string with commas."""
    texts = [metrics] if isinstance(metrics, str) else metrics
    return [name.strip() for text in texts for name in text.split(",") if name.strip()]


def _too_many(passes: int, one_pass: list[str]) -> tuple[str, str]:
    fit = f"; one pass can take {', '.join(one_pass)}" if one_pass else ""
    return (
        f"these metrics take {passes} passes, and what is inside of `with` runs once",
        f'gpuprof.range("name", metrics).run(f) calls f in each pass{fit}',
    )


def trace(
    path: Path,
    trace: str | None = None,
    *,
    metrics: Sequence[str] = (),
    replay: str = "kernel",
    pc_sampling: bool = False,
    source_level_analysis: Sequence[str] = (),
    track_memory: bool = False,
    stacks: bool | str = False,
    overwrite: bool = False,
    cupti: Path | None = None,
    options: Sequence[object] = (),
) -> Trace:
    """Records what this process does on GPUs inside `with`, into the file `path`.

    trace      what to record, as in the program's --trace: "gpu,api,nvtx"
    metrics    what to measure, named as in the program's --metrics
    replay     what is measured, and how. "kernel": each kernel, which CUPTI runs once for each pass on
               the same memory, except NCCL's and cooperative kernels. "multiplex": some launches of
               each kernel, for long runs. "range": everything inside gpuprof.range()
    pc_sampling  whether to sample at which instructions the GPU's warps are, and what they wait
               for: run.pc_samples. Cannot be combined with metrics
    source_level_analysis  what to count for each instruction: "global_access", "shared_access",
               "branch", "instruction_execution": run.sass_metrics. Kernels and copies are not traced
    track_memory  whether to record the owners of memory: run.memory
    stacks     like track_memory, plus the calling functions, including Python's. "launches": for each
               CUDA call the functions of Python it came from
    overwrite  whether an existing file may be replaced
    cupti      the libcupti to use instead of the one that gpuprof finds
    options    additional options of `gpuprof listen`

    The file grows during the recording and is complete when `with` ends. One trace at a time, any
    number one after the other."""
    return Trace(path, trace, metrics, replay, overwrite, cupti, options, pc_sampling=pc_sampling,
                 source_level_analysis=source_level_analysis, track_memory=track_memory, stacks=stacks)  # fmt: skip
