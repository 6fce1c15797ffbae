// @ts-check
// Links between records: arrows in the picture, buttons in the panel.
import {button, make} from './panel.js';

// Arrows from the earlier to the later record: places, and a time at each. `waits`: not a launch.
export function arrowsOf({place, links}) {
  const from = (earlier, at, waits) => ({from: earlier, at, to: place, then: place.begin, waits});
  return [
    ...links?.launch ? [from(links.launch, links.launch.begin, false)] : [],
    ...(links?.work ?? []).map(work => ({from: place, at: place.begin, to: work, then: work.begin, waits: false})),
    ...(links?.waited ?? []).filter(({why}) => why !== 'launch').map(waited => from(waited, waited.end, true)),
  ];
}

const reasons = {launch: 'the launch', stream: 'the work before it in its stream', event: 'work of another stream, by an event'};

// `go(place)` shows a record.
export function linkButtons({links}, go) {
  const element = make('nav', undefined, 'links');
  element.setAttribute('aria-label', 'Records that it has to do with');
  const add = (text, place, title, label = text) => {
    const one = button(text, () => go(place), title);
    one.setAttribute('aria-label', label);
    element.append(one);
  };
  if (links?.launch) add('go to the launch', links.launch);
  for (const waited of links?.waited ?? []) add('go to what it waited for', waited, reasons[waited.why]);
  const work = 'go to its GPU work';
  (links?.work ?? []).forEach((each, i) => add(i === 0 ? work : `${i + 1}`, each, '', i === 0 ? work : `${work} ${i + 1}`));
  return element.childElementCount ? [element] : [];
}
