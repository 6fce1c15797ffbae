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
        self.git("init", "--quiet", "--initial-branch", "main")
        self.commit("a.cpp", "int a;  // beside it\n")

    def git(self, *words):
        who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        subprocess.run(["git", *who, *words], cwd=self.folder, check=True, capture_output=True)

    def commit(self, name, text):
        (self.folder / name).write_text(text, encoding="utf-8")
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", name)

    def found(self, *words):
        run = subprocess.run([sys.executable, SCRIPT, *words], cwd=self.folder, text=True,
                             capture_output=True, check=False)  # fmt: skip
        self.assertEqual(run.returncode, 1 if run.stdout.startswith(("a", "b")) else 0, run.stderr)
        return [line.split(": ")[0] for line in run.stdout.splitlines()]

    def test_new_lines_only(self):
        self.commit("b.md", "Fine.\n\nIn place of `beside` it stands.\n")
        self.assertEqual(self.found(), ["b.md:3"])
        self.assertEqual(self.found("--all"), ["a.cpp:1", "b.md:3"])

    def test_lines_since_a_commit(self):
        self.commit("b.md", "for ever\n")
        self.commit("b.py", 'x = "for ever"  # a text\n')
        self.assertEqual(self.found(), [])
        self.assertEqual(self.found("HEAD~2"), ["b.md:1"])

    def test_of_a_branch_all_of_it(self):
        self.git("checkout", "--quiet", "-b", "change")
        self.commit("b.md", "for ever\n")
        self.commit("b.py", "# so many; words: ok\n")
        self.assertEqual(self.found(), ["b.md:1"])


if __name__ == "__main__":
    unittest.main()
