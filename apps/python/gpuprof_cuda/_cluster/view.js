// @ts-check
// All ranks of a store: a row for each rank, a column for each step. The account is drawn as parts of the step, in the
// colors of the viewer; lateness as shades. Data is text or numbers, and never markup.
const get = id => /** @type {HTMLElement} */ (document.getElementById(id));
const canvas = /** @type {HTMLCanvasElement} */ (get('picture')), pen = canvas.getContext('2d');
const shades = 8, mostRowHeight = 14;
let about, ns, late, order, mode = 'account', cell = {row: -1, column: -1};

const color = name => getComputedStyle(document.documentElement).getPropertyValue(`--${name}`).trim();
const bytes = name => [1, 3, 5].map(at => parseInt(color(name).slice(at, at + 2), 16));
const time = value => {
  for (const [unit, factor] of /** @type {[string, number][]} */ ([['s', 1e9], ['ms', 1e6], ['us', 1e3]])) {
    if (Math.abs(value) >= factor) return `${Number((value / factor).toPrecision(4))} ${unit}`;
  }
  return `${Math.round(value)} ns`;
};
const make = (kind, words, more = {}) => Object.assign(document.createElement(kind), {textContent: words, ...more});

// The parts of a step of a rank, in ns.
function parts(rank, column) {
  const count = about.classes.length, begin = (rank * about.steps.length + column) * count;
  return ns.subarray(begin, begin + count);
}

const sum = numbers => numbers.reduce((all, one) => all + one, 0);

// Draws one pixel per rank and `width` in a row, which is then stretched to the height of a row.
function draw() {
  const width = canvas.clientWidth, columns = about.steps.length, rows = about.ranks.length;
  if (!rows || !columns || !width) return;
  const height = Math.max(1, Math.min(mostRowHeight, Math.floor((innerHeight - 220) / rows)));
  const image = new ImageData(width, rows), colors = about.colors.map(bytes), ground = bytes('raised'), wait = bytes('wait');
  const most = late.reduce((most, one) => Math.max(most, one), 1);
  order.forEach((rank, y) => {
    for (let x = 0; x < width; ++x) {
      const place = x / width * columns, column = Math.min(columns - 1, Math.floor(place));
      let [r, g, b] = ground;
      if (mode === 'account') {
        const all = parts(rank, column), until = (place - column) * sum(all);
        let at = 0, kind = 0;
        while (kind + 1 < all.length && (at += all[kind]) <= until) ++kind;
        [r, g, b] = colors[kind];
      } else {
        const value = late[rank * columns + column];
        const share = value > about.step_ns / 1000 ? Math.ceil(shades * value / most) / shades : 0;
        [r, g, b] = ground.map((from, i) => from + (wait[i] - from) * share);
      }
      image.data.set([r, g, b, 255], (y * width + x) * 4);
    }
  });
  const small = Object.assign(document.createElement('canvas'), {width, height: rows});
  small.getContext('2d').putImageData(image, 0, 0);
  canvas.width = width;
  canvas.height = rows * height;
  pen.imageSmoothingEnabled = false;
  pen.drawImage(small, 0, 0, width, rows * height);
  if (cell.row >= 0) {
    pen.strokeStyle = color('text');
    pen.strokeRect(cell.column / columns * width + .5, cell.row * height + .5, Math.max(2, width / columns - 1), Math.max(2, height - 1));
  }
}

function stepWords(column) {
  const first = about.steps[column], next = about.steps[column + 1];
  const last = next === undefined ? about.last : next - 1;
  return last > first ? `steps ${first} to ${last}, mean` : `step ${first}`;
}

function describe() {
  if (cell.row < 0) return;
  const rank = order[cell.row], all = parts(rank, cell.column), whole = sum(all) || 1;
  const words = about.classes.map((name, i) => [name, all[i]]).filter(([, value]) => value > 0)
    .map(([name, value]) => `${name} ${time(value)} (${(value / whole * 100).toFixed(1)} %)`);
  const by = late[rank * about.steps.length + cell.column];
  get('cell').textContent = `rank ${about.ranks[rank]} of ${about.hosts[rank]}, ${stepWords(cell.column)}: ${time(whole)} = ${words.join(' + ')}; ${time(by)} later than the usual rank`;
}

const address = (rank, step) => `open?rank=${rank}${step === undefined ? '' : `&step=${step}`}`;

function at(event) {
  const box = canvas.getBoundingClientRect();
  const place = (value, size, count) => Math.max(0, Math.min(count - 1, Math.floor(value / size * count)));
  return {row: place(event.clientY - box.top, box.height, about.ranks.length), column: place(event.clientX - box.left, box.width, about.steps.length)};
}

function choose(next) {
  cell = next;
  describe();
  draw();
}

function openCell() {
  if (cell.row >= 0) location.href = address(about.ranks[order[cell.row]], about.steps[cell.column]);
}

function sort(by) {
  const indices = about.ranks.map((_, i) => i), columns = about.steps.length;
  const total = rank => sum(late.subarray(rank * columns, (rank + 1) * columns));
  order = by === 'late' ? indices.map(i => [total(i), i]).sort((a, b) => b[0] - a[0] || a[1] - b[1]).map(([, i]) => i) : indices;
  cell = {row: -1, column: -1};
  draw();
}

function legend() {
  const totals = about.classes.map((_, kind) => {
    let all = 0;
    for (let i = kind; i < ns.length; i += about.classes.length) all += ns[i];
    return all;
  });
  const whole = sum(totals) || 1;
  get('legend').replaceChildren(...about.classes.map((name, i) => {
    const item = make('span', `${name} ${(totals[i] / whole * 100).toFixed(1)} %`);
    item.prepend(make('i', '', {className: `color ${about.colors[i]}`}));
    return item;
  }));
}

function listen() {
  canvas.onmousemove = event => choose(at(event));
  canvas.onclick = event => (choose(at(event)), openCell());
  canvas.onkeydown = event => {
    const by = {ArrowUp: [-1, 0], ArrowDown: [1, 0], ArrowLeft: [0, -1], ArrowRight: [0, 1]}[event.key];
    if (event.key === 'Enter') openCell();
    if (!by) return;
    event.preventDefault();
    const within = (value, count) => Math.max(0, Math.min(count - 1, value));
    choose({row: within(cell.row + by[0], about.ranks.length), column: within(cell.column + by[1], about.steps.length)});
  };
  for (const name of ['mode', 'sort']) {
    const list = /** @type {HTMLSelectElement} */ (get(name));
    list.onchange = () => name === 'mode' ? (mode = list.value, draw()) : sort(list.value);
  }
  addEventListener('resize', draw);
}

async function start() {
  const answer = await fetch('picture');
  if (!answer.ok) throw new Error(await answer.text());
  const all = await answer.arrayBuffer(), end = new Uint8Array(all).indexOf(10) + 1;
  about = JSON.parse(new TextDecoder().decode(new Uint8Array(all, 0, end)));
  const cells = about.ranks.length * about.steps.length;
  ns = new Float32Array(all, end, cells * about.classes.length);
  late = new Float32Array(all, end + ns.byteLength, cells);
  get('words').textContent = `${about.words.join('. ')}.`;
  get('findings').replaceChildren(...about.findings.map(({text, ranks}) => {
    const item = make('li', text);
    for (const rank of ranks) item.append(' ', make('a', `rank ${rank}`, {href: address(rank)}));
    return item;
  }));
  legend();
  listen();
  sort('rank');
  document.body.dataset.ready = 'yes';
}

start().catch(error => { get('words').textContent = error.message; });
