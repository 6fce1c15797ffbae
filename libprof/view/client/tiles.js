// @ts-check
// The server's picture of a window, and how it is displayed in another one.

const column = () => /** @type {number[]} */ ([]);

// A row, as columns. TILES.md explains the numbers.
export class Row {
  x = column(); end = column(); first = column(); count = column(); name = column(); longest = column(); busy = column();

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
      const rest = count > 1 ? 3 : 2;
      this.add(x, x + wide, first, count, numbers[at], numbers[at + 1], numbers[at + rest - 1]);
      x += wide;
      first += count;
      at += rest;
    }
  }

  add(x, end, first, count, name, longest, busy) {
    this.x.push(x);
    this.end.push(end);
    this.first.push(first);
    this.count.push(count);
    this.name.push(name);
    this.longest.push(longest);
    this.busy.push(busy);
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
    this.density = width / (to - from);  // in a report, that of the window it was requested for
    this.old = false;                    // of a reading before the newest
  }

  time(x) { return this.from + x * (this.to - this.from) / this.width; }
  pixel(time) { return (time - this.from) * this.width / (this.to - this.from); }
  covers(from, to) { return this.from <= from && this.to >= to; }

  // The record i of a row, or the first of its bucket.
  place(/** @type {{track: number, row?: number}} */ {track, row}, i) {
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

/** @param {ArrayLike<number>} sorted @param {number} least @returns the first index whose value is at least `least` */
export function lowerBound(sorted, least) {
  let low = 0, high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < least) low = middle + 1;
    else high = middle;
  }
  return low;
}
