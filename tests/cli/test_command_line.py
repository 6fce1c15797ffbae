"""The command line: nvprof's options and grammar, help, log files, files that are bad."""

import json
import os
import pathlib
import pty
import re
import shutil
import signal
import sqlite3
import subprocess
import tempfile
import unittest

from fake_run import GPUPROF, FakeTest, has_driver

SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])

# Every option of nvprof 11.8, with a value that it takes, and the exit code it then has beside -i.
NVPROF = """
--aggregate-mode on 0
--analysis-metrics - 5
--annotate-mpi off 0
--concurrent-kernels off 0
--continuous-sampling-interval 1 0
--cpu-thread-tracing off 0
--dependency-analysis - 0
--device-buffer-size 8 0
--device-cdp-buffer-size 8 0
--devices 0 0
--event-collection-mode kernel 0
--events all 5
-e all 5
--kernel-latency-timestamps off 0
--kernels vector 0
--metrics ipc 5
-m ipc 5
--pc-sampling-period 5 0
--profile-all-processes - 5
--profile-api-trace none 0
--profile-child-processes - 0
--profile-from-start on 0
--profiling-semaphore-pool-size 65536 0
--query-events - 5
--query-metrics - 5
--replay-mode disabled 0
--skip-kernel-replay-save-restore off 0
--source-level-analysis branch 5
-a branch 5
--system-profiling on 0
--timeout 5 0
-t 5 0
--trace gpu,api 0
--track-memory-allocations on 0
--unified-memory-profiling per-process-device 0
--cpu-profiling off 0
--cpu-profiling-explain-ccff file.xml 0
--cpu-profiling-frequency 500 0
--cpu-profiling-max-depth 0 0
--cpu-profiling-mode flat 0
--cpu-profiling-percentage-threshold 100 0
--cpu-profiling-scope instruction 0
--cpu-profiling-show-ccff on 0
--cpu-profiling-show-library on 0
--cpu-profiling-thread-mode separated 0
--cpu-profiling-unwind-stack off 0
--openacc-profiling on 0
--openmp-profiling off 0
--context-name c%i-%p 0
--csv - 0
--demangling off 0
--normalized-time-unit col 0
-u s 0
--openacc-summary-mode inclusive 0
--print-api-summary - 0
--print-api-trace - 0
--print-dependency-analysis-trace - 5
--print-gpu-summary - 0
--print-gpu-trace - 0
--print-openacc-constructs - 0
--print-openacc-summary - 0
--print-openacc-trace - 0
--print-openmp-summary - 0
--print-summary - 0
-s - 0
--print-summary-per-gpu - 0
--process-name p%p 0
--quiet - 0
--stream-name s%i 0
--export-profile out.sqlite 5
-o out.sqlite 5
--force-overwrite - 0
-f - 0
--import-profile db.sqlite 0
-i db.sqlite 0
--log-file log.txt 0
--print-nvlink-topology - 0
--print-pci-topology - 0
--help - 0
-h - 0
--version - 0
-V - 0
"""

BOTH = "======== Error: Cannot run an application and import a profile at the same time.\n"
MORE = '======== Use "gpuprof --help" to get more information.\n'


def invalid(word, *more):
    return f"======== Error: Encountered invalid option : {word}\n" + "".join(
        f"======== {line}\n" for line in more
    )


class CommandLine(unittest.TestCase):
    maxDiff = None

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-cli-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        golden = json.loads((SOURCE / "tests/golden/nvprof/errors.json").read_text())
        cls.sql = golden["database_sql"]
        database = sqlite3.connect(cls.folder / "db.sqlite")
        database.executescript(cls.sql)
        database.close()

    def run_gpuprof(self, *arguments, **environment):
        return subprocess.run(
            [GPUPROF, *map(str, arguments)], cwd=self.folder, capture_output=True, text=True,
            env={**os.environ, **environment}, timeout=60,
        )  # fmt: skip

    def imported(self, *arguments, **environment):
        return self.run_gpuprof("-i", "db.sqlite", *arguments, **environment)

    def summary(self):
        summary = self.imported()
        self.assertEqual(summary.returncode, 0, summary.stderr)
        self.assertIn("vectorAdd", summary.stderr)
        return summary.stderr

    def check(self, ran, code, stderr):
        self.assertEqual((ran.stderr, ran.returncode), (stderr, code))


