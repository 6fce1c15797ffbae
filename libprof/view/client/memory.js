// @ts-check
// The tab of memory: how much was allocated at most, when, and by whom.
import {bytes, count, share, time} from './format.js';
import {goToTime} from './choose.js';
import {cell, make, table} from './panel.js';
import {source} from './source.js';
import {get} from './state.js';

// Times are after the run's zero. Owners are known if the run was recorded with --trace +allocation-source.
const peaks = `SELECT p.memory, p.pool_type, p.device_id, p.process_id, p.bytes, p.allocations,
       p.time - (SELECT CAST(value AS INTEGER) FROM RUN WHERE key = 'zero_ns') AS at
FROM memory_peak AS p WHERE p.bytes > 0 ORDER BY p.bytes DESC LIMIT 100`;
const owners = `SELECT source, memory, device_id, process_id, bytes, allocations, share
FROM memory_owners WHERE source IS NOT NULL AND bytes > 0 ORDER BY bytes DESC LIMIT 100`;

export class MemoryTab {
  async fill() {
    if (this.filled) return;
    this.filled = true;
    const element = get('memory'), kind = (memory, pool) => pool ? `${memory}, ${pool} pool` : memory;
    try {
      const most = (await source.sql(peaks, 0, undefined)).rows, whose = (await source.sql(owners, 0, undefined)).rows;
      element.replaceChildren(make('h2', 'Most allocated at a time'), table(['memory', 'GPU', 'process', 'bytes', 'allocations', 'at'], most.map(row => {
        const [memory, pool, device, process, size, allocations, at] = row;
        return [{text: kind(memory, pool), ...at !== null && {go: () => goToTime(at, 0), title: 'Show when'}}, `${device}`, `${process}`, cell(size, bytes), cell(allocations), at === null ? '' : cell(at, time)];
      })));
      if (whose.length > 0) {
        element.append(make('h2', 'Whose it was then'), table(['program or library', 'memory', 'GPU', 'process', 'bytes', 'share', 'allocations'], whose.map(row => {
          const [name, memory, device, process, size, allocations, part] = row;
          return [name, memory, `${device}`, `${process}`, cell(size, bytes), cell(part, one => share(one, 1)), cell(allocations, count)];
        })));
      }
    } catch (error) {
      this.filled = false;
      element.replaceChildren(make('p', error.message));
    }
  }
}
