"""The colors of docs/design/look.md: the same in the page, in C++ and in Python, and people can tell them apart.

  python3 tests/golden/test_palette.py --write

copies them from libprof/view/client/palette.css to the other two; then scripts/format.
"""
# ctest-labels: plain

import itertools
import math
import os
import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
CSS = ROOT / "libprof/view/client/palette.css"
HEADER = ROOT / "libprof/read/palette.hpp"
MODULE = ROOT / "apps/python/gpuprof_cuda/_palette.py"
LOOK = ROOT / "docs/design/look.md"
ENTRY = re.compile(r"--([a-z0-9-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\);")
PAGE = "ground", "raised", "line"  # what is drawn on, and hairlines
TEXT = "text", "faint", "accent", "wait"
ON_MARKS = "ink", "paper"
ACCOUNT = ("compute", "communication", "copy", "set", "call", "launch", "queued", "no-call",
           "short-gap", "unknown", "before")  # fmt: skip
WORK = "compute", "htod", "dtoh", "dtod", "peer", "copy", "set", "communication", "api", "nvtx-0"
LEAST_DISTANCE = 5.5  # in OKLab, of black to white 100: about three times what is just noticeable
# Machado, Oliveira and Fernandes 2009, full severity, on linear RGB.
SIGHT = {
    "full": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
    "protanopia": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deuteranopia": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritanopia": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}  # fmt: skip


def palette():
    return {name: shades for name, *shades in ENTRY.findall(CSS.read_text())}


def kernels(colors):
    return sum(name.startswith("kernel-") for name in colors)


def linear(color):
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    return [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]


def times(matrix, vector):
    return [sum(a * b for a, b in zip(row, vector)) for row in matrix]


def contrast(one, other):
    """As WCAG defines it."""
    light = sorted(times([(0.2126, 0.7152, 0.0722)], linear(each))[0] for each in (one, other))
    return (light[1] + 0.05) / (light[0] + 0.05)


def seen(color, sight):
    rgb = [min(1, max(0, part)) for part in times(SIGHT[sight], linear(color))]
    cones = times(
        ((0.4122214708, 0.5363325363, 0.0514459929), (0.2119034982, 0.6806995451, 0.1073969566),
         (0.0883024619, 0.2817188376, 0.6299787005)), rgb)  # fmt: skip
    return times(
        ((0.2104542553, 0.7936177850, -0.0040720468), (1.9779984951, -2.4285922050, 0.4505937099),
         (0.0259040371, 0.7827717662, -0.8086757660)), [part ** (1 / 3) for part in cones])  # fmt: skip


def replaced(path, first, last, lines):
    """The file's text with these lines between the two lines that contain `first` and `last`."""
    text = path.read_text().splitlines()
    begin = next(i for i, line in enumerate(text) if first in line)
    end = next(i for i, line in enumerate(text) if last in line)
    return "\n".join([*text[: begin + 1], *lines, *text[end:]]) + "\n"


def copies():
    """The two other files, as they should be."""
    colors = palette()
    marks = "Generated from", "The end of what is generated"
    header = [
        "inline constexpr PaletteColor palette[] = {",
        *(f'    {{"{name}", "{light}", "{dark}"}},' for name, (light, dark) in colors.items()),
        "};",
        f"inline constexpr std::uint32_t kernel_colors = {kernels(colors)};",
    ]
    module = [
        "COLORS = {",
        *(f'    "{name}": ("{light}", "{dark}"),' for name, (light, dark) in colors.items()),
        "}",
        f"KERNEL_COLORS = {kernels(colors)}",
    ]
    return {HEADER: replaced(HEADER, *marks, header), MODULE: replaced(MODULE, *marks, module)}


class Palette(unittest.TestCase):
    def test_one_table(self):
        for path, text in copies().items():
            self.assertEqual(
                path.read_text().split(), text.split(), f"{path.name}: test_palette.py --write"
            )
        self.assertEqual(len(palette()), CSS.read_text().count("light-dark("))
        documented = set(re.findall(r"`([a-z0-9-]+)`", LOOK.read_text()))
        families = {re.sub(r"-\d+$", "-n", name) for name in palette()}
        self.assertEqual(families - documented, set(), "docs/design/look.md does not mention them")

    def test_contrast(self):
        colors = palette()
        marks = set(colors) - {*PAGE, *TEXT, *ON_MARKS, "loss", "loss-text"}
        self.assertLessEqual({*ACCOUNT, *WORK, "api", "overhead"}, marks)
        for shade in (0, 1):
            of = {name: shades[shade] for name, shades in colors.items()}
            for name, ground in itertools.product(TEXT, ("ground", "raised")):
                self.assertGreaterEqual(contrast(of[name], of[ground]), 4.5, (name, ground, shade))
            self.assertGreaterEqual(contrast(of["loss"], of["loss-text"]), 4.5)
            for name in marks:
                self.assertGreaterEqual(contrast(of[name], of["ground"]), 3, (name, shade))
                self.assertGreaterEqual(contrast(of[name], of["raised"]), 3, (name, shade))
                label = max(contrast(of[name], of[each]) for each in ON_MARKS)
                self.assertGreaterEqual(label, 4.5, (name, shade))

    def test_color_blindness(self):
        colors = palette()
        for shade, sight, group in itertools.product((0, 1), SIGHT, (ACCOUNT, WORK)):
            points = {name: seen(colors[name][shade], sight) for name in group}
            for one, other in itertools.combinations(group, 2):
                distance = 100 * math.dist(points[one], points[other])
                self.assertGreaterEqual(distance, LEAST_DISTANCE, (one, other, sight, shade))


if __name__ == "__main__":
    if "--write" in sys.argv:
        for path, text in copies().items():
            path.write_text(text)
    else:
        unittest.main()
