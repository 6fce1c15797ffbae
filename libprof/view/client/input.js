// @ts-check
// The user's input: keys, wheel, pointers and forms.
import {keys, list} from './panel.js';
import {Pinch} from './walk.js';
import {get, remember, state} from './state.js';
import {fit, move, painter, redraw, show, showAll, timeAt, zoom} from './timeline.js';
import {clickAt, hint, mark, panel, search, selectRange, tellAll, walkAcross, walkAlong} from './choose.js';

const showKeys = () => panel('Keys', [list(keys)]);

const actions = {
  w: () => zoom(0.7), s: () => zoom(1 / 0.7), a: () => move(-0.2), d: () => move(0.2),
  ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2),
  ArrowUp: () => walkAcross(-1), ArrowDown: () => walkAcross(1), '.': () => walkAlong(1), ',': () => walkAlong(-1),
  '+': () => zoom(0.7), '-': () => zoom(1 / 0.7), f: fit, 0: showAll,
  '/': () => get('text').focus(), '?': showKeys,
  Escape: () => { mark(null); remember(); },
};

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
    const begin = {...at(event), view: state.view, scroll: get('scroll').scrollTop, range: event.shiftKey, moved: false};
    drag = pinch.down(event.pointerId, at(event)) ? null : begin;
  });
  canvas.addEventListener('pointermove', event => {
    const pointer = at(event);
    if (pinch.move(event.pointerId, pointer)) return;
    if (drag && Math.abs(pointer.x - drag.x) + Math.abs(pointer.y - drag.y) > 4) drag.moved = true;
    if (drag?.moved && drag.range) {
      const [from, to] = [timeAt(drag.x), timeAt(pointer.x)].sort((a, b) => a - b);
      mark(state.marks.selected, {from, to});
    } else if (drag?.moved) {
      const by = (drag.x - pointer.x) / painter.axisWidth * (drag.view.to - drag.view.from);
      get('scroll').scrollTop = drag.scroll + drag.y - pointer.y;
      show(drag.view.from + by, drag.view.to + by);
    }
    hint(drag ? null : pointer);
  });
  const endDrag = event => { pinch.up(event.pointerId); drag = null; };
  canvas.addEventListener('pointerup', event => {
    const ended = drag;
    endDrag(event);
    if (ended?.moved && ended.range) selectRange(state.marks.range);
    else if (ended && !ended.moved) clickAt(ended.x, ended.y);
  });
  canvas.addEventListener('pointercancel', endDrag);
  canvas.addEventListener('pointerleave', () => hint(null));
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
  new ResizeObserver(() => { painter.resize(); redraw(); }).observe(canvas);
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { painter.theme(); redraw(); });
}
