// @ts-check
// The server's picture of a window, and how it is displayed in another one.

// A row, as columns. TILES.md explains the numbers.
export class Row {
  x = /** @type {number[]} */ ([]);
  end = /** @type {number[]} */ ([]);
  first = /** @type {number[]} */ ([]);
  count = /** @type {number[]} */ ([]);
  name = /** @type {number[]} */ ([]);
  longest = /** @type {number[]} */ ([]);
  busy = /** @type {number[]} */ ([]);

  /** @param {number[]} numbers */
  constructor(numbers) {
    let x = 0, first = numbers[0];
    for (let at = 1; at < numbers.length;) {
      let count = -numbers[at], wide = 1;
      if (count > 0) {
        at += 1;
      } else {
        x += numbers[at] - 1;
        wide = numbers[at + 1];
        count = numbers[at + 2];
        at += 3;
      }
      this.x.push(x);
      x += wide;
      this.end.push(x);
      this.first.push(first);
      first += count;
      this.count.push(count);
      this.name.push(numbers[at]);
      this.longest.push(numbers[at + 1]);
      this.busy.push(count > 1 ? numbers[at + 2] : numbers[at + 1]);
      at += count > 1 ? 3 : 2;
    }
  }

  get length() { return this.x.length; }
}

export class Tile {
  /** @param {Row[]} rows @param {number[]} points */
  constructor(from, to, width, rows, points) {
    this.from = from;
    this.to = to;
    this.width = width;
    this.rows = rows;
    this.points = points;
    this.density = width / (to - from);  // a report's tile has that of the window it was requested for
    this.old = false;                    // of a reading before the newest
  }

  time(x) { return this.from + x * (this.to - this.from) / this.width; }
  pixel(time) { return (time - this.from) * this.width / (this.to - this.from); }
  covers(from, to) { return this.from <= from && this.to >= to; }

  // The record i of a row, or the first of its bucket.
  place({track, row}, i) {
    const {x, end, first, name} = this.rows[row];
    return {track, row, item: first[i], name: name[i], begin: this.time(x[i]), end: this.time(end[i])};
  }
}

export function decode(answer, from, to, width) {
  const tiles = new Map();
  for (const [track, rows, points] of answer.tracks) {
    tiles.set(track, new Tile(from, to, width, rows.map(row => new Row(row)), points));
  }
  return tiles;
}

// The first index in `sorted` whose value is at least `least`.
export function lowerBound(sorted, least) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
