"""Rows as a Parquet file."""

from __future__ import annotations

import os
import tempfile

import pyarrow.parquet

from ._library import QuestionError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from ._table import Rows

BEGINS = b"PAR1"


def _check_place(path: str, overwrite: bool) -> None:
    """Only a Parquet file is ever replaced, and only on request; never the profile."""
    if not os.path.lexists(path):
        return
    if not overwrite:
        raise FileExistsError(f"{path} is there already: overwrite=True replaces it")
    if os.path.isfile(path):
        with open(path, "rb") as file:
            if file.read(len(BEGINS)) == BEGINS:
                return
    raise QuestionError(f"{path} is not a Parquet file, and is not replaced", "choose another name")


def write(rows: Rows, path: str | os.PathLike[str], overwrite: bool) -> None:
    path = os.fspath(path)
    _check_place(path, overwrite)
    # Complete or absent: written in a folder next to it, then moved.
    beside = os.path.dirname(os.path.abspath(path))
    with tempfile.TemporaryDirectory(prefix=".gpuprof-", dir=beside) as folder:
        part = os.path.join(folder, "part")
        pyarrow.parquet.write_table(rows.arrow(), part)
        os.replace(part, path)
