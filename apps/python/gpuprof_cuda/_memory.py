"""Where memory went: the tables that `gpuprof memory` prints."""

from __future__ import annotations

import json
import operator
import os
import stat
import sys

from ._library import UNREADABLE, FileError, QuestionError, join
from ._table import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any, Literal

    from ._arrow import Stream
    from ._table import Files

    Owner = Literal["library", "nvtx", "stack", "kind", "pool"]


class Memory:
    """Tables about memory, each computed when its rows are requested. docs/memory.md describes the
    columns. `by` is the kind of owner: the "library" that requested the memory, "nvtx" ranges around
    the call, the "stack" of the call (--stacks), "kind" of memory, or "pool"."""

    __slots__ = ("_files",)

    def __init__(self, files: Files) -> None:
        self._files = files  # (handle, leading columns)

    def _ask(self, table: str, **more: Any) -> Stream:
        streams = []
        for handle, front in self._files:
            request = {"table": table, **more, **({"front": front} if front else {})}
            text = json.dumps(request, default=operator.index)
            streams.append(handle.stream("memory", text))
        return join(streams)

    def _rows(self, table: str, **more: Any) -> Answer:
        return Answer(lambda: self._ask(table, **more), table)

    def peak(self) -> Answer:
        """The most memory allocated at the same time, by process, device and kind of memory."""
        return self._rows("memory_peaks")

    def by(self, what: Owner = "library") -> Answer:
        """Owners of the memory at each peak, and in total."""
        return self._rows("memory_owners", by=what)

    def leaks(self, by: Owner = "library") -> Answer:
        """Memory that was never released; the column class says whether it is a leak."""
        return self._rows("memory_leaks", by=by)

    def processes(self) -> Answer:
        """Whether leaks are known for a process, and if not, why."""
        return self._rows("memory_processes")

    def timeline(self, points: int = 1000) -> Answer:
        """Memory in use at the ends of equal parts of the run, and the maximum in each."""
        return self._rows("memory_timeline", points=points)

    def devices(self) -> Answer:
        """The most memory that all processes together had on a device."""
        return self._rows("memory_devices")

    def pools(self) -> Answer:
        """Pools: reserved, used and returned memory."""
        return self._rows("memory_pools")

    def steps(self) -> Answer:
        """Whether memory grows from step to step, and what is allocated in the steady state."""
        return self._rows("memory_steps")

    def failures(self) -> Answer:
        """Calls that found no memory."""
        return self._rows("memory_failures")

    def failed_calls(self) -> Answer:
        """Calls that found no memory, each with the requested size. Requires --track-memory."""
        return self._rows("memory_failed_calls")

    def failure_owners(self, by: Owner = "library") -> Answer:
        """Owners of the memory when the first calls found none. Requires --track-memory."""
        return self._rows("memory_failure_owners", by=by)

    def virtual(self) -> Answer:
        """Memory made by cuMemCreate, and how much of it was mapped. Requires --track-memory."""
        return self._rows("memory_virtual")

    def readings(self) -> Answer:
        """Memory in use on a device according to the driver, and how much of it is known. Requires
        --track-memory."""
        return self._rows("memory_readings")

    def unaccounted(self) -> Answer:
        """When memory appeared that no record accounts for, and the longest call meanwhile. Requires
        --track-memory."""
        return self._rows("memory_unaccounted")

    def with_torch(
        self, snapshot: str | PathLike[str], *, time: int | None = None, process: int | None = None
    ) -> Torch:
        """The state of PyTorch's allocator, compared with the same memory in the run. `snapshot` is a
        file of torch.cuda.memory._dump_snapshot(). It is read when rows are first requested, as data: a
        pickle that refers to a class or function is refused.

        `time` is the time of the snapshot in ns on CUPTI's clock, and `process` its process. Their
        defaults are the time recorded in the snapshot, if it has history, otherwise the first time at
        which most of its segments existed, and the process that had most of them."""
        if len(self._files) != 1:
            raise QuestionError("with_torch() asks one file", "open each file on its own")
        return Torch(self, os.path.abspath(os.fsdecode(snapshot)), time, process)

    def __repr__(self) -> str:
        return "<gpuprof memory: peak(), by(what), leaks(), timeline(), pools(), steps(), ...>"


class Torch:
    """PyTorch's segments compared with a run; made by run.memory.with_torch(). docs/memory.md
    describes the columns."""

    __slots__ = ("_asked", "_memory", "_path", "_snapshot")

    def __init__(self, memory: Memory, path: str, time: int | None, process: int | None) -> None:
        self._memory = memory
        self._path = path
        self._asked = {"time": time, "process": process}
        self._snapshot: dict[str, Any] | None = None

    def segments(self) -> Answer:
        """Each segment that PyTorch had reserved, and the allocation that contains it."""
        return self._rows("torch_segments")

    def devices(self) -> Answer:
        """By device: reserved, allocated, the process's other memory, and the driver's readings."""
        return self._rows("torch_devices")

    def _rows(self, table: str) -> Answer:
        def ask() -> Stream:
            if self._snapshot is None:
                self._snapshot = _read_snapshot(self._path)
            return self._memory._ask(table, torch=self._snapshot, **self._asked)

        return Answer(ask, table)

    def __repr__(self) -> str:
        return f"<gpuprof memory with {self._path}: segments(), devices()>"


def _read_snapshot(path: str) -> dict[str, Any]:
    """What gpuprof_memory() takes as "torch". _torch_snapshot.py says why another process reads it."""
    import subprocess

    try:
        if not stat.S_ISREG(os.stat(path).st_mode):
            raise FileError(f"{path}: it is not a regular file", code=UNREADABLE)
        snapshot = open(path, "rb")  # noqa: SIM115
    except OSError as error:
        raise FileError(f"{path}: {error.strerror}", code=UNREADABLE) from None
    reader = os.path.join(os.path.dirname(os.path.abspath(__file__)), "_torch_snapshot.py")
    with snapshot:
        ended = subprocess.run(
            [sys.executable, "-IS", reader],
            stdin=snapshot,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
        )
    answer = (
        json.loads(ended.stdout)
        if ended.returncode == 0
        else {"refused": "reading it takes more memory or time than a file of its size should"}
    )
    if "refused" in answer:
        hint = "torch.cuda.memory._dump_snapshot() writes what can be read here"
        raise FileError(f"{path}: {answer['refused']}", hint, UNREADABLE)
    return {"file": path, **answer}
