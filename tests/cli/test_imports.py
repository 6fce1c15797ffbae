"""Reports of a stored profile: log files, layouts, filters, bad files."""
# ctest-labels: plain

import json
import os
import pathlib
import re
import signal
import sqlite3
import subprocess
import tempfile
import unittest

from command_line import SOURCE, CommandLine
from fake_run import GPUPROF
from terminal import on_a_terminal


class Output(CommandLine):
    def log(self, name, *arguments, **environment):
        ran = self.imported("--log-file", name, *arguments, **environment)
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", ""))

    def test_standard_channels(self):
        summary = self.summary()
        ran = self.imported("--log-file", "%1")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, summary, ""))
        ran = self.imported("--log-file", "%2")
        self.assertEqual((ran.returncode, ran.stdout, ran.stderr), (0, "", summary))

    def test_placeholders(self):
        summary = self.summary()
        with tempfile.TemporaryDirectory() as folder:
            self.log(f"{folder}/%q{{GPENV}}-%h-%%-%p.txt", GPENV="value")
            (file,) = pathlib.Path(folder).iterdir()
            self.assertRegex(file.name, rf"^value-{re.escape(os.uname().nodename)}-%-\d+\.txt$")
            self.assertEqual(file.read_text(), summary)

    def test_log_is_replaced(self):
        file, other = self.folder / "log.txt", self.folder / "other.txt"
        for begin in ("======== ", "==1234== ", "gpuprof: ", '{"version":1,"tables":[', '"table",'):
            with self.subTest(begin=begin):
                file.write_text(begin + "x" * 10_000)
                other.unlink(missing_ok=True)
                other.hardlink_to(file)
                self.log(file)
                self.assertEqual(file.read_text(), self.summary())
                self.assertEqual(other.read_text(), begin + "x" * 10_000)
        # Logs written by this gpuprof, in every layout.
        for layout in ([], ["--csv"], ["--json"], ["--json", "--print-api-trace"],
                       ["--csv=plain"], ["--print-gpu-trace"]):  # fmt: skip
            with self.subTest(layout=layout):
                self.log(file, *layout)
                self.log(file, *layout)
        file.write_text("")
        self.log(file)
        self.assertEqual(file.read_text(), self.summary())

    def test_nothing_but_a_log_is_replaced(self):
        contents = {
            "profile": (self.folder / "db.sqlite").read_bytes(),
            "capture": (SOURCE / "tests/captures/die.gpcap").read_bytes()[:4096],
            "program": b"\x7fELF" + bytes(100), "script": b"#!/bin/sh\necho\n",
            "notes.txt": b"x" * 10_000, "trace.json": b'{"traceEvents": []}',
            "almost": b"==12x== ", "database": b"SQLite format 3\0" + bytes(100),
        }  # fmt: skip
        for name, content in contents.items():
            file = self.folder / name
            file.write_bytes(content)
            for words in ([], ["-f"], ["--csv"]):
                with self.subTest(name=name, words=words):
                    ran = self.imported("--log-file", name, *words)
                    self.check(ran, 21, f"======== Error: can't open log file \"{name}\": "
                                        f"{name} holds something else\n")  # fmt: skip
                    self.assertEqual(file.read_bytes(), content)
        self.assertEqual(sorted(each.name for each in self.folder.iterdir()
                                if each.name.startswith(".")), [])  # fmt: skip

    def test_what_is_read_is_kept(self):
        profile = self.folder / "db.sqlite"
        before = profile.read_bytes()
        (self.folder / "hard").hardlink_to(profile)
        (self.folder / "folder").mkdir(exist_ok=True)
        for name in ("db.sqlite", "./db.sqlite", "folder/../db.sqlite", profile, "hard"):
            with self.subTest(name=name):
                self.assertEqual(self.imported("--log-file", name).returncode, 21)
                self.assertEqual(profile.read_bytes(), before)

    def test_no_link_is_followed(self):
        for name, content in (("old.txt", "======== old\n"), ("empty", ""), ("notes", "notes")):
            with self.subTest(name=name):
                (self.folder / name).write_text(content)
                link = self.folder / f"link-{name}"
                link.symlink_to(name)
                ran = self.imported("--log-file", link)
                self.assertEqual(ran.returncode, 21)
                self.assertIn("it is a link to a file", ran.stderr)
                self.assertEqual((self.folder / name).read_text(), content)
        self.assertEqual(self.imported("--log-file", self.folder).returncode, 21)

    def test_log_stays_when_there_is_none_to_take_its_place(self):
        file = self.folder / "old.txt"
        file.write_text("======== old\n")
        for words in (["-i", "missing.sqlite"], ["-i", "old.txt"], ["replay", "missing.gpcap"]):
            with self.subTest(words=words):
                ran = subprocess.run([GPUPROF, *words, "--log-file", "old.txt"], cwd=self.folder,
                                     capture_output=True, check=False, timeout=60)  # fmt: skip
                self.assertEqual(ran.returncode, 20)
                self.assertEqual(file.read_text(), "======== old\n")

    def test_standard_output_by_its_path(self):
        """If it were reopened, output to a file would start at its beginning."""
        with open(self.folder / "out", "wb") as out:
            out.write(b"before\n")
            out.flush()
            for channel in ("/dev/stdout", "/dev/stderr"):
                subprocess.run([GPUPROF, "-i", "db.sqlite", "--log-file", channel], check=True,
                               cwd=self.folder, stdout=out, stderr=out, timeout=60)  # fmt: skip
        self.assertEqual((self.folder / "out").read_text(), "before\n" + 2 * self.summary())

    def test_quiet(self):
        file = self.folder / "quiet.txt"
        self.log(file, "--quiet")
        self.assertEqual(file.read_text(), "")

    def test_log_file_that_cannot_be_made(self):
        ran = self.imported("--log-file", "/no/such/folder/x")
        self.check(ran, 21, "======== Error: can't open log file \"/no/such/folder/x\": "
                            "No such file or directory\n")  # fmt: skip

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_log_file_on_a_full_disk(self):
        ran = self.imported("--log-file", "/dev/full")
        self.assertEqual(ran.returncode, 21)
        self.assertRegex(ran.stderr, "^gpuprof: the log file cannot be written: .*space")

    def test_replay_keeps_its_capture(self):
        capture = self.folder / "run.gpcap"
        capture.write_bytes((SOURCE / "tests/captures/vector_add.gpcap").read_bytes())
        before = capture.read_bytes()
        (self.folder / "hard.gpcap").hardlink_to(capture)
        (self.folder / "soft.gpcap").symlink_to(capture)
        (self.folder / "folder").mkdir(exist_ok=True)
        for name in ("run.gpcap", "folder/../run.gpcap", capture, "hard.gpcap", "soft.gpcap"):
            for force in ([], ["-f"]):
                with self.subTest(name=name, force=force):
                    ran = subprocess.run(
                        [GPUPROF, "replay", "run.gpcap", *force, "-o", name], cwd=self.folder,
                        capture_output=True, text=True, check=False, timeout=60)  # fmt: skip
                    self.check(ran, 21, "gpuprof: -o names the file that is read\n"
                                        "  choose another name\n")  # fmt: skip
                    self.assertEqual(capture.read_bytes(), before)
        # Another capture may be replaced, and a name with %p never names the one being read.
        (self.folder / "other.gpcap").write_bytes(before)
        for name in ("other.gpcap", "run-%p.sqlite"):
            subprocess.run([GPUPROF, "replay", "run.gpcap", "-f", "-q", "-o", name], check=True,
                           cwd=self.folder, timeout=60)  # fmt: skip
        self.assertTrue((self.folder / "other.gpcap").read_bytes().startswith(b"SQLite"))

    def test_json_goes_to_stdout(self):
        ran = self.imported("--json")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("vectorAdd", json.dumps(json.loads(ran.stdout)))
        self.log("log.json", "--json")
        self.assertEqual((self.folder / "log.json").read_text(), ran.stdout)

    def on_a_terminal(self, **environment):
        code, text = on_a_terminal(
            [GPUPROF, "-i", "db.sqlite", "--nvprof"], cwd=self.folder,
            env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, **environment},
        )  # fmt: skip
        self.assertEqual(code, 0)
        return text

    def test_colour_on_a_terminal_only(self):
        summary = self.summary()
        self.assertNotIn("\033", summary)
        coloured = self.on_a_terminal(TERM="xterm")
        self.assertIn("\033[", coloured)
        self.assertEqual(re.sub("\033\\[[0-9;]*m", "", coloured), summary)
        self.assertEqual(self.on_a_terminal(TERM="dumb"), summary)
        self.assertEqual(self.on_a_terminal(TERM="xterm", NO_COLOR="1"), summary)

    def test_reader_that_has_seen_enough(self):
        database = sqlite3.connect(self.folder / "many.sqlite")
        database.executescript(self.sql)
        table = "CUPTI_ACTIVITY_KIND_RUNTIME"
        columns = [row[1] for row in database.execute(f"PRAGMA table_info({table})")]
        others = ", ".join(column for column in columns if column != "_id_")
        with database:
            for _ in range(15):
                database.execute(f"INSERT INTO {table}({others}) SELECT {others} FROM {table}")
        database.close()
        for ignored in (False, True):
            process = subprocess.Popen(
                [GPUPROF, "-i", "many.sqlite", "--print-api-trace"], cwd=self.folder,
                stderr=subprocess.PIPE, restore_signals=not ignored,
            )  # fmt: skip
            self.assertIn(b"Profiling result", process.stderr.readline())
            process.stderr.close()
            self.assertEqual(process.wait(timeout=60), 128 + signal.SIGPIPE)

    def test_filters(self):
        def kernels(*arguments):
            return "vectorAdd" in self.imported("--print-gpu-summary", *arguments).stderr

        self.assertTrue(kernels("--kernels", "^vector.*d"))
        self.assertFalse(kernels("--kernels", "^ector"))
        self.assertTrue(kernels("--devices", "0"))
        self.assertTrue(kernels("--devices", "all"))
        self.assertTrue(kernels("--to", "1s"))
        self.assertTrue(kernels("--from", "0.0000s", "--to", "2000000ns"))
        self.assertFalse(kernels("--from", "1"))
        self.assertFalse(kernels("--from", "900ms"))

    def test_filters_that_leave_nothing_say_so(self):
        def warnings(*arguments):
            text = self.imported("--print-gpu-summary", *arguments).stderr
            return re.findall("Warning: (.*)", text)

        self.assertEqual(warnings("--kernels", "VECTOR"), [
            'None of 1 kernel has "VECTOR" in its name; case matters, unless it begins with (?i).'
        ])  # fmt: skip
        self.assertEqual(warnings("--kernels", "(?i)VECTOR"), [])
        (late,) = warnings("--from", "1000s")
        self.assertRegex(
            late,
            r"^--from left out all of \d+ records? of GPU work, which begin from \S+ to \S+\.$",
        )
        self.assertEqual(warnings("--from", "0"), [])

    def test_devices_that_are_not_there(self):
        for devices in ("7", "0,7"):
            self.check(self.imported("--devices", devices), 5,
                       "gpuprof: there is no device 7 in this profile\n  it has 0\n")  # fmt: skip

    def test_replay_has_the_reports_of_an_import(self):
        capture = SOURCE / "tests/captures/vector_add.gpcap"
        file = self.folder / "replayed.sqlite"
        options = ["--print-gpu-summary", "--csv", "-u", "us"]
        direct = self.run_gpuprof("replay", capture, *options)
        both = self.run_gpuprof("replay", capture, "-f", "-o", file, *options)
        stored = self.run_gpuprof("-i", file, *options)
        self.assertEqual((direct.returncode, direct.stderr), (0, stored.stderr))
        self.assertEqual(both.stderr.splitlines()[:-1], stored.stderr.splitlines())
        self.assertIn("nothing lost", both.stderr)


