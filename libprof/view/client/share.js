// @ts-check
// How much of the time of each pixel tracks have something open, computed from their tiles.

/** @typedef {import('./tiles.js').Tile} Tile */

// Adds `size` pixels of time, evenly between two pixels.
function spread(shares, from, to, size) {
  const density = size / (to - from), end = Math.min(to, shares.length);
  for (let x = Math.max(0, from); x < end;) {
    const next = Math.min(Math.floor(x) + 1, end);
    shares[Math.floor(x)] += (next - x) * density;
    x = next;
  }
}

// The best tile that covers the window; without one, the coarsest, which covers everything.
const tileFor = (/** @type {Tile[]} */ tiles, view) => tiles.filter(tile => tile.covers(view.from, view.to)).at(-1) ?? tiles[0];

// The shares of the window's pixels by color, in the order of `work`. Streams are added up, at most to 1 in all when drawn;
// of nested tracks, the outermost row counts. Of several records that share a pixel, the longest gives the color.
/** @param {{zero: number, scale: number, width: number, view: {from: number, to: number}}} window
 *  @param {{tiles: Tile[], colorOf: (name: number) => string, nested: boolean}[]} tracks
 *  @returns {Map<string, Float64Array>} */
export function busyShares({zero, scale, width, view}, tracks) {
  /** @type {Map<string, Float64Array>} */ const parts = new Map();
  const sharesOf = color => {
    if (!parts.has(color)) parts.set(color, new Float64Array(width));
    return parts.get(color);
  };
  for (const {tiles, colorOf, nested} of tracks) {
    const tile = tileFor(tiles, view);
    if (!tile) continue;
    const step = (tile.to - tile.from) / tile.width * scale, begin = zero + (tile.from - view.from) * scale;
    for (const row of nested ? tile.rows.slice(0, 1) : tile.rows) {
      for (let i = 0; i < row.length; ++i) {
        const from = begin + row.x[i] * step, to = begin + row.end[i] * step;
        if (to <= 0) continue;
        if (from >= width) break;
        // A record is nearly as wide as its pixels: only those at its ends are covered in part.
        const busy = Math.min(row.busy[i] * scale, to - from), slack = row.count[i] === 1 ? (to - from - busy) / 2 : 0;
        if (busy > 0) spread(sharesOf(colorOf(row.name[i])), from + slack, to - slack, busy);
      }
    }
  }
  const rank = color => ['compute', 'communication', color].indexOf(color);
  return new Map([...parts].sort(([a], [b]) => rank(a) - rank(b)));
}
