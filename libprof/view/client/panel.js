// @ts-check
// The panel next to the picture. Texts of the profile only ever become text nodes.
import {count, plainName, share, time} from './format.js';
import {markOf, paint} from './palette.js';

export function make(tag, text = undefined, name = '', ...parts) {
  const element = document.createElement(tag);
  if (text !== undefined) element.textContent = text;
  if (name) element.className = name;
  element.append(...parts);
  return element;
}

export function button(text, go, title = '') {
  const element = make('button', text);
  if (title) element.title = title;
  element.addEventListener('click', go);
  return element;
}

// Copies what `text()` returns, and says so.
export function copyButton(label, text) {
  const one = button(label, async () => {
    try {
      await navigator.clipboard.writeText(text());
      one.textContent = 'Copied';
    } catch (error) {
      one.textContent = error.message;
    }
  });
  return one;
}

export function list(pairs) {
  return make('dl', '', '', ...pairs.flatMap(([name, value]) => [make('dt', name), make('dd', value)]));
}

// The answer `details` as elements: a card of the most wanted facts with `actions`, then titled parts and `more`. "All
// columns" is folded.
export function card(answer, actions, more = []) {
  const [{rows}, ...others] = answer.sections, facts = rows.filter(([name]) => name !== 'name');
  const full = rows.find(([name]) => name === 'name')?.[1] ?? '', short = plainName(/^[^<(]*/.exec(full)[0] || full);
  const head = make('h3', short);
  head.title = full;
  const whole = full === short || full.startsWith('[') ? [] : [folded('full name', [make('p', full, 'full')])];
  const columns = others.filter(({title}) => title === 'All columns').map(({title, rows: parts}) => folded(title, [list(parts)]));
  const parts = others.filter(({title}) => title !== 'All columns').flatMap(({title, rows: its}) => [...title ? [make('h2', title)] : [], list(its)]);
  return [head, ...whole, list(facts), ...actions, ...parts, ...more, ...columns];
}

export function folded(title, parts) {
  return make('details', '', '', make('summary', title), ...parts);
}

// A number as a cell: what is shown, and by what rows are sorted.
export function cell(value, show = count) { return {text: show(value), value}; }

function nameCell(name) {
  const {text, title = text, color = '', go = null} = typeof name === 'string' ? {text: name} : name;
  const line = make('span', '', 'line', ...color ? [sign(`var(--${color})`)] : [], go ? button(text, go) : make('span', text));
  const element = make('td', '', 'name', line);
  element.title = title;
  return element;
}

export function sign(color) {
  const element = make('span', '', 'sign');
  element.style.background = color;
  return element;
}

// The first cell of a row is a name, also as {text, title, color, go}; the others are numbers, as text or from cell(). A click
// on a head sorts by it: numbers from the greatest on, and with another click the other way round.
export function table(heads, rows) {
  const lines = rows.map(([name, ...numbers]) => {
    return make('tr', '', '', nameCell(name), ...numbers.map(each => make('td', typeof each === 'object' ? each.text : each, 'number')));
  });
  const valueOf = (row, column) => {
    const each = row[column];
    return typeof each === 'object' && 'value' in each ? each.value : typeof each === 'object' ? each.text : each;
  };
  let sorted = -1, upwards = true;
  const sort = column => {
    upwards = sorted === column ? !upwards : column === 0;
    sorted = column;
    const order = rows.map((row, i) => ({value: valueOf(row, column), i}));
    order.sort((a, b) => (a.value < b.value ? -1 : a.value > b.value ? 1 : a.i - b.i) * (upwards ? 1 : -1));
    element.append(...order.map(({i}) => lines[i]));
    head.querySelectorAll('th').forEach((each, i) => each.setAttribute('aria-sort', i !== column ? 'none' : upwards ? 'ascending' : 'descending'));
  };
  const head = make('tr', '', '', ...heads.map((text, i) => {
    const one = make('th', undefined, i > 0 ? 'number' : '');
    if (rows.length > 1 && text) one.append(button(text, () => sort(i), 'Sort'));
    else one.textContent = text;
    return one;
  }));
  const element = make('table', '', '', head, ...lines);
  return element;
}

// An SVG element.
export function shape(tag, attributes) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// A bar of the parts of a whole: [name, size, color's name]. `named`: parts that have room say what they are.
export function bar(parts, whole, named = false) {
  const label = parts.map(([name, size]) => `${name} ${share(size, whole)}`).join(', ');
  const picture = shape('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', role: 'img', 'aria-label': label});
  const leastNamed = 0.07, words = [];
  let x = 0;
  for (const [name, size, color] of parts) {
    const part = whole > 0 ? size / whole : 0;
    const piece = shape('rect', {x, y: 0, width: 1000 * part, height: 10, fill: `var(--${color})`}), title = shape('title', {});
    title.textContent = `${name}: ${share(size, whole)}, ${time(size)}`;
    piece.append(title);
    picture.append(piece);
    if (named && part >= leastNamed) {
      const word = make('span', `${name} ${share(size, whole)}`);
      paint(word, color);
      Object.assign(word.style, {left: `${x / 10}%`, width: `${100 * part}%`});
      words.push(word);
    }
    x += 1000 * part;
  }
  return make('span', '', named ? 'bar named' : 'bar', picture, ...words);
}

