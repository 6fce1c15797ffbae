// The viewer: state, events, and which tiles are needed.
import {count, moment, percent, time, value} from './format.js';
import {Painter, counterHeight, groupHeight, labels, rowHeight, ruler} from './draw.js';
import {lowerBound} from './tiles.js';
import {openSource} from './source.js';
import {Jumps} from './jump.js';
import {arrowsOf, linkButtons} from './links.js';
import {differences, folded, keys, list, make, sections, statistics, untimed} from './panel.js';
import {showSummary} from './summary.js';
import {Questions} from './sql.js';
import {Pinch, beside, firstInView} from './walk.js';

const get = id => document.getElementById(id);
const source = openSource();
const jumps = new Jumps(get('jumps'), goTo);
const painter = new Painter(get('canvas'));
const names = new Map();
const wantedNames = new Set();
const closed = new Set();
const tiles = new Map();  // by track: the newest
const whole = new Map();  // by track: of the whole run, where the newest does not cover
const ranges = new Map(); // by track: minimum and maximum of a counter
const marks = {range: null, selected: null};
let aligned = {name: '', nth: 1};
let questions, run, view, items = [], standing = '', asking = false, drawn = false, pointer = null, drag = null, walking = false;

function nameOf(id) {
  const known = names.get(id);
  if (known) return known;
  wantedNames.add(id);
  return ['\u2026', '\u2026'];
}

async function fetchNames() {
  const ids = [...wantedNames].slice(0, 200);
  wantedNames.clear();
  if (ids.length === 0) return;
  for (const [id, texts] of Object.entries(await source.names(ids))) names.set(Number(id), texts);
  redraw();
}

// The groups that must be open for a track to be visible: its run, and its path.
function groupsOf(track) {
  return [`${track.run}`, `${track.run} ${track.path.slice(0, -1).join(' \u203a ')}`];
}

function layout() {
  items = [];
  let top = 0, group = null, shownRun = -1;
  const head = (key, text, heading) => {
    items.push({group: text, key, heading, closed: closed.has(key), top, height: groupHeight, track: -1});
    top += groupHeight;
  };
  run.tracks.forEach((track, number) => {
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
      items.push({label, track: number, row: 0, top, height: counterHeight, counter: true, unit: track.unit,
                  least: () => range()[0], most: () => range()[1]});
      top += counterHeight;
      return;
    }
    for (let row = 0; row < track.rows; ++row) {
      items.push({label: row === 0 ? label : '', track: number, row, top, height: rowHeight, noun: track.noun});
      top += rowHeight;
    }
  });
  get('height').style.height = `${top + ruler}px`;
}

function visibleTracks() {
  const scroll = get('scroll').scrollTop, height = painter.height / painter.ratio;
  const result = new Set();
  for (const item of items) {
    if (item.track >= 0 && item.top + item.height > scroll - height && item.top < scroll + 2 * height) result.add(item.track);
  }
  return [...result].slice(0, 512);
}

function pixels() { return Math.max(1, painter.width - Math.round(labels * painter.ratio)); }

function isGood(tile) {
  if (tile.old) return false;
  const asked = pixels() / (view.to - view.from);
  // A report has nothing finer than what it returned for this density.
  const has = tile.density ?? tile.width / (tile.to - tile.from);
  return tile.covers(Math.max(view.from, run.begin), Math.min(view.to, run.end)) && Math.abs(has / asked - 1) < 0.01;
}

// One request at a time; when it is done, the newest view is requested.
async function ask() {
  if (asking) return;
  const wanted = visibleTracks().filter(track => !tiles.has(track) || !isGood(tiles.get(track)));
  if (wanted.length === 0) return;
  asking = true;
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
    get('status').textContent = standing;
  } catch (error) {
    if (!error.grown) get('status').textContent = `${error.message}. Is gpuprof view still running?`;
    await new Promise(done => setTimeout(done, 1000));
  }
  asking = false;
  redraw();
}

