"""gpuprof's effects on the outside: output files, exit codes, the target's own output."""
# ctest-labels: plain

import os
import re
import subprocess
import tempfile
import unittest

from fake_run import FAKE, GPUPROF, FakeTest, Profile


def own_lines(text):
    """Lines that do not come from gpuprof. The program's lines never begin with "gpuprof: "."""
    return [line for line in text.splitlines() if not line.startswith("gpuprof: ")]


class TargetsOutput(FakeTest):
    def test_untouched(self):
        alone = subprocess.run([self.program("output"), "3000"], capture_output=True)
        run = self.profile("output", 3000, check=0)
        self.assertEqual(run.stdout, alone.stdout)
        self.assertEqual(own_lines(run.stderr), ["first line", "last line"])
        self.assertEqual(self.database().kernels(), {"printing": 188})

    def test_nothing_from_inside_the_target(self):
        for target in (["hello"], ["threads"], ["nvtx", "before"], ["die", "sigkill"]):
            with self.subTest(target=target):
                run = self.profile(*target, options=["-f"])
                self.assertEqual(own_lines(run.stderr), [])
                self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)

    def test_quiet(self):
        run = self.profile("hello", options=["-q"], check=0)
        self.assertEqual(run.stderr, "")
        self.assertEqual(run.stdout, b"hello from the target\n")

    def test_last_line(self):
        run = self.profile("hello", check=0)
        records = Profile(self.output).statistic("records_received")
        self.assertEqual(
            run.stderr, f"gpuprof: {self.output}: {records} records of 1 process, nothing lost\n"
        )

    def test_summary_without_a_file(self):
        run = self.profile("hello", output=False, check=0)
        self.assertEqual(run.stdout, b"hello from the target\n")
        self.assertIn("vector(float*, int)", run.stderr)
        self.assertIn("cudaLaunchKernel", run.stderr)
        self.assertEqual(list(self.folder.iterdir()), [])

    def test_state_of_the_target_is_left_alone(self):
        self.profile("state", check=0)
        self.assertEqual(self.database().kernels(), {"quiet": 2000})

    def test_closed_descriptors(self):
        run = self.profile("descriptors", 50, check=0)
        database = self.database()
        self.assertEqual(database.kernels().get("before"), 50)
        # Records from after the socket was closed are stored, or their loss is reported.
        missing = 50 - database.kernels().get("after", 0)
        if missing:
            self.assertNotEqual(database.losses(), {})
            self.assertNotIn("nothing lost", run.stderr)

    def test_standard_descriptors_closed(self):
        process = subprocess.run(
            ["sh", "-c", 'exec "$@" <&- >&- 2>&-', "sh", *self.command(["hello", "5"])],
            env=self.environment({}), timeout=60,
        )  # fmt: skip
        self.assertEqual(process.returncode, 0)
        self.assertEqual(self.database().count("CONCURRENT_KERNEL"), 13)


