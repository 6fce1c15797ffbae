"""Standard output that cannot be written: a closed pipe, and a full device."""
# ctest-labels: plain

import os
import pathlib
import subprocess
import tempfile
import unittest

import commands

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
PATIENCE = 120


class StandardOutput(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.temporary = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.temporary.cleanup)
        cls.folder = pathlib.Path(cls.temporary.name)
        cls.capture = SOURCE / "tests/captures/torch_step.gpcap"
        cls.profile = cls.folder / "run.sqlite"
        subprocess.run([GPUPROF, "replay", cls.capture, "-q", "-o", cls.profile], check=True)

    def run_gpuprof(self, words, stdout):
        with tempfile.TemporaryFile("w+") as errors:
            process = subprocess.run([GPUPROF, *map(str, words)], stdout=stdout, stderr=errors,
                                     stdin=subprocess.DEVNULL, cwd=self.folder, check=False,
                                     timeout=PATIENCE)  # fmt: skip
            errors.seek(0)
            return process.returncode, errors.read()

    def calls(self):
        return commands.that_print(self.profile, self.capture)

    def test_a_reader_who_has_gone(self):
        for words in self.calls():
            with self.subTest(words=words):
                reading, writing = os.pipe()
                os.close(reading)
                try:
                    self.assertEqual(self.run_gpuprof(words, writing), (141, ""))
                finally:
                    os.close(writing)

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_a_full_device(self):
        for words in self.calls():
            with self.subTest(words=words), open("/dev/full", "w") as full:
                code, errors = self.run_gpuprof(words, full)
                self.assertEqual(code, 21, errors)
                self.assertRegex(
                    errors, r"\Agpuprof: .* cannot be written: No space left on device\n\Z"
                )

    def test_a_reader_who_has_seen_enough(self):
        """The output is larger than a pipe's buffer."""
        for words in (["-i", self.profile, "--print-api-trace", "--json"],
                      ["query", self.profile, "api_calls", "--json"],
                      ["memory", self.profile, "--json"], ["--help", "all"]):  # fmt: skip
            with self.subTest(words=words):
                process = subprocess.Popen([GPUPROF, *map(str, words)], stdout=subprocess.PIPE,
                                           stderr=subprocess.PIPE)  # fmt: skip
                self.assertTrue(process.stdout.read(1))
                process.stdout.close()
                errors = process.stderr.read()
                process.stderr.close()
                self.assertIn((process.wait(PATIENCE), errors), ((141, b""), (0, b"")))


if __name__ == "__main__":
    unittest.main()
