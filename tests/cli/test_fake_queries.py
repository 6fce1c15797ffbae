"""Calls that only query: left out, requested, and what the file and the reports say about them."""
# ctest-labels: plain

import sqlite3
import subprocess
import unittest

from fake_run import BARE_CUPTI, GPUPROF, FakeTest

ASKING = {
    "cudaGetDevice_v3020", "cuCtxGetCurrent", "cudaStreamIsCapturing_ptsz_v10000",
    "cudaGetLastError_v3020",
}  # fmt: skip
LINE = "======== API calls that only ask are left out: --trace +queries"
# After the process in reports of a run.
OF_A_RUN = r"(?m)^==\d+== API calls that only ask are left out: --trace \+queries$"


class Queries(FakeTest):
    def calls(self, *options, target=("asks", 10), **arguments):
        """Rows by CUPTI's name of the function."""
        self.run_ended = self.profile(*target, options=["-f", *options], check=0, **arguments)
        return dict(
            self.database().rows("""
            SELECT n.name, count(*) FROM (
              SELECT 'runtime' AS domain, cbid FROM CUPTI_ACTIVITY_KIND_RUNTIME
              UNION ALL SELECT 'driver', cbid FROM CUPTI_ACTIVITY_KIND_DRIVER) AS c
            JOIN API_NAME AS n USING (domain, cbid) GROUP BY n.name""")
        )

    def rule(self):
        return self.database().run().get("calls_left_out")

    def assert_left_out(self, calls, launches=10):
        self.assertEqual(
            calls, {"cudaLaunchKernel_v7000": launches, "cudaEventQuery_v3020": launches}
        )

    def assert_all(self, calls, n=10):
        self.assertEqual(
            calls, dict.fromkeys([*ASKING, "cudaLaunchKernel_v7000", "cudaEventQuery_v3020"], n)
        )

    def test_left_out_by_default(self):
        self.assert_left_out(self.calls())
        self.assert_correlated(self.database())
        self.assertEqual(self.database().kernels(), {"outside": 10})
        self.assertEqual(self.database().losses(), {})
        names = self.rule().split(",")
        self.assertEqual(names, sorted(set(names)))
        self.assertLess(
            {"cudaGetDevice", "cuCtxGetCurrent", "cudaStreamIsCapturing", "cudaGetLastError"},
            set(names),
        )
        self.assertFalse({"cudaLaunchKernel", "cudaEventQuery"} & set(names))

    def test_asked_for(self):
        for options in (
            ["--trace", "+queries"],
            ["--trace", "gpu,api,queries"],
            ["--print-api-trace"],
            ["--print-api-summary"],
            ["--trace", "gpu,api", "--print-api-trace"],
        ):
            with self.subTest(options=options):
                self.assert_all(self.calls(*options))
                self.assertEqual(self.rule(), "none")
                self.assertNotIn("only ask", self.run_ended.stderr)
        groups = self.database().run()["trace_groups"].split(",")
        self.assertIn("queries", groups)

    def test_not_wanted_although_a_report_is(self):
        self.assert_left_out(self.calls("--trace", "-queries", "--print-api-trace"))
        self.assertRegex(self.run_ended.stderr, OF_A_RUN)

    def test_no_calls_at_all(self):
        for options in (
            ["--trace", "gpu"],
            ["--profile-api-trace", "none"],
            ["--trace", "gpu", "--print-api-trace"],
        ):
            with self.subTest(options=options):
                self.assertEqual(self.calls(*options), {})
                self.assertIsNone(self.rule())
                self.assertEqual(
                    self.database().count("CONCURRENT_KERNEL WHERE correlationId = 0"), 0
                )
                self.assertNotIn("only ask", self.run_ended.stderr)

    def test_one_kind_of_calls(self):
        self.assert_left_out(self.calls("--profile-api-trace", "runtime"))
        self.assertFalse(ASKING & set(self.calls("--profile-api-trace", "driver")))

    def test_windows(self):
        # Enabling the kinds again at each start overrides the settings of single functions.
        windows = ("asks", 10, "windows")
        calls = self.calls("--profile-from-start", "off", target=windows)
        self.assertFalse(ASKING & set(calls))
        self.assertEqual(calls["cudaLaunchKernel_v7000"], 20)
        self.assertEqual(self.database().kernels(), {"inside": 20})
        calls = self.calls("--profile-from-start", "off", "--trace", "+queries", target=windows)
        self.assertEqual(calls["cudaGetDevice_v3020"], 20)
        self.assertEqual(
            self.calls("--profile-from-start", "off", "--trace", "gpu", target=windows), {}
        )
        self.assertEqual(self.database().kernels(), {"inside": 20})

    def test_a_cupti_that_cannot(self):
        calls = self.calls(cupti=BARE_CUPTI)
        self.assertEqual(self.rule(), "none")
        self.assertNotIn("only ask", self.run_ended.stderr)
        # It does not have names of functions either.
        self.assertEqual(calls, {})
        self.assertEqual(self.database().count("RUNTIME WHERE cbid = 17"), 10)

    def test_queries_need_calls(self):
        process = subprocess.run(
            [GPUPROF, "--trace", "gpu,queries", "true"], capture_output=True, text=True
        )
        self.assertEqual(process.returncode, 5)
        self.assertIn("gpu,api,queries", process.stderr)


class Reports(FakeTest):
    def report(self, *options):
        process = subprocess.run(
            [GPUPROF, "-i", self.output, *options], capture_output=True, text=True, check=True
        )
        return process.stdout + process.stderr

    def test_line_behind_api_calls(self):
        self.profile("asks", 10, check=0)
        for options in (
            [],
            ["--print-summary"],
            ["--print-api-summary"],
            ["--print-api-trace"],
            ["--print-gpu-trace", "--print-api-trace"],
        ):
            with self.subTest(options=options):
                self.assertEqual(self.report(*options).splitlines()[-1], LINE)
        for options in (
            ["--print-gpu-summary"],
            ["--print-gpu-trace"],
            ["--csv"],
            ["--json"],
            ["--print-summary-per-gpu"],
            ["--print-nvtx-summary"],
        ):
            with self.subTest(options=options):
                self.assertNotIn("only ask", self.report(*options))
        info = subprocess.run(
            [GPUPROF, "info", self.output], capture_output=True, text=True, check=True
        ).stdout
        self.assertRegex(
            info, r"left out +calls of \d{3} functions that only ask \(--trace \+queries\)"
        )

    def test_no_line_where_all_is_there(self):
        self.profile("asks", 10, options=["--trace", "+queries"], check=0)
        self.assertNotIn("only ask", self.report())

    def test_a_run_without_a_file(self):
        run = self.profile("asks", 10, output=False, check=0)
        self.assertRegex(run.stderr, OF_A_RUN)

    def test_a_foreign_table_of_that_name(self):
        self.profile("asks", 10, check=0)
        database = self.database()
        database.close()
        with sqlite3.connect(self.output) as connection:
            connection.execute("DROP TABLE RUN")
            connection.execute("CREATE TABLE RUN(speed INT)")
        self.assertNotIn("only ask", self.report())


if __name__ == "__main__":
    unittest.main()
