"""Opened profiles."""

from __future__ import annotations

import glob
import json
import operator
import os

from ._library import FileError, Handle, QuestionError, library, meant
from ._memory import Memory
from ._table import Answer, Table

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike
    from typing import Any, Literal, SupportsIndex, Union

    from ._html import View
    from ._tables import Tables

    Path = Union[str, bytes, PathLike[str], PathLike[bytes]]
else:
    Tables = object


class Run(Tables):
    """One profile, or several as one; made by `gpuprof.open()`.

    Each table and view is an attribute: run.kernels, run.memcpys, run.CUPTI_ACTIVITY_KIND_DEVICE.
    dir(run) lists them, help(run.kernels) describes the columns. With several files, the first
    columns of each row are rank and host.

    Any thread may use it. close(), or the end of a with block, closes it; data already read
    remains valid."""

    def __init__(self, paths: Iterable[str | PathLike[str]]) -> None:
        self._paths = [os.fspath(path) for path in paths]
        self._handles: list[Handle] = []
        self._catalogues: dict[str, Any] | None = None
        self._contents: list[dict[str, Any]] | None = None
        try:
            for path in self._paths:
                self._handles.append(Handle(path))
            self._files = list(zip(self._handles, self._fronts()))
        except BaseException:
            self.close()
            raise

    def _fronts(self) -> list[list[list[Any]]]:
        """The columns rank and host of each file; empty if there is only one file."""
        if len(self._handles) == 1:
            return [[]]
        fronts: list[list[list[Any]]] = []
        for contents in self.info():
            run = contents.get("run") or {}
            processes = self._first(self._handles[len(fronts)], "SELECT min(rank) FROM processes")
            host = run.get("host_name")
            fronts.append([["rank", "int64", processes], ["host", "text", host]])
        return fronts

    @staticmethod
    def _first(handle: Handle, sql: str) -> Any:
        try:
            for chunk in handle.stream("sql", sql).chunks():
                return chunk[0].values()[0]
        except QuestionError:
            pass
        return None

    def close(self) -> None:
        for handle in self._handles:
            handle.close()

    @property
    def closed(self) -> bool:
        return all(handle.closed for handle in self._handles)

    def __enter__(self) -> Run:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def info(self) -> list[dict[str, Any]]:
        """The content of the files, as `gpuprof info --json` reports it: a list with a dict for each."""
        if self._contents is None:
            self._contents = [json.loads(handle.text("contents")) for handle in self._handles]
        return self._contents

    def notes(self) -> list[str]:
        """What readers of the files should know, one string each."""
        return [line for handle in self._handles for line in handle.text("notes").splitlines()]

    def catalogue(self) -> dict[str, dict[str, Any]]:
        """Tables and views by name: {"name", "doc", "view", "columns": [{"name", "type", "doc",
        "unit"}, ...]}. With several files, only those that all of them have."""
        if self._catalogues is None:
            each = [
                {table["name"]: table for table in json.loads(handle.text("catalogue"))}
                for handle in self._handles
            ]
            first, *others = each
            self._catalogues = {
                name: table for name, table in first.items() if all(name in o for o in others)
            }
        return self._catalogues

    def table(self, name: str) -> Table:
        """The table or view of that name, case-insensitive."""
        found = self.catalogue().get(name)
        if found is None:
            lower = {each.lower(): each for each in self.catalogue()}
            found = self.catalogue().get(lower.get(name.lower(), ""))
        if found is None:
            raise QuestionError(
                f"{', '.join(self._paths)}: there is no table or view {name}",
                meant(name, self.catalogue())
                or "dir(run) lists them; views are made by gpuprof, nvprof's files have tables alone",
                5,
            )
        names = [column["name"] for column in found["columns"]]
        counted = "start" if "start" in names else names[0] if names else None
        return Table(self._files, found["name"], _doc(found), counted)

    if not TYPE_CHECKING:  # _tables.pyi lists them, so that type checkers find wrong names

        def __getattr__(self, name: str) -> Table:
            if name.startswith("_"):
                raise AttributeError(name)
            try:
                return self.table(name)
            except QuestionError as error:
                raise AttributeError(str(error)) from None

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.catalogue()]

    def sql(self, sql: str) -> Answer:
        """Rows of a SELECT, or WITH ... SELECT. A column has the type that fits all its values."""
        if not isinstance(sql, str):
            raise TypeError(f"sql() takes a str, not {type(sql).__name__}")
        return Answer(lambda: self._only("sql()").stream("sql", sql), sql)

    def query(self, name: str) -> Answer:
        """Rows of a named query: run.query("top_kernels"). queries() lists them."""
        sql = {each["name"]: each["sql"] for each in _named_queries()}
        if name not in sql:
            raise QuestionError(
                f"there is no query {name}",
                meant(name, sql) or "run.queries() lists them, and run.sql() answers SQL",
                5,
            )
        return Answer(lambda: self._only("query()").stream("sql", sql[name]), name)

    @staticmethod
    def queries() -> dict[str, str]:
        """The names that query() accepts, with the question that each one answers."""
        return {each["name"]: each["question"] for each in _named_queries()}

    def accounts(
        self, windows: Iterable[tuple[SupportsIndex | None, SupportsIndex | None]]
    ) -> Answer:
        """Where the time of each GPU went in each of these windows of time, which are in order and do
        not overlap: [(from, to), ...] in ns, as the column start has them. None as the first `from` or
        the last `to` is that of the run. The columns are window (its place in the list), device_id,
        class, cause, duration (ns) and intervals; the view account has the same for the run. The
        durations of a device add up to the window."""
        given = [
            [None if time is None else operator.index(time) for time in pair] for pair in windows
        ]
        request = json.dumps({"windows": given})
        return Answer(lambda: self._only("accounts()").stream("accounts", request), "accounts")

    @property
    def memory(self) -> Memory:
        """Where memory went: run.memory.peak(), .leaks(), .by("nvtx") and others."""
        return Memory(self._files)

    def _only(self, what: str) -> Handle:
        if len(self._handles) != 1:
            raise QuestionError(f"{what} asks one file", "open each file on its own")
        return self._handles[0]

    def summary(self) -> str:
        """What gpuprof prints after a run: time by kernel and call, as text."""
        return self.report("")

    def report(self, *names: str, layout: Literal["text", "csv", "json"] = "text") -> str:
        """Reports as text: report("gpu-trace") is what the option --print-gpu-trace prints. `layout`
        is text, csv or json."""
        return self._only("report()").text("report", ",".join(names).encode(), layout.encode())

    def view(self, height: int = 600) -> View:
        """The viewer's page in a notebook, `height` pixels high: `run.view()` at the end of a cell."""
        from ._html import View

        self._only("view()")
        return View(self._paths[0], operator.index(height))

    def _repr_html_(self) -> str:
        from . import _html

        return _html.of_run(self, repr(self), () if self.closed else self._paths)

    def __repr__(self) -> str:
        if self.closed:
            return f"<gpuprof run {', '.join(self._paths)}: closed>"
        lines = []
        for path, contents in zip(self._paths, self.info()):
            lines.append(_described(path, contents))
        return "\n".join(lines)


