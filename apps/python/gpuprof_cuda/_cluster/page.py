"""A report as a page: one HTML file that loads nothing."""

from __future__ import annotations

import html
import os
import sys

from .._library import Error
from .._palette import COLORS
from . import text
from .words import ns, printable

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import Any

_MARK = "<!doctype html>\n<!-- gpuprof cluster report -->\n"
_WIDTH, _ROW, _LEFT = (
    1000,
    14,
    60,
)  # pixels of the heat map; a row is lower where there are many ranks
_SHADES = 8  # of lateness

_STYLE = """
body { font: 13px/1.4 system-ui, sans-serif; margin: 24px; background: var(--ground); color: var(--text);
  font-variant-numeric: tabular-nums; max-width: 1100px; }
h1 { font-size: 15px; } h2 { font-size: 13px; margin-top: 24px; }
table { border-collapse: collapse; } th, td { padding: 2px 12px 2px 0; text-align: left; border-bottom: 1px solid var(--line); }
td.n { text-align: right; } p.faint, svg text { color: var(--faint); fill: var(--faint); font-size: 11px; }
li { margin: 4px 0; } .bar { display: flex; height: 20px; border-radius: 4px; overflow: hidden; }
svg { max-width: 100%; height: auto; } .wide { overflow-x: auto; }
"""


def _colors() -> str:
    """The palette as CSS: custom properties, for light and dark pages."""
    light = "".join(f"--{name}:{pair[0]};" for name, pair in COLORS.items())
    dark = "".join(f"--{name}:{pair[1]};" for name, pair in COLORS.items())
    return f":root{{{light}}}@media (prefers-color-scheme: dark){{:root{{{dark}}}}}"


def _text(words: str) -> str:
    return html.escape(printable(words))


def _table(heading: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    head = "".join(f"<th>{_text(word)}</th>" for word in heading)
    body = "".join(
        "<tr>" + "".join(f"<td>{_text(cell)}</td>" for cell in row) + "</tr>" for row in rows
    )
    return f'<div class="wide"><table><tr>{head}</tr>{body}</table></div>'


def _account(report: dict[str, Any]) -> str:
    whole = sum(row["mean_ns"] for row in report["account"])
    if not whole:
        return ""
    bar = ""
    for row in report["account"]:
        name = row["class"].replace(" ", "-")
        color = f"var(--{name})" if name in COLORS else "var(--unknown)"
        share = row["mean_ns"] / whole
        title = _text(f"{row['class']}: {ns(row['mean_ns'])}, {share:.1%} of a step")
        bar += f'<div style="width:{share:.4%};background:{color}" title="{title}"></div>'
    return (f'<h2>Where the steps of all ranks went</h2><div class="bar">{bar}</div>'
            + _table(*text.account(report)))  # fmt: skip


def _heat(report: dict[str, Any]) -> str:
    """A cell for each rank and step: the later the rank, the more it covers the page."""
    heat = report["heat"]
    if not heat["steps"] or len(heat["ranks"]) < 2:
        return ""
    rows, columns = len(heat["ranks"]), len(heat["steps"])
    height = max(1, min(_ROW, 800 // rows))
    width = _WIDTH / columns
    most = max(max(row) for row in heat["late_ns"])
    least = report["steps"]["step_ns"] / 1000  # less is not shown
    cells = []
    for y, (rank, row) in enumerate(zip(heat["ranks"], heat["late_ns"])):
        for x, late in enumerate(row):
            shade = min(_SHADES, int(_SHADES * late / most) + 1) if late > least else 0
            if not shade:
                continue
            cells.append(f'<rect x="{_LEFT + x * width:.2f}" y="{y * height}" width="{width:.2f}" '
                         f'height="{height}" fill-opacity="{shade / _SHADES:.3f}"><title>rank {rank}, step '
                         f'{heat["steps"][x]}: {ns(late)} late</title></rect>')  # fmt: skip
    step = max(1, -(-rows // max(1, rows * height // 14)))
    labels = "".join(f'<text x="0" y="{y * height + height - 2}">rank {heat["ranks"][y]}</text>'
                     for y in range(0, rows, step))  # fmt: skip
    bottom = rows * height
    labels += f'<text x="{_LEFT}" y="{bottom + 14}">step {heat["steps"][0]}</text>'
    labels += f'<text x="{_LEFT + _WIDTH}" y="{bottom + 14}" text-anchor="end">step {heat["steps"][-1]}</text>'
    return ("<h2>How late each rank was, in each step</h2>"
            f'<svg viewBox="0 0 {_LEFT + _WIDTH} {bottom + 20}" width="{_LEFT + _WIDTH}" role="img">'
            f'<rect x="{_LEFT}" y="0" width="{_WIDTH}" height="{bottom}" fill="var(--raised)"/>'
            f'<g fill="var(--wait)">{"".join(cells)}</g>{labels}</svg>'
            f'<p class="faint">Darkest: {ns(most)}. Late is what a rank computed, copied and was idle for '
            "longer in the step than the usual rank.</p>")  # fmt: skip


def page(report: dict[str, Any]) -> str:
    findings = "".join(f"<li>{_text(line)}</li>" for line in text.findings(report))
    words = "".join(f"<p>{_text(line[:1].upper() + line[1:])}.</p>" for line in text.words(report))
    rows = text.communicators(report)
    communicators = f"<h2>Communicators</h2>{_table(*rows)}" if rows[1] else ""
    return (
        f'{_MARK}<html lang="en"><meta charset="utf-8"><title>Ranks</title>'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">"
        f"<style>{_colors()}{_STYLE}</style>"
        f"<h1>Ranks</h1><ul>{findings}</ul>{words}{_account(report)}{_heat(report)}{communicators}</html>\n"
    )


def write(report: dict[str, Any], path: str) -> None:
    """Replaces earlier pages of this kind and empty files, and nothing else. "-" is standard output."""
    if path == "-":
        sys.stdout.write(page(report))
        return
    part = f"{path}.{os.getpid()}"
    try:
        if os.path.lexists(path):
            with open(path, "rb") as file:
                begin = file.read(len(_MARK))
            if begin not in (b"", _MARK.encode()):
                raise Error(
                    f"{path} is there already, and is not such a page", "choose another name", 21
                )
        with open(part, "x", encoding="utf-8") as page_file:
            page_file.write(page(report))
        os.replace(part, path)
    except OSError as error:
        if os.path.exists(part):
            os.remove(part)
        raise Error(f"{path} cannot be written: {error.strerror}", "", 21) from None
