// @ts-check
// The state of the page, and the part of it that the address remembers.

/** @typedef {import('./tiles.js').Tile} Tile
 *  @typedef {{from: number, to: number}} Span
 *  @typedef {{track: number, row: number, item: number, begin: number, end: number, arrows?: any[]}} Place a record, or the
 *    first of a bucket; `arrows`: from arrowsOf() of links.js
 *  @typedef {{top: number, height: number, track: number, row?: number, label?: string, noun?: string, kind?: string,
 *    group?: string, key?: string, heading?: boolean, closed?: boolean, counter?: boolean, unit?: string, least?: () => number,
 *    most?: () => number, busy?: boolean, device?: number, run?: number, tracks?: number[], kinds?: Map<number, string>}} Item
 *    a line of the layout: a row of records or a counter, or with track -1 the head of a group or what a GPU did; the last two
 *    show the shares of `tracks` */

// A class, because TypeScript accepts any property of a plain object. A comment names the module that writes what follows;
// run.js also clears or renumbers it where an alignment or a newer reading changes times or tracks.
export const state = new class {
  // run.js: the source's answer `run`, where two runs are aligned, and the status line
  /** @type {any} */ run = null;
  aligned = {name: '', nth: 1, step: 0}; standing = '';
  // timeline.js: the window, its lines, and whether a request, a picture and an address are under way
  /** @type {Span} */ view = {from: 0, to: 1};
  /** @type {Item[]} */ items = [];
  asking = false; drawn = false; remembering = 0;
  // timeline.js: whether rows without anything in the window are still to be folded, or were for this window; and their tracks
  jumped = false; folded = false;
  /** @type {Set<number>} */ quiet = new Set();
  // timeline.js, by track: the newest tile; one of the whole run, where the newest does not cover; a counter's extremes
  /** @type {Map<number, Tile>} */ tiles = new Map();
  /** @type {Map<number, Tile>} */ whole = new Map();
  /** @type {Map<number, number[]>} */ ranges = new Map();
  // wanted.js: short and full names and colors by number, and bytes of copies by place
  /** @type {Map<number, string[]>} */ names = new Map();
  /** @type {Map<string, number>} */ sizes = new Map();
  // wanted.js: times without GPU work that are drawn, and the window that they were asked for
  /** @type {any[]} */ gaps = [];
  /** @type {Span} */ gapsOf = {from: 0, to: 0};
  // choose.js: what is selected (input.js drags ranges), which groups are closed, which minor ones were
  // ever laid out, and whether a key is being answered
  /** @type {{range: Span, selected: Place}} */ marks = {range: null, selected: null};
  /** @type {Set<string>} */ closed = new Set();
  /** @type {Set<string>} */ known = new Set();
  walking = false;
  // choose.js: the names whose records are marked, as searched for or chosen by number
  /** @type {{names: Set<number>, text: string, name?: number}} */ marked = null;
  // notes.js
  /** @type {{at: number, text: string}[]} */ notes = [];
  // tabs.js: the open tab; empty: none
  tab = '';
}();

export const get = /** @type {(id: string) => any} */ (id => document.getElementById(id));

// What an address says is shown; a report can begin with what it was made with.
export function wordsOf(address = location.href) {
  return new URLSearchParams(new URL(address).hash.slice(1) || (get('state')?.textContent ?? ''));
}

export function remember() {
  // A frame in a notebook has no address, and a part of a run other tracks than the run.
  if (location.protocol === 'about:' || state.run.part) return;
  const {view, marks: {selected, range}, marked, aligned: {name, nth, step}, notes, tab} = state, text = get('text').value;
  const theme = document.documentElement.style.colorScheme;
  const words = {from: Math.round(view.from), to: Math.round(view.to), ...text && {text}, ...name && {name, nth}, ...step && {step},
                 ...selected && {at: [selected.track, selected.row, selected.item].join()},
                 ...range && {range: [range.from, range.to].map(Math.round).join()},
                 ...marked?.name !== undefined && {mark: marked.name}, ...tab && {tab}, ...theme && {theme},
                 ...notes.length && {notes: JSON.stringify(notes.map(({at, text}) => [Math.round(at), text]))}};
  history.replaceState(null, '', `#${new URLSearchParams(/** @type {any} */ (words))}`);
}
