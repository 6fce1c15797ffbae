# ctest-labels: plain
"""SASS metrics with stand-ins: counts are exact, lines come from cubins, failures are reported."""

import collections
import json
import pathlib
import re
import subprocess
import unittest

from fake_run import BARE_CUPTI, GPUPROF, FakeTest
from profile_file import PREFIX

CUBIN = pathlib.Path(__file__).resolve().parents[1] / "captures" / "strided.cubin"
KERNEL = "_Z7stridedPKfPfi"  # in that cubin
ALL = "global_access,shared_access,branch,instruction_execution"
PAIRS = 64 * 256 // 64  # of warps in a launch of the program `modules`
# What the stand-in counts for two warps (fake_cupti/cupti/sass_metrics.cpp).
PER_PAIR = {
    0x00: {"inst_executed": 2, "thread_inst_executed": 64, "thread_inst_executed_pred_on": 64},
    0x10: {
        "inst_executed": 2,
        "thread_inst_executed": 64,
        "thread_inst_executed_pred_on": 64,
        "inst_executed_op_global": 2,
        "inst_executed_op_global_ld": 2,
        "sectors_mem_global": 64,
        "sectors_mem_global_ideal": 8,
    },
    0x20: {
        "inst_executed": 2,
        "thread_inst_executed": 64,
        "thread_inst_executed_pred_on": 32,
        "inst_executed_op_shared": 2,
        "l1tex_pipe_lsu_wavefronts_mem_shared": 16,
        "l1tex_pipe_lsu_wavefronts_mem_shared_ideal": 2,
    },
    0x40: {
        "inst_executed": 2,
        "thread_inst_executed": 64,
        "thread_inst_executed_pred_on": 64,
        "inst_executed_op_branch": 2,
        "branch_targets_threads_divergent": 1,
        "branch_targets_threads_uniform": 1,
    },
    0x60: {"inst_executed": 2, "thread_inst_executed": 64},
}


class SassMetricsTest(FakeTest):
    def count(self, *target, analyses=ALL, options=(), choice=(), check=0, **more):
        options = (*choice, "--source-level-analysis", analyses, *options)
        run = self.profile(*target, options=options, check=check, **more)
        return run, self.database()

    def values(self, database):
        return database.rows("SELECT pc, metric, value FROM sass_metrics ORDER BY pc, metric")

    def expected(self, launches, has=lambda metric: True):
        return sorted(
            (pc, metric, value * PAIRS * launches)
            for pc, values in PER_PAIR.items()
            for metric, value in values.items()
            if has(metric)
        )

    def launches(self, database):
        return database.rows("SELECT count(*) FROM api_calls WHERE name LIKE 'cudaLaunch%'")[0][0]

    def statistic(self, database, name):
        return sum(n for (_, counted), n in database.statistics().items() if counted == name)


