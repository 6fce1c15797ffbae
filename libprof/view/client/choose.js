// @ts-check
// What the user chooses, and what the panel says about it.
import {count, percent, plainName, time, value} from './format.js';
import {rowHeight, ruler} from './draw.js';
import {hostIn} from './jump.js';
import {source} from './source.js';
import {arrowsOf, linkButtons} from './links.js';
import {accounts} from './account.js';
import {compared, differences} from './compare.js';
import {pageOf} from './kernel.js';
import {button, card, list, make, statistics, table} from './panel.js';
import {beside, firstInView} from './walk.js';
import {get, remember, state} from './state.js';
import {gapAt, groupsOf, itemAt, itemOf, jumpTo, layout, painter, pieceAt, redraw, scrollTo, show, showAround, showAt, tilesOf} from './timeline.js';
import {nameOf} from './wanted.js';

function describe({item, tile, row = undefined, i = 0, point = 0}) {
  if (row === undefined) return `${item.label}\n${value(point, item.unit)}`;
  const [, full] = nameOf(row.name[i]);
  if (row.count[i] === 1) return `${full}\n${time(row.longest[i])}`;
  return `${count(row.count[i])} ${item.noun}, longest ${full} (${time(row.longest[i])}), ` +
    `${percent(row.busy[i], tile.time(row.end[i]) - tile.time(row.x[i]))} busy\nZoom in to see them apart.`;
}

function describeGap(gap) {
  return `GPU without work for ${time(gap.time)}\nHost in ${hostIn(gap)}\nBefore ${gap.behind}`;
}

// Describes what is drawn at a point, next to it.
export function hint(point) {
  const element = get('hint'), piece = point && pieceAt(point.x, point.y), gap = point && !piece && gapAt(point.x, point.y);
  const item = point && point.x < painter.labels && point.y >= ruler ? itemAt(point.y) : null;
  const text = piece ? describe(piece) : gap ? describeGap(gap) : item?.group ?? item?.label ?? '';
  element.hidden = !text;
  if (!text) return;
  element.textContent = text;
  const box = get('canvas').getBoundingClientRect(), left = point.x > box.width * 0.6, above = point.y > box.height * 0.7;
  element.style.left = left ? 'auto' : `${point.x + 12}px`;
  element.style.right = left ? `${box.width - point.x + 12}px` : 'auto';
  element.style.top = above ? 'auto' : `${point.y + 14}px`;
  element.style.bottom = above ? `${box.height - point.y + 8}px` : 'auto';
}

let latest = 0;  // of what the panel was to show

// `held`: it does not follow the window until something is selected or cleared.
export function panel(title, parts, held = false) {
  ++latest;  // answers that are still to come are to earlier questions
  get('panel').dataset.held = held ? 'yes' : '';
  get('panel').replaceChildren(make('h2', title), ...parts);
}

export async function tell(title, promise, render, above = [], held = false) {
  const number = ++latest;
  get('panel').dataset.held = held ? 'yes' : '';
  let parts;
  try {
    parts = render(await promise);
  } catch (error) {
    parts = [make('p', error.message)];
  }
  if (number === latest) panel(title, [...above, ...parts], held);
}

// Selects a record or a range, or neither.
export function mark(selected, range = null) {
  state.marks = {range, selected};
  if (!selected && !range) {
    get('panel').dataset.held = '';
    followed = '';
    follow();
  }
  redraw();
}

function select(place) {
  mark(place);
  reveal(place);
  remember();
  const of = source.isPair ? ` of ${source.titles[source.runOf(place.track)]}` : '';
  return tell(`Record${of}`, source.details(place), answer => recordParts(place, answer));
}

// The panel of the selected record. Its arrows disappear when another is selected.
export function recordParts(place, answer) {
  place.arrows = arrowsOf(answer);
  redraw();
  const {name} = answer.place, [label, full] = nameOf(name);
  const all = button('Mark all of this name', () => markName(name, full || label), 'Then n and N walk through them.');
  return card(answer, [...linkButtons(answer, other => goAlong(answer.place, other)), all, ...accountOf(place, answer)], pageOf(answer, source.runOf(place.track)));
}

