// @ts-check
// Flame graphs: kernels by what led to their launches, the NVTX ranges around them or the functions of Python.
import {count, share, time} from './format.js';
import {paint} from './palette.js';
import {button, make} from './panel.js';
import {source} from './source.js';
import {get, state} from './state.js';

const leastShare = 0.0005;  // narrower boxes are left out
const wayWords = {ranges: ['By NVTX range', 'NVTX ranges around the launch'], stacks: ['By Python stack', 'Functions of Python that launched']};

class Node {
  constructor(name, color) {
    this.name = name;
    this.color = color;
    this.ns = this.launches = 0;
    /** @type {Node[]} */ this.inside = [];
  }
  child(name, color) {
    const node = new Node(name, color);
    this.inside.push(node);
    return node;
  }
  get depth() { return 1 + Math.max(0, ...this.inside.map(node => node.depth)); }
}

// Of the answer `flame`.
export function treeOf({nodes, kernels, rest: [ns, launches]}) {
  const root = new Node('all kernels', 'compute'), all = [root], depths = [0];
  nodes.slice(1).forEach(([parent, name], i) => {
    depths.push(depths[parent] + 1);
    all.push(all[parent].child(name, `nvtx-${depths[i + 1] % 2}`));
  });
  const parents = nodes.map(([parent]) => parent);
  for (const [node, name, color, time, number] of kernels) {
    Object.assign(all[node].child(name, color), {ns: time, launches: number});
    for (let i = node; ; i = parents[i]) {
      all[i].ns += time;
      all[i].launches += number;
      if (i === 0) break;
    }
  }
  if (launches > 0) Object.assign(root.child('kernels that take least', 'overhead'), {ns, launches});
  root.ns += ns;
  root.launches += launches;
  return root;
}

// A picture below a line of text. `path`: from the root to the node that has the whole width.
export class Flame {
  // `tools`: elements in front of the line.
  constructor(tools = []) {
    this.head = make('p', '', 'tools');
    this.picture = make('div', '', 'flame');
    this.tools = tools;
  }

  say(text) {
    this.head.replaceChildren(...this.tools, text);
    this.picture.replaceChildren();
  }

  show(root, path = [root]) {
    const top = path.at(-1), back = path.length > 1 ? [button('All', () => this.show(root), 'Show all of them')] : [];
    if (root.ns === 0) return this.say('No kernel that has times begins here.');
    const part = path.length > 1 ? `, ${share(top.ns, root.ns)} of all` : '';
    this.head.replaceChildren(...this.tools, ...back, make('span', `${time(top.ns)} in ${count(top.launches)} kernels${part}`));
    const boxes = [], box = (node, go, title, left, width, depth) => {
      const one = button(node.name, go, title);
      paint(one, node.color);
      Object.assign(one.style, {left: `${left}%`, width: `${width}%`, top: `${20 * depth}px`});
      boxes.push(one);
    };
    const add = (node, at, depth, above) => {
      if (node.ns < leastShare * top.ns) return;
      const text = `${node.name}\n${time(node.ns)}, ${share(node.ns, root.ns)}, ${count(node.launches)} kernel${node.launches === 1 ? '' : 's'}`;
      box(node, () => this.show(root, [...above, node]), text, 100 * at / top.ns, 100 * node.ns / top.ns, depth);
      let inner = at;
      for (const each of [...node.inside].sort((a, b) => b.ns - a.ns)) {
        add(each, inner, depth + 1, [...above, node]);
        inner += each.ns;
      }
    };
    path.slice(0, -1).forEach((node, depth) => box(node, () => this.show(root, path.slice(0, depth + 1)), node.name, 0, 100, depth));
    add(top, 0, path.length - 1, path.slice(0, -1));
    this.picture.style.height = `${20 * (path.length + top.depth)}px`;
    this.picture.replaceChildren(...boxes);
  }
}

// A button for each of `ways`; `go(way)` shows it.
export function wayButtons(ways, shown, go) {
  return ways.length < 2 ? [] : ways.map(way => {
    const [text, title] = wayWords[way], one = button(text, () => go(way), title);
    one.setAttribute('aria-pressed', `${way === shown}`);
    return one;
  });
}

// The tab: of the window.
export class FlameTab {
  constructor() {
    this.flame = new Flame();
    this.by = '';
    get('flame').append(this.flame.head, this.flame.picture);
  }

  async fill() {
    const {view} = state, from = Math.floor(view.from), to = Math.ceil(view.to), of = `${from} ${to} ${this.by}`;
    if (this.of === of) return;
    this.of = of;
    try {
      const answer = await source.ask('flame', 0, {from, to, ...this.by && {by: this.by}});
      if (this.of !== of) return;
      this.flame.tools = wayButtons(answer.ways, answer.by, way => {
        this.by = way;
        this.fill();
      });
      this.flame.show(treeOf(answer));
    } catch (error) {
      this.of = '';
      this.flame.say(error.message);
    }
  }
}

// The parts of a report: its flame graphs, one at a time.
export function flames(answers) {
  const flame = new Flame(), ways = answers.map(({by}) => by), show = way => {
    flame.tools = wayButtons(ways, way, show);
    flame.show(treeOf(answers.find(({by}) => by === way)));
  };
  show(ways[0]);
  return [flame.head, flame.picture];
}
