// @ts-check
// The timeline: which window, rows and tiles are drawn, and what is drawn where.
import {moment, time} from './format.js';
import {Painter, counterHeight, groupHeight, rowHeight, ruler} from './draw.js';
import {lowerBound} from './tiles.js';
import {source} from './source.js';
import {get, remember, state} from './state.js';

export const painter = new Painter(get('canvas'));

export function nameOf(id) {
  const known = state.names.get(id);
  if (known) return known;
  state.wantedNames.add(id);
  return ['\u2026', '\u2026', ''];
}

async function fetchNames() {
  if (state.naming || state.wantedNames.size === 0) return;
  const ids = [...state.wantedNames].slice(0, 1000);
  state.wantedNames.clear();
  state.naming = true;
  try {
    for (const [id, texts] of Object.entries(await source.names(ids))) state.names.set(Number(id), texts);
  } catch {  // as tiles: they say so
    await new Promise(done => setTimeout(done, 1000));
  }
  state.naming = false;
  redraw();
}

// The groups that must be open for a track to be visible: its run, and its path.
export function groupsOf(track) {
  return [`${track.run}`, `${track.run} ${track.path.slice(0, -1).join(' \u203a ')}`];
}

export function layout() {
  const {closed, ranges} = state, items = state.items = [];
  let top = 0, group = null, shownRun = -1;
  const add = (height, item) => {
    items.push({top, height, ...item});
    top += height;
  };
  const head = (key, text, heading) => add(groupHeight, {group: text, key, heading, closed: closed.has(key), track: -1});
  state.run.tracks.forEach((track, number) => {
    if (source.isPair && track.run !== shownRun) {
      shownRun = track.run;
      head(`${shownRun}`, source.titles[shownRun], true);
    }
    const [ofRun, key] = groupsOf(track);
    if (closed.has(ofRun)) return;
    if (key !== group) {
      group = key;
      head(key, track.path.slice(0, -1).join(' \u203a '), false);
    }
    if (closed.has(key)) return;
    const label = track.path.at(-1);
    if (track.kind === 'counter') {
      const range = () => ranges.get(number) ?? [0, 1];
      return add(counterHeight, {label, track: number, row: 0, counter: true, unit: track.unit,
                                 least: () => range()[0], most: () => range()[1]});
    }
    for (let row = 0; row < track.rows; ++row) {
      add(rowHeight, {label: row === 0 ? label : '', track: number, row, noun: track.noun, kind: track.kind});
    }
  });
  get('height').style.height = `${top + ruler}px`;
}

function visibleTracks() {
  const scroll = get('scroll').scrollTop, height = painter.height / painter.ratio;
  const shown = state.items.filter(item => item.track >= 0 && item.top + item.height > scroll - height && item.top < scroll + 2 * height);
  return [...new Set(shown.map(item => item.track))].slice(0, 512);
}

function pixels() { return Math.max(1, painter.width - Math.round(painter.labels * painter.ratio)); }
function coversView(tile) {
  return tile.covers(Math.max(state.view.from, state.run.begin), Math.min(state.view.to, state.run.end));
}

function isGood(tile) {
  const asked = pixels() / (state.view.to - state.view.from);
  return !tile.old && coversView(tile) && Math.abs(tile.density / asked - 1) < 0.01;
}

// One request at a time; when it is done, the newest view is requested.
async function ask() {
  const {view, run, tiles, whole} = state;
  if (state.asking) return;
  const wanted = visibleTracks().filter(track => !tiles.has(track) || !isGood(tiles.get(track)));
  if (wanted.length === 0) return;
  state.asking = true;
  const span = view.to - view.from, margin = Math.min(0.5, (8192 / pixels() - 1) / 2);
  const from = Math.floor(view.from - margin * span), to = Math.max(from + 1, Math.ceil(view.to + margin * span));
  const width = Math.max(1, Math.min(8192, Math.round((to - from) * pixels() / span)));
  const {shifts, version} = source;
  try {
    const answer = await source.tiles(wanted, from, to, width, view);
    for (const [track, tile] of shifts === source.shifts && version === source.version ? answer : []) {
      tiles.set(track, tile);
      if (!whole.has(track) || tile.covers(run.begin, run.end)) whole.set(track, tile);
      if (run.tracks[track].kind === 'counter') widen(track, tile.points);
    }
    get('status').textContent = state.standing;
  } catch (error) {
    if (!error.grown) get('status').textContent = `${error.message}. Is gpuprof view still running?`;
    await new Promise(done => setTimeout(done, 1000));
  }
  state.asking = false;
  redraw();
}

