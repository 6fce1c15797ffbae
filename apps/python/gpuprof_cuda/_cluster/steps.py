"""The steps of a rank, and which of them work belongs to."""

from __future__ import annotations

import re

import numpy as np

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Optional

    from .._run import Run

    Numbers = Any  # an array of numpy
    Window = tuple[Optional[int], Optional[int]]

NONE = -1  # of no step


class Steps:
    """Steps of one process, in order. A step goes on until the next one begins, and the last until it
    ends: so that each moment between is of one step. Their numbers are those at the ends of their names,
    "step 812", where these count upwards, and otherwise count from 0. A run without steps is one step."""

    def __init__(self, rows: list[dict[str, Any]], ranges: dict[int, int]) -> None:
        self._rows = rows
        self._starts = np.array([row["start"] for row in rows], dtype=np.int64)
        self.numbers = np.array(_numbers([row["name"] or "" for row in rows]), dtype=np.int64)
        ends = [row["start"] for row in rows[1:]]
        if rows:
            ends.append(max(rows[-1]["end"] or 0, rows[-1]["start"] + 1))
        self._ends = np.array(ends, dtype=np.int64)
        self._of_range = ranges  # an id of a range: the place of its step

    @classmethod
    def read(cls, run: Run, processes: list[int] | None) -> Steps:
        """Those of the process that has most."""
        by_process: dict[int, list[dict[str, Any]]] = {}
        for row in (
            run.table("steps").columns("name", "start", "end", "range_id", "process_id").dicts()
        ):
            if processes is None or row["process_id"] in processes:
                by_process.setdefault(row["process_id"], []).append(row)
        if not by_process:
            return cls([], {})
        process = max(by_process, key=lambda each: (len(by_process[each]), -each))
        rows = sorted(by_process[process], key=lambda row: (row["start"], row["range_id"] or 0))
        rows = [row for i, row in enumerate(rows) if i == 0 or row["start"] > rows[i - 1]["start"]]
        ranges = {row["range_id"]: i for i, row in enumerate(rows) if row["range_id"] is not None}
        return cls(rows, _with_inner_ranges(run, ranges, process) if ranges else {})

    def at(self, times: Numbers) -> Any:
        """The number of the step at each time; masked where there is none."""
        place = np.searchsorted(self._starts, times, side="right") - 1
        if not len(self._starts):
            return np.zeros(len(times), dtype=np.int64)
        inside = (place >= 0) & (times < self._ends[np.maximum(place, 0)])
        return np.ma.masked_array(self.numbers[np.maximum(place, 0)], mask=~inside)

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

    def windows(self) -> list[tuple[int | None, Window]]:
        """Windows that cover all time, each with the number of its step, or None."""
        if not len(self._starts):
            return [(0, (None, None))]
        windows: list[tuple[int | None, Window]] = [(None, (None, int(self._starts[0])))]
        for number, start, end in zip(self.numbers, self._starts, self._ends):
            windows.append((int(number), (int(start), int(end))))
        windows.append((None, (int(self._ends[-1]), None)))
        return windows

    def columns(self) -> dict[str, Any]:
        if not len(self._starts):
            return {"step": [0], "name": [None], "start": [None], "end": [None]}
        return {
            "step": self.numbers,
            "name": [row["name"] for row in self._rows],
            "start": self._starts,
            "end": self._ends,
        }


def _numbers(names: list[str]) -> list[int]:
    found = [re.search(r"([0-9]{1,18})$", name) for name in names]
    numbers = [int(each.group(1)) for each in found if each]
    if len(numbers) == len(names) and all(a < b for a, b in zip(numbers, numbers[1:])):
        return numbers
    return list(range(len(names)))


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
