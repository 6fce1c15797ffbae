// @ts-check
// A report's text: what ran, where the time went, what can be mended, and what took most of it. What has a place in time
// leads to it in the timeline, which stays in view below.
import {count, share, time, value} from './format.js';
import {hostIn} from './jump.js';
import {accounts} from './account.js';
import {button, list, make, shape, table, untimed} from './panel.js';
import {goToTime} from './choose.js';
import {compared} from './compare.js';
import {flames} from './flame.js';
import {pagesOf} from './kernel.js';
import {source} from './source.js';

const mostSummaryRows = 10;
const wide = ['Findings', 'Steps', 'Kernels', 'Flame graph', 'Longest times without GPU work', 'Metrics, means of launches'];  // on paper

// A time of the report's run, which the timeline may show shifted.
const goToOwn = (at, length) => goToTime(at + source.shifts.at(-1), length);

// `text`: a time, which paper has too.
function placeButton(from, length, text = '') {
  const element = button(text || 'Show', () => goToOwn(from, length), 'Show it in the timeline');
  element.classList.add('place');
  element.classList.toggle('only', !text);
  return element;
}

function moreLine(number, what) { return number > 0 ? [make('p', `and ${count(number)} more ${what}${number > 1 ? 's' : ''}`, 'key')] : []; }

// Where in the report's time something is.
function placeStrip(run, from, to, text) {
  const span = run.end - run.begin || 1, width = Math.max(4, 1000 * (to - from) / span);
  const picture = shape('svg', {viewBox: '0 0 1000 8', preserveAspectRatio: 'none', class: 'strip', role: 'img', 'aria-label': text});
  picture.append(shape('rect', {x: Math.min(1000 - width, 1000 * (from - run.begin) / span), y: 0, width, height: 8}));
  return picture;
}

// A cell with a bar: the part that the number is of the largest.
function withBar(cell, part, color = 'compute') {
  const bar = make('span', '', 'size');
  bar.style.width = `${Math.max(part > 0 ? 0.5 : 0, 100 * part)}%`;
  bar.style.background = `var(--${color})`;
  cell.append(bar);
}

function findingCard(run, each) {
  const facts = each.draws.map(draw => {
    const line = make('li', [draw.amount, draw.what && `most: ${draw.what}`, draw.where].filter(text => text).join('; '));
    if (draw.first !== null) {
      line.append(' ', placeButton(draw.first, draw.last - draw.first), placeStrip(run, draw.first, draw.last, `Place in the run: ${draw.where}`));
    }
    return line;
  });
  return make('li', '', 'finding', make('h3', each.title), make('p', `${each.saving}${each.simulated}; confidence ${each.confidence}.`),
              make('ul', '', '', ...facts), make('p', each.fix, 'fix'), make('p', `Rule ${each.rule}: gpuprof findings FILE --explain ${each.rule}`, 'key'));
}

function findingParts(run, {about, all, rest, together, abstains}) {
  const parts = all.map(each => findingCard(run, each));
  return [...about.map(text => make('p', text)), ...parts.length ? [make('ol', '', 'findings', ...parts)] : [],
          ...[...together, rest].filter(text => text).map(text => make('p', text)),
          ...abstains.length ? [make('details', '', '', make('summary', 'Not judged'), ...abstains.map(text => make('p', text)))] : []];
}

