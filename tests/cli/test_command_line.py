"""The command line: nvprof's options and grammar."""
# ctest-labels: plain

import os
import re
import unittest

from command_line import BOTH, MORE, NVPROF, SOURCE, CommandLine, invalid


class Grammar(CommandLine):
    def test_every_option_of_nvprof_is_known(self):
        options = [line.split() for line in NVPROF.strip().splitlines()]
        self.assertEqual(len({name for name, *_ in options}), 82)
        for name, value, code in options:
            with self.subTest(option=name):
                ran = self.imported(name, *([] if value == "-" else [value]))
                self.assertEqual(ran.returncode, int(code), ran.stderr)
                self.assertNotIn("invalid option", ran.stderr)
                # An invalid value, and a missing one.
                if value != "-":
                    self.assertIn(
                        "Missing argument for option : " + name, self.imported(name).stderr
                    )

    def test_values_are_checked(self):
        for option, value in (
            ("--profile-from-start", "maybe"), ("--concurrent-kernels", "ON"),
            ("--profile-api-trace", "both"), ("--pc-sampling-period", "4"),
            ("--pc-sampling-period", "32"), ("--cpu-profiling-frequency", "501"),
            ("--cpu-profiling-percentage-threshold", "101"), ("--device-buffer-size", "0"),
            ("--device-buffer-size", "8MB"), ("--replay-mode", "off"), ("--trace", "gpu,foo"),
            ("--timeout", "1s"), ("--annotate-mpi", "on"), ("--context-name", "%x"),
            ("--process-name", "%i"), ("-u", "sec"),
        ):  # fmt: skip
            with self.subTest(option=option, value=value):
                self.check(self.imported(option, value), 5, invalid(value) + BOTH + MORE)

    def test_a_run_is_told_what_an_option_takes(self):
        for option, value, takes in (
            ("--profile-from-start", "maybe", "takes on or off"),
            ("--flush-period", "0", "takes a whole number from 1 to 60000"),
            ("--cupti", "/no/such/libcupti.so", "takes the path of a libcupti"),
        ):
            with self.subTest(option=option):
                ran = self.run_gpuprof(option, value, "true")
                self.check(ran, 5, invalid(value, f"{option} {takes}") + MORE)
        ran = self.run_gpuprof("--trace", "gpu,foo", "true")
        self.assertRegex(ran.stderr, "--trace takes gpu, api, .*, all\n")
        self.assertIn('======== "foo" is not one of these.\n', ran.stderr)
        self.assertNotIn("not one of these", self.run_gpuprof("--trace", "foo", "true").stderr)
        ran = self.run_gpuprof("--trace", "gpu,+api", "true")
        self.assertIn("--trace takes the whole list, or only what to add", ran.stderr)

    def test_own_options_are_told_always(self):
        for option, value, takes in (
            ("--top", "0", "takes a whole number from 1 on"),
            ("--from", "1h", "takes a time such as 1.5 or 1.5s, 20ms, 7us, 12ns, or nvtx:NAME"),
            ("--to", "s", "takes a time such as 1.5 or 1.5s, 20ms, 7us, 12ns, or nvtx:NAME"),
            ("--devices", "0,x", "takes all, or numbers of devices with commas between"),
        ):
            with self.subTest(option=option):
                ran = self.imported(option, value)
                self.check(ran, 5, invalid(value, f"{option} {takes}") + BOTH + MORE)

    def test_commands_take_a_window_in_one_way(self):
        for words in (["timeline"], ["report"], ["slice", "-o", "a"], ["export", "-o", "a.csv"]):
            for window, why in (
                (["--from", "1h"], "--from takes a time such as 1.5 or 1.5s, 20ms, 7us, 12ns, or nvtx:NAME"),
                (["--from", "2", "--to", "1"], "--from is not before --to"),
                (["--to", "1s", "--from", "1000ms"], "--from is not before --to"),
            ):  # fmt: skip
                with self.subTest(words=words, window=window):
                    ran = self.run_gpuprof(words[0], "no.sqlite", *words[1:], *window)
                    self.assertEqual((ran.returncode, ran.stderr), (5, f"gpuprof: {why}\n"))

    def test_numbers_of_commands_have_limits(self):
        for command, option, value, takes in (
            ("timeline", "--width", "39", "a number from 40 to 1000"),
            ("timeline", "--streams", "-1", "a number from 0 to 256"),
            ("annotate", "--top", "0", "a number from 1 on"),
            ("memory", "--top", "1x", "a number from 1 on"),
            ("view", "--port", "65536", "a number from 1 to 65535"),
            ("top", "--every", "nan", "seconds from 0.05 to 3600"),
        ):
            with self.subTest(command=command, option=option):
                ran = self.run_gpuprof(command, "no.sqlite", option, value)
                self.assertEqual(
                    (ran.returncode, ran.stderr), (5, f"gpuprof: {option} takes {takes}\n")
                )

    def test_regular_expression_that_is_none(self):
        ran = self.imported("--kernels", "(vector")
        self.assertEqual(ran.returncode, 5)
        self.assertRegex(
            ran.stderr, r"invalid option : \(vector\n.*--kernels takes a regular expression: .+\n"
        )

    def test_value_behind_an_equals_sign(self):
        self.check(self.run_gpuprof("--import-profile=db.sqlite"), 0, self.summary())
        mangled = self.imported("--demangling=off")
        self.check(mangled, 0, self.imported("--demangling", "off").stderr)
        self.assertIn("_Z", mangled.stderr)
        self.check(self.imported("--csv=1"), 5, invalid("--csv=1") + BOTH + MORE)
        missing = "======== Error: Missing argument for option : --log-file\n"
        self.check(self.imported("--log-file="), 5, missing + BOTH + MORE)

    def test_nothing_has_to_follow(self):
        missing = "======== Error: Missing argument for option : -o\n"
        self.check(
            self.run_gpuprof("-o", "-f"), 6,
            missing + "======== Error: missing command-line arguments.\n",
        )  # fmt: skip

    def test_letters_in_one_word(self):
        self.check(self.run_gpuprof("-fsi", "db.sqlite"), 0, self.summary())
        self.check(self.run_gpuprof("-fsZ", "db.sqlite"), 5, invalid("Z") + MORE)
        self.check(self.run_gpuprof("-"), 5, invalid("-") + MORE)

    def test_close_names_are_suggested(self):
        for word, meant in (
            ("--print-gpu-tarce", "--print-gpu-trace"), ("--cvs", "--csv"),
            ("--ouput-profile", None), ("--no-such-option", None), ("--print-gpu-t", None),
            ("--demanglng=off", "--demangling"), ("--foo", None), ("--tpo", "--top"),
        ):  # fmt: skip
            with self.subTest(word=word):
                hint = [f'Did you mean "{meant}"?'] if meant else []
                self.check(self.run_gpuprof(word), 5, invalid(word, *hint) + MORE)

    def test_old_name_of_the_output_file(self):
        ran = self.imported("--output-profile", "x.sqlite")
        self.assertIn("Can't export profile while importing a profile.", ran.stderr)

    def test_reports_that_exclude_one_another(self):
        either = "Use either the print summary options or the print trace options."
        for both in (["-s", "--print-gpu-trace"], ["--print-api-summary", "--print-api-trace"]):
            self.check(self.imported(*both), 5, f"======== Error: {either}\n" + MORE)
            replayed = self.run_gpuprof("replay", self.capture(), *both)
            self.check(replayed, 5, f"======== Error: {either}\n")

    def test_our_summary_stands_beside_a_trace(self):
        ran = self.imported("--print-gpu-trace", "--print-nvtx-summary")
        self.assertEqual(ran.returncode, 0, ran.stderr)
        trace = self.imported("--print-gpu-trace", "--demangling", "modern").stderr
        summary = self.imported("--print-nvtx-summary").stderr
        self.assertEqual(ran.stderr, trace + "\n" + summary)

    def test_options_that_make_no_sense_together(self):
        for words, why in (
            (["--print-gpu-trace", "--top", "3"], "--top is for summaries; a trace has all rows."),
            (["--csv", "--json"], "Use one of --csv, --csv=plain and --json."),
            (["--json", "--csv"], "Use one of --csv, --csv=plain and --json."),
            (["--csv", "--csv=plain"], "Use one of --csv, --csv=plain and --json."),
            (["--from", "3", "--to", "2"], "--from is not before --to."),
            (["--from", "2", "--to", "2"], "--from is not before --to."),
        ):
            with self.subTest(words=words):
                self.check(self.imported(*words), 5, f"======== Error: {why}\n" + MORE)
                self.check(self.run_gpuprof("replay", self.capture(), *words), 5,
                           f"======== Error: {why}\n")  # fmt: skip
        self.assertEqual(
            self.imported("--print-gpu-trace", "--print-nvtx-summary", "--top", "3").returncode, 0
        )

    def test_one_file_is_read(self):
        two = "======== Error: -i takes one file, and is given two.\n"
        for words in (["-i", "other.sqlite"], ["--import-profile=a", "-i", "db.sqlite"]):
            self.check(self.imported(*words), 5, two + MORE)
        self.check(self.imported("-i", "db.sqlite"), 0, self.summary())  # as nvprof does
        self.assertEqual(self.imported("-u", "ms", "-u", "us").returncode, 0)

    def test_synonyms_of_commands_are_no_programs(self):
        program = self.folder / "diff"
        program.write_text("#!/bin/sh\necho ran $*\n")
        program.chmod(0o755)
        self.addCleanup(program.unlink)
        path = f"{self.folder}:{os.environ['PATH']}"
        ran = self.run_gpuprof("compare", "a b", PATH=path)
        self.assertEqual((ran.returncode, ran.stdout), (5, ""))
        self.assertIn("gpuprof: there is no command compare\n", ran.stderr)
        self.assertIn("gpuprof -- compare 'a b', or ./compare", ran.stderr)
        # A path is not one of them, and after -- comes a program.
        for words in (("./diff", "a"), ("--", "diff", "a"), ("-q", "./diff", "a")):
            with self.subTest(words=words):
                ran = self.run_gpuprof(*words, PATH=path)
                self.assertEqual((ran.returncode, ran.stdout), (0, "ran a\n"), ran.stderr)

    def test_nothing_at_all(self):
        ran = self.run_gpuprof()
        self.assertEqual((ran.returncode, ran.stdout), (3, ""))
        self.assertIn("gpuprof [options] PROGRAM [arguments]", ran.stderr)
        self.assertIn("gpuprof --help", ran.stderr)

    def test_words_that_are_no_programs(self):
        for word, meant in (("inof", "gpuprof info"), ("slcie", "gpuprof slice"),
                            ("version", "gpuprof --version"), ("stats", "gpuprof -i FILE"),
                            ("no_such_thing", None)):  # fmt: skip
            with self.subTest(word=word):
                ran = self.run_gpuprof(word)
                self.assertEqual(ran.returncode, 13)
                self.assertIn(f"======== Error: application not found: {word}\n", ran.stderr)
                lines = re.findall("Did you mean .*", ran.stderr)
                self.assertEqual(lines, [f'Did you mean "{meant}"?'] if meant else [])

    def test_profiles_that_are_run(self):
        for file, command in (("db.sqlite", "gpuprof -i db.sqlite "),
                              ("./db.sqlite", "gpuprof -i ./db.sqlite "),
                              (self.capture(), "gpuprof replay ")):  # fmt: skip
            with self.subTest(file=file):
                ran = self.run_gpuprof(file)
                self.assertEqual(ran.returncode, 13)
                self.assertIn(command, ran.stderr)

    def capture(self):
        return SOURCE / "tests/captures/vector_add.gpcap"

    def test_options_that_are_replaced(self):
        for words, by in (
            (["--analysis-metrics"], "--metrics"),
            (["--aggregate-mode", "off"], ".sum"),
            (["--cpu-thread-tracing", "on"], "strace"),
            (["--profile-all-processes"], "gpuprof -o"),
        ):
            with self.subTest(words=words):
                ran = self.run_gpuprof(*words, "true")
                self.assertEqual(ran.returncode, 5)
                line = rf"^======== Error: {words[0]}: .*{re.escape(by)}.*\n$"
                self.assertRegex(ran.stderr, line)

    def test_subcommands_have_their_own_errors(self):
        ran = self.run_gpuprof("replay", "--no-such-option", self.capture())
        self.assertEqual(ran.returncode, 5)
        self.assertIn("see gpuprof replay --help", ran.stderr)
        ran = self.run_gpuprof("replay", self.capture(), "-u", "parsec")
        self.assertEqual(ran.returncode, 5)
        self.assertIn("takes s, ms, us, ns, col or auto", ran.stderr)

    def test_close_names_of_options_of_subcommands(self):
        for words, meant in ((["info", "db.sqlite", "--jsn"], "did you mean --json? see gpuprof info"),
                             (["slice", "db.sqlite", "--form=1s"], "did you mean --from? see"),
                             (["timeline", "db.sqlite", "--xyzzy"], "  see gpuprof timeline"),
                             (["query", "db.sqlite", "kernels", "--cvs"], "did you mean --csv? see"),
                             (["export", "db.sqlite", "--exprt-profile", "x"],
                              "did you mean --export-profile? see")):  # fmt: skip
            with self.subTest(words=words):
                ran = self.run_gpuprof(*words)
                self.assertEqual(ran.returncode, 5)
                self.assertIn(meant, ran.stderr)


if __name__ == "__main__":
    unittest.main()
