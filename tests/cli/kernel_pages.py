"""Tests of kernels' pages and flame graphs in a browser, for test_view_browser.py."""

from test_view import serving

PANEL = "document.getElementById('panel').textContent"


class Kernels:
    def test_page_of_a_launch(self):
        """The card of a launch has the page of its shape; in a small run without a click."""
        profile = self.profiles["graph_lines"]
        with serving(profile, "--no-browser") as server:
            tracks = server.get("run")["tracks"]
            track = next(i for i, each in enumerate(tracks) if each["kind"] == "stream")
            page = self.page(f"{server.address}#at={track},0,1")
            page.wait("document.querySelector('#panel .facts dd')")
            shown = page.evaluate(PANEL)
            for word in ("Waves", "Occupancy", "line of Python", "small.py:", "Not known: "):
                self.assertIn(word, shown)
            page.evaluate("document.getElementById('tab-flame').click()")
            page.wait("document.querySelectorAll('#flame .flame button').length > 3")
            names = page.evaluate(
                "[...document.querySelectorAll('#flame .flame button')].map(each => each.textContent)"
            )
            self.assertEqual(names[0], "all kernels")
            self.assertTrue(any(name.startswith("small.py:") for name in names), names)
            self.assertEqual(page.wrong(), [])
            page.close()
        page = self.page(self.report(profile).as_uri(), 1400, 900)
        page.wait("document.querySelector('#summary .kernel .facts dd')")
        part = "document.querySelector('#summary [aria-label=\"Flame graph\"]')"
        count = page.evaluate(f"{part}.querySelectorAll('.flame button').length")
        self.assertGreater(count, 3)
        page.evaluate(
            f"[...{part}.querySelectorAll('.flame button')].find(each => each.textContent.startsWith('small.py:')).click()"
        )
        page.wait(f"{part}.querySelector('.tools').textContent.includes(' of all')")
        self.assertEqual(page.wrong(), [])
        page.close()
