"""The steps of a rank, and which of them work belongs to."""

from __future__ import annotations

import dataclasses
import re

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from .._run import Run

    Numbers = Any  # an array of numpy

NONE = -1  # of no step


@dataclasses.dataclass
class Window:
    """What of a file is read: what began from `since` on and before `until`. None: all."""

    since: int | None = None
    until: int | None = None
    steps_before: int = 0  # that earlier windows had

    @property
    def is_all(self) -> bool:
        return self.since is None and self.until is None


def inside(window: Window, starts: Numbers) -> Any:
    """Which of these times are in the window."""
    found = np.ones(len(starts), dtype=bool)
    if window.since is not None:
        found &= starts >= window.since
    if window.until is not None:
        found &= starts < window.until
    return found


class Steps:
    """Steps of one process, in order. A step goes on until the next one begins, and the last until it
    ends: so that each moment between is of one step. Their numbers are those at the ends of their names,
    "step 812", where these count upwards, and otherwise count from 0. A run without steps is one step."""

    def __init__(self, rows: list[dict[str, Any]], ranges: dict[int, int], window: Window) -> None:
        self._rows = rows
        self._window = window
        self._starts = np.array([row["start"] for row in rows], dtype=np.int64)
        self._mine = np.flatnonzero(inside(window, self._starts))
        self.numbers = np.array(
            _numbers([row["name"] or "" for row in rows], self._first()), dtype=np.int64
        )
        ends = [row["start"] for row in rows[1:]]
        if rows:
            ends.append(max(rows[-1]["end"] or 0, rows[-1]["start"] + 1))
        self._ends = np.array(ends, dtype=np.int64)
        self._of_range = ranges  # an id of a range: the place of its step

    def _first(self) -> int:
        """The place of the step that is counted as the window's first."""
        if self._window.since is None:
            return 0
        before = int(np.searchsorted(self._starts, self._window.since))
        return before - self._window.steps_before

    @classmethod
    def read(cls, run: Run, processes: list[int] | None, window: Window) -> Steps:
        """Those of the process that has most."""
        by_process: dict[int, list[dict[str, Any]]] = {}
        for row in (
            run.table("steps").columns("name", "start", "end", "range_id", "process_id").dicts()
        ):
            if processes is None or row["process_id"] in processes:
                by_process.setdefault(row["process_id"], []).append(row)
        if not by_process:
            return cls([], {}, window)
        process = max(by_process, key=lambda each: (len(by_process[each]), -each))
        rows = sorted(by_process[process], key=lambda row: (row["start"], row["range_id"] or 0))
        rows = [row for i, row in enumerate(rows) if i == 0 or row["start"] > rows[i - 1]["start"]]
        ranges = {row["range_id"]: i for i, row in enumerate(rows) if row["range_id"] is not None}
        return cls(rows, _with_inner_ranges(run, ranges, process) if ranges else {}, window)

    def last_begin(self, before: int) -> int | None:
        """When the last step began that began before that time. None: there is none."""
        place = int(np.searchsorted(self._starts, before)) - 1
        return int(self._starts[place]) if place >= 0 else None

    def at(self, times: Numbers) -> Any:
        """The number of the step at each time; masked where there is none."""
        if not len(self._starts):
            return np.ma.masked_array(
                np.zeros(len(times), dtype=np.int64), mask=not self._window.is_all
            )
        place = np.searchsorted(self._starts, times, side="right") - 1
        in_one = (place >= 0) & (times < self._ends[np.maximum(place, 0)])
        return np.ma.masked_array(self.numbers[np.maximum(place, 0)], mask=~in_one)

    def of_work(self, ranges: Numbers, starts: Numbers) -> Any:
        """The step in whose range the work was asked for; where that is not known, the step in which it
        began."""
        found = self.at(starts)
        if not self._of_range:
            return found
        known, place = np.unique(ranges, return_inverse=True)
        steps = np.array([self._of_range.get(int(each), NONE) for each in known], dtype=np.int64)
        of_range = steps[place]
        return np.ma.where(of_range >= 0, self.numbers[np.maximum(of_range, 0)], found)

    def windows(self) -> list[tuple[int | None, tuple[int | None, int | None]]]:
        """Times that cover the window, each with the number of its step, or None."""
        since, until = self._window.since, self._window.until
        if not len(self._mine):
            return [(0 if self._window.is_all else None, (since, until))]
        first, last = self._mine[0], self._mine[-1]
        windows: list[tuple[int | None, tuple[int | None, int | None]]] = []
        if since is None or since < self._starts[first]:
            windows.append((None, (since, int(self._starts[first]))))
        for place in self._mine:
            windows.append(
                (int(self.numbers[place]), (int(self._starts[place]), int(self._ends[place])))
            )
        if until is None or self._ends[last] < until:
            windows.append((None, (int(self._ends[last]), until)))
        return windows

    def columns(self) -> dict[str, Any]:
        """Those that begin in the window."""
        if not len(self._mine):
            none = {"step": [0], "name": [None], "start": [None], "end": [None]}
            return none if self._window.is_all else {key: [] for key in none}
        return {
            "step": self.numbers[self._mine],
            "name": [self._rows[place]["name"] for place in self._mine],
            "start": self._starts[self._mine],
            "end": self._ends[self._mine],
        }


def _numbers(names: list[str], first: int) -> list[int]:
    """Counted from the place `first` on, where the names have no numbers."""
    found = [re.search(r"([0-9]{1,18})$", name) for name in names]
    numbers = [int(each.group(1)) for each in found if each]
    if len(numbers) == len(names) and all(a < b for a, b in zip(numbers, numbers[1:])):
        return numbers
    return list(range(-first, len(names) - first))


def _with_inner_ranges(run: Run, of_range: dict[int, int], process: int) -> dict[int, int]:
    """Ranges inside of a step are of that step too."""
    columns = run.table("nvtx_ranges").where(process=process).columns("id", "parent").numpy()
    parents = dict(zip(columns["id"].tolist(), columns["parent"].tolist()))
    found = dict(of_range)
    for each in parents:
        chain: list[int] = []
        now: int | None = each
        while now is not None and now not in found and len(chain) < 1000:
            chain.append(now)
            now = parents.get(now)
        step = found.get(now, NONE) if now is not None else NONE
        for inner in chain:
            found[inner] = step
    return found