// For an NVTX range: what the GPUs did in its time.
function accountOf({track}, {place: {begin, end}}) {
  const run = source.runOf(track), shift = source.shifts[run], words = {from: begin - shift, to: end - shift};
  if (state.run.tracks[track].kind !== 'range' || get('data') || end <= begin) return [];
  return [button('Where the time of each GPU went', () => tell('Where the time of the range went', source.ask('account', run, words), accounts, [], true))];
}

// Opens the groups that a record is in.
export function reveal(place) {
  const opened = groupsOf(state.run.tracks[place.track]).filter(key => state.closed.delete(key));
  if (state.quiet.delete(place.track) || opened.length > 0) layout();
}

// Selects the other end of an arrow and shows both.
async function goAlong(from, to) {
  for (const place of [from, to]) reveal(place);
  showAround(Math.min(from.begin, to.begin), Math.max(from.end, to.end), 0.2);
  const [top, other] = [to, from].map(place => itemOf(place)?.top ?? 0);
  const height = painter.height / painter.ratio - ruler, middle = (top + other + rowHeight) / 2;
  const both = Math.abs(top - other) + 2 * rowHeight < height;
  get('scroll').scrollTop = Math.max(0, both ? middle - height / 2 : top - 100);
  await select({...to});
  if (document.activeElement === document.body) (get('panel').querySelector('button') ?? get('canvas')).focus();
}

function tellOf(title, from, to, most, above = [], all = false) {
  const words = all ? {} : {from, to}, more = (text, ask, show) => button(text, () => tell(title, ask(), show, above));
  if (source.isPair) {
    const changes = more('What changed in where the time went', () => source.comparison(words), answer => compared(answer, most, goStep));
    return tell(title, source.differences(from, to), answer => differences(answer, source.titles, most), get('data') ? above : [...above, changes]);
  }
  if (!get('data')) {  // a report's page has no file to ask
    above = [...above, more('Where the time of each GPU went', () => source.ask('account', 0, words), accounts)];
  }
  return tell(title, source.statistics(from, to), answer => statistics(answer, most, all, markName), above);
}

// What changed between two whole runs. `held`: as of panel().
export function tellChange(held = false) { return tell('What changed', source.comparison(), answer => compared(answer, 10, goStep), [], held); }

// The step of both runs, see run.js.
const goStep = i => document.dispatchEvent(new CustomEvent('alignstep', {detail: i + 1}));

export function tellAll() {
  const {begin, end} = state.run;
  return source.isPair ? tellChange() : tellOf('The whole run', Math.floor(begin), Math.ceil(end), 10, [], true);
}

// The panel follows the window while nothing is selected. Statistics of a long run keep the server from drawing, so they wait
// until the window rests. A report has them only for the whole run.
let followed = '', following = 0;
export function follow() {
  clearTimeout(following);
  following = setTimeout(async () => {
    const {view, run, marks} = state, from = Math.max(Math.floor(view.from), run.begin), to = Math.min(Math.ceil(view.to), run.end);
    const key = [from, to, ...source.shifts].join();
    if (run.part || marks.selected || marks.range || get('panel').dataset.held || from >= to || key === followed) return;
    followed = key;
    const whole = from <= run.begin && to >= run.end;
    if (whole) await tellAll();
    else if (!get('data')) await tellOf(`In view: ${time(to - from)}`, from, to, 10);
  }, 400);
}

export function selectRange(range, title = `${time(range.to - range.from)} from ${time(range.from)} on`, above = []) {
  mark(null, range);
  remember();
  const from = Math.floor(range.from), to = Math.max(Math.ceil(range.to), from + 1);
  return tellOf(title, from, to, 20, above);
}

// Moves to another record by key, and scrolls to it.
async function walk(find) {
  if (state.walking) return;
  state.walking = true;
  try {
    const place = await find(state.marks.selected);
    if (!place) return;
    if (place.begin > state.view.to || place.end < state.view.from) showAt((place.begin + place.end) / 2);
    const item = itemOf(place), {scrollTop} = get('scroll'), below = painter.height / painter.ratio - ruler - rowHeight;
    if (item && (item.top < scrollTop || item.top > scrollTop + below)) scrollTo(place);
    select(place);
  } catch (error) {
    get('status').textContent = error.message;
  } finally {
    state.walking = false;
  }
}

