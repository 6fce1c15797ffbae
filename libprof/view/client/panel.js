// @ts-check
// The panel next to the picture. Texts of the profile only ever become text nodes.
import {count, cut, share, time} from './format.js';

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

export function list(pairs) {
  return make('dl', '', '', ...pairs.flatMap(([name, value]) => [make('dt', name), make('dd', value)]));
}

// The answer `details` as elements: titled parts, except for the first. "All columns" is folded.
export function sections(answer) {
  return answer.sections.flatMap(({title, rows}) => title === 'All columns' ? [folded(title, [list(rows)])]
    : [...title ? [make('h2', title)] : [], list(rows)]);
}

export function folded(title, parts) {
  return make('details', '', '', make('summary', title), ...parts);
}

export function table(heads, rows) {
  const head = make('tr', '', '', ...heads.map((text, i) => make('th', text, i > 0 ? 'number' : '')));
  const line = ([name, ...numbers]) => {
    const cell = make('td', cut(name, 44), 'name');
    cell.title = name;
    return make('tr', '', '', cell, ...numbers.map(text => make('td', text, 'number')));
  };
  return make('table', '', '', head, ...rows.map(line));
}

// An SVG element.
export function shape(tag, attributes) {
  const element = document.createElementNS('http://www.w3.org/2000/svg', tag);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  return element;
}

// A bar of the parts of a whole: [name, size, color].
export function bar(parts, whole) {
  const label = parts.map(([name, size]) => `${name} ${share(size, whole)}`).join(', ');
  const picture = shape('svg', {viewBox: '0 0 1000 10', preserveAspectRatio: 'none', role: 'img', 'aria-label': label});
  let x = 0;
  for (const [, size, color] of parts) {
    const width = whole > 0 ? 1000 * size / whole : 0;
    picture.append(shape('rect', {x, y: 0, width, height: 10, fill: color}));
    x += width;
  }
  return make('div', '', 'bar', picture);
}

const titles = {
  stream: 'GPU work', range: 'NVTX ranges', range_on_gpu: 'NVTX ranges on the GPU',
  api: 'CUDA API', synchronization: 'Synchronizations', overhead: 'Overhead of CUPTI and the driver',
};

// Shares are of the window, if one was chosen; for a whole run, of the time from the first work to the last, since the host
// may begin long before and end long after.
function devices(all, {from, to}, whole) {
  return all.flatMap(device => {
    const span = whole ? device.last - device.first : to - from;
    const pieces = [
      ['kernels alone', device.compute - device.both - device.exposed, 'var(--compute)'], ['kernels and copies', device.both, 'var(--both)'],
      ...device.exposed > 0 ? [['exposed communication', device.exposed, 'var(--communication)']] : [],
      ['copies alone', device.copies - device.both, 'var(--copy)'], ['idle', span - device.busy, 'var(--before)'],
    ];
    const names = make('dl');
    for (const [name, size, color] of pieces) {
      const sign = make('span', '', 'sign');
      sign.style.background = color;
      names.append(make('dt', '', '', sign, name), make('dd', `${share(size, span)}   ${time(size)}`));
    }
    const around = whole ? [make('p', `Of the ${time(span)} from its first work to its last. Before: ${time(device.first - from)}, ` +
                                      `after: ${time(to - device.last)}.`, 'key')] : [];
    return [make('h2', device.name), bar(pieces, span), names, ...around];
  });
}

// The answer `statistics` as elements. `whole`: no window was chosen.
export function statistics(answer, most, whole = false) {
  const parts = devices(answer.devices, answer, whole);
  for (const kind of ['stream', 'range_on_gpu', 'range', 'api', 'synchronization', 'overhead']) {
    const work = answer.work[kind];
    if (!work) continue;
    parts.push(make('h2', titles[kind]), table(['name', kind === 'range_on_gpu' ? 'first to last' : 'time', 'count', 'longest'],
      work.slice(0, most).map(each => [each.label, time(each.time), count(each.count), time(each.longest)])));
    const more = answer.names[kind] - Math.min(most, work.length);
    if (more > 0) parts.push(make('p', `and ${count(more)} more names`, 'key'));
  }
  if (parts.length === 0) parts.push(make('p', 'No record that has a time lies here.'));
  return parts;
}

// The answer `untimed` as elements.
export function untimed(answer) {
  const rows = answer.groups.map(each => [each.name, `${each.process}`, count(each.count), each.ids.join(', ')]);
  const more = answer.left_out > 0 ? [make('p', `and ${count(answer.left_out)} more records`, 'key')] : [];
  return [table(['name', 'process', 'count', 'first _id_'], rows), ...more];
}

function signed(from, to, show) {
  return `${to < from ? '\u2212' : to > from ? '+' : ''}${show(Math.abs(to - from))}`;
}

// The answer `differences` as elements.
export function differences(answer, titles, most, whole) {
  const parts = titles.flatMap((title, i) => {
    const shown = devices(answer.devices[i], answer.lasted[i], whole);
    return [make('h2', title), ...shown.length ? shown : [make('p', 'no GPU work in this time', 'key')]];
  });
  const both = (values, show) => values.map(show).join(' \u2192 ');
  const mean = (each, i) => each.count[i] > 0 ? time(Math.round(each.time[i] / each.count[i])) : '\u2013';
  const row = each => [each.name, signed(...each.time, time), both(each.time, time),
                       both([0, 1], i => mean(each, i)), both(each.count, count)];
  parts.push(make('h2', 'Differences by kernel'),
             table(['name', 'difference', 'time', 'mean', 'count'],
                   [{name: 'all GPU work', ...answer.all}, ...answer.work.slice(0, most)].map(row)));
  const more = answer.names - Math.min(most, answer.work.length);
  if (more > 0) parts.push(make('p', `and ${count(more)} more names`, 'key'));
  return parts;
}

export const keys = [
  ['w s', 'zoom in and out'], ['a d', 'move'], ['\u2190 \u2192', 'move'], ['. ,', 'the next and the previous record of the row'],
  ['\u2191 \u2193', 'scroll; with a record selected: to what is nearest in the row above or below'], ['f', 'fit what is selected'],
  ['0', 'the whole run'], ['/', 'search: a part of a name, or /a regular expression/'], ['Enter', 'next in the search'], ['q', 'ask in SQL; Ctrl and Enter asks'],
  ['g G', 'next and previous of the longest times without GPU work'], ['n N', 'of the longest steps'],
  ['l L', 'of the losses that have a time'], ['Escape', 'select nothing'],
  ['wheel', 'zoom at the pointer; with shift or ctrl: move or scroll'], ['drag', 'move'], ['two fingers', 'zoom'],
  ['shift and drag', 'statistics of a range of time'], ['click', 'details'],
];
