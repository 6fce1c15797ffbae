// @ts-check
// The tab of memory: how much was allocated at most, when, whose it was, and the largest allocations then.
import {bytes, share, time} from './format.js';
import {goToTime} from './choose.js';
import {button, cell, long, make, table} from './panel.js';
import {source} from './source.js';
import {get} from './state.js';

const waysToName = {stack: 'Stack', nvtx: 'NVTX range', library: 'Library'};
const mostRows = 20;

const kindOf = peak => peak.pool_type ? `${peak.memory}, ${peak.pool_type} pool` : peak.memory;
const whereOf = peak => `${kindOf(peak)} memory of GPU ${peak.device_id}, process ${peak.process_id}`;
const ownerOf = ({owner}) => owner ?? '(not known)';

export class MemoryTab {
  // `by`: how owners are named; if it is empty, as exactly as the file can.
  async fill(by = this.by ?? '') {
    if (by === this.by) return;
    this.by = by;
    const element = get('memory');
    try {
      this.answer = await source.ask('peak', 0, by ? {by} : {});
      this.show(this.answer.peaks[0]);
    } catch (error) {
      this.by = undefined;
      element.replaceChildren(make('p', error.message));
    }
  }

  show(peak) {
    const {peaks, ways, by} = this.answer, pressed = (one, is) => { one.setAttribute('aria-pressed', `${is}`); return one; };
    if (!peak) return get('memory').replaceChildren(make('p', 'No memory was allocated.'));
    const tools = make('div', '', 'tools', make('span', 'Owners by'), ...ways.map(way => pressed(button(waysToName[way] ?? way, () => this.fill(way)), way === by)));
    const all = peaks.map(each => {
      const go = () => { this.show(each); goToTime(each.relative_peak_time_ns, 0); };
      return [{text: kindOf(each), go, title: 'Show when, and what was allocated then'}, `${each.device_id}`, `${each.process_id}`,
              cell(each.peak_bytes, bytes), cell(each.peak_allocations), cell(each.relative_peak_time_ns, time)];
    });
    const owners = peak.owners.filter(each => each.at_peak_allocations > 0).map(each => {
      return [{text: ownerOf(each), title: ownerOf(each)}, cell(each.at_peak_bytes, bytes), cell(each.at_peak_bytes, size => share(size, peak.peak_bytes)), cell(each.at_peak_allocations)];
    });
    const held = peak.held.map(each => {
      const go = () => goToTime(each.relative_time_ns, 0);
      return [{text: ownerOf(each), title: `Show when it was allocated\n${ownerOf(each)}`, go}, cell(each.bytes, bytes), cell(each.bytes, size => share(size, peak.peak_bytes)),
              cell(each.age_ns, time), cell(each.relative_time_ns, time)];
    });
    const rest = peak.peak_allocations - held.length, more = rest > 0 ? ` The ${held.length} largest of ${peak.peak_allocations}.` : '';
    get('memory').replaceChildren(tools, make('div', '', 'columns',
      make('section', '', '', make('h2', 'Most allocated at a time'), table(['memory', 'GPU', 'process', 'bytes', 'allocations', 'at'], all)),
      make('section', '', '', make('h2', 'Whose it was then'), make('p', `${whereOf(peak)}: ${bytes(peak.peak_bytes)} at ${time(peak.relative_peak_time_ns)}.`, 'key'),
           ...long(['owner', 'bytes', 'share', 'allocations'], owners, mostRows, owners.length)),
      make('section', '', '', make('h2', 'Allocated then'), make('p', `Age: since when each had been there.${more}`, 'key'),
           ...long(['owner', 'bytes', 'share', 'age', 'allocated at'], held, mostRows, held.length))));
  }
}
