"""The result of cmake --install: it contains no path of the machine that built it."""
# ctest-labels: plain

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ.get("GPUPROF_BUILD", "")
SOURCE = os.environ.get("GPUPROF_SOURCE", "")


@unittest.skipUnless(BUILD and shutil.which("cmake"), "there is no build tree, or no cmake")
class Installed(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-installed-")
        self.addCleanup(folder.cleanup)
        self.prefix = pathlib.Path(folder.name)
        subprocess.run(["cmake", "--install", BUILD, "--prefix", self.prefix],
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip

    def test_no_debug_information(self):
        for program in self.programs():
            with self.subTest(program=program.name):
                self.assertNotIn(b".debug_info", program.read_bytes())

    def test_completions_are_where_shells_look(self):
        for shell, place in (("bash", "bash-completion/completions/gpuprof"),
                             ("zsh", "zsh/site-functions/_gpuprof"),
                             ("fish", "fish/vendor_completions.d/gpuprof.fish")):  # fmt: skip
            with self.subTest(shell=shell):
                script = subprocess.run([self.prefix / "bin" / "gpuprof", "completion", shell],
                                        capture_output=True, check=True).stdout  # fmt: skip
                self.assertEqual((self.prefix / "share" / place).read_bytes(), script)
                self.assertIn(b"complete " + shell.encode(), script)

    def test_the_program_has_its_own_library(self):
        """It does not use another library of that name, and without its own it says what is wrong."""
        other = self.prefix / "other"
        other.mkdir()
        (other / "libgpuprof.so").write_bytes(b"nothing")
        program = self.prefix / "bin" / "gpuprof"
        link = other / "link"
        link.symlink_to(program)
        for words in (program, link):
            ran = subprocess.run([words, "--version"], capture_output=True, text=True, cwd=other,
                                 env={**os.environ, "LD_LIBRARY_PATH": str(other)})  # fmt: skip
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        (other / "bin").mkdir()
        shutil.copy(program, other / "bin")
        ran = subprocess.run([other / "bin" / "gpuprof"], capture_output=True, text=True)
        self.assertEqual(ran.returncode, 4)
        self.assertRegex(ran.stderr, r"^gpuprof: .*libgpuprof\.so: .*\n  install gpuprof again\n$")

    def programs(self):
        yield self.prefix / "bin" / "gpuprof"
        yield from sorted((self.prefix / "lib" / "gpuprof").glob("*gpuprof*"))

    @unittest.skipUnless(shutil.which("readelf"), "readelf is missing")
    def test_what_it_needs(self):
        """Of other libraries it needs only glibc; the collector exports what it should. The required glibc is
        the machine's; for others see scripts/build --portable."""
        self.assertEqual(self.check("--glibc", "99"), [])
        problems = self.check("--glibc", "2.1")
        self.assertTrue(problems)
        for line in problems:
            self.assertRegex(line, "^needs glibc 2")

    @unittest.skipUnless(shutil.which("readelf"), "readelf is missing")
    def test_a_collector_that_shows_more(self):
        stand_in = pathlib.Path(BUILD, "tests/fake/libcupti.so.13")
        shutil.copy(stand_in, self.prefix / "lib/gpuprof/libgpuprof_collector.so")
        problems = self.check("--glibc", "99")
        self.assertIn("exports cuptiGetVersion", problems)
        self.assertIn("does not export InitializeInjection", problems)

    def check(self, *options):
        """The problems that scripts/check_portable finds."""
        run = subprocess.run([pathlib.Path(SOURCE, "scripts/check_portable"), self.prefix, *options],
                             capture_output=True, text=True)  # fmt: skip
        problems = [line.strip() for line in run.stdout.splitlines() if line.startswith("  ")]
        self.assertEqual((run.returncode, run.stderr), (int(bool(problems)), ""))
        return problems

    def test_no_path_of_the_build(self):
        for program in self.programs():
            content = program.read_bytes()
            for folder in (BUILD, SOURCE):
                with self.subTest(program=program.name, folder=folder):
                    self.assertFalse(os.fsencode(os.path.join(folder, "")) in content)


if __name__ == "__main__":
    unittest.main()
