"""gpuprof top: sums of a finished and of a growing file."""

import os
import pathlib
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import unittest

from growing import KERNELS, Growing

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Top(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="top-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.profile = cls.folder / "run.sqlite"
        capture = SOURCE / "tests/captures/streams_graph.gpcap"
        subprocess.run([GPUPROF, "replay", "-q", "-o", cls.profile, capture], check=True)

    def run_top(self, *words):
        return subprocess.run([GPUPROF, "top", *map(str, words)], capture_output=True, text=True,
                              timeout=300, check=False)  # fmt: skip

    def test_finished_run(self):
        ran = self.run_top(self.profile, "--rows", 3)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        database = sqlite3.connect(self.profile)
        kernels, calls = database.execute(
            "SELECT (SELECT count(*) FROM kernels WHERE duration > 0), (SELECT count(*) FROM api_calls)"
        ).fetchone()
        lines = ran.stdout.splitlines()
        self.assertEqual(lines[0], str(self.profile))
        self.assertTrue(lines[1].startswith(f"{kernels} kernels, "), lines[1])
        self.assertIn(f" {calls} API calls in ", lines[1])
        names = database.execute(
            "SELECT type, name, count(*), sum(duration) FROM gpu_activities WHERE duration > 0"
            " GROUP BY 1, 2 ORDER BY 4 DESC"
        ).fetchall()
        head = next(
            i
            for i, line in enumerate(lines)
            if line.split() == ["time", "share", "count", "per", "s", "name"]
        )
        self.assertEqual(int(lines[head + 1].split()[2]), names[0][2])
        self.assertEqual(sum(line.count("%") for line in lines[head:]), min(3, len(names)))
        # What the GPU did, in classes that add up to all the time from its first work to its last.
        [span, idle] = database.execute(
            'SELECT max("end") - min(start), (SELECT sum(duration_ms) FROM account'
            " WHERE class IN ('launch', 'queued', 'call', 'no call', 'short gap', 'unknown')) FROM gpu_activities"
        ).fetchone()
        shares = re.findall(r"([a-z ]+) ([0-9.]+)%", " ".join(lines[3 : head - 1]))
        self.assertAlmostEqual(sum(float(share) for _, share in shares), 100, delta=0.05)
        self.assertEqual(shares[-1], (" idle", f"{100 * idle * 1e6 / span:.2f}"))
        database.close()

    def test_growing_run(self):
        growing = self.folder / "growing.db"
        file = Growing(self.profile, growing)
        writer = file.writer
        [columns] = writer.execute(
            f"SELECT group_concat('[' || name || ']') FROM pragma_table_info('{KERNELS}') WHERE name <> '_id_'"
        ).fetchone()
        top = subprocess.Popen([GPUPROF, "top", growing, "--every", "0.05"], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
        try:
            for factor in (1, 2, 4):
                count = f"{self.kernels(writer)} kernels, "
                line = top.stdout.readline()
                while line and not line.startswith(count):
                    line = top.stdout.readline()
                self.assertTrue(line, f"ended before {factor}")
                writer.execute(f"INSERT INTO {KERNELS}({columns}) SELECT {columns} FROM {KERNELS}")
            file.finish()
            rest, errors = top.communicate(timeout=300)
            self.assertEqual((top.returncode, errors), (0, ""))
            lines = rest.splitlines()
            self.assertEqual([line for line in lines if str(growing) in line][-1], str(growing))
            sums = [line for line in lines if " kernels, " in line]
            self.assertTrue(sums[-1].startswith(f"{self.kernels(writer)} kernels, "), sums[-1])
        finally:
            top.kill()
            top.wait()
            top.stdout.close()
            top.stderr.close()
        writer.close()

    def kernels(self, database):
        return database.execute("SELECT count(*) FROM kernels WHERE duration > 0").fetchone()[0]

    def test_ends(self):
        growing = self.folder / "ends.db"
        writer = Growing(self.profile, growing).writer
        self.assertEqual(
            self.run_top(growing, "--times", 2, "--every", 0.05).stdout.count(": recording"), 2
        )
        top = subprocess.Popen([GPUPROF, "top", growing], stdout=subprocess.PIPE, text=True)
        top.stdout.readline()
        top.send_signal(signal.SIGINT)
        top.communicate(timeout=300)
        self.assertEqual(top.returncode, 0)
        writer.close()
        for words in (["--every", "0"], ["--times", "x"], ["--rows", "-1"]):
            self.assertEqual(self.run_top(self.profile, *words).returncode, 5)
        self.assertNotEqual(self.run_top(self.folder / "none").returncode, 0)


if __name__ == "__main__":
    unittest.main()
