// @ts-check
// The picture: rows are drawn pixel by pixel, which is equally fast everywhere; labels on top.
import {cut, moment, percent, value} from './format.js';
import {colorOf, markOf, onMark, pixelOf} from './palette.js';
import {lowerBound} from './tiles.js';

export const ruler = 22, rowHeight = 18, groupHeight = 22, counterHeight = 44;
const shown = rowHeight - 3;  // of a row; the rest is spacing
const letter = 6.7;           // pixels, in the font below
const font = '11px ui-monospace, SFMono-Regular, Menlo, Consolas, monospace';

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.labels = 230;  // width of the names on the left; less if space is tight
    this.context = canvas.getContext('2d', {alpha: false});
    this.theme();
  }

  theme() {
    const names = ['ground', 'raised', 'text', 'faint', 'line', 'accent', 'wait'];
    this.colors = Object.fromEntries(names.map(name => [name, colorOf(name)]));
    this.groundPixel = pixelOf(this.colors.ground);
    this.counterPixel = pixelOf(this.colors.accent);
    this.counterPale = pixelOf(this.colors.accent, 0.25, this.colors.ground);
    /** @type {Map<string, {fill: number, pale: number, label: string}>} */ this.shades = new Map();
  }

  // Pixels of a color, and that of labels on it. A name that is not known yet is gray.
  shade(kind, work) {
    const name = work ? markOf(kind, work) : 'overhead';
    let shade = this.shades.get(name);
    if (!shade) {
      const color = colorOf(name);
      shade = {fill: pixelOf(color), pale: pixelOf(color, 0.45, this.colors.ground), label: onMark(color)};
      this.shades.set(name, shade);
    }
    return shade;
  }

  resize() {
    const ratio = window.devicePixelRatio || 1;
    const box = this.canvas.getBoundingClientRect();
    this.ratio = ratio;
    this.labels = Math.min(230, Math.round(box.width * 0.35));
    this.width = Math.max(1, Math.round(box.width * ratio));
    this.height = Math.max(1, Math.round(box.height * ratio));
    if (this.canvas.width !== this.width) this.canvas.width = this.width;
    if (this.canvas.height !== this.height) this.canvas.height = this.height;
    this.image = this.context.createImageData(this.width, this.height);
    this.pixels = new Uint32Array(this.image.data.buffer);
    this.lines = [0, 1, 2, 3].map(() => new Uint32Array(this.width));
  }

  // `view`: from, to. `items`: the layout's positions. `tilesOf(track)`: tiles, the best last.
  draw(view, items, scroll, tilesOf, nameOf, marks) {
    const {ratio, context} = this;
    this.left = Math.round(this.labels * ratio);
    this.scale = (this.width - this.left) / (view.to - view.from);
    this.pixels.fill(this.groundPixel);
    const texts = [];
    for (const item of items) {
      const top = ruler + item.top - scroll;
      if (top > this.height / ratio || top + item.height < ruler || item.group) continue;
      for (const tile of tilesOf(item.track)) {
        if (item.counter) this.counter(view, tile, item, top);
        else this.row(view, tile, item, top, nameOf, texts);
      }
    }
    context.putImageData(this.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = font;
    context.textBaseline = 'middle';
    for (const [text, x, y, color] of texts) {
      if (!color) {
        context.fillStyle = this.colors.ground;
        context.fillRect(x - 2, y - shown / 2 + 1, context.measureText(text).width + 4, shown - 3);
      }
      context.fillStyle = color || this.colors.text;
      context.fillText(text, x, y);
    }
    this.marks(view, marks, items, scroll);
    this.side(items, scroll);
    this.arrows(view, marks.selected?.arrows ?? [], items, scroll);
    this.axis(view);
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  // Of the times, in pixels of the page.
  get axisWidth() { return this.width / this.ratio - this.labels; }
  x(view, time) { return this.left + (time - view.from) * this.scale; }

  row(view, tile, item, top, nameOf, texts) {
    const row = tile.rows[item.row];
    if (!row) return;
    const y = Math.round(top * this.ratio), high = Math.round(shown * this.ratio);
    if (y < 0 && y + high < 0) return;
    const {lines, left, width} = this;
    for (const line of lines) line.fill(this.groundPixel, left);
    const step = (tile.to - tile.from) / tile.width * this.scale;
    const zero = this.x(view, tile.from);
    let at = Math.max(0, lowerBound(row.end, (left - zero) / step) - 1);
    let runFrom = 0, runTo = -1, runCount = 0, runBusy = 0, runLongest = -1, runName = 0;
    const label = (text, from, to, color = '') => {
      const begin = Math.max(from, left) / this.ratio + 3;
      const room = Math.floor((Math.min(to, width) / this.ratio - begin - 2) / letter);
      if (room >= 3) texts.push([cut(text, room), begin, top + shown / 2 + 0.5, color]);
    };
    const endRun = () => {
      if (runCount > 1 && runTo - runFrom > 90 * this.ratio) {
        const busy = percent(runBusy, (runTo - runFrom) / this.scale);
        label(`${runCount.toLocaleString('en-US')} ${item.noun}, longest ${nameOf(runName)[0]}, ${busy} busy`, runFrom, runTo);
      }
      runCount = 0;
    };
    for (; at < row.length; ++at) {
      const from = zero + row.x[at] * step, to = zero + row.end[at] * step;
      if (from >= width) break;
      if (to < left + 0.001) continue;
      const a = Math.max(left, Math.floor(from + 0.001));
      const b = Math.min(width, Math.max(a + 1, Math.floor(to + 0.001)));
      const {fill, pale, label: onFill} = this.shade(item.kind, nameOf(row.name[at])[2]);
      if (row.count[at] === 1 && to - from > 3.999) {
        endRun();
        for (const line of lines) {
          line.fill(fill, a, b);
          if (from > left - 0.001) line[a] = pale;
        }
        if (to - from > 24 * this.ratio) label(nameOf(row.name[at])[0], from, to, onFill);
        continue;
      }
      const bucket = row.count[at] > 1;
      for (let i = 0; i < 4; ++i) {
        if (!bucket) lines[i].fill(fill, a, b);
        else for (let x = a; x < b; ++x) lines[i][x] = (x + i) % 4 < 2 ? fill : pale;
      }
      if (runCount === 0 || from > runTo + 3 * this.ratio) {
        endRun();
        runFrom = from;
        runBusy = 0;
        runLongest = -1;
      }
      runTo = Math.max(to, from + 1);
      runCount += row.count[at];
      runBusy += row.busy[at];
      if (row.longest[at] > runLongest) {
        runLongest = row.longest[at];
        runName = row.name[at];
      }
    }
    endRun();
    // Where a better tile ends the lower one remains, including the pixel that it ends in.
    const first = Math.max(left, Math.ceil(zero - 0.001)), end = Math.min(width, Math.floor(zero + tile.width * step + 0.001));
    if (end <= first) return;
    for (let i = 0; i < high; ++i) {
      const line = y + i;
      if (line < ruler * this.ratio || line >= this.height) continue;
      this.pixels.set(lines[line & 3].subarray(first, end), line * width + first);
    }
  }

  counter(view, tile, item, top) {
    const {width, left} = this;
    const points = tile.points;
    const low = Math.min(0, item.least()), high = Math.max(item.most(), low + 1e-9);
    const y = Math.round(top * this.ratio), tall = Math.round((counterHeight - 6) * this.ratio);
    const level = value => y + tall - 1 - Math.round((value - low) / (high - low) * (tall - 1));
    const step = (tile.to - tile.from) / tile.width * this.scale;
    const zero = this.x(view, tile.from);
    const column = (x, from, to, pixel) => {
      for (let line = Math.max(from, Math.round(ruler * this.ratio)); line <= to && line < this.height; ++line) {
        this.pixels[line * width + x] = pixel;
      }
    };
    const first = Math.max(left, Math.ceil(zero - 0.001)), end = Math.min(width, Math.floor(zero + tile.width * step + 0.001));
    let at = 0, held = null;
    for (let x = first; x < end; ++x) {
      let least = held, most = held;
      while (at < points.length && zero + points[at] * step < x + 1) {
        if (points[at] < 0) {
          least = most = points[at + 3];
        } else {
          least = least === null ? points[at + 1] : Math.min(least, points[at + 1]);
          most = most === null ? points[at + 2] : Math.max(most, points[at + 2]);
        }
        held = points[at + 3];
        at += 4;
      }
      column(x, y, y + tall, this.groundPixel);
      if (most === null) continue;
      column(x, level(most), level(low), this.counterPale);
      column(x, level(most), Math.max(level(least), level(most) + 1), this.counterPixel);
    }
  }

  marks(view, marks, items, scroll) {
    const {context, ratio} = this;
    if (marks.range) {
      const from = this.x(view, marks.range.from) / ratio, to = this.x(view, marks.range.to) / ratio;
      context.globalAlpha = 0.18;
      context.fillStyle = this.colors.accent;
      context.fillRect(from, ruler, to - from, this.height / ratio);
      context.globalAlpha = 1;
    }
    if (!marks.selected) return;
    const place = marks.selected;
    const item = items.find(each => each.track === place.track && each.row === place.row);
    if (!item) return;
    const from = Math.max(this.x(view, place.begin) / ratio, this.labels - 2);
    const to = Math.max(from + 2, this.x(view, place.end) / ratio);
    context.strokeStyle = this.colors.accent;
    context.lineWidth = 2;
    context.strokeRect(from, ruler + item.top - scroll - 1, to - from, shown + 2);
  }

  // Curves between rows of the layout; those that leave the picture end at its edge.
  arrows(view, arrows, items, scroll) {
    if (arrows.length === 0) return;
    const {context, ratio} = this, width = this.width / ratio;
    const key = place => place.track * 1024 + place.row;
    const tops = new Map(arrows.flatMap(({from, to}) => [[key(from)], [key(to)]]));
    for (const item of items) if (item.track >= 0 && tops.has(key(item))) tops.set(key(item), ruler + item.top - scroll);
    const x = time => Math.min(Math.max(this.x(view, time) / ratio, this.labels), width);
    for (const waits of [false, true]) {
      const lines = new Path2D(), heads = new Path2D();
      for (const arrow of arrows) {
        const from = tops.get(key(arrow.from)), to = tops.get(key(arrow.to));
        const begin = x(arrow.at), end = x(arrow.then);
        const beside = begin === end && (end === this.labels || end === width);
        if (arrow.waits !== waits || from === undefined || to === undefined || beside) continue;
        const down = to > from || to === from, y = from + (to > from ? shown : 0), tip = to + (down ? 0 : shown);
        const middle = to === from ? to - 14 : (y + tip) / 2, back = down ? -6 : 6;
        lines.moveTo(begin, y);
        lines.bezierCurveTo(begin, middle, end, middle, end, tip);
        if (end === this.labels || end === width) continue;
        heads.moveTo(end, tip);
        heads.lineTo(end - 4, tip + back);
        heads.lineTo(end + 4, tip + back);
        heads.closePath();
      }
      // An outline, visible on records of any color.
      context.strokeStyle = this.colors.ground;
      context.lineWidth = 4;
      context.stroke(lines);
      context.strokeStyle = context.fillStyle = waits ? this.colors.wait : this.colors.accent;
      context.lineWidth = 2;
      context.stroke(lines);
      context.fill(heads);
    }
  }

  side(items, scroll) {
    const {context} = this;
    const height = this.height / this.ratio;
    context.fillStyle = this.colors.ground;
    context.fillRect(0, ruler, this.labels, height);
    context.fillStyle = this.colors.line;
    context.fillRect(this.labels - 1, ruler, 1, height);
    for (const item of items) {
      const top = ruler + item.top - scroll;
      if (top > height || top + item.height < ruler) continue;
      if (item.group) {
        context.fillStyle = item.heading ? this.colors.line : this.colors.raised;
        context.fillRect(0, top, this.width, groupHeight - 2);
        context.fillStyle = this.colors.text;
        context.font = item.heading ? `bold ${font}` : font;
        context.fillText(`${item.closed ? '\u25b8' : '\u25be'} ${item.group}`, 6, top + groupHeight / 2 - 1);
        context.font = font;
      } else if (item.label) {
        context.fillStyle = this.colors.text;
        context.fillText(cut(item.label, Math.floor((this.labels - 26) / letter)), 16, top + shown / 2 + 0.5);
        if (item.counter) {
          context.fillStyle = this.colors.faint;
          context.fillText(cut(`${value(item.least(), item.unit)} to ${value(item.most(), item.unit)}`,
                               Math.floor((this.labels - 26) / letter)), 16, top + shown * 1.5 + 4);
        }
      }
    }
  }

  axis(view) {
    const {context, ratio} = this;
    const width = this.axisWidth;
    context.fillStyle = this.colors.raised;
    context.fillRect(0, 0, this.width, ruler);
    const span = view.to - view.from;
    let step = 10 ** Math.floor(Math.log10(Math.max(span / (width / 120), 1)));
    for (const factor of [2, 2.5, 2]) if (span / step > width / 110) step *= factor;
    context.fillStyle = this.colors.faint;
    // Numbered, because adding a small step to a large time might not change it.
    const first = Math.ceil(view.from / step);
    const marks = Math.min(Math.floor(view.to / step) - first, width);
    for (let i = 0; i <= marks; ++i) {
      const time = (first + i) * step;
      const x = this.labels + (time - view.from) / span * width;
      context.fillRect(x, ruler - 6, 1, 6);
      context.fillText(moment(time, step), x + 3, ruler / 2);
    }
  }
}