class Grammar(CommandLine):
    def test_every_option_of_nvprof_is_known(self):
        options = [line.split() for line in NVPROF.strip().splitlines()]
        self.assertEqual(len({name for name, *_ in options}), 82)
        for name, value, code in options:
            with self.subTest(option=name):
                ran = self.imported(name, *([] if value == "-" else [value]))
                self.assertEqual(ran.returncode, int(code), ran.stderr)
                self.assertNotIn("invalid option", ran.stderr)
                # A value that is none, and one that is missing.
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
            (["--csv", "--json"], "Use either --csv or --json."),
            (["--json", "--csv"], "Use either --csv or --json."),
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


class Help(CommandLine):
    def help(self, *arguments):
        ran = self.run_gpuprof(*arguments)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def test_short_help(self):
        text = self.help("--help")
        self.assertEqual(text, self.help("-h"))
        self.assertEqual(text, self.help("-i", "db.sqlite", "--help"))
        self.assertEqual(text, self.help("help"))
        self.assertLess(text.count("\n"), 100)
        for words in ("gpuprof ./vector_add", "What to collect", "--print-gpu-trace", "replay"):
            self.assertIn(words, text)
        self.assertNotIn("--flush-period", text)

    def test_lines_are_not_too_long(self):
        for line in self.help("--help", "all").splitlines():
            self.assertLessEqual(len(line), 100, line)

    def not_yet(self, text):
        _, told = text.split("\nNot yet in this version\n")
        return set(re.findall("--[a-z-]+", told.split("\n\n")[0]))

    def test_everything(self):
        text = self.help("--help", "all")
        self.assertEqual(text, self.help("help", "all"))
        not_yet = self.not_yet(text)
        self.assertGreater(len(not_yet), 3)
        for line in NVPROF.strip().splitlines():
            name = line.split()[0]
            if name not in not_yet and name != "-a":
                self.assertRegex(text, rf"(?m)^  (-\w,)?{name}\b")
        # These are in no list of options, and say what they are when they are asked for.
        for name in not_yet:
            self.assertNotRegex(text, rf"(?m)^  (-\w,)?{name} .*  ")
            self.assertIn("(not yet in this version: ", self.help("help", name[2:]))
        self.assertIn("Exit codes", text)

    def test_groups_and_words(self):
        group = self.help("--help", "collect")
        self.assertIn("--flush-period", group)
        self.assertNotIn("--csv", group)
        matches = self.help("--help", "print-gpu")
        self.assertIn("--print-gpu-trace", matches)
        self.assertIn("--print-gpu-summary", matches)
        self.assertNotIn("--print-api-trace", matches)
        # An exact name is that option alone, however many others begin with it.
        for exact in ("--metrics", "metrics-", "-m"):
            self.assertNotIn("--csv", self.run_gpuprof("--help=" + exact).stdout)
        self.assertEqual(self.help("help", "print-summary").count("--print"), 1)
        # What does nothing yet is not among what a word is found in.
        self.assertIn("--system-profiling", self.help("help", "profiling"))
        self.assertNotIn("--cpu-profiling-frequency", self.help("help", "profiling"))
        self.assertIn("--save-capture", self.help("help", "replay"))

    def test_unknown_topic(self):
        ran = self.run_gpuprof("--help", "no-such-thing")
        self.assertEqual((ran.returncode, ran.stdout), (5, ""))
        self.assertIn("no-such-thing", ran.stderr)

    def test_version(self):
        self.assertRegex(
            self.help("--version"),
            r"^gpuprof \d+\.\d+\.\d+\ncommit (not known|[^ ]+), \w+ build, \w+ [\d.]+\n.*CUPTI.*\n$",
        )
        self.assertEqual(self.help("-V"), self.help("--version"))

    def test_man_page(self):
        page = self.help("man")
        self.assertTrue(page.startswith(".TH GPUPROF 1"))
        not_yet = self.not_yet(self.help("--help", "all"))
        for line in NVPROF.strip().splitlines():
            name = line.split()[0]
            if name != "-a":
                entry = re.escape(name.replace("-", "\\-"))
                there = re.search(rf"(?m)^(\\fB\\-\w\\fR, )?\\fB{entry}\\fR", page)
                self.assertEqual(bool(there), name not in not_yet, name)
        if shutil.which("groff"):
            ran = subprocess.run(
                ["groff", "-man", "-Tutf8", "-ww", "-z"], input=page, capture_output=True, text=True
            )
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))


