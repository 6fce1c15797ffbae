// @ts-check
// Formats numbers and names for people.

/** @type {[string, number][]} */ const units = [['s', 1e9], ['ms', 1e6], ['\u00b5s', 1e3], ['ns', 1]];

function unitOf(size) { return units.find(([, unit]) => size >= unit) ?? units[3]; }

export function time(ns) {
  const [name, unit] = unitOf(Math.abs(ns)), size = ns / unit;
  return `${unit === 1 ? size : size.toPrecision(Math.max(4, String(Math.trunc(Math.abs(size))).length))} ${name}`;
}

// With the precision of `step`.
export function moment(ns, step) {
  const [name, unit] = unitOf(Math.max(Math.abs(ns), step)), digits = Math.max(0, Math.ceil(Math.log10(unit / step)));
  return `${(ns / unit).toFixed(Math.min(digits, 9))} ${name}`;
}

export function count(number) {
  return Math.round(number).toLocaleString('en-US');
}

export function share(part, whole) {
  if (whole <= 0) return '';
  const percents = 100 * part / whole;
  return percents > 0 && percents < 0.05 ? '< 0.1 %' : `${percents.toFixed(1)} %`;
}

export function percent(part, whole) {
  const share = 100 * part / whole;
  return share > 0 && share < 1 ? 'less than 1 %' : `${Math.min(100, Math.round(share))} %`;
}

export function bytes(number) {
  let at = 0;
  for (; Math.abs(number) >= 1024 && at < 4; ++at) number /= 1024;
  return `${Number.isInteger(number) && at === 0 ? number : number.toPrecision(4)} ${['B', 'KiB', 'MiB', 'GiB', 'TiB'][at]}`;
}

// Units that are displayed differently: the displayed unit, and the factor to it.
const others = {Celsius: ['\u00b0C', 0], 'byte/s': ['B/s', 1], mW: ['W', 1e-3], MHz: ['Hz', 1e6]};

// Same as counter_text() in labels.cpp.
export function value(number, unit) {
  if (unit === 'bytes') return bytes(number);
  const [base, factor] = others[unit] ?? [unit.endsWith('cycle/s') ? 'Hz' : unit, unit.endsWith('/s') ? 1 : 0];
  if (factor === 0) {
    const text = Math.abs(number) >= 1e4 || Number.isInteger(number) ? count(number) : number.toPrecision(4);
    return base ? `${text} ${base}` : text;
  }
  let size = number * factor, at = 0;
  for (; Math.abs(size) >= 999.5 && at < 5; ++at) size /= 1e3;
  return `${Number(size.toPrecision(3))} ${['', 'k', 'M', 'G', 'T', 'P'][at]}${base}`;
}

// "HtoD" for "[CUDA memcpy HtoD]"; other names as they are.
export function plainName(name) { return /^\[CUDA (?:memcpy )?([^\]]+)\]$/.exec(name)?.[1] ?? name; }

export const quoted = text => `"${text.replaceAll('"', '""')}"`;

// Lines of comma-separated values; `show(value)` is one of them as text.
export function csvOf(heads, rows, show = value => typeof value === 'number' ? `${value}` : quoted(value)) {
  return [heads, ...rows.map(row => row.map(show))].map(row => `${row.join()}\n`).join('');
}
