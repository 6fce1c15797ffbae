# ctest-requires: cupti
# ctest-labels: tsan
"""Names are the program's to choose: long ones, and ones that are too much for a demangler."""

import subprocess
import unittest

from fake_run import GPUPROF, FakeTest

# GCC 12's demangler never comes back from it.
ENDLESS = "_Z1llAsrCpAsAsr"
SAXPY = "_Z5saxpyfPKfPf"


def bomb(levels):
    """A name whose readable form doubles with each level."""
    digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"
    name, last = "_Z1fI1AIiiE", "S1_"
    for level in range(levels):
        name += f"S0_I{last}{last}E"
        last = f"S{digits[level + 2]}_"
    return name + "EvT_"


class Demangling(FakeTest):
    BAD = (ENDLESS, bomb(24), bomb(30))

    def names(self, database):
        return dict(database.rows("SELECT value, demangled FROM StringTable WHERE value LIKE '_Z%'"))

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
        run = self.profile("names", 1024, SAXPY, *self.BAD, "_Z5otherv", check=0,
                           options=["--save-capture", capture])
        self.assertIn("nothing lost", run.stderr)
        self.assert_named(self.database())
        again = self.folder / "again.sqlite"
        subprocess.run([GPUPROF, "replay", str(capture), "-o", str(again)], check=True,
                       capture_output=True, cwd=self.folder)
        self.assert_named(self.database(again))

    def test_reports(self):
        self.profile("names", 1024, SAXPY, *self.BAD, check=0)
        for style in ("on", "off", "modern", "nvprof"):
            with self.subTest(style=style):
                run = subprocess.run(
                    [GPUPROF, "-i", str(self.output), "--demangling", style, "--csv"], check=True,
                    capture_output=True, text=True, cwd=self.folder)
                self.assertIn("saxpy", run.stderr)


if __name__ == "__main__":
    unittest.main()
