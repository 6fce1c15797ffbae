"""Tests of the HTML report in a browser, for test_view_browser.py."""

import base64
import html
import json
import random
import re
import sqlite3
import subprocess
import time

from test_view import GPUPROF, serving
from view_pages import CAPTURES


class Reports:
    def test_a_report_draws_what_the_viewer_draws(self):
        """If it has all records: the same pixels, whatever the window."""
        chance = random.Random(11)
        for name in CAPTURES:
            with self.subTest(name), serving(self.profiles[name], "--no-browser") as server:
                run = server.get("run")
                windows = []
                for number in range(6):
                    span = (run["end"] - run["begin"]) * 0.05 ** (number % 3)
                    start = chance.uniform(run["begin"], run["end"] - span)
                    windows.append({"from": int(start), "to": int(start + span) + 100})
                report = self.report(self.profiles[name]).as_uri()
                for _ in range(3):  # a loaded machine may take longer for a tile than CANVAS waits
                    pictures = [self.pictures(each, windows) for each in (server.address, report)]
                    if pictures[0] == pictures[1]:
                        break
                self.assertEqual(*pictures, windows)

    def test_keys_of_a_report(self):
        database = sqlite3.connect(self.profiles["torch_step"])
        gaps = [row[0] for row in database.execute("SELECT duration FROM gpu_gaps ORDER BY 1 DESC")]
        steps = [
            row[0] for row in database.execute("SELECT stop - start FROM STEP ORDER BY 1 DESC")
        ]
        database.close()
        page = self.page(self.report(self.profiles["torch_step"]).as_uri())
        for key, title, times in (("g", "GPU without work", gaps), ("t", "Step: ", steps)):
            for duration in times[:3]:
                page.key(key)
                page.wait(f"document.querySelector('#panel h2').textContent.startsWith({json.dumps(title)})"
                          " && document.querySelector('#panel table')")  # fmt: skip
                number, unit = page.evaluate(
                    "document.querySelector('#panel dd').textContent"
                ).split()
                shown = float(number) * {"s": 1e9, "ms": 1e6, "µs": 1e3, "ns": 1}[unit]
                self.assertAlmostEqual(shown / duration, 1, delta=0.001)
        self.assertEqual(page.wrong(), [])
        page.close()

    def test_what_a_report_says_leads_to_the_timeline(self):
        """Findings, steps and gaps move it; the contents scroll the text, and the timeline can be folded."""
        profile = self.profiles["torch_step"]
        database = sqlite3.connect(profile)
        zero = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()[0]
        steps = database.execute("SELECT start, stop FROM STEP ORDER BY start").fetchall()
        database.close()
        ran = subprocess.run(
            [GPUPROF, "findings", profile, "--json"], check=True, capture_output=True
        )
        draws = [draw for each in json.loads(ran.stdout)["findings"] for draw in each["draws"]
                 if draw["relative_first_ns"] is not None]  # fmt: skip
        page = self.page(self.report(profile).as_uri())
        window = "Object.fromEntries(new URLSearchParams(location.hash.slice(1)))"

        def shows(begin, end):
            page.wait(
                f"(w => w.from <= {begin} && w.to >= {end} && w.to - w.from < {4 * (end - begin)})({window})"
            )

        self.assertEqual(
            page.evaluate("document.querySelectorAll('.finding .place').length"), len(draws)
        )
        page.evaluate("document.querySelector('.finding .place').click()")
        shows(draws[0]["relative_first_ns"], draws[0]["relative_last_ns"])
        for i, (start, stop) in enumerate(steps):
            page.evaluate(
                f"document.querySelectorAll('.step')[{i}].dispatchEvent(new Event('click'))"
            )
            shows(start - zero, stop - zero)
        top = "document.getElementById('summary').scrollTop"
        for number in range(
            page.evaluate("document.querySelectorAll('#summary nav button').length")
        ):
            button = f"document.querySelectorAll('#summary nav button')[{number}]"
            page.evaluate(f"{button}.click()")
            page.wait(f"(s => s.getBoundingClientRect().top < innerHeight && s.getAttribute('aria-label') === {button}"
                      f".textContent)(document.querySelectorAll('article > section')[{number}])")  # fmt: skip
        self.assertGreater(page.evaluate(top), 0)
        height = "document.getElementById('summary').clientHeight"
        before = page.evaluate(height)
        page.evaluate("document.getElementById('fold').click()")
        self.assertGreater(page.evaluate(height), before)
        self.assertEqual(
            page.evaluate("document.getElementById('canvas').getClientRects().length"), 0
        )
        page.evaluate("document.getElementById('fold').click()")
        self.assertEqual(page.evaluate(height), before)
        self.assertEqual(page.wrong(), [])
        page.close()

    def test_a_report_in_a_frame(self):
        """As in a notebook, where the page has no address to remember anything in."""
        text = self.report(self.profiles["torch_step"]).read_text(encoding="utf-8")
        holder = self.folder / "frame.html"
        holder.write_text(f'<!doctype html><body data-drawn="yes"><iframe srcdoc="{html.escape(text)}"></iframe>',
                          encoding="utf-8")  # fmt: skip
        page = self.page(holder.as_uri())
        inside = "document.querySelector('iframe').contentDocument"
        page.wait(f"{inside}?.querySelector('.finding .place') && {inside}.body.dataset.drawn")
        before = page.evaluate(f"{inside}.getElementById('window').textContent")
        page.evaluate(f"{inside}.querySelector('.finding .place').click()")
        page.wait(f"{inside}.getElementById('window').textContent !== {json.dumps(before)}")
        time.sleep(1)  # the address would be changed a moment after the window
        self.assertEqual(page.wrong(), [])
        page.close()
        holder.unlink()

    def test_a_report_on_paper(self):
        """A4, 96 pixels per inch: nothing exceeds the edge, and unusable controls are absent."""
        for name in CAPTURES:
            page = self.page(self.report(self.profiles[name]).as_uri(), 794, 1123)
            page.wait("document.body.dataset.drawn")
            page.call("Emulation.setEmulatedMedia", media="print")
            self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth"), 794)
            widest = page.evaluate(
                "Math.max(...[...document.querySelectorAll('#summary *, #canvas')]"
                ".map(each => each.getBoundingClientRect().right))"
            )
            self.assertLessEqual(widest, 794)
            shown = page.evaluate(
                "Object.fromEntries(['search', 'jumps', 'help', 'whole', 'panel', 'status', 'summary', 'canvas']"
                ".map(id => [id, document.getElementById(id).getClientRects().length > 0]))"
            )
            self.assertEqual([id for id, there in shown.items() if there], ["summary", "canvas"])
            printed = page.call("Page.printToPDF", printBackground=True)["data"]
            paper = base64.b64decode(printed)
            self.assertTrue(paper.startswith(b"%PDF-"))
            self.assertIn(len(re.findall(rb"/Type\s*/Page\b", paper)), range(1, 5))
            self.assertEqual(page.wrong(), [])
            page.close()

    def test_a_report_asks_for_nothing(self):
        page = self.page(self.report(self.profiles["torch_step"]).as_uri())
        page.wait("document.querySelector('h2')")
        asked = [url for url in page.requests() if not url.startswith(("file:", "data:", "about:"))]
        self.assertEqual(asked, [])
        self.assertFalse(page.evaluate("document.getElementById('ask').getClientRects().length"))
        counts = []
        for text in ("gemm", "/(sm|g)emm.*/", "/GEMM/", "/GEMM/i", "/(/"):
            page.evaluate(
                "document.getElementById('found').textContent = '';"
                f"document.getElementById('text').value = {json.dumps(text)};"
                "document.getElementById('search').requestSubmit()"
            )
            page.wait("document.getElementById('found').textContent")
            counts.append(page.evaluate("document.getElementById('found').textContent"))
        self.assertRegex(counts[0], "^(at least )?[1-9][0-9]* found")
        self.assertEqual([text.split(" found")[0] for text in counts[1:4]],
                         [counts[0].split(" found")[0], counts[0].split(" found")[0].rstrip("0123456789") + "0",
                          counts[0].split(" found")[0]])  # fmt: skip
        self.assertIn("Invalid regular expression", counts[4])
        self.assertEqual(page.wrong(), [])
        page.close()
