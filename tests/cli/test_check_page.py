# ctest-labels: plain
"""scripts/check_page: what it finds in the modules of the viewer's page."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
SCRIPT = SOURCE / "scripts/check_page"
MISTAKES = {
    "app.js": "state.veiw;",  # no such part of the state
    "input.js": "showAround(0, 1);",  # not imported
    "state.js": "state.tiles.get(0).form;",  # no such member of a tile
    "walk.js": "lowerBound([1]);",  # an argument too few
    "run.js": "import {nothing} from './tiles.js';",
    "jump.js": "state.view = {from: 'x', to: 1};",
}


class CheckPage(unittest.TestCase):
    def check(self, *words, **more):
        return subprocess.run([SCRIPT, *words], text=True, capture_output=True, timeout=300, check=False, **more)  # fmt: skip

    def test_mistakes_are_found(self):
        """And nothing in the other modules. scripts/format --check asks that nothing is found in all of them as they are."""
        with tempfile.TemporaryDirectory() as folder:
            client = shutil.copytree(
                SOURCE / "libprof/view/client", pathlib.Path(folder) / "client"
            )
            for name, line in MISTAKES.items():
                file = client / name
                imports = "import {state} from './state.js';\n" if name == "jump.js" else ""
                file.write_text(f"{file.read_text()}{imports}{line}\n")
            run = self.check(client)
        self.assertEqual(run.returncode, 1, run.stderr)
        found = [pathlib.Path(line.split("(")[0]).name for line in run.stdout.splitlines()]
        self.assertEqual(sorted(found), sorted(MISTAKES), run.stdout)

    def test_without_the_checker_it_fails(self):
        with tempfile.TemporaryDirectory() as empty:
            (pathlib.Path(empty) / "dirname").symlink_to(shutil.which("dirname"))
            (pathlib.Path(empty) / "bash").symlink_to(shutil.which("bash"))
            run = self.check(env={"PATH": empty})
        self.assertEqual((run.returncode, run.stdout), (1, ""))
        self.assertIn("tsc is missing", run.stderr)


if __name__ == "__main__":
    unittest.main()
