"""All ranks as one picture: where each step of each rank went, and how late the rank was."""

from __future__ import annotations

import json

import numpy as np

from .._palette import COLORS
from . import stragglers, text

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    Numbers = Any  # an array of numpy

MOST_COLUMNS = 200  # of a picture; of longer runs a column is the mean of neighbouring steps
# In the order in which they are drawn; others come last.
_ORDER = ("compute", "communication", "copy", "set", "queued", "launch", "call", "no call", "short gap", "unknown",
          "before", "after")  # fmt: skip


def edges(steps: int) -> list[int]:
    """The places of the steps with which columns begin, and the end."""
    count = min(MOST_COLUMNS, steps)
    return [steps * i // max(1, count) for i in range(count + 1)]


class Picture:
    """`ns` has the time of each rank, column and class of the account in a step, as 32-bit numbers; `late` how
    late the rank was. Both as means of the column's steps and of the rank's devices."""

    def __init__(self, connection: Any, report: dict[str, Any], late: stragglers.Lateness,
                 accounts: stragglers.Accounts) -> None:  # fmt: skip
        self.ranks, self.steps = accounts.ranks, accounts.steps
        self._edges = edges(len(self.steps))
        self.columns = len(self._edges) - 1
        self._report = report
        place = {step: column for column in range(self.columns)
                 for step in self.steps[self._edges[column] : self._edges[column + 1]]}  # fmt: skip
        rows = connection.execute(
            "SELECT rank, step, class, sum(ns) / count(DISTINCT device_id) AS ns FROM account "
            "SEMI JOIN compared_steps USING (step) GROUP BY 1, 2, 3"
        ).fetchnumpy()
        names = (
            np.unique(rows["class"].astype(str)) if len(rows["rank"]) else np.array([], dtype=str)
        )
        known = [name for name in _ORDER if name in names]
        self.classes = known + sorted(set(names.tolist()) - set(known))
        self.ns: Numbers = np.zeros(
            (len(self.ranks), self.columns, len(self.classes)), dtype=np.float64
        )
        if len(rows["rank"]):
            row = np.searchsorted(self.ranks, rows["rank"])
            column = np.array([place[step] for step in rows["step"].tolist()])
            kind = np.array([self.classes.index(name) for name in names])[
                np.searchsorted(names, rows["class"].astype(str))]  # fmt: skip
            np.add.at(self.ns, (row, column, kind), rows["ns"])
            self.ns /= np.diff(self._edges)[None, :, None]
        self.late = np.array([[float(np.mean(row[a:b])) for a, b in zip(self._edges, self._edges[1:])]
                              for row in late.excess]).reshape(len(self.ranks), self.columns)  # fmt: skip

    def step_of(self, column: int) -> int:
        """The first step of a column."""
        return self.steps[self._edges[column]]

    def written(self) -> bytes:
        """What the page reads: a line of JSON, and then `ns` and `late`."""
        hosts = {rank["rank"]: rank["host"] or "?" for rank in self._report["ranks"]}
        about = {
            "ranks": self.ranks,
            "hosts": [hosts[rank] for rank in self.ranks],
            "steps": [self.step_of(column) for column in range(self.columns)],
            "last": self.steps[-1] if self.steps else None,
            "classes": self.classes,
            "step_ns": self._report["steps"]["step_ns"],
            "colors": [name.replace(" ", "-") if name.replace(" ", "-") in COLORS else "unknown"
                       for name in self.classes],
            "findings": [{"text": line, "ranks": finding["ranks"][:8]} for line, finding in
                         zip(text.findings(self._report), self._report["findings"] or [{"ranks": []}])],
            "words": text.words(self._report),
        }  # fmt: skip
        head = json.dumps(about, ensure_ascii=True).encode()
        head += b" " * (-(len(head) + 1) % 4) + b"\n"
        numbers = np.concatenate([self.ns.ravel(), self.late.ravel()]).astype("<f4")
        return head + bytes(numbers.tobytes())


def draw(connection: Any, report: dict[str, Any]) -> Picture:
    """Of a connection that `report` was made with."""
    accounts = stragglers.read_accounts(connection)
    return Picture(connection, report, stragglers.lateness(accounts), accounts)
