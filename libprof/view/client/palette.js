// @ts-check
// The colors of palette.css, for the canvas.

const root = document.documentElement;

export function isDark() {
  return (root.style.colorScheme || (window.matchMedia('(prefers-color-scheme: dark)').matches ? 'dark' : 'light')) === 'dark';
}

/** @returns {string} "#rrggbb" */
export function colorOf(name) {
  const both = getComputedStyle(root).getPropertyValue(`--${name}`).match(/#[0-9a-f]{6}/g);
  return both[isDark() ? 1 : 0];
}

const partsOf = color => [1, 3, 5].map(at => parseInt(color.slice(at, at + 2), 16));

// A pixel of an ImageData: `share` of the color, the rest of the other.
export function pixelOf(color, share = 1, other = color) {
  const rest = partsOf(other), [r, g, b] = partsOf(color).map((part, i) => Math.round(share * part + (1 - share) * rest[i]));
  return (255 << 24 | b << 16 | g << 8 | r) >>> 0;
}

function luminance(color) {
  const [r, g, b] = partsOf(color).map(part => part / 255 <= 0.04045 ? part / 255 / 12.92 : ((part / 255 + 0.055) / 1.055) ** 2.4);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

// The label's color on a mark: the one of the two that contrasts more.
export function onMark(color) {
  const ratio = other => {
    const [low, high] = [luminance(color), luminance(other)].sort((a, b) => a - b);
    return (high + 0.05) / (low + 0.05);
  };
  return ['ink', 'paper'].map(colorOf).sort((a, b) => ratio(b) - ratio(a))[0];
}

// A mark of this color with a label, in light and dark pages.
export function paint(element, name) {
  const both = getComputedStyle(root).getPropertyValue(`--${name}`).match(/#[0-9a-f]{6}/g);
  element.style.background = `var(--${name})`;
  element.style.color = `light-dark(${both.map(onMark).join()})`;
}

// The color of a record: `kind` of its track, and its name's color as GPU work.
export function markOf(kind, work) {
  if (kind === 'stream') return work;
  if (kind.startsWith('range')) return `nvtx-${(Number(work.split('-')[1]) || 0) % 4}`;
  return kind === 'overhead' ? 'overhead' : 'api';
}

// The color of what a GPU did at a time, where kernels are not distinguished.
export function busyColor(kind, work) {
  const mark = work ? markOf(kind, work) : 'overhead';
  return mark.startsWith('kernel') ? 'compute' : mark.startsWith('nvtx') ? 'nvtx-0' : mark;
}
