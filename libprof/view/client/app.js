// @ts-check
// The viewer: opens the run and wires the parts.
import {source} from './source.js';
import {Questions} from './sql.js';
import {get, state, wordsOf} from './state.js';
import {layout, painter} from './timeline.js';
import {goToTime} from './choose.js';
import {align, complain, jumps, open, showRun} from './run.js';
import {listen} from './input.js';
import {FlameTab} from './flame.js';
import {MemoryTab} from './memory.js';
import {StatisticsTab} from './statistics.js';
import {Tabs} from './tabs.js';
import {showShare} from './send.js';

// A report has no tabs, since they ask the run's file.
function makeTabs() {
  const statistics = new StatisticsTab(), flame = new FlameTab(), memory = new MemoryTab();
  const tabs = new Tabs({statistics: () => statistics.fill(), flame: () => flame.fill(), memory: () => memory.fill(), sql: () => {}});
  new Questions(source, goToTime, () => [state.run.begin, state.run.end], () => tabs.toggle('sql', false));
  get('tab-memory').hidden = !state.run.tracks.some(track => track.unit === 'bytes');
  for (const name of source.isPair ? ['statistics', 'flame', 'memory'] : []) get(`tab-${name}`).hidden = true;
  get('share').addEventListener('click', showShare);
  const restore = address => tabs.restore(wordsOf(address).get('tab') ?? '');
  window.addEventListener('hashchange', ({newURL}) => restore(newURL));
  restore(location.href);
  return {q: () => tabs.toggle('sql'), ...!source.isPair && {i: () => tabs.toggle('statistics'), c: () => tabs.toggle('flame')}};
}

async function start() {
  await open();
  painter.resize();
  layout();
  get('tabs').hidden = get('share').hidden = Boolean(source.data);
  const more = source.data ? {} : makeTabs();
  listen({...jumps.actions, ...more}, align);
  return showRun();
}

start().catch(complain);
