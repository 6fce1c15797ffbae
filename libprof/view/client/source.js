// Where answers come from: the server, or what a report has in it.
import {time} from './format.js';
import {decode, lowerBound} from './tiles.js';

class ServerSource {
  async ask(question, parameters = {}) {
    const response = await fetch(`api/${question}?${new URLSearchParams(parameters)}`);
    const answer = await response.json();
    if (answer.error) throw new Error(answer.error);
    return answer;
  }
  run() { return this.ask('run'); }
  async tiles(tracks, from, to, width) {
    return decode(await this.ask('tiles', {tracks: tracks.join(), from, to, width}), from, to, width);
  }
  async names(ids) { return (await this.ask('names', {ids: ids.join()})).names; }
  details(place) { return this.ask('details', place); }
  statistics(from, to) { return this.ask('statistics', {from, to}); }
  search(text, after) { return this.ask('search', {text, after}); }
  stops() { return this.ask('stops'); }
}

const notHere = 'A report has no more than it shows: gpuprof view has all records.';

class ReportSource {
  constructor(data) {
    this.data = data;
    this.all = decode(data.tiles, data.from, data.to, data.width);
  }
  async run() { return this.data.run; }
  async tiles(tracks) {
    return new Map(tracks.filter(track => this.all.has(track)).map(track => [track, this.all.get(track)]));
  }
  async names(ids) {
    return Object.fromEntries(ids.map(id => [id, this.data.names[id] ?? ['', '']]));
  }
  async details({track, row, item}) {
    const tile = this.all.get(track), pieces = tile.rows[row];
    const i = lowerBound(pieces.first, item), begin = tile.time(pieces.x[i]);
    const place = {track, row, item, name: pieces.name[i], begin, end: tile.time(pieces.end[i])};
    const texts = this.data.names[pieces.name[i]] ?? ['', ''];
    return {place, details: [['name', texts[1]], ['start', `about ${time(begin)}`], ['duration', time(pieces.longest[i])], ['', notHere]]};
  }
  async statistics(from, to) {
    if (from <= this.data.run.begin && to >= this.data.run.end) return this.data.statistics;
    throw new Error(notHere);
  }
  async stops() { return {gaps: this.data.gaps, steps: [], losses: []}; }
  async search(text, after) {
    const wanted = text.toLowerCase();
    const matches = new Set(Object.entries(this.data.names)
      .filter(([, [, full]]) => full.toLowerCase().includes(wanted)).map(([id]) => Number(id)));
    const found = {count: 0, around: false, atLeast: false};
    let first = null, next = null;
    for (const [track, tile] of this.all) {
      tile.rows.forEach((row, number) => {
        for (let i = 0; i < row.length; ++i) {
          if (row.count[i] > 1) found.atLeast = true;
          if (!matches.has(row.name[i])) continue;
          ++found.count;
          const place = {track, row: number, item: row.first[i], name: row.name[i],
                         begin: tile.time(row.x[i]), end: tile.time(row.end[i])};
          if (!first || place.begin < first.begin) first = place;
          if (place.begin > after && (!next || place.begin < next.begin)) next = place;
        }
      });
    }
    found.around = !next;
    if (next ?? first) found.next = next ?? first;
    return found;
  }
}

export function openSource() {
  const data = document.getElementById('data');
  return data ? new ReportSource(JSON.parse(data.textContent)) : new ServerSource();
}
