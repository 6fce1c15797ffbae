"""Captures of real runs through loader, views and summary, compared with ../captures/NAME.expected.

GPUPROF is the path of the gpuprof binary. After a deliberate change: tests/captures/make_expected.
"""
# ctest-labels: plain

import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))
from scripts import load_script  # noqa: E402

SOURCE = TESTS.parent
CAPTURES = TESTS / "captures"
GPUPROF = os.environ.get("GPUPROF")

make_expected = load_script(CAPTURES / "make_expected")


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Captures(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="captures-"))
        self.addCleanup(shutil.rmtree, self.folder)

    def test_there_are_captures(self):
        names = {capture.stem for capture in make_expected.captures()}
        expected = {file.stem for file in CAPTURES.glob("*.expected")}
        self.assertEqual(names, expected)
        self.assertGreaterEqual(
            names, {"metrics", "vector_add", "streams_graph", "two_processes", "torch_step", "die"}
        )

    def test_kinds_of_which_none_has_a_row_are_explained(self):
        kinds, explained = set(), set()
        for header in (SOURCE / "schema/activity").glob("*.hpp"):
            kinds.update(re.findall(r"^KIND\(\w+, \d+, (\w+),", header.read_text(), re.MULTILINE))
        self.assertGreater(len(kinds), 40)
        page = (SOURCE / "docs/machines.md").read_text(encoding="utf-8")
        for row in page.partition("## Records that were never seen")[2].splitlines():
            if row.startswith("| "):
                explained.update(re.findall(r"[A-Z_0-9]{4,}", row.split("|")[1]))
        for file in CAPTURES.glob("*.expected"):
            rows = re.findall(r"^CUPTI_ACTIVITY_KIND_(\w+) \d", file.read_text(), re.MULTILINE)
            kinds.difference_update(rows)
        self.assertEqual(kinds - explained, set())
        self.assertIn("MEM_DECOMPRESS", explained)

    def test_output_is_the_expected(self):
        for capture in make_expected.captures():
            with self.subTest(capture=capture.stem):
                self.assertEqual(
                    make_expected.expected_text(GPUPROF, capture).splitlines(),
                    make_expected.expected_file(capture).read_text().splitlines(),
                )

    def test_databases_are_sound(self):
        for capture in make_expected.captures():
            with self.subTest(capture=capture.stem):
                path = make_expected.replayed(GPUPROF, capture, self.folder / "run.sqlite")
                connection = sqlite3.connect(path)
                self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone(), ("ok",))
                dangling = connection.execute(
                    """SELECT count(*) FROM gpu_activities AS g
                       WHERE NOT EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_RUNTIME AS r
                                         WHERE r.correlationId = g.correlation_id)
                         AND NOT EXISTS (SELECT 1 FROM CUPTI_ACTIVITY_KIND_DRIVER AS d
                                         WHERE d.correlationId = g.correlation_id)"""
                ).fetchone()
                self.assertEqual(dangling, (0,), "GPU work without the call that asked for it")
                early = connection.execute(
                    "SELECT count(*) FROM launches WHERE start > 0 AND start < api_start"
                ).fetchone()
                self.assertEqual(early, (0,), "kernels that start before their call")
                connection.close()

    def test_replayed_twice_gives_the_same_rows(self):
        capture = CAPTURES / "streams_graph.gpcap"
        dumps = []
        for name in ("one", "two"):
            path = make_expected.replayed(GPUPROF, capture, self.folder / f"{name}.sqlite")
            connection = sqlite3.connect(path)
            dumps.append(list(connection.iterdump()))
            connection.close()
        self.assertEqual(*dumps)

    def test_a_capture_cut_short_gives_what_came_before(self):
        whole = (CAPTURES / "vector_add.gpcap").read_bytes()
        cut, path = self.folder / "cut.gpcap", self.folder / "cut.sqlite"
        cut.write_bytes(whole[: len(whole) * 9 // 10])
        outcome = subprocess.run(
            [GPUPROF, "replay", cut, "-o", path], capture_output=True, text=True
        )
        self.assertNotEqual(outcome.returncode, 0)
        self.assertIn("what came before is loaded", outcome.stderr)
        connection = sqlite3.connect(path)
        self.assertEqual(connection.execute("PRAGMA integrity_check").fetchone(), ("ok",))
        processes = connection.execute("SELECT count(*) FROM PROCESS").fetchone()
        self.assertEqual(processes, (1,))
        connection.close()

    def test_nothing_local_is_in_a_capture(self):
        for capture in make_expected.captures():
            content = capture.read_bytes()
            for word in (b"/home/", os.path.expanduser(b"~") + b"/", b"TOKEN", b"PASSWORD"):
                with self.subTest(capture=capture.stem, word=word):
                    self.assertNotIn(word, content)

    def test_captures_are_small(self):
        files = [*CAPTURES.glob("*.gpcap"), *CAPTURES.glob("*.tar.xz")]
        sizes = {file.name: file.stat().st_size for file in files}
        self.assertLess(max(sizes.values()), 600_000, sizes)
        self.assertLess(sum(sizes.values()), 2_000_000, sizes)


if __name__ == "__main__":
    unittest.main()
