"""A store for programs in Python: gpuprof_cuda.cluster("store/")."""

from __future__ import annotations

import os

import duckdb

from .._library import FileError, QuestionError
from . import report
from .database import connect
from .store import KINDS, Store

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, Union

    Path = Union[str, os.PathLike[str]]


class Cluster:
    """A store of gpuprof cluster build. Each view is an attribute, a DuckDB relation: .kernels, .rollups,
    .account, .collectives, .gaps, .steps, .ranks and others; views() lists them. A relation has .df() for
    pandas, .arrow(), .pl() for polars and .fetchall(). Threads must not share it."""

    def __init__(self, path: Path) -> None:
        self._store = Store(os.fspath(path))
        self._connection = connect(self._store)
        self._report: dict[str, Any] | None = None

    def sql(self, query: str) -> Any:
        """Rows of a SELECT, as a DuckDB relation. It reads the store, and no other file."""
        try:
            if [each.type for each in self._connection.extract_statements(query)] != [
                duckdb.StatementType.SELECT
            ]:
                raise QuestionError("sql() takes one SELECT")
            return self._connection.sql(query)
        except duckdb.Error as error:
            raise QuestionError(str(error)) from None

    def views(self) -> list[str]:
        return sorted({*KINDS, "ranks"})

    def __getattr__(self, name: str) -> Any:
        if name in KINDS or name == "ranks":
            return self._connection.sql(f"SELECT * FROM {name}")
        raise AttributeError(f"a store has no view {name!r}")

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.views()]

    @property
    def report(self) -> dict[str, Any]:
        """What gpuprof cluster report --json prints."""
        if self._report is None:
            self._report = report.read(self._store)
        return self._report

    @property
    def findings(self) -> list[dict[str, Any]]:
        """Who is late, what mismatches, what is slow: dicts with kind, ranks, cost_ns (per step), text and
        evidence."""
        found: list[dict[str, Any]] = self.report["findings"]
        return found

    @property
    def stragglers(self) -> list[dict[str, Any]]:
        """Of the findings, ranks that make the others wait."""
        return [each for each in self.findings if each["kind"] in ("straggler", "rotating")]

    def close(self) -> None:
        self._connection.close()

    def __enter__(self) -> Cluster:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<gpuprof store {self._store.path}>"


def cluster(path: Path) -> Cluster:
    """Opens a store that `gpuprof cluster build` wrote, read-only."""
    if not os.path.isdir(path):
        raise FileError(f"{os.fspath(path)} is not a store", "gpuprof cluster build makes one", 20)
    return Cluster(path)
