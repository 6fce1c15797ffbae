// @ts-check
// The run that is shown: its head, its growth, and the alignment of two.
import {count, time} from './format.js';
import {source} from './source.js';
import {Jumps} from './jump.js';
import {accounts, showFindings, showVerdict} from './account.js';
import {showChange} from './compare.js';
import {readNotes} from './notes.js';
import {button, folded, list, make, untimed} from './panel.js';
import {showSummary} from './summary.js';
import {get, remember, state, wordsOf} from './state.js';
import {fetchWhole, jumpTo, layout, painter, redraw, show, showAll} from './timeline.js';
import {follow, goTo, markName, panel, recordParts, reveal, selectRange, tell, tellAll, tellChange} from './choose.js';

const mostToJudge = 10e6;  // records; findings of more take seconds, see gpuprof findings

export const jumps = new Jumps(get('jumps'), goTo);

export function complain(error) { get('status').textContent = error.message; }

async function fetchStops() { jumps.set(await source.stops()); }

function showFinding({title, fix, saving, what, from, to}) {
  const facts = [['saves', saving], ['mend it', fix], ...what ? [['above all', what]] : []];
  if (from === undefined) return panel(title, [list(facts)], true);
  goTo({at: from, time: Math.max(0, to - from), track: -1}, title, facts);
}

// By the nth record of a name, by a step, or without both by the first steady step or GPU work.
export async function align(name, nth, step = 0) {
  try {
    const at = await source.align(name, nth, step);
    state.aligned = {name, nth, step};
    const [, shift] = source.shifts, steps = at ? `, for step ${at} of both to begin at the same time` : '';
    get('shift').textContent = `${source.titles[1]} is shown ${time(Math.abs(shift))} ${shift < 0 ? 'earlier' : 'later'}${steps}`;
    get('shift').title = get('shift').textContent;
  } catch (error) {
    get('shift').textContent = error.message;
    return;
  }
  state.run = source.joined();
  state.tiles.clear();
  state.whole.clear();
  state.marks = {range: null, selected: null};
  state.gapsOf = {from: 0, to: 0};
  await fetchStops();
  fetchWhole().catch(complain);
}

// Shows a step of both runs, one below the other.
async function alignStep(step) {
  await align('', 1, step);
  const {steps: [{all}]} = await source.comparison(), {begin, time: length} = all[step - 1];
  jumpTo(begin, begin + length, 0.1);
  remember();
}

function restoreWindow(words) {
  const from = Number(words.get('from')), to = Number(words.get('to'));
  if (to > from) jumpTo(from, to, 0, 0);
}

// Shows what the address describes, but for the window where that stays. Returns whether a record is selected.
async function restore(address = location.href, stays = false) {
  const words = wordsOf(address);
  const theme = words.get('theme');
  if (['light', 'dark'].includes(theme) && theme !== document.documentElement.style.colorScheme) {
    document.documentElement.style.colorScheme = theme;
    painter.theme();
  }
  readNotes(words.get('notes'));
  if (!stays) restoreWindow(words);
  get('text').value = words.get('text') ?? '';
  const name = Number(words.get('mark') ?? -1);
  if (name >= 0 && state.marked?.name !== name) markName(name, '');
  const [track, row, item, ...more] = (words.get('at') ?? '').split(',').map(Number);
  const [begin, end] = (words.get('range') ?? '').split(',').map(Number);
  if (end > begin) return Boolean(await selectRange({from: begin, to: end}));
  const answer = item !== undefined && more.length === 0 && await source.details({track, row, item}).catch(complain);
  state.marks.selected = answer ? answer.place : null;
  redraw();
  if (!answer) return false;
  reveal(answer.place);
  panel('Record', recordParts(answer.place, answer));
  remember();  // the address may have been written while the record was asked for, without it
  return true;
}

// Shows the run's title, losses and size.
function present() {
  const {run} = state, lost = get('losses');
  document.title = `${run.title} \u2013 gpuprof`;
  get('title').textContent = run.title;
  lost.hidden = run.losses.length === 0;
  // One line, until the user unfolds the rest.
  const [first, ...rest] = run.losses.map((text, i) => make('p', text, i === 0 ? 'first' : ''));
  const buttons = run.untimed.flatMap((records, i) => {
    const of = source.isPair ? ` of ${source.titles[i]}` : '', title = `GPU work without times${of}`;
    return records ? [button(`List the ${title}`, () => tell(title, source.ask('untimed', i), untimed, [], true))] : [];
  });
  const more = rest.length ? [folded('', rest)] : [];
  more[0]?.firstChild.append(first, make('span', `and ${count(rest.length)} more`, 'more'));
  lost.replaceChildren(...more.length || !first ? more : [first], ...buttons);
  const account = source.data?.account ?? run.account;  // not while a run is being recorded
  if (account && !source.isPair) showVerdict(account, () => panel('Where the time went', accounts(account), true));
  state.standing = [`${count(run.stored)} records`, ...run.part ? ['only GPU work so far'] : [], ...run.notes].join(' \u00b7 ');
  get('status').textContent = state.standing;
}

