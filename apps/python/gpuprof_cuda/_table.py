"""A table or view of one or several profiles, read on request."""

from __future__ import annotations

import json
import operator

from ._library import QuestionError, join

TYPE_CHECKING = False
if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Iterator, Mapping, Sequence
    from typing import Any, SupportsIndex

    import numpy as np
    import pandas as pd
    import polars as pl
    import pyarrow as pa

    from ._arrow import Stream
    from ._library import Handle

    Files = Sequence[tuple[Handle, list[list[Any]]]]


class Rows:
    """Rows in any of several formats: the common base of tables and SQL results. Each method reads
    the rows again."""

    __slots__ = ()

    def _stream(self) -> Stream:
        raise NotImplementedError

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        """For pyarrow, polars, DuckDB and anything else that accepts Arrow's PyCapsules."""
        return self._stream().capsule()

    def to_polars(self) -> pl.DataFrame:
        """polars(), under the name that other libraries use."""
        return self.polars()

    def to_pandas(self, categories: bool = True) -> pd.DataFrame:
        """pandas(), under the name that other libraries use."""
        return self.pandas(categories)

    def arrow(self) -> pa.Table:
        """A pyarrow.Table. Names and texts are dictionary-encoded."""
        import pyarrow

        return pyarrow.table(self)

    def parquet(self, path: str | os.PathLike[str], overwrite: bool = False) -> None:
        """Writes a Parquet file with pyarrow; needs as much memory as arrow(). Names and texts are
        dictionary-encoded. `overwrite` replaces an existing Parquet file."""
        from . import _parquet

        _parquet.write(self, path, overwrite)

    def polars(self) -> pl.DataFrame:
        """A polars.DataFrame. Names and texts are Categorical."""
        import polars

        return polars.DataFrame(self)

    def pandas(self, categories: bool = True) -> pd.DataFrame:
        """A pandas.DataFrame, without a copy if there is one file.

        Integers are int64 (or int32) without NULL, Int64 with; booleans are bool or boolean; real
        numbers are float64 with NaN for NULL. Names and texts are categories, or plain objects if
        `categories` is false."""
        from . import _pandas

        return _pandas.frame(self._stream(), categories)

    def numpy(self) -> dict[str, np.ndarray[Any, Any]]:
        """A dict of numpy arrays by column. Columns with NULL are masked arrays, names and texts
        arrays of str objects with None for NULL."""
        from . import _pandas

        return _pandas.arrays(self._stream())

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        """Rows as tuples of plain values, None for NULL."""
        for chunk in self._stream().chunks():
            yield from zip(*[column.values() for column in chunk])

    def dicts(self) -> Iterator[dict[str, Any]]:
        """Rows as dicts."""
        stream = self._stream()
        names = [name for name, _ in stream.names_and_types()]
        for chunk in stream.chunks():
            for row in zip(*[column.values() for column in chunk]):
                yield dict(zip(names, row))

    def schema(self) -> dict[str, str]:
        """Names of the columns and their types: int64, int32, float64, bool, text, binary, or "" if
        unknown."""
        return dict(self._stream().names_and_types())

    def __len__(self) -> int:
        return sum(chunk[0].length for chunk in self._stream().chunks() if chunk)

    def _first(self, rows: int) -> Rows:
        """Rows that contain at least these first ones, and need not contain more."""
        return self

    def _repr_html_(self) -> str:
        """The first rows, for a notebook."""
        import html

        stream = self._first(_SHOWN + 1)._stream()
        names = [name for name, _ in stream.names_and_types()]
        rows = []
        for chunk in stream.chunks():
            rows += list(zip(*[column.values() for column in chunk]))[: _SHOWN + 1]
        lines = ["<tr>" + "".join(f"<th>{html.escape(name)}</th>" for name in names) + "</tr>"]
        for row in rows[:_SHOWN]:
            cells = "".join(f"<td>{html.escape(_shown(value))}</td>" for value in row)
            lines.append(f"<tr>{cells}</tr>")
        more = f"<p>the first {_SHOWN} rows</p>" if len(rows) > _SHOWN else ""
        return f'<table class="dataframe">{"".join(lines)}</table>{more}'


_SHOWN = 10


def _shown(value: Any) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return f"{value:.6g}"
    text = str(value)
    return text if len(text) <= 100 else text[:99] + "…"


class Answer(Rows):
    """Rows of an SQL query."""

    __slots__ = ("_ask", "_question")

    def __init__(self, ask: Callable[[], Stream], question: str) -> None:
        self._ask = ask
        self._question = question

    def _stream(self) -> Stream:
        return self._ask()

    def __repr__(self) -> str:
        return f"<gpuprof answer: {_shown(' '.join(self._question.split()))}>"


