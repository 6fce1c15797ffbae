// @ts-check
// The user's input: keys, wheel, pointers and forms.
import {ruler} from './draw.js';
import {moment} from './format.js';
import {noteAt, writeNote} from './notes.js';
import {isDark} from './palette.js';
import {keys, list} from './panel.js';
import {Pinch} from './walk.js';
import {get, remember, state} from './state.js';
import {fit, layout, move, painter, redraw, show, showAll, timeAt, zoom} from './timeline.js';
import {clickAt, follow, hint, listFound, mark, panel, search, selectRange, tellAll, unmark, walkAcross, walkAlong, walkFound} from './choose.js';

const showKeys = () => panel('Keys', [list(keys)], true);

function noteHere() {
  const {marks: {selected, range}, view} = state, at = selected?.begin ?? range?.from ?? (view.from + view.to) / 2;
  writeNote(at, state.notes.find(note => note.at === at)?.text);
}

const actions = {
  w: () => zoom(0.7), s: () => zoom(1 / 0.7), a: () => move(-0.2), d: () => move(0.2),
  ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2),
  ArrowUp: () => walkAcross(-1), ArrowDown: () => walkAcross(1), '.': () => walkAlong(1), ',': () => walkAlong(-1),
  '+': () => zoom(0.7), '-': () => zoom(1 / 0.7), f: fit, 0: showAll,
  '/': () => get('text').focus(), '?': showKeys,
  n: () => walkFound(1), N: () => walkFound(-1), m: noteHere,
  Escape: () => { mark(null); unmark(); },
};

let pointed = null;  // where the pointer is on the picture

// A line at the pointer with its time.
function cross(point) {
  pointed = point;
  const element = get('cross');
  element.hidden = !point || point.x < painter.labels;
  if (element.hidden) return;
  element.style.left = `${point.x}px`;
  element.firstChild.textContent = moment(timeAt(point.x), (state.view.to - state.view.from) / painter.axisWidth);
  element.classList.toggle('back', point.x > painter.labels + painter.axisWidth - 120);
}

// The end of the selected range that does not move with the pointer, if that is at the other end.
function rangeFrom(x) {
  const {range} = state.marks;
  if (!range) return null;
  const [from, to] = [range.from, range.to].map(time => painter.x(state.view, time) / painter.ratio), slack = 4;
  return Math.abs(x - from) < slack ? range.to : Math.abs(x - to) < slack ? range.from : null;
}

function listenToPointers(canvas) {
  let drag = null;
  const at = event => {
    const box = canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  };
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    const by = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey) get('scroll').scrollTop += event.deltaY * by;
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move((event.deltaX || event.deltaY) * by / 1000);
    else zoom(1.0016 ** (event.deltaY * by), timeAt(Math.max(at(event).x, painter.labels)));
  }, {passive: false});
  const times = () => ({view: state.view, scroll: get('scroll').scrollTop, left: painter.labels, width: painter.axisWidth});
  const pinch = new Pinch(times, (from, to, scroll) => {
    get('scroll').scrollTop = scroll;
    show(from, to);
  });
  canvas.addEventListener('pointerdown', event => {
    canvas.setPointerCapture(event.pointerId);
    const point = at(event), other = point.x >= painter.labels ? rangeFrom(point.x) : null;
    const inRuler = point.y < ruler && point.x >= painter.labels, ranges = other !== null || event.shiftKey || inRuler;
    const begin = {...point, view: state.view, scroll: get('scroll').scrollTop, range: ranges, anchor: other ?? timeAt(point.x), moved: false};
    drag = pinch.down(event.pointerId, at(event)) ? null : begin;
  });
  canvas.addEventListener('pointermove', event => {
    const pointer = at(event);
    if (pinch.move(event.pointerId, pointer)) return;
    if (drag && Math.abs(pointer.x - drag.x) + Math.abs(pointer.y - drag.y) > 4) drag.moved = true;
    if (drag?.moved && drag.range) {
      const [from, to] = [drag.anchor, timeAt(pointer.x)].sort((a, b) => a - b);
      mark(null, {from, to});
    } else if (drag?.moved) {
      const by = (drag.x - pointer.x) / painter.axisWidth * (drag.view.to - drag.view.from);
      get('scroll').scrollTop = drag.scroll + drag.y - pointer.y;
      show(drag.view.from + by, drag.view.to + by);
    }
    hint(drag ? null : pointer);
    cross(pointer);
    canvas.style.cursor = !drag && rangeFrom(pointer.x) !== null ? 'ew-resize' : '';
  });
  const endDrag = event => { pinch.up(event.pointerId); drag = null; };
  canvas.addEventListener('pointerup', event => {
    const ended = drag;
    endDrag(event);
    if (ended?.moved && ended.range) selectRange(state.marks.range);
    else if (ended && !ended.moved) click(ended);
  });
  canvas.addEventListener('pointercancel', endDrag);
  canvas.addEventListener('pointerleave', () => { hint(null); cross(null); });
}

function click({x, y}) {
  const note = y < ruler && x >= painter.labels ? noteAt(x) : null;
  if (note) writeNote(note.at, note.text);
  else clickAt(x, y);
}

function resized() {
  painter.resize();
  if (state.run) layout();
  state.jumped ||= state.folded;  // there is more or less room for what was folded
  redraw();
}

// The panel's width, by pointer or arrow keys.
function listenToDivide() {
  const divide = get('divide'), panel = get('panel');
  const widen = by => {
    const width = Math.max(160, panel.getBoundingClientRect().width + by);
    panel.style.width = `${width}px`;
    divide.setAttribute('aria-valuenow', `${Math.round(100 * width / innerWidth)}`);
  };
  let from = null;
  divide.addEventListener('pointerdown', event => { divide.setPointerCapture(event.pointerId); from = event.clientX; });
  divide.addEventListener('pointermove', event => {
    if (from === null) return;
    widen(from - event.clientX);
    from = event.clientX;
  });
  for (const name of ['pointerup', 'pointercancel']) divide.addEventListener(name, () => { from = null; });
  divide.addEventListener('keydown', event => {
    const by = {ArrowLeft: 20, ArrowRight: -20}[event.key];
    if (!by) return;
    event.stopPropagation();
    event.preventDefault();
    widen(by);
  });
}

function newColors() {
  painter.theme();
  redraw();
}

// `more`: actions of further keys. `align(name, nth)` aligns two runs.
export function listen(more, align) {
  const canvas = get('canvas');
  listenToPointers(canvas);
  get('scroll').addEventListener('scroll', redraw);
  window.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (['INPUT', 'TEXTAREA', 'SELECT'].includes(/** @type {Element} */ (event.target).tagName)) {
      if (event.key === 'Escape') canvas.focus();
      return;
    }
    const action = actions[event.key] ?? more[event.key];
    if (!action) return;
    event.preventDefault();
    action();
  });
  get('search').addEventListener('submit', event => { event.preventDefault(); search(); });
  get('align').addEventListener('submit', async event => {
    event.preventDefault();
    await align(get('name').value, Math.max(1, Math.floor(Number(get('nth').value)) || 1));
    showAll();
    tellAll();
  });
  get('whole').addEventListener('click', showAll);
  get('help').addEventListener('click', showKeys);
  get('found').addEventListener('click', listFound);
  get('unmark').addEventListener('click', unmark);
  get('theme').addEventListener('click', () => {
    document.documentElement.style.colorScheme = isDark() ? 'light' : 'dark';
    newColors();
    remember();
  });
  listenToDivide();
  document.addEventListener('viewmove', () => { follow(); cross(pointed); });
  new ResizeObserver(resized).observe(canvas);
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', newColors);
}
