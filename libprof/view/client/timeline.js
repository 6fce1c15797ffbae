// @ts-check
// The timeline: which window, rows and tiles are drawn, and what is drawn where.
import {moment, time} from './format.js';
import {Painter, counterHeight, groupHeight, mostMore, roomyRow, rowHeight, ruler, tallestRow} from './draw.js';
import {Minimap} from './map.js';
import {lowerBound} from './tiles.js';
import {source} from './source.js';
import {get, remember, state} from './state.js';
import {busyColor} from './palette.js';
import {fetchWanted, labelOf, nameOf} from './wanted.js';

export const painter = new Painter(get('canvas'));
const map = new Minimap(get('map'), get('frame'), painter, name => busyColor('stream', nameOf(name)[2]), (from, to) => show(from, to));

// What few people look at is in a group of its own, which is closed at first.
function minorOf(track) {
  if (track.kind === 'counter') return track.unit === 'bytes' ? 'memory' : '';
  return {synchronization: 'synchronizations', overhead: 'overhead'}[track.kind] ?? '';
}

// The groups that must be open for a track to be visible: its run, its path, and if it is minor a group inside that.
export function groupsOf(track) {
  const path = `${track.run} ${track.path.slice(0, -1).join(' \u203a ')}`;
  return [`${track.run}`, path, ...minorOf(track) ? [`${path} minor`] : []];
}

// The tracks of each group by key, in order; of the tracks of a run.
function grouped(run) {
  /** @type {Map<string, number[]>} */ const groups = new Map();
  state.run.tracks.forEach((track, number) => {
    if (track.run !== run) return;
    const key = groupsOf(track)[1], own = groupsOf(track).at(-1);
    for (const each of [key, own]) if (!groups.has(each)) groups.set(each, []);
    groups.get(own).push(number);
  });
  return groups;
}

// Of the head of what is folded in a group because the window has nothing of it.
const quietKey = key => `${key} quiet`;

// Whether that is all of a group, but for counters that only keep their value.
function isQuiet(groups, key) {
  const minor = (groups.get(`${key} minor`) ?? []).filter(number => state.run.tracks[number].kind !== 'counter');
  return [...groups.get(key), ...minor].every(number => state.quiet.has(number));
}

const rowsOf = members => members.reduce((sum, number) => sum + Math.max(1, state.run.tracks[number].rows), 0);

// What a group shows while it is closed: the shares of its streams; if it has none, of its ranges, or else of what it has.
function summary(tracks) {
  const kindOf = number => state.run.tracks[number].kind;
  const kind = ['stream', 'range', 'api', 'synchronization', 'overhead'].find(each => tracks.some(number => kindOf(number) === each));
  const some = tracks.filter(number => kindOf(number) === kind);
  return {tracks: some, kinds: new Map(some.map(number => [number, kind]))};
}

class Lines {
  // `more`: by how much what is drawn as an area is higher.
  constructor(high, more) {
    this.high = high;
    this.more = more;
    this.top = 0;
    /** @type {import('./state.js').Item[]} */ this.items = [];
  }
  add(height, item) {
    this.items.push({top: this.top, height, track: -1, ...item});
    this.top += height;
  }
  head(key, text, heading, tracks = []) {
    const closed = state.closed.has(key);
    this.add(groupHeight, {group: text, key, heading, closed, ...closed && tracks.length > 0 && summary(tracks)});
    return closed;
  }
  gpu(run, device) {
    const tracks = state.run.tracks.flatMap((track, i) => track.run === run && track.device === device && track.kind === 'stream' ? [i] : []);
    if (tracks.length > 0) this.add(2 * this.high + this.more, {label: 'GPU busy', busy: true, run, device, ...summary(tracks)});
  }
  track(number) {
    const {path, kind, unit, rows, noun} = state.run.tracks[number], label = path.at(-1);
    if (kind === 'counter') {
      const range = () => state.ranges.get(number) ?? [0, 1];
      return this.add(counterHeight + Math.floor(this.more / 2), {label, track: number, row: 0, counter: true, unit, least: () => range()[0], most: () => range()[1]});
    }
    for (let row = 0; row < rows; ++row) this.add(this.high, {label: row === 0 ? label : '', track: number, row, noun, kind});
  }
}

