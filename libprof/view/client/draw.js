// @ts-check
// The picture: rows are drawn pixel by pixel, which is equally fast everywhere; labels on top.
import {moment, percent, plainName, time, value} from './format.js';
import {busyColor, colorOf, markOf, onMark, pixelOf} from './palette.js';
import {busyShares} from './share.js';
import {lowerBound} from './tiles.js';

export const ruler = 22, rowHeight = 18, roomyRow = 26, tallestRow = 38, groupHeight = 22, counterHeight = 44, mostMore = 120;
const space = 3;  // below a row
const font = '11px system-ui, sans-serif';
const shareOfDimmed = 0.2;

export class Painter {
  constructor(canvas) {
    this.canvas = canvas;
    this.labels = 230;  // width of the names on the left; less if space is tight
    this.context = canvas.getContext('2d', {alpha: false});
    /** @type {Map<string, number>} */ this.widths = new Map();
    this.theme();
  }

  theme() {
    const names = ['ground', 'raised', 'text', 'faint', 'line', 'accent', 'wait'];
    this.colors = Object.fromEntries(names.map(name => [name, colorOf(name)]));
    this.groundPixel = pixelOf(this.colors.ground);
    this.linePixel = pixelOf(this.colors.line);
    this.counterPixel = pixelOf(this.colors.accent);
    this.counterPale = pixelOf(this.colors.accent, 0.25, this.colors.ground);
    /** @type {Map<string, {fill: number, pale: number, label: string}>} */ this.shades = new Map();
  }

