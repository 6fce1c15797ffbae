// @ts-check
// The user's notes on times. They are in the address alone.
import {get, remember, state} from './state.js';
import {painter, redraw} from './timeline.js';

const mostNotes = 100;

// The note whose flag is at a place of the ruler.
export function noteAt(x) {
  return [...state.notes].reverse().find(({at, text}) => {
    const from = painter.x(state.view, at) / painter.ratio;
    return x >= from && x < from + painter.widthOf(painter.fitting(text, 160) || '\u2022') + 8;
  });
}

// Asks for the text of a note at a time.
export function writeNote(at, text = '') {
  const form = get('note'), field = get('noted');
  form.hidden = false;
  form.style.left = `${Math.max(painter.labels, Math.min(painter.x(state.view, at) / painter.ratio, painter.width / painter.ratio - 240))}px`;
  field.value = text;
  field.focus();
  const close = () => {
    form.hidden = true;
    get('canvas').focus();
  };
  form.onsubmit = event => {
    event.preventDefault();
    const others = state.notes.filter(note => note.at !== at), words = field.value.trim();
    state.notes = words ? [...others, {at, text: words}].slice(-mostNotes) : others;
    close();
    remember();
    redraw();
  };
  field.onkeydown = event => { if (event.key === 'Escape') close(); };
}

// Those of an address, which anybody may have written.
export function readNotes(text) {
  try {
    const all = JSON.parse(text || '[]').filter(([at, words]) => Number.isFinite(at) && typeof words === 'string');
    state.notes = all.slice(0, mostNotes).map(([at, words]) => ({at, text: words.slice(0, 200)}));
  } catch {
    state.notes = [];
  }
}
