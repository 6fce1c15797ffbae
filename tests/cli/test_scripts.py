# ctest-labels: plain
"""Each option of each script is used by a test or another script, or is an exception with a reason.

Options come from --help where argparse writes it, and from the script's own parsing otherwise."""

import ast
import os
import pathlib
import re
import subprocess
import unittest

SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
SCRIPTS = SOURCE / "scripts"
NAMES = sorted(path.name for path in SCRIPTS.iterdir() if path.is_file() and not path.suffix)

NEEDS_GPU = "needs a GPU"
BY_HAND = "for runs by hand, longer than a test may be"
EXCEPTIONS = {
    ("bench_metrics", "--part"): NEEDS_GPU,
    ("bench_metrics", "--python"): NEEDS_GPU,
    ("bench_view", "--browser"): "takes a minute in Chromium",
    ("check_portable", "--build"): "needs root and the root folder of another system",
    ("check_portable", "--in"): "needs root and the root folder of another system",
    ("faults", "--write"): "writes docs/reliability.md",
    ("fuzz", "--folder"): BY_HAND,
    ("fuzz", "--jobs"): BY_HAND,
    ("fuzz", "--keep"): "writes tests/fuzz/learned",
    ("fuzz", "--report"): "sums up runs by hand",
    ("fuzz", "--seconds"): BY_HAND,
    ("fuzz", "--write"): "writes docs/reliability.md",
    ("gpu_check", "--jobs"): NEEDS_GPU,
    ("gpu_check", "--json"): NEEDS_GPU,
    ("gpu_check", "--only"): NEEDS_GPU,
    ("gpu_check", "--python"): NEEDS_GPU,
    ("record_captures", "--cupti"): NEEDS_GPU,
    ("record_captures", "--directives"): NEEDS_GPU,
    ("record_captures", "--examples"): NEEDS_GPU,
    ("record_captures", "--only"): NEEDS_GPU,
    ("record_captures", "--prefix"): NEEDS_GPU,
    ("record_captures", "--python"): NEEDS_GPU,
    ("test", "--gpu"): NEEDS_GPU,
    ("test", "--quick"): "the whole of the plain tests, which a test cannot run",
    ("twins", "--jobs"): NEEDS_GPU,
}
OPTION = re.compile(r"(?<![\w-])--[a-z][\w-]*")
# Of all benchmarks; tests/cli/test_benchmarks.py gives them to each.
SHARED = {"--build", "--rounds", "--json"}
LABEL = re.compile(r"^ *(?:-h \| )?(--[\w-]+(?: \| --[\w-]+)*)\)", re.M)  # of a shell's case


def help_of(name):
    run = subprocess.run(
        [SCRIPTS / name, "--help"], capture_output=True, text=True, timeout=60, check=False
    )
    return run.stdout + run.stderr


def options_of(name, text):
    """`text`: what --help prints. Without argparse its usage lines count, and the labels of a shell script."""
    if "\noptions:\n" in text:
        found = re.findall(r"(?m)^  (?:-\w, )?(--[\w-]+)", text[text.index("\noptions:\n") :])
    else:
        usage = re.findall(rf"(?m)^ +(?:scripts/{name}\b|\[--).*", text)
        found = OPTION.findall(" ".join(re.sub(r"(?<=\S)   .*", "", line) for line in usage))
        script = (SCRIPTS / name).read_text(encoding="utf-8")
        if "bash" in script.splitlines()[0]:
            found += OPTION.findall(" ".join(LABEL.findall(script)))
    return set(found) - {"--help"} - (SHARED if name.startswith("bench_") else set())


def uses_in_python(text):
    """Pairs of a script and an option. A file that names one script uses its options anywhere; one that
    names several uses them where a function names the script."""
    tree = ast.parse(text)
    named = named_in(text)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)]
    lines = text.splitlines()
    for node in [tree] if len(named) == 1 else functions:
        strings = [each.value for each in ast.walk(node) if isinstance(each, ast.Constant)]
        options = OPTION.findall(" ".join(each for each in strings if isinstance(each, str)))
        own = text if node is tree else "\n".join(lines[node.lineno - 1 : node.end_lineno])
        names_here = named_in(own)
        yield from ((name, option) for name in names_here for option in options)


def named_in(text):
    pattern = r'scripts/(\w+)"|(?:scripts"|SCRIPTS) / "(\w+)"|bench\(\s*"(\w+)"'
    return {name for found in re.findall(pattern, text) for name in found if name in NAMES}


def uses_in_lines(text):
    """Pairs in the commands of a shell script, a workflow, a CMake file: one logical line each."""
    for line in re.sub(r"\\\n", " ", text).splitlines():
        if line.lstrip().startswith("#"):
            continue
        for name, rest in re.findall(r"scripts/(\w+)((?: +[^&|;#]*)?)", line):
            yield from ((name, option) for option in OPTION.findall(rest))


class Scripts(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.help = {name: help_of(name) for name in NAMES}
        cls.options = {name: options_of(name, text) for name, text in cls.help.items()}

    def test_each_option_is_used(self):
        used = set()
        listed = [
            SCRIPTS.iterdir(),
            SOURCE.glob(".github/workflows/*"),
            SOURCE.glob("tests/**/CMakeLists.txt"),
        ]
        for file in [*SOURCE.glob("tests/**/*.py"), *(each for files in listed for each in files)]:
            if not file.is_file() or file.name == "test_scripts.py":
                continue
            text = file.read_text(encoding="utf-8")
            is_python = file.suffix == ".py" or text.startswith("#!/usr/bin/env python3")
            for name, option in uses_in_python(text) if is_python else uses_in_lines(text):
                if name != file.name:
                    used.add((name, option))
        used.add(("gpu_check", "--list"))  # by the test below
        every = {(name, option) for name, options in self.options.items() for option in options}
        self.assertEqual(every - used - set(EXCEPTIONS), set(), "options that nothing uses")
        self.assertEqual(set(EXCEPTIONS) - every, set(), "exceptions without an option")
        self.assertEqual(set(EXCEPTIONS) & used, set(), "exceptions that are used")

    def test_options_are_found(self):
        """In each way that scripts parse them."""
        self.assertEqual(self.options["gate"], set())
        self.assertEqual(self.options["package"], {"--arch", "--build", "--output"})
        self.assertEqual(self.options["check_includes"], {"--write"})
        self.assertEqual(self.options["lint"], {"--all"})
        self.assertEqual(self.options["check_includes"], {"--write"})
        self.assertEqual(self.options["wheel"], {"--arch", "--tree", "--output"})
        self.assertGreaterEqual(self.options["fuzz"], {"--gate", "--report"})

    def test_each_describes_itself(self):
        page = (SCRIPTS / "README.md").read_text(encoding="utf-8")
        for name, text in self.help.items():
            with self.subTest(script=name):
                self.assertGreater(len(text), 60)
                for option in self.options[name]:
                    self.assertIn(option, text)
                self.assertRegex(page, rf"\b{name}\b")

    def test_checks_are_listed(self):
        run = subprocess.run(
            [SCRIPTS / "gpu_check", "--list"], capture_output=True, text=True, timeout=60
        )
        self.assertEqual(run.returncode, 0, run.stderr)
        self.assertGreater(len(run.stdout.splitlines()), 50)


if __name__ == "__main__":
    unittest.main()