// A bar for each step, as high as it took long, with the time in which the GPU was busy. Those that would make all others
// flat are cut, and say how long they took.
function stepChart({all, count: number, median, longest, longest_number}) {
  const width = 1000, height = 120, room = 16, top = Math.min(longest, 4 * median || longest), each = Math.min(60, width / all.length);
  const picture = shape('svg', {viewBox: `0 0 ${width} ${height + room}`, class: 'steps', role: 'group',
                                'aria-label': `${count(number)} steps, median ${time(median)}, longest ${time(longest)}`});
  const y = ns => room + height - height * Math.min(1, ns / top);
  all.forEach((step, i) => {
    const group = shape('g', {class: 'step', tabindex: 0, role: 'button'}), gap = Math.min(2, each / 5);
    const title = shape('title', {});
    title.textContent = `${step.name}: ${time(step.time)}, GPU busy ${time(step.busy)}`;
    const bar = (ns, name) => shape('rect', {x: i * each, y: y(ns), width: each - gap, height: room + height - y(ns), class: name});
    group.append(title, bar(step.time, 'whole'), bar(Math.min(step.busy, step.time), 'busy'));
    if (step.time > top) {
      const ends = i * each > width / 2;
      const label = shape('text', {x: ends ? (i + 1) * each - 4 : i * each, y: room - 4, 'text-anchor': ends ? 'end' : 'start'});
      label.textContent = `\u25b2 ${time(step.time)}`;
      group.append(label);
    }
    group.addEventListener('click', () => goToOwn(step.begin, step.time));
    group.addEventListener('keydown', event => { if (event.key === 'Enter') goToOwn(step.begin, step.time); });
    picture.append(group);
  });
  picture.append(shape('line', {x1: 0, x2: width, y1: y(median), y2: y(median), class: 'median'}));
  const words = number > 1 ? `${count(number)} steps: median ${time(median)} (dashed), longest ${time(longest)}, number ${longest_number}.` : `1 step of ${time(longest)}.`;
  const key = make('p', `${words} Height: how long a step took on the host; filled: how long a GPU was busy with its work.`, 'key');
  return [picture, key, ...moreLine(number - all.length, 'step')];
}

function workTable(rows, whole, names, most, colorOfRow = each => each.color) {
  const shown = rows.slice(0, most), largest = shown[0]?.time || 1;
  const element = table(['name', 'time', 'share', 'count', 'average', 'longest'], shown.map(each => {
    return [each.label, time(each.time), share(each.time, whole), count(each.count), time(Math.round(each.time / each.count)), time(each.longest)];
  }));
  shown.forEach((each, i) => {
    const cell = element.rows[i + 1].cells[0];
    cell.title = each.name;
    withBar(cell, each.time / largest, colorOfRow(each));
  });
  return [element, ...moreLine(names - shown.length, 'name')];
}

// Nested ranges are indented. Shares are of the report's time.
function rangeTable({rows, left_out}, span) {
  const element = table(['name', 'GPU busy', 'share', 'span', 'ranges', 'launches'], rows.map(each => {
    return [each.name, time(each.busy), share(each.busy, span), time(each.span), count(each.ranges), count(each.work)];
  }));
  rows.forEach((each, i) => {
    const cell = element.rows[i + 1].cells[0];
    cell.style.paddingLeft = `${each.depth}em`;
    withBar(cell, each.busy / (rows[0].busy || 1));
  });
  return [element, ...moreLine(left_out, 'name')];
}

function gapTable(all) {
  const element = table(['before', 'time', 'at', 'host in'], all.map(gap => [gap.behind, time(gap.time), '', hostIn(gap)]));
  all.forEach((gap, i) => {
    const {cells} = element.rows[i + 1];
    cells[2].append(placeButton(gap.at, gap.time, time(gap.at)));
    cells[3].className = '';  // text, which may wrap
  });
  element.rows[0].cells[3].className = '';
  return element;
}

// From the minimum, or 0, to the maximum, over the whole time.
function curve({points, width, least, most}) {
  const bottom = Math.min(least, 0), y = each => 100 - 100 * (each - bottom) / (most - bottom || 1);
  let path = points.length ? `M${points[0][0]} 100` : '', last = points[0]?.[1];
  for (const [x, , highest, then] of points) {
    path += `L${x} ${y(last)}L${x} ${y(highest)}L${x + 1} ${y(then)}`;
    last = then;
  }
  if (path) path += `L${width} ${y(last)}L${width} 100Z`;
  const picture = shape('svg', {viewBox: `0 0 ${width} 100`, preserveAspectRatio: 'none', class: 'curve', 'aria-hidden': 'true'});
  picture.append(shape('path', {d: path}));
  return picture;
}

function counterCard(each) {
  const numbers = [['least', each.least], ['mean', each.mean], ['most', each.most]].map(([word, one]) => `${word} ${value(one, each.unit)}`);
  return make('div', '', 'counter', make('h3', each.path.at(-1)), make('p', each.path.slice(0, -1).join(', '), 'key'), curve(each),
              make('p', '', '', `${numbers.join(', ')} at `, placeButton(each.at, 0, time(each.at))));
}

