// @ts-check
// What the user chooses, and what the panel says about it.
import {count, percent, time, value} from './format.js';
import {rowHeight, ruler} from './draw.js';
import {source} from './source.js';
import {arrowsOf, linkButtons} from './links.js';
import {accounts} from './account.js';
import {button, differences, list, make, sections, statistics} from './panel.js';
import {beside, firstInView} from './walk.js';
import {get, remember, state} from './state.js';
import {groupsOf, itemAt, itemOf, layout, nameOf, painter, pieceAt, redraw, scrollTo, show, showAround, showAt, tilesOf} from './timeline.js';

function describe({item, tile, row = undefined, i = 0, point = 0}) {
  if (row === undefined) return `${item.label}\n${value(point, item.unit)}`;
  const [, full] = nameOf(row.name[i]);
  if (row.count[i] === 1) return `${full}\n${time(row.longest[i])}`;
  return `${count(row.count[i])} ${item.noun}, longest ${full} (${time(row.longest[i])}), ` +
    `${percent(row.busy[i], tile.time(row.end[i]) - tile.time(row.x[i]))} busy\nZoom in to see them apart.`;
}

// Describes what is drawn at a point, next to it.
export function hint(point) {
  const element = get('hint'), piece = point && pieceAt(point.x, point.y);
  element.hidden = !piece;
  if (!piece) return;
  element.textContent = describe(piece);
  const box = get('canvas').getBoundingClientRect(), left = point.x > box.width * 0.6, above = point.y > box.height * 0.7;
  element.style.left = left ? 'auto' : `${point.x + 12}px`;
  element.style.right = left ? `${box.width - point.x + 12}px` : 'auto';
  element.style.top = above ? 'auto' : `${point.y + 14}px`;
  element.style.bottom = above ? `${box.height - point.y + 8}px` : 'auto';
}

export function panel(title, parts) {
  get('panel').replaceChildren(make('h2', title), ...parts);
}

export async function tell(title, promise, render, above = []) {
  try {
    panel(title, [...above, ...render(await promise)]);
  } catch (error) {
    panel(title, [...above, make('p', error.message)]);
  }
}

// Marks a record or a range, or neither.
export function mark(selected, range = null) {
  state.marks = {range, selected};
  redraw();
}

function select(place) {
  mark(place);
  remember();
  const of = source.isPair ? ` of ${source.titles[source.runOf(place.track)]}` : '';
  return tell(`Record${of}`, source.details(place), answer => recordParts(place, answer));
}

// The panel of the selected record. Its arrows disappear when another is selected.
export function recordParts(place, answer) {
  place.arrows = arrowsOf(answer);
  redraw();
  return [...linkButtons(answer, other => goAlong(answer.place, other)), ...sections(answer)];
}

// Selects the other end of an arrow and shows both.
async function goAlong(from, to) {
  for (const key of [from, to].flatMap(place => groupsOf(state.run.tracks[place.track]))) state.closed.delete(key);
  layout();
  showAround(Math.min(from.begin, to.begin), Math.max(from.end, to.end), 0.2);
  const [top, other] = [to, from].map(place => itemOf(place)?.top ?? 0);
  const height = painter.height / painter.ratio - ruler, middle = (top + other + rowHeight) / 2;
  const both = Math.abs(top - other) + 2 * rowHeight < height;
  get('scroll').scrollTop = Math.max(0, both ? middle - height / 2 : top - 100);
  await select({...to});
  if (document.activeElement === document.body) (get('panel').querySelector('button') ?? get('canvas')).focus();
}

function tellOf(title, from, to, most, above = [], all = false) {
  if (!source.isPair && !get('data')) {  // a report's page has no file to ask
    const words = all ? {} : {from, to};
    above = [...above, button('Where the time of each GPU went',
                              () => tell(title, source.ask('account', 0, words), accounts, above))];
  }
  if (!source.isPair) return tell(title, source.statistics(from, to), answer => statistics(answer, most, all), above);
  return tell(title, source.differences(from, to), answer => differences(answer, source.titles, 2 * most, all), above);
}

export function tellAll() {
  const {begin, end} = state.run;
  return tellOf(source.isPair ? 'Both runs' : 'The whole run', Math.floor(begin), Math.ceil(end), 10, [], true);
}

export function selectRange(range, title = `${time(range.to - range.from)} from ${time(range.from)} on`, above = []) {
  mark(null, range);
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
  showAround(range.from, range.to);
  scrollTo({track: stop.track, row: 0});
  return selectRange(range, title, [list(facts)]);
}

// Shows a time from a query's answer: the range of that length, or the moment, centered in the window.
export function goToTime(at, length) {
  if (length > 0) return goTo({at, time: length, track: -1}, `${time(length)} from ${time(at)} on`, []);
  showAt(at);
}

export function clickAt(x, y) {
  const item = itemAt(y);
  if (item?.group && y >= ruler) {
    if (!state.closed.delete(item.key)) state.closed.add(item.key);
    layout();
    return redraw();
  }
  const piece = pieceAt(x, y);
  if (!piece?.row) return;
  const place = piece.tile.place(item, piece.i);
  if (piece.row.count[piece.i] === 1) return select(place);
  mark(place);
  panel('A bucket', [make('p', describe(piece))]);
}

export async function search() {
  const text = get('text').value, {marks: {selected}, run} = state;
  if (!text) return;
  try {
    const found = await source.search(text, selected ? Math.floor(selected.begin) : Math.floor(run.begin) - 1);
    const around = found.around && found.count ? ', from the start' : '';
    get('found').textContent = `${found.atLeast ? 'at least ' : ''}${count(found.count)} found${around}`;
    if (!found.next) return;
    const {begin, end} = found.next, {from, to} = state.view;
    showAt((begin + end) / 2, Math.min(to - from, Math.max((end - begin) * 20, 1000)));
    scrollTo(found.next);
    select(found.next);
  } catch (error) {
    get('found').textContent = error.message;
  }
}