function widen(track, points) {
  const range = ranges.get(track) ?? [0, 0];
  for (let i = 0; i < points.length; i += 4) {
    range[0] = Math.min(range[0], points[i + 1]);
    range[1] = Math.max(range[1], points[i + 2]);
  }
  ranges.set(track, range);
}

function tilesOf(track) {
  const newest = tiles.get(track), all = whole.get(track);
  if (!newest) return all ? [all] : [];
  return all && all !== newest && !newest.covers(Math.max(view.from, run.begin), Math.min(view.to, run.end)) ? [all, newest] : [newest];
}

function redraw() {
  if (drawn) return;
  drawn = true;
  requestAnimationFrame(() => {
    drawn = false;
    painter.draw(view, items, get('scroll').scrollTop, tilesOf, nameOf, marks);
    const step = (view.to - view.from) / 1000;
    get('window').textContent = `${moment(view.from, step)} to ${moment(view.to, step)}: ${time(view.to - view.from)}`;
    if (!document.body.dataset.drawn && tiles.size > 0) document.body.dataset.drawn = 'yes';
    ask();
    fetchNames();
  });
}

function remember() {
  const state = new URLSearchParams({from: Math.round(view.from), to: Math.round(view.to)});
  if (marks.selected) state.set('at', [marks.selected.track, marks.selected.row, marks.selected.item].join());
  if (get('text').value) state.set('text', get('text').value);
  if (aligned.name) {
    state.set('name', aligned.name);
    state.set('nth', aligned.nth);
  }
  history.replaceState(null, '', `#${state}`);
}

let remembering = 0;
function show(from, to) {
  const least = 20, most = (run.end - run.begin) * 1.2 + 100;
  let span = Math.min(Math.max(to - from, least), most);
  const middle = (from + to) / 2;
  from = Math.min(Math.max(middle - span / 2, run.begin - span * 0.9), run.end - span * 0.1);
  view = {from, to: from + span};
  clearTimeout(remembering);
  remembering = setTimeout(remember, 200);
  redraw();
}

function zoom(factor, at = (view.from + view.to) / 2) {
  show(at - (at - view.from) * factor, at + (view.to - at) * factor);
}
function move(part) {
  const by = (view.to - view.from) * part;
  show(view.from + by, view.to + by);
}
function showAll() {
  const margin = (run.end - run.begin) * 0.01;
  show(run.begin - margin, run.end + margin);
}
function fit() {
  const target = marks.range ?? (marks.selected && {from: marks.selected.begin, to: marks.selected.end});
  if (!target) return showAll();
  const margin = Math.max((target.to - target.from) * 0.3, 10);
  show(target.from - margin, target.to + margin);
}

function timeAt(x) { return view.from + (x - labels) / (painter.width / painter.ratio - labels) * (view.to - view.from); }

function itemAt(y) {
  const place = y - ruler + get('scroll').scrollTop;
  return items.find(item => place >= item.top && place < item.top + item.height);
}

// The piece drawn at a point: a record or a bucket.
function pieceAt(x, y) {
  const item = x >= labels && y >= ruler ? itemAt(y) : null;
  if (!item || item.group) return null;
  const tile = tilesOf(item.track).at(-1);
  if (!tile) return null;
  const at = tile.pixel(timeAt(x)), slack = tile.pixel(timeAt(x + 2)) - at;
  if (item.counter) {
    let i = 0;
    while (i + 4 < tile.points.length && tile.points[i + 4] <= at) i += 4;
    return tile.points.length ? {item, point: tile.points[i + 3]} : null;
  }
  const row = tile.rows[item.row];
  if (!row) return null;
  const i = lowerBound(row.end, at - slack);
  if (i === row.length || row.x[i] > at + slack) return null;
  return {item, row, i, tile};
}

// The busy share of a bucket's pixels.
function busyShare(row, i, tile) {
  return percent(row.busy[i], tile.time(row.end[i]) - tile.time(row.x[i]));
}

