// @ts-check
// The viewer: opens the run and wires the parts.
import {source} from './source.js';
import {Questions} from './sql.js';
import {get, state} from './state.js';
import {layout, painter} from './timeline.js';
import {goToTime} from './choose.js';
import {align, complain, jumps, open, showRun} from './run.js';
import {listen} from './input.js';

async function start() {
  await open();
  painter.resize();
  layout();
  get('ask').hidden = Boolean(source.data);
  const questions = source.data ? null : new Questions(source, goToTime, () => [state.run.begin, state.run.end]);
  listen({...jumps.actions, q: () => questions?.toggle()}, align);
  return showRun();
}

start().catch(complain);
