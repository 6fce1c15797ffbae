"""Columns as numpy and pandas objects, without a copy if the stream has one chunk."""

from __future__ import annotations

import numpy

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

    import pandas

    from ._arrow import Array, Column, Stream

NUMBERS: dict[str, Any] = {
    "int64": numpy.int64,
    "int32": numpy.int32,
    "float64": numpy.float64,
    "text": numpy.int32,
}


def _bits(memory: Any, count: int) -> Array:
    bits = numpy.unpackbits(numpy.frombuffer(memory, numpy.uint8), bitorder="little", count=count)
    return bits.view(bool)


def _numbers(column: Column) -> Array:
    """Numbers, text indices or booleans."""
    if column.type == "bool":
        return _bits(column.data, column.length)
    return numpy.frombuffer(column.data, NUMBERS[column.type])


def _is_null(column: Column) -> Array | None:
    """A mask of NULLs, or None if there are none."""
    if not column.null_count or column.validity is None:
        return None
    return ~_bits(column.validity, column.length)


def _joined(parts: list[Array]) -> Array:
    return parts[0] if len(parts) == 1 else numpy.concatenate(parts)


class Gathered:
    """One column over all chunks."""

    def __init__(self, type_: str, columns: list[Column]) -> None:
        self.type = type_
        self.texts: list[str] = []
        self.values: Array
        nulls = [_is_null(column) for column in columns]
        self.null: Array | None = None
        if any(null is not None for null in nulls):
            self.null = _joined(
                [
                    numpy.zeros(column.length, bool) if null is None else null
                    for column, null in zip(columns, nulls)
                ]
            )
        if type_ == "text":
            self.values = self._indices(columns)
        elif type_ in NUMBERS or type_ == "bool":
            dtype = bool if type_ == "bool" else NUMBERS[type_]
            self.values = _joined([_numbers(each) for each in columns] or [numpy.empty(0, dtype)])
        else:
            self.values = numpy.array(
                [v for each in columns for v in each.values()] + [b""], object
            )
            self.values = self.values[:-1]

    def _indices(self, columns: list[Column]) -> Array:
        """Indices into the texts of all chunks."""
        if len(columns) == 1:
            self.texts = columns[0].texts
            return _numbers(columns[0])
        places: dict[str, int] = {}
        parts = []
        for column in columns:
            texts = column.texts
            moved = numpy.array(
                [places.setdefault(text, len(places)) for text in texts], numpy.int32
            )
            indices = _numbers(column)
            parts.append(moved[indices] if len(texts) else indices)
        self.texts = list(places)
        return _joined(parts or [numpy.empty(0, numpy.int32)])

    def objects(self) -> Array:
        """For texts: str objects and None."""
        texts = numpy.array([*self.texts, None], object)
        indices = self.values
        if self.null is not None:
            indices = numpy.where(self.null, len(self.texts), indices)
        return texts[indices]


def _gather(stream: Stream) -> Iterator[tuple[str, Gathered]]:
    fields = stream.names_and_types()
    chunks = list(stream.chunks())
    for i, (name, type_) in enumerate(fields):
        yield name, Gathered(type_, [chunk[i] for chunk in chunks])


def arrays(stream: Stream) -> dict[str, Array]:
    result: dict[str, Array] = {}
    for name, column in _gather(stream):
        if column.type == "text":
            result[name] = column.objects()
        elif column.null is not None and column.type not in ("binary", ""):
            result[name] = numpy.ma.masked_array(column.values, column.null)
        else:
            result[name] = column.values
    return result


def _series(pandas: Any, column: Gathered, categories: bool) -> Any:
    null = column.null
    if column.type == "text" and not categories:
        return pandas.array(column.objects(), dtype=pandas.Series(["a"]).dtype)
    if column.type == "text":
        indices = column.values if null is None else numpy.where(null, -1, column.values)
        dtype = pandas.CategoricalDtype(pandas.Index(column.texts, dtype=object))
        return pandas.Categorical.from_codes(indices, dtype=dtype)
    if null is not None and column.type in ("int64", "int32"):
        return pandas.arrays.IntegerArray(column.values, null)
    if null is not None and column.type == "bool":
        return pandas.arrays.BooleanArray(column.values, null)
    if null is not None and column.type == "float64":
        values = column.values.copy()
        values[null] = numpy.nan
        return values
    return column.values


def frame(stream: Stream, categories: bool) -> pandas.DataFrame:
    import pandas

    columns = list(_gather(stream))
    count = len(columns[0][1].values) if columns else 0
    series = [
        pandas.Series(_series(pandas, column, categories), copy=False) for _, column in columns
    ]
    result = pandas.DataFrame(dict(enumerate(series)), index=pandas.RangeIndex(count), copy=False)
    result.columns = [name for name, _ in columns]
    return result
