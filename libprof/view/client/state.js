// @ts-check
// All that changes on the page, and the part of it that the address remembers.

/** @typedef {import('./tiles.js').Tile} Tile */
/** @typedef {{from: number, to: number}} Span */
/** @typedef {{track: number, row: number, item: number, begin: number, end: number, arrows?: any[]}} Place A record, or
 *   the first of a bucket. `arrows`: from arrowsOf() of links.js. */
/** @typedef {{top: number, height: number, track: number, row?: number, label?: string, noun?: string,
 *   group?: string, key?: string, heading?: boolean, closed?: boolean,
 *   counter?: boolean, unit?: string, least?: () => number, most?: () => number}} Item A line of the layout: the head of a
 *   group (track -1), a row of records or a counter. */

// Each part is written by the module that is named; input.js also drags a range.
export const state = {
  // run.js: the source's answer `run`, where two runs are aligned, and the status line
  /** @type {any} */ run: null, aligned: {name: '', nth: 1}, standing: '',
  // timeline.js: the window; the lines, and the groups that choose.js closes; whether a request or a picture is under way
  /** @type {Span} */ view: {from: 0, to: 1}, /** @type {Item[]} */ items: [], /** @type {Set<string>} */ closed: new Set(),
  asking: false, drawn: false, remembering: 0,
  // timeline.js, by track: the newest tile; one of the whole run, where the newest does not cover; a counter's extremes
  /** @type {Map<number, Tile>} */ tiles: new Map(), /** @type {Map<number, Tile>} */ whole: new Map(),
  /** @type {Map<number, number[]>} */ ranges: new Map(),
  // timeline.js: short and full names by number, and those to be fetched
  /** @type {Map<number, string[]>} */ names: new Map(), /** @type {Set<number>} */ wantedNames: new Set(),
  // choose.js: what is selected, and whether a key is being answered
  marks: {/** @type {Span} */ range: null, /** @type {Place} */ selected: null}, walking: false,
};

export const get = /** @type {(id: string) => any} */ (id => document.getElementById(id));

export function remember() {
  const {view, marks: {selected}, aligned} = state;
  const words = new URLSearchParams({from: `${Math.round(view.from)}`, to: `${Math.round(view.to)}`});
  if (selected) words.set('at', [selected.track, selected.row, selected.item].join());
  if (get('text').value) words.set('text', get('text').value);
  if (aligned.name) {
    words.set('name', aligned.name);
    words.set('nth', `${aligned.nth}`);
  }
  history.replaceState(null, '', `#${words}`);
}
