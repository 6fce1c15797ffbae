"""The viewer and the report of a real training, and the pictures of the documentation."""

import json
import pathlib
import struct
import subprocess
import sys
import time

from test_view import GPUPROF, SOURCE, serving
from view_pages import CAPTURES

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from packed import replay_packed  # noqa: E402

TRAINING = "gpt2", "gpt2_tf32"
PICTURES = {f"view-{name}": (1400, 640) for name in (*CAPTURES, "gpt2", "gpt2-tf32")}
PICTURES["report-gpt2"] = 1400, 900


class Training:
    """Tests of a class that is a view_pages.Pages."""

    write = False  # take the pictures again

    def training(self):
        """Profiles of the packed captures of GPT-2."""
        for name in TRAINING:
            self.profiles[name] = self.folder / f"{name}.sqlite"
            replay_packed(GPUPROF, "training/gpt2", name, self.profiles[name])

    def run_gpuprof(self, *words):
        ran = subprocess.run([GPUPROF, *words], check=True, timeout=60, capture_output=True)
        return ran.stdout

    def test_findings_lead_to_their_place(self):
        """On top is what the findings refer to: the steps, if there are enough of them."""
        self.training()
        for name in ("torch_step", "gpt2"):
            profile = self.profiles[name]
            found = json.loads(self.run_gpuprof("findings", profile, "--json"))
            expected = [each for each in found["findings"] if each["share"] >= 0.01][:3]
            with self.subTest(name), serving(profile, "--no-browser") as server:
                page = self.watched(server.address)
                page.wait(f"document.querySelectorAll('.advice button').length === {len(expected)}")
                titles = page.evaluate(
                    "[...document.querySelectorAll('.advice .cut')].map(each => each.textContent)"
                )
                self.assertEqual(titles, [each["title"] for each in expected])
                page.evaluate("document.querySelector('.advice button').click()")
                page.wait(
                    f"document.querySelector('#panel h2')?.textContent === {json.dumps(titles[0])}"
                )
                if name == "gpt2":
                    text = page.evaluate("document.querySelector('#verdict p').textContent")
                    printed = " ".join(self.run_gpuprof("findings", profile).decode().split())
                    self.assertTrue(printed.startswith(text.removesuffix(".") + ";"), text)
                    self.assertIn("4 steps are judged, without the first.", text)
                    page.evaluate("document.querySelector('#verdict button').click()")
                    page.wait("document.querySelector('#panel h2')?.textContent === 'Where the time of the steps went'")  # fmt: skip
                self.assertEqual(page.wrong(), [])
                page.close()

    def take_pictures(self):
        """Pictures in docs/, and the page that is an example."""
        self.training()
        example = SOURCE / "docs/examples/gpt2-on-an-h100.html"
        self.run_gpuprof("report", self.profiles["gpt2"], "-f", "--umask", "022", "--html", example)
        self.take("report-gpt2", example.as_uri())
        shown = {name: [name] for name in (*CAPTURES, "gpt2")} | {"gpt2-tf32": TRAINING}
        for name, profiles in shown.items():
            with serving([self.profiles[each] for each in profiles], "--no-browser") as server:
                self.take(f"view-{name}", server.address)

    def take(self, name, address):
        page = self.page(address, *PICTURES[name])
        page.wait(
            "document.body.dataset.drawn && document.querySelector('#panel h2, #panel table')"
        )
        page.settle()
        time.sleep(0.5)  # for what appears with the next frame
        (SOURCE / "docs" / f"{name}.png").write_bytes(page.screenshot())
        page.close()

    def test_pictures_of_the_documentation(self):
        """--write takes them again; otherwise they must exist with that size."""
        if self.write:
            self.take_pictures()
        for name, size in PICTURES.items():
            content = (SOURCE / "docs" / f"{name}.png").read_bytes()
            self.assertEqual(content[:8], b"\x89PNG\r\n\x1a\n")
            self.assertEqual(struct.unpack(">II", content[16:24]), size)
            self.assertLess(len(content), 220_000)