def _moment(value: SupportsIndex, name: str) -> int:
    try:
        return operator.index(value)  # numpy's integers too
    except TypeError:
        raise QuestionError(
            f"{name} must be a time in ns, not {value!r}", "as the column start has it"
        ) from None


def _list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (list, tuple, set, frozenset, range)) else [value]


class Table(Rows):
    """Rows of a table or view. columns() and where() return another Table with fewer of them;
    nothing is read until rows are requested."""

    __slots__ = ("__dict__", "_counted", "_files", "_request", "name")  # __dict__: for __doc__

    def __init__(
        self,
        files: Files,
        name: str,
        doc: str | None = "",
        counted: str | None = None,
        request: dict[str, Any] | None = None,
    ) -> None:
        self._files = files  # (handle, leading columns)
        self._counted = counted  # the column that is read to count rows
        self.name = name
        self.__doc__ = doc
        self._request = request or {"table": name}

    def _with(self, **changes: Any) -> Table:
        request = {**self._request, **changes}
        return Table(self._files, self.name, self.__doc__, self._counted, request)

    def columns(self, *names: str) -> Table:
        """These columns, in this order."""
        for name in names:
            if not isinstance(name, str):
                raise QuestionError(f"a column is named by a text, not {name!r}")
        return self._with(columns=list(names))

    def raw(self) -> Table:
        """Ids of strings and numbers of enums as stored, instead of their meaning."""
        return self._with(raw=True)

    def where(
        self,
        *,
        start: SupportsIndex | None = None,
        end: SupportsIndex | None = None,
        device: int | Sequence[int] | None = None,
        process: int | Sequence[int] | None = None,
        matching: Mapping[str, str] | None = None,
        **equal: Any,
    ) -> Table:
        """Rows that meet all of these conditions, and those of earlier calls of where():

        start, end   began at or after `start`, and before `end`, in ns
        device       on that device, or on one of a list of devices
        process      of that process, or of one of a list
        name, nvtx   a regular expression found in the name, or in the path of NVTX ranges
        matching     the same for other text columns: {"column": "expression"}
        any column   has that value, or one of a list of values; None is NULL
        """
        request: dict[str, Any] = {}
        if start is not None:
            start = _moment(start, "start")
            request["from"] = max(start, self._request.get("from", start))
        if end is not None:
            end = _moment(end, "end")
            request["to"] = min(end, self._request.get("to", end))
        for key, value in (("devices", device), ("processes", process)):
            if value is not None:
                before = self._request.get(key)
                request[key] = [each for each in _list(value) if before is None or each in before]
        matches = dict(matching or {})
        for key, column in (("name", "name"), ("nvtx", "range_path")):
            if isinstance(equal.get(key), str):
                matches[column] = equal.pop(key)
        equals = {column: _list(each) for column, each in equal.items()}
        for key, asked in (("matches", matches), ("equals", equals)):
            before = self._request.get(key, {})
            for column in before:
                if column in asked:
                    raise QuestionError(f"where() asks twice for {column}")
            if asked or before:
                request[key] = {**before, **asked}
        return self._with(**request)

    def head(self, rows: int = 10) -> Table:
        """The first of the requested rows; with several files, the first of each."""
        if operator.index(rows) < 0:
            raise QuestionError(f"head() needs a number of rows, not {rows}")
        return self._with(limit=min(operator.index(rows), self._request.get("limit", rows)))

    def _first(self, rows: int) -> Table:
        return self.head(rows)

    def _stream(self) -> Stream:
        request = self._request
        if len(self._files) > 1 and "columns" not in request:
            without_rows = self._streams({**request, "limit": 0})
            names = [[name for name, _ in stream.names_and_types()] for stream in without_rows]
            if any(each != names[0] for each in names):
                # Files with stacks have more columns, for one: of several files, those that all have.
                front = {name for name, *_ in self._files[0][1]}
                common = [name for name in names[0]
                          if name not in front and all(name in each for each in names)]  # fmt: skip
                request = {**request, "columns": common}
        return join(self._streams(request))

    def _streams(self, asked: dict[str, Any]) -> list[Stream]:
        streams = []
        for handle, front in self._files:
            request = {**asked, "front": front} if front else asked
            try:
                streams.append(handle.stream("table", json.dumps(request, default=operator.index)))
            except TypeError as error:
                raise QuestionError(f"{self.name}: {error}") from None
        return streams

    def __len__(self) -> int:
        few = self._with(columns=[self._counted]) if self._counted else self
        return sum(chunk[0].length for chunk in few._stream().chunks() if chunk)

    def __repr__(self) -> str:
        asked = {key: value for key, value in self._request.items() if key != "table"}
        return f"<gpuprof table {self.name}{' ' + repr(asked) if asked else ''}>"