class Counts(SassMetricsTest):
    def test_beside_tracing(self):
        run, database = self.count("modules", "first", 50)
        self.assertIn("nothing lost", run.stderr)
        self.assertEqual(self.values(database), self.expected(50))
        self.assertEqual(self.launches(database), 50)
        self.assertEqual(database.count("CONCURRENT_KERNEL") + database.count("KERNEL"), 0)
        self.assertIn("kernels and copies are not traced", run.stderr)
        self.assertEqual(self.statistic(database, "sass_instructions"), len(PER_PAIR))
        self.assertEqual(
            database.rows(f"""
                SELECT DISTINCT v.function, v.correlation_id, m.cubinSize > 0 FROM sass_metrics AS v
                JOIN StringTable AS s ON s.value = v.mangled_name
                JOIN {PREFIX}FUNCTION AS f ON f.name = s._id_
                JOIN {PREFIX}MODULE AS m ON m.id = f.moduleId AND m.contextId = f.contextId"""),
            [("first", None, 1)],
        )
        self.assertIn(
            ("smsp__sass_inst_executed", "# of warp instructions executed"),
            database.rows("SELECT name, description FROM SASS_METRIC"),
        )

    def test_version_that_counts_nothing(self):
        run, database = self.count("modules", "first", 5, FAKE_CUPTI_VERSION=130000)
        self.assertIn("no SASS metrics: CUPTI before 13.1 counts none", run.stderr)
        self.assertEqual(self.values(database), [])

    def test_nvprofs_tables(self):
        _, database = self.count("modules", KERNEL, 10, FAKE_CUDA_CUBIN=CUBIN)
        warps = 2 * PAIRS * 10

        def table(name, columns):
            return database.rows(f"""
                SELECT pcOffset, {columns}, lineNumber FROM {PREFIX}{name} AS t
                JOIN {PREFIX}SOURCE_LOCATOR AS l ON l.id = t.sourceLocatorId
                WHERE correlationId = 0 AND t.processId = l.processId ORDER BY 1""")

        self.assertEqual(
            table(
                "INSTRUCTION_EXECUTION",
                "flags, executed, threadsExecuted, notPredOffThreadsExecuted",
            )[:4],
            [
                (0x00, 0, warps, 32 * warps, 32 * warps, 4),
                (0x10, 0, warps, 32 * warps, 32 * warps, 8),
                (0x20, 0, warps, 32 * warps, 16 * warps, 5),
                (0x40, 0, warps, 32 * warps, 32 * warps, 7),
            ],
        )
        access = "flags, executed, threadsExecuted, "
        self.assertEqual(
            table("GLOBAL_ACCESS", access + "l2_transactions, theoreticalL2Transactions"),
            [(0x10, 256, warps, 32 * warps, 32 * warps, 4 * warps, 8)],
        )
        self.assertEqual(
            table("SHARED_ACCESS", access + "sharedTransactions, theoreticalSharedTransactions"),
            [(0x20, 0, warps, 16 * warps, 8 * warps, warps, 5)],
        )
        self.assertEqual(
            table("BRANCH", "executed, threadsExecuted, diverged"),
            [(0x40, warps, 32 * warps, warps // 2, 7)],
        )

    def test_source_lines(self):
        _, database = self.count("modules", KERNEL, 3, FAKE_CUDA_CUBIN=CUBIN)
        self.assertEqual(
            database.rows("""
                SELECT DISTINCT pc, file, line, short_name FROM sass_metrics WHERE pc > 0
                ORDER BY pc"""),
            [(pc, "/examples/strided.cu", line, "strided")
             for pc, line in ((0x10, 8), (0x20, 5), (0x40, 7), (0x60, 8))],
        )  # fmt: skip

    def test_questions_by_line(self):
        self.count("modules", KERNEL, 10, FAKE_CUDA_CUBIN=CUBIN)
        warps = 2 * PAIRS * 10

        def answer(query):
            run = subprocess.run(
                [GPUPROF, "query", self.output, query, "--json"],
                capture_output=True, text=True, check=True,
            )  # fmt: skip
            rows = json.loads(run.stdout)["tables"][0]["rows"]
            self.assertEqual({row["short_name"] for row in rows}, {"strided"})
            return [list(row.values())[2:] for row in rows]

        self.assertEqual(
            answer("hot_lines"),
            [[8, 2 * warps, 32.0]] + [[line, warps, 32.0] for line in (4, 5, 7)],
        )
        self.assertEqual(answer("uncoalesced"), [[8, 32 * warps, 4 * warps, 8.0]])
        self.assertEqual(answer("bank_conflicts"), [[5, 8 * warps, warps, 8.0]])
        self.assertEqual(answer("divergent_branches"), [[7, warps // 2, warps]])

    def test_report_of_a_run(self):
        # The report asks for all of them.
        run = self.profile(
            "modules", KERNEL, 10, options=("--print-sass-metrics",), FAKE_CUDA_CUBIN=CUBIN, check=0
        )
        warps = 2 * PAIRS * 10
        report = run.stderr
        for line, *numbers in (
            (8, "40.00%", 2 * warps, "32.00"),
            (7, "50.00%", warps // 2, warps),
            (8, "8.00", 32 * warps, 4 * warps),
            (5, "8.00", 8 * warps, warps),
        ):
            place = rf"/examples/strided\.cu:{line}\n"
            self.assertRegex(report, r" +".join(re.escape(str(n)) for n in numbers) + " +" + place)
        self.assertIn("SASS metrics by source line:\nstrided(", report)

    def test_report_of_what_was_asked_for(self):
        self.profile(
            "modules", KERNEL, 2, options=("--print-sass-metrics", "-a", "branch"), check=0
        )
        database = self.database()
        counts = [database.count(t) for t in ("BRANCH", "GLOBAL_ACCESS", "SHARED_ACCESS")]
        self.assertEqual(counts, [1, 0, 0])

    def test_only_what_is_asked_for(self):
        _, database = self.count("modules", "first", 2, analyses="branch")
        self.assertEqual(
            self.values(database),
            self.expected(2, lambda m: "branch" in m or "op_" not in m and "_mem_" not in m),
        )
        counts = [database.count(t) for t in ("BRANCH", "GLOBAL_ACCESS", "SHARED_ACCESS")]
        self.assertEqual(counts, [1, 0, 0])

    def test_modules_that_come_and_go(self):
        _, database = self.count("modules", "first", 20, "unload")
        self.assertEqual(self.values(database), self.expected(20))

    def test_several_contexts(self):
        run, database = self.count("contexts")
        self.assertNotIn("no SASS metrics", run.stderr)
        counted = database.rows("""
            SELECT function, sum(value) FROM sass_metrics WHERE metric = 'inst_executed_op_branch'
            GROUP BY function""")
        self.assertEqual(dict(counted), dict.fromkeys(("first", "second", "third"), 2 * PAIRS * 3))


class ByLaunch(SassMetricsTest):
    # Pairs of warps in the launches of the program `shapes`, of each kernel in turn.
    COPY, SAXPY = [16, 400, 16], [64, 33, 0]

    def count_each(self, *target, choice=("--kernels", "."), **more):
        return self.count(*target, options=("-f",), choice=choice, **more)

    def ids(self, database):
        """Correlation ids of launches, in order."""
        return [
            correlation
            for (correlation,) in database.rows("""
                SELECT correlation_id FROM api_calls WHERE name LIKE '%Launch%Kernel%'
                GROUP BY 1 ORDER BY 1""")
        ]

    def by_launch(self, database):
        """(correlation id, mangled name) to (pc, metric, value), in order."""
        launches = {}
        for correlation, name, *value in database.rows("""
                SELECT correlation_id, mangled_name, pc, metric, value FROM sass_metrics
                ORDER BY correlation_id, pc, metric"""):
            launches.setdefault((correlation, name), []).append(tuple(value))
        return launches

    def assert_counted(self, database, wanted):
        """Exactly these launches have all their counts: id, mangled name, pairs of warps."""
        self.assertEqual(
            self.by_launch(database),
            {
                (correlation, name): [
                    (pc, metric, values[metric] * pairs)
                    for pc, values in PER_PAIR.items()
                    for metric in sorted(values)
                ]
                for correlation, name, pairs in wanted
                if pairs > 0
            },
        )

    def shapes(self, database):
        ids = self.ids(database)
        self.assertEqual(len(ids), 24)
        copies = zip(ids[0::2], ["_Z4copyPKfPf"] * 12, self.COPY * 4)
        saxpy = zip(ids[1::2], ["_Z5saxpyfPKfPf"] * 12, self.SAXPY * 4)
        return list(copies), list(saxpy)

    def test_all(self):
        run, database = self.count_each("shapes", 24)
        self.assertIn("nothing lost", run.stderr)
        copies, saxpy = self.shapes(database)
        self.assert_counted(database, copies + saxpy)
        self.assertEqual(
            database.rows(f"SELECT DISTINCT correlationId FROM {PREFIX}BRANCH ORDER BY 1"),
            sorted((launch[0],) for launch in copies + saxpy if launch[2] > 0),
        )

    def test_by_name_with_skip_and_count(self):
        choice = ("--kernels", "copy", "--launch-skip", 2, "--launch-count", 3)
        _, database = self.count_each("shapes", 24, choice=choice)
        self.assert_counted(database, self.shapes(database)[0][2:5])

    def test_several_choices(self):
        choice = ("--kernels", "copy", "--launch-count", 2, "-a", "branch",
                  "--kernels", "1:8:saxpy:2", "--launch-count", 0)  # fmt: skip
        _, database = self.count_each("shapes", 24, choice=choice)
        copies, saxpy = self.shapes(database)
        self.assert_counted(database, copies[:2] + saxpy[3:6])

    def test_threads(self):
        """Each launch has exclusive use of its context."""
        _, database = self.count_each("threads", 4, 50, choice=("--kernels", "kernel_[02]"))
        launches = list(self.by_launch(database))
        names = collections.Counter(name for _, name in launches)
        self.assertEqual(names, {"thread_kernel_0": 50, "thread_kernel_2": 50})
        self.assertLess({correlation for correlation, _ in launches}, set(self.ids(database)))
        self.assert_counted(database, [(*launch, PAIRS) for launch in launches])

    def test_modules_that_come_and_go(self):
        _, database = self.count_each("modules", "first", 20, "unload")
        self.assert_counted(database, [(one, "first", PAIRS) for one in self.ids(database)])

    def test_several_contexts(self):
        _, database = self.count_each("contexts")
        launches = list(self.by_launch(database))
        self.assertEqual([correlation for correlation, _ in launches], self.ids(database))
        self.assert_counted(database, [(*launch, PAIRS) for launch in launches])

    def test_graphs_and_captures(self):
        run, database = self.count_each("capture")
        self.assertGreater(self.statistic(database, "metrics_skipped_graph"), 0)
        self.assertGreater(self.statistic(database, "metrics_skipped_capture"), 0)
        self.assertIn("instructions were not counted", run.stderr)

    def test_what_may_hang_is_left_out(self):
        _, database = self.count_each("cooperative", 3)
        self.assertEqual(self.statistic(database, "metrics_skipped_excluded"), 3 * 3)
        choice = ("--metrics-exclude", "copy", "--kernels", ".")
        _, database = self.count_each("shapes", 24, choice=choice)
        self.assertEqual(self.statistic(database, "metrics_skipped_excluded"), 12)
        self.assert_counted(database, self.shapes(database)[1])

    def test_a_launch_that_hangs(self):
        run, database = self.count_each(
            "shapes", 24, choice=("--hang-timeout", 1, "--kernels", "."),
            FAKE_CUPTI_HANG="_Z5saxpyfPKfPf:3",
        )  # fmt: skip
        self.assertEqual(run.stderr.count("does not end"), 1, run.stderr)
        self.assertIn("--metrics-exclude", run.stderr)
        self.assertEqual(len(self.ids(database)), 24)
        self.assertLess(len(self.by_launch(database)), 20)

    def test_refused(self):
        run, database = self.count_each("shapes", 24, FAKE_CUPTI_FAIL="cuptiSassMetricsEnable=35")
        self.assertEqual(run.stderr.count("NVreg_RestrictProfilingToAdminUsers"), 1, run.stderr)
        self.assertEqual(len(self.ids(database)), 24)
        self.assertEqual(self.by_launch(database), {})

    def test_reading_that_fails(self):
        run, database = self.count_each(
            "shapes", 24, FAKE_CUPTI_FAIL="cuptiSassMetricsFlushData=999"
        )
        self.assertIn("cuptiSassMetricsFlushData: CUPTI_ERROR_UNKNOWN", run.stderr)
        self.assertEqual(len(self.ids(database)), 24)
        self.assertEqual(self.statistic(database, "sass_contexts_lost"), 1)

    def test_a_target_that_dies(self):
        """The counts of earlier launches are kept."""
        _, database = self.count_each("die", "sigkill", 100, check=None)
        counted = {correlation for correlation, _ in self.by_launch(database)}
        self.assertGreater(len(counted), 0)
        self.assertLessEqual(counted, set(self.ids(database)))


class Trouble(SassMetricsTest):
    def trouble(self, *words, launches=20, lost=0, options=(), **more):
        """One line says why, and the program is traced."""
        run, database = self.count("modules", "first", launches, options=options, **more)
        lines = [line for line in run.stderr.splitlines() if "no SASS metrics" in line]
        self.assertEqual(len(lines), 1, run.stderr)
        for word in words:
            self.assertIn(word, lines[0])
        self.assertEqual(self.launches(database), launches)
        self.assertEqual(self.values(database), [])
        self.assertEqual(self.statistic(database, "sass_contexts_lost"), lost)
        database.close()

    def test_no_permission(self):
        for code, words in (
            (33, "virtual GPU"),
            (35, "NVreg_RestrictProfilingToAdminUsers"),
            (40, "enable_profiling"),
            (43, "a part of a GPU (MIG)"),
        ):
            with self.subTest(words):
                self.trouble(
                    words, FAKE_CUPTI_FAIL=f"cuptiSassMetricsSetConfig={code}", options=("-f",)
                )

    def test_calls_that_fail(self):
        for lost, calls in (
            (0, ("GetNumOfMetrics", "GetMetrics", "SetConfig", "Enable")),
            (1, ("GetDataProperties", "FlushData")),
        ):
            for call in calls:
                with self.subTest(call=call):
                    self.trouble(
                        f"cuptiSassMetrics{call}: CUPTI_ERROR_UNKNOWN", lost=lost,
                        FAKE_CUPTI_FAIL=f"cuptiSassMetrics{call}=999", options=("-f",),
                    )  # fmt: skip

    def test_a_chip_without_them(self):
        self.trouble("has none", FAKE_CUPTI_SASS_LACKS="smsp")
        self.trouble(FAKE_CUPTI_FAIL="cuptiSassMetricsGetNumOfMetrics=27", options=("-f",))

    def test_a_chip_without_some(self):
        _, database = self.count("modules", "first", 2, FAKE_CUPTI_SASS_LACKS="ideal")
        self.assertEqual(
            self.values(database), self.expected(2, lambda metric: "ideal" not in metric)
        )
        self.assertEqual(
            database.rows(f"SELECT theoreticalL2Transactions FROM {PREFIX}GLOBAL_ACCESS"), [(0,)]
        )

    def test_refused(self):
        self.trouble("CUPTI_ERROR_INVALID_OPERATION", FAKE_CUPTI_SASS_REFUSE=1)

    def test_bare(self):
        run, _ = self.count("modules", "first", 5, cupti=BARE_CUPTI)
        self.assertIn("no SASS metrics", run.stderr)

    def test_a_target_that_dies(self):
        # The counts are lost with it, which is recorded; the trace is not.
        _, database = self.count("die", "sigkill", 100, check=None)
        self.assertEqual(self.values(database), [])
        self.assertGreater(self.launches(database), 0)
        self.assertEqual(
            database.rows("SELECT value FROM losses WHERE name = 'sass_contexts_lost'"), [(1,)]
        )


class Options(FakeTest):
    def test_not_with_what_measures_kernels(self):
        for options in (
            ("--pc-sampling",),
            ("--metrics", "blocks"),
            ("-a", "pc_sampling"),
            ("--print-pc-sampling", "--print-sass-metrics"),
        ):
            run = self.profile("hello", options=("-a", "branch", *options))
            self.assertEqual(run.code, 5)
            self.assertIn("--source-level-analysis changes the code", run.stderr)

    def test_words(self):
        run = self.profile("hello", options=("-a", "branch,nonsense"))
        self.assertEqual(run.code, 5)
        self.assertIn("instruction_execution", run.stderr)


if __name__ == "__main__":
    unittest.main()