function describe({item, row, i, tile, point}) {
  if (row === undefined) return `${item.label}\n${value(point, item.unit)}`;
  const [, full] = nameOf(row.name[i]);
  if (row.count[i] === 1) return `${full}\n${time(row.longest[i])}`;
  return `${count(row.count[i])} ${item.noun}, longest ${full} (${time(row.longest[i])}), ` +
    `${busyShare(row, i, tile)} busy\nZoom in to see them apart.`;
}

function hint() {
  const element = get('hint'), piece = pointer && !drag && pieceAt(pointer.x, pointer.y);
  element.hidden = !piece;
  if (!piece) return;
  element.textContent = describe(piece);
  const box = get('canvas').getBoundingClientRect();
  const left = pointer.x > box.width * 0.6;
  element.style.left = left ? 'auto' : `${pointer.x + 12}px`;
  element.style.right = left ? `${box.width - pointer.x + 12}px` : 'auto';
  element.style.top = pointer.y > box.height * 0.7 ? 'auto' : `${pointer.y + 14}px`;
  element.style.bottom = pointer.y > box.height * 0.7 ? `${box.height - pointer.y + 8}px` : 'auto';
}

function panel(title, parts) {
  get('panel').replaceChildren(make('h2', title), ...parts);
}

async function tell(title, promise, render, above = []) {
  try {
    panel(title, [...above, ...render(await promise)]);
  } catch (error) {
    panel(title, [...above, make('p', error.message)]);
  }
}

function select(place) {
  marks.selected = place;
  marks.range = null;
  remember();
  redraw();
  const of = source.isPair ? ` of ${source.titles[source.runOf(place.track)]}` : '';
  return tell(`Record${of}`, source.details({track: place.track, row: place.row, item: place.item}),
              answer => recordParts(place, answer));
}

// The panel of the selected record. Its arrows disappear when another is selected.
function recordParts(place, answer) {
  place.arrows = arrowsOf(answer);
  redraw();
  return [...linkButtons(answer, other => goAlong(answer.place, other)), ...sections(answer)];
}

// Selects the other end of an arrow and shows both.
async function goAlong(from, to) {
  for (const key of [from, to].flatMap(place => groupsOf(run.tracks[place.track]))) closed.delete(key);
  layout();
  const begin = Math.min(from.begin, to.begin), end = Math.max(from.end, to.end), margin = Math.max((end - begin) * 0.2, 10);
  show(begin - margin, end + margin);
  const [top, other] = [to, from].map(place => items.find(item => item.track === place.track && item.row === place.row)?.top ?? 0);
  const height = painter.height / painter.ratio - ruler, middle = (top + other + rowHeight) / 2;
  const both = Math.abs(top - other) + 2 * rowHeight < height;
  get('scroll').scrollTop = Math.max(0, both ? middle - height / 2 : top - 100);
  await select({...to});
  if (document.activeElement === document.body) (get('panel').querySelector('button') ?? get('canvas')).focus();
}

function tellOf(title, from, to, most, above = [], all = false) {
  if (!source.isPair) return tell(title, source.statistics(from, to), answer => statistics(answer, most, all), above);
  return tell(title, source.differences(from, to), answer => differences(answer, source.titles, 2 * most, all), above);
}

function tellAll() {
  return tellOf(source.isPair ? 'Both runs' : 'The whole run', Math.floor(run.begin), Math.ceil(run.end), 10, [], true);
}

async function align(name, nth) {
  try {
    await source.align(name, nth);
    aligned = {name, nth};
    const shift = source.shifts[1];
    get('shift').textContent = `${source.titles[1]} is shown ${time(Math.abs(shift))} ${shift < 0 ? 'earlier' : 'later'}`;
  } catch (error) {
    get('shift').textContent = error.message;
    return;
  }
  run = source.joined();
  tiles.clear();
  whole.clear();
  marks.selected = marks.range = null;
  jumps.set(await source.stops());
}

function selectRange(range, title = `${time(range.to - range.from)} from ${time(range.from)} on`, above = []) {
  marks.range = range;
  marks.selected = null;
  redraw();
  const from = Math.floor(range.from), to = Math.max(Math.ceil(range.to), from + 1);
  return tellOf(title, from, to, 20, above);
}