function linesOf(high, more = 0) {
  const lines = new Lines(high, more), {tracks, runs} = state.run, shownGpus = new Set();
  for (let run = 0; run < runs; ++run) {
    if (source.isPair && lines.head(`${run}`, source.titles[run], true)) continue;
    let closed = false;
    const groups = grouped(run);
    for (const [key, members] of groups) {
      const minor = key.endsWith(' minor');
      if (minor && closed) continue;
      const of = minor ? [...new Set(members.map(number => minorOf(tracks[number])))].join(', ') : key.slice(key.indexOf(' ') + 1);
      const all = isQuiet(groups, key), quiet = all ? [] : members.filter(number => state.quiet.has(number)), rows = rowsOf(quiet);
      const isClosed = lines.head(all ? quietKey(key) : key, of, false, members);
      if (!minor) closed = isClosed;
      if (isClosed) continue;
      for (const number of members) {
        const {device, kind} = tracks[number], gpu = `${run} ${device}`;
        if (kind === 'stream' && !shownGpus.has(gpu)) lines.gpu(run, device);
        if (kind === 'stream') shownGpus.add(gpu);
        if (rows < 2 || !quiet.includes(number)) lines.track(number);
      }
      if (rows > 1 && !lines.head(quietKey(key), `${rows} more rows`, false, quiet)) quiet.forEach(number => lines.track(number));
    }
  }
  return lines;
}

// Rows share the height that is left, in steps of 4 pixels, which the hatching needs to look alike; what they do not need,
// the GPUs' own rows and counters have.
export function layout() {
  const room = painter.height / painter.ratio - ruler, minors = state.run.tracks.map(track => groupsOf(track)[2]);
  const unseen = minors.filter(minor => minor && !state.known.has(minor));
  // Minor groups begin closed, unless there is room for all.
  if (unseen.length > 0 && linesOf(roomyRow).top > room) unseen.forEach(minor => state.closed.add(minor));
  unseen.forEach(minor => state.known.add(minor));
  let high = tallestRow, lines = linesOf(high);
  while (lines.top > room && high > rowHeight) lines = linesOf(high -= 4);
  const areas = lines.items.reduce((sum, item) => sum + (item.busy ? 1 : item.counter ? 0.5 : 0), 0);
  const more = Math.min(mostMore, room / 10, (room - lines.top) / areas);
  if (areas > 0 && more >= 8) lines = linesOf(high, 8 * Math.floor(more / 8));
  state.items = lines.items;
  get('height').style.height = `${lines.top + ruler}px`;
}

// Whether anything of a track is drawn in the window.
function isSeen(number) {
  const tile = state.tiles.get(number), {from, to} = state.view;
  if (number === state.marks.selected?.track || !tile) return true;
  return tile.points[0] < tile.pixel(to) || tile.rows.some(({x, end}) => x[lowerBound(end, tile.pixel(from) + 0.001)] < tile.pixel(to));
}

// If the page has no room for all rows at their full height, those with nothing in a window that was jumped to are folded, once
// all of it has come. Not when it is zoomed or moved: rows would change places under the pointer.
function foldQuiet() {
  const scroll = get('scroll');
  state.jumped = false;
  state.folded = true;
  state.quiet.clear();
  if (linesOf(tallestRow).top > painter.height / painter.ratio - ruler) {
    state.run.tracks.forEach((track, number) => {
      if (isSeen(number)) return;
      state.quiet.add(number);
      for (const key of groupsOf(track).slice(1).map(quietKey)) {
        if (!state.known.has(key)) state.closed.add(key);
        state.known.add(key);
      }
    });
  }
  // What is on top stays there.
  const top = state.items.find(item => item.track >= 0 && item.top >= scroll.scrollTop && !state.quiet.has(item.track));
  layout();
  const now = top && state.items.find(item => item.track === top.track && item.row === top.row);
  if (now) scroll.scrollTop += now.top - top.top;
}

function visibleTracks() {
  const scroll = get('scroll').scrollTop, height = painter.height / painter.ratio;
  const shown = state.items.filter(item => (item.track >= 0 || item.tracks) && item.top + item.height > scroll - height && item.top < scroll + 2 * height);
  return [...new Set(shown.flatMap(item => item.tracks ?? [item.track]))].slice(0, 512);
}