class Files(FakeTest):
    def test_existing_file_is_refused(self):
        self.output.write_text("precious")
        run = self.profile("hello")
        self.assertEqual(run.code, 21)
        self.assertEqual(run.stdout, b"")  # it was not even started
        self.assertEqual(self.output.read_text(), "precious")
        self.assertRegex(run.stderr, r"^gpuprof: .*run\.sqlite exists\n  .*-f\n$")

    def test_force_replaces(self):
        self.profile("hello", 4, check=0)
        self.profile("hello", 4, options=["-f"], check=0)
        self.assertEqual(self.database().count("CONCURRENT_KERNEL"), 11)
        self.profile("hello", 6, options=["-f"], check=0)
        self.assertEqual(self.database().count("CONCURRENT_KERNEL"), 15)

    def test_path_that_cannot_be_written(self):
        self.output = self.folder / "no" / "such" / "run.sqlite"
        run = self.profile("hello")
        self.assertEqual(run.code, 21, run.stderr)
        self.assertEqual(run.stdout, b"")
        self.assertTrue(run.stderr.startswith("gpuprof: "))

    def test_folder_as_output(self):
        self.output.mkdir()
        self.assertEqual(self.profile("hello", options=["-f"]).code, 21)

    def test_program_that_is_missing(self):
        self.assertEqual(self.profile("no_such_program").code, 13)
        self.assertFalse(self.output.exists())

    def test_program_that_is_no_program(self):
        file = self.folder / "text"
        file.write_text("text")
        process = subprocess.run([GPUPROF, "-o", str(self.output), str(file)], capture_output=True)
        self.assertEqual(process.returncode, 13, process.stderr)

    def test_nothing_is_left_beside_the_file(self):
        with tempfile.TemporaryDirectory() as temporary:
            self.profile("hello", check=0, TMPDIR=temporary)
            self.assertEqual(os.listdir(temporary), [])
        self.assertEqual([entry.name for entry in self.folder.iterdir()], ["run.sqlite"])

    def test_long_tmpdir(self):
        # A socket's path may have 107 characters.
        long = self.folder / ("x" * 100)
        long.mkdir()
        self.profile("hello", check=0, TMPDIR=long)
        self.assertEqual(self.database().count("CONCURRENT_KERNEL"), 23)

    def test_percent_p(self):
        self.output = self.folder / "run-%p.sqlite"
        self.profile("tree", 1, 5, check=0)
        files = sorted(self.folder.glob("run-*.sqlite"))
        self.assertEqual(len(files), 3)
        names = []
        for file in files:
            database = self.database(file)
            (process,) = database.rows("SELECT processId, number FROM PROCESS")
            self.assertEqual(file.name, f"run-{process[0]}.sqlite")
            self.assertEqual(process[1], 0)
            self.assertEqual(database.run()["finished"], 1)
            self.assert_correlated(database)
            names.append(database.kernels())
        self.assertCountEqual(names, [{"depth_1": 10}, {"depth_0": 10}, {"depth_0": 10}])

    def test_percent_q_and_h(self):
        self.output = self.folder / "%q{WHO}-%h-%%.sqlite"
        self.profile("hello", check=0, WHO="me")
        (file,) = self.folder.glob("*.sqlite")
        self.assertRegex(file.name, rf"^me-{re.escape(os.uname().nodename)}-%\.sqlite$")


class CommandLine(FakeTest):
    def code(self, *arguments):
        process = subprocess.run([GPUPROF, *arguments], capture_output=True, cwd=self.folder)
        own = (b"gpuprof: ", b"======== ", b"fatal   : ")
        self.assertTrue(process.stderr.startswith(own), process.stderr)
        return process.returncode

    def test_codes(self):
        hello = self.program("hello")
        self.assertEqual(self.code("--trace", "unknown", hello), 5)
        self.assertEqual(self.code("--no-such-option", hello), 5)
        self.assertEqual(self.code("--flush-period", "0", hello), 5)
        self.assertEqual(self.code("--profile-from-start", "maybe", hello), 5)
        self.assertEqual(self.code("--cupti", "/no/such/libcupti.so", hello), 5)
        self.assertEqual(self.code(), 3)
        self.assertEqual(self.code("-i", "/no/such.sqlite"), 20)
        self.assertEqual(self.code("replay", "/no/such.gpcap"), 20)
        self.assertEqual(self.code("-o", "%q{NO_SUCH_VARIABLE}.sqlite", hello), 4)

    def test_an_option_takes_no_more_than_its_word(self):
        for option in (["--trace", "gpu"], ["--trace", "-memory"], ["--trace=gpu"], ["-t", "60"]):
            process = subprocess.run(
                [GPUPROF, "-q", "-f", "-o", str(self.output), *option, "echo", "a"],
                capture_output=True,
            )
            self.assertEqual(process.stdout, b"a\n", process.stderr)

    def test_arguments_of_the_target_are_its_own(self):
        process = subprocess.run(
            [GPUPROF, "-q", "-o", str(self.output), "echo", "-o", "-f", "--trace", "--", "a b"],
            capture_output=True,
        )
        self.assertEqual(process.stdout, b"-o -f --trace -- a b\n", process.stderr)

    def test_options_end_with_two_dashes(self):
        process = subprocess.run(
            [GPUPROF, "-q", "-o", str(self.output), "--", "echo", "-x"], capture_output=True
        )
        self.assertEqual(process.stdout, b"-x\n", process.stderr)

    def test_program_without_cuda(self):
        run = self.profile("without_cuda")
        self.assertEqual(run.code, 6)
        self.assertEqual(run.stdout, b"no CUDA here\n")
        self.assertRegex(run.stderr, "no CUDA activity was captured|unable to locate cuda driver")
        self.assertEqual(self.database().rows("SELECT * FROM PROCESS"), [])

    def test_found_by_path(self):
        process = subprocess.run(
            [GPUPROF, "-q", "-o", str(self.output), "hello"], capture_output=True,
            env={**os.environ, "PATH": f"{FAKE}:{os.environ['PATH']}"},
        )  # fmt: skip
        self.assertEqual(process.stdout, b"hello from the target\n", process.stderr)


if __name__ == "__main__":
    unittest.main()
