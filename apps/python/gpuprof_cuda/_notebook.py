"""%load_ext gpuprof: the magic %%gpuprof records a cell."""

from __future__ import annotations

import argparse
import os
import shlex
import subprocess
import tempfile

from ._html import text
from ._library import Error, program
from ._trace import trace

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any, NoReturn

    from ._trace import Trace


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        raise Error(f"%%{self.prog}: {message}", self.format_usage().strip())

    def exit(self, status: int = 0, message: str | None = None) -> NoReturn:
        raise Error(message or self.format_help())


def _parser() -> _Parser:
    parser = _Parser(prog="gpuprof", description="Records what the cell does on GPUs.")
    parser.add_argument(
        "-o", "--output", metavar="FILE", help="keep the profile, also over an old one"
    )
    parser.add_argument("--trace", metavar="LIST", help="what to record, as the program's --trace")
    parser.add_argument(
        "-m", "--metrics", metavar="LIST", default="",
        help="what to measure of each kernel, as the program's --metrics; CUPTI runs a kernel once for each pass")  # fmt: skip
    parser.add_argument("--cupti", metavar="PATH", help="the libcupti to use")
    parser.add_argument(
        "--width", type=int, default=120, help="of the timeline, in characters (120)"
    )
    return parser


class Cell:
    """What a cell did, as summary and timeline. run is the opened profile."""

    def __init__(
        self, recorded: Trace, width: int, folder: tempfile.TemporaryDirectory[str] | None
    ) -> None:
        self.path = recorded.path
        self.run = recorded.run
        self.losses = recorded.losses
        self.messages = recorded.messages
        self.summary = self.run.summary()
        self.timeline = self._draw(width)
        self._folder = folder  # removed with this object if temporary

    def _draw(self, width: int) -> str:
        ran = subprocess.run(
            [program(), "timeline", "--width", str(width), self.path],
            stdin=subprocess.DEVNULL, capture_output=True, check=False)  # fmt: skip
        return (ran.stdout or ran.stderr).decode(errors="replace")

    def _lost(self) -> list[str]:
        return [
            f"{row['name']} {row['value']}" + (f": {row['reason']}" if row["reason"] else "")
            for row in self.losses
        ]

    def __repr__(self) -> str:
        parts = [self.summary.rstrip(), "", self.timeline.rstrip(), *self._lost()]
        return "\n".join(parts).rstrip()

    def _repr_html_(self) -> str:
        below = "\n".join([self.timeline.rstrip(), *self._lost()])
        return (
            f"{self.run._repr_html_()}<pre>{text(below)}</pre>"
            f"<details><summary>The summary</summary><pre>{text(self.summary)}</pre></details>"
        )


def load(ipython: Any) -> None:
    parser = _parser()

    def gpuprof(line: str, cell: str) -> Cell:
        """Records the cell: %%gpuprof [-o FILE] [--trace LIST] [--metrics LIST] [--cupti PATH] [--width N].
        The value is the cell's summary, with metrics, and its timeline; its attribute run is the profile."""
        options = parser.parse_args(shlex.split(line))
        folder = None
        path = options.output
        if path is None:
            folder = tempfile.TemporaryDirectory(prefix="gpuprof-cell-")
            path = os.path.join(folder.name, "cell.sqlite")
        metrics = [name for name in options.metrics.split(",") if name]
        with trace(
            path, options.trace, metrics=metrics, overwrite=True, cupti=options.cupti
        ) as recorded:
            ipython.run_cell(cell)  # shows the cell's own error, if any
        return Cell(recorded, options.width, folder)

    ipython.register_magic_function(gpuprof, "cell", "gpuprof")
