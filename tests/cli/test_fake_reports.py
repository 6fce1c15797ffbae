"""Reports of a run, printed after it."""
# ctest-labels: plain

import json
import re
import signal
import subprocess
import unittest

from fake_run import GPUPROF, FakeTest, has_driver


class Run(FakeTest):
    """Options of a run, with the stand-ins."""

    def lines(self, run, process):
        """Without the target's own lines, and with its id replaced."""
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
        options = ["--json", "--log-file", log, "--device-cdp-buffer-size", 8]
        run = self.profile("hello", options=options, output=False, check=0)
        self.assertIn("tables", json.loads(log.read_text()))
        self.assertRegex(run.stderr, "^gpuprof: --device-cdp-buffer-size: no effect.*\n$")

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
        options = ["--device-cdp-buffer-size", 8, "--aggregate-mode", "on"]
        run = self.profile("hello", options=options, check=0)
        lines = run.stderr.splitlines()
        self.assertEqual(len(lines), 2)
        self.assertRegex(lines[0], "^gpuprof: --device-cdp-buffer-size: no effect")

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
