// The first screen of a report: what ran, where the time went, what took most of it.
import {count, time, value} from './format.js';
import {list, make, shape, statistics, table} from './panel.js';

// From the least value, or 0, to the most, over all of the time.
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
  const element = make('div', undefined, 'wide'), rows = table(['', 'of', 'over time', 'least', 'mean', 'most', 'at'], all.map(each => {
    return [each.path.at(-1), each.path.slice(0, -1).join(', '), '', ...[each.least, each.mean, each.most].map(one => value(one, each.unit)), time(each.at)];
  }));
  all.forEach((each, i) => rows.rows[i + 1].cells[2].append(curve(each)));
  element.append(make('h2', 'Memory, clocks, power, samples'), rows);
  return [element];
}

function metrics({names, kernels, names_left_out, kernels_left_out}) {
  if (names.length === 0 || kernels.length === 0) return [];
  const element = make('div', undefined, 'wide');
  element.append(make('h2', 'Metrics, means of launches'),
                 table(['kernel', 'launches', ...names], kernels.map(each => [each.name, count(each.launches), ...each.values])));
  const more = [[kernels_left_out, 'kernels'], [names_left_out, 'metrics']].filter(([number]) => number > 0);
  if (more.length) element.append(make('p', `and ${more.map(([number, what]) => `${count(number)} more ${what}`).join(', ')}`, 'key'));
  return [element];
}

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
  work.append(...statistics(only(['stream']), 10, data.idle));
  if (data.stops.gaps.length) {
    rest.append(make('h2', 'Longest times without GPU work'),
                table(['before', 'time', 'at', 'host in'], data.stops.gaps.slice(0, 6).map(gap => [gap.behind, time(gap.time), time(gap.at), gap.call])));
  }
  const other = only(['range_on_gpu', 'api']);
  if (Object.keys(other.work).length) rest.append(...statistics(other, 8));
  parts.append(work, facts, rest);
  const section = document.getElementById('summary');
  section.hidden = false;
  section.replaceChildren(parts, ...counters(data.counters), ...metrics(data.metrics));
}
