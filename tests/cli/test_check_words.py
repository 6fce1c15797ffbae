# ctest-labels: plain
"""scripts/check_words: what it finds, in which lines, and its exit code."""

import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
SCRIPT = SOURCE / "scripts/check_words"


class CheckWords(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        subprocess.run(["git", "init", "--quiet"], cwd=self.folder, check=True)

    def found(self, **files):
        for name, text in files.items():
            file = self.folder / name.replace("__", "/").replace("_", ".")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        run = subprocess.run([sys.executable, SCRIPT], cwd=self.folder, text=True,
                             capture_output=True, check=False)  # fmt: skip
        self.assertEqual((run.returncode, run.stderr), (1 if run.stdout else 0, ""))
        return [line.split(": ")[0] for line in run.stdout.splitlines()]

    def test_prose(self):
        self.assertEqual(self.found(a_md="Fine.\n\nIn place of `beside` it stands.\n"), ["a.md:3"])
        self.assertEqual(
            self.found(a_md="", b_py="# so many; words: ok\n", c_sql="-- for ever\n"), ["c.sql:1"]
        )

    def test_texts_of_what_is_shipped(self):
        code = 'f("beside");\nf("a", "two beside \\"b\\"");  // fine\n'
        self.assertEqual(self.found(tests__a_cpp=code), [])
        self.assertEqual(self.found(apps__a_cpp=code), ["apps/a.cpp:2"])

    def test_what_is_kept(self):
        kept = {name: "beside\n" for name in ("CHANGELOG_md", "tests__golden__a_md")}
        self.assertEqual(self.found(**kept), [])
        self.assertEqual(self.found(tests__golden__a_py="# beside\n"), ["tests/golden/a.py:1"])


if __name__ == "__main__":
    unittest.main()
