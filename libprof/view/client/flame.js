// @ts-check
// The tab with the flame graph: kernels of the window by the NVTX ranges around their launch.
import {count, share, time} from './format.js';
import {colorOf, colorOfWork, onMark} from './palette.js';
import {button, make} from './panel.js';
import {source} from './source.js';
import {get, state} from './state.js';

const mostRows = 5000, leastShare = 0.0005;  // narrower boxes are left out

// Kernels that begin between two times of the page, by path and name.
const sqlOf = (from, to) => `SELECT coalesce(t.value, '') AS path, coalesce(s.display, s.short, s.value, '?') AS kernel,
       coalesce(s.short, s.value, '?') AS function, g.ns, g.launches
FROM (SELECT p.path AS path, k.name AS name, sum(k."end" - k.start) AS ns, count(*) AS launches
      FROM (SELECT name, start, "end", correlationId FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
            UNION ALL SELECT name, start, "end", correlationId FROM CUPTI_ACTIVITY_KIND_KERNEL) AS k
      LEFT JOIN LAUNCH_RANGE AS r ON r.correlationId = k.correlationId
      LEFT JOIN NVTX_PATH AS p ON p.range = r.range
      WHERE k.start > 0 AND k.start - (SELECT CAST(value AS INTEGER) FROM RUN WHERE key = 'zero_ns') BETWEEN ${from} AND ${to}
      GROUP BY 1, 2) AS g
LEFT JOIN StringTable AS t ON t._id_ = g.path LEFT JOIN StringTable AS s ON s._id_ = g.name
ORDER BY g.ns DESC LIMIT ${mostRows}`;

class Node {
  constructor(name, color) {
    this.name = name;
    this.color = color;
    this.ns = this.launches = 0;
    /** @type {Map<string, Node>} */ this.inside = new Map();
  }
  add(ns, launches) {
    this.ns += ns;
    this.launches += launches;
  }
  child(key, name, color) {
    if (!this.inside.has(key)) this.inside.set(key, new Node(name, color));
    return this.inside.get(key);
  }
  get depth() { return 1 + Math.max(0, ...[...this.inside.values()].map(node => node.depth)); }
}

export function treeOf(rows) {
  const root = new Node('all kernels', 'compute');
  for (const [path, kernel, work, ns, launches] of rows) {
    let at = root;
    at.add(ns, launches);
    for (const part of path ? path.split('/') : []) {
      at = at.child(`range ${part}`, part, `nvtx-${at.depth % 2 ? 0 : 1}`);
      at.add(ns, launches);
    }
    at.child(`kernel ${kernel}`, kernel, colorOfWork(work)).add(ns, launches);
  }
  return root;
}

export class FlameTab {
  constructor() {
    this.head = make('p', '', 'tools');
    this.picture = make('div', '', 'flame');
    get('flame').append(this.head, this.picture);
  }

  async fill() {
    const {view} = state, from = Math.floor(view.from), to = Math.ceil(view.to);
    if (this.of === `${from} ${to}`) return;
    this.of = `${from} ${to}`;
    try {
      const {rows} = await source.sql(sqlOf(from, to), 0, undefined);
      this.show(treeOf(rows));
    } catch (error) {
      this.of = '';
      this.head.textContent = `${error.message}. A shorter window may help.`;
      this.picture.replaceChildren();
    }
  }

  // `path`: from the root to the node that has the whole width.
  show(root, path = [root]) {
    const top = path.at(-1), back = path.length > 1 ? [button('All', () => this.show(root), 'Show all of the window')] : [];
    const words = root.ns === 0 ? 'No kernel that has times begins here.' : `${time(top.ns)} in ${count(top.launches)} kernels that begin here; ${share(top.ns, root.ns)} of all of them.`;
    this.head.replaceChildren(...back, words);
    const boxes = [];
    const add = (node, at, depth, above) => {
      if (node.ns < leastShare * top.ns) return;
      const box = button(node.name, () => this.show(root, [...above, node]), `${node.name}\n${time(node.ns)}, ${share(node.ns, root.ns)}, ${count(node.launches)} kernels`);
      const color = colorOf(node.color);
      Object.assign(box.style, {left: `${100 * at / top.ns}%`, width: `${100 * node.ns / top.ns}%`, top: `${20 * depth}px`, background: color, color: onMark(color)});
      boxes.push(box);
      let inner = at;
      for (const each of [...node.inside.values()].sort((a, b) => b.ns - a.ns)) {
        add(each, inner, depth + 1, [...above, node]);
        inner += each.ns;
      }
    };
    path.slice(0, -1).forEach((node, depth) => {
      const box = button(node.name, () => this.show(root, path.slice(0, depth + 1)), node.name), color = colorOf(node.color);
      Object.assign(box.style, {left: '0', width: '100%', top: `${20 * depth}px`, background: color, color: onMark(color)});
      boxes.push(box);
    });
    if (top.ns > 0) add(top, 0, path.length - 1, path.slice(0, -1));
    this.picture.style.height = `${20 * (path.length + top.depth)}px`;
    this.picture.replaceChildren(...boxes);
  }
}
