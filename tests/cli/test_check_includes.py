# ctest-labels: plain
"""scripts/check_includes: each way of breaking the rule is found, in a small tree."""

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

SOURCE = Path(os.environ["GPUPROF_SOURCE"])

FILES = {
    "libprof/CMakeLists.txt": "gpuprof_room(base)\ngpuprof_room(read EXCEPT columns USES base)\n"
    "gpuprof_room(read/columns USES base\n             LIBRARIES gpuprof_json)\n",
    "libprof/README.md": "[base](base/README.md) [read](read/README.md)\n",
    "libprof/base/README.md": "- base includes: nothing\n",
    "libprof/read/README.md": "- read includes: base\n- read/columns includes: base\n",
    "libprof/base/text.hpp": "#pragma once\n",
    "libprof/read/file.cpp": '#include "libprof/base/text.hpp"\n',
    "libprof/read/columns/chunk.cpp": '#include "libprof/base/text.hpp"\n',
    "apps/CMakeLists.txt": "gpuprof_program(tool DIR ${here}/tool DESTINATION bin USES base)\n",
    "apps/start.cpp": '#include "libprof/base/text.hpp"\n',
    "apps/tool/main.cpp": '#include "libprof/base/text.hpp"\n',
    "apps/collector/main.cpp": '#include "libprof/collect/collector.hpp"\n',
    "libprof/collect/README.md": "- collect includes: nothing\n",
    "libprof/collect/collector.hpp": "#pragma once\n",
}


class CheckIncludes(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        for name, text in FILES.items():
            self.write(name, text)
        self.append("libprof/CMakeLists.txt", "gpuprof_room(collect)\n")
        self.append("libprof/README.md", "[collect](collect/README.md)\n")
        (self.root / "scripts").mkdir()
        shutil.copy(SOURCE / "scripts/check_includes", self.root / "scripts")

    def write(self, name, text):
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")

    def append(self, name, text):
        self.write(name, (self.root / name).read_text(encoding="utf-8") + text)

    def check(self, *options):
        run = subprocess.run(
            [sys.executable, self.root / "scripts/check_includes", *options],
            capture_output=True,
            text=True,
            timeout=60,
        )
        return run.returncode, run.stdout + run.stderr

    def finds(self, text):
        code, out = self.check()
        self.assertEqual((code, out.count("\n")), (1, 1), out)
        self.assertIn(text, out)

    def test_a_tree_that_keeps_to_the_rule(self):
        self.assertEqual(self.check(), (0, "includes: 7 files keep to the rule\n"))

    def test_a_folder_that_may_not_be_included(self):
        self.append("libprof/base/text.hpp", '#include "libprof/collect/collector.hpp"\n')
        self.finds("libprof/base/text.hpp:2: libprof/base may not include libprof/collect")

    def test_a_permission_that_no_file_uses(self):
        self.write("libprof/read/file.cpp", "\n")
        self.finds("libprof/read:1: USES libprof/base, which no file includes")

    def test_a_file_of_no_room(self):
        self.write("libprof/loose/file.cpp", "\n")
        self.finds("libprof/loose/file.cpp:1: belongs to no gpuprof_room() or gpuprof_program()")

    def test_a_missing_file_and_a_short_path(self):
        self.append("libprof/read/file.cpp", '#include "libprof/base/none.hpp"\n')
        self.finds("libprof/read/file.cpp:2: no such file: libprof/base/none.hpp")
        self.write(
            "libprof/read/file.cpp", FILES["libprof/read/file.cpp"] + '#include "here.hpp"\n'
        )
        self.write("libprof/read/here.hpp", "\n")
        self.finds('write the path from the root: "libprof/read/here.hpp"')

    def test_a_cycle(self):
        self.append("libprof/base/text.hpp", '#include "libprof/base/more.hpp"\n')
        self.write("libprof/base/more.hpp", '#include "libprof/base/text.hpp"\n')
        self.finds("include cycle: ")

    def test_a_third_party_header_in_a_wrong_place(self):
        self.append("libprof/base/text.hpp", "#include <sqlite3.h>\n")
        self.finds("libprof/base/text.hpp:2: SQLite's header (sqlite3.h) is not for libprof/base")

    def test_pages(self):
        self.write("libprof/README.md", "[base](base/README.md) [collect](collect/README.md)\n")
        self.finds("libprof/README.md:1: does not link libprof/read/README.md")
        self.write(
            "libprof/README.md", FILES["libprof/README.md"] + "[collect](collect/README.md)\n"
        )
        (self.root / "libprof/base/README.md").unlink()
        self.finds("libprof/base/README.md:1: is missing")
        self.write("libprof/base/README.md", "# base\n")
        self.finds('must have one list of lines like "- base includes: ..."')
        self.write("libprof/base/README.md", "# base\n\n- base includes: read\n")
        self.finds("libprof/base/README.md:3: run scripts/check_includes --write")
        self.assertEqual(self.check("--write")[0], 0)
        page = (self.root / "libprof/base/README.md").read_text(encoding="utf-8")
        self.assertEqual(page, "# base\n\n- base includes: nothing\n")

    def test_a_wrong_option(self):
        code, out = self.check("--wrong")
        self.assertEqual((code, out), (2, "usage: scripts/check_includes [--write]\n"))


if __name__ == "__main__":
    unittest.main()