  // Pixels of a color, and that of labels on it.
  shade(name, dimmed = false) {
    const key = dimmed ? `${name} dimmed` : name;
    let shade = this.shades.get(key);
    if (!shade) {
      const color = colorOf(name), part = dimmed ? shareOfDimmed : 1, {ground, faint} = this.colors;
      shade = {fill: pixelOf(color, part, ground), pale: pixelOf(color, part * 0.45, ground), label: dimmed ? faint : onMark(color)};
      this.shades.set(key, shade);
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
    this.blank = new Uint32Array(this.width);  // a line without records
  }

  // `view`: from, to. `items`: the layout's positions. `tilesOf(track)`: tiles, the best last.
  // `naming`: how names are found, and which are marked. `marks`: what is selected, and gaps.
  draw(view, items, scroll, tilesOf, naming, marks) {
    const {ratio, context} = this;
    this.left = Math.round(this.labels * ratio);
    this.scale = (this.width - this.left) / (view.to - view.from);
    this.clear(view);
    const texts = /** @type {[string, number, number, string][]} */ ([]);
    const seen = new Set();  // tracks that have something in the window, or nothing that is known yet
    for (const item of items) {
      const top = ruler + item.top - scroll;
      if (top > this.height / ratio || top + item.height < ruler) continue;
      if (item.tracks) this.shares(view, tilesOf, item, top, naming);
      if (item.busy) this.gaps(view, marks.gaps, item, top, texts);
      if (item.track < 0) continue;
      const tiles = tilesOf(item.track);
      if (item.counter || tiles.length === 0) seen.add(item.track);
      if (tiles.length === 0) texts.push(['\u2026', this.labels + 6, top + item.height / 2, this.colors.faint]);
      for (const tile of tiles) {
        if (item.counter) this.counter(view, tile, item, top);
        else if (this.row(view, tile, item, top, naming, texts)) seen.add(item.track);
      }
    }
    context.putImageData(this.image, 0, 0);
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.font = font;
    context.textBaseline = 'middle';
    for (const [text, x, y, color] of texts) {
      if (!color) {
        context.fillStyle = this.colors.ground;
        context.fillRect(x - 2, y - 6, this.widthOf(text) + 4, 12);
      }
      context.fillStyle = color || this.colors.text;
      context.fillText(text, x, y);
    }
    this.marks(view, marks, items, scroll);
    this.side(items, scroll, seen);
    this.arrows(view, marks.selected?.arrows ?? [], items, scroll);
    this.axis(view, marks.notes);
    context.setTransform(1, 0, 0, 1, 0, 0);
  }

  // Of the times, in pixels of the page.
  get axisWidth() { return this.width / this.ratio - this.labels; }
  x(view, time) { return this.left + (time - view.from) * this.scale; }

  widthOf(text) {
    let width = this.widths.get(text);
    if (width === undefined) {
      if (this.widths.size > 20_000) this.widths.clear();
      this.context.font = font;
      width = this.context.measureText(text).width;
      this.widths.set(text, width);
    }
    return width;
  }

  // As much of the beginning as there is room for; nothing, if that is less than three letters.
  fitting(text, room) {
    if (room < 16) return '';
    const whole = this.widthOf(text);
    if (whole <= room) return text;
    let length = Math.floor(text.length * room / whole);
    while (length > 2 && this.widthOf(`${text.slice(0, length)}\u2026`) > room) --length;
    return length > 2 ? `${text.slice(0, length)}\u2026` : '';
  }

  // Everything is blank but for hairlines under the marks of the ruler.
  clear(view) {
    this.blank.fill(this.groundPixel);
    for (const {x} of this.ticks(view)) {
      const at = Math.round(x * this.ratio);
      if (at >= this.left && at < this.width) this.blank[at] = this.linePixel;
    }
    for (let y = 0; y < this.height; ++y) this.pixels.set(this.blank, y * this.width);
  }

  // The part of a tile that is in the picture, in pixels.
  extent(view, tile) {
    const step = (tile.to - tile.from) / tile.width * this.scale, zero = this.x(view, tile.from);
    const first = Math.max(this.left, Math.ceil(zero - 0.001));
    return {step, zero, first, end: Math.min(this.width, Math.floor(zero + tile.width * step + 0.001))};
  }

  // Returns whether there is anything in the window.
  row(view, tile, item, top, naming, texts) {
    const row = tile.rows[item.row], shown = item.height - space;
    if (!row) return false;
    const y = Math.round(top * this.ratio), high = Math.round(shown * this.ratio);
    if (y < 0 && y + high < 0) return false;
    let any = false;
    const {lines, left, width} = this, {step, zero, first, end} = this.extent(view, tile);
    for (const line of lines) line.set(this.blank);
    let at = Math.max(0, lowerBound(row.end, (left - zero) / step) - 1);
    let runFrom = 0, runTo = -1, runCount = 0, runBusy = 0, runLongest = -1, runName = 0;
    const label = (text, from, to, color = '', short = text) => {
      const begin = Math.max(from, left) / this.ratio + 3, room = Math.min(to, width) / this.ratio - begin - 2;
      const shownText = this.fitting(this.widthOf(text) > room && this.widthOf(short) <= room ? short : text, room);
      if (shownText) texts.push([shownText, begin, top + shown / 2 + 0.5, color]);
    };
    const endRun = () => {
      if (runCount > 1 && runTo - runFrom > 90 * this.ratio) {
        const busy = percent(runBusy, (runTo - runFrom) / this.scale);
        label(`${runCount.toLocaleString('en-US')} ${item.noun}, longest ${plainName(naming.nameOf(runName)[0])}, ${busy} busy`, runFrom, runTo);
      }
      runCount = 0;
    };
    for (; at < row.length; ++at) {
      const from = zero + row.x[at] * step, to = zero + row.end[at] * step;
      if (from >= width) break;
      if (to < left + 0.001) continue;
      any = true;
      const a = Math.max(left, Math.floor(from + 0.001));
      const b = Math.min(width, Math.max(a + 1, Math.floor(to + 0.001)));
      const {fill, pale, label: onFill} = this.shadeOf(item, row.name[at], naming);
      if (row.count[at] === 1 && to - from > 3.999) {
        endRun();
        for (const line of lines) {
          line.fill(fill, a, b);
          if (from > left - 0.001) line[a] = pale;
        }
        if (to - from > 24 * this.ratio) label(naming.labelOf(item, row, at), from, to, onFill, plainName(naming.nameOf(row.name[at])[0]));
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
    if (end <= first) return any;
    for (let i = 0; i < high; ++i) {
      const line = y + i;
      if (line < ruler * this.ratio || line >= this.height) continue;
      this.pixels.set(lines[line & 3].subarray(first, end), line * width + first);
    }
    return any;
  }

  // A name that is not known yet is gray.
  shadeOf(item, name, {nameOf, marked}) {
    const work = nameOf(name)[2];
    return this.shade(work ? markOf(item.kind, work) : 'overhead', Boolean(marked && !marked.has(name)));
  }

  // For each pixel the share of its time in which the tracks have something open, as height.
  shares(view, tilesOf, item, top, naming) {
    const {left, width} = this, high = Math.round((item.height - space) * this.ratio), y = Math.round(top * this.ratio);
    const window = {zero: this.x(view, view.from) - left, scale: this.scale, width: width - left, view};
    const parts = busyShares(window, item.tracks.map(track => {
      const kind = item.kinds.get(track);
      return {tiles: tilesOf(track), colorOf: name => busyColor(kind, naming.nameOf(name)[2]), nested: kind !== 'stream'};
    }));
    const base = new Float64Array(width - left);
    for (const [color, shares] of parts) {
      const {fill} = this.shade(color);
      for (let x = 0; x < shares.length; ++x) {
        if (shares[x] === 0) continue;
        const from = base[x], to = Math.min(1, from + shares[x]);
        base[x] = to;
        // A share that is not 0 is visible.
        const upper = y + high - Math.max(Math.round(to * high), 1), lower = y + high - Math.round(from * high);
        for (let line = Math.max(upper, Math.round(ruler * this.ratio)); line < lower && line < this.height; ++line) {
          this.pixels[line * width + left + x] = fill;
        }
      }
    }
    const floor = y + high;
    if (floor >= ruler * this.ratio && floor < this.height) this.pixels.fill(this.linePixel, floor * width + left, floor * width + width);
  }

  // Times without GPU work, under the row's floor, with what the host was in.
  gaps(view, gaps, item, top, texts) {
    const {left, width} = this, y = Math.round((top + item.height - space) * this.ratio), high = Math.round(2 * this.ratio);
    for (const gap of gaps) {
      if (gap.device !== item.device || gap.run !== item.run) continue;
      const from = this.x(view, gap.at), to = this.x(view, gap.at + gap.time);
      const a = Math.max(left, Math.ceil(from)), b = Math.min(width, Math.floor(to));
      if (b - a < 2) continue;
      const {fill} = this.shade(gap.cause);
      for (let line = y; line < y + high; ++line) {
        if (line >= ruler * this.ratio && line < this.height) this.pixels.fill(fill, line * width + a, line * width + b);
      }
      const begin = a / this.ratio + 4, [host] = gap.host;
      const room = b / this.ratio - begin - 4, words = [`idle ${time(gap.time)}${host ? `: ${host[0]}` : ''}`, `idle ${time(gap.time)}`, time(gap.time)];
      const text = words.find(each => this.widthOf(each) <= room);
      if (text) texts.push([text, begin, top + item.height / 2 - 1, this.colors.faint]);
    }
  }

  counter(view, tile, item, top) {
    const {width} = this, points = tile.points, {step, zero, first, end} = this.extent(view, tile);
    const low = Math.min(0, item.least()), high = Math.max(item.most(), low + 1e-9);
    const y = Math.round(top * this.ratio), tall = Math.round((item.height - 6) * this.ratio);
    const level = value => y + tall - 1 - Math.round((value - low) / (high - low) * (tall - 1));
    const column = (x, from, to, pixel) => {
      for (let line = Math.max(from, Math.round(ruler * this.ratio)); line <= to && line < this.height; ++line) {
        this.pixels[line * width + x] = pixel;
      }
    };
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
      column(x, y, y + tall, this.blank[x]);
      if (most === null) continue;
      column(x, level(most), level(low), this.counterPale);
      column(x, level(most), Math.max(level(least), level(most) + 1), this.counterPixel);
    }
  }

  marks(view, marks, items, scroll) {
    const {context, ratio} = this;
    if (marks.range) {
      const from = this.x(view, marks.range.from) / ratio, to = this.x(view, marks.range.to) / ratio;
      context.fillStyle = this.colors.accent;
      context.globalAlpha = 0.15;
      context.fillRect(from, ruler, to - from, this.height / ratio);
      context.globalAlpha = 1;
      for (const edge of [from, to]) context.fillRect(edge - 0.5, ruler, 1, this.height / ratio);
    }
    if (!marks.selected) return;
    const place = marks.selected;
    const item = items.find(each => each.track === place.track && each.row === place.row);
    if (!item) return;
    const from = Math.max(this.x(view, place.begin) / ratio, this.labels - 2);
    const to = Math.max(from + 2, this.x(view, place.end) / ratio);
    context.strokeStyle = this.colors.accent;
    context.lineWidth = 2;
    context.strokeRect(from, ruler + item.top - scroll - 1, to - from, item.height - space + 2);
  }

  // Curves between rows of the layout; those that leave the picture end at its edge.
  arrows(view, arrows, items, scroll) {
    if (arrows.length === 0) return;
    const {context, ratio} = this, width = this.width / ratio;
    const key = place => place.track * 1024 + place.row;
    const tops = new Map(arrows.flatMap(({from, to}) => [[key(from)], [key(to)]]));
    let shown = rowHeight - space;
    for (const item of items) {
      if (item.track < 0 || !tops.has(key(item))) continue;
      tops.set(key(item), ruler + item.top - scroll);
      shown = item.height - space;
    }
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

  // Names of rows; faint, if there is nothing next to them.
  side(items, scroll, seen) {
    const {context} = this, height = this.height / this.ratio, room = this.labels - 24;
    context.fillStyle = this.colors.ground;
    context.fillRect(0, ruler, this.labels, height);
    context.fillStyle = this.colors.line;
    context.fillRect(this.labels - 1, ruler, 1, height);
    for (const item of items) {
      const top = ruler + item.top - scroll, middle = top + (item.height - space) / 2 + 0.5;
      if (top > height || top + item.height < ruler) continue;
      if (item.group) {
        context.fillStyle = item.heading ? this.colors.line : this.colors.raised;
        context.fillRect(0, top, item.tracks ? this.labels - 1 : this.width, groupHeight - 2);
        context.fillStyle = this.colors.text;
        context.font = item.heading ? `bold ${font}` : font;
        const text = `${item.closed ? '\u25b8' : '\u25be'}  ${item.group}`;
        context.fillText(item.tracks ? this.fitting(text, this.labels - 10) : text, 6, top + groupHeight / 2 - 1);
        context.font = font;
      } else if (item.label) {
        context.fillStyle = item.busy || seen.has(item.track) ? this.colors.text : this.colors.faint;
        if (item.busy) context.font = `bold ${font}`;
        context.fillText(this.fitting(item.label, room), 16, item.counter ? top + 12 : middle);
        context.font = font;
        if (item.counter) {
          context.fillStyle = this.colors.faint;
          context.fillText(this.fitting(`${value(item.least(), item.unit)} to ${value(item.most(), item.unit)}`, room), 16, top + 28);
        }
      }
    }
  }

  // The marks of the ruler: each has a time and a place in pixels of the page.
  ticks(view) {
    const span = view.to - view.from, width = this.axisWidth;
    let step = 10 ** Math.floor(Math.log10(Math.max(span / (width / 120), 1)));
    for (const factor of [2, 2.5, 2]) if (span / step > width / 110) step *= factor;
    // Numbered, because adding a small step to a large time might not change it.
    const first = Math.ceil(view.from / step), ticks = [];
    const count = Math.min(Math.floor(view.to / step) - first, width);
    for (let i = 0; i <= count; ++i) {
      const at = (first + i) * step;
      ticks.push({at, step, x: this.labels + (at - view.from) / span * width});
    }
    return ticks;
  }

  axis(view, notes) {
    const {context} = this;
    context.fillStyle = this.colors.raised;
    context.fillRect(0, 0, this.width, ruler);
    context.fillStyle = this.colors.faint;
    for (const {at, step, x} of this.ticks(view)) {
      context.fillRect(x, ruler - 6, 1, 6);
      const text = moment(at, step);
      if (x + 3 + this.widthOf(text) <= this.labels + this.axisWidth) context.fillText(text, x + 3, ruler / 2);
    }
    for (const {at, text} of notes) {
      const x = this.x(view, at) / this.ratio;
      if (x < this.labels || x > this.width / this.ratio) continue;
      const shown = this.fitting(text, 160) || '\u2022', width = this.widthOf(shown) + 8;
      context.fillStyle = this.colors.accent;
      context.fillRect(x - 0.5, 0, 1, this.height);
      context.fillRect(x, 2, width, ruler - 5);
      context.fillStyle = onMark(this.colors.accent);
      context.fillText(shown, x + 4, ruler / 2);
    }
  }
}
