"""Defaults from a configuration file and the environment."""
# ctest-labels: plain

import os
import pathlib
import re
import subprocess
import unittest

from fake_run import CUPTI, GPUPROF, FakeTest, has_other_users

SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
CAPTURE = SOURCE / "tests/captures/vector_add.gpcap"


class Config(FakeTest):
    def setUp(self):
        super().setUp()
        self.config = self.folder / "config.toml"
        # Like a user's environment: without the variables of the tests.
        self.home = self.folder / "home"
        self.home.mkdir()
        self.user = {**self.environment({}), "HOME": str(self.home)}
        for name in ("GPUPROF_NO_CONFIG", "XDG_CONFIG_HOME"):
            self.user.pop(name, None)

    def run_gpuprof(self, *words, **environment):
        return subprocess.run(
            [GPUPROF, *map(str, words)], cwd=self.folder, capture_output=True, text=True,
            env={**self.user, **environment}, timeout=60)  # fmt: skip

    def good(self, *words, **environment):
        ran = self.run_gpuprof(*words, **environment)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran

    def refused(self, text, *lines):
        self.config.write_text(text)
        ran = self.run_gpuprof("--config", self.config, "true")
        self.assertEqual((ran.returncode, ran.stderr.splitlines()),
                         (5, [f"gpuprof: {self.config}:{lines[0]}", *lines[1:]]), text)  # fmt: skip

    def recorded(self, *words, **environment):
        """Records a program with the stand-ins; `words` come before the usual arguments."""
        return self.good(*words, "--cupti", CUPTI, "-f", "-o", self.output, self.program("hello"),
                         **environment)  # fmt: skip

    def groups(self, *words, **environment):
        """The groups of --trace that a run of a program has."""
        self.recorded(*words, **environment)
        return self.database().run()["trace_groups"]

    def test_file_then_environment_then_command_line(self):
        self.config.write_text('trace = "gpu"\n')
        with_file = ["--config", self.config]
        self.assertEqual(self.groups(*with_file), "gpu")
        self.assertEqual(self.groups(*with_file, GPUPROF_TRACE="gpu,nvtx"), "gpu,nvtx")
        # A given value replaces the default; nothing is added to it.
        self.assertEqual(self.groups(*with_file, "--trace", "nvtx", GPUPROF_TRACE="gpu"), "nvtx")
        self.assertEqual(self.groups("--trace=nvtx", *with_file), "nvtx")
        self.assertEqual(self.groups(GPUPROF_TRACE="gpu", GPUPROF_CONFIG=str(self.config)), "gpu")
        self.assertEqual(self.groups(GPUPROF_CONFIG=str(self.config)), "gpu")
        # Empty variables do not count, nor do those that are not options.
        everything = self.groups()
        self.assertIn("memory", everything)
        self.assertEqual(
            self.groups(GPUPROF_TRACE="", GPUPROF_CONFIG="", GPUPROF_METRICS="x", GPUPROF_NO="1",
                        GPUPROF_EXPORT_PROFILE="/no/such/x"), everything)  # fmt: skip

    def test_no_config(self):
        self.config.write_text('trace = "gpu"\n')
        named = {"GPUPROF_CONFIG": str(self.config), "GPUPROF_FLUSH_PERIOD": "wrong"}
        everything = self.groups()
        self.assertEqual(self.groups("--no-config", **named), everything)
        self.assertEqual(self.groups(GPUPROF_NO_CONFIG="1", **named), everything)
        self.assertEqual(
            self.groups("--config", self.config, GPUPROF_NO_CONFIG="1"), "gpu")  # fmt: skip

    def test_where_a_user_has_it(self):
        def write(folder, trace):
            (folder / "gpuprof").mkdir(parents=True)
            (folder / "gpuprof/config.toml").write_text(f'trace = "{trace}"\n')

        write(self.home / ".config", "gpu")
        self.assertEqual(self.groups(), "gpu")
        write(self.folder / "xdg", "nvtx")
        self.assertEqual(self.groups(XDG_CONFIG_HOME=str(self.folder / "xdg")), "nvtx")
        # This folder has none.
        self.assertIn("api", self.groups(XDG_CONFIG_HOME=str(self.folder / "none")))

    def test_nothing_of_the_working_directory_is_read(self):
        for name in ("config.toml", "gpuprof.toml", "gpuprof/config.toml",
                     ".config/gpuprof/config.toml", ".gpuprof/config.toml"):  # fmt: skip
            file = self.folder / name
            file.parent.mkdir(exist_ok=True, parents=True)
            file.write_text('trace = "gpu"\n')
        for environment in ({}, {"HOME": ""}, {"HOME": "."}, {"XDG_CONFIG_HOME": "."},
                            {"XDG_CONFIG_HOME": "", "HOME": ".config"}):  # fmt: skip
            with self.subTest(environment=environment):
                self.assertIn("api", self.groups(**environment))

    def test_values(self):
        self.config.write_text(
            "# what I want\n"
            "\n"
            'trace = [ "gpu",   # a list\r\n'
            "  'nvtx', ]\r\n"
            "quiet = true  # a flag\n"
            "track-memory-allocations = true\n"
            'profile-api-trace="none"\n'
            "stacks = 'off'\n"
            "host-samples = 400\n"
            "flush-period = 100\n"
            "log-file = '%1'\n"
            'process-name = "a \\"b\\" \\\\ #c"'
        )
        named = {"GPUPROF_CONFIG": str(self.config)}
        self.assertEqual(self.recorded(**named).stderr, "")
        database = self.database()
        self.assertEqual(database.run()["trace_groups"], "gpu,nvtx,memory")
        self.assertEqual(
            database.one("SELECT value FROM StringTable WHERE value LIKE 'a %'"), 'a "b" \\ #c'
        )
        # The environment overrides a flag in the file.
        ran = self.recorded(GPUPROF_QUIET="off", **named)
        self.assertIn("records", ran.stdout)

    def test_what_a_file_has_wrong(self):
        for text, *lines in (
            ('\n\ntrce = "gpu"\n', '3: there is no option "trce"', '  did you mean "trace"?'),
            ("no-such-thing = 1\n", '1: there is no option "no-such-thing"',
             "  gpuprof --help all lists them"),
            ("trace = gpu\n", "1: trace takes a text in quotes, a number, true or false"),
            ('trace = "gpu\n', "1: trace: the quotes do not end"),
            ('trace = "g\\u0070u"\n',
             "1: trace: in double quotes \\ must be followed by \\ or \"; "
             "single quotes allow everything"),
            ('trace = ["gpu"\n', "2: trace: there is no ']'"),
            ('trace = ["gpu" "api"]\n', "1: trace: there is no ','"),
            ("trace\n", "1: trace: there is no '='"),
            ("quiet = true false\n", "1: quiet: something follows the value"),
            ("quiet = true\nquiet = true\n", "2: quiet is there twice"),
            ("[collect]\n", "1: sections mean nothing here"),
            ("= 1\n", "1: this is not the name of an option"),
            ('quiet = "maybe"\n', "1: quiet takes true or false"),
            ("trace = ''\n", "1: trace takes a value"),
            ("stacks = 'on top'\n", "1: stacks: on top is wrong; it takes launches, off or nothing"),
            ("quiet = true\nflush-period = 0\n",
             "2: flush-period: 0 is wrong; it takes a whole number from 1 to 60000"),
            ("concurrent-kernels = 'maybe'\n",
             "1: concurrent-kernels: maybe is wrong; it takes on or off"),
            ("annotate-mpi = 'off'\n", "1: annotate-mpi has no place in a configuration file",
             "  not yet in this version: MPI calls have no ranges"),
        ):  # fmt: skip
            with self.subTest(text=text):
                self.refused(text, *lines)

    def test_what_one_call_is_to_do_is_no_default(self):
        for name in ("export-profile", "import-profile", "save-capture", "print-gpu-trace", "kernels",
                     "from", "metrics", "events", "csv", "json", "top", "query-metrics", "help",
                     "version", "config", "no-config"):  # fmt: skip
            with self.subTest(name=name):
                self.refused(f"{name} = true\n", f"1: {name} has no place in a configuration file",
                             "  it says what one call is to do; give it to that call")  # fmt: skip

    def test_a_variable_that_is_wrong(self):
        ran = self.run_gpuprof("true", GPUPROF_FLUSH_PERIOD="soon")
        self.assertEqual((ran.returncode, ran.stderr), (
            5, "gpuprof: GPUPROF_FLUSH_PERIOD: soon is wrong; it takes a whole number from 1 to "
               "60000\n"))  # fmt: skip
        # It does not matter if it was not requested.
        self.good("--flush-period", "5", "true", GPUPROF_FLUSH_PERIOD="soon")
        self.good("--help", GPUPROF_FLUSH_PERIOD="soon")
        self.good("--version", GPUPROF_FLUSH_PERIOD="soon")

    def test_a_variable_that_is_misspelt(self):
        def told(*words, **environment):
            ran = self.good(*words, **environment)
            return [line for line in ran.stderr.splitlines() if "no effect" in line]

        output = ["-f", "-o", self.folder / "x.sqlite"]
        replay = ["replay", CAPTURE, *output]
        line = "gpuprof: GPUPROF_UMAKS (GPUPROF_UMASK?) has no effect"
        self.assertEqual(told(*replay, GPUPROF_UMAKS="022"), [line])
        self.assertEqual(told(*replay, GPUPROF_UMAKS="022", GPUPROF_TRACES="gpu"),
                         ["gpuprof: GPUPROF_TRACES (GPUPROF_TRACE?), GPUPROF_UMAKS "
                          "(GPUPROF_UMASK?) have no effect"])  # fmt: skip
        self.assertEqual(
            told("--cupti", CUPTI, *output, self.program("hello"), GPUPROF_UMAKS="022"), [line]
        )
        # Not requested, or somebody else's, or gpuprof's own.
        self.assertEqual(told(*replay, "--no-config", GPUPROF_UMAKS="022"), [])
        self.assertEqual(told(*replay, GPUPROF_HOME="/", GPUPROF_SOCKET="x", GPUPROF_="1"), [])
        self.assertEqual(told(*replay, "-q", GPUPROF_UMAKS="022"), [])

    def test_files_that_cannot_be_read(self):
        os.mkfifo(self.folder / "pipe")
        (self.folder / "large").write_bytes(b"#" * 2_000_000)
        (self.folder / "limit").write_bytes(b"#" * 65_536)
        os.symlink("/dev/zero", self.folder / "device")
        reasons = {
            "none": "No such file or directory", ".": "it is a folder",
            "pipe": "it is not a regular file", "device": "it is not a regular file",
            "large": "it is larger than 64 KiB",
        }  # fmt: skip
        if has_other_users():
            (self.folder / "theirs").write_text('cupti = "/tmp/evil.so"\n')
            os.chown(self.folder / "theirs", 65534, 65534)
            reasons["theirs"] = "it belongs to another user, with the id 65534"
        for name, why in reasons.items():
            with self.subTest(name=name):
                ran = self.run_gpuprof("--config", name, "true")
                self.assertEqual((ran.returncode, ran.stderr), (5, f"gpuprof: {name}: {why}\n"))
        self.good("replay", CAPTURE, "-q", "-o", "run.sqlite", "--config", "limit")
        # If it was not requested, that is reported and the command continues without it.
        usual = self.home / ".config/gpuprof/config.toml"
        usual.parent.mkdir(parents=True)
        for name, why in reasons.items():
            with self.subTest(usual=name):
                usual.unlink(missing_ok=True)
                usual.symlink_to(self.folder / name)
                ran = self.good("replay", CAPTURE, "-f", "-q", "-o", "run.sqlite")
                told = f"gpuprof: {usual} has no effect: {why}\n"
                self.assertEqual(ran.stderr, "" if name == "none" else told)

    def test_reports_and_commands_have_them_too(self):
        self.good("replay", CAPTURE, "-o", "run.sqlite")
        microseconds = self.good("-i", "run.sqlite", "-u", "us").stderr
        self.assertEqual(
            self.good("-i", "run.sqlite", GPUPROF_NORMALIZED_TIME_UNIT="us").stderr, microseconds
        )
        self.assertEqual(
            self.good("replay", CAPTURE, GPUPROF_NORMALIZED_TIME_UNIT="us").stderr.splitlines()[:9],
            self.good("replay", CAPTURE, "-u", "us").stderr.splitlines()[:9],
        )
        self.config.write_text('umask = "022"\nquiet = true\n')
        for words in (["replay", CAPTURE], ["slice", "run.sqlite", "--from", "0"],
                      ["truncate", "run.sqlite", "--keep", "gpu"]):  # fmt: skip
            with self.subTest(words=words):
                ran = self.good(*words, "-f", "-o", "part.sqlite", "--config", self.config)
                self.assertEqual((ran.stderr, ran.stdout), ("", ""))
                self.assertEqual((self.folder / "part.sqlite").stat().st_mode & 0o777, 0o644)
                ran = self.good(*words, "-f", "-o", "part.sqlite", "--umask", "077",
                                GPUPROF_CONFIG=str(self.config))  # fmt: skip
                self.assertEqual((self.folder / "part.sqlite").stat().st_mode & 0o777, 0o600)
                self.good(*words, "-f", "-o", "part.sqlite", "--no-config",
                          GPUPROF_CONFIG="/no/such")  # fmt: skip
        ran = self.run_gpuprof("replay", CAPTURE, "--config", "none")
        self.assertEqual((ran.returncode, ran.stderr),
                         (5, "gpuprof: none: No such file or directory\n"))  # fmt: skip

    def test_gpuprof_in_what_is_profiled(self):
        """Variables that gpuprof sets for its target are not defaults of a gpuprof in it, nor vice versa."""
        outer = ["--no-command-line", "-o", self.folder / "outer.sqlite"]
        with_inner = [*outer, "--cupti", CUPTI, GPUPROF]
        self.recorded(*with_inner, GPUPROF_TRACE="gpu")
        run = self.database().run()
        self.assertEqual(run["trace_groups"], "gpu")
        self.assertIn(str(self.output), run["gpuprof_command_line"])
        # If it is a default that is off, processes have theirs too.
        self.recorded(GPUPROF_NO_COMMAND_LINE="off")
        self.assertIn("hello", self.database().one("SELECT command_line FROM PROCESS"))
        self.recorded(GPUPROF_NO_COMMAND_LINE="on")
        self.assertIsNone(self.database().one("SELECT command_line FROM PROCESS"))
        self.assertNotIn("gpuprof_command_line", self.database().run())

    def test_variables_of_the_target_are_no_options(self):
        text = (SOURCE / "libprof/record/run.cpp").read_text()
        text += (SOURCE / "libprof/record/launch/environment.cpp").read_text()
        text += (SOURCE / "libprof/collect/process_facts.cpp").read_text()
        names = set(re.findall(r"GPUPROF_([A-Z_]+)", text))
        self.assertGreaterEqual(names, {"SOCKET", "HIDE_COMMAND_LINE"})
        for name in names:
            ran = self.run_gpuprof("--" + name.lower().replace("_", "-"))
            self.assertIn("Encountered invalid option", ran.stderr)


if __name__ == "__main__":
    unittest.main()