// Tracks are renumbered when there are more. What was drawn of them stays until something newer arrives.
function renumber(before) {
  const keyOf = track => JSON.stringify([track.kind, track.path]);
  const places = new Map(state.run.tracks.map((track, number) => [keyOf(track), number]));
  const place = number => places.get(keyOf(before.tracks[number]));
  for (const map of [state.tiles, state.whole, state.ranges]) {
    const all = [...map].map(([number, one]) => /** @type {[number, any]} */ ([place(number), one]));
    map.clear();
    for (const [number, one] of all) {
      if (number === undefined) continue;
      if (map !== state.ranges) one.old = true;
      map.set(number, one);
    }
  }
  state.quiet = new Set([...state.quiet].map(place));
  const {selected} = state.marks;
  if (selected) Object.assign(selected, {track: place(selected.track), arrows: []});
  get('panel').querySelector('.links')?.remove();
}

// Shows a newer reading of the recording, or all of a run. A view that includes the end moves along with it.
async function grow() {
  const before = state.run, run = state.run = await source.run();
  renumber(before);
  present();
  layout();
  if (run.records === 0) return;
  state.gapsOf = {from: 0, to: 0};
  if (before.records === 0 || before.part) return begin(before.part && !state.jumped && !state.folded);
  fetchWhole().catch(complain);
  const {view, marks} = state, all = view.from <= before.begin && view.to >= before.end, by = run.end - before.end;
  if (all) showAll();
  else if (view.to >= before.end) show(view.from + by, view.to + by);
  else redraw();
  fetchStops().catch(complain);
  if (all && !marks.selected && !marks.range) tellAll();
}

async function growing() {
  while (source.grows || state.run.part) {
    await new Promise(done => setTimeout(done, state.run.part ? 100 : 500));
    try {
      if ((await source.growth()).version !== source.version) await grow();
    } catch (error) {
      complain(error);
    }
  }
}

// Called when there is something to show. `stays`: the view is the user's.
async function begin(stays = false) {
  fetchStops().catch(complain);
  if (source.grows) showAll();
  else if (stays) redraw();
  else jumpTo(state.run.first.from, state.run.first.to, 0.01, 0);
  if (state.run.part) restoreWindow(wordsOf());
  requestAnimationFrame(() => fetchWhole().catch(complain));  // what is in view comes first
  if (state.run.part) return;
  showSummary();
  // Not the present address: that may have been replaced meanwhile.
  window.addEventListener('hashchange', ({newURL}) => restore(newURL).catch(complain));
  if (!await restore(location.href, stays) && get('data')) tellAll();  // of the whole report
  else follow();
  if (source.isPair) return source.comparison().then(answer => showChange(answer, () => tellChange(true))).catch(complain);
  if (get('data') || source.grows || state.run.stored > mostToJudge) return;
  const answer = await source.ask('findings').catch(complain), steps = answer?.account;
  if (steps) showVerdict(steps, () => panel('Where the time of the steps went', accounts(steps), true));
  if (answer) showFindings(answer, showFinding);
}

// Says what the viewer reads, until it has read the run.
async function tellReading(isRead) {
  while (true) {
    await new Promise(done => setTimeout(done, 200));
    const {reading} = isRead() ? {reading: ''} : await source.reading().catch(() => ({reading: ''}));
    if (isRead() || !reading) return;
    panel('Opening the run', [make('p', `${reading} \u2026`)]);
  }
}

// Reads the run. Two are aligned where the address says so.
export async function open() {
  if (!get('data')) tellReading(() => state.run && !state.run.part);
  state.run = await source.run();
  present();
  if (!source.isPair) return;
  const words = wordsOf();
  document.body.classList.add('two');
  get('align').hidden = Boolean(get('data'));  // a report does not have the times of all names
  get('name').value = words.get('name') ?? '';
  get('nth').value = words.get('nth') ?? 1;
  document.addEventListener('alignstep', event => alignStep(/** @type {CustomEvent} */ (event).detail).catch(complain));
  await align(get('name').value, Number(get('nth').value), Number(words.get('step') ?? 0));
}

// Shows the run, and what comes of it as it grows.
export function showRun() {
  const {run} = state;
  growing();
  if (run.records > 0) return begin();
  panel('Nothing to draw', [`No record of this run has a time${source.grows ? ' yet' : ''}.`, ...run.notes].map(text => make('p', text)));
  showSummary();
}
