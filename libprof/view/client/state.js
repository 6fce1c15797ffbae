// @ts-check
// The state of the page, and the part of it that the address remembers.

/** @typedef {import('./tiles.js').Tile} Tile
 *  @typedef {{from: number, to: number}} Span
 *  @typedef {{track: number, row: number, item: number, begin: number, end: number, arrows?: any[]}} Place a record, or the
 *    first of a bucket; `arrows`: from arrowsOf() of links.js
 *  @typedef {{top: number, height: number, track: number, row?: number, label?: string, noun?: string, kind?: string, group?: string,
 *    key?: string, heading?: boolean, closed?: boolean, counter?: boolean, unit?: string, least?: () => number,
 *    most?: () => number}} Item a line of the layout: the head of a group (track -1), a row of records or a counter */

// A class, because TypeScript accepts any property of a plain object. A comment names the module that writes what follows;
// run.js also clears or renumbers it where an alignment or a newer reading changes times or tracks.
export const state = new class {
  // run.js: the source's answer `run`, where two runs are aligned, and the status line
  /** @type {any} */ run = null;
  aligned = {name: '', nth: 1}; standing = '';
  // timeline.js: the window, its lines, and whether a request, a picture and an address are under way
  /** @type {Span} */ view = {from: 0, to: 1};
  /** @type {Item[]} */ items = [];
  asking = false; drawn = false; remembering = 0;
  // timeline.js, by track: the newest tile; one of the whole run, where the newest does not cover; a counter's extremes
  /** @type {Map<number, Tile>} */ tiles = new Map();
  /** @type {Map<number, Tile>} */ whole = new Map();
  /** @type {Map<number, number[]>} */ ranges = new Map();
  // timeline.js: short and full names and colors by number, those to be fetched, and whether some are under way
  /** @type {Map<number, string[]>} */ names = new Map();
  /** @type {Set<number>} */ wantedNames = new Set();
  naming = false;
  // choose.js: what is selected (input.js drags ranges), which groups are closed, and whether a key is being answered
  /** @type {{range: Span, selected: Place}} */ marks = {range: null, selected: null};
  /** @type {Set<string>} */ closed = new Set();
  walking = false;
}();

export const get = /** @type {(id: string) => any} */ (id => document.getElementById(id));

export function remember() {
  if (location.protocol === 'about:') return;  // a frame in a notebook, which has no address
  const {view, marks: {selected}, aligned: {name, nth}} = state, text = get('text').value;
  const words = {from: Math.round(view.from), to: Math.round(view.to), ...text && {text}, ...name && {name, nth},
                 ...selected && {at: [selected.track, selected.row, selected.item].join()}};
  history.replaceState(null, '', `#${new URLSearchParams(/** @type {any} */ (words))}`);
}
