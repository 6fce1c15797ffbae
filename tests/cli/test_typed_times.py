"""Printed times can be typed back: --from and --to of all commands have the same zero."""
# ctest-labels: plain

import csv
import json
import re
import unittest

from profile_tools import Tools, database

START = re.compile(r" *(\d\S*s)  +(?:\S+s|-)  ")  # a trace row's start and duration


class TypedTimes(Tools):
    def trace(self, path, *options, of="gpu"):
        """Starts as printed, with the rest of the row."""
        ran = self.gpuprof("-i", path, f"--print-{of}-trace", *options)
        rows = [START.match(line) for line in ran.stderr.splitlines()]
        return [(row[1], row.string[row.end(1) :].strip()) for row in rows if row]

    def exact(self, path, of="gpu"):
        """The same in ns."""
        ran = self.gpuprof("-i", path, f"--print-{of}-trace", "--json")
        return [row["relative_start_ns"] for row in json.loads(ran.stdout)["tables"][0]["rows"]]

    def files(self):
        for name in ("torch_step", "streams_graph", "two_processes", "nvtx_threads"):
            yield self.capture(name)

    def test_a_start_that_is_printed_begins_the_window(self):
        for path in self.files():
            for of in ("gpu", "api"):
                whole, exact = self.trace(path, of=of), self.exact(path, of)
                self.assertEqual(len(whole), len(exact))
                for place in {0, len(whole) // 3, len(whole) // 2, len(whole) - 1}:
                    with self.subTest(path=path.name, of=of, place=place):
                        typed = whole[place][0]
                        part = self.trace(path, "--from", typed, of=of)
                        self.assertIn(whole[place], part)
                        # The same times, no new zero, and nothing that began before.
                        self.assertEqual(part, whole[len(whole) - len(part) :])
                        self.assertNotIn(whole[place], self.trace(path, "--to", typed, of=of)
                                         if whole.count(whole[place]) == 1 else [])  # fmt: skip

    def test_in_every_unit(self):
        path = self.capture("torch_step")
        first = self.exact(path)[5]
        for unit in ("s", "ms", "us", "ns", "col"):
            with self.subTest(unit=unit):
                ran = self.gpuprof("-i", path, "--print-gpu-trace", "--csv", "-u", unit)
                lines = list(csv.reader(ran.stderr.splitlines()))
                head = next(i for i, line in enumerate(lines) if line and line[0] == "Start")
                typed = lines[head + 7][0] + lines[head + 1][0]
                part = self.gpuprof("-i", path, "--print-gpu-trace", "--json", "--from", typed)
                self.assertEqual(
                    json.loads(part.stdout)["tables"][0]["rows"][0]["relative_start_ns"], first
                )

    def test_other_commands_have_the_same_zero(self):
        path = self.capture("torch_step")
        starts = self.trace(path)
        place = len(starts) // 2
        begin, end = starts[place][0], starts[place + 3][0]
        window = ("--from", begin, "--to", end)
        expected = [start for start, _ in self.trace(path, *window)]
        self.assertGreaterEqual(len(expected), 3)
        self.assertEqual(expected[0], begin)

        part = self.folder / "part.sqlite"
        self.gpuprof("slice", path, *window, "-o", part)
        self.assertEqual([start for start, _ in self.trace(part)], expected)

        exported = self.folder / "part.csv"
        self.gpuprof("export", path, *window, "-o", exported)
        with exported.open(newline="") as file:
            work = [row for row in csv.DictReader(file) if row.get("device_id")]
        self.assertEqual(len(work), len(expected))

        markdown = self.gpuprof("report", path, *window, "--markdown", "-").stdout
        page = self.gpuprof("timeline", path, *window).stdout
        with database(part) as connection:
            (kernels,) = connection.execute("SELECT count(*) FROM kernels").fetchone()
        self.assertGreater(kernels, 0)
        self.assertIn("| `` computed `` |", markdown)
        self.assertNotEqual(page, self.gpuprof("timeline", path).stdout)

    def test_nvprofs_files(self):
        """A whole trace matches nvprof's; a filtered one counts from the zero, too."""
        path = self.nvprof("basic")
        exact, whole = self.exact(path), self.trace(path)
        self.assertEqual(whole[0][0], "0ns")
        self.assertGreater(exact[0], 0)
        part = self.trace(path, "--from", "0")
        self.assertEqual([name for _, name in part], [name for _, name in whole])
        for place, (start, _) in enumerate(part):
            self.assertEqual(self.trace(path, "--from", start), part[place:])


if __name__ == "__main__":
    unittest.main()
