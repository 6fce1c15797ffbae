"""Help, the man page, versions."""
# ctest-labels: plain

import re
import shutil
import subprocess
import unittest

from command_line import NVPROF, CommandLine


class Help(CommandLine):
    def help(self, *arguments):
        ran = self.run_gpuprof(*arguments)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def test_short_help(self):
        text = self.help("--help")
        self.assertEqual(text, self.help("-h"))
        self.assertEqual(text, self.help("-i", "db.sqlite", "--help"))
        self.assertEqual(text, self.help("help"))
        self.assertLess(text.count("\n"), 110)
        for words in ("gpuprof ./vector_add", "What to collect", "--print-gpu-trace", "replay"):
            self.assertIn(words, text)
        self.assertNotIn("--flush-period", text)

    def test_lines_are_not_too_long(self):
        for line in self.help("--help", "all").splitlines():
            self.assertLessEqual(len(line), 100, line)

    def not_yet(self, text):
        _, told = text.split("\nNot yet in this version\n")
        return set(re.findall("--[a-z-]+", told.split("\n\n")[0]))

    def test_everything(self):
        text = self.help("--help", "all")
        self.assertEqual(text, self.help("help", "all"))
        not_yet = self.not_yet(text)
        self.assertGreater(len(not_yet), 1)
        for line in NVPROF.strip().splitlines():
            name = line.split()[0]
            if name not in not_yet and name != "-a":
                self.assertRegex(text, rf"(?m)^  (-\w,)?{name}\b")
        # These are in no list of options, but describe themselves when queried.
        for name in not_yet:
            self.assertNotRegex(text, rf"(?m)^  (-\w,)?{name} .*  ")
            self.assertIn("(not yet in this version: ", self.help("help", name[2:]))
        self.assertIn("Exit codes", text)

    def test_groups_and_words(self):
        group = self.help("--help", "collect")
        self.assertIn("--flush-period", group)
        self.assertNotIn("--csv", group)
        matches = self.help("--help", "print-gpu")
        self.assertIn("--print-gpu-trace", matches)
        self.assertIn("--print-gpu-summary", matches)
        self.assertNotIn("--print-api-trace", matches)
        # An exact name selects only that option, however many others begin with it.
        for exact in ("--metrics", "metrics-", "-m"):
            self.assertNotIn("--csv", self.run_gpuprof("--help=" + exact).stdout)
        self.assertEqual(self.help("help", "print-summary").count("--print"), 1)
        self.assertIn("--system-profiling", self.help("help", "profiling"))
        # Options that do nothing yet are not searched.
        self.assertEqual(self.run_gpuprof("help", "mpi").returncode, 5)
        self.assertIn("--save-capture", self.help("help", "replay"))

    def test_unknown_topic(self):
        ran = self.run_gpuprof("--help", "no-such-thing")
        self.assertEqual((ran.returncode, ran.stdout), (5, ""))
        self.assertIn("no-such-thing", ran.stderr)

    def test_version(self):
        self.assertRegex(
            self.help("--version"),
            r"^gpuprof \d+\.\d+\.\d+\ncommit (not known|[^ ]+), \w+ build, \w+ [\d.]+\n.*CUPTI.*\n$",
        )
        self.assertEqual(self.help("-V"), self.help("--version"))

    def test_man_page(self):
        page = self.help("man")
        self.assertTrue(page.startswith(".TH GPUPROF 1"))
        not_yet = self.not_yet(self.help("--help", "all"))
        for line in NVPROF.strip().splitlines():
            name = line.split()[0]
            if name != "-a":
                entry = re.escape(name.replace("-", "\\-"))
                there = re.search(rf"(?m)^(\\fB\\-\w\\fR, )?\\fB{entry}\\fR", page)
                self.assertEqual(bool(there), name not in not_yet, name)
        if shutil.which("groff"):
            ran = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww", "-z"], input=page, capture_output=True, text=True
            )
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))


if __name__ == "__main__":
    unittest.main()
