"""What a newcomer finds in the sources."""
# ctest-labels: plain

import re
import subprocess
import unittest

from command_line import SOURCE
from fake_run import GPUPROF


class Sources(unittest.TestCase):
    """A command is a file and a line, an option a row."""

    def text(self, pattern):
        return {file: file.read_text() for file in (SOURCE / "apps/gpuprof").glob(pattern)}

    def test_commands_are_in_the_list_and_nowhere_else(self):
        listed = re.findall(
            r"(?m)^  [XY]\((\w+)\)", (SOURCE / "apps/gpuprof/command/list.cpp").read_text()
        )
        files = self.text("**/*.cpp")
        defined = [name for text in files.values()
                   for name in re.findall(r"(?m)^extern const Subcommand (\w+)\{", text)]  # fmt: skip
        self.assertCountEqual(listed, defined)
        for name in listed:
            self.assertEqual(
                sum(bool(re.search(rf"\b{name}\b", text)) for text in files.values()), 2, name
            )

    def test_an_option_is_in_one_file(self):
        rows = [name for text in self.text("option/*_options.cpp").values()
                for name in re.findall(r'\{\.name = "([\w-]+)"', text)]  # fmt: skip
        self.assertEqual(len(rows), len(set(rows)))
        self.assertGreater(len(rows), 60)

    def test_a_report_is_in_one_file(self):
        files = {path: re.sub("//.*", "", path.read_text()) for folder in ("apps", "libprof")
                 for path in (SOURCE / folder).glob("**/*.?pp")}  # fmt: skip
        folder = SOURCE / "libprof/report/reports"
        options = []
        for file in folder.glob("*.cpp"):
            self.assertEqual(
                re.findall(r"(?m)^extern const Report (\w+)\{", files[file]), [file.stem]
            )
            options += [(file, name) for name in re.findall(r'\.option = "([\w-]+)"', files[file])]
        self.assertGreater(len(options), 10)
        pages = [subprocess.run([GPUPROF, *words], capture_output=True, text=True, timeout=60).stdout
                 for words in (["help", "all"], ["man"])]  # fmt: skip
        docs = (SOURCE / "docs/nvprof.md").read_text()
        for file, name in options:
            self.assertEqual([f for f, text in files.items() if f'"{name}"' in text], [file], name)
            # With its letter, in the help, the man page and the generated list of the docs.
            letter = re.search(r"\.letter = '(\w)'", files[file])
            names = f"-{letter[1]}, --{name}" if letter else f"--{name}"
            self.assertRegex(docs, rf"(?m)^\| `{names}` \|")
            for page in pages:
                self.assertRegex(page.replace("\\-", "-"), rf"--{name}(?![\w-])")

    def test_files_fit_into_a_head(self):
        for file, text in self.text("**/*.?pp").items():
            self.assertLessEqual(text.count("\n"), 510, file)


if __name__ == "__main__":
    unittest.main()
