"""The default summary on a terminal: a page, whose numbers are those of SQL and of other commands."""

import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

from builds import asan, load_tests  # noqa: F401
from terminal import on_a_terminal

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
HOSTILE = "\x1b[31mred\x07\n\u202eevil" + " <x>" * 40
# What takes more than a second is named until it is done.
PROGRESS = re.compile(r"(\r\x1b\[K[^\r\n]*)*\r\x1b\[K")
COLOR = re.compile("\x1b\\[[0-9;]*m")


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Overview(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="overview-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.profiles = {}
        for name in ("torch_step", "streams_graph", "two_processes"):
            cls.profiles[name] = cls.folder / f"{name}.sqlite"
            capture = SOURCE / f"tests/captures/{name}.gpcap"
            subprocess.run([GPUPROF, "replay", "-q", "-o", cls.profiles[name], capture], check=True)

    def page(self, profile, *options, columns=80, **environment):
        settings = {"NO_COLOR": "1", "LC_ALL": "C.UTF-8", **environment}
        everything = {**os.environ, **settings}
        kept = {key: value for key, value in everything.items() if value}
        code, text = on_a_terminal([GPUPROF, "-i", profile, *options], columns, env=kept)
        self.assertEqual(code, 0, text)
        return PROGRESS.sub("", text)

    def changed(self, *statements):
        path = self.folder / "changed.sqlite"
        shutil.copy(self.profiles["torch_step"], path)
        database = sqlite3.connect(path)
        for sql, *values in statements:
            database.execute(sql, values)
        database.commit()
        database.close()
        return path

    def findings(self, profile):
        ran = subprocess.run([GPUPROF, "findings", profile, "--json", "--min", "0"], check=True,
                             capture_output=True)  # fmt: skip
        return json.loads(ran.stdout)

    def test_a_page_that_fits(self):
        for name, profile in self.profiles.items():
            for columns in (80, 120, 0):
                with self.subTest(name, columns=columns):
                    lines = self.page(profile, columns=columns).splitlines()
                    self.assertLessEqual(max(map(len, lines)), columns or 80)
                    self.assertLessEqual(len(lines), 40)
                    self.assertGreater(len(lines), 15)
        narrow = self.page(self.profiles["torch_step"], columns=40).splitlines()
        said = [line for line in narrow if "changed.sqlite" not in line and "/" not in line]
        self.assertLessEqual(max(map(len, said)), 40, narrow)

    def test_shares_add_up(self):
        for name, profile in self.profiles.items():
            with self.subTest(name):
                text = self.page(profile, columns=120)
                [bar] = [
                    line for line in text.splitlines() if re.fullmatch("[█▓▒▞╱╌░·┄?]{120}", line)
                ]
                legend = text.split(bar)[1].split("\n\n")[0]
                shares = [float(share) for share in re.findall(r"([0-9.]+)%", legend)]
                self.assertAlmostEqual(sum(shares), 100, delta=0.1)
                self.assertEqual(len(shares), len(set(bar)))
                [device] = self.findings(profile)["devices"]
                self.assertIn(
                    f"computing {100 * device['compute_ns'] / device['time_ns']:.2f}%", legend
                )

    def test_findings_are_those_of_the_command(self):
        text = self.page(self.profiles["torch_step"], columns=120)
        found = self.findings(self.profiles["torch_step"])["findings"]
        self.assertGreater(len(found), 1)
        at = 0
        for each in found[:3]:
            self.assertIn(each["title"], text[at:])
            at = text.index(each["title"], at)
            line = text[text.rindex("\n", 0, at) : at]
            self.assertIn(f"{100 * each['share']:.2f}%", line)
        self.assertEqual(
            len(re.findall("(?m)^ and [0-9]+ more finding", text)), int(len(found) > 3)
        )

    def test_rows_are_those_of_sql(self):
        profile = self.profiles["torch_step"]
        database = sqlite3.connect(profile)
        rows = database.execute(
            "SELECT coalesce(k.display_name, a.name), sum(a.duration) AS time, count(*) FROM gpu_activities AS a"
            " LEFT JOIN (SELECT DISTINCT name, display_name FROM kernels) AS k ON k.name = a.name"
            " WHERE a.duration > 0 GROUP BY 1 ORDER BY time DESC"
        ).fetchall()
        whole = sum(time for _, time, _ in rows)
        text = self.page(profile, columns=120)
        shown = text.split("GPU work of the run\n")[1].split("\n\n")[0].splitlines()
        self.assertEqual(len(shown), 11 if len(rows) > 10 else len(rows))
        for line, (name, time, calls) in zip(shown[:10], rows, strict=False):
            _, share, count, _, label = line.split(maxsplit=4)
            self.assertEqual(share, f"{100 * time / whole:.2f}%")
            self.assertEqual(int(count), calls)
            head, _, tail = label.partition("…")
            self.assertTrue(name.startswith(head) and name.endswith(tail.split("…")[-1]), label)
        rest = sum(time for _, time, _ in rows[10:])
        self.assertIn(f"{100 * rest / whole:.2f}%", shown[10])
        self.assertIn(f"({len(rows) - 10} more)", shown[10])
        times = [stop - start for start, stop in database.execute('SELECT start, "end" FROM steps ORDER BY start')]  # fmt: skip
        self.assertIn(f"{len(times)} steps, the longest ", text)
        self.assertIn(f"(number {times.index(max(times)) + 1})", text)
        database.close()

    def test_names_stay_distinguishable(self):
        """Those that differ in the middle alone, and those that differ nowhere in what fits."""
        same = "a_kernel_with_a_long_beginning_" + "x" * 40
        profile = self.changed(
            ("UPDATE StringTable SET display = NULL, demangled = NULL, value = ?1 || _id_ || ?2"
             " WHERE _id_ IN (SELECT name FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL)",
             same, "y" * 60))  # fmt: skip
        for columns in (40, 80):
            with self.subTest(columns):
                text = self.page(profile, columns=columns)
                rows = text.split("GPU work of the run\n")[1].split("\n\n")[0].splitlines()[:10]
                names = [line.split()[-1] for line in rows if "a_k" in line]
                self.assertGreater(len(names), 5)
                self.assertEqual(len(set(names)), len(names), names)

    def test_plain_terminals(self):
        profile = self.profiles["torch_step"]
        plain = self.page(profile)
        self.assertNotIn("\x1b", plain)
        for term in ("xterm", "xterm-256color"):
            coloured = self.page(profile, NO_COLOR="", TERM=term)
            self.assertEqual("38;5;" in coloured, term.endswith("256color"))
            self.assertEqual(COLOR.sub("", coloured), plain)
        self.assertTrue(self.page(profile, LC_ALL="C").isascii())

    def test_who_redirects_standard_output_learns_where_reports_go(self):
        path = self.folder / "output.txt"
        with path.open("w") as output:
            code, text = on_a_terminal(
                [GPUPROF, "-i", self.profiles["two_processes"]], stdout=output
            )
        self.assertEqual((code, path.read_text()), (0, ""))
        self.assertIn(
            "gpuprof: standard output got nothing: --log-file %1 sends reports there\n", text
        )

    def test_nvprofs_summary(self):
        """Where a person does not read it, where it was requested, and where options of nvprof apply to it."""
        for name, profile in self.profiles.items():
            ran = subprocess.run(
                [GPUPROF, "-i", profile], capture_output=True, text=True, check=True
            )
            with self.subTest(name):
                self.assertIn("GPU activities:", ran.stderr)
                self.assertEqual(self.page(profile, "--nvprof"), ran.stderr)
                again = subprocess.run([GPUPROF, "-i", profile, "--nvprof"], capture_output=True, text=True, check=True)  # fmt: skip
                self.assertEqual(again.stderr, ran.stderr)
        profile = self.profiles["two_processes"]
        for options in (["--from", "1ms"], ["--kernels", "e"], ["--devices", "0"], ["--top", "2"],
                        ["--print-summary"], ["-u", "ms"], ["--demangling", "off"], ["--stats"]):  # fmt: skip
            ran = subprocess.run([GPUPROF, "-i", profile, *options], capture_output=True, text=True, check=True)  # fmt: skip
            self.assertEqual(self.page(profile, *options), ran.stderr)

    @asan
    def test_nothing_in_a_file_steers_the_terminal(self):
        profile = self.changed(
            ("UPDATE StringTable SET display = ?1, demangled = ?1, value = ?1", HOSTILE)
        )
        text = self.page(profile)
        self.assertNotRegex(text, "[\x00-\x09\x0b-\x1f\u202e]")
        self.assertLessEqual(max(map(len, text.splitlines())), 80)

    @asan
    def test_large_and_odd_files(self):
        """Many records: findings take long, so that the account of the run has to do."""
        table = "CUPTI_ACTIVITY_KIND_RUNTIME"
        profile = self.changed(
            (f"UPDATE {table} SET _id_ = 4000000 WHERE _id_ = (SELECT max(_id_) FROM {table})",)
        )
        text = self.page(profile)
        self.assertNotIn("Findings", text)
        self.assertRegex(
            text, r"^NVIDIA H200 \(0\) is hardly used: of the 3[.]758 s from its first work"
        )
        kernels = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"
        two = self.page(self.changed((f"UPDATE {kernels} SET deviceId = 1 WHERE _id_ % 2",)))
        self.assertRegex(two, "(?m)^GPU 0 .*%$")
        self.assertRegex(two, "(?m)^GPU 1 .*%$")
        tables = ("MEMCPY", "MEMSET", "CONCURRENT_KERNEL", "RUNTIME", "DRIVER")
        empty = self.changed(*[(f"DELETE FROM CUPTI_ACTIVITY_KIND_{table}",) for table in tables])
        self.assertIn("No kernels were profiled.", self.page(empty))
        old = self.folder / "nvprof.sqlite"
        subprocess.run([GPUPROF, "export", "-q", "--for", "nvprof", "-f", "-o", old,
                        self.profiles["two_processes"]], check=True)  # fmt: skip
        self.assertIn("GPU work of the run", self.page(old))


if __name__ == "__main__":
    unittest.main()
