# ctest-labels: tsan
"""PC sampling with stand-ins: samples add up, lines come from cubins, failures are reported."""

import json
import os
import pathlib
import signal
import subprocess
import unittest

from fake_run import BARE_CUPTI, GPUPROF, PATIENCE, SANITIZED, FakeTest
from profile_file import PREFIX

CUBIN = pathlib.Path(__file__).resolve().parents[1] / "captures" / "strided.cubin"
KERNEL = "_Z7stridedPKfPfi"  # in that cubin
# Samples of a launch from the stand-in (fake_cupti/cupti/pc_sampling.cpp): offset, reason, samples,
# not issued.
LAUNCH = [
    (0x10, "selected", 2, 0),
    (0x20, "long_scoreboard", 40, 30),
    (0x20, "not_selected", 5, 0),
    (0x40, "barrier", 12, 12),
    (0x60, "selected", 1, 0),
]
PER_LAUNCH = 60


class PcSamplingTest(FakeTest):
    def sample(self, *target, options=(), check=0, **more):
        run = self.profile(*target, options=("--pc-sampling", *options), check=check, **more)
        return run, self.database()

    def samples(self, database):
        return database.rows("""
            SELECT pc, stall_reason, samples, not_issued FROM pc_samples ORDER BY pc, stall_reason""")

    def expected(self, launches):
        return sorted((pc, reason, n * launches, m * launches) for pc, reason, n, m in LAUNCH)

    def statistic(self, database, name):
        return sum(n for (_, counted), n in database.statistics().items() if counted == name)