class Sources(unittest.TestCase):
    """What a newcomer finds: a command is a file and a line, an option a row."""

    def text(self, pattern):
        return {file: file.read_text() for file in (SOURCE / "apps/gpuprof").glob(pattern)}

    def test_commands_are_in_the_list_and_nowhere_else(self):
        listed = re.findall(
            r"(?m)^  X\((\w+)\)", (SOURCE / "apps/gpuprof/command/list.cpp").read_text()
        )
        files = self.text("**/*.cpp")
        defined = [name for text in files.values()
                   for name in re.findall(r"(?m)^extern const Subcommand (\w+)\{", text)]  # fmt: skip
        self.assertCountEqual(listed, defined)
        for name in listed:
            self.assertEqual(
                sum(bool(re.search(rf"\b{name}\b", text)) for text in files.values()), 2, name
            )

    def test_an_option_is_in_one_file(self):
        rows = [name for text in self.text("option/*_options.cpp").values()
                for name in re.findall(r'\{\.name = "([\w-]+)"', text)]  # fmt: skip
        self.assertEqual(len(rows), len(set(rows)))
        self.assertGreater(len(rows), 60)

    def test_a_report_is_in_one_file(self):
        files = {path: re.sub("//.*", "", path.read_text()) for folder in ("apps", "libprof")
                 for path in (SOURCE / folder).glob("**/*.?pp")}  # fmt: skip
        folder = SOURCE / "libprof/report/reports"
        options = []
        for file in folder.glob("*.cpp"):
            self.assertEqual(
                re.findall(r"(?m)^extern const Report (\w+)\{", files[file]), [file.stem]
            )
            options += [(file, name) for name in re.findall(r'\.option = "([\w-]+)"', files[file])]
        self.assertGreater(len(options), 10)
        pages = [subprocess.run([GPUPROF, *words], capture_output=True, text=True, timeout=60).stdout
                 for words in (["help", "all"], ["man"])]  # fmt: skip
        docs = (SOURCE / "docs/nvprof.md").read_text()
        for file, name in options:
            self.assertEqual([f for f, text in files.items() if f'"{name}"' in text], [file], name)
            # With its letter, in help, on the man page and in the generated list of the docs.
            letter = re.search(r"\.letter = '(\w)'", files[file])
            names = f"-{letter[1]}, --{name}" if letter else f"--{name}"
            self.assertRegex(docs, rf"(?m)^\| `{names}` \|")
            for page in pages:
                self.assertRegex(page.replace("\\-", "-"), rf"--{name}(?![\w-])")

    def test_files_fit_into_a_head(self):
        for file, text in self.text("**/*.?pp").items():
            self.assertLessEqual(text.count("\n"), 510, file)


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

    def test_file_is_replaced(self):
        file = self.folder / "log.txt"
        file.write_text("x" * 10_000)
        self.log(file)
        self.assertEqual(file.read_text(), self.summary())

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

    def test_json_goes_to_stdout(self):
        ran = self.imported("--json")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        self.assertIn("vectorAdd", json.dumps(json.loads(ran.stdout)))
        self.log("log.json", "--json")
        self.assertEqual((self.folder / "log.json").read_text(), ran.stdout)

    def on_a_terminal(self, **environment):
        ours, theirs = pty.openpty()
        process = subprocess.Popen(
            [GPUPROF, "-i", "db.sqlite"], cwd=self.folder, stdout=subprocess.DEVNULL, stderr=theirs,
            env={**{k: v for k, v in os.environ.items() if k != "NO_COLOR"}, **environment},
        )  # fmt: skip
        os.close(theirs)
        text = b""
        while True:
            try:
                part = os.read(ours, 65536)
            except OSError:
                break
            if not part:
                break
            text += part
        os.close(ours)
        self.assertEqual(process.wait(), 0)
        return text.decode().replace("\r\n", "\n")

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
            'None of 1 kernel has "VECTOR" in its name; case matters, unless (?i) stands before it.'
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
        self.check_refused("blank.sqlite", "no profile")

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


