// @ts-check
// Answers from the data embedded in a report.
import {time} from './format.js';
import {AllRecords} from './records.js';
import {Tile, decode, lowerBound} from './tiles.js';

export const noFurther = 'The row has no further record.';
const notHere = 'This report has no more of it: gpuprof view has all records.';

// The decompressed content of an element.
async function unpacked(id) {
  const text = atob(document.getElementById(id).textContent), bytes = new Uint8Array(text.length);
  for (let i = 0; i < text.length; ++i) bytes[i] = text.charCodeAt(i);
  return new Response(new Blob([bytes]).stream().pipeThrough(new window['DecompressionStream']('deflate')));
}

// Same as the server, see name_search.hpp.
function nameTest(text) {
  const [, expression, flags] = /^\/(.+)\/(i?)$/s.exec(text) ?? [];
  if (expression) {
    const found = new RegExp(expression, flags);
    return name => found.test(name);
  }
  const wanted = text.toLowerCase();
  return name => name.toLowerCase().includes(wanted);
}

export class ReportSource {
  // `suffix`: of the elements of another run than the report's.
  constructor(suffix = '') { this.suffix = suffix; }

  async run() {
    this.data = await (await unpacked(`data${this.suffix}`)).json();
    this.levels = this.data.levels.map((level, number) => ({...level, number}));
    return this.data.run;
  }

  // Levels are loaded when they are drawn: each is as large as a separate report.
  async load(level) {
    if (level.tiles || level.records) return level;
    const answer = await unpacked(`level${level.number}${this.suffix}`);
    if (level.width) level.tiles = decode(await answer.json(), level.from, level.to, level.width);
    else level.records = new AllRecords(await answer.arrayBuffer(), level.from, level.to);
    return level;
  }

  // The coarsest level that is fine enough for the window, otherwise the finest.
  levelFor(from, to, density) {
    const {begin, end} = this.data.run, fineness = level => level.width ? level.width / (level.to - level.from) : Infinity;
    const here = this.levels.filter(level => level.from <= Math.max(from, begin) && level.to >= Math.min(to, end));
    here.sort((a, b) => fineness(a) - fineness(b));
    return here.find(level => fineness(level) >= density) ?? here.at(-1) ?? this.levels[0];
  }

  async tiles(tracks, from, to, width, shown) {
    const density = width / (to - from), level = await this.load(this.levelFor(shown.from, shown.to, density));
    const tiles = new Map();
    for (const track of tracks) {
      let tile = level.tiles?.get(track);
      if (tile) tile = new Tile(tile.from, tile.to, tile.width, tile.rows, tile.points);
      else if (level.records?.tracks.has(track)) tile = level.records.tile(track, from, to, width);
      if (!tile) continue;
      tile.density = density;
      tiles.set(track, tile);
    }
    return tiles;
  }

  async names(ids) {
    return Object.fromEntries(ids.filter(id => this.data.names[id]).map(id => [id, this.data.names[id]]));
  }

  // The record, or the piece that includes it, with its length; `by`: the next one (1), or the previous one (-1).
  async find({track, row, item}, by = 0) {
    for (const level of this.levels.filter(each => !each.width)) {
      const place = (await this.load(level)).records.tracks.get(track)?.rows[row]?.place({track, row}, item + by);
      if (place) return {place, length: place.end - place.begin, about: ''};
    }
    const level = this.levels.find(each => each.width);
    const tile = level && (await this.load(level)).tiles.get(track), pieces = tile?.rows[row];
    const at = pieces ? lowerBound(pieces.first, item + 1) - 1 : -1, i = by ? at + by : Math.max(0, at);
    if (!pieces?.length || i < 0 || i >= pieces.length) throw new Error(by ? noFurther : notHere);
    return {place: tile.place({track, row}, i), length: pieces.longest[i], about: 'about '};
  }

  async step(place, by) { return (await this.find(place, by)).place; }

  async details(wanted) {
    const {place, length, about} = await this.find(wanted), [, full] = this.data.names[place.name] ?? ['', ''];
    return {place, sections: [{title: '', rows: [['name', full], ['start', about + time(place.begin)], ['duration', time(length)], ['', notHere]]}]};
  }

  async statistics(from, to) {
    if (from <= this.data.run.begin && to >= this.data.run.end) return this.data.statistics;
    const found = this.data.of_stops.find(each => each.from === from && each.to === to);
    if (!found) throw new Error(notHere);
    return found;
  }

  async begin(_name, _nth, step) {
    const {all, count} = this.data.steps;
    return step ? {count, begin: all[step - 1]?.begin} : this.data.begin;
  }

  async differences() { throw new Error(notHere); }
  async stops() { return this.data.stops; }
  async gaps(from, to) { return {gaps: this.data.stops.gaps.filter(gap => gap.at < to && gap.at + gap.time > from)}; }
  async ask(question) {
    if (!(question in this.data)) throw new Error(notHere);
    return this.data[question];
  }

  // A record counts once, even if several levels have it; a bucket counts as its longest record.
  async search({text, name, back}, after) {
    const isWanted = name === undefined ? nameTest(text) : null;
    const matches = new Set(Object.entries(this.data.names).flatMap(([id, [, full]]) => (isWanted ? isWanted(full) : Number(id) === name) ? [Number(id)] : []));
    const found = {count: 0, around: false, atLeast: false, names: []};
    const counts = new Map(), sooner = (a, b) => back ? a.begin > b.begin : a.begin < b.begin;
    let first = null, next = null;
    const take = place => {
      ++found.count;
      counts.set(place.name, (counts.get(place.name) ?? 0) + 1);
      if (!first || sooner(place, first)) first = place;
      if ((back ? place.begin < after : place.begin > after) && (!next || sooner(place, next))) next = place;
    };
    await Promise.all(this.levels.map(level => this.load(level)));
    const exact = this.levels.filter(level => level.records), coarse = this.levels.find(level => level.tiles);
    this.data.run.tracks.forEach((_, track) => {
      const all = exact.map(level => level.records.tracks.get(track)?.rows).filter(rows => rows);
      const tile = coarse?.tiles.get(track), rows = Math.max(0, ...all.map(each => each.length), tile?.rows.length ?? 0);
      for (let row = 0; row < rows; ++row) {
        const seen = [];  // [first, end) of records already searched
        for (const records of all.map(each => each[row]).sort((a, b) => a.first - b.first)) {
          const begin = Math.max(records.first, seen.at(-1)?.[1] ?? 0), end = records.first + records.length;
          if (begin >= end) continue;
          seen.push([begin, end]);
          for (let item = begin; item < end; ++item) {
            if (matches.has(records.name[item - records.first])) take(records.place({track, row}, item));
          }
        }
        const pieces = tile?.rows[row];
        for (let i = 0, at = 0; i < (pieces?.length ?? 0); ++i) {
          const item = pieces.first[i], end = item + pieces.count[i];
          while (at < seen.length && seen[at][1] <= item) ++at;
          if (at < seen.length && seen[at][0] < end) {
            if (seen[at][0] > item || seen[at][1] < end) found.atLeast = true;
            continue;
          }
          if (pieces.count[i] > 1) found.atLeast = true;
          if (matches.has(pieces.name[i])) take(tile.place({track, row}, i));
        }
      }
    });
    found.names = [...counts].sort(([, a], [, b]) => b - a);
    found.around = !next;
    if (next ?? first) found.next = next ?? first;
    return found;
  }
}