function scrollTo(track, row = 0) {
  const item = items.find(each => each.track === track && each.row === row);
  if (item) get('scroll').scrollTop = Math.max(0, item.top - 100);
}

// Moves to another record by key, and scrolls to it.
async function walk(find) {
  if (walking) return;
  walking = true;
  try {
    const place = await find(marks.selected);
    if (!place) return;
    const span = view.to - view.from, middle = (place.begin + place.end) / 2;
    if (place.begin > view.to || place.end < view.from) show(middle - span / 2, middle + span / 2);
    const item = items.find(each => each.track === place.track && each.row === place.row), {scrollTop} = get('scroll');
    const below = painter.height / painter.ratio - ruler - rowHeight;
    if (item && (item.top < scrollTop || item.top > scrollTop + below)) scrollTo(place.track, place.row);
    select(place);
  } catch (error) {
    get('status').textContent = error.message;
  } finally {
    walking = false;
  }
}

function recordRows() { return items.filter(item => item.track >= 0 && !item.counter); }
function firstPlace() {
  const top = get('scroll').scrollTop;
  return firstInView(recordRows().filter(item => item.top >= top), tilesOf, view);
}
function walkAlong(by) { return walk(selected => selected ? source.step(selected, by) : firstPlace()); }
function walkAcross(by) {
  if (!marks.selected) get('scroll').scrollTop += by * 3 * rowHeight;
  else walk(selected => beside(recordRows(), tilesOf, selected, by));
}

// Shows a time range, with its facts above its statistics.
function goTo(stop, title, facts) {
  const range = {from: stop.at, to: stop.at + stop.time};
  const margin = Math.max(stop.time * 0.3, 10);
  show(range.from - margin, range.to + margin);
  scrollTo(stop.track);
  return selectRange(range, title, [list(facts)]);
}

// Shows a time from a query's answer: the range of that length, or the moment, centered in the
// window.
function goToTime(at, length) {
  if (length > 0) return goTo({at, time: length, track: -1}, `${time(length)} from ${time(at)} on`, []);
  const span = view.to - view.from;
  show(at - span / 2, at + span / 2);
}

function clickAt(x, y) {
  const item = itemAt(y);
  if (item?.group && y >= ruler) {
    if (!closed.delete(item.key)) closed.add(item.key);
    layout();
    return redraw();
  }
  const piece = pieceAt(x, y);
  if (!piece?.row) return;
  const {row, i, tile} = piece;
  const place = {track: item.track, row: item.row, item: row.first[i],
                 begin: tile.time(row.x[i]), end: tile.time(row.end[i])};
  if (row.count[i] === 1) return select(place);
  marks.selected = place;
  marks.range = null;
  redraw();
  panel('A bucket', [make('p', describe(piece))]);
}

async function search() {
  const text = get('text').value;
  if (!text) return;
  try {
    const after = marks.selected ? Math.floor(marks.selected.begin) : Math.floor(run.begin) - 1;
    const found = await source.search(text, after);
    get('found').textContent = `${found.atLeast ? 'at least ' : ''}${count(found.count)} found${found.around && found.count ? ', from the start' : ''}`;
    if (!found.next) return;
    const {begin, end, track} = found.next;
    const span = Math.min(view.to - view.from, Math.max((end - begin) * 20, 1000));
    show((begin + end - span) / 2, (begin + end + span) / 2);
    scrollTo(track, found.next.row);
    select(found.next);
  } catch (error) {
    get('found').textContent = error.message;
  }
}

const actions = {
  w: () => zoom(0.7), s: () => zoom(1 / 0.7), a: () => move(-0.2), d: () => move(0.2),
  ArrowLeft: () => move(-0.2), ArrowRight: () => move(0.2),
  ArrowUp: () => walkAcross(-1), ArrowDown: () => walkAcross(1), '.': () => walkAlong(1), ',': () => walkAlong(-1),
  '+': () => zoom(0.7), '-': () => zoom(1 / 0.7), f: fit, 0: showAll,
  q: () => questions?.toggle(),
  '/': () => get('text').focus(), '?': () => panel('Keys', [list(keys)]),
  Escape: () => { marks.selected = marks.range = null; remember(); redraw(); },
};

