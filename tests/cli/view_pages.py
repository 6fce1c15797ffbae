"""Pages of the viewer and of reports in a browser, for tests."""

import json
import sqlite3
import subprocess
import urllib.parse

import browser
import test_view
import test_view_truth
from test_view import GPUPROF

# Captures what the page draws, for tests: each picture (`seen`), and the pixels of rows as they are
# on the canvas, by the first of their lines and one whose hatching is shifted by half (no label
# reaches either).
WATCH = """(async () => {
  const {Painter, ruler} = await import('./draw.js'), {nameOf} = await import('./wanted.js');
  const draw = Painter.prototype.draw;
  Painter.prototype.draw = function (view, items, scroll, tilesOf, ...rest) {
    draw.call(this, view, items, scroll, tilesOf, ...rest);
    window.seen = {painter: this, view, items, scroll, tilesOf, nameOf};
    window.eachPicture?.();
  };
  const copy = new OffscreenCanvas(1, 1), context = copy.getContext('2d', {willReadFrequently: true});
  window.rowsShown = (withText = true) => {
    const {painter, view, items, scroll, tilesOf} = seen, {ratio, width, height, labels} = painter;
    const left = Math.round(labels * ratio), bottom = height / ratio;
    if (withText) {
      [copy.width, copy.height] = [width, height];
      context.drawImage(painter.canvas, 0, 0);
    }
    const line = y => new Uint32Array(context.getImageData(left, y, width - left, 1).data.buffer);
    const rows = [], cut = new Set();
    for (const item of items) {
      const top = ruler + item.top - scroll;
      if (item.track < 0 || item.counter) continue;
      if (top < ruler || top + item.height > bottom) { cut.add(item.track); continue; }
      const y = Math.round(top * ratio), tile = tilesOf(item.track).at(-1);
      const row = {track: item.track, row: item.row, y: top, tile: tile && [tile.from, tile.to, tile.width]};
      rows.push(row);
      if (!withText) continue;
      const one = line(y), two = line(y + (ratio === 1 ? item.height - 4 : 2));
      const shades = [...painter.shades.values()], fills = new Set(shades.map(({fill}) => fill)), pales = new Set(shades.map(({pale}) => pale));
      let text = '';
      for (let x = 0; x < one.length; ++x) {
        if (one[x] === painter.blank[left + x] && two[x] === one[x]) text += ' ';
        else if (one[x] !== two[x]) text += 'h';
        else if (pales.has(one[x])) text += 'e';
        else text += fills.has(one[x]) ? 'f' : '?';
      }
      row.text = text;
    }
    return {from: view.from, to: view.to, pixels: width - left, left: labels, ratio, rows, cut: [...cut]};
  };
  document.getElementById('scroll').dispatchEvent(new Event('scroll'));
})()"""

# Opens all groups.
OPENED = """Promise.all(['./state.js', './timeline.js'].map(module => import(module))).then(([{state}, {layout}]) => {
  state.closed.clear();
  layout();
})"""

# A report does not know the sizes of copies.
WITHOUT_SIZES = """Promise.all(['./state.js', './source.js'].map(module => import(module))).then(([{state}, {source}]) => {
  state.sizes.clear();
  source.sizes = async places => places.map(place => [place, 0]);
})"""

# Shows a window, and waits until all its rows have arrived.
SHOW = """new Promise(done => {
  const {from, to} = %s;
  window.eachPicture = () => {
    const now = rowsShown(false);
    const whole = now.rows.every(({tile}) => tile && tile[0] <= from && tile[1] >= to &&
      Math.abs(tile[2] / (tile[1] - tile[0]) * (to - from) / now.pixels - 1) < 0.01);
    if (now.from !== from || now.to !== to || !whole) return;
    window.eachPicture = null;
    done(rowsShown());
  };
  location.hash = `#from=${from}&to=${to}`;  // seen by the page as if it were typed
  document.getElementById('scroll').dispatchEvent(new Event('scroll'));
})"""

