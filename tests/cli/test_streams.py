"""-o - and similar: anything that can be a stream goes to standard output, and no file is called "-"."""
# ctest-labels: plain

import os
import pty
import subprocess
import unittest

from profile_tools import GPUPROF, SOURCE, Tools

FORMATS = ("chrome", "chrome-gz", "perfetto", "speedscope", "folded", "pprof", "csv", "arrow", "hta",
           "nsys")  # fmt: skip


class Streams(Tools):
    def bytes(self, *words, code=0):
        ran = subprocess.run([GPUPROF, *map(str, words)], cwd=self.folder, capture_output=True,
                             timeout=120)  # fmt: skip
        self.assertEqual(ran.returncode, code, ran.stderr)
        self.assertFalse((self.folder / "-").exists())
        return ran

    def test_export_to_standard_output(self):
        path = self.capture("torch_step")
        for form in FORMATS:
            with self.subTest(form):
                file = self.folder / "file"
                self.bytes("export", path, "--format", form, "-f", "-o", file)
                ran = self.bytes("export", path, "--format", form, "-o", "-")
                if form not in ("nsys", "chrome-gz"):  # these say when or under which name
                    self.assertEqual(ran.stdout.replace(b'"-"', b'"file"'), file.read_bytes())
                self.assertGreater(len(ran.stdout), 100)
                self.assertRegex(ran.stderr, rb"gpuprof: standard output: \d+ activities of ")
                file.unlink()
        ran = self.bytes("export", path, "-o", "-", code=5)
        self.assertIn(b"-o - does not say which format is wanted", ran.stderr)

    def test_report_to_standard_output(self):
        path = self.capture("vector_add")
        page = self.bytes("report", path, "--html", "-")
        self.assertEqual((page.stdout[:15], page.stderr), (b"<!doctype html>", b""))
        text = self.bytes("report", path, "--markdown", "-")
        self.assertIn(b"vector_add", text.stdout)
        both = self.bytes("report", path, "--html", "-", "--markdown", "-", code=5)
        self.assertIn(b"cannot both go to standard output", both.stderr)

    def test_a_reader_that_has_gone_and_a_full_device(self):
        path = self.capture("torch_step")
        for words in (("export", path, "--format", "csv", "-o", "-"),
                      ("report", path, "--html", "-")):  # fmt: skip
            with open("/dev/full", "w") as full:
                ran = subprocess.run([GPUPROF, *map(str, words)], stdout=full, timeout=120,
                                     stderr=subprocess.PIPE, check=False)  # fmt: skip
            self.assertEqual(ran.returncode, 21, ran.stderr)
            process = subprocess.Popen([GPUPROF, *map(str, words)], stdout=subprocess.PIPE,
                                       stderr=subprocess.PIPE)  # fmt: skip
            process.stdout.close()
            with process.stderr:
                process.stderr.read()
            self.assertEqual(process.wait(timeout=120), 141)

    def test_no_bytes_for_programs_go_to_a_terminal(self):
        path = self.capture("vector_add")
        for words in (("export", path, "--format", "perfetto", "-o", "-"),
                      ("report", path, "--html", "-")):  # fmt: skip
            leader, follower = pty.openpty()
            ran = subprocess.run([GPUPROF, *map(str, words)], stdout=follower, timeout=120,
                                 stderr=subprocess.PIPE, check=False)  # fmt: skip
            os.close(follower)
            os.close(leader)
            self.assertEqual(ran.returncode, 5)
            self.assertIn(b"standard output is a terminal", ran.stderr)

    def test_a_profile_is_no_stream(self):
        path = self.capture("vector_add")
        capture = SOURCE / "tests/captures/vector_add.gpcap"
        for words in (("slice", path, "--from", "0"), ("truncate", path, "--keep", "gpu"),
                      ("export", path, "--for", "nvprof"), ("replay", capture)):  # fmt: skip
            with self.subTest(words[0]):
                ran = self.bytes(*words, "-o", "-", code=5)
                self.assertIn(b"cannot be written to standard output", ran.stderr)
                self.assertEqual(ran.stdout, b"")
        # ./- is an ordinary file of this folder.
        subprocess.run([GPUPROF, "slice", path, "--from", "0", "-o", "./-"], cwd=self.folder,
                       check=True, capture_output=True, timeout=120)  # fmt: skip
        self.assertTrue((self.folder / "-").exists())


if __name__ == "__main__":
    unittest.main()
