"""Profiles of gpuprof and nvprof as columns.

    import gpuprof

    run = gpuprof.open("run.sqlite")
    run.kernels.where(name="gemm").columns("name", "duration").pandas()

docs/python.md of gpuprof tells the rest.
"""

from ._library import Error, FileError, QuestionError
from ._run import Run, open
from ._table import Answer, Rows, Table
from ._trace import Trace, trace

__all__ = [
    "Answer",
    "Error",
    "FileError",
    "QuestionError",
    "Rows",
    "Run",
    "Table",
    "Trace",
    "open",
    "trace",
]
