"""The viewer of a run that is being recorded, or of which it has read a part."""

import json
import math
import time
import urllib.parse

import browser
from growing import Growing
from test_view import serving, touched
from view_pages import OPENED, SHOW, WATCH, WHOLE

# As of a large run: at first it has only some of its tracks, and until release() no further ones.
IN_TWO_STEPS = """(() => {
  const ask = window.fetch, released = new Promise(done => { window.release = done; });
  let isPart = true;
  window.fetch = async (address, ...rest) => {
    const url = new URL(address, location.href), question = url.pathname.split('/').at(-1);
    url.searchParams.delete('version');
    if (question === 'reading') return Response.json(isPart ? {reading: 'reading calls'} : {});
    if (question === 'growth') {
      await released;
      isPart = false;
      return Response.json({version: 2, grows: false});
    }
    const answer = await ask(url, ...rest);
    if (question !== 'run' || !isPart) return answer;
    const run = await answer.json();
    return Response.json({...run, part: true, tracks: run.tracks.slice(0, %d)});
  };
})()"""


class GrowingPages:
    """Tests of a class that is a view_pages.Pages."""

    def test_a_recording_is_followed(self):
        """The drawing grows, from nothing on; a view of a part keeps that part."""
        growing = Growing(self.profiles["two_processes"], self.folder / "live.db")
        growing.hold_kernels()
        growing.writer.execute("DELETE FROM CUPTI_ACTIVITY_KIND_RUNTIME")
        growing.writer.execute("DELETE FROM CUPTI_ACTIVITY_KIND_DRIVER")
        half = len(growing.rows) // 2
        with serving(growing.path, "--live", "--no-browser") as server:
            page = self.watched(server.address)
            streams = (
                "new Set(seen.items.filter(item => item.track >= 0).map(item => item.track)).size"
            )
            seen, records = [], server.get("run")["stored"]
            for first, last, stream in (
                (0, half, None),
                (half, half + 1, 3),
                (half + 1, None, None),
            ):
                growing.add(first, last, stream)
                records += len(growing.rows[first:last])
                page.wait(
                    f"document.getElementById('status').textContent.startsWith('{records} records')"
                )
                page.wait(WHOLE % server.get("run"))
                page.wait("rowsShown().rows.some(row => row.text.trim())")
                seen.append(page.evaluate(streams))
            self.assertEqual(seen[1], seen[0] + 1)
            run = server.get("run")
            page.evaluate(SHOW % json.dumps({"from": run["begin"], "to": run["begin"] + 5000}))
            growing.end()
            page.wait(
                "!document.getElementById('status').textContent.includes('still being written')"
            )
            self.assertEqual(
                page.evaluate("[seen.view.from, seen.view.to]"), [run["begin"], run["begin"] + 5000]
            )
            wrong = [each for each in page.wrong() if "409" not in str(each)]
            self.assertEqual(wrong, [])
            page.close()

    def test_a_large_run_is_shown_in_two_steps(self):
        """The GPU work first, which is said; then all, in the same window, or in what the user chose meanwhile."""
        with serving(self.profiles["vector_add"], "--no-browser") as server:
            run = server.get("run")
            work = [track["kind"] for track in run["tracks"]].index("api")
            middle = (run["begin"] + run["end"]) // 2
            asked = {"from": middle, "to": run["end"]}
            lines = (
                "[...new Set(seen.items.filter(item => item.track >= 0).map(item => item.track))]"
            )
            for moves in (False, True):
                page = browser.Page(self.browser)
                page.call("Page.addScriptToEvaluateOnNewDocument", source=IN_TWO_STEPS % work)
                address = f"{server.address}#{urllib.parse.urlencode(asked)}"
                page.go(address)
                page.evaluate(OPENED + ".then(() => null)")
                page.evaluate(WATCH)
                page.wait("window.seen")
                self.assertEqual(page.evaluate(lines), list(range(work)))
                self.assertTrue(page.evaluate("rowsShown().rows.some(row => row.text.trim())"))
                status = "document.getElementById('status').textContent"
                self.assertIn("only GPU work so far", page.evaluate(status))
                page.wait("document.getElementById('panel').textContent.includes('reading calls')")
                if moves:
                    asked = {"from": run["begin"], "to": middle}
                    page.evaluate(
                        "import('./timeline.js').then(({show}) => show(%(from)d, %(to)d))" % asked
                    )
                time.sleep(0.3)  # an address would be written
                self.assertEqual(page.evaluate("location.href"), address)
                page.evaluate("release()")
                page.wait(f"!{status}.includes('only GPU work')")
                page.wait("rowsShown(false).rows.every(row => row.tile)")
                page.wait(f"{lines}.length === {len(run['tracks'])}")
                page.wait("!document.getElementById('panel').textContent.includes('reading calls')")
                view = page.evaluate("[seen.view.from, seen.view.to]")
                self.assertEqual(view, [asked["from"], asked["to"]])
                self.assertEqual(page.wrong(), [])
                page.end()  # it has a script

    def test_no_row_is_blank_while_one_moves(self):
        with serving(self.profiles["torch_step"], "--no-browser") as server:
            page = self.watched(server.address)
            page.wait("rowsShown(false).rows.every(row => row.tile)")
            _, records = self.records("torch_step", server)
            page.evaluate(
                "window.pictures = []; window.eachPicture = () => {"
                " const now = rowsShown(); now.rows = now.rows.filter(row => !row.text.trim());"
                " pictures.push(now); }"
            )
            for key in "wwwwwddddaaaassssswdwdwdsss":
                page.key(key)
                page.evaluate("new Promise(requestAnimationFrame).then(() => null)")
            page.wait("pictures.length > 10")
            for shown in page.evaluate("pictures"):
                blank = {row["track"] for row in shown["rows"]} - set(shown["cut"])
                for track in blank & set(records):
                    start, end = math.ceil(shown["from"]), math.floor(shown["to"])
                    # A picture made from older tiles may be a pixel off.
                    inner = touched(records[track], start, end, shown["pixels"])
                    inner -= {0, 1, shown["pixels"] - 2, shown["pixels"] - 1}
                    drawn = [row for row in shown["rows"] if row["track"] == track]
                    several = len(drawn) > 1  # they have separate rows, which may be empty there
                    self.assertTrue(several or not inner, (track, start, end, sorted(inner)[:5]))
            self.assertEqual(page.wrong(), [])
            page.close()
