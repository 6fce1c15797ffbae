// @ts-check
// The tab of statistics: kernels and copies, ranges and calls of the window, with a filter, and as CSV.
import {count, csvOf, plainName, share, time} from './format.js';
import {markName} from './choose.js';
import {markOf} from './palette.js';
import {button, cell, make, table} from './panel.js';
import {source} from './source.js';
import {get, state} from './state.js';

const kinds = [['kernels', 'Kernels'], ['copies', 'Copies and sets'], ['range_on_gpu', 'NVTX on the GPU'], ['range', 'NVTX'], ['api', 'CUDA API'],
               ['synchronization', 'Synchronizations'], ['overhead', 'Overhead']];
const isTransfer = row => row.name.startsWith('[CUDA mem');

// The rows of a kind, and the time that their shares are of: the sum of all.
function rowsOfWork(answer, kind) {
  if (kind !== 'kernels' && kind !== 'copies') return answer.work[kind] ?? [];
  return (answer.work.stream ?? []).filter(row => isTransfer(row) === (kind === 'copies'));
}

export class StatisticsTab {
  constructor() {
    this.kind = '';
    this.tools = make('div', '', 'tools');
    this.rows = make('div', '', 'wide');
    this.filter = Object.assign(make('input'), {type: 'search', placeholder: 'Filter', autocomplete: 'off'});
    this.filter.setAttribute('aria-label', 'Filter by name');
    this.filter.addEventListener('input', () => this.draw());
    this.said = make('span', '', 'key');
    get('statistics').append(this.tools, this.rows);
  }

  async fill() {
    const {view, run} = state, from = Math.max(Math.floor(view.from), Math.floor(run.begin)), to = Math.min(Math.ceil(view.to), Math.ceil(run.end));
    if (from >= to || `${from} ${to}` === this.of) return;
    this.of = `${from} ${to}`;
    try {
      this.answer = await source.statistics(from, to);
    } catch (error) {
      this.of = '';
      this.rows.replaceChildren(make('p', error.message));
      return;
    }
    this.draw();
  }

  draw() {
    const {answer, filter} = this, there = kinds.filter(([kind]) => rowsOfWork(answer, kind).length > 0);
    if (!there.some(([kind]) => kind === this.kind)) this.kind = there[0]?.[0] ?? '';
    const choices = there.map(([kind, title]) => {
      const one = button(title, () => { this.kind = kind; this.draw(); });
      one.setAttribute('aria-pressed', `${kind === this.kind}`);
      return one;
    });
    const all = rowsOfWork(answer, this.kind), wanted = filter.value.toLowerCase(), shown = all.filter(({name}) => name.toLowerCase().includes(wanted));
    const hadFocus = document.activeElement === filter, sum = all.reduce((total, each) => total + each.time, 0);
    this.tools.replaceChildren(...choices, filter, button('Copy as CSV', () => this.copy(shown)), this.said);
    if (hadFocus) filter.focus();
    const track = ['kernels', 'copies'].includes(this.kind) ? 'stream' : this.kind, more = answer.names[track] > (answer.work[track] ?? []).length;
    this.said.textContent = `${count(shown.length)} names in ${time(answer.to - answer.from)}${more ? ', those with most time' : ''}`;
    const lines = shown.map(({id, name, label, color, time: ns, count: number, longest}) => {
      return [{text: plainName(label), title: name, color: markOf(track, color), go: () => markName(id, name)},
              cell(ns, time), cell(sum > 0 ? ns / sum : 0, part => share(part, 1)), cell(number), cell(ns / number, mean => time(Math.round(mean))), cell(longest, time)];
    });
    this.rows.replaceChildren(table(['name', 'time', 'of these', 'count', 'mean', 'longest'], lines));
  }

  async copy(rows) {
    try {
      await navigator.clipboard.writeText(csvOf(['name', 'time_ns', 'count', 'longest_ns'], rows.map(each => [each.name, each.time, each.count, each.longest])));
      this.said.textContent = 'copied';
    } catch (error) {
      this.said.textContent = error.message;
    }
  }
}