# The upper part of the timeline for a window, once nothing on it has changed for 12 frames.
CANVAS = """new Promise(done => {
  const {from, to} = %s;
  location.hash = `#from=${from}&to=${to}`;
  const canvas = document.getElementById('canvas'), copy = new OffscreenCanvas(1, 1), context = copy.getContext('2d', {willReadFrequently: true});
  // Each picture begins with this call.
  const methods = CanvasRenderingContext2D.prototype, {putImageData} = methods;
  let drawn = true, before = 0, same = 0;
  methods.putImageData = function (...all) {
    drawn = true;
    putImageData.apply(this, all);
  };
  const sum = () => {
    [copy.width, copy.height] = [canvas.width, 300];
    context.drawImage(canvas, 0, 0);
    let all = 7;
    for (const pixel of new Uint32Array(context.getImageData(0, 0, copy.width, copy.height).data.buffer))
      all = Math.imul(all ^ pixel, 0x01000193);
    return all;
  };
  const look = () => {
    const now = drawn ? sum() : before;
    drawn = false;
    same = now === before ? same + 1 : 0;
    before = now;
    if (same < 12) return requestAnimationFrame(look);
    methods.putImageData = putImageData;
    done(now);
  };
  look();
})"""

# The whole run is shown, by tiles of it: those of an earlier view are drawn until they come.
WHOLE = """seen.view.from <= %(begin)s && seen.view.to >= %(end)s &&
rowsShown(false).rows.every(({tile}) => tile && tile[0] <= %(begin)s && tile[1] >= %(end)s)"""

# Rows have been laid out for the height that the canvas has.
LAID_OUT = "seen.painter.height === Math.round(document.getElementById('canvas').getBoundingClientRect().height * seen.painter.ratio)"

# Width, height, device pixels per pixel of the page. The picture is exact if it is an even number
# of pixels wide, as all but the third are; otherwise tiles are half a pixel off the canvas.
SIZES = (1601, 1200, 1), (1202, 1200, 1), (1600, 1200, 1), (800, 900, 2)
CAPTURES = "torch_step", "two_processes", "streams_graph"


def parameters(address):
    return dict(urllib.parse.parse_qsl(urllib.parse.urlsplit(address).fragment))


class Pages(test_view.Profiles):
    """Profiles of captures, and a browser for their pages."""

    times, work = test_view_truth.Truth.times, test_view_truth.Truth.work
    records_of = test_view_truth.Truth.records_of

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.browser = cls.enterClassContext(browser.Browser())

    def page(self, address, *size, **more):
        return self.browser.page(address, *size, **more)

    def watched(self, address, *size, opened=False):
        page = self.page(address, *size)
        if opened:
            page.evaluate(OPENED)
        page.evaluate(WATCH)
        page.wait("window.seen")
        return page

    def records(self, name, server):
        """Track: start and end of its records, where SQL knows them."""
        run = server.get("run")
        database = sqlite3.connect(self.profiles[name])
        found = {i: self.records_of(database, track, run) for i, track in enumerate(run["tracks"])}
        database.close()
        return run, {track: records for track, records in found.items() if records}

    def report(self, profile, *words):
        report = self.folder / "report.html"
        subprocess.run([GPUPROF, "report", profile, "-f", "--html", report, *words],
                       check=True, timeout=120, capture_output=True)  # fmt: skip
        return report

    def pictures(self, address, windows):
        page = self.page(address)
        if address.startswith("http"):
            page.evaluate(WITHOUT_SIZES)
        # Rows share the height that there is.
        page.evaluate("document.querySelector('main').style.cssText = 'flex: none; height: 600px'")
        pictures = [page.evaluate(CANVAS % json.dumps(window)) for window in windows]
        self.assertEqual(page.wrong(), [])
        page.close()
        return pictures