function listen() {
  const canvas = get('canvas');
  const at = event => {
    const box = canvas.getBoundingClientRect();
    return {x: event.clientX - box.left, y: event.clientY - box.top};
  };
  canvas.addEventListener('wheel', event => {
    event.preventDefault();
    const by = event.deltaMode === 1 ? 16 : 1;
    if (event.ctrlKey) get('scroll').scrollTop += event.deltaY * by;
    else if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move((event.deltaX || event.deltaY) * by / 1000);
    else zoom(1.0016 ** (event.deltaY * by), timeAt(Math.max(at(event).x, labels)));
  }, {passive: false});
  const times = () => ({view, scroll: get('scroll').scrollTop, left: labels, width: painter.width / painter.ratio - labels});
  const pinch = new Pinch(times, (from, to, scroll) => {
    get('scroll').scrollTop = scroll;
    show(from, to);
  });
  canvas.addEventListener('pointerdown', event => {
    canvas.setPointerCapture(event.pointerId);
    if (pinch.down(event.pointerId, at(event))) {
      drag = null;
      return;
    }
    drag = {...at(event), view, scroll: get('scroll').scrollTop, range: event.shiftKey, moved: false};
  });
  canvas.addEventListener('pointermove', event => {
    pointer = at(event);
    if (pinch.move(event.pointerId, pointer)) return;
    if (drag && Math.abs(pointer.x - drag.x) + Math.abs(pointer.y - drag.y) > 4) drag.moved = true;
    if (drag?.moved && drag.range) {
      const ends = [timeAt(drag.x), timeAt(pointer.x)].sort((a, b) => a - b);
      marks.range = {from: ends[0], to: ends[1]};
      redraw();
    } else if (drag?.moved) {
      const by = (drag.x - pointer.x) / (painter.width / painter.ratio - labels) * (drag.view.to - drag.view.from);
      get('scroll').scrollTop = drag.scroll + drag.y - pointer.y;
      show(drag.view.from + by, drag.view.to + by);
    }
    hint();
  });
  canvas.addEventListener('pointerup', event => {
    pinch.up(event.pointerId);
    const ended = drag;
    drag = null;
    if (ended?.moved && ended.range) selectRange(marks.range);
    else if (ended && !ended.moved) clickAt(ended.x, ended.y);
  });
  canvas.addEventListener('pointercancel', event => {
    pinch.up(event.pointerId);
    drag = null;
  });
  canvas.addEventListener('pointerleave', () => { pointer = null; hint(); });
  get('scroll').addEventListener('scroll', redraw);
  window.addEventListener('keydown', event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (['INPUT', 'TEXTAREA', 'SELECT'].includes(event.target.tagName)) {
      if (event.key === 'Escape') canvas.focus();
      return;
    }
    const action = actions[event.key] ?? jumps.actions[event.key];
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
  get('help').addEventListener('click', () => panel('Keys', [list(keys)]));
  new ResizeObserver(() => { painter.resize(); redraw(); }).observe(canvas);
  window.matchMedia('(prefers-color-scheme: dark)').addEventListener('change', () => { painter.theme(); redraw(); });
}

// Shows what the address describes. Returns whether a record is selected.
async function restore() {
  const state = new URLSearchParams(location.hash.slice(1));
  const from = Number(state.get('from')), to = Number(state.get('to'));
  if (to > from) show(from, to);
  get('text').value = state.get('text') ?? '';
  const at = (state.get('at') ?? '').split(',').map(Number);
  const answer = at.length === 3 && await source.details({track: at[0], row: at[1], item: at[2]});
  marks.selected = answer ? answer.place : null;
  redraw();
  if (!answer) return false;
  panel('Record', recordParts(answer.place, answer));
  return true;
}

// Shows the run's title, losses and size.
function present() {
  document.title = `${run.title} \u2013 gpuprof`;
  get('title').textContent = run.title;
  const lost = get('losses');
  lost.hidden = run.losses.length === 0;
  // One line, until the user unfolds the rest.
  const [first, ...rest] = run.losses.map(text => make('p', text));
  if (first) first.className = 'first';
  const buttons = [];
  run.untimed.forEach((records, i) => {
    if (records === 0) return;
    const of = source.isPair ? ` of ${source.titles[i]}` : '', title = `GPU work without times${of}`;
    const button = make('button', `List the ${title}`);
    button.addEventListener('click', () => tell(title, source.untimed(i), untimed));
    buttons.push(button);
  });
  if (first && rest.length) {
    const more = folded('', [...rest]);
    more.firstChild.append(first, make('span', `and ${count(rest.length)} more`, 'more'));
    lost.replaceChildren(more, ...buttons);
  } else {
    lost.replaceChildren(...(first ? [first] : []), ...buttons);
  }
  standing = [`${count(run.stored)} records`, ...run.notes].join(' \u00b7 ');
  get('status').textContent = standing;
}

// Tracks are renumbered when there are more. What was drawn of them stays until something newer
// arrives.
function renumber(before) {
  const keyOf = track => JSON.stringify([track.kind, track.path]);
  const places = new Map(run.tracks.map((track, number) => [keyOf(track), number]));
  const place = number => places.get(keyOf(before.tracks[number]));
  for (const map of [tiles, whole, ranges]) {
    const all = [...map];
    map.clear();
    for (const [number, one] of all) {
      if (place(number) === undefined) continue;
      if (map !== ranges) one.old = true;
      map.set(place(number), one);
    }
  }
  if (marks.selected) marks.selected.track = place(marks.selected.track);
  if (marks.selected) marks.selected.arrows = [];
  get('panel').querySelector('.links')?.remove();
}

// Shows a newer reading of the recording. A view that includes the end moves along with it.
async function grow() {
  const before = run, answer = await source.run();
  run = answer;
  renumber(before);
  present();
  layout();
  if (run.records === 0) return;
  if (before.records === 0) return begin();
  const all = view.from <= before.begin && view.to >= before.end, by = run.end - before.end;
  if (all) showAll();
  else if (view.to >= before.end) show(view.from + by, view.to + by);
  else redraw();
  source.stops().then(stops => jumps.set(stops)).catch(complain);
  if (all && !marks.selected && !marks.range) tellAll();
}

async function follow() {
  while (source.grows) {
    await new Promise(done => setTimeout(done, 500));
    try {
      if ((await source.growth()).version !== source.version) await grow();
    } catch (error) {
      complain(error);
    }
  }
}

function complain(error) { get('status').textContent = error.message; }

async function start() {
  run = await source.run();
  present();
  const state = new URLSearchParams(location.hash.slice(1));
  if (source.isPair) {
    document.body.classList.add('two');
    get('align').hidden = false;
    get('name').value = state.get('name') ?? '';
    get('nth').value = state.get('nth') ?? 1;
    await align(get('name').value, Number(get('nth').value));
  }
  painter.resize();
  layout();
  listen();
  if (source.data) get('ask').hidden = true;
  else questions = new Questions(get, source, goToTime, () => [run.begin, run.end]);
  follow();
  if (run.records > 0) return begin();
  view = {from: 0, to: 1};
  panel('Nothing to draw', [make('p', `No record of this run has a time${source.grows ? ' yet' : ''}.`),
                            ...run.notes.map(note => make('p', note))]);
  showSummary(source, run);
}

// Called when there is something to show.
async function begin() {
  showAll();
  if (!source.isPair) source.stops().then(stops => jumps.set(stops)).catch(complain);
  showSummary(source, run);
  window.addEventListener('hashchange', () => restore().catch(complain));
  if (!await restore() && !document.getElementById('data')) {
    tellAll();
  }
}

start().catch(complain);