function widen(track, points) {
  const range = state.ranges.get(track) ?? [0, 0];
  for (let i = 0; i < points.length; i += 4) {
    range[0] = Math.min(range[0], points[i + 1]);
    range[1] = Math.max(range[1], points[i + 2]);
  }
  state.ranges.set(track, range);
}

export function tilesOf(track) {
  const newest = state.tiles.get(track), all = state.whole.get(track);
  if (!newest) return all ? [all] : [];
  return all && all !== newest && !coversView(newest) ? [all, newest] : [newest];
}

export function redraw() {
  if (state.drawn) return;
  state.drawn = true;
  requestAnimationFrame(() => {
    const {view, items, tiles, marks} = state;
    state.drawn = false;
    painter.draw(view, items, get('scroll').scrollTop, tilesOf, nameOf, marks);
    const step = (view.to - view.from) / 1000;
    get('window').textContent = `${moment(view.from, step)} to ${moment(view.to, step)}: ${time(view.to - view.from)}`;
    if (!document.body.dataset.drawn && tiles.size > 0) document.body.dataset.drawn = 'yes';
    ask();
    fetchNames();
  });
}

export function show(from, to) {
  const {run} = state, least = 20, most = (run.end - run.begin) * 1.2 + 100;
  const span = Math.min(Math.max(to - from, least), most), middle = (from + to) / 2;
  from = Math.min(Math.max(middle - span / 2, run.begin - span * 0.9), run.end - span * 0.1);
  state.view = {from, to: from + span};
  clearTimeout(state.remembering);
  state.remembering = setTimeout(remember, 200);
  redraw();
}

// Shows a range with some room around it.
export function showAround(from, to, part = 0.3, least = 10) {
  const margin = Math.max((to - from) * part, least);
  show(from - margin, to + margin);
}
export function showAll() { showAround(state.run.begin, state.run.end, 0.01, 0); }
// Shows a window of this length.
export function showAt(middle, span = state.view.to - state.view.from) { show(middle - span / 2, middle + span / 2); }

export function zoom(factor, at = (state.view.from + state.view.to) / 2) {
  show(at - (at - state.view.from) * factor, at + (state.view.to - at) * factor);
}

export function move(part) {
  const {from, to} = state.view, by = (to - from) * part;
  show(from + by, to + by);
}

export function fit() {
  const {range, selected} = state.marks;
  if (range) showAround(range.from, range.to);
  else if (selected) showAround(selected.begin, selected.end);
  else showAll();
}

export function timeAt(x) {
  return state.view.from + (x - painter.labels) / painter.axisWidth * (state.view.to - state.view.from);
}

export function itemAt(y) {
  const place = y - ruler + get('scroll').scrollTop;
  return state.items.find(item => place >= item.top && place < item.top + item.height);
}
export function itemOf({track, row}) { return state.items.find(each => each.track === track && each.row === row); }

// The piece drawn at a point: a record, a bucket or a counter's value.
export function pieceAt(x, y) {
  const item = x >= painter.labels && y >= ruler ? itemAt(y) : null;
  if (!item || item.group) return null;
  const tile = tilesOf(item.track).at(-1);
  if (!tile) return null;
  const at = tile.pixel(timeAt(x)), slack = tile.pixel(timeAt(x + 2)) - at;
  if (item.counter) {
    let i = 0;
    while (i + 4 < tile.points.length && tile.points[i + 4] <= at) i += 4;
    return tile.points.length ? {item, tile, point: tile.points[i + 3]} : null;
  }
  const row = tile.rows[item.row];
  if (!row) return null;
  const i = lowerBound(row.end, at - slack);
  if (i === row.length || row.x[i] > at + slack) return null;
  return {item, tile, row, i};
}

export function scrollTo(place) {
  const item = itemOf(place);
  if (item) get('scroll').scrollTop = Math.max(0, item.top - 100);
}
