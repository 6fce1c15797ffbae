"""Where the memory went: what `gpuprof memory` prints, as tables."""

import json

from ._library import join
from ._table import Answer


class Memory:
    """Tables about memory, each worked out when its rows are asked for. docs/memory.md says what their
    columns are. `by`: whose memory it was: "library" that asked, "nvtx" ranges around the call,
    "kind" of memory, or "pool"."""

    __slots__ = ("_files",)

    def __init__(self, files):
        self._files = files  # (handle, columns in front)

    def _rows(self, table, **more):
        def ask():
            streams = []
            for handle, front in self._files:
                request = {"table": table, **more, **({"front": front} if front else {})}
                streams.append(handle.stream("memory", json.dumps(request)))
            return join(streams)

        return Answer(ask)

    def peak(self):
        """The most that was allocated at a time, by process, device and kind of memory."""
        return self._rows("memory_peaks")

    def by(self, what="library"):
        """Whose it was at each peak, and in all."""
        return self._rows("memory_owners", by=what)

    def leaks(self, by="library"):
        """What was never released, and whether that is a leak: the column class."""
        return self._rows("memory_leaks", by=by)

    def processes(self):
        """Whether leaks are known of a process, and why not."""
        return self._rows("memory_processes")

    def timeline(self, points=1000):
        """How much was in use at the ends of equal parts of the time, and the most in each."""
        return self._rows("memory_timeline", points=points)

    def devices(self):
        """The most that all processes together had of a device."""
        return self._rows("memory_devices")

    def pools(self):
        """Pools: reserved, used, given back."""
        return self._rows("memory_pools")

    def steps(self):
        """Whether memory grows from step to step, and what is allocated in the steady state."""
        return self._rows("memory_steps")

    def failures(self):
        """Calls that found no memory."""
        return self._rows("memory_failures")

    def failed_calls(self):
        """Calls that found no memory, each with the size it asked for. Of --track-memory."""
        return self._rows("memory_failed_calls")

    def failure_owners(self, by="library"):
        """Whose the memory was when the first calls found none. Of --track-memory."""
        return self._rows("memory_failure_owners", by=by)

    def virtual(self):
        """Memory of cuMemCreate: made, and mapped. Of --track-memory."""
        return self._rows("memory_virtual")

    def readings(self):
        """What the driver says is in use of a device, and how much of it is known. Of --track-memory."""
        return self._rows("memory_readings")

    def unaccounted(self):
        """When memory appeared that no record accounts for, and the longest call meanwhile. Of
        --track-memory."""
        return self._rows("memory_unaccounted")

    def __repr__(self):
        return "<gpuprof memory: peak(), by(what), leaks(), timeline(), pools(), steps(), ...>"
