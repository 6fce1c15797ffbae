// @ts-check
// Where the time of each GPU went: the answer `account`.
import {count, share, time} from './format.js';
import {bar, button, cell, make, table} from './panel.js';

// The class is the color's name.
export const rowColor = row => row.class.replace(' ', '-');
const mostBars = 4;
export const workClasses = ['compute', 'communication', 'copy', 'set'];

// What the GPU did, then why it was idle, of each the most first.
export function inOrder(rows, sizeOf) {
  const rank = row => workClasses.includes(row.class) ? workClasses.indexOf(row.class) : workClasses.length;
  return [...rows].sort((a, b) => rank(a) - rank(b) || sizeOf(b) - sizeOf(a));
}

// Shorter, for a part of a bar.
export const barWords = row => row.words.replace(/^was idle, (the )?/, 'idle, ');

// From the GPU's first work to its last: the host may begin long before and end long after.
function accountBar(rows, named = false) {
  const some = inOrder(rows.filter(row => !['before', 'after'].includes(row.class)), row => row.duration);
  return bar(some.map(row => [barWords(row), row.duration, rowColor(row)]), some.reduce((sum, row) => sum + row.duration, 0), named);
}

// All of it, or of each GPU its work and the `most` largest parts.
export function accounts(answer, most = Infinity) {
  const parts = answer.gpus.flatMap(({name, rows}) => {
    const isShown = (row, i) => i < most || workClasses.includes(row.class);
    const shown = rows.filter(isShown), others = rows.filter((row, i) => !isShown(row, i));
    const lines = table(['the GPU', 'time', 'share', 'intervals'], shown.map(row => {
      return [{text: row.words, color: rowColor(row)}, cell(row.duration, time), cell(row.duration, size => share(size, answer.time)), cell(row.intervals)];
    }));
    const more = others.length ? `${count(others.length)} smaller parts: ${time(others.reduce((sum, row) => sum + row.duration, 0))}. ` : '';
    return [make('h2', name), accountBar(rows), lines, make('p', `${more}In all ${time(answer.time)}. The bar is the time from its first work to its last.`, 'key')];
  });
  return parts.length ? parts : [make('p', 'No GPU work that has times.')];
}

// A sentence and a bar for each of the first GPUs. `go()` shows the account.
export function showVerdict(answer, go) {
  const section = document.getElementById('verdict');
  section.hidden = !answer.verdict;
  const bars = answer.gpus.slice(0, mostBars).map(({name, rows}) => {
    const one = button('', go, name);
    one.replaceChildren(accountBar(rows, true));
    one.setAttribute('aria-label', `Where the time of ${name} went`);
    return one;
  });
  section.replaceChildren(make('p', [answer.verdict, answer.judged].filter(Boolean).join(' ')), ...bars);
}

// The answer `findings` below it. `go(finding)` shows one.
export function showFindings({findings}, go) {
  if (findings.length === 0) return;
  document.getElementById('verdict').append(make('nav', undefined, 'advice', ...findings.map(finding => {
    const {title, saving, share: part} = finding;
    const one = button('', () => go(finding), `${title} It saves ${saving}.`);
    one.replaceChildren(make('span', title, 'cut'), make('span', `\u2264 ${share(part, 1)}`, 'key'));
    return one;
  })));
}
