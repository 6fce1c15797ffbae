"""What notebooks show of a run. Everything from a profile is escaped."""

from __future__ import annotations

import html
import os
import shlex
import subprocess

from . import _palette
from ._library import Error, QuestionError, program

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable
    from typing import Any

    from ._run import Run

_WORDS = {
    "compute": "computing",
    "communication": "communicating",
    "copy": "copying",
    "set": "setting memory",
    "launch": "idle, the host launching",
    "queued": "idle, work waiting in its stream",
    "call": "idle, the host in calls of CUDA",
    "no call": "idle, the host in no call of CUDA",
    "short gap": "idle in short gaps",
    "unknown": "idle, the host's calls not recorded",
    "before": "before its first work",
    "after": "after its last work",
}
_MOST_GPUS = 4


def text(value: object) -> str:
    """Of a profile, for HTML."""
    return html.escape(str(value))


def _paint(name: str) -> str:
    light, dark = _palette.COLORS[name.replace(" ", "-")]
    return f"background:{light};background:light-dark({light},{dark})"


def _bar(parts: list[tuple[str, float]]) -> str:
    """Shares of a whole by class; each is also a text."""
    pieces = "".join(
        f'<span style="width:{100 * share:.3f}%;{_paint(name)}"></span>' for name, share in parts
    )
    words = " &nbsp; ".join(
        f'<span style="white-space:nowrap"><span style="display:inline-block;width:.7em;height:.7em;'
        f'{_paint(name)}"></span> {text(_WORDS.get(name, name))} {100 * share:.1f} %</span>'
        for name, share in parts
    )
    return (
        f'<div style="display:flex;height:14px;max-width:60em" aria-hidden="true">{pieces}</div>'
        f"<div>{words}</div>"
    )


def _account(run: Run) -> list[str]:
    """A bar for each of the first GPUs; nothing if the file has no account."""
    shares: dict[Any, dict[str, float]] = {}
    try:
        for row in run.sql("SELECT device_id, class, share FROM account").dicts():
            its = shares.setdefault(row["device_id"], {})
            # Classes of other versions have no color of their own.
            name = row["class"] if row["class"] in _WORDS else "unknown"
            its[name] = its.get(name, 0) + (row["share"] or 0)
    except QuestionError:
        return []
    lines = []
    for device in list(shares)[:_MOST_GPUS]:
        parts = sorted(shares[device].items(), key=lambda part: list(_WORDS).index(part[0]))
        lines.append(f"<div>Where the time of GPU {text(device)} went:</div>{_bar(parts)}")
    if len(shares) > _MOST_GPUS:
        lines.append(f"<div>and {len(shares) - _MOST_GPUS} more GPUs</div>")
    return lines


def _kernels(run: Run) -> list[str]:
    try:
        return [run.query("top_kernels")._repr_html_()]
    except QuestionError:
        return []


def of_run(run: Run, about: str, paths: Iterable[str]) -> str:
    """What ran, the account, the kernels that took most, and where there is more."""
    paths = list(paths)
    parts = [f"<pre>{text(about)}</pre>"]
    if len(paths) == 1:
        parts += _account(run) + _kernels(run)
        command = shlex.join(["gpuprof", "view", paths[0]])
        parts.append(f"<p><code>run.view()</code> or <code>{text(command)}</code></p>")
    return f"<div>{''.join(parts)}</div>"


class View:
    """The timeline of a run, in a notebook: the page of `gpuprof report`, which is a part of the notebook
    then, works without a server and asks nothing of a network. It has at most 5 MB."""

    def __init__(self, path: str, height: int) -> None:
        self._path = path
        self._height = height
        ran = subprocess.run(
            [program(), "report", path, "--html", "-"],
            stdin=subprocess.DEVNULL, capture_output=True, check=False)  # fmt: skip
        if ran.returncode != 0:
            raise Error(ran.stderr.decode(errors="replace").strip() or "gpuprof report failed")
        self.html = ran.stdout.decode()

    def __repr__(self) -> str:
        return f"<gpuprof view of {self._path}: {len(self.html)} characters of HTML>"

    def _repr_html_(self) -> str:
        # Scripts of the page run in an origin of their own, away from the notebook's.
        return (
            f'<iframe sandbox="allow-scripts" title="{text(os.path.basename(self._path))}" '
            f'style="width:100%;height:{self._height}px;border:0" srcdoc="{text(self.html)}"></iframe>'
        )
