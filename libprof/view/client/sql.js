// @ts-check
// SQL queries, which the server answers, and their rows.
import {count, csvOf, quoted, time} from './format.js';
import {button, make} from './panel.js';
import {get} from './state.js';

const atOnce = 200;           // rows drawn at first, and with each "more"
const longestRequest = 15000; // bytes; the server accepts 16 KiB including the head
const timeColumns = /^(start|end|stop|timestamp)$/i;

const examples = [
  ['Kernels that took most', `SELECT short_name, sum(count) AS launches, sum(total) / 1e6 AS ms, max(longest) / 1e3 AS longest_us
FROM kernel_summary GROUP BY short_name ORDER BY ms DESC LIMIT 20`],
  // Reads the table, since the view kernels would look up every name.
  ['The longest kernels', `SELECT start, ("end" - start) / 1e3 AS us, coalesce(s.display, s.short, s.value) AS name
FROM (SELECT start, "end", name FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL
      WHERE start > 0 ORDER BY "end" - start DESC LIMIT 50) AS k
LEFT JOIN StringTable AS s ON s._id_ = k.name
ORDER BY us DESC`],
  ['Copies by direction', `SELECT kind, count(*) AS copies, sum(bytes) / 1e6 AS mb, sum(duration) / 1e6 AS ms
FROM memcpys GROUP BY kind ORDER BY ms DESC`],
  ['The longest calls', `SELECT start, duration / 1e3 AS us, name, thread_id
FROM api_calls ORDER BY duration DESC LIMIT 50`],
  ['Tables and views', 'SELECT type, name FROM sqlite_master ORDER BY type DESC, name'],
];

// A cell as text.
function textOf(cell) {
  if (cell === null) return '';
  if (typeof cell !== 'object') return String(cell);
  if (cell.exact !== undefined) return cell.exact;
  return cell.blob !== undefined ? `blob, ${count(cell.blob)} bytes` : `${cell.cut} (${count(cell.of)} bytes)`;
}

function isNumber(cell) { return typeof cell === 'number' || cell?.exact !== undefined; }

// A whole number of any size, or null.
function wholeNumber(cell) {
  const text = isNumber(cell) ? textOf(cell) : '';
  return /^-?\d+$/.test(text) ? BigInt(text) : null;
}

const csvCell = cell => isNumber(cell) || cell === null ? textOf(cell) : quoted(textOf(cell));

export class Questions {
  // `go(at, length)` shows a time in the picture; `within()` returns its first and last time; `close()` closes
  // the tab.
  constructor(source, go, within, close) {
    this.source = source;
    this.go = go;
    this.within = within;
    this.request = this.answer = null;
    get('of').hidden = !source.isPair;
    get('of').replaceChildren(...source.titles.map((title, i) => Object.assign(make('option', title), {value: i})));
    get('examples').append(...examples.map(([name], i) => Object.assign(make('option', name), {value: i})));
    get('examples').addEventListener('change', event => {
      const [, text] = examples[event.target.value] ?? [];
      event.target.selectedIndex = 0;
      if (text) get('statement').value = text;
      get('statement').focus();
    });
    get('question').addEventListener('submit', event => {
      event.preventDefault();
      if (this.request) this.request.abort();
      else this.ask();
    });
    get('statement').addEventListener('keydown', event => {
      if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) this.ask();
    });
    get('copy').addEventListener('click', () => this.copy());
    get('close').addEventListener('click', close);
  }

  // A new query ends the previous one.
  async ask() {
    const text = get('statement').value, run = Number(get('of').value || 0);
    if (!text.trim()) return;
    this.request?.abort();
    const request = this.request = new AbortController(), began = performance.now();
    get('submit').textContent = 'Stop';
    this.say('\u2026');
    try {
      if (new URLSearchParams({text}).toString().length > longestRequest) {
        throw new Error(`it is too long: a request has at most ${count(longestRequest)} bytes`);
      }
      const answer = await this.source.sql(text, run, request.signal);
      if (this.request === request) this.show({...answer, run}, performance.now() - began);
    } catch (error) {
      if (this.request === request) this.show(null, 0, error.name === 'AbortError' ? 'stopped' : error.message);
    }
    if (this.request !== request) return;
    this.request = null;
    get('submit').textContent = 'Ask';
  }

  say(text) { get('answered').textContent = text; }

  show(answer, took, problem) {
    this.answer = answer;
    get('copy').disabled = !answer;
    get('rows').replaceChildren();
    if (!answer) return this.say(problem);
    const more = {rows: ', and there are more', bytes: ', and more than one answer may have'}[answer.ends_by] ?? '';
    this.say(`${count(answer.rows.length)} ${answer.rows.length === 1 ? 'row' : 'rows'}${more}, in ${time(Math.round(took) * 1e6)}`);
    const heads = answer.columns.map((name, i) => make('th', name, isNumber(answer.rows[0]?.[i]) ? 'number' : ''));
    const lines = make('table', '', '', make('tr', '', '', ...heads));
    get('rows').append(lines);
    this.draw(lines, 0);
  }

  draw(lines, from) {
    const {rows} = this.answer, to = Math.min(rows.length, from + atOnce);
    for (const row of rows.slice(from, to)) lines.append(make('tr', '', '', ...row.map((cell, i) => this.cell(row, i, cell))));
    if (to === rows.length) return;
    const more = button(`${count(rows.length - to)} more`, () => {
      more.remove();
      this.draw(lines, to);
    });
    get('rows').append(more);
  }

  cell(row, i, cell) {
    const element = make('td', undefined, isNumber(cell) ? 'number' : cell === null || cell.blob !== undefined ? 'key' : '');
    const at = timeColumns.test(this.answer.columns[i]) ? this.timeOf(cell) : null;
    if (at === null) {
      element.textContent = cell === null ? 'NULL' : textOf(cell);
      return element;
    }
    element.append(button(textOf(cell), () => this.jump(row, i, at), `Show ${time(at)}`));
    return element;
  }

  // The cell as a time of the picture, if it is within it.
  timeOf(cell) {
    const ns = wholeNumber(cell);
    if (ns === null) return null;
    const at = Number(ns - BigInt(this.answer.zero)) + this.source.shifts[this.answer.run];
    const [first, last] = this.within();
    return at >= first && at <= last ? at : null;
  }

  // Jumps from a start to the end in the same row.
  jump(row, i, at) {
    const {columns} = this.answer, starts = /^start$/i.test(columns[i]);
    const end = starts ? columns.findIndex(name => /^(end|stop)$/i.test(name)) : -1;
    const until = end < 0 ? null : this.timeOf(row[end]);
    this.go(at, until === null ? 0 : Math.max(0, until - at));
  }

  async copy() {
    try {
      await navigator.clipboard.writeText(csvOf(this.answer.columns, this.answer.rows, csvCell));
      this.say('copied');
    } catch (error) {
      this.say(error.message);
    }
  }
}
