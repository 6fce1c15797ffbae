"""Tiles, decoded by the page's own client/tiles.js, which node runs. libprof/view/TILES.md is the format."""

import atexit
import functools
import json
import os
import pathlib
import shutil
import subprocess

SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
DECODER = """
import {readFileSync} from 'node:fs';
import {createInterface} from 'node:readline';
const text = readFileSync(process.argv[1], 'utf8');
const {decode} = await import(`data:text/javascript,${encodeURIComponent(text)}`);
for await (const line of createInterface({input: process.stdin})) {
  const pieces = row => row.x.map((x, i) => [x, ...['end', 'first', 'count', 'name', 'longest', 'busy'].map(key => row[key][i])]);
  const tiles = [...decode(JSON.parse(line), 0, 1, 1)];
  console.log(JSON.stringify(tiles.map(([track, tile]) => [track, tile.rows.map(pieces), tile.points])));
}
"""


@functools.cache
def _decoder():
    node = shutil.which("node")
    if not node:
        raise AssertionError("node is missing: run scripts/setup --tests")
    process = subprocess.Popen(
        [node, "--input-type=module", "-e", DECODER, SOURCE / "libprof/view/client/tiles.js"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)  # fmt: skip
    atexit.register(process.communicate)
    return process


def decode(answer):
    """Track: its rows, and its points. A row is a list of pieces: x, end, first, count, name, longest, busy."""
    process = _decoder()
    process.stdin.write(json.dumps(answer) + "\n")
    process.stdin.flush()
    return {track: (rows, points) for track, rows, points in json.loads(process.stdout.readline())}
