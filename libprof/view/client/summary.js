// @ts-check
// A report's first screen: what ran, where the time went, and what took most of it.
import {count, share, time, value} from './format.js';
import {hostIn} from './jump.js';
import {accounts} from './account.js';
import {list, make, shape, statistics, table, untimed} from './panel.js';

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

function counters(all) {
  if (all.length === 0) return [];
  const rows = table(['', 'of', 'over time', 'least', 'mean', 'most', 'at'], all.map(each => {
    return [each.path.at(-1), each.path.slice(0, -1).join(', '), '', ...[each.least, each.mean, each.most].map(one => value(one, each.unit)), time(each.at)];
  }));
  all.forEach((each, i) => {
    const {cells} = rows.rows[i + 1];
    cells[1].className = '';  // text, which may wrap
    cells[2].append(curve(each));
  });
  return [make('div', '', 'wide', make('h2', 'Memory, clocks, power, samples'), rows)];
}

// Nested ranges are indented. Shares are of the report's time.
function rangesOnGpu({rows, left_out}, span) {
  if (rows.length === 0) return [];
  const element = table(['name', 'GPU busy', 'share', 'span', 'ranges', 'launches'], rows.map(each => {
    return [each.name, time(each.busy), share(each.busy, span), time(each.span), count(each.ranges), count(each.work)];
  }));
  rows.forEach((each, i) => { element.rows[i + 1].cells[0].style.paddingLeft = `${each.depth}em`; });
  const more = left_out > 0 ? [make('p', `and ${count(left_out)} more names`, 'key')] : [];
  return [make('div', '', 'wide', make('h2', 'NVTX ranges on the GPU'), element, ...more)];
}

function metrics({names, kernels, names_left_out, kernels_left_out}) {
  if (names.length === 0 || kernels.length === 0) return [];
  const rows = table(['kernel', 'launches', ...names], kernels.map(each => [each.name, count(each.launches), ...each.values]));
  const element = make('div', '', 'wide', make('h2', 'Metrics, means of launches'), rows);
  const more = [[kernels_left_out, 'kernels'], [names_left_out, 'metrics']].filter(([number]) => number > 0);
  if (more.length) element.append(make('p', `and ${more.map(([number, what]) => `${count(number)} more ${what}`).join(', ')}`, 'key'));
  return [element];
}

export function showSummary(source, run) {
  const data = document.getElementById('data') && source.data;
  if (!data) return;
  document.body.classList.add('report');
  const facts = make('div', '', '', make('h2', 'What ran'), list(data.facts),
                     list([['records', count(run.stored)], ['time', time(run.end - run.begin)]]));
  const [work, rest] = [make('div'), make('div')];
  const only = kinds => ({...data.statistics, devices: [],
                          work: Object.fromEntries(kinds.filter(kind => data.statistics.work[kind]).map(kind => [kind, data.statistics.work[kind]]))});
  if (data.account.gpus.length) work.append(...accounts(data.account, 10));
  if (data.statistics.work.stream) work.append(...statistics(only(['stream']), 10));
  else work.append(make('h2', 'GPU work'), make('p', data.untimed.groups.length ? 'None has times.' : 'None was recorded.'));
  if (data.untimed.groups.length) work.append(make('h2', 'GPU work without times'), ...untimed(data.untimed));
  if (data.stops.gaps.length) {
    const gaps = table(['before', 'time', 'at', 'host in'], data.stops.gaps.slice(0, 6).map(gap => [gap.behind, time(gap.time), time(gap.at), hostIn(gap)]));
    for (const row of gaps.rows) row.cells[3].className = '';
    rest.append(make('h2', 'Longest times without GPU work'), gaps);
  }
  const other = only(['api']);
  if (Object.keys(other.work).length) rest.append(...statistics(other, 8));
  const section = document.getElementById('summary');
  section.hidden = false;
  section.replaceChildren(make('div', '', 'columns', work, facts, rest), ...rangesOnGpu(data.ranges, run.end - run.begin), ...counters(data.counters), ...metrics(data.metrics));
}
