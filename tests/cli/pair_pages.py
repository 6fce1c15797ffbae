"""Tests of two runs, memory, sharing and accessibility in a browser, for test_view_browser.py."""

import contextlib
import json
import os
import re
import shlex
import sqlite3
import subprocess
import unittest
import urllib.parse

from test_view import GPUPROF, SOURCE, serving
from view_pages import LAID_OUT, parameters

# The texts of the rows of a table below a heading of the panel.
TABLE = """(title => {
  const heads = [...document.querySelectorAll('#panel h2')], head = heads.find(each => each.textContent === title);
  let at = head?.nextElementSibling;
  while (at && at.tagName !== 'TABLE') at = at.nextElementSibling;
  return at ? [...at.rows].slice(1).map(row => [...row.cells].map(cell => cell.textContent)) : null;
})"""

# By how much each run is shown later.
SHIFTS = "import('./source.js').then(({source}) => source.shifts)"

# The checker of accessibility, where scripts/setup --tests could get it.
AXE = SOURCE / ".tools/axe/axe_playwright_python/axe.min.js"
FAULTS = """axe.run(document, {resultTypes: ['violations']}).then(({violations}) => violations
  .filter(each => ['serious', 'critical'].includes(each.impact))
  .map(each => `${each.id}: ${each.nodes.map(node => node.html.slice(0, 150)).slice(0, 5).join(' ; ')}`))"""


