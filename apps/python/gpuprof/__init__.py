"""Profiles of gpuprof and nvprof as columns, and what this process does on GPUs as a profile.

    import gpuprof

    run = gpuprof.open("run.sqlite")
    run.kernels.where(name="gemm").columns("name", "duration").pandas()

    with gpuprof.trace("run.sqlite") as t:
        step()
    gpuprof.bench(step).median_ns

docs/python.md and docs/recording-from-python.md of gpuprof tell the rest.
"""

from __future__ import annotations

from ._library import Error, FileError, QuestionError
from ._run import Run, open
from ._table import Answer, Rows, Table
from ._trace import Trace, trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from . import plot
    from ._bench import Bench, bench

__all__ = [
    "Answer",
    "Bench",
    "Error",
    "FileError",
    "QuestionError",
    "Rows",
    "Run",
    "Table",
    "Trace",
    "bench",
    "open",
    "plot",
    "trace",
]


def __getattr__(name: str) -> Any:
    """What takes longer to load, when it is asked for."""
    if name in ("Bench", "bench"):
        from . import _bench

        return getattr(_bench, name)
    if name == "plot":
        import importlib

        return importlib.import_module(".plot", __name__)
    raise AttributeError(f"module 'gpuprof' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: Any) -> None:
    """%load_ext gpuprof"""
    from . import _notebook

    _notebook.load(ipython)
