// @ts-check
// The source of answers: the server, or a report's embedded data.
import {ReportSource, noFurther} from './report.js';
import {decode} from './tiles.js';

class ServerSource {
  constructor(number) { this.number = number; }
  async ask(question, parameters = {}, version = this.version, signal = undefined) {
    const words = {run: this.number, ...parameters, ...version && {version}};
    const response = await fetch(`api/${question}?${new URLSearchParams(words)}`, {signal});
    const answer = await response.json();
    if (answer.error) throw Object.assign(new Error(answer.error), {grown: response.status === 409});
    return answer;
  }
  async run() {
    const answer = await this.ask('run', {}, 0);
    this.version = answer.version;
    return answer;
  }
  growth() { return this.ask('growth'); }
  reading() { return this.ask('reading'); }
  async tiles(tracks, from, to, width) {
    return decode(await this.ask('tiles', {tracks: tracks.join(), from, to, width}), from, to, width);
  }
  async names(ids) { return (await this.ask('names', {ids: ids.join()})).names; }
  details(place) { return this.ask('details', place); }
  async step({track, row, item}, by) {
    if (item + by < 0) throw new Error(noFurther);
    return (await this.details({track, row, item: item + by})).place;
  }
  statistics(from, to) { return this.ask('statistics', {from, to}); }
  gaps(from, to) { return this.ask('gaps', {from, to}); }
  search(wanted, after) { return this.ask('search', {...wanted, after}); }
  stops() { return this.ask('stops'); }
  sql(text, signal) { return this.ask('sql', {text}, 0, signal); }
  begin(name, nth, step) { return this.ask('begin', {name, nth, ...step && {step}}); }
  differences(from, to, shift) { return this.ask('differences', {from, to, shift}); }
}

// One run, or two as one: the second run's tracks follow the first's, and its times are shifted.
// Tracks are numbered consecutively; times are the first run's.
class Runs {
  constructor(first) {
    this.sources = [first];
    this.shifts = [0];
    /** @type {Promise<any>} */ this.asked = Promise.resolve();
    /** @type {Promise<any>} */ this.compared = null;
  }

  // What the page of a report has of its run, which is the last.
  get data() { return this.sources.at(-1).data; }
  get isPair() { return this.sources.length > 1; }
  get titles() { return this.runs.map(run => run.title); }

  async run() {
    const first = await this.sources[0].run();
    this.sources.length = 1;
    for (let i = 1; i < first.runs; ++i) this.sources.push(this.data ? new ReportSource() : new ServerSource(i));
    this.runs = [first, ...await Promise.all(this.sources.slice(1).map(source => source.run()))];
    this.shifts = this.runs.map(() => 0);
    this.bases = this.runs.map((_, i) => this.runs.slice(0, i).reduce((sum, run) => sum + run.tracks.length, 0));
    if (this.isPair) await this.align('', 1);
    return this.joined();
  }

  // Makes the nth record of that name, or a step by number, begin at the same time in all runs. Without both the first step that
  // has warmed up in all of them; without such a step, the first GPU work. Returns the step's number; 0: it is none.
  async align(name, nth, step = 0) {
    const begins = number => Promise.all(this.sources.map(source => source.begin(name, nth, number)));
    let found = await begins(step), at = step;
    if (!name && !step && found.every(({steady}) => steady)) {
      const number = Math.max(...found.map(({steady}) => steady)), steps = await begins(number);
      if (steps.every(({begin}) => begin !== undefined)) [found, at] = [steps, number];
    }
    found.forEach(({begin, count}, i) => {
      if ((name || step) && begin === undefined) throw new Error(`${this.titles[i]} has ${count} ${step ? 'steps' : 'of this name'}`);
    });
    const drawn = this.runs.map(run => run.records > 0);
    const times = found.map(({begin}, i) => begin ?? this.runs[i].begin);
    const base = times[drawn.indexOf(true)];
    this.shifts = times.map((begin, i) => drawn[i] ? base - begin : 0);
    return at;
  }

  joined() {
    const named = key => this.runs.flatMap(run => run[key].map(text => this.isPair ? `${run.title}: ${text}` : text));
    const some = this.runs.map((run, i) => ({...run, shift: this.shifts[i]})).filter(run => run.records > 0);
    return {
      title: this.titles.join(' and '),
      begin: some.length ? Math.min(...some.map(run => run.begin + run.shift)) : 0,
      end: some.length ? Math.max(...some.map(run => run.end + run.shift)) : 0,
      first: {from: Math.min(...some.map(run => run.first_view.from + run.shift)), to: Math.max(...some.map(run => run.first_view.to + run.shift))},
      records: this.runs.reduce((sum, run) => sum + run.records, 0),
      stored: this.runs.reduce((sum, run) => sum + run.stored, 0),
      tracks: this.runs.flatMap((run, i) => run.tracks.map(track => ({...track, run: i}))),
      account: this.isPair ? null : this.runs[0].account, runs: this.runs.length,
      part: this.runs[0].part,  // only its GPU work has been read; growth() is answered when all has
      losses: named('losses'), untimed: this.runs.map(run => run.untimed), notes: named('notes'),
    };
  }

  // For a recording in progress: which reading this is, and whether more will follow.
  get version() { return this.runs[0].version; }
  get grows() { return this.runs[0].grows; }
  growth() { return this.sources[0].growth(); }
  // What the viewer reads of its files before it can answer anything else.
  reading() { return this.sources[0].reading(); }

  // The index of the run that has the track.
  runOf(track) { return this.bases.filter(base => track >= base).length - 1; }
  moved(place, i) {
    const shift = this.shifts[i];
    return {...place, track: place.track + this.bases[i], begin: place.begin + shift, end: place.end + shift};
  }

