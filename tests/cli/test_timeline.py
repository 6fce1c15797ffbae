"""gpuprof timeline: what it draws, how wide, what it refuses."""
# ctest-labels: plain

import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])


def run(*words, unicode=True):
    environment = {**os.environ, "LC_ALL": "C.UTF-8" if unicode else "C"}
    return subprocess.run([GPUPROF, "timeline", *map(str, words)], capture_output=True, text=True,
                          encoding="utf-8", timeout=120, env=environment, check=False)  # fmt: skip


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Timeline(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="timeline-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.profile = cls.folder / "run.sqlite"
        capture = SOURCE / "tests/captures/vector_add.gpcap"
        subprocess.run([GPUPROF, "replay", "-q", "-o", cls.profile, capture], check=True)

    def draw(self, *options, **more):
        ran = run(self.profile, *options, **more)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout.splitlines()

    def test_gpu_streams_copies_and_ranges(self):
        lines = self.draw("--width", 100)
        names = [line[:24].strip() for line in lines[2:6]]
        self.assertEqual(names[:3], ["NVIDIA H200 (0)", "stream 7", "copies and sets"])
        self.assertRegex(names[3], "NVTX thread [0-9]+")
        self.assertIn("█", lines[2])
        self.assertIn("▏vector_add", lines[5])
        self.assertIn("▏copy in", lines[6])

    def test_width(self):
        for width in (40, 60, 100, 333):
            with self.subTest(width):
                lines = self.draw("--width", width)[1:]
                self.assertLessEqual(max(map(len, lines)), width)
                self.assertGreater(max(map(len, lines)), width // 2)
        self.assertLessEqual(max(map(len, self.draw())), 120)  # no terminal

    def test_ascii(self):
        for lines in (self.draw("--ascii"), self.draw(unicode=False)):
            self.assertTrue("\n".join(lines).isascii())
            self.assertIn("#", lines[2])

    def test_window(self):
        whole = self.draw("--ascii")
        part = self.draw("--ascii", "--nvtx", "copy in")
        self.assertNotEqual(whole[0], part[0])
        self.assertIn("|copy in", part[-1])
        self.assertNotIn("compute", part[-1])
        self.assertEqual(self.draw("--from", "100s"), ["No GPU work has times here."])

    def test_what_is_busy(self):
        """The steps, or without these the part with nearly all of the work; --from 0 shows all."""
        path = self.folder / "steps.sqlite"
        capture = SOURCE / "tests/captures/torch_step.gpcap"
        subprocess.run([GPUPROF, "replay", "-q", "-o", path, capture], check=True)
        database = sqlite3.connect(path)
        [[first, last]] = database.execute(
            'SELECT min(start) - {zero}, max("end") - {zero} FROM steps'.format(
                zero="(SELECT value FROM RUN WHERE key = 'zero_ns')")).fetchall()  # fmt: skip
        steps = run(path).stdout.splitlines()
        self.assertEqual(steps[-1], "Shown: the steps. All: --from 0")
        chosen = run(path, "--from", f"{first}ns", "--to", f"{last}ns").stdout.splitlines()
        self.assertEqual(steps[:-1], chosen)
        whole = run(path, "--from", "0").stdout.splitlines()
        self.assertNotEqual(whole[0], steps[0])
        self.assertNotIn("Shown: ", "".join(whole))
        # One kernel 100 s before all others, which are the busy part then.
        database.execute("DELETE FROM STEP")
        table = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"
        database.execute(f'UPDATE {table} SET start = start - 100000000000, "end" = "end" - 100000000000'
                         f" WHERE _id_ = (SELECT min(_id_) FROM {table})")  # fmt: skip
        database.commit()
        database.close()
        whole, busy = (
            run(path, "--from", "-200s").stdout.splitlines(),
            run(path).stdout.splitlines(),
        )
        self.assertEqual(busy[-1], "Shown: where nearly all of the work is. All: --from 0")
        spans = [float(lines[0].split("s from ")[0]) for lines in (whole, busy)]
        self.assertGreater(spans[0], 100)
        self.assertLess(spans[1], 5)

    def test_what_is_refused(self):
        for code, words in {
            5: [("--width", "3"), ("--width", "wide"), ("--streams", "-1"), ("--from", "noon"),
                ("--from", "2s", "--to", "1s"), ("--nvtx", "no such range")],
        }.items():  # fmt: skip
            for options in words:
                with self.subTest(options):
                    ran = run(self.profile, *options)
                    self.assertEqual((ran.returncode, ran.stdout), (code, ""))
                    self.assertTrue(ran.stderr.startswith("gpuprof: "), ran.stderr)
        self.assertEqual(run(self.folder / "none").returncode, 20)
        self.assertEqual(run(SOURCE / "README.md").returncode, 20)


if __name__ == "__main__":
    unittest.main()
