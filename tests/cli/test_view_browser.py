# ctest-cost: 90
# ctest-labels: plain
"""gpuprof view and the HTML report in a real browser: what is on the canvas must match SQL.

  python3 tests/cli/test_view_browser.py --write

takes the pictures in docs/ again.
"""

import contextlib
import json
import math
import random
import shutil
import sqlite3
import subprocess
import sys
import unittest

import browser
import view_pages
from growing_pages import GrowingPages
from kernel_pages import Kernels
from pair_pages import Pairs
from report_pages import Reports
from test_view import GPUPROF, serving, touched
from test_view_details import records
from training_pages import Training
from view_pages import CANVAS, CAPTURES, LAID_OUT, OPENED, SHOW, SIZES, WATCH, WHOLE, parameters


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
@unittest.skipUnless(browser.PROGRAM, browser.WITHOUT)
class InBrowser(Kernels, Reports, Pairs, Training, GrowingPages, view_pages.Pages):
    def test_pages_open(self):
        for name in (*CAPTURES, "die", "nvtx_threads"):
            with self.subTest(name), serving(self.profiles[name], "--no-browser") as server:
                for dark in (False, True) if name in ("torch_step", "die") else (False,):
                    page = self.page(server.address, dark=dark)
                    page.evaluate(WATCH)
                    page.wait("window.seen && document.querySelector('#panel h2')")
                    run = server.get("run")
                    self.assertEqual(page.evaluate("document.title"), f"{name}.sqlite – gpuprof")
                    page.evaluate(OPENED)
                    whole = {
                        "from": math.floor(run["begin"]) - 10,
                        "to": math.ceil(run["end"]) + 10,
                    }
                    shown = page.evaluate(SHOW % json.dumps(whole))
                    drawn = {row["track"] for row in shown["rows"] if row["text"].strip()}
                    records = [
                        i
                        for i, track in enumerate(run["tracks"])
                        if track["kind"] != "counter" and track["records"]
                    ]
                    self.assertEqual(
                        sorted(drawn),
                        [i for i in records if any(row["track"] == i for row in shown["rows"])],
                    )
                    self.assertGreater(len(drawn), 1)
                    lost = page.evaluate(
                        "[...document.querySelectorAll('#losses p')].map(p => p.textContent)"
                    )
                    self.assertEqual(lost, run["losses"])
                    self.assertEqual(
                        page.evaluate("document.getElementById('losses').hidden"), not lost
                    )
                    for address in page.requests():
                        self.assertTrue(
                            address.startswith((server.address, "data:", "about:")), address
                        )
                    self.assertEqual(page.wrong(), [])
                    page.close()

    def test_rows_with_nothing_in_the_window_are_folded(self):
        folded, rows = "NVIDIA H200 (0) › graph [2164]", "JSON.stringify(seen.items)"
        closed = "seen.items.filter(item => item.closed).map(item => item.group)"
        with serving(self.profiles["streams_graph"], "--no-browser") as server:
            page = self.watched(server.address, 1280, 720)
            page.settle()
            self.assertIn(folded, page.evaluate(closed))
            self.assertIn("graph [2164]", page.evaluate(closed))
            self.assertNotIn("streams [2152]", page.evaluate(closed))
            # Zooming and moving leave rows where they are, although there is something now.
            before, (begin, end) = (
                page.evaluate(rows),
                page.evaluate("[seen.view.from, seen.view.to].map(Math.round)"),
            )
            for key in "s" * 20 + "ddd":
                page.key(key)
            page.settle()
            self.assertGreater(page.evaluate("seen.view.to"), server.get("run")["end"])
            self.assertEqual(page.evaluate(rows), before)
            page.key("0")
            page.wait(f"!{closed}.includes('{folded}')")
            page.wait(
                f"!location.hash.startsWith('#from={begin}&')"
            )  # it is written a little later
            page.evaluate(f"location.hash = '#from={begin}&to={end}'")
            page.wait(f"{closed}.includes('{folded}')")
            # It opens for a record in it, which the address selects.
            tracks = server.get("run")["tracks"]
            inside = next(
                i for i, track in enumerate(tracks) if " › ".join(track["path"][:-1]) == folded
            )
            page.evaluate(f"location.hash = '#from={begin}&to={end}&at={inside},0,0'")
            page.wait(f"seen.items.some(item => item.track === {inside})")
            self.assertEqual(page.wrong(), [])
            page.close()

    def check_rows(self, shown, records, exact):
        """Compares pixels of tracks with records. Returns the number of tracks, and of rectangles that are
        4 pixels wide or more."""
        start, end, width = int(shown["from"]), int(shown["to"]), shown["pixels"]
        tracks = rectangles = 0
        for track, times in records.items():
            rows = [row["text"] for row in shown["rows"] if row["track"] == track]
            if not rows or track in shown["cut"]:  # one of its rows is out of view
                continue
            tracks += 1
            drawn = {x for row in rows for x in range(width) if row[x] != " "}
            self.assertFalse({letter for row in rows for letter in row} - set(" efh"))
            expected = touched(times, start, end, width)
            if not exact:
                beside = touched(times, start - (end - start), end + (end - start), 3 * width)
                near = {x - width + by for x in beside for by in (-1, 0, 1)}
                self.assertEqual(drawn - near, set(), track)
                for x in expected:
                    self.assertTrue(drawn & {x - 1, x, x + 1}, (track, x))
                continue
            self.assertEqual(drawn, expected, (track, start, end, width))
            for first, last in times:
                if (last - first) * width < end - start or first < start or last > end:
                    continue
                left = (first - start) * width // (end - start)
                right = -((start - last) * width // (end - start))
                # The next one may begin in its last pixel.
                inner = slice(left, max(left + 1, right - 1))
                self.assertTrue(
                    any("h" not in row[inner] for row in rows), (track, first, last, start, end)
                )
                if right - left >= 4:
                    rectangles += 1
                    whole = "e" + "f" * (right - left - 2)
                    place = (track, first, last, start, end, width)
                    self.assertTrue(any(row[inner] == whole for row in rows), place)
        return tracks, rectangles

    def test_pixels_are_what_sql_finds(self):
        chance = random.Random(21)
        windows = rectangles = 0
        for name in CAPTURES:
            with serving(self.profiles[name], "--no-browser") as server:
                run, records = self.records(name, server)
                every = sorted(time for times in records.values() for time in times)
                page = self.watched(server.address, opened=True)
                for width, height, ratio in SIZES:
                    page.resize(width, height, ratio)
                    page.wait(f"innerWidth === {width} && seen.painter.ratio === {ratio}")
                    page.settle()
                    page.wait(LAID_OUT)
                    for _ in range(10):
                        first, last = chance.choice(every)
                        span = 2 * round(10 ** chance.uniform(1.5, math.log10(run["end"]) - 0.5))
                        start = int(chance.uniform(first - span, last))
                        start = min(max(start, 0), int(run["end"]) - span)
                        shown = page.evaluate(
                            SHOW % json.dumps({"from": start, "to": start + span})
                        )
                        exact = shown["pixels"] % 2 == 0
                        self.assertEqual(exact, width != 1600)
                        counts = self.check_rows(shown, records, exact)
                        windows += counts[0] * exact
                        rectangles += counts[1]
                self.assertEqual(page.wrong(), [])
                page.close()
        self.assertGreater(windows, 250)
        self.assertGreater(rectangles, 600)

    def test_keys_search_and_what_is_selected(self):
        with serving(self.profiles["torch_step"], "--no-browser") as server:
            page = self.watched(server.address)
            before = page.evaluate("[seen.view.from, seen.view.to]")
            page.key("w")
            page.wait(f"seen.view.to - seen.view.from < {before[1] - before[0]}")
            page.wait("location.hash.includes('from=')")
            zoomed = page.evaluate("[seen.view.from, seen.view.to]")
            page.key("d")
            page.wait(f"seen.view.from > {zoomed[0]}")
            page.key("/")
            page.wait("document.activeElement.id === 'text'")
            page.call("Input.insertText", text="gemm")
            page.key("Enter")
            page.wait("location.hash.includes('at=')")
            record = "document.querySelector('#panel').textContent.startsWith('Record')"
            whole = f"{record} && !document.querySelector('#panel').textContent.includes('…All')"
            page.wait(whole)
            page.settle()
            state = parameters(page.evaluate("location.href"))
            self.assertEqual(state["text"], "gemm")
            shown = page.evaluate("document.querySelector('#panel').textContent")
            again = self.page(page.evaluate("location.href"))
            again.wait(whole)
            again.settle()
            self.assertEqual(again.evaluate("document.querySelector('#panel').textContent"), shown)
            self.assertEqual(parameters(again.evaluate("location.href")), state)
            self.assertEqual(page.wrong() + again.wrong(), [])
            again.close()
            page.close()

    ARROWS = """(() => {
      const {painter, items, scroll} = seen, {ratio, width, height} = painter, color = name => {
        const hex = painter.colors[name].slice(1);
        return (255 << 24 | parseInt(hex.slice(4), 16) << 16 | parseInt(hex.slice(2, 4), 16) << 8 | parseInt(hex.slice(0, 2), 16)) >>> 0;
      };
      const copy = new OffscreenCanvas(width, height).getContext('2d', {willReadFrequently: true});
      copy.drawImage(painter.canvas, 0, 0);
      const count = (lines, name) => lines.reduce((sum, y) => sum + new Uint32Array(
        copy.getImageData(0, y * ratio, width, ratio).data.buffer).filter(pixel => pixel === color(name)).length, 0);
      const places = %s, wanted = '%s';
      const tops = places.map(place => items.find(item => item.track === place.track && item.row === place.row)?.top)
        .filter(top => top !== undefined).map(top => 22 + top - scroll).sort((a, b) => a - b);
      const lines = [];
      // Between two rows; of one row the space above it.
      const [first, last] = tops.at(-1) - tops[0] > 20 ? [tops[0] + 18, tops.at(-1) - 2] : [tops[0] - 12, tops[0] - 4];
      for (let y = first; y < last; ++y) lines.push(Math.round(y));
      return {pixels: count(lines, wanted), rows: tops.length, lines: lines.length, inSight: tops.every(top => top >= 22 && top + 18 <= height / ratio)};
    })()"""

    def arrows(self, page, places, color):
        picture = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(() => done(null))))"
        page.evaluate(picture)
        wanted = [{key: place[key] for key in ("track", "row")} for place in places]
        return page.evaluate(self.ARROWS % (json.dumps(wanted), color))

    def press(self, page, text):
        """With the keyboard only."""
        button = f"[...document.querySelectorAll('.links button')].find(each => each.textContent === {json.dumps(text)})"
        page.wait(button)
        page.evaluate(f"{button}.focus()")
        page.key("Enter")

    def selected(self, page):
        return [int(word) for word in parameters(page.evaluate("location.href"))["at"].split(",")]

    def test_arrows_and_where_they_lead(self):
        followed = 0
        for dark in (False, True):
            with serving(self.profiles["streams_graph"], "--no-browser") as server:
                answer = next(
                    each
                    for each in records(server, ("stream",))
                    if any(waited["why"] == "stream" for waited in each["links"]["waited"])
                )
                place, links = answer["place"], answer["links"]
                launch, before = links["launch"], links["waited"][0]
                at = ",".join(str(place[key]) for key in ("track", "row", "item"))
                page = self.page(f"{server.address}#at={at}", dark=dark)
                page.evaluate(WATCH)
                page.wait("window.seen && document.querySelector('.links button')")
                page.evaluate(SHOW % json.dumps({
                    "from": min(launch["begin"], before["begin"]) - 1000, "to": place["end"] + 1000}))  # fmt: skip
                # Counters have the same colour.
                page.key("Escape")
                without = self.arrows(page, (place, launch), "accent")["pixels"]
                self.assertEqual(self.arrows(page, (place, before), "wait")["pixels"], 0)
                page.wait("!document.querySelector('.links')")
                page.evaluate(f"location.hash = '#at={at}'")
                page.wait("document.querySelector('.links button')")
                self.assertGreater(
                    self.arrows(page, (place, launch), "accent")["pixels"], without + 20
                )
                self.assertGreater(self.arrows(page, (place, before), "wait")["pixels"], 10)
                # The launch is selected, and both are in view; its arrow leads back.
                for text, other in (("go to the launch", launch), ("go to its GPU work", place),
                                    ("go to what it waited for", before)):  # fmt: skip
                    self.press(page, text)
                    where = [other[key] for key in ("track", "row", "item")]
                    page.wait(f"location.hash.includes('at={'%2C'.join(map(str, where))}')")
                    page.wait("document.querySelector('.links button')")
                    self.assertEqual(self.selected(page), where)
                    view = page.evaluate("[seen.view.from, seen.view.to]")
                    for each in (other, place):
                        self.assertLessEqual(view[0], each["begin"])
                        self.assertGreaterEqual(view[1], each["end"])
                    seen = self.arrows(page, (other, place), "accent")
                    self.assertTrue(seen["inSight"], text)
                    followed += 1
                page.key("Escape")
                self.assertEqual(self.arrows(page, (place, before), "wait")["pixels"], 0)
                self.assertEqual(page.wrong(), [])
                page.close()
        self.assertEqual(followed, 6)

    def test_links_of_the_second_run(self):
        paths = [self.profiles["vector_add"], self.profiles["streams_graph"]]
        with serving(paths, "--no-browser") as server:
            base = len(server.get("run")["tracks"])
            second = server.get("run", run=1)["tracks"]
            track = next(i for i, each in enumerate(second) if each["kind"] == "stream")
            launch = server.get("details", track=track, row=0, item=1, run=1)["links"]["launch"]
            page = self.page(f"{server.address}#at={base + track},0,1")
            page.evaluate(WATCH)
            # It is in a closed group. What is on top comes later, and takes height.
            page.wait("window.seen && document.querySelector('.links button')")
            page.wait("document.querySelectorAll('#verdict .side').length === 2")
            page.settle()
            page.wait(LAID_OUT)
            item = "seen.items.find(item => item.heading && item.top > 0)"
            top = page.evaluate(f"{item}.top - seen.scroll + 22 + 8")
            where = page.evaluate(
                "(box => [box.x + 40, box.y])(document.getElementById('canvas').getBoundingClientRect())"
            )
            page.click(where[0], where[1] + top)
            page.wait(f"{item}.closed")
            self.press(page, "go to the launch")
            page.wait(f"location.hash.includes('at={base + launch['track']}%2C')")
            self.assertEqual(
                self.selected(page), [base + launch["track"], launch["row"], launch["item"]]
            )
            page.wait(f"!{item}.closed")
            self.press(page, "go to its GPU work")
            page.wait(f"location.hash.includes('at={base + track}%2C0%2C1')")
            self.assertEqual(page.wrong(), [])
            page.close()

    def test_questions_in_sql(self):
        with serving(self.profiles["torch_step"], "--no-browser") as server:
            page = self.watched(server.address)
            database = sqlite3.connect(self.profiles["torch_step"])
            said = "document.getElementById('answered').textContent"

            def ask(sql, answer):
                page.evaluate(
                    "document.getElementById('answered').textContent = '';"
                    f"document.getElementById('statement').value = {json.dumps(sql)};"
                    "document.getElementById('submit').click()"
                )
                page.wait(f"{said}.includes({json.dumps(answer)})")
                cells = "[...document.querySelectorAll('#rows tr')].map(tr => [...tr.children].map(cell => cell.textContent))"
                return page.evaluate(cells)

            self.assertTrue(page.evaluate("document.getElementById('sql').hidden"))
            page.key("q")
            page.wait("document.activeElement.id === 'statement'")
            sql = "SELECT name, sum(duration) AS ns FROM kernels GROUP BY name ORDER BY ns DESC"
            expected = [[name, str(ns)] for name, ns in database.execute(sql)]
            self.assertEqual(ask(sql, " rows, in "), [["name", "ns"], *expected])
            # Messages for what cannot be queried.
            ask("DELETE FROM RUN", "only questions")
            self.assertEqual(ask("SELECT 1 FRM a", "syntax error"), [])
            ask("x" * 20_000, "too long")
            # Texts are texts; long ones come in parts.
            self.assertEqual(ask("SELECT '<img src=x onerror=alert(1)>' AS \"<b>\", NULL, x'00'", "1 row"),
                             [["<b>", "NULL", "x'00'"], ["<img src=x onerror=alert(1)>", "NULL", "blob, 1 bytes"]])  # fmt: skip
            many = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 450) SELECT i FROM n"
            self.assertEqual(len(ask(many, "450 rows")), 201)
            for rows in (401, 451):
                page.evaluate("document.querySelector('#rows > button').click()")
                page.wait(f"document.querySelectorAll('#rows tr').length === {rows}")
            self.assertFalse(page.evaluate("!!document.querySelector('#rows > button')"))
            # A click on a time goes there.
            [[start, end, zero]] = database.execute(
                "SELECT start, end, (SELECT value FROM RUN WHERE key = 'zero_ns') FROM kernels ORDER BY start LIMIT 1 OFFSET 20"
            )
            zero = int(zero)
            for columns, span in (("start, end", end - start), ("start", None)):
                ask(f"SELECT {columns} FROM kernels WHERE start = {start}", "1 row")
                page.evaluate("document.querySelector('#rows td button').click()")
                middle = start - zero + (span or 0) / 2
                page.wait(f"Math.abs((seen.view.from + seen.view.to) / 2 - {middle}) < 2")
            # The examples are sound.
            for i in range(page.evaluate("document.getElementById('examples').length") - 1):
                page.evaluate(
                    f"document.getElementById('examples').selectedIndex = {i + 1};"
                    "document.getElementById('examples').dispatchEvent(new Event('change'))"
                )
                text = page.evaluate("document.getElementById('statement').value")
                self.assertGreater(len(ask(text, " row")), 1, text)
            self.assertGreater(i, 2)
            # With keys only: run, ended, and back to the picture.
            endless = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n"
            page.evaluate(
                f"document.getElementById('statement').value = {json.dumps(endless)};"
                "document.getElementById('statement').focus()"
            )
            page.call("Input.dispatchKeyEvent", type="keyDown", key="Enter", modifiers=2)
            page.wait("document.getElementById('submit').textContent === 'Stop'")
            page.evaluate("document.getElementById('submit').click()")
            page.wait(f"{said} === 'stopped'")
            page.wait("document.getElementById('submit').textContent === 'Ask'")
            page.key("Escape")
            page.wait("document.activeElement.id === 'canvas'")
            for closes in ("document.getElementById('close').click()", None):
                page.key("q")
                page.wait("document.getElementById('sql').hidden")
                page.key("q")
                page.wait("document.activeElement.id === 'statement'")
                page.evaluate(closes or "document.getElementById('ask').click()")
                self.assertTrue(page.evaluate("document.getElementById('sql').hidden"))
                page.key("q")
                page.key("Escape")
            database.close()
            wrong = [
                each
                for each in page.wrong()
                if "400" not in str(each) and "ERR_ABORTED" not in str(each)
            ]
            self.assertEqual(wrong, [])
            page.close()
        with serving([self.profiles[name] for name in CAPTURES[:2]], "--no-browser") as server:
            page = self.watched(server.address)
            page.key("q")
            self.assertFalse(page.evaluate("document.getElementById('of').hidden"))
            for run, name in enumerate(CAPTURES[:2]):
                [[kernels]] = sqlite3.connect(self.profiles[name]).execute(
                    "SELECT count(*) FROM kernels"
                )
                page.evaluate(
                    f"document.getElementById('of').selectedIndex = {run};"
                    "document.getElementById('statement').value = 'SELECT count(*) FROM kernels';"
                    "document.getElementById('submit').click()"
                )
                page.wait(f"document.querySelector('#rows td')?.textContent === '{kernels}'")
            self.assertEqual(page.wrong(), [])
            page.close()

    def test_work_without_times_is_listed(self):
        forged = self.folder / "untimed.db"
        shutil.copy(self.profiles["two_processes"], forged)
        kernels = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"
        with contextlib.closing(sqlite3.connect(forged)) as database:
            database.execute(f"UPDATE {kernels} SET start = 0")
            database.commit()
            per_process = database.execute(
                f"SELECT processId, count(*) FROM {kernels} GROUP BY 1, name ORDER BY 2 DESC, 1"
            ).fetchall()
        report = self.folder / "untimed.html"
        subprocess.run(
            [GPUPROF, "report", forged, "-f", "--html", report], check=True, capture_output=True
        )
        with serving(forged, "--no-browser") as server:
            for address in (server.address, report.as_uri()):
                page = self.page(address)
                page.wait("document.querySelector('#losses button')")
                page.evaluate("document.querySelector('#losses button').click()")
                rows = "[...document.querySelectorAll('#panel tr')].map(tr => [...tr.children].map(cell => cell.textContent))"
                page.wait(
                    "document.querySelector('#panel h2')?.textContent === 'GPU work without times'"
                )
                shown = page.evaluate(rows)[1:]
                self.assertEqual(
                    sorted((int(row[1]), int(row[2])) for row in shown), sorted(per_process)
                )
                self.assertEqual(page.wrong(), [])
                page.close()
        forged.unlink()
        report.unlink()

    def test_from_record_to_record_by_keys(self):
        report = self.folder / "keys.html"
        profile = self.profiles["torch_step"]
        subprocess.run(
            [GPUPROF, "report", profile, "-f", "--html", report], check=True, capture_output=True
        )
        with serving(profile, "--no-browser") as server:
            run = server.get("run")
            page = self.watched(server.address)
            select = "(({track, row, item}) => [track, row, item])({...seen.painter.selected})"
            page.evaluate(
                "const before = seen.painter.constructor.prototype.marks;"
                "seen.painter.constructor.prototype.marks = function (view, marks, ...rest) {"
                "  before.call(this, view, marks, ...rest); this.selected = marks.selected; }"
            )

            def press(key, *place):
                page.key(key)
                page.wait(
                    f"seen.painter.selected && JSON.stringify({select}) === '{json.dumps(place, separators=(',', ':'))}'"
                )
                page.wait("location.hash.includes('at=" + "%2C".join(map(str, place)) + "')")

            page.key("Escape")
            page.key("0")
            page.wait(WHOLE % run)
            first = next(i for i, track in enumerate(run["tracks"]) if track["rows"])
            press(".", first, 0, 0)
            for item in (1, 2, 3):
                press(".", first, 0, item)
            press(",", first, 0, 2)
            # The selection stays in view, however far away it is.
            for _ in range(12):
                page.key("w")
            for item in (3, 4, 5):
                press(".", first, 0, item)
                place = server.get("details", track=first, row=0, item=item)["place"]
                page.wait(f"seen.view.from <= {place['end']} && seen.view.to >= {place['begin']}")
            # Down to the nearest record in the next row, among all records there; and up again.
            page.key("0")
            page.evaluate(
                "location.hash = location.hash.replace(/at=[^&]*/, 'at=%d%%2C0%%2C0')" % first
            )
            page.wait(f"JSON.stringify({select}) === '[{first},0,0]'")
            for key in ["ArrowDown"] * 3 + ["ArrowUp"] * 2:
                [track, row, _] = page.evaluate(select)
                page.key(key)
                page.wait(f"(([t, r]) => t !== {track} || r !== {row})({select})")
                after = page.evaluate(select)
                self.assertEqual((after[0], after[1]) > (track, row), key == "ArrowDown")
            # After the last there is nothing, and a message says so.
            track = next(
                i for i, each in enumerate(run["tracks"]) if each["rows"] == 1 and each["records"]
            )
            last = run["tracks"][track]["records"] - 1
            page.evaluate(f"location.hash = '#at={track}%2C0%2C{last}'")
            page.wait(f"JSON.stringify({select}) === '[{track},0,{last}]'")
            page.key(".")
            page.wait("document.getElementById('status').textContent.includes('no such record')")
            press(",", track, 0, last - 1)
            wrong = [each for each in page.wrong() if "404" not in str(each)]
            self.assertEqual(wrong, [])
            page.close()
            page = self.page(report.as_uri())
            page.key("Escape")
            for key in "..,":
                page.key(key)
                page.wait("document.querySelector('#panel h2')?.textContent === 'Record'")
                page.wait("location.hash.includes('at=')")
            self.assertEqual(page.wrong(), [])
            page.close()
        report.unlink()

    def test_two_fingers_zoom(self):
        with serving(self.profiles["torch_step"], "--no-browser") as server:
            page = self.watched(server.address)
            page.call("Emulation.setTouchEmulationEnabled", enabled=True, maxTouchPoints=2)
            box = page.evaluate(
                "(box => [box.x, box.y, box.width])(document.getElementById('canvas').getBoundingClientRect())"
            )
            left = page.evaluate("seen.painter.labels")

            def times(view, xs):
                return [
                    view[0] + (x - box[0] - left) / (box[2] - left) * (view[1] - view[0])
                    for x in xs
                ]

            def touch(kind, *xs):
                points = [{"x": x, "y": box[1] + 200, "id": i} for i, x in enumerate(xs)]
                page.call("Input.dispatchTouchEvent", type=kind, touchPoints=points)

            view = "[seen.view.from, seen.view.to]"
            before = page.evaluate(view)
            fingers = [box[0] + 500, box[0] + 700]
            held = times(before, fingers)
            touch("touchStart", fingers[0])
            touch("touchStart", *fingers)
            for apart in (40, 120, 200):
                touch("touchMove", fingers[0] - apart, fingers[1] + apart)
            page.wait(f"seen.view.to - seen.view.from < {(before[1] - before[0]) / 2.5}")
            now = page.evaluate(view)
            for expected, time_now in zip(
                held, times(now, [fingers[0] - 200, fingers[1] + 200]), strict=True
            ):
                self.assertAlmostEqual(expected, time_now, delta=(before[1] - before[0]) / 500)
            selected = page.evaluate("location.hash.includes('at=')")
            touch("touchEnd")
            self.assertFalse(selected)
            # One finger moves.
            touch("touchStart", fingers[0])
            touch("touchMove", fingers[0] - 60)
            touch("touchMove", fingers[0] - 100)
            page.wait(f"seen.view.from > {now[0]}")
            self.assertAlmostEqual(
                page.evaluate("seen.view.to - seen.view.from"), now[1] - now[0], delta=1
            )
            touch("touchEnd")
            self.assertEqual(page.wrong(), [])
            page.close()

    def test_a_small_window(self):
        """Like one of 1280 x 800 at 200 %: everything can be reached, nothing covers the picture."""
        boxes = """Object.fromEntries(['canvas', 'panel', 'text', 'ask', 'help', 'whole', 'sql', 'submit'].map(id => {
          const box = document.getElementById(id).getBoundingClientRect();
          return [id, [box.left, box.top, box.right, box.bottom].map(Math.round)];
        }))"""
        for profiles in (["die"], ["torch_step", "two_processes"]):
            with serving([self.profiles[name] for name in profiles], "--no-browser") as server:
                page = self.watched(server.address, 640, 400, 2)
                page.wait("document.querySelector('#panel h2')")
                for opens in (False, True):
                    if opens:
                        page.key("q")
                        page.wait("document.activeElement.id === 'statement'")
                    now = page.evaluate(boxes)
                    left, top, right, bottom = now["canvas"]
                    self.assertGreater(right - left, 250)
                    self.assertGreater(bottom - top, 150)
                    self.assertGreaterEqual(now["panel"][0], right)
                    self.assertGreater(now["panel"][2] - now["panel"][0], 150)
                    shown = page.evaluate("rowsShown()")
                    self.assertGreater(shown["pixels"] / 2, 150)
                    self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 640)
                    for name in ("text", "ask", "help", "whole", *["submit"] * opens):
                        self.assertLessEqual(now[name][2], 640, name)
                        self.assertGreater(now[name][2], now[name][0], name)
                    if opens:
                        self.assertGreaterEqual(now["sql"][1], bottom)
                        self.assertGreaterEqual(now["sql"][3], now["submit"][3])
                self.assertEqual(page.wrong(), [])
                page.close()

    def test_busy_row_is_what_sql_finds(self):
        """The height of the row of the GPU, against the records that SQL finds."""
        name = "streams_graph"
        with serving(self.profiles[name], "--no-browser") as server:
            run, records = self.records(name, server)
            page = self.watched(server.address, 1601, 900)
            streams = [i for i, each in enumerate(run["tracks"]) if each["kind"] == "stream"]
            heights = """(() => {
              const {painter, items, scroll} = seen, {left, width, groundPixel} = painter, item = items.find(each => each.busy);
              const y = 22 + item.top - scroll, high = item.height - 3, copy = new OffscreenCanvas(width, high).getContext('2d');
              copy.drawImage(painter.canvas, 0, -y);
              const pixels = new Uint32Array(copy.getImageData(0, 0, width, high).data.buffer);
              const fills = new Set(['compute', 'htod', 'dtoh', 'dtod', 'set', 'communication', 'copy', 'peer'].map(each => painter.shade(each).fill));
              return {high, heights: Array.from({length: width - left}, (_, x) => {
                let count = 0;
                for (let line = 0; line < high; ++line) count += fills.has(pixels[line * width + left + x]);
                return count;
              })};
            })()"""
            chance = random.Random(5)
            every = [record for track in streams for record in records[track]]
            full = 0
            for _ in range(8):
                begin, end = chance.choice(every)
                span = 2 * round((end - begin) * chance.uniform(3, 200) + 100)
                start = begin - round(span * chance.uniform(0.1, 0.9))
                shown = page.evaluate(SHOW % json.dumps({"from": start, "to": start + span}))

                # SHOW waits for the rows that are shown. The busy row has those of folded groups too, and
                # work of which the name is not known yet has another color.
                within = f"{max(start, run['begin'])}, {min(start + span, run['end'])}"
                page.wait(
                    "seen.items.every(item => !item.busy || item.tracks.every(track => {"
                    f"  const tile = seen.tilesOf(track).findLast(each => each.covers({within}));"
                    f"  return tile && Math.abs(tile.density * {span / shown['pixels']} - 1) < 0.01 &&"
                    "    tile.rows.every(row => [...row.name].every(name => seen.nameOf(name)[2]));"
                    "}))"
                )
                page.evaluate(CANVAS % json.dumps({"from": start, "to": start + span}))
                got = page.evaluate(heights)
                width = shown["pixels"]
                share = [0.0] * width
                for track in streams:
                    for begin, end in records[track]:
                        left, right = ((time - start) * width / span for time in (begin, end))
                        for x in range(max(0, int(left)), min(width, math.ceil(right))):
                            share[x] += max(0, min(right, x + 1) - max(left, x))
                for x, expected in enumerate(share):
                    # A pixel with the end of a record shows a part of it, and a bucket is spread evenly.
                    near = share[max(0, x - 2) : x + 3]
                    low, high = min(1, min(near)), min(1, max(near))
                    now = got["heights"][x] / got["high"]
                    self.assertGreaterEqual(now, low - 0.06, (x, start, span))
                    self.assertLessEqual(now, high + 0.06, (x, start, span))
                    full += expected > 0.999
            self.assertGreater(full, 100)
            self.assertEqual(page.wrong(), [])
            page.close()

    def test_names_are_marked_and_walked_through(self):
        profile = self.profiles["torch_step"]
        with contextlib.closing(sqlite3.connect(profile)) as database:
            starts = [
                start - zero
                for start, zero in database.execute(
                    "SELECT start, (SELECT CAST(value AS INTEGER) FROM RUN WHERE key = 'zero_ns') FROM memcpys"
                    " WHERE kind = 'HtoD' ORDER BY start"
                )
            ]
        with serving(profile, "--no-browser") as server:
            page = self.watched(server.address)
            found = "document.getElementById('found').textContent"
            row = "[...document.querySelectorAll('#panel td.name button')].find(each => each.textContent === 'HtoD')"
            page.wait(row)
            page.evaluate(f"{row}.click()")
            page.wait(f"{found} === '{len(starts)} found'")
            page.wait("[...seen.painter.shades.keys()].some(key => key.endsWith(' dimmed'))")
            page.wait("location.hash.includes('mark=')")
            selected = (
                "location.hash.includes('at=') && document.querySelector('#panel h3')?.textContent"
            )
            page.key("0")
            page.wait(WHOLE % server.get("run"))
            for key, expected in [
                ("n", starts[0]),
                ("n", starts[1]),
                ("N", starts[0]),
                ("N", starts[-1]),
            ]:
                page.key(key)
                page.wait(
                    f"{selected} && seen.view.from <= {expected} && seen.view.to >= {expected}"
                )
                at = page.evaluate("location.hash.match(/at=([^&]*)/)[1]").split("%2C")
                place = server.get("details", **dict(zip(("track", "row", "item"), at)))["place"]
                self.assertEqual(place["begin"], expected)
            page.key("Escape")
            page.wait(
                "document.getElementById('unmark').hidden && !location.hash.includes('mark=')"
            )
            self.assertEqual(page.wrong(), [])
            page.close()

    def test_tabs_and_notes(self):
        profile = self.profiles["torch_step"]
        with contextlib.closing(sqlite3.connect(profile)) as database:
            kernels = database.execute(
                "SELECT count(*), sum(duration) FROM kernels").fetchone()  # fmt: skip
            peak = database.execute("SELECT max(bytes) FROM memory_peak").fetchone()[0]
        with serving(profile, "--no-browser") as server:
            page = self.watched(server.address)
            page.key("0")
            page.key("c")
            page.wait(
                f"document.querySelector('#flame .tools').textContent.includes('in {kernels[0]} kernels')"
            )
            page.wait("document.querySelectorAll('#flame .flame button').length > 10")
            page.key("i")
            page.wait("document.querySelectorAll('#statistics td.name').length > 5")
            self.assertTrue(page.evaluate("document.getElementById('flame').hidden"))
            times = page.evaluate(
                "[...document.querySelectorAll('#statistics tr')].slice(1).map(row => row.cells[1].textContent)"
            )
            factor = {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1}
            sums = sum(float(each.split()[0]) * factor[each.split()[1]] for each in times)
            self.assertAlmostEqual(sums / kernels[1], 1, delta=0.001)
            # Sorted by the number of launches, the least first after a second click.
            heads = "document.querySelectorAll('#statistics th button')"
            counts = "[...document.querySelectorAll('#statistics tr')].slice(1).map(row => Number(row.cells[3].textContent))"
            for order in (True, False):
                page.evaluate(f"{heads}[3].click()")
                shown = page.evaluate(counts)
                self.assertEqual(shown, sorted(shown, reverse=order))
            page.evaluate("document.getElementById('tab-memory').click()")
            page.wait("document.querySelector('#memory td')")
            shown = float(
                page.evaluate(
                    "document.querySelector('#memory td.number:nth-child(4)').textContent"
                ).split()[0]
            )
            self.assertAlmostEqual(shown * 2**20 / peak, 1, delta=0.001)
            # A note is text, whatever it says, and is in the address.
            page.evaluate("document.getElementById('canvas').focus()")
            page.key("m")
            page.wait("document.activeElement.id === 'noted'")
            page.call("Input.insertText", text="<b>here</b>")
            page.key("Enter")
            page.wait("location.hash.includes('notes=')")
            again = self.page(page.evaluate("location.href"))
            again.wait("document.querySelector('#memory td')")
            self.assertIn("here", parameters(again.evaluate("location.href"))["notes"])
            self.assertEqual(page.wrong() + again.wrong(), [])
            again.close()
            page.close()


if __name__ == "__main__":
    InBrowser.write = "--write" in sys.argv
    unittest.main(argv=[word for word in sys.argv if word != "--write"])