class Pairs:
    def faults(self, page):
        """Serious ones."""
        if not page.evaluate("'axe' in window"):
            page.call("Runtime.evaluate", expression=AXE.read_text(encoding="utf-8"))
        return page.evaluate(FAULTS)

    @unittest.skipUnless(AXE.exists(), "there is no axe (scripts/setup --tests)")
    def test_accessibility(self):
        """The viewer with its tabs, two runs, and a report, light and dark: axe finds nothing serious."""
        profile = self.profiles["torch_step"]
        with serving(profile, "--no-browser") as server:
            for dark in (False, True):
                page = self.page(f"{server.address}#at=0,0,1", 1400, 900, dark=dark)
                page.wait("document.querySelector('.advice button')")
                page.wait("document.querySelector('#panel h3')")
                tab = "memory" if dark else "flame"
                page.evaluate(f"document.getElementById('tab-{tab}').click()")
                page.wait(f"document.querySelector('#{tab} td, #{tab} .flame button')")
                self.assertEqual(self.faults(page), [], tab)
                page.close()
        with serving([profile, self.profiles["die"]], "--no-browser") as server:
            page = self.page(server.address, 1400, 900)
            page.wait("document.querySelector('#panel .side, #panel p')")
            self.assertEqual(self.faults(page), [])
            page.close()
        page = self.page(self.report(profile).as_uri(), 1400, 900)
        page.wait("document.querySelector('#panel table')")
        self.assertEqual(self.faults(page), [])
        page.close()

    def test_two_runs_are_compared(self):
        """The sentence of gpuprof diff, its parts, and steps that lead to both; as Markdown too."""
        profile = self.profiles["torch_step"]
        ran = subprocess.run(
            [GPUPROF, "diff", profile, profile, "--json"], check=True, capture_output=True
        )
        parts = json.loads(ran.stdout)["parts"]
        with contextlib.closing(sqlite3.connect(profile)) as database:
            steps = database.execute("SELECT count(*) FROM STEP WHERE stop > start").fetchone()[0]
        other = self.folder / "other.sqlite"
        if not other.exists():
            os.link(profile, other)
        with serving([profile, other], "--no-browser") as server:
            page = self.page(server.address, 1600, 900)
            page.wait("document.querySelectorAll('#verdict .side').length === 2")
            shown = page.evaluate("document.querySelector('#verdict p').textContent")
            self.assertIn("(0 %", shown.replace("+0.0 %", "0 %"))
            page.evaluate("document.querySelector('#verdict button').click()")
            page.wait("document.querySelector('#panel h2').textContent === 'What changed'")
            page.wait("document.querySelectorAll('#panel h2').length > 3")
            page.settle()
            rows = page.evaluate(
                f"{TABLE}('Where the time went') ?? {TABLE}('Where the time of a step went')"
            )
            heads = page.evaluate(
                "[...document.querySelectorAll('#panel h2')].map(h => h.textContent)"
            )
            self.assertTrue(rows, heads)
            self.assertEqual(len(rows), min(11, len(parts) + 1))
            rows = page.evaluate(f"{TABLE}('Steps')")
            self.assertEqual(len(rows), min(8, steps))
            # A click shows that step of both.
            page.evaluate(
                "[...document.querySelectorAll('#panel td.name button')].find(each => /^2: /.test(each.textContent)).click()"
            )
            page.wait("location.hash.includes('step=2')")
            run = server.get("run")
            begins = [server.get("begin", run=i, name="", nth=1, step=2)["begin"] for i in (0, 1)]
            self.assertEqual(begins[0], begins[1])
            self.assertEqual(page.evaluate(SHIFTS), [0, 0])
            view = parameters(page.evaluate("location.href"))
            self.assertLess(int(view["from"]), begins[0])
            self.assertGreater(int(view["to"]), begins[0])
            self.assertLess(int(view["to"]) - int(view["from"]), (run["end"] - run["begin"]) / 2)
            self.assertEqual(page.wrong(), [])
            page.close()

    def test_ten_questions(self):
        """docs/view.md says in how many clicks each is answered: these are they."""
        text = (SOURCE / "docs/view.md").read_text(encoding="utf-8")
        said = [
            int(count) for count in re.findall(r"^\| [^|]*\?[^|]*\| (\d) \|", text, re.MULTILINE)
        ]
        panel = "document.getElementById('panel').textContent"
        title = "document.querySelector('#panel h2')?.textContent"
        button = "[...document.querySelectorAll('%s')].find(each => each.textContent.startsWith('%s')).click()"
        item = "seen.items.find(each => each.kind === '%s')"
        place = """(({top, track}) => {
          const box = document.getElementById('canvas').getBoundingClientRect(), {painter, view} = seen;
          const {begin, end} = %s, x = painter.x(view, (Math.max(begin, view.from) + Math.min(end, view.to)) / 2) / painter.ratio;
          return [box.x + x, box.y + top - seen.scroll + 22 + 8];
        })"""
        single = [
            ([], "document.querySelector('#verdict p').textContent.includes('%')"),
            ([button % (".advice button", "")], f"{panel}.includes('saves')"),
            ([button % ("#tabs button", "Statistics")], "document.querySelector('#statistics td.number')"),
            ([button % ("#tabs button", "Flame")], "document.querySelector('#flame .flame button')"),
            (["document.querySelector('[aria-label=\"Steps: next\"]').click()"], f"{title}.startsWith('Step: ')"),
            (["document.querySelector('[aria-label=\"Gaps: next\"]').click()"], f"{panel}.includes('host in')"),
            ("step", f"{title} === 'Where the time of the range went' && {panel}.includes('was idle')"),
            ("kernel", f"{panel}.includes('Among all of this name') && {panel}.includes('launch')"),
            ([button % ("#tabs button", "Memory")], "[...document.querySelectorAll('#memory h2')].some(each => each.textContent === 'Allocated then')"),
        ]  # fmt: skip
        clicks = []
        profile = self.profiles["torch_step"]
        with serving(profile, "--no-browser") as server:
            run = server.get("run")
            page = self.watched(server.address, 1600, 900)
            page.wait("document.querySelectorAll('.advice button').length")
            for steps, answered in single:
                if isinstance(steps, list):
                    clicks.append(len(steps))
                    for step in steps:
                        page.evaluate(step)
                else:
                    kind = "range" if steps == "step" else "stream"
                    track = next(i for i, each in enumerate(run["tracks"]) if each["kind"] == kind)
                    page.evaluate("document.querySelector('[aria-label=\"Steps: next\"]').click()")
                    page.wait(f"{title}.startsWith('Step: ')")
                    page.evaluate("document.querySelector('#tabs [aria-expanded=true]')?.click();"
                                  "document.getElementById('scroll').scrollTop = 0")  # fmt: skip
                    page.wait(f"seen.scroll === 0 && seen.tilesOf({track}).length")
                    record = server.get("details", track=track, row=0, item=1)["place"]
                    page.evaluate(
                        f"location.hash = '#from={record['begin'] - 1000}&to={record['end'] + 1000}'"
                    )
                    page.wait(f"seen.view.from < {record['begin']} && seen.view.to > {record['end']}"
                              f" && seen.view.to - seen.view.from < {record['end'] - record['begin'] + 9000}")  # fmt: skip
                    # Rows have their new height, and the record its own piece.
                    page.settle()
                    page.wait(LAID_OUT)
                    page.wait(
                        f"(tile => tile.to - tile.from < 3 * (seen.view.to - seen.view.from))(seen.tilesOf({track}).at(-1))"
                    )
                    where = page.evaluate(f"{place % json.dumps(record)}({item % kind})")
                    page.click(*where)
                    page.wait("document.querySelector('#panel h3')")
                    clicks.append(1)
                    if steps == "step":
                        page.evaluate(button % ("#panel button", "Where the time of each GPU went"))
                        clicks[-1] += 1
                page.wait(answered)
            self.assertEqual(page.wrong(), [])
            page.close()
        with serving([profile, self.profiles["two_processes"]], "--no-browser") as server:
            page = self.page(server.address, 1600, 900)
            page.wait("document.querySelectorAll('#verdict .side').length === 2")
            page.evaluate("document.querySelector('#verdict button').click()")
            page.wait(f"{title} === 'What changed' && {panel}.includes('Kernels')")
            clicks.append(1)
            self.assertEqual(page.wrong(), [])
            page.close()
        self.assertEqual(clicks, said)
        self.assertLessEqual(max(said), 3)

    def test_a_report_of_what_is_shown(self):
        """The command that Share shows makes a page with the same window, note, mark and selection."""
        profile = self.profiles["torch_step"]
        with serving(profile, "--no-browser") as server:
            run = server.get("run")
            span = run["end"] - run["begin"]
            note = "it's <b>slow</b> here"
            state = {"from": run["begin"] + span // 3, "to": run["begin"] + span // 2, "text": "gemm", "theme": "dark",
                     "at": "0,0,1", "notes": json.dumps([[run["begin"] + span // 3 + 1000, note]])}  # fmt: skip
            page = self.page(f"{server.address}#{urllib.parse.urlencode(state)}")
            page.wait("document.querySelector('#panel h3')")
            page.evaluate("document.getElementById('share').click()")
            page.wait("document.querySelector('#panel .command')")
            words = shlex.split(
                page.evaluate("document.querySelector('#panel .command').textContent")
            )
            shown = page.evaluate("document.querySelector('#panel .command').textContent")
            self.assertNotIn(note, shown)
            here = parameters(page.evaluate("location.href"))
            self.assertEqual(page.wrong(), [])
            page.close()
        self.assertEqual(words[:4], ["gpuprof", "report", str(profile), "--html"])
        made = self.folder / "view.html"
        subprocess.run(
            [GPUPROF, *words[1:4], made, *words[5:], "-f", "-q"], check=True, timeout=120
        )
        self.assertNotIn(b"<b>slow", made.read_bytes())
        page = self.page(made.as_uri())
        page.wait("document.querySelector('#panel h3')")
        page.wait("['notes=', 'at='].every(word => location.hash.includes(word))")
        self.assertEqual(parameters(page.evaluate("location.href")), here)
        self.assertEqual(page.evaluate("document.documentElement.style.colorScheme"), "dark")
        self.assertEqual(page.wrong(), [])
        page.close()

    def test_a_report_of_two_runs(self):
        profiles = [self.profiles[name] for name in ("torch_step", "streams_graph")]
        diff = [GPUPROF, "diff", *(profile.name for profile in profiles)]
        ran = subprocess.run(diff, cwd=self.folder, check=True, capture_output=True)
        report = self.report(profiles[1], "--against", profiles[0])
        page = self.page(report.as_uri(), 1600, 1200)
        page.wait("document.querySelectorAll('#summary .headline').length > 1")
        self.assertIn(
            ran.stdout.decode().splitlines()[0],
            page.evaluate(
                "[...document.querySelectorAll('#summary .headline')].map(each => each.textContent)"
            ),
        )
        with serving(profiles, "--no-browser") as server:
            tracks = [len(server.get("run", run=i)["tracks"]) for i in (0, 1)]
        # The timeline has both, the other run first.
        page.wait("document.body.dataset.drawn")
        found = page.evaluate(
            "(async () => { const field = document.getElementById('text'); field.value = 'cudaLaunchKernel';"
            "document.getElementById('search').requestSubmit(); })()"
        )
        self.assertIsNone(found)
        page.wait("location.hash.includes('at=')")
        at = int(parameters(page.evaluate("location.href"))["at"].split(",")[0])
        self.assertLess(at, sum(tracks))
        self.assertEqual(page.wrong(), [])
        page.close()
        for words, why in (
            (["--against", profiles[0]], b"--against needs --html"),
            (["--html", "-", "--against", profiles[0], "--from", "1ms"], b"whole runs"),
            (["--state", "from=0"], b"--state needs --html"),
        ):
            ran = subprocess.run(
                [GPUPROF, "report", profiles[1], *words], capture_output=True, check=False
            )
            self.assertEqual(ran.returncode, 5)
            self.assertIn(why, ran.stderr)
