// @ts-check
// Pages of gpuprof kernels: what is known of all launches of a shape.
import {share} from './format.js';
import {folded, make} from './panel.js';
import {source} from './source.js';
import {state} from './state.js';

const mostToAsk = 1e6;  // records; of longer runs it takes seconds, so a click asks

function factsOf(page) {
  return make('dl', '', 'facts', ...page.facts.flatMap(([label, lines]) => [make('dt', label), ...lines.map(line => make('dd', line))]));
}

function remarksOf(remarks) { return remarks.map(text => make('p', text, 'key')); }

// For the card of a launch: `kernel` of the answer `details`.
export function pageOf({kernel}, run) {
  if (!kernel || source.data) return [];
  const page = folded('All launches like this one', []);
  page.addEventListener('toggle', async () => {
    if (!page.open || page.childElementCount > 1) return;
    const text = make('p', '\u2026', 'key');
    page.append(text);
    try {
      const {pages, remarks = []} = await source.ask('kernel', run, kernel);
      text.replaceWith(...pages.map(factsOf), ...remarksOf(remarks));
    } catch (error) {
      text.textContent = error.message;
    }
  });
  page.open = state.run.stored <= mostToAsk;
  return [page];
}

// For a report.
export function pagesOf({pages, remarks}) {
  return [...pages.map(page => make('div', '', 'kernel', make('h3', page.name), make('p', `${share(page.share, 1)} of the time of all kernels`, 'key'), factsOf(page))),
          ...remarksOf(remarks)];
}
