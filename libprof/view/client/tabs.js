// @ts-check
// The tabs below the picture; one is open at a time.
import {get, remember, state} from './state.js';

const names = ['statistics', 'flame', 'memory', 'sql'];
const buttonOf = name => get(name === 'sql' ? 'ask' : `tab-${name}`);

export class Tabs {
  // `fill` has for each tab a function that shows what it says of the window.
  constructor(fill) {
    this.fill = fill;
    this.waiting = 0;
    for (const name of names) buttonOf(name).addEventListener('click', () => this.toggle(name));
    document.addEventListener('viewmove', () => this.refresh());
  }

  toggle(name, open = state.tab !== name) {
    this.show(open ? name : '');
    remember();
    if (!open || name === 'sql') get(open ? 'statement' : 'canvas').focus();
  }

  show(name) {
    state.tab = name;
    for (const each of names) {
      get(each).hidden = each !== name;
      buttonOf(each).setAttribute('aria-expanded', `${each === name}`);
    }
    if (name) this.fill[name]();
  }

  // Shows what the address describes.
  restore(name) { if (names.includes(name) && name !== state.tab) this.show(name); }

  // When the window rests.
  refresh() {
    clearTimeout(this.waiting);
    this.waiting = setTimeout(() => { if (state.tab && state.tab !== 'sql') this.fill[state.tab](); }, 500);
  }
}
