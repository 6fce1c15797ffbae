// @ts-check
// What the picture needs in addition to tiles, fetched while it is already drawn: names, sizes of copies, gaps.
import {bytes, plainName} from './format.js';
import {source} from './source.js';
import {state} from './state.js';

/** @type {Set<number>} */ const wantedNames = new Set();
/** @type {Set<string>} */ const wantedSizes = new Set();
const mostAtOnce = {names: 1000, sizes: 200};
const underWay = {names: false, sizes: false, gaps: false};

const pause = ms => new Promise(done => setTimeout(done, ms));

// Nothing is lost if it fails: what is drawn next wants it again.
async function fetchOnce(what, fetch) {
  if (underWay[what]) return false;
  underWay[what] = true;
  try {
    await fetch();
    return true;
  } catch {
    await pause(1000);
    return true;
  } finally {
    underWay[what] = false;
  }
}

// The short name, the full one, and its color as GPU work; an ellipsis until they are known.
export function nameOf(id) {
  const known = state.names.get(id);
  if (known) return known;
  wantedNames.add(id);
  return ['\u2026', '\u2026', ''];
}

// Short, as it is drawn: "HtoD 2 MiB".
export function labelOf(item, row, i) {
  const label = nameOf(row.name[i])[0], plain = plainName(label);
  if (plain === label || item.kind !== 'stream') return label;
  const place = [item.track, item.row, row.first[i]].join('.'), size = state.sizes.get(place);
  if (size === undefined) wantedSizes.add(place);
  if (!size) return plain;
  const [number, unit] = bytes(size).split(' ');
  return `${plain} ${Number(number)} ${unit}`;
}

function taken(wanted, most) {
  const some = [...wanted].slice(0, most);
  wanted.clear();
  return some;
}

export async function fetchWanted(redraw) {
  const {view, run} = state, span = view.to - view.from;
  if (wantedNames.size > 0) {
    const came = fetchOnce('names', async () => {
      const names = await source.names(taken(wantedNames, mostAtOnce.names));
      for (const [id, texts] of Object.entries(names)) state.names.set(Number(id), texts);
    });
    came.then(any => any && redraw());
  }
  if (wantedSizes.size > 0 && !underWay.sizes && !run.part) {
    const came = fetchOnce('sizes', async () => {
      for (const [place, size] of await source.sizes(taken(wantedSizes, mostAtOnce.sizes))) state.sizes.set(place, size);
    });
    came.then(any => any && redraw());
  }
  const {gapsOf} = state, from = Math.max(view.from, run.begin), to = Math.min(view.to, run.end);
  if (from < to && (gapsOf.from > from || gapsOf.to < to || gapsOf.to - gapsOf.from > 4 * span)) {
    const wide = {from: Math.floor(view.from - span), to: Math.ceil(view.to + span)};
    const came = fetchOnce('gaps', async () => {
      state.gaps = await source.gaps(wide.from, wide.to);
      state.gapsOf = wide;
    });
    came.then(any => any && redraw());
  }
}