function metricTable({names, kernels, names_left_out, kernels_left_out}) {
  const rows = table(['kernel', 'launches', ...names], kernels.map(each => [each.name, count(each.launches), ...each.values]));
  return [make('div', '', 'wide', rows), ...moreLine(kernels_left_out, 'kernel'), ...moreLine(names_left_out, 'metric')];
}

// [title, elements] of each part that has something to say.
function summaryParts(data, run) {
  const {work: all, names} = data.statistics, span = run.end - run.begin, {whole} = data, gpu = [];
  if (all.stream) gpu.push(...workTable(all.stream, whole.stream, names.stream, mostSummaryRows));
  else gpu.push(make('p', data.untimed.groups.length ? 'None has times.' : 'None was recorded.'));
  if (data.untimed.groups.length) gpu.push(make('h3', 'GPU work without times'), ...untimed(data.untimed));
  const parts = [];
  if (data.comparison) parts.push([`Compared with ${data.comparison.titles[0]}`, compared({...data.comparison, work: data.differences.work}, mostSummaryRows)]);
  if (data.account.gpus.length) parts.push(['Where the time went', accounts(data.account, mostSummaryRows)]);
  parts.push(['Findings', findingParts(run, data.advice)]);
  if (data.steps.all.length) parts.push(['Steps', stepChart(data.steps)]);
  parts.push(['GPU work', gpu]);
  if (data.kernels.pages.length) parts.push(['Kernels', pagesOf(data.kernels)]);
  if (data.stops.gaps.length) parts.push(['Longest times without GPU work', [gapTable(data.stops.gaps.slice(0, 6))]]);
  if (data.ranges.rows.length) parts.push(['NVTX ranges on the GPU', rangeTable(data.ranges, span)]);
  if (data.flames.length) parts.push(['Flame graph', flames(data.flames)]);
  if (all.api) parts.push(['CUDA API', workTable(all.api, whole.api, names.api, 8, () => 'api')]);
  if (data.metrics.names.length && data.metrics.kernels.length) parts.push(['Metrics, means of launches', metricTable(data.metrics)]);
  if (data.counters.length) parts.push(['Memory, clocks, power, samples', [make('div', '', 'counters', ...data.counters.map(counterCard))]]);
  parts.push(['What ran', [list(data.facts), list([['records', count(run.stored)], ['time', time(span)]])]]);
  return parts;
}

function foldTimeline() {
  const folded = document.body.classList.toggle('folded');
  document.getElementById('fold').setAttribute('aria-expanded', `${!folded}`);
  dispatchEvent(new Event('resize'));
}

export function showSummary() {
  const data = document.getElementById('data') && source.data, run = source.runs.at(-1);
  if (!data) return;
  document.body.classList.add('report');
  const article = make('article'), contents = make('ol');
  const command = data.facts.find(([name]) => name === 'command')?.[1], gpus = data.facts.filter(([name]) => name === 'GPU').map(([, name]) => name);
  article.append(make('h1', command ?? run.title), make('p', [...gpus, `${count(run.stored)} records`, time(run.end - run.begin)].join(' \u00b7 '), 'key'));
  const verdicts = data.advice.verdicts.length ? data.advice.verdicts : [data.account.verdict].filter(text => text);
  article.append(...verdicts.map(text => make('p', text, 'headline')));
  for (const [title, elements] of summaryParts(data, run)) {
    const part = make('section', '', '', make('h2', title), ...elements);
    part.setAttribute('aria-label', title);
    part.classList.toggle('all', wide.includes(title));
    article.append(part);
    contents.append(make('li', '', '', button(title, () => part.scrollIntoView({block: 'start'}))));
  }
  const nav = make('nav', '', '', contents), folder = button('Timeline', foldTimeline, 'Fold or unfold the timeline');
  nav.setAttribute('aria-label', 'Contents');
  folder.id = 'fold';
  folder.setAttribute('aria-expanded', 'true');
  document.querySelector('header').prepend(folder);
  const section = document.getElementById('summary');
  section.hidden = false;
  section.replaceChildren(nav, article);
}