class Run(FakeTest):
    """Options of a run, with the stand-ins."""

    def lines(self, run, process):
        """Without the target's own, and with its id named."""
        return run.stderr.replace(str(process), "PID").splitlines()

    def process(self, run):
        return int(re.search(r"==(\d+)==", run.stderr)[1])

    def test_lines_around_a_report(self):
        run = self.profile("hello", 4, output=False, check=0)
        lines = self.lines(run, self.process(run))
        hello = self.program("hello")
        self.assertEqual(
            lines[:3],
            [f"==PID== GPUPROF is profiling process PID, command: {hello} 4",
             f"==PID== Profiling application: {hello} 4",
             "==PID== Profiling result:"],
        )  # fmt: skip

    def test_report_agrees_with_the_file(self):
        options = ["--print-gpu-trace", "--print-api-trace"]
        run = self.profile("hello", 4, options=options, check=0)
        process = self.process(run)
        stored = subprocess.run(
            [GPUPROF, "-i", self.output, *options], capture_output=True, text=True
        )
        live = run.stderr.replace(f"=={process}== ", "======== ").splitlines()
        self.assertEqual(live[2:-1], stored.stderr.splitlines())
        self.assertRegex(live[-1], "^gpuprof: .*nothing lost$")

    def test_csv_has_nvprofs_three_lines_before_the_table(self):
        log = self.folder / "log.csv"
        run = self.profile("hello", options=["--csv", "--log-file", log], output=False, check=0)
        self.assertEqual(run.stderr, "")
        lines = log.read_text().splitlines()
        self.assertTrue(all(line.startswith("==") for line in lines[:3]))
        self.assertTrue(lines[3].startswith('"Type"'))

    def test_log_file_of_the_process(self):
        log = self.folder / "log-%p.txt"
        self.profile("hello", options=["--log-file", log, "--print-gpu-summary"], check=0)
        (file,) = self.folder.glob("log-*.txt")
        text = file.read_text()
        self.assertIn(f"=={file.stem.removeprefix('log-')}== Profiling result:", text)
        self.assertIn("nothing lost", text)

    def test_json_of_a_run(self):
        log = self.folder / "log.json"
        options = ["--json", "--log-file", log, "--device-buffer-size", 8]
        run = self.profile("hello", options=options, output=False, check=0)
        self.assertIn("tables", json.loads(log.read_text()))
        self.assertRegex(run.stderr, "^gpuprof: --device-buffer-size: no effect.*\n$")

    def test_a_report_for_each_file(self):
        self.output = self.folder / "run-%p.sqlite"
        run = self.profile("tree", 1, 5, options=["--print-gpu-summary"], check=0)
        processes = {int(file.stem[4:]) for file in self.folder.glob("run-*.sqlite")}
        headed = re.findall(r"==(\d+)== Profiling result:", run.stderr)
        self.assertEqual({int(process) for process in headed}, processes)
        self.assertEqual(len(headed), 3)

    def test_end_of_the_target(self):
        run = self.profile("die", "exit", output=False)
        if run.code:
            self.assertEqual(
                run.stderr.splitlines()[-1],
                f"======== Error: Application returned non-zero code {run.code}",
            )
        run = self.profile("die", "sigkill", output=False, check=137)
        self.assertEqual(
            run.stderr.splitlines()[-1], "======== Error: Application received signal 137"
        )

    def test_options_without_effect(self):
        options = ["--device-buffer-size", 8, "--aggregate-mode", "on"]
        run = self.profile("hello", options=options, check=0)
        lines = run.stderr.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], "^gpuprof: --device-buffer-size: no effect")

    def test_timeout(self):
        run = self.profile("steady", 30, options=["-t", "0.5"])
        self.assertEqual(run.code, 128 + signal.SIGTERM, run.stderr)
        self.assertRegex(run.stderr, r"==\d+== Warning: The timeout has passed")
        self.assertEqual(self.database().run()["finished"], 1)
        run = self.profile("steady", 30, options=["-f", "-q", "-t", "0.1"])
        self.assertEqual((run.code, run.stderr), (128 + signal.SIGTERM, ""))

    def test_timeout_counts_from_the_first_use_of_cuda(self):
        process = subprocess.run(
            [GPUPROF, "-q", "-t", "0.2", "sh", "-c", "sleep 1; exit 7"], capture_output=True
        )
        self.assertEqual(process.returncode, 7, process.stderr)

    def test_timeout_that_is_not_reached(self):
        self.profile("hello", options=["--timeout", "60"], check=0)

    def calls(self, *options):
        self.profile("hello", 10, options=["-f", *options], check=0)
        database = self.database()
        joined = database.one(
            "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL WHERE correlationId > 0"
        )
        return database.count("RUNTIME"), database.count("DRIVER"), joined

    def test_api_trace(self):
        runtime, driver, kernels = self.calls()
        self.assertTrue(runtime and driver and kernels)
        self.assertEqual(self.calls("--profile-api-trace", "all"), (runtime, driver, kernels))
        self.assertEqual(self.calls("--profile-api-trace", "none"), (0, 0, kernels))
        self.assertEqual(self.calls("--profile-api-trace", "runtime")[:2], (runtime, 0))
        self.assertEqual(self.calls("--profile-api-trace", "driver")[:2], (0, driver))

    def groups(self, *options):
        self.profile("hello", options=["-f", *options], check=0)
        return set(self.database().run()["trace_groups"].split(","))

    def test_groups_by_nvprofs_options(self):
        default = self.groups()
        self.assertLessEqual({"gpu", "api", "memory", "unified-memory"}, default)
        off = ["--track-memory-allocations", "off", "--unified-memory-profiling", "off"]
        self.assertEqual(self.groups(*off), default - {"memory", "unified-memory"})
        on = ["--openacc-profiling", "on", "--openmp-profiling", "on", "--system-profiling", "on"]
        self.assertEqual(self.groups(*on), default | {"openacc", "openmp", "environment"})
        self.assertEqual(self.groups("--dependency-analysis"), default | {"cuda-event"})
        self.assertEqual(self.groups("--trace", "gpu"), {"gpu"})
        self.assertEqual(self.groups("--trace", "gpu,api"), {"gpu", "api"})

    def test_what_cannot_be_had_is_told_when_it_was_asked_for(self):
        fail = {"FAKE_CUPTI_FAIL": "cuptiActivityEnable:20=27"}
        run = self.profile("hello", options=["--system-profiling", "on"], check=0, **fail)
        self.assertRegex(run.stderr, "^gpuprof: CUPTI_ACTIVITY_KIND_ENVIRONMENT stays empty: .*\n")
        for options in (["-f"], ["-f", "--trace", "all"]):
            run = self.profile("hello", options=options, check=0, **fail)
            self.assertNotIn("stays empty", run.stderr)

    def test_names(self):
        options = ["--process-name", "p%p", "--context-name", "c%i of %p", "--stream-name", "s%i%%"]
        self.profile("hello", options=options, check=0)
        database = self.database()
        ((process,),) = database.rows("SELECT processId FROM PROCESS")
        rows = database.rows("""
            SELECT objectKind, hex(objectId), value, objectDeviceId, objectContextId, objectStreamId
            FROM CUPTI_ACTIVITY_KIND_NAME AS n JOIN StringTable AS s ON s._id_ = n.name
            WHERE objectKind != 2 ORDER BY 1, 6""")

        def object_id(*ids):
            return b"".join(id.to_bytes(4, "little") for id in ids).hex().upper()

        self.assertEqual(rows[0], (1, object_id(process, 0, 0), f"p{process}", None, None, None))
        self.assertEqual(rows[1], (4, object_id(0, 1, 0), f"c1 of {process}", 0, 1, None))
        self.assertEqual({row[:1] + row[3:5] for row in rows[2:]}, {(5, 0, 1)})
        for row in rows[2:]:
            self.assertEqual(row[1:3], (object_id(0, 1, row[5]), f"s{row[5]}%"))
        self.assertGreaterEqual(len(rows), 3)
        trace = subprocess.run(
            [GPUPROF, "-i", self.output, "--print-gpu-trace"], capture_output=True, text=True
        )
        self.assertRegex(trace.stderr, rf"c1 of {process} +s\d+%")

    def test_exit_code_is_the_applications(self):
        process = subprocess.run([GPUPROF, "false"], capture_output=True, text=True)
        self.assertEqual(process.returncode, 1)
        self.assertEqual(
            process.stderr.splitlines()[-1], "======== Error: Application returned non-zero code 1"
        )
        quiet = subprocess.run([GPUPROF, "--quiet", "false"], capture_output=True, text=True)
        self.assertEqual((quiet.returncode, quiet.stderr), (1, ""))

    def test_application_that_is_in_this_folder(self):
        (self.folder / "app").write_text("#!/bin/sh\n")
        process = subprocess.run([GPUPROF, "app"], cwd=self.folder, capture_output=True, text=True)
        self.assertEqual(process.returncode, 13)
        self.assertIn("application not found: app\n", process.stderr)
        self.assertIn("./app", process.stderr)

    @unittest.skipIf(has_driver(), "there is a driver")
    @unittest.skipIf(os.environ.get("GPUPROF_SANITIZE"), "CUPTI opens its libraries with DEEPBIND")
    def test_no_driver(self):
        for words in (["--query-metrics"], ["--query-events"]):
            process = subprocess.run([GPUPROF, *words], capture_output=True, text=True)
            self.assertEqual(process.returncode, 23)
            lines = process.stderr.splitlines()
            self.assertEqual(lines[0], "======== Error: unable to locate cuda driver library.")
            self.assertIn("--chip", lines[-1])

    @unittest.skipUnless(has_driver(), "there is no driver")
    def test_queries(self):
        for words, heading in (
            (["--query-metrics"], "Available Metrics:"), (["--query-events"], "Available Events:"),
        ):  # fmt: skip
            process = subprocess.run([GPUPROF, *words], capture_output=True, text=True)
            self.assertEqual((process.returncode, process.stderr), (0, ""))
            lines = process.stdout.splitlines()
            self.assertEqual(lines[0], heading)
            self.assertRegex(lines[2], r"^Device 0 \(.*\), .*Chip [A-Z0-9]+:$")


if __name__ == "__main__":
    unittest.main()
