// @ts-check
// The whole run in a strip, with the window as a frame that can be dragged.
import {isDark} from './palette.js';
import {busyShares} from './share.js';
import {state} from './state.js';

const mostLanes = 4;

export class Minimap {
  // `painter` has the colors; `colorOf(name)` that of a record; `show(from, to)` shows a window.
  constructor(canvas, frame, painter, colorOf, show) {
    this.canvas = canvas;
    this.frame = frame;
    this.painter = painter;
    this.colorOf = colorOf;
    this.show = show;
    this.context = canvas.getContext('2d', {alpha: false});
    this.drawn = '';
    this.listen();
  }

  get width() { return this.canvas.clientWidth; }
  time(x) { return state.run.begin + x / this.width * (state.run.end - state.run.begin); }
  x(time) { return (time - state.run.begin) / (state.run.end - state.run.begin) * this.width; }

  // The frame always; the strip when what it shows has changed.
  draw() {
    const {run, view, whole, names} = state, {canvas, frame, width} = this;
    if (run.records === 0 || width === 0) return;
    const from = Math.max(0, this.x(view.from)), to = Math.min(width, this.x(view.to));
    frame.style.left = `${Math.min(from, width - 3)}px`;
    frame.style.width = `${Math.max(3, to - from)}px`;
    const gpus = [...new Set(run.tracks.flatMap(track => track.kind === 'stream' ? [`${track.run} ${track.device}`] : []))].slice(0, mostLanes);
    const of = gpus.map(gpu => run.tracks.flatMap((track, i) => track.kind === 'stream' && `${track.run} ${track.device}` === gpu && whole.has(i) ? [i] : []));
    const key = [width, canvas.clientHeight, this.painter.ratio, isDark(), names.size, run.begin, run.end, of.flat().map(i => whole.get(i).to)].join();
    if (key === this.drawn) return;
    this.drawn = key;
    this.paint(of);
  }

  paint(lanes) {
    const {canvas, context, painter} = this, {begin, end} = state.run;
    const wide = canvas.width = Math.round(this.width * painter.ratio), tall = canvas.height = Math.round(canvas.clientHeight * painter.ratio);
    const image = context.createImageData(wide, tall), pixels = new Uint32Array(image.data.buffer).fill(painter.groundPixel);
    const high = Math.floor(tall / Math.max(1, lanes.length)), window = {zero: 0, scale: wide / (end - begin), width: wide, view: {from: begin, to: end}};
    lanes.forEach((tracks, lane) => {
      const parts = busyShares(window, tracks.map(track => ({tiles: [state.whole.get(track)], colorOf: this.colorOf, nested: false})));
      const base = new Float64Array(wide), floor = (lane + 1) * high - 1;
      for (const [color, shares] of parts) {
        const {fill} = painter.shade(color);
        shares.forEach((share, x) => {
          if (share === 0) return;
          const from = Math.round(base[x] * (high - 2));
          base[x] = Math.min(1, base[x] + share);
          const to = Math.max(from + 1, Math.round(base[x] * (high - 2)));
          for (let y = from; y < to; ++y) pixels[(floor - 1 - y) * wide + x] = fill;
        });
      }
      pixels.fill(painter.linePixel, floor * wide, (floor + 1) * wide);
    });
    context.putImageData(image, 0, 0);
  }

  // Inside the frame it is dragged, at its edges made wider or narrower, outside it goes there.
  listen() {
    const {canvas, frame} = this, area = canvas.parentElement;
    let drag = null;
    const at = event => event.clientX - canvas.getBoundingClientRect().left;
    area.addEventListener('pointerdown', event => {
      area.setPointerCapture(event.pointerId);
      const {from, to} = state.view, x = at(event), left = frame.offsetLeft, right = left + frame.offsetWidth, slack = 5;
      const edge = Math.abs(x - left) < slack ? 'from' : Math.abs(x - right) < slack ? 'to' : '';
      drag = {x, from, to, edge: right - left > 3 * slack ? edge : ''};
      if (drag.edge || x > left && x < right) return;
      const middle = this.time(x), half = (to - from) / 2;
      Object.assign(drag, {from: middle - half, to: middle + half});
      this.show(drag.from, drag.to);
    });
    area.addEventListener('pointermove', event => {
      if (!drag) return;
      const by = this.time(at(event)) - this.time(drag.x), {from, to, edge} = drag;
      if (edge === 'from') this.show(Math.min(from + by, to - 1), to);
      else if (edge === 'to') this.show(from, Math.max(to + by, from + 1));
      else this.show(from + by, to + by);
    });
    for (const name of ['pointerup', 'pointercancel']) area.addEventListener(name, () => { drag = null; });
  }
}