class Samples(PcSamplingTest):
    def test_as_a_set(self):
        self.profile("modules", "first", 5, options=("--set", "stalls"))
        self.assertEqual(self.samples(self.database()), self.expected(5))

    def sample_once(self, *target, **more):
        run = self.made_once(lambda: self.sample(*target, **more)[0], target)
        return run, self.database()

    def test_beside_tracing(self):
        run, database = self.sample_once("modules", "first", 50)
        self.assertIn("nothing lost", run.stderr)
        self.assertEqual(self.samples(database), self.expected(50))
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 50)
        self.assertEqual(self.statistic(database, "pc_samples"), 50 * PER_LAUNCH)
        self.assertEqual(
            database.rows(f"""
                SELECT correlationId, totalSamples, droppedSamples, samplingPeriodInCycles
                FROM {PREFIX}PC_SAMPLING_RECORD_INFO"""),
            [(0, 50 * PER_LAUNCH, 0, 8 * 4096)],
        )
        # The function has its module, whose cubin is stored once.
        self.assertEqual(
            database.rows(f"""
                SELECT s.value, m.cubinSize > 0 FROM {PREFIX}FUNCTION AS f
                JOIN StringTable AS s ON s._id_ = f.name
                JOIN {PREFIX}MODULE AS m ON m.id = f.moduleId AND m.contextId = f.contextId"""),
            [("first", 1)],
        )
        self.assertEqual(
            database.rows(f"SELECT cubinSize = length(cubin), cubinSize > 0 FROM {PREFIX}MODULE"),
            [(1, 1), (None, 0)],
        )

    def test_a_report_says_where_they_are(self):
        self.sample_once("modules", "first", 50)
        report = subprocess.run(
            [GPUPROF, "-i", self.output], capture_output=True, text=True, check=True
        ).stderr
        self.assertIn(f"======== {50 * PER_LAUNCH} PC samples: --print-pc-sampling\n", report)
        self.assertNotIn("associated", report)

    def test_report(self):
        """Matches the sums of the tables, whether printed with the run or later."""
        run = self.profile(
            "modules", KERNEL, 10, options=("--print-pc-sampling",), FAKE_CUDA_CUBIN=CUBIN, check=0
        )
        counts = {}
        for line, reason, samples, not_issued in self.database().rows(
            "SELECT line, stall_reason, samples, not_issued FROM pc_samples"
        ):
            before = counts.get((line, reason), (0, 0))
            counts[line, reason] = before[0] + samples, before[1] + not_issued
        total = sum(samples for samples, _ in counts.values())
        self.assertEqual(total, 10 * PER_LAUNCH)
        self.assertIn("PC SAMPLING SUMMARY:", run.stderr)
        self.assertIn(f"  {total} samples on ", run.stderr)
        rows = self.report("--json")["tables"][1]["rows"]
        self.assertEqual(
            {(row["line"], row["stall_reason"]): (row["samples"], row["not_issued"])
             for row in rows},
            counts,
        )  # fmt: skip
        for row in rows:
            self.assertAlmostEqual(row["samples_percent"], 100 * row["samples"] / total, places=5)
            self.assertEqual(row["file"], "/examples/strided.cu")
        self.assertNotIn("source", rows[0])

    def test_last_line(self):
        run, _ = self.sample_once("modules", "first", 50)
        self.assertIn(f" {50 * PER_LAUNCH} PC samples, nothing lost", run.stderr)

    def test_report_with_source(self):
        """Files are opened only on request, and only below the folder."""
        folder = self.folder
        self.sample_once("modules", KERNEL, 10, FAKE_CUDA_CUBIN=CUBIN)
        (folder / "root" / "examples").mkdir(parents=True)
        (folder / "root" / "examples" / "strided.cu").write_text("line\n" * 4 + "five\x1b\n")
        rows = self.report("--json", "--source-root", folder / "root")["tables"][1]["rows"]
        self.assertEqual({row["source"] for row in rows if row["line"] == 5}, {"five\x1b"})
        self.assertEqual({row["source"] for row in rows if row["line"] == 7}, {None})
        text = subprocess.run(
            [GPUPROF, "-i", self.output, "--print-pc-sampling", "--source-root", "root"],
            capture_output=True, text=True, check=True, cwd=folder,
            env={**self.environment({}), "LC_ALL": "C.UTF-8"},
        ).stderr  # fmt: skip
        self.assertIn("| five\\x1b\n", text)
        self.assertIn("was changed after the run began", text)
        self.assertIn("█", text)

    def report(self, *options):
        return json.loads(
            subprocess.run(
                [GPUPROF, "-i", self.output, "--print-pc-sampling", *options],
                capture_output=True, check=True, env=self.environment({}),
            ).stdout
        )  # fmt: skip

    def test_functions_of_the_module_are_used(self):
        _, database = self.sample("modules", "first", 3, options=("--trace", "+module"))
        names = database.rows(f"""
            SELECT s.value FROM {PREFIX}FUNCTION AS f JOIN StringTable AS s ON s._id_ = f.name""")
        self.assertEqual(sorted(names), [("first",)] * 2 + [("second",)] * 2)
        self.assertEqual(self.samples(database), self.expected(3))

    def test_source_lines(self):
        _, database = self.sample_once("modules", KERNEL, 10, FAKE_CUDA_CUBIN=CUBIN)
        self.assertEqual(
            database.rows("""
                SELECT DISTINCT pc, file, line, short_name FROM pc_samples ORDER BY pc"""),
            [(pc, "/examples/strided.cu", line, "strided")
             for pc, line in ((0x10, 8), (0x20, 5), (0x40, 7), (0x60, 8))],
        )  # fmt: skip

    def test_a_cubin_that_is_none(self):
        broken = self.folder / "broken.cubin"
        content = CUBIN.read_bytes()
        for cut in (100, len(content) // 2, len(content) - 1):
            broken.write_bytes(content[:cut] + b".text.first\0")
            _, database = self.sample(
                "modules", "first", 3, FAKE_CUDA_CUBIN=broken, options=("-f",)
            )
            self.assertEqual(self.samples(database), self.expected(3))
            database.close()

    def test_serialized(self):
        _, database = self.sample("modules", "first", 4, options=("--pc-serialize",))
        rows = database.rows("""
            SELECT k.correlation_id, sum(p.samples) FROM pc_samples AS p
            JOIN kernels AS k ON k.correlation_id = p.correlation_id GROUP BY 1""")
        self.assertEqual([samples for _, samples in rows], [PER_LAUNCH] * 4)
        # nvprof looks only there.
        self.assertEqual(database.count("KERNEL"), 4)
        report = subprocess.run(
            [GPUPROF, "-i", self.output], capture_output=True, text=True, check=True
        ).stderr
        self.assertEqual(report.count("Total Samples: 60"), 4, report)

    def test_reasons(self):
        _, database = self.sample(
            "modules", "first", 5, options=("--pc-stall-reasons", "barrier,long_scoreboard")
        )
        self.assertEqual(
            {reason for _, reason, _, _ in self.samples(database)}, {"barrier", "long_scoreboard"}
        )

    def test_modules_that_come_and_go(self):
        _, database = self.sample("modules", "first", 20, "unload")
        self.assertEqual(self.samples(database), self.expected(20))

    def test_a_context_beside(self):
        # CUPTI samples one context of a device at a time.
        run, database = self.sample("contexts")
        self.assertNotIn("no PC samples", run.stderr)
        functions = database.rows("SELECT DISTINCT mangled_name FROM pc_samples ORDER BY 1")
        self.assertEqual(functions, [("first",), ("second",), ("third",)])
        self.assertEqual(database.count("PC_SAMPLING_RECORD_INFO"), 1)

    def test_a_target_that_is_killed(self):
        process = self.start("steady", 60, 5, options=("--pc-sampling", "--flush-period", "100"))
        self.assertEqual(process.stdout.readline().strip(), b"launching")
        children = pathlib.Path(f"/proc/{process.pid}/task/{process.pid}/children")
        self.wait_for_rows(PREFIX + "PC_SAMPLING")
        for child in children.read_text().split():
            if b"steady" in pathlib.Path(f"/proc/{child}/cmdline").read_bytes():
                os.kill(int(child), signal.SIGKILL)
        process.wait(PATIENCE)
        database = self.database()
        self.assertGreater(sum(n for _, _, n, _ in self.samples(database)), 0)
        self.assertEqual(
            {(pc, reason) for pc, reason, _, _ in self.samples(database)},
            {(pc, reason) for pc, reason, _, _ in LAUNCH},
        )


class Trouble(PcSamplingTest):
    def trouble(self, *words, launches=20, **more):
        """One line says why, and the program is traced."""
        run, database = self.sample("modules", "first", launches, **more)
        lines = [line for line in run.stderr.splitlines() if "no PC samples" in line]
        self.assertEqual(len(lines), 1, run.stderr)
        for word in words:
            self.assertIn(word, lines[0])
        self.assertEqual(database.count("CONCURRENT_KERNEL"), launches)
        self.assertEqual(
            len(database.rows("SELECT text FROM DIAGNOSTIC WHERE text LIKE 'no PC samples%'")), 1
        )
        return database

    def test_no_permission(self):
        codes = (
            (26, "dcgmi profiling --pause"),
            (35, "NVreg_RestrictProfilingToAdminUsers"),
            (33, "virtual GPU"),
            (40, "enable_profiling"),
            (43, "a part of a GPU (MIG)"),
        )
        for code, words in codes[:2] if SANITIZED else codes:
            with self.subTest(words):
                self.trouble(
                    words, FAKE_CUPTI_FAIL=f"cuptiPCSamplingEnable={code}", options=("-f",)
                )

    def test_calls_that_fail(self):
        for call in (
            "cuptiPCSamplingEnable",
            "cuptiPCSamplingGetNumStallReasons",
            "cuptiPCSamplingGetStallReasons",
            "cuptiPCSamplingSetConfigurationAttribute",
        ):
            with self.subTest(call=call):
                database = self.trouble(
                    "CUPTI_ERROR_UNKNOWN", FAKE_CUPTI_FAIL=f"{call}=999", options=("-f",)
                )
                self.assertEqual(self.samples(database), [])
                database.close()

    def test_reading_fails(self):
        self.trouble("cuptiPCSamplingGetData", FAKE_CUPTI_FAIL="cuptiPCSamplingGetData=999")

    def test_unknown_reason(self):
        self.trouble("it has selected, long_scoreboard", options=("--pc-stall-reasons", "nonsense"))

    def test_refused_in_callbacks(self):
        # Then the collector's own thread does it.
        process = self.start(
            "steady", 60, 5, self.folder / "enough", options=("--pc-sampling",),
            FAKE_CUPTI_PC_REFUSE=2,
        )  # fmt: skip
        self.wait_for_rows(PREFIX + "PC_SAMPLING")
        (self.folder / "enough").touch()
        self.assertNotIn(b"no PC samples", process.communicate(timeout=PATIENCE)[1])

    def test_old_or_bare_cupti(self):
        self.trouble("12.8", FAKE_CUPTI_VERSION=26)

    def test_bare(self):
        run, _ = self.sample("modules", "first", 5, cupti=BARE_CUPTI)
        self.assertIn("no PC samples", run.stderr)

    def test_dropped(self):
        run, database = self.sample("modules", "first", 10, FAKE_CUPTI_PC_DROP=3)
        self.assertEqual(self.statistic(database, "pc_samples_dropped"), 30)
        self.assertEqual(
            database.rows(f"""
                SELECT totalSamples, droppedSamples FROM {PREFIX}PC_SAMPLING_RECORD_INFO"""),
            [(10 * (PER_LAUNCH + 3), 30)],
        )
        self.assertNotIn("nothing lost", run.stderr)
        self.assertEqual(
            database.one("SELECT value FROM losses WHERE name='pc_samples_dropped'"), 30
        )

    def test_overflow(self):
        _, database = self.sample("modules", "first", 10, FAKE_CUPTI_PC_FULL=1)
        self.assertEqual(self.statistic(database, "pc_samples_overflows"), 1)


class Options(FakeTest):
    def test_not_with_metrics(self):
        run = self.profile("hello", options=("--pc-sampling", "--metrics", "blocks"))
        self.assertEqual(run.code, 5)
        self.assertIn("--pc-sampling and --metrics", run.stderr)

    def test_values(self):
        for option, value in (
            ("--pc-period", "4"),
            ("--pc-period", "32"),
            ("--pc-stall-reasons", "a;b"),
            ("--pc-buffer", "0"),
            ("-a", "nonsense"),
        ):
            with self.subTest(option=option, value=value):
                run = self.profile("hello", options=("--pc-sampling", option, value))
                self.assertEqual(run.code, 5, run.stderr)

    def test_nvprofs_name(self):
        self.profile("modules", options=("-a", "pc_sampling"), check=0)
        self.assertGreater(self.database().count("PC_SAMPLING"), 0)


if __name__ == "__main__":
    unittest.main()
