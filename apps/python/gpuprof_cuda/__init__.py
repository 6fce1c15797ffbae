"""Profiles of gpuprof and nvprof as columns, and recordings of what this process does on GPUs.

    import gpuprof

    run = gpuprof.open("run.sqlite")
    run.kernels.where(name="gemm").columns("name", "duration").pandas()

    with gpuprof.trace("run.sqlite") as t:
        step()
    gpuprof.bench(step).median_ns
    gpuprof.range("step", ["dram__bytes_read.sum"]).run(step).values

See docs/python.md and docs/recording-from-python.md of gpuprof for the rest.
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
    from ._cluster.api import Cluster, cluster
    from ._measure import Measured, measure
    from ._range import Range, range

__all__ = [
    "Answer",
    "Bench",
    "Cluster",
    "Error",
    "FileError",
    "Measured",
    "QuestionError",
    "Range",
    "Rows",
    "Run",
    "Table",
    "Trace",
    "bench",
    "cluster",
    "measure",
    "open",
    "plot",
    "range",
    "trace",
]

_LATER = {
    "Bench": "_bench",
    "bench": "_bench",
    "Cluster": "_cluster.api",
    "cluster": "_cluster.api",
    "Measured": "_measure",
    "measure": "_measure",
    "Range": "_range",
    "range": "_range",
}


def __getattr__(name: str) -> Any:
    """Loads the modules that take longer to import on first use."""
    import importlib

    if name in _LATER:
        return getattr(importlib.import_module("." + _LATER[name], __name__), name)
    if name == "plot":
        return importlib.import_module(".plot", __name__)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})


def load_ipython_extension(ipython: Any) -> None:
    """%load_ext gpuprof"""
    from . import _notebook

    _notebook.load(ipython)