function recordRows() { return state.items.filter(item => item.track >= 0 && !item.counter); }
export function walkAlong(by) {
  const below = recordRows().filter(item => item.top >= get('scroll').scrollTop);
  return walk(selected => selected ? source.step(selected, by) : firstInView(below, tilesOf, state.view));
}
export function walkAcross(by) {
  if (!state.marks.selected) get('scroll').scrollTop += by * 3 * rowHeight;
  else walk(selected => beside(recordRows(), tilesOf, selected, by));
}

// Shows a time range, with its facts above its statistics.
export function goTo(stop, title, facts) {
  const range = {from: stop.at, to: stop.at + stop.time};
  jumpTo(range.from, range.to);
  scrollTo({track: stop.track, row: 0});
  return selectRange(range, title, [list(facts)]);
}

// Shows a time from a query's answer: the range of that length, or the moment, centered in the window.
export function goToTime(at, length) {
  if (length > 0) return goTo({at, time: length, track: -1}, `${time(length)} from ${time(at)} on`, []);
  showAt(at);
}

export function showGap(gap) {
  const range = {from: gap.at, to: gap.at + gap.time};
  return selectRange(range, 'GPU without work', [list([['for', time(gap.time)], ['before', gap.behind], ['host in', hostIn(gap)]])]);
}

export function clickAt(x, y) {
  const item = itemAt(y);
  if (item?.group && y >= ruler) {
    if (!state.closed.delete(item.key)) state.closed.add(item.key);
    layout();
    return redraw();
  }
  const piece = pieceAt(x, y), gap = piece ? null : gapAt(x, y);
  if (gap) return showGap(gap);
  if (!piece?.row) {
    mark(null);
    return remember();
  }
  const place = piece.tile.place(item, piece.i);
  if (piece.row.count[piece.i] === 1) return select(place);
  mark(place);
  panel('A bucket', [make('p', describe(piece))]);
}

// Marks the records of these names; the others are dimmed.
function setMarked(marked) {
  state.marked = marked;
  get('unmark').hidden = !marked;
  if (!marked) get('found').textContent = '';
  redraw();
}

export function unmark() {
  setMarked(null);
  remember();
}

// All records of a name, by number.
export async function markName(name, text) {
  setMarked({names: new Set([name]), text, name});
  remember();
  try {
    tellFound(await source.search({name}, Math.floor(state.view.from)));
  } catch (error) {
    get('found').textContent = error.message;
  }
}

function tellFound(found) {
  const around = found.around && found.count ? ', from the start' : '';
  get('found').textContent = `${found.atLeast ? 'at least ' : ''}${count(found.count)} found${around}`;
  get('found').disabled = found.count === 0;
}

// The names that were found, on a click on their number.
export async function listFound() {
  const {marked} = state;
  if (!marked) return;
  const wanted = marked.name === undefined ? {text: marked.text} : {name: marked.name};
  const {names} = await source.search(wanted, Math.floor(state.run.begin) - 1);
  const some = [...names].slice(0, 200), texts = await source.names(some.map(([id]) => id));
  const rows = some.map(([id, number]) => [{text: plainName(texts[id][0]), title: texts[id][1], color: texts[id][2], go: () => markName(id, texts[id][1])}, number]);
  panel('Names found', [table(['name', 'count'], rows)], true);
}

// The next record that is searched for or marked by name, or with -1 the previous one.
export async function walkFound(by) {
  const text = get('text').value, {marks: {selected}, marked, run, view} = state;
  const byName = marked?.name !== undefined;
  if (!byName && !text) return;
  const from = selected ? Math.floor(selected.begin) : by > 0 ? Math.floor(Math.max(run.begin, view.from)) - 1 : Math.ceil(view.to);
  try {
    const found = await source.search({...byName ? {name: marked.name} : {text}, ...by < 0 && {back: 1}}, from);
    tellFound(found);
    if (!byName) setMarked({names: new Set(found.names.keys()), text});
    if (!found.next) return;
    const {begin, end} = found.next, span = view.to - view.from;
    reveal(found.next);
    showAt((begin + end) / 2, Math.min(span, Math.max((end - begin) * 20, 1000)));
    scrollTo(found.next);
    select(found.next);
  } catch (error) {
    get('found').textContent = error.message;
  }
}

// What is in the field.
export function search() {
  if (!get('text').value) return unmark();
  setMarked(null);
  return walkFound(1);
}
