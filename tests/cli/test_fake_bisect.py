"""gpuprof bisect finds the commit that made the stand-in's kernels slower."""
# ctest-labels: plain

import os
import subprocess
import sys
import textwrap
import unittest

from fake_run import CUPTI, FAKE, GPUPROF, FakeTest

MS = 1_000_000


class Bisect(FakeTest):
    def git(self, *words):
        ran = subprocess.run(
            ["git", "-c", "user.name=x", "-c", "user.email=x@example.com", *words], cwd=self.folder,
            check=True, capture_output=True, text=True, timeout=60)  # fmt: skip
        return ran.stdout.strip()

    def commit(self, time, message):
        """A commit at which a kernel takes that many ns; less than 0: the program ends with 3."""
        (self.folder / "work.py").write_text(textwrap.dedent(
            f"""
            import ctypes, sys
            if {time} < 0:
                sys.exit(3)
            cuda = ctypes.CDLL({str(FAKE / "libcuda.so.1")!r})
            cuda.fake_kernel_time(ctypes.c_uint64({time}))
            cuda.fake_launch(b"kernel", 3)
            cuda.fake_synchronize()
            # {message}
            """))  # fmt: skip
        self.git("add", "work.py")
        self.git("commit", "-q", "-m", message)
        return self.git("rev-parse", "--short", "HEAD")

    def bisect(self, *words, code=0):
        ran = subprocess.run(
            [GPUPROF, "bisect", "-n", "2", "--options", f"--cupti '{CUPTI}'", *words], cwd=self.folder,
            env=self.environment({}), capture_output=True, text=True, timeout=300)  # fmt: skip
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran

    def test_finds_it(self):
        self.git("init", "-q", "-b", "main")
        good = self.commit(20 * MS, "good")
        self.commit(20 * MS, "also good")
        slow = self.commit(60 * MS, "slow")
        self.commit(60 * MS, "still slow")
        self.commit(-1, "fails")
        self.commit(60 * MS, "last")
        ran = self.bisect("--good", good, "--build", "true", "--", sys.executable, "work.py")
        self.assertEqual(ran.stdout.strip(), f"{slow} slow")
        self.assertEqual(self.git("symbolic-ref", "--short", "HEAD"), "main")
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.assertEqual(
            self.git("bisect", "log") if (self.folder / ".git/BISECT_LOG").exists() else "", ""
        )
        self.assertEqual(sorted(os.listdir(self.folder)), [".git", "work.py"])
        # Where the good commit does not build, or nothing may be checked out, nothing is changed.
        self.bisect("--good", good, "--build", "false", "--", "true", code=26)
        self.assertEqual(self.git("symbolic-ref", "--short", "HEAD"), "main")
        (self.folder / "work.py").write_text("changed")
        self.assertIn("not committed", self.bisect("--good", good, "--", "true", code=5).stderr)
        self.assertEqual((self.folder / "work.py").read_text(), "changed")

    def test_wrong_words(self):
        self.assertIn("no program", self.bisect("--good", "x", code=3).stderr)
        self.assertIn("required", self.bisect("--", "true", code=5).stderr)
        self.assertIn("not a revision", self.bisect("--good=-x", "--", "true", code=5).stderr)
        self.bisect("--good", "x", "--", "true", code=26)  # no repository


if __name__ == "__main__":
    unittest.main()
