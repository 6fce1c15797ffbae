// @ts-check
// The longest gaps, steps and losses, navigated with keys and buttons.
import {percent, time} from './format.js';
import {button, make} from './panel.js';

// How long the host was in each function, or in none: longest first.
export function hostIn(gap) {
  const parts = gap.host.map(([name, ns]) => `${name} for ${time(ns)} (${percent(ns, gap.time)})`);
  return parts.join(', ') || 'not recorded';
}

// The title and the facts of each kind of stop.
const told = {
  gaps: gap => [`GPU without work${gap.host.length ? `, host in ${gap.host[0][0]}` : ''}`, [['for', time(gap.time)], ['before', gap.behind], ['host in', hostIn(gap)]]],
  steps: step => [`Step: ${step.name}`, [['took', time(step.time)], ['median of all steps', time(step.median)]]],
  losses: loss => ['Loss', [['for', time(loss.time)], ['what', loss.text]]],
};
const titlesOf = {gaps: ['Gaps', 'g', 'G'], steps: ['Steps', 't', 'T'], losses: ['Losses', 'l', 'L']};

export class Jumps {
  // `go(stop, title, facts)` shows a stop.
  constructor(element, go) {
    this.element = element;
    this.go = go;
    this.set({gaps: [], steps: [], losses: []});
  }

  set(stops) {
    this.stops = stops;
    this.at = {gaps: -1, steps: -1, losses: -1};
    this.counts = {};
    this.element.replaceChildren(...Object.keys(titlesOf).map(kind => this.group(kind)));
  }

  group(kind) {
    const [title, next, back] = titlesOf[kind], element = make('span');
    const go = (text, by, key) => {
      const one = button(text, () => this.jump(kind, by), key);
      one.setAttribute('aria-label', `${title}: ${by > 0 ? 'next' : 'previous'}`);
      return one;
    };
    element.hidden = this.stops[kind].length === 0;
    this.counts[kind] = make('span', `${this.stops[kind].length}`);
    element.append(`${title} `, go('\u2039', -1, back), this.counts[kind], go('\u203a', 1, next));
    return element;
  }

  jump(kind, by) {
    const all = this.stops[kind];
    if (all.length === 0) return;
    const from = this.at[kind] < 0 && by < 0 ? 0 : this.at[kind];
    this.at[kind] = (from + by + all.length) % all.length;
    this.counts[kind].textContent = `${this.at[kind] + 1}/${all.length}`;
    const stop = all[this.at[kind]];
    const [title, facts] = told[kind](stop);
    if (stop.of) facts.unshift(['run', stop.of]);
    this.go(stop, title, facts);
  }

  get actions() {
    return Object.fromEntries(Object.entries(titlesOf).flatMap(([kind, [, ...both]]) =>
      both.map((key, i) => [key, () => this.jump(kind, i === 0 ? 1 : -1)])));
  }
}
