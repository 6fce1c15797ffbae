// @ts-check
// Keyboard navigation between records, and pinch zoom.
import {lowerBound} from './tiles.js';

// The piece of a drawn row that is nearest to a time: a record, or the first of a bucket.
function nearestOf(tile, item, time) {
  const row = tile.rows[item.row], at = tile.pixel(time), distance = i => Math.max(row.x[i] - at, at - row.end[i], 0);
  let i = Math.min(lowerBound(row.end, at), row.length - 1);
  if (i > 0 && distance(i - 1) < distance(i)) --i;
  return tile.place(item, i);
}

// The piece nearest in time in the next row that has any (`by` 1), or the previous one (-1). `rows` as in the layout.
export function beside(rows, tilesOf, place, by) {
  let at = rows.findIndex(item => item.track === place.track && item.row === place.row);
  for (at += by; at >= 0 && at < rows.length; at += by) {
    const tile = tilesOf(rows[at].track).at(-1), row = tile?.rows[rows[at].row];
    if (row?.length) return nearestOf(tile, rows[at], place.begin);
  }
  return null;
}

// The first piece drawn in a window, from the top row down.
export function firstInView(rows, tilesOf, view) {
  for (const item of rows) {
    const tile = tilesOf(item.track).at(-1), row = tile?.rows[item.row];
    if (!row?.length) continue;
    const places = [view.from, (view.from + view.to) / 2].map(time => nearestOf(tile, item, time));
    const shown = places.find(place => place.begin < view.to && place.end >= view.from);
    if (shown) return shown;
  }
  return null;
}

// Two-finger gesture: the times under the fingers stay under them.
export class Pinch {
  // `begin()` returns the view, the scroll position, and the time axis: `left` and `width`.
  constructor(begin, show) {
    this.begin = begin;
    this.show = show;
    this.fingers = new Map();
    this.start = null;
  }

  // Returns whether there are two fingers.
  down(id, point) {
    this.fingers.set(id, point);
    this.start = this.fingers.size === 2 ? {...this.begin(), points: [...this.fingers.values()]} : null;
    return this.fingers.size > 1;
  }

  // Returns whether it is one of two fingers.
  move(id, point) {
    if (this.fingers.has(id)) this.fingers.set(id, point);
    if (!this.start) return this.fingers.size > 1;
    const {view, scroll, left, width, points} = this.start, now = [...this.fingers.values()];
    const [first, second] = points.map(({x}) => view.from + (x - left) / width * (view.to - view.from));
    // Fingers above each other only scroll.
    const apart = now[1].x - now[0].x, wide = Math.abs(points[1].x - points[0].x) > 20 && Math.abs(apart) > 10;
    const span = wide ? Math.abs((second - first) / apart * width) : view.to - view.from;
    const from = first - (now[0].x - left) / width * span;
    this.show(from, from + span, scroll + (points[0].y + points[1].y - now[0].y - now[1].y) / 2);
    return true;
  }

  up(id) {
    this.fingers.delete(id);
    this.start = null;
  }
}
