// @ts-check
// Individual records, as written by pack_records() of the report, and how they are drawn.
import {Row, Tile, lowerBound} from './tiles.js';

class Reader {
  constructor(buffer) {
    this.bytes = new Uint8Array(buffer);
    this.at = 0;
  }
  number() {
    let value = 0, unit = 1;
    for (;;) {
      const byte = this.bytes[this.at++];
      if (!(byte >= 128)) return value + byte * unit;
      value += (byte - 128) * unit;
      unit *= 128;
    }
  }
  signed() {
    const value = this.number();
    return value % 2 ? -(value + 1) / 2 : value / 2;
  }
  reals(count) {
    const view = new DataView(this.bytes.buffer, this.at, 8 * count);
    this.at += 8 * count;
    return Float64Array.from({length: count}, (_, i) => view.getFloat64(8 * i, true));
  }
}

// The records of a row. Times are ns after the run's zero.
class Records {
  constructor(reader, from) {
    const length = this.length = reader.number();
    this.begin = new Float64Array(length);
    this.end = new Float64Array(length);
    this.name = new Uint32Array(length);
    this.first = length ? reader.number() : 0;
    for (let i = 0; i < length; ++i) this.begin[i] = i ? reader.number() : from + reader.signed();
    for (let i = 0; i < length; ++i) {
      if (i) this.begin[i] += this.end[i - 1];
      this.end[i] = this.begin[i] + reader.number();
    }
    for (let i = 0; i < length; ++i) this.name[i] = reader.number();
  }

  place({track, row}, item) {
    const i = item - this.first;
    return i >= 0 && i < this.length ? {track, row, item, name: this.name[i], begin: this.begin[i], end: this.end[i]} : null;
  }

  // Draws like the server: records at least a pixel wide, and buckets of narrower ones.
  draw(from, to, width) {
    const row = new Row([]), scale = width / (to - from);
    let i = lowerBound(this.end, from);
    if (i < this.length && this.end[i] === from && this.begin[i] < from) ++i;
    while (i < this.length && this.begin[i] < to) {
      const x = Math.max(0, Math.floor((this.begin[i] - from) * scale)), next = from + (x + 1) / scale, first = i;
      let longest = 0, name = 0, busy = 0;
      do {
        const length = this.end[i] - this.begin[i], wide = length * scale >= 1;
        if (wide && i > first) break;
        if (length > longest || i === first) {
          longest = length;
          name = this.name[i];
        }
        busy += length;
        ++i;
        if (wide) break;
      } while (i < this.length && this.begin[i] < next && this.begin[i] < to);
      const end = Math.max(x + 1, Math.ceil((Math.min(this.end[i - 1], to) - from) * scale));
      row.add(x, end, this.first + first, i - first, name, longest, busy);
    }
    return row;
  }
}

// Values, and when each one takes effect.
class Values {
  constructor(reader, from) {
    const length = reader.number();
    this.time = new Float64Array(length);
    for (let i = 0; i < length; ++i) this.time[i] = i ? this.time[i - 1] + reader.number() : from + reader.signed();
    this.value = reader.reals(length);
  }

  draw(from, to, width) {
    const points = [], scale = width / (to - from);
    let i = lowerBound(this.time, from), last = -1;
    if (i > 0) points.push(-1, this.value[i - 1], this.value[i - 1], this.value[i - 1]);
    for (; i < this.time.length && this.time[i] < to; ++i) {
      const x = Math.floor((this.time[i] - from) * scale), value = this.value[i];
      if (x > last) points.push(x, value, value, value);
      const at = points.length - 4;
      points[at + 1] = Math.min(points[at + 1], value);
      points[at + 2] = Math.max(points[at + 2], value);
      points[at + 3] = value;
      last = x;
    }
    return points;
  }
}

export class AllRecords {
  constructor(buffer, from, to) {
    const reader = new Reader(buffer);
    this.from = from;
    this.to = to;
    this.tracks = new Map();
    for (let left = reader.number(); left > 0; --left) {
      const number = reader.number();
      const rows = Array.from({length: reader.number()}, () => new Records(reader, from));
      this.tracks.set(number, {rows, values: new Values(reader, from)});
    }
  }

  // The available part of the window, in pixels of the window.
  tile(track, from, to, width) {
    const scale = width / (to - from), pixel = time => (time - from) * scale;
    const first = Math.max(0, Math.floor(pixel(this.from))), end = Math.min(width, Math.ceil(pixel(this.to)));
    const window = /** @type {[number, number, number]} */ ([from + first / scale, from + end / scale, end - first]);
    const {rows, values} = this.tracks.get(track);
    return new Tile(...window, rows.map(row => row.draw(...window)), values.draw(...window));
  }
}
