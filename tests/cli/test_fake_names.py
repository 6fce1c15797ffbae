"""The program chooses names: long ones, and ones that overwhelm a demangler."""

import csv
import json
import subprocess
import unittest

from fake_metrics import ONE, MetricTest
from fake_run import GPUPROF, FakeTest

# GCC 12's demangler never finishes with it.
ENDLESS = "_Z1llAsrCpAsAsr"
SAXPY = "_Z5saxpyfPKfPf"


def bomb(levels):
    """A name whose demangled form doubles with each level."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    name, last = "_Z1fI1AIiiE", "S1_"
    for level in range(levels):
        name += f"S0_I{last}{last}E"
        last = f"S{digits[level + 2]}_"
    return name + "EvT_"


class Demangling(FakeTest):
    BAD = (ENDLESS, bomb(24), bomb(30))

    def names(self, database):
        return dict(
            database.rows("SELECT value, demangled FROM StringTable WHERE value LIKE '_Z%'")
        )

    def assert_named(self, database):
        self.assertEqual(database.kernels(), {name: 2 for name in (SAXPY, *self.BAD, "_Z5otherv")})
        names = self.names(database)
        self.assertEqual(names[SAXPY], "saxpy(float, float const*, float*)")
        self.assertEqual(names["_Z5otherv"], "other()")
        for name in self.BAD:
            self.assertIsNone(names[name])
        self.assertIn(database.statistic("names_not_demangled"), (2, 3))
        self.assertEqual(database.losses(), {})

    def test_names_that_are_too_much(self):
        capture = self.folder / "run.gpcap"
        run = self.profile(
            "names",
            1024,
            SAXPY,
            *self.BAD,
            "_Z5otherv",
            check=0,
            options=["--save-capture", capture],
        )
        self.assertIn("nothing lost", run.stderr)
        self.assert_named(self.database())
        again = self.folder / "again.sqlite"
        subprocess.run(
            [GPUPROF, "replay", str(capture), "-o", str(again)],
            check=True,
            capture_output=True,
            cwd=self.folder,
        )
        self.assert_named(self.database(again))

    def test_reports(self):
        self.profile("names", 1024, SAXPY, *self.BAD, check=0)
        for style in ("on", "off", "modern", "nvprof"):
            with self.subTest(style=style):
                run = subprocess.run(
                    [GPUPROF, "-i", str(self.output), "--demangling", style, "--csv"],
                    check=True,
                    capture_output=True,
                    text=True,
                    cwd=self.folder,
                )
                self.assertIn("saxpy", run.stderr)


class LongNames(MetricTest):
    """No pattern is matched on the program's stack."""

    LONG = "cutlass_kernel_" + "x" * 30000

    def profiled(self, *options):
        return self.measure("names", 256, self.LONG, self.LONG + "_gemm", SAXPY, options=options)

    def assert_sound(self, run, database, measured):
        self.assertEqual(run.stdout, b"the program ends as it should\n")
        self.assertEqual(database.kernels(), {self.LONG: 2, self.LONG + "_gemm": 2, SAXPY: 2})
        self.assertEqual(sorted({v.name for v in self.values(database)}), sorted(measured))

    def test_kernels(self):
        run, database = self.profiled("--kernels", ".*gemm")
        self.assert_sound(run, database, [self.LONG + "_gemm"])
        self.assertEqual(database.statistic("metrics_skipped_unanswered"), 0)
        for pattern, there in ((".*gemm", True), (".*nothing", False)):
            report = subprocess.run(
                [GPUPROF, "-i", str(self.output), "--kernels", pattern, "--csv"],
                check=True,
                capture_output=True,
                text=True,
                cwd=self.folder,
            )
            self.assertEqual("_gemm" in report.stderr, there)

    def test_left_out(self):
        run, database = self.profiled("--metrics-exclude", "x.*gemm")
        self.assert_sound(run, database, [self.LONG, SAXPY])

    def test_names_that_are_too_much(self):
        """They are matched in mangled form, and cost the program a moment."""
        run, database = self.measure(
            "names",
            256,
            SAXPY,
            ENDLESS,
            bomb(30),
            "_Z5otherv",
            options=["--kernels", "^(saxpy|other|_Z1l)"],
        )
        measured = {v.name for v in self.values(database)}
        self.assertLessEqual({SAXPY}, measured)
        self.assertLessEqual(measured, {SAXPY, ENDLESS, "_Z5otherv"})
        # On a busy machine the demangler may take longer than the program waits.
        if measured != {SAXPY, ENDLESS, "_Z5otherv"}:
            self.assertGreater(database.statistic("metrics_skipped_unanswered"), 0)


class Terminal(FakeTest):
    """Kernel names chosen by a program cannot control a terminal or fake a line."""

    NAME = 'a"b,\x1b[31m\r\n==1== fake \u202e\x9b'
    SHOWN = r'a"b,\x1b[31m\x0d\x0a==1== fake \xe2\x80\xae\xc2\x9b'

    def setUp(self):
        super().setUp()
        self.profile("names", 1024, self.NAME, check=0)

    def report(self, *options):
        run = subprocess.run(
            [GPUPROF, "-i", str(self.output), *options],
            check=True,
            capture_output=True,
            cwd=self.folder,
        )
        return (run.stdout + run.stderr).decode()

    def assert_harmless(self, text):
        odd = set(text) & set("\x1b\r\x7f\u202e\x9b")
        self.assertEqual(odd, set(), text)
        self.assertNotIn("\n==1==", text)

    def test_text(self):
        for options in ((), ("--print-gpu-trace",), ("--print-gpu-summary",)):
            text = self.report(*options)
            self.assert_harmless(text)
            self.assertIn(self.SHOWN, text)

    def test_csv(self):
        for options in ((), ("--print-gpu-trace",)):
            text = self.report("--csv", *options)
            self.assert_harmless(text)
            rows = [row for row in csv.reader(text.splitlines()) if self.SHOWN in " ".join(row)]
            self.assertGreaterEqual(len(rows), 1)
            for row in rows:
                self.assertIn(
                    self.SHOWN, [cell.split(" [")[0] if options else cell for cell in row]
                )

    def test_json(self):
        text = self.report("--json")
        self.assert_harmless(text)
        self.assertIn(
            self.NAME,
            [row.get("name") for table in json.loads(text)["tables"] for row in table["rows"]],
        )

    def test_info(self):
        text = subprocess.run(
            [GPUPROF, "info", str(self.output)], check=True, capture_output=True, cwd=self.folder
        ).stdout.decode()
        self.assert_harmless(text)
        self.assertIn("\\x1b[31m", text)


class NewMessages(MetricTest):
    def test_each_range_is_asked_about(self):
        run, database = self.measure("ranges", 6, metrics=ONE, options=["--range", "nvtx:^st.*p$"])
        self.assertEqual(len(self.values(database, "range")), 6)
        run, database = self.measure("ranges", 6, metrics=ONE, options=["--range", "nvtx:^other"])
        self.assertEqual(self.values(database, "range"), [])


if __name__ == "__main__":
    unittest.main()