const titles = {
  stream: 'GPU work', range: 'NVTX ranges', range_on_gpu: 'NVTX ranges on the GPU',
  api: 'CUDA API', synchronization: 'Synchronizations', overhead: 'Overhead of CUPTI and the driver',
};

// Shares are of the window, if one was chosen; for a whole run, of the time from the first work to the last, since the host
// may begin long before and end long after.
export function devices(all, {from, to}, whole) {
  return all.flatMap(device => {
    const span = whole ? device.last - device.first : to - from;
    const pieces = [
      ['kernels alone', device.compute - device.both - device.exposed, 'compute'], ['kernels and copies', device.both, 'both'],
      ...device.exposed > 0 ? [['exposed communication', device.exposed, 'communication']] : [],
      ['copies alone', device.copies - device.both, 'copy'], ['idle', span - device.busy, 'before'],
    ];
    const parts = table(['', 'time', 'share'], pieces.map(([text, size, color]) => [{text, color}, time(size), share(size, span)]));
    const around = whole ? [make('p', `Of the ${time(span)} from its first work to its last. Before: ${time(device.first - from)}, ` +
                                      `after: ${time(to - device.last)}.`, 'key')] : [];
    return [make('h2', device.name), bar(pieces, span), parts, ...around];
  });
}

// The answer `statistics` as elements. `whole`: no window was chosen; `go(id, name)` marks the records of a name.
export function statistics(answer, most, whole = false, go = null) {
  const parts = devices(answer.devices, answer, whole);
  for (const kind of ['stream', 'range_on_gpu', 'range', 'api', 'synchronization', 'overhead']) {
    const work = answer.work[kind];
    if (!work) continue;
    const rows = work.map(({id, label, name, color, ...each}) => {
      return [{text: plainName(label), title: name, color: markOf(kind, color), go: go && (() => go(id, name))},
              cell(each.time, time), cell(each.count), cell(each.longest, time)];
    });
    const heads = ['name', kind === 'range_on_gpu' ? 'first to last' : 'time', 'count', 'longest'];
    parts.push(make('h2', titles[kind]), ...long(heads, rows, most, answer.names[kind]));
  }
  if (parts.length === 0) parts.push(make('p', 'No record that has a time lies here.'));
  return parts;
}

// A table of the first rows; a button shows the others. `all`: how many there are, of which `rows` may be the first.
export function long(heads, rows, most, all) {
  const shown = table(heads, rows.slice(0, most)), left = all - Math.min(most, rows.length);
  if (left === 0) return [shown];
  const more = make('p', undefined, 'key');
  if (rows.length > most) {
    more.append(button(`${count(left)} more names`, () => {
      const rest = all > rows.length ? [make('p', `and ${count(all - rows.length)} more names`, 'key')] : [];
      shown.replaceWith(table(heads, rows), ...rest);
      more.remove();
    }));
  } else {
    more.textContent = `and ${count(left)} more names`;
  }
  return [shown, more];
}

// The answer `untimed` as elements.
export function untimed(answer) {
  const rows = answer.groups.map(each => [each.name, `${each.process}`, count(each.count), each.ids.join(', ')]);
  const more = answer.left_out > 0 ? [make('p', `and ${count(answer.left_out)} more records`, 'key')] : [];
  return [table(['name', 'process', 'count', 'first _id_'], rows), ...more];
}

export const keys = [
  ['w s', 'zoom in and out'], ['a d', 'move'], ['\u2190 \u2192', 'move'], ['. ,', 'the next and the previous record of the row'],
  ['\u2191 \u2193', 'scroll; with a record selected: to what is nearest in the row above or below'], ['f', 'fit what is selected'],
  ['0', 'the whole run'], ['/', 'search: a part of a name, or /a regular expression/'], ['n N', 'next and previous of what was found, or of the marked name'],
  ['q', 'ask in SQL; Ctrl and Enter asks'], ['i', 'statistics'], ['c', 'a flame graph'], ['m', 'a note at the middle of the window or at what is selected'],
  ['g G', 'next and previous of the longest times without GPU work'], ['t T', 'of the longest steps'],
  ['l L', 'of the losses that have a time'], ['Escape', 'select and mark nothing'],
  ['wheel', 'zoom at the pointer; with shift or ctrl: move or scroll'], ['drag', 'move'], ['two fingers', 'zoom'],
  ['shift and drag, drag in the ruler', 'statistics of a range of time; its edges can be dragged'], ['click', 'details'],
];
