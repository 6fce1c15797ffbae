// @ts-check
// How to pass on what is shown: the command that writes it into a file.
import {copyButton, make} from './panel.js';
import {panel} from './choose.js';
import {source} from './source.js';
import {remember} from './state.js';

// As a word of a shell.
const quote = text => /^[\w./+-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;

export function shareCommand(runs, hash) {
  const paths = runs.map(({path}) => quote(path.startsWith('-') ? `./${path}` : path)), [file] = paths.slice(-1), [before] = paths;
  return `gpuprof report ${file}${paths.length > 1 ? ` --against ${before}` : ''} --html view.html --state ${quote(hash)}`;
}

export function showShare() {
  remember();
  const command = shareCommand(source.runs, location.hash.slice(1)), field = make('p', command, 'command');
  panel('Share', [make('p', 'This command writes what you see into one file that opens anywhere: the window, what is selected and marked, and the notes.'),
                  field, copyButton('Copy', () => command), make('p', 'It has the names, times and command lines of the run. gpuprof slice --anonymise makes a profile without names.', 'key')], true);
}
