"""gpuprof memory: its tables compared with values computed here, row by row, for each capture."""
# ctest-labels: plain

import collections
import csv
import io
import json
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", "."))
NAMES = ("vector_add", "streams_graph", "two_processes", "die", "torch_step", "kinds")


def run(*words):
    return subprocess.run(
        [GPUPROF, "memory", *map(str, words)], capture_output=True, text=True, timeout=120,
        env={**os.environ, "LC_ALL": "C"},
    )  # fmt: skip


def place(row):
    return row["process_id"], row["device_id"], row["memory"], row["pool_type"]


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Memory(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="memory-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for name in (*NAMES, "metrics"):
            capture = SOURCE / f"tests/captures/{name}.gpcap"
            if not capture.exists():
                capture = BUILD / f"tests/captures/{name}.gpcap"
            profile = cls.folder / f"{name}.sqlite"
            subprocess.run([GPUPROF, "replay", "-q", "-o", profile, capture], check=True)

    def profile(self, name):
        return self.folder / f"{name}.sqlite"

    def tables(self, name, *options):
        ran = run(self.profile(name), "--json", *options)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return {table["table"]: table["rows"] for table in json.loads(ran.stdout)["tables"]}

    def rows(self, name, sql):
        connection = sqlite3.connect(f"file:{self.profile(name)}?mode=ro", uri=True)
        connection.row_factory = sqlite3.Row
        try:
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    def test_peaks_and_owners_are_those_of_the_views(self):
        for name in NAMES:
            with self.subTest(capture=name):
                tables = self.tables(name)
                expected = {
                    place(row): (row["bytes"], row["allocations"], row["time"])
                    for row in self.rows(name, "SELECT * FROM memory_peak")
                }
                found = {
                    place(row): (row["peak_bytes"], row["peak_allocations"], row["peak_time_ns"])
                    for row in tables["memory_peaks"]
                }
                self.assertEqual(found, expected)
                expected = {
                    (*place(row), row["source"]): (row["bytes"], row["allocations"])
                    for row in self.rows(name, "SELECT * FROM memory_owners")
                }
                found = {
                    (*place(row), row["owner"]): (row["at_peak_bytes"], row["at_peak_allocations"])
                    for row in tables["memory_owners"]
                    if row["at_peak_allocations"]
                }
                self.assertEqual(found, expected)

    def test_what_was_never_released_is_what_a_plain_look_finds(self):
        for name in NAMES:
            with self.subTest(capture=name):
                live = {}
                for row in self.rows(name, "SELECT * FROM allocations ORDER BY time"):
                    key = row["process_id"], row["device_id"], row["memory"], row["address"]
                    if row["operation"] == "release":
                        live.pop(key, None)
                    elif "Static" not in row["memory"]:
                        live[key] = row
                expected = collections.Counter()
                for row in live.values():
                    expected[(*place(row), row["source"], row["bytes"])] += 1
                found = collections.Counter()
                for row in self.tables(name)["memory_leaks"]:
                    self.assertEqual(row["bytes"], row["allocations"] * row["allocation_bytes"])
                    found[(*place(row), row["owner"], row["allocation_bytes"])] += row[
                        "allocations"
                    ]
                self.assertEqual(found, expected)

    def test_each_timeline_ends_at_what_is_left_and_reaches_the_peak(self):
        for name in NAMES:
            with self.subTest(capture=name):
                tables = self.tables(name)
                curves = collections.defaultdict(list)
                for row in tables["memory_timeline"]:
                    curves[place(row)].append(row)
                for row in tables["memory_peaks"]:
                    curve = curves[place(row)]
                    self.assertEqual(max(point["most_bytes"] for point in curve), row["peak_bytes"])
                    self.assertEqual(curve[-1]["bytes"], row["end_bytes"])
                    times = [point["time_ns"] for point in curve]
                    self.assertEqual(times, sorted(times))

    def test_by_ranges_of_the_calls(self):
        owners = {
            row["owner"]: row["allocations"]
            for row in self.tables("torch_step", "--by", "nvtx")["memory_owners"]
            if row["memory"] == "Device"
        }
        expected = collections.Counter()
        for row in self.rows(
            "torch_step",
            """
            SELECT (SELECT s.value FROM nvtx_ranges AS r
                    JOIN NVTX_PATH AS p ON p.range = r.id
                    JOIN StringTable AS s ON s._id_ = p.path
                    WHERE r.process_id = c.process_id AND r.thread_id = c.thread_id
                      AND r.start <= c.start AND r."end" > c.start
                    ORDER BY r.depth DESC LIMIT 1) AS path,
                   c.start AS start
            FROM allocations AS a
            JOIN api_calls AS c USING (correlation_id)
            WHERE a.operation = 'allocation' AND a.memory = 'Device' AND c.domain = 'runtime'""",
        ):
            expected[row["path"]] += 1
        # autograd's thread has no ranges: its allocations are attributed to those of the process.
        self.assertEqual(owners["step 0 / forward"], expected["step 0 / forward"])
        self.assertEqual(sum(owners.values()), sum(expected.values()))
        self.assertEqual(owners["step 0 / backward"], 4)

    def test_kernels_have_what_their_process_had_when_they_began(self):
        for name in (*NAMES, "metrics"):
            with self.subTest(capture=name):
                operations = self.rows(name, "SELECT * FROM allocations ORDER BY time")
                measured = {
                    (row["correlation_id"], row["metric"]): row["value"]
                    for row in self.rows(name, "SELECT * FROM kernel_metrics")
                }
                kernels = self.rows(name, "SELECT * FROM kernel_memory")
                self.assertEqual(
                    [len(kernels)],
                    [row[0] for row in self.rows(name, "SELECT count(*) FROM kernels")],
                )
                for kernel in kernels[:500]:
                    live, any_before = {}, False
                    for row in operations:
                        if (kernel["start"] is None or row["time"] > kernel["start"]
                                or row["memory"] in ("Pageable", "Pinned")
                                or (row["process_id"], row["device_id"])
                                != (kernel["process_id"], kernel["device_id"])):  # fmt: skip
                            continue
                        any_before = True
                        live[row["address"]] = row["bytes"] * (row["operation"] == "allocation")
                    self.assertEqual(
                        kernel["allocated_bytes"], sum(live.values()) if any_before else None
                    )
                    for column, metric in (
                        ("read_bytes", "dram__bytes_read.sum"),
                        ("l2_hit_rate", "lts__t_sector_hit_rate.pct"),
                        ("written_bytes", "dram__bytes_write.sum"),
                    ):
                        value = measured.get((kernel["correlation_id"], metric))
                        self.assertEqual(kernel[column], value)
        self.assertTrue(any(row["read_bytes"] for row in kernels), "metrics has some")
        self.assertTrue(any(row["allocated_bytes"] for row in kernels))

    def test_no_leaks_are_claimed_where_the_process_was_killed(self):
        tables = self.tables("die", "--leaks")
        self.assertEqual(sorted(tables), ["memory_leaks", "memory_processes"])
        self.assertEqual({row["class"] for row in tables["memory_leaks"]}, {"alive"})
        (process,) = tables["memory_processes"]
        self.assertIn("signal 9", process["why_not"])

    def test_no_leaks_are_claimed_in_a_part_of_a_file(self):
        part = self.folder / "part.sqlite"
        subprocess.run(
            [GPUPROF, "slice", self.profile("kinds"), "--from", "0", "-f", "-o", part], check=True,
            capture_output=True,
        )  # fmt: skip
        rows = self.tables("part", "--leaks")["memory_processes"]
        self.assertTrue(rows)
        for row in rows:
            self.assertIn("part of another", row["why_not"])

    def test_the_page_of_text(self):
        ran = run(self.profile("kinds"))
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        for line in (
            "Most memory at a time",
            "2490368",
            "Owners at the peak, by library",
            "./streams  [process 631, device 0, Device]",
            "7 allocations: kept",
            "What stands out",
        ):
            self.assertIn(line, ran.stdout)
        self.assertLess(len(ran.stdout.splitlines()), 60)

    def test_the_timeline_is_a_chart_and_points(self):
        ran = run(self.profile("vector_add"), "--timeline")
        self.assertEqual(ran.returncode, 0)
        self.assertRegex(ran.stdout, r"\n  [_.:\-=+*#]{60}\n")
        self.assertEqual(len(ran.stdout.splitlines()), 1 + 3 + 20)

    def test_csv_has_the_rows_of_json(self):
        rows = self.tables("kinds", "--peak")["memory_peaks"]
        ran = run(self.profile("kinds"), "--peak", "--csv")
        table = [r for r in csv.DictReader(io.StringIO(ran.stdout)) if r["table"] == "memory_peaks"]
        self.assertEqual([r["peak_bytes"] for r in table], [str(row["peak_bytes"]) for row in rows])

    def test_wrong_words(self):
        for words, message in (
            (("--by", "colour"), "colour not in"),
            (("--by", "stack"), "--track-memory --stacks"),
            (("--csv", "--json"), "exclude"),
            (("--top", "0"), "number from 1"),
            (("--top", "x"), "number from 1"),
        ):
            with self.subTest(words=words):
                ran = run(self.profile("kinds"), *words)
                self.assertEqual((ran.returncode, ran.stdout), (5, ""))
                self.assertIn(message, ran.stderr)
        ran = run(self.folder / "none.sqlite")
        self.assertEqual(ran.returncode, 20)


if __name__ == "__main__":
    unittest.main()
