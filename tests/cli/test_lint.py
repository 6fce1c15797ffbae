# ctest-labels: plain
"""scripts/lint: which files it gives to clang-tidy, and its exit code. clang-tidy and cmake are stand-ins."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])

# Prints what it is given, and objects to files that contain BAD.
TIDY = """#!/bin/sh
if [ "$1" = --version ]; then echo "LLVM version ${TIDY_VERSION:-16.0.6}"; exit; fi
for file; do :; done
echo "given $file"
! grep -q BAD "$file"
"""


# Lists a compiler for one file; it refuses what has REFUSED.
CMAKE = """#!/bin/sh
mkdir -p build-lint
echo '[{{"file": "'$PWD/libprof/base/b.cpp'", "command": "{folder}/compiler b.cpp"}}]' >build-lint/compile_commands.json
"""
COMPILER = """#!/bin/sh
if grep -q REFUSED libprof/base/b.cpp; then echo "refused: $*"; exit 1; fi >&2
"""


class Lint(unittest.TestCase):
    def setUp(self):
        temporary = tempfile.TemporaryDirectory()
        self.addCleanup(temporary.cleanup)
        self.folder = pathlib.Path(temporary.name)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        for name in ("git", "python3", "sh", "grep", "mkdir"):
            (self.bin / name).symlink_to(shutil.which(name))
        self.program("cmake", CMAKE.format(folder=self.bin))
        self.program("compiler", COMPILER)
        self.program("clang-tidy-16", TIDY)
        self.tree = self.folder / "tree"
        (self.tree / "scripts").mkdir(parents=True)
        for name in ("lint",):
            shutil.copy(SOURCE / "scripts" / name, self.tree / "scripts")
        self.git("init", "--quiet", "--initial-branch", "main")
        for room in ("base", "read"):
            self.write(f"libprof/{room}/a.cpp", '#include "libprof/base/a.hpp"\n')
        self.write("libprof/base/a.hpp", "#pragma once\n")
        self.write("libprof/base/b.cpp", "int b;\n")
        self.commit()
        self.write("README.md", "Nothing.\n")
        self.commit()

    def program(self, name, text):
        (self.bin / name).write_text(text, encoding="utf-8")
        (self.bin / name).chmod(0o755)

    def git(self, *words):
        who = ("-c", "user.name=a", "-c", "user.email=a@localhost")
        subprocess.run(["git", *who, *words], cwd=self.tree, check=True, capture_output=True)

    def commit(self):
        self.git("add", ".")
        self.git("commit", "--quiet", "--message", "change")

    def write(self, name, text):
        file = self.tree / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")

    def lint(self, *words, code=0, **environment):
        run = subprocess.run([sys.executable, "-B", self.tree / "scripts/lint", *words], text=True,
                             capture_output=True, env={"PATH": str(self.bin), **environment})  # fmt: skip
        self.assertEqual(run.returncode, code, run.stdout + run.stderr)
        self.said = run.stdout + run.stderr
        return [line[6:] for line in run.stdout.splitlines() if line.startswith("given ")]

    def test_files_of_the_change_only(self):
        self.assertEqual(self.lint(), [])
        self.write("libprof/base/b.cpp", "int c;\n")
        self.write("apps/new.cpp", "int d;\n")
        self.write("tests/unit/test_a.cpp", "int e;\n")
        self.assertEqual(self.lint(), ["libprof/base/b.cpp", "apps/new.cpp"])
        self.commit()
        self.assertEqual(sorted(self.lint()), ["apps/new.cpp", "libprof/base/b.cpp"])
        self.assertEqual(len(self.lint("--all")), 4)
        self.assertEqual(self.lint("apps/new.cpp"), ["apps/new.cpp"])

    def test_of_a_branch_all_of_it(self):
        self.git("checkout", "--quiet", "-b", "change")
        for name in ("c", "d"):
            self.write(f"apps/{name}.cpp", "int x;\n")
            self.commit()
        self.assertEqual(self.lint(), ["apps/c.cpp", "apps/d.cpp"])

    def test_a_header_by_what_includes_it(self):
        self.write("libprof/base/a.hpp", "#pragma once\nint a;\n")
        self.assertEqual(self.lint(), ["libprof/base/a.cpp"])
        self.git("rm", "--quiet", "libprof/base/a.cpp")
        self.assertEqual(self.lint(), ["libprof/read/a.cpp"])

    def test_a_header_through_other_headers(self):
        self.write("libprof/base/a.hpp", '#include "schema/x.hpp"\n')
        self.write("schema/x.hpp", "#pragma once\n")
        self.commit()
        self.write("schema/x.hpp", "#pragma once\nint x;\n")
        self.git("commit", "--quiet", "--all", "--message", "x")
        self.assertEqual(self.lint(), ["libprof/base/a.cpp"])

    def test_a_finding_fails(self):
        self.write("libprof/base/b.cpp", "int BAD;\n")
        self.lint(code=1)
        self.assertIn("1 files, 1 of them with findings", self.said)

    def test_what_the_systems_compiler_refuses_fails(self):
        self.write("libprof/base/b.cpp", "int REFUSED;\n")
        self.lint(code=1)
        self.assertIn("refused: b.cpp -fsyntax-only\n", self.said)

    def test_without_clang_tidy_it_fails(self):
        self.lint(code=1, TIDY_VERSION="14.0.6")
        (self.bin / "clang-tidy-16").unlink()
        self.lint(code=1)
        self.assertIn("scripts/setup --tests", self.said)

    def test_a_file_that_only_moved_is_not_linted(self):
        self.git("mv", "libprof/base/b.cpp", "libprof/read/b.cpp")
        self.commit()
        self.assertEqual(self.lint(), [])
        self.git("mv", "libprof/read/a.cpp", "libprof/base/moved.cpp")
        self.write("libprof/base/moved.cpp", '#include "libprof/base/a.hpp"\nint more;\n')
        self.commit()
        self.assertEqual(self.lint(), ["libprof/base/moved.cpp"])

    def test_of_many_files_those_that_changed_most(self):
        for number in range(30):
            self.write(f"apps/{number:02}.cpp", "int x;\n" * number)
        self.commit()
        self.assertEqual(self.lint(), [f"apps/{number:02}.cpp" for number in range(29, 24, -1)])
        for number in range(14):
            self.assertIn(f" apps/{number:02}.cpp", self.said.splitlines()[-1])


if __name__ == "__main__":
    unittest.main()