  // `shown`: the visible part of the window.
  async tiles(tracks, from, to, width, shown) {
    const result = new Map();
    await Promise.all(this.sources.map(async (source, i) => {
      const shift = this.shifts[i], base = this.bases[i];
      const own = tracks.filter(track => this.runOf(track) === i).map(track => track - base);
      if (own.length === 0) return;
      for (const [track, tile] of await source.tiles(own, from - shift, to - shift, width, shown)) {
        tile.from += shift;
        tile.to += shift;
        result.set(base + track, tile);
      }
    }));
    return result;
  }

  // The last run's names include those of the others.
  async names(ids) {
    const all = await Promise.all((this.data ? this.sources : this.sources.slice(0, 1)).map(source => source.names(ids)));
    return Object.fromEntries(ids.map(id => [id, all.find(names => names[id])?.[id] ?? ['', '', '']]));
  }

  // The bytes of copies and sets, by "track.row.item"; 0: not known.
  /** @returns {Promise<[string, number][]>} */
  async sizes(places) {
    if (this.data) return places.map(place => [place, 0]);
    const found = await Promise.all(this.sources.map(async (source, i) => {
      const base = this.bases[i], own = places.filter(place => this.runOf(parseInt(place)) === i);
      if (own.length === 0) return [];
      const words = own.map(place => place.replace(/^\d+/, track => `${track - base}`)).join();
      const {sizes} = await this.ask('sizes', i, {places: words});
      return own.map((place, at) => /** @type {[string, number]} */ ([place, sizes[at] ?? 0]));
    }));
    return found.flat();
  }

  // What the run's file answers, one after the other: a later question ends an earlier one, and so do details.
  inTurn(ask) {
    const answer = this.asked.then(ask);
    this.asked = answer.catch(() => {});
    return answer;
  }
  ask(question, run = 0, words = {}) {
    return this.inTurn(async () => {
      for (let tries = 0; tries < 5; ++tries) {
        const found = await this.sources[run].ask(question, words, 0);
        if (!found.ended) return found;
        await new Promise(done => setTimeout(done, 500));
      }
      throw new Error('other questions came between: ask again');
    });
  }
  sql(text, run, signal) { return this.inTurn(() => this.sources[run].sql(text, signal)); }
  statistics(from, to) { return this.sources[0].statistics(from, to); }
  differences(from, to) { return this.sources[0].differences(from, to, this.shifts[1]); }

  // What changed between two runs, or in a part of them. Of the runs it is asked once.
  comparison(part = {}) {
    const run = this.data ? 1 : 0;
    const ask = async () => {
      const answer = await this.ask('comparison', run, {...part, ...part.from !== undefined && {shift: this.shifts[1]}});
      const [a, b] = answer.periods.map(({from, to}, i) => ({from: from ?? Math.floor(this.runs[i].begin), to: to ?? Math.ceil(this.runs[i].end) + 1}));
      const {work} = await this.sources[run].ask('differences', {from: a.from, to: a.to, other_from: b.from, other_to: b.to});
      return {...answer, work};
    };
    if (part.from !== undefined) return ask();
    this.compared ??= ask().catch(error => { this.compared = null; throw error; });
    return this.compared;
  }

  async details({track, row, item}) {
    const i = this.runOf(track);
    const answer = await this.sources[i].details({track: track - this.bases[i], row, item});
    const moved = place => place && this.moved(place, i), links = answer.links;
    return {...answer, place: moved(answer.place),
            links: links && {launch: moved(links.launch), work: links.work.map(moved), waited: links.waited.map(moved)}};
  }

  // The next record of the row, or with -1 the previous one.
  async step(place, by) {
    const i = this.runOf(place.track);
    return this.moved(await this.sources[i].step({...place, track: place.track - this.bases[i]}, by), i);
  }

  // `wanted`: the `text` of a search or a `name` by number, and `back` where the last before a time is wanted.
  async search(wanted, after) {
    const all = await Promise.all(this.sources.map((source, i) => source.search(wanted, after - this.shifts[i])));
    const found = all.map((each, i) => each.next ? {...each, next: this.moved(each.next, i)} : each);
    const count = found.reduce((sum, each) => sum + each.count, 0), names = new Map();
    for (const [name, number] of found.flatMap(each => each.names)) names.set(name, (names.get(name) ?? 0) + number);
    const behind = found.filter(each => each.next && !each.around), some = behind.length ? behind : found.filter(each => each.next);
    const [first] = some.sort((a, b) => (a.next.begin - b.next.begin) * (wanted.back ? -1 : 1));
    return {count, names, around: behind.length === 0, atLeast: found.some(each => each.atLeast), next: first?.next};
  }

  // The longest times without GPU work in a window.
  async gaps(from, to) {
    const all = await Promise.all(this.sources.map((source, i) => source.gaps(from - this.shifts[i], to - this.shifts[i])));
    return all.flatMap(({gaps}, run) => gaps.map(gap => ({...gap, at: gap.at + this.shifts[run], run})));
  }

  async stops() {
    const all = await Promise.all(this.sources.map(source => source.stops()));
    const joined = kind => all.flatMap((stops, i) => stops[kind].map(stop => ({
      ...stop, at: stop.at + this.shifts[i], track: stop.track < 0 ? -1 : stop.track + this.bases[i],
      median: stops.median_step, of: this.isPair ? this.titles[i] : '',
    }))).sort((a, b) => b.time - a.time);
    return {gaps: joined('gaps'), steps: joined('steps'), losses: joined('losses')};
  }
}

export const source = new Runs(document.getElementById('data-0') ? new ReportSource('-0') : document.getElementById('data') ? new ReportSource() : new ServerSource(0));
