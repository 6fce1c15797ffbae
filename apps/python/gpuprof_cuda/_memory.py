"""Where the memory went: what `gpuprof memory` prints, as tables."""

from __future__ import annotations

import json
import operator
import os

from ._library import QuestionError, join
from ._table import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from os import PathLike
    from typing import Any, Literal

    from ._arrow import Stream
    from ._table import Files

    Owner = Literal["library", "nvtx", "stack", "kind", "pool"]


class Memory:
    """Tables about memory, each worked out when its rows are asked for. docs/memory.md says what their
    columns are. `by`: whose memory it was: "library" that asked, "nvtx" ranges around the call, the
    "stack" of the call (--stacks), "kind" of memory, or "pool"."""

    __slots__ = ("_files",)

    def __init__(self, files: Files) -> None:
        self._files = files  # (handle, columns in front)

    def _rows(self, table: str, **more: Any) -> Answer:
        def ask() -> Stream:
            streams = []
            for handle, front in self._files:
                request = {"table": table, **more, **({"front": front} if front else {})}
                text = json.dumps(request, default=operator.index)
                streams.append(handle.stream("memory", text))
            return join(streams)

        return Answer(ask, table)

    def peak(self) -> Answer:
        """The most that was allocated at a time, by process, device and kind of memory."""
        return self._rows("memory_peaks")

    def by(self, what: Owner = "library") -> Answer:
        """Whose it was at each peak, and in all."""
        return self._rows("memory_owners", by=what)

    def leaks(self, by: Owner = "library") -> Answer:
        """What was never released, and whether that is a leak: the column class."""
        return self._rows("memory_leaks", by=by)

    def processes(self) -> Answer:
        """Whether leaks are known of a process, and why not."""
        return self._rows("memory_processes")

    def timeline(self, points: int = 1000) -> Answer:
        """How much was in use at the ends of equal parts of the time, and the most in each."""
        return self._rows("memory_timeline", points=points)

    def devices(self) -> Answer:
        """The most that all processes together had of a device."""
        return self._rows("memory_devices")

    def pools(self) -> Answer:
        """Pools: reserved, used, given back."""
        return self._rows("memory_pools")

    def steps(self) -> Answer:
        """Whether memory grows from step to step, and what is allocated in the steady state."""
        return self._rows("memory_steps")

    def failures(self) -> Answer:
        """Calls that found no memory."""
        return self._rows("memory_failures")

    def failed_calls(self) -> Answer:
        """Calls that found no memory, each with the size it asked for. Of --track-memory."""
        return self._rows("memory_failed_calls")

    def failure_owners(self, by: Owner = "library") -> Answer:
        """Whose the memory was when the first calls found none. Of --track-memory."""
        return self._rows("memory_failure_owners", by=by)

    def virtual(self) -> Answer:
        """Memory of cuMemCreate: made, and mapped. Of --track-memory."""
        return self._rows("memory_virtual")

    def readings(self) -> Answer:
        """What the driver says is in use of a device, and how much of it is known. Of --track-memory."""
        return self._rows("memory_readings")

    def unaccounted(self) -> Answer:
        """When memory appeared that no record accounts for, and the longest call meanwhile. Of
        --track-memory."""
        return self._rows("memory_unaccounted")

    def with_torch(
        self, snapshot: str | PathLike[str], *, time: int | None = None, process: int | None = None
    ) -> Torch:
        """What PyTorch's allocator had, beside what the run has of the same memory. `snapshot` is a
        file of torch.cuda.memory._dump_snapshot(), which is read and never run.

        `time` says when that was, in ns on CUPTI's clock, and `process` which process it is of. Without
        them it is when the snapshot says, if it has history, else when most of its segments were there
        first, and the process that had most of them."""
        if len(self._files) != 1:
            raise QuestionError("with_torch() asks one file", "open each of them by itself")
        return Torch(self, os.path.abspath(os.fsdecode(snapshot)), time, process)

    def __repr__(self) -> str:
        return "<gpuprof memory: peak(), by(what), leaks(), timeline(), pools(), steps(), ...>"


class Torch:
    """PyTorch's segments laid over a run: run.memory.with_torch() makes it. docs/memory.md says what
    the columns are. The snapshot is read each time rows are asked for."""

    __slots__ = ("_asked", "_memory")

    def __init__(self, memory: Memory, path: str, time: int | None, process: int | None) -> None:
        self._memory = memory
        self._asked = {"torch": path, "time": time, "process": process}

    def segments(self) -> Answer:
        """Each segment that PyTorch had reserved, and the allocation that has it."""
        return self._memory._rows("torch_segments", **self._asked)

    def devices(self) -> Answer:
        """By device: reserved, allocated, what the process had beside, and what the driver said."""
        return self._memory._rows("torch_devices", **self._asked)

    def __repr__(self) -> str:
        return f"<gpuprof memory with {self._asked['torch']}: segments(), devices()>"