class BadFiles(CommandLine):
    """nvprof's exit code is 0 for most of these, with an empty report or none."""

    def check_refused(self, name, *words):
        ran = self.run_gpuprof("-i", name)
        self.assertEqual(ran.returncode, 20, ran.stderr)
        self.assertNotIn("Profiling result", ran.stderr)
        for word in (name, *words):
            self.assertIn(word, ran.stderr)
        quiet = self.run_gpuprof("-i", name, "--quiet")
        self.assertEqual((quiet.returncode, quiet.stderr), (20, ran.stderr))

    def database(self, name, sql=""):
        path = self.folder / name
        database = sqlite3.connect(path)
        database.executescript(self.sql + ";" + sql)
        database.close()
        return path

    def test_no_database(self):
        (self.folder / "text.txt").write_text("This is no database.\n" * 100)
        self.check_refused("text.txt", "not an SQLite database")

    def test_folder(self):
        (self.folder / "adir").mkdir()
        self.check_refused("adir", "folder")

    def test_empty_file(self):
        (self.folder / "emptyfile").touch()
        self.check_refused("emptyfile", "empty")

    def test_database_of_somebody_else(self):
        database = sqlite3.connect(self.folder / "blank.sqlite")
        database.execute("CREATE TABLE t(a)")
        database.close()
        self.check_refused("blank.sqlite", "not a profile")

    def test_other_versions(self):
        for version in (-1, 0, 7, 19):
            name = f"v{version}.sqlite"
            self.database(name, f"UPDATE Version SET version = {version}")
            self.check_refused(name, f"Version {version}")

    def test_no_version(self):
        self.database("nover.sqlite", "DELETE FROM Version")
        ran = self.run_gpuprof("-i", "nover.sqlite")
        self.assertEqual(ran.returncode, 0)
        warning, report = ran.stderr.split("\n", 1)
        self.assertRegex(warning, "^======== Warning: .*Version")
        self.assertEqual(report, self.summary())

    def test_write_ahead_log(self):
        path = self.database("wal.sqlite", "PRAGMA journal_mode = WAL")
        before = path.read_bytes()
        self.assertEqual(before[18:20], b"\x02\x02")
        self.check(self.run_gpuprof("-i", "wal.sqlite"), 0, self.summary())
        self.assertEqual(path.read_bytes(), before)

    def test_truncated(self):
        path = self.database("whole.sqlite")
        whole = path.read_bytes()
        (self.folder / "trunc.sqlite").write_bytes(whole[: len(whole) * 3 // 4])
        ran = self.run_gpuprof("-i", "trunc.sqlite")
        self.assertEqual(ran.returncode, 20)
        self.assertRegex(ran.stderr, "^======== Warning: trunc.sqlite is truncated")
        self.assertEqual(ran.stderr.count("Profiling result"), 1)

    def test_file_that_is_missing(self):
        ran = self.run_gpuprof("-i", "/no/such.sqlite")
        self.check(ran, 20, "gpuprof: /no/such.sqlite: No such file or directory\n")


if __name__ == "__main__":
    unittest.main()
