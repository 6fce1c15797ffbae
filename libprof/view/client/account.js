// @ts-check
// Where the time of each GPU went: the answer `account`.
import {count, share, time} from './format.js';
import {bar, make, table} from './panel.js';

// The color's name is the class's.
const rowColor = row => `var(--${row.class.replace(' ', '-')})`;
const mostBars = 4;
const work = ['compute', 'communication', 'copy', 'set'];

function barOf(rows, whole) { return bar(rows.map(row => [row.words, row.duration, rowColor(row)]), whole); }

// All of it, or of each GPU its work and the `most` largest parts.
export function accounts(answer, most = Infinity) {
  const parts = answer.gpus.flatMap(({name, rows}) => {
    const isShown = (row, i) => i < most || work.includes(row.class);
    const shown = rows.filter(isShown), others = rows.filter((row, i) => !isShown(row, i));
    const lines = table(['it', 'time', 'share', 'intervals'], shown.map(row => {
      return [row.words, time(row.duration), share(row.duration, answer.time), count(row.intervals)];
    }));
    shown.forEach((row, i) => {
      const sign = make('span', '', 'sign');
      sign.style.background = rowColor(row);
      lines.rows[i + 1].cells[0].prepend(sign);
    });
    const more = others.length ? `${count(others.length)} smaller parts: ${time(others.reduce((sum, row) => sum + row.duration, 0))}. ` : '';
    return [make('h2', name), barOf(rows, answer.time), lines, make('p', `${more}In all ${time(answer.time)}.`, 'key')];
  });
  return parts.length ? parts : [make('p', 'No GPU work that has times.')];
}

// A sentence and a bar for each of the first GPUs.
export function showVerdict(answer) {
  const section = document.getElementById('verdict');
  section.hidden = !answer.verdict;
  const bars = answer.gpus.slice(0, mostBars).map(({name, rows}) => {
    const picture = barOf(rows, answer.time);
    picture.title = name;
    return picture;
  });
  section.replaceChildren(make('p', answer.verdict), ...bars);
}
