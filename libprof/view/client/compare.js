// @ts-check
// What changed between two runs: the answers `comparison`, which is what gpuprof diff says, and `differences`.
import {count, plainName, time} from './format.js';
import {barWords, inOrder, rowColor} from './account.js';
import {bar, button, copyButton, devices, long, make} from './panel.js';

const titlesOfWork = {stream: ['GPU work', ''], range: ['NVTX ranges', 'nvtx-0'], api: ['CUDA calls', 'api']};
const timeOf = ns => time(Math.round(ns));
const number = size => Number.isInteger(size) ? count(size) : size.toFixed(1);

function signed([from, to]) {
  return {text: `${to < from ? '\u2212' : to > from ? '+' : ''}${timeOf(Math.abs(to - from))}`, value: to - from};
}

// In percent; there is none from nothing.
function change([from, to]) {
  if (from === 0) return {text: to > 0 ? 'new' : '', value: to > 0 ? Infinity : 0};
  const part = 100 * (to - from) / from;
  return {text: to === 0 ? 'gone' : `${part < 0 ? '\u2212' : part > 0 ? '+' : ''}${Math.abs(part).toFixed(1)} %`, value: part};
}

function bothOf(values, show) {
  const [a, b] = values.map(show);
  return {text: a === b ? a : `${a} \u2192 ${b}`, value: values[1]};
}

// A row of a table: the name, and the times of both runs.
const changed = (name, times, ...more) => [name, signed(times), change(times), bothOf(times, timeOf), ...more];
const heads = (name, ...more) => [name, 'change', '%', 'A \u2192 B', ...more];

// Kernels, ranges or calls; `steps`: by which the times of A and B are divided.
function workRows(kind, {all, each}, steps) {
  const per = values => values.map((value, i) => value / Math.max(1, steps[i]));
  return [{name: 'all', ...all}, ...each].map(({name, color = titlesOfWork[kind][1], time: times, count: counts}) => {
    return changed({text: plainName(name), title: name, color}, per(times), bothOf(per(counts), number));
  });
}

function workParts(kinds, answer, most, steps) {
  return kinds.filter(kind => answer[kind].names > 0).flatMap(kind => {
    return [make('h2', titlesOfWork[kind][0]), ...long(heads('name', 'count'), workRows(kind, answer[kind], steps), most + 1, answer[kind].names + 1)];
  });
}

// Where the time of one side went, as a bar as long as its time is of `most`.
function barOf({parts}, side, most) {
  return bar(inOrder(parts, each => each.time[side]).map(each => [barWords(each), each.time[side], rowColor(each)]), most, true);
}

function sideBars(answer) {
  return answer.titles.map((title, side) => {
    const name = make('span', '', 'cut', `${'AB'[side]}  ${title}`);
    name.title = title;
    return make('div', '', 'side', name, make('span', timeOf(answer.time[side]), 'number'), barOf(answer, side, Math.max(...answer.time)));
  });
}

// A row for each step, A and B by number. `go(i)` shows the step of both.
function stepRows([a, b], go) {
  return a.all.slice(0, b.all.length).map((step, i) => {
    const name = step.name === b.all[i].name ? step.name : `${step.name} and ${b.all[i].name}`;
    const shown = {text: `${i + 1}: ${name}`, title: go ? 'Show this step of both runs, one below the other' : name, go: go && (() => go(i))};
    return changed(shown, [step.time, b.all[i].time]);
  });
}

function stepParts(steps, go) {
  const rows = stepRows(steps, go), [a, b] = steps.map(each => `${count(each.count)} of ${timeOf(each.median)} in the median`);
  return rows.length === 0 ? [] : [make('h2', 'Steps'), make('p', `A: ${a}; B: ${b}.`, 'key'), ...long(heads('step'), rows, 8, rows.length)];
}

// The answer `comparison` as elements. `goStep(i)` shows a step of both runs.
export function compared(answer, most, goStep = null) {
  const {per_step: perStep, time: times, parts, kernels, work: others, periods} = answer, steps = periods.map(({steps: each}) => each);
  const rows = parts.map(each => changed({text: each.words, color: rowColor(each)}, each.time));
  const kernelRows = kernels.map(each => {
    const title = each.shapes ? `${each.name}\n${each.shapes.join(' \u2192 ')}` : each.name;
    return changed({text: each.label, title, color: each.color}, each.time, bothOf(each.launches, number));
  });
  const notes = [...answer.remarks, ...answer.differences.map(text => `The sides differ: ${text}.`)];
  return [
    make('p', answer.headline, 'headline'), ...notes.map(text => make('p', text)), copyButton('Copy as Markdown', () => markdownOf(answer)),
    make('h2', perStep ? 'Where the time of a step went' : 'Where the time went'), ...sideBars(answer),
    ...long(heads('it'), [...rows, changed({text: 'in all'}, times)], most + 1, rows.length + 1),
    ...stepParts(answer.steps, goStep),
    ...kernelRows.length ? [make('h2', perStep ? 'Kernels, of a step' : 'Kernels'), ...long(heads('name', 'launches'), kernelRows, most, answer.names)] : [],
    ...workParts(['range', 'api'], others, most, perStep ? steps : [1, 1]),
  ];
}

// A sentence and a bar for each run. `go()` shows the comparison.
export function showChange(answer, go) {
  const section = document.getElementById('verdict');
  section.hidden = false;
  const bars = sideBars(answer).map(element => {
    const one = button('', go, 'What changed');
    one.replaceChildren(element);
    return one;
  });
  section.replaceChildren(make('p', answer.headline), ...bars);
}

// The answer `differences` as elements: a window of both runs.
export function differences(answer, titles, most) {
  const parts = titles.flatMap((title, i) => {
    const shown = devices(answer.devices[i], answer.lasted[i], false);
    return [make('h2', title), ...shown.length ? shown : [make('p', 'no GPU work in this time', 'key')]];
  });
  const {time: times} = answer.work.stream.all, words = change(times).text;
  const first = `GPU work took ${timeOf(times[1])} in ${titles[1]} and ${timeOf(times[0])} in ${titles[0]}${words ? ` (${words})` : ''}.`;
  const text = () => `${plain(first)}\n\n${Object.keys(titlesOfWork).map(kind => markdownTable(titlesOfWork[kind][0], workRows(kind, answer.work[kind], [1, 1]), 20)).join('')}`;
  return [make('p', first), copyButton('Copy as Markdown', text), ...parts, ...workParts(Object.keys(titlesOfWork), answer.work, most, [1, 1])];
}

// Names are text of the file: nothing in them is markup.
const plain = text => text.replaceAll(/[`\n]/g, ' ').replaceAll('|', '\\|');

function markdownTable(title, rows, most) {
  if (rows.length < 2) return '';
  const line = cells => `| ${cells.join(' | ')} |\n`, columns = heads(title, 'count');
  const lines = rows.slice(0, most).map(([{text, title: full = text}, ...numbers]) => line([`\`${plain(full || text)}\``, ...numbers.map(each => plain(each.text))]));
  return `\n${line(columns)}${line(columns.map((_, i) => i ? '--:' : '---'))}${lines.join('')}`;
}

// As gpuprof diff --markdown prints it, and what this page has in addition.
function markdownOf(answer) {
  const steps = answer.per_step ? answer.periods.map(({steps: each}) => each) : [1, 1];
  return answer.markdown + ['range', 'api'].map(kind => markdownTable(titlesOfWork[kind][0], workRows(kind, answer.work[kind], steps), 20)).join('');
}