function pixels() { return Math.max(1, painter.width - Math.round(painter.labels * painter.ratio)); }
function coversView(tile) {
  return tile.covers(Math.max(state.view.from, state.run.begin), Math.min(state.view.to, state.run.end));
}

function isGood(tile) {
  const asked = pixels() / (state.view.to - state.view.from);
  return !tile.old && coversView(tile) && Math.abs(tile.density / asked - 1) < 0.01;
}

const allTracks = () => state.run.tracks.map((_, i) => i).slice(0, 512);

// One request at a time; when it is done, the newest view is requested.
async function ask() {
  const {view, run, tiles, whole, jumped} = state;
  if (state.asking || !state.remembering) return;  // without a window yet
  const wanted = (jumped ? allTracks() : visibleTracks()).filter(track => !tiles.has(track) || !isGood(tiles.get(track)));
  if (wanted.length === 0) {
    if (!jumped) return;
    foldQuiet();
    return redraw();
  }
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
    if (state.jumped && wanted.every(track => isGood(tiles.get(track)))) foldQuiet();
    get('status').textContent = state.standing;
    get('lost').hidden = true;
  } catch (error) {
    get('lost').hidden = Boolean(error.grown);
    get('lost').textContent = `No answer (${error.message}). Is gpuprof view still running?`;
    await new Promise(done => setTimeout(done, 1000));
  }
  state.asking = false;
  redraw();
}

// Pictures of the whole run: for the strip of it, and for what a newer tile does not cover.
export async function fetchWhole() {
  const {run, whole} = state, tracks = allTracks(), {shifts, version} = source;
  if (tracks.length === 0 || run.records === 0) return;
  const from = Math.floor(run.begin), to = Math.max(from + 1, Math.ceil(run.end));
  const answer = await source.tiles(tracks, from, to, 1200, {from, to});
  if (shifts !== source.shifts || version !== source.version) return;
  for (const [track, tile] of answer) {
    whole.set(track, tile);
    if (run.tracks[track].kind === 'counter') widen(track, tile.points);
  }
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
    const {gaps, notes, marked} = state, naming = {nameOf, labelOf, marked: marked?.names};
    painter.draw(view, items, get('scroll').scrollTop, tilesOf, naming, {...marks, gaps, notes});
    const step = (view.to - view.from) / 1000;
    get('window').textContent = `${moment(view.from, step)} to ${moment(view.to, step)}\n${time(view.to - view.from)}`;
    if (!document.body.dataset.drawn && tiles.size > 0) document.body.dataset.drawn = 'yes';
    map.draw();
    ask();
    fetchWanted(redraw);
  });
}

export function show(from, to) {
  const {run} = state, least = 20, most = (run.end - run.begin) * 1.2 + 100;
  const span = Math.min(Math.max(to - from, least), most), middle = (from + to) / 2;
  from = Math.min(Math.max(middle - span / 2, run.begin - span * 0.9), run.end - span * 0.1);
  state.view = {from, to: from + span};
  state.jumped = state.folded = false;
  clearTimeout(state.remembering);
  state.remembering = setTimeout(remember, 200);
  document.dispatchEvent(new Event('viewmove'));
  redraw();
}

// Shows a range with some room around it.
export function showAround(from, to, part = 0.3, least = 10) {
  const margin = Math.max((to - from) * part, least);
  show(from - margin, to + margin);
}
// Shows a range that may be anywhere.
export function jumpTo(from, to, part = 0.3, least = 10) {
  showAround(from, to, part, least);
  state.jumped = true;
}
export function showAll() { jumpTo(state.run.begin, state.run.end, 0.01, 0); }
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
  if (range) jumpTo(range.from, range.to);
  else if (selected) jumpTo(selected.begin, selected.end);
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
  if (!item || item.track < 0) return null;
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

// The time without GPU work at a point of a GPU's row.
export function gapAt(x, y) {
  const item = x >= painter.labels && y >= ruler ? itemAt(y) : null;
  if (!item?.busy) return null;
  const at = timeAt(x), isThere = gap => gap.device === item.device && gap.run === item.run && gap.at <= at && at < gap.at + gap.time;
  return state.gaps.find(isThere) ?? null;
}

export function scrollTo(place) {
  const item = itemOf(place);
  if (item) get('scroll').scrollTop = Math.max(0, item.top - 100);
}