def _named_queries() -> list[dict[str, str]]:
    queries: list[dict[str, str]] = json.loads(library().gpuprof_queries())
    return queries


def _described(path: str, contents: dict[str, Any]) -> str:
    """What ran, records, losses."""
    processes = contents.get("processes") or []
    ran = processes[0].get("command_line") if processes else None
    records = contents.get("records") or {}
    about = "about " if contents.get("records_estimated") else ""
    lines = [f"<gpuprof run {path}: {ran or contents.get('format', 'a profile')}"]
    if len(processes) > 1:
        lines[0] += f", {len(processes)} processes"
    most = sorted(records.items(), key=lambda item: -item[1])
    shown = ", ".join(f"{kind} {count}" for kind, count in most[:5])
    if len(most) > 5:
        shown += f" and {len(most) - 5} other kinds"
    lines.append(f"  {about}{sum(records.values())} records: {shown}" if most else "  no records")
    losses = contents.get("losses") or []
    for loss in losses[:5]:
        lines.append(f"  lost: {loss.get('name')} {loss.get('value')}")
    if len(losses) > 5:
        lines.append(f"  and {len(losses) - 5} more in run.losses")
    if contents.get("state") not in (None, "complete"):
        lines.append(f"  the file is {contents['state']}")
    return "\n".join(lines) + ">"


def _doc(table: dict[str, Any]) -> str:
    lines = [table["doc"], ""] if table["doc"] else []
    for column in table["columns"]:
        words = [word for word in (column["type"], column["unit"]) if word]
        lines.append(
            f"{column['name']}{' (' + ', '.join(words) + ')' if words else ''}"
            f"{': ' + column['doc'] if column['doc'] else ''}"
        )
    return "\n".join(lines)


def open(path: Path | Sequence[Path]) -> Run:  # noqa: A001
    """Opens a profile written by gpuprof or nvprof, read-only.

    `path` is a file, a list of files, or a pattern such as "rank*.sqlite"."""
    paths: list[str] = []
    named: Any = path if isinstance(path, (list, tuple)) else [path]
    for each in named:
        text = os.fsdecode(each)
        found = sorted(glob.glob(text)) if not os.path.exists(text) else [text]
        if not found and glob.has_magic(text):
            raise FileError(f"no file has a name like {text}", "", 20)
        paths += found or [text]
    if not paths:
        raise QuestionError("no file is named")
    return Run(paths)
