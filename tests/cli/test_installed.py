"""What cmake --install makes: it names no place on the machine that built it."""

import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

BUILD = os.environ.get("GPUPROF_BUILD", "")
SOURCE = os.environ.get("GPUPROF_SOURCE", "")


@unittest.skipUnless(BUILD and shutil.which("cmake"), "there is no build tree, or no cmake")
@unittest.skipIf(os.environ.get("GPUPROF_SANITIZE"), "nobody installs a build with a sanitizer")
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

    def programs(self):
        yield self.prefix / "bin" / "gpuprof"
        yield from sorted((self.prefix / "lib" / "gpuprof").glob("*gpuprof*"))

    def test_no_path_of_the_build(self):
        for program in self.programs():
            content = program.read_bytes()
            for folder in (BUILD, SOURCE):
                with self.subTest(program=program.name, folder=folder):
                    self.assertFalse(os.fsencode(os.path.join(folder, "")) in content)


if __name__ == "__main__":
    unittest.main()
