// The first screen of a report: what ran, where the time went, what took most of it.
import {count, time} from './format.js';
import {list, make, statistics, table} from './panel.js';

export function showSummary(source, run) {
  const data = document.getElementById('data') && source.data;
  if (!data) return;
  document.body.classList.add('report');
  const facts = make('div');
  facts.append(make('h2', 'What ran'), list(data.facts), list([['records', count(run.records)], ['time', time(run.end - run.begin)]]));
  const parts = make('div', undefined, 'columns');
  const [work, rest] = [make('div'), make('div')];
  const only = kinds => ({...data.statistics, devices: kinds.includes('stream') ? data.statistics.devices : [],
                          work: Object.fromEntries(kinds.filter(kind => data.statistics.work[kind]).map(kind => [kind, data.statistics.work[kind]]))});
  work.append(...statistics(only(['stream']), 10));
  if (data.stops.gaps.length) {
    rest.append(make('h2', 'Longest times without GPU work'),
                table(['before', 'time', 'at', 'host in'], data.stops.gaps.slice(0, 6).map(gap => [gap.behind, time(gap.time), time(gap.at), gap.call])));
  }
  const other = only(['range_on_gpu', 'api']);
  if (Object.keys(other.work).length) rest.append(...statistics(other, 8));
  parts.append(work, facts, rest);
  const section = document.getElementById('summary');
  section.hidden = false;
  section.replaceChildren(parts);
}
