"""gpuprof kernels: each figure is the one that SQL finds in the file, and what is not there is named."""

import collections
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import unittest

from builds import asan, load_tests  # noqa: F401

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS / "support"))
from scripts import load_script  # noqa: E402

make_expected = load_script(TESTS / "captures" / "make_expected")

GPUPROF = os.environ.get("GPUPROF", "")
CAPTURES = "torch_step", "streams_graph", "metrics", "kinds", "pc_sampling"
KERNELS = "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"
# Without the view and its joins.
SQL = f"""
SELECT (SELECT coalesce(demangled, value) FROM StringTable AS s WHERE s._id_ = k.name),
       printf('(%d,%d,%d)', gridX, gridY, gridZ), printf('(%d,%d,%d)', blockX, blockY, blockZ),
       k.registersPerThread, dynamicSharedMemory, staticSharedMemory, localMemoryPerThread,
       CASE WHEN isSharedMemoryCarveoutRequested THEN sharedMemoryCarveoutRequested END,
       o.occupancy, o.limiter, o.blocksPerMultiprocessor, o.waves, o.tailShare,
       count(*), count(nullif(start, 0)), sum("end" - start), min("end" - start), max("end" - start),
       group_concat("end" - start)
FROM {KERNELS} AS k
LEFT JOIN LAUNCH_SHAPE AS o
  ON o.blocks = gridX * gridY * gridZ AND o.threadsPerBlock = blockX * blockY * blockZ
 AND o.sharedMemory = staticSharedMemory + dynamicSharedMemory
 AND o.registersPerThread = k.registersPerThread
 AND o.carveout = CASE WHEN isSharedMemoryCarveoutRequested
                       THEN sharedMemoryCarveoutRequested ELSE -1 END
 AND o.deviceId = k.deviceId AND o.processId = k.processId
{{}}
GROUP BY k.name, 2, 3, 4, 5, 6, 7, 8
"""
ROOFLINE = {
    "gpu__time_duration.sum": 2000.0,
    "flop_count_sp": 6000.0,
    "flop_count_dp": 1000.0,
    "flop_count_hp": 0.0,
    "flop_sp_efficiency": 12.5,
    "flop_dp_efficiency": 3.0,
    "sm__ops_path_tensor_src_bf16_dst_fp32.sum": 3000.0,
    "sm__ops_path_tensor_src_bf16_dst_fp32.avg.pct_of_peak_sustained_elapsed": 8.0,
    "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16.sum": 2000.0,
    "sm__ops_path_tensor_op_hmma_src_fp16_dst_fp16.avg.pct_of_peak_sustained_elapsed": 7.0,
    "dram_read_bytes": 900.0,
    "dram_write_bytes": 100.0,
    "dram__throughput.avg.pct_of_peak_sustained_elapsed": 72.0,
}


def dimensions(sizes):
    return "({})".format(",".join(map(str, sizes)))


def median(values):
    values = sorted(values)
    return (values[(len(values) - 1) // 2] + values[len(values) // 2]) // 2


def p90(values):
    return sorted(values)[-(-len(values) * 90 // 100) - 1]


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Kernels(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="kernels-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        captures = {capture.stem: capture for capture in make_expected.captures()}
        cls.profiles = {}
        for name in CAPTURES:
            cls.profiles[name] = cls.folder / f"{name}.sqlite"
            make_expected.replayed(GPUPROF, captures[name], cls.profiles[name])

    def run_it(self, *words, code=0):
        ran = subprocess.run([GPUPROF, "kernels", *map(str, words)], capture_output=True, text=True,
                             encoding="utf-8", timeout=120, check=False)  # fmt: skip
        self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
        return ran.stdout if code == 0 else ran.stderr

    def document(self, *words):
        return json.loads(self.run_it(*words, "--top", 100000, "--json"))

    def changed(self, name, *statements):
        """A copy of the profile, changed by SQL."""
        number = len(list(self.folder.iterdir()))
        path = self.folder / f"{number}.sqlite"
        shutil.copy(self.profiles[name], path)
        with sqlite3.connect(path) as database:
            for statement in statements:
                database.execute(*statement) if isinstance(
                    statement, tuple
                ) else database.executescript(statement)
        database.close()
        return path

    def with_metrics(self, values):
        """The metrics capture, in which only matmul was measured, with these values."""
        metrics = [
            ("INSERT INTO METRIC(_id_, name, unit, isEvent) VALUES(?, ?, '', 0)", (i, name))
            for i, name in enumerate(values, 1)
        ]
        # Two launches, whose mean is the value.
        wanted = [
            (
                "INSERT INTO METRIC_VALUE SELECT _id_, ?, ? * (1 + 0.5 * (CASE WHEN _id_ = "
                "(SELECT min(_id_) FROM METRIC_RANGE) THEN 1 ELSE -1 END)) FROM METRIC_RANGE",
                (i, value),
            )
            for i, value in enumerate(values.values(), 1)
        ]
        return self.changed(
            "metrics",
            """DELETE FROM METRIC_VALUE; DELETE FROM METRIC; DELETE FROM METRIC_GROUP;
               DELETE FROM METRIC_RANGE WHERE passGroup > 1 OR name NOT IN
                 (SELECT _id_ FROM StringTable WHERE demangled LIKE 'matmul%')""",
            *metrics,
            *wanted,
        )

    def check(self, found, path, where=""):
        with sqlite3.connect(path) as database:
            rows = database.execute(SQL.format(where)).fetchall()
        database.close()
        total = sum(row[15] for row in rows)
        self.assertEqual(
            (found["total_ns"], found["launches"]), (total, sum(row[13] for row in rows))
        )
        self.assertEqual((found["shapes"], len(found["kernels"])), (len(rows), len(rows)))
        self.assertAlmostEqual(sum(kernel["share"] for kernel in found["kernels"]), 1)
        expected = collections.Counter()
        for row in rows:
            times = [int(time) for time in row[18].split(",")]
            expected[(*row[:18], median(times), p90(times))] += 1
        shapes = collections.Counter()
        for kernel in found["kernels"]:
            occupancy = kernel["occupancy"] or collections.defaultdict(lambda: None)
            of_shape = (
                kernel["name"],
                dimensions(kernel["grid"]),
                dimensions(kernel["block"]),
                *(kernel[key] for key in ("registers", "dynamic_shared_memory_bytes",
                                          "static_shared_memory_bytes",
                                          "local_memory_per_thread_bytes", "carveout_percent")),
                *(occupancy[key] for key in ("theoretical", "limiter", "blocks_per_sm", "waves",
                                             "tail_share")),
                *(kernel[key] for key in ("launches", "timed", "total_ns", "shortest_ns",
                                          "longest_ns", "median_ns", "p90_ns")),
            )  # fmt: skip
            shapes[of_shape] += 1
            self.assertEqual(kernel["share"], kernel["total_ns"] / total)
        self.assertEqual(shapes, expected)
        times = [kernel["total_ns"] for kernel in found["kernels"]]
        self.assertEqual(times, sorted(times, reverse=True))

    def test_figures_are_those_of_the_view(self):
        for name, path in self.profiles.items():
            with self.subTest(name):
                self.check(self.document(path), path)

    def test_figures_are_those_of_the_docs(self):
        for name, path in self.profiles.items():
            if name == "kinds":
                continue  # shapes that differ in the carveout, which the view does not have
            with self.subTest(name):
                found, rows = self.document(path)["kernels"], self.by_docs("share_of_kernels", path)
                names = "name", "registers", "launches", "total_ns", "median_ns"
                self.assertEqual(
                    sorted(tuple(row[key] for key in (*names, "waves")) for row in rows),
                    sorted((*(kernel[key] for key in names), kernel["occupancy"]["waves"]) for kernel in found),
                )  # fmt: skip
                shares = sorted(kernel["share"] for kernel in found)
                for share, row in zip(shares, sorted(row["share_of_kernels"] for row in rows)):
                    self.assertAlmostEqual(share, row)

    def test_the_example_of_the_docs(self):
        page = (TESTS.parent / "docs/kernels.md").read_text(encoding="utf-8")
        (example,) = re.findall("<!-- kernels: pc_sampling -->\n```text\n(.*?)```", page, re.DOTALL)
        self.assertEqual(self.run_it(self.profiles["pc_sampling"], "--top", 1), example)

    def test_a_part_of_the_run(self):
        path = self.profiles["torch_step"]
        with sqlite3.connect(path) as database:
            times = [row[0] for row in database.execute("SELECT start FROM kernels ORDER BY start")]
            (zero,) = database.execute("SELECT value FROM RUN WHERE key = 'zero_ns'").fetchone()
        database.close()
        first, last = times[len(times) // 3], times[2 * len(times) // 3]
        found = self.document(
            path, "--from", f"{first - int(zero)}ns", "--to", f"{last - int(zero)}ns"
        )
        self.check(found, path, f"WHERE {first} <= start AND start < {last}")
        self.assertLess(found["launches"], len(times))

    def test_names_and_number(self):
        path = self.profiles["torch_step"]
        everything = self.document(path)
        some = self.document(path, "--kernels", "gemm|reduce")
        self.assertEqual(some["total_ns"], everything["total_ns"])
        expected = [k for k in everything["kernels"] if re.search("gemm|reduce", k["name"])]
        self.assertEqual(some["kernels"], expected)
        self.assertLess(0, len(expected))
        self.assertLess(len(expected), everything["shapes"])
        three = json.loads(self.run_it(path, "--top", 3, "--json"))
        self.assertEqual(three["kernels"], everything["kernels"][:3])
        self.assertEqual(three["shapes"], everything["shapes"])
        text = self.run_it(path, "--top", 3)
        self.assertIn(f"Not shown: {everything['shapes'] - 3} more shapes", text)
        self.assertEqual(len(re.findall(r"^\d+\. ", text, re.MULTILINE)), 3)

    def test_means_of_metrics(self):
        path = self.profiles["metrics"]
        with sqlite3.connect(path) as database:
            rows = database.execute(
                "SELECT name, grid, block, metric, unit, measured, mean FROM metric_coverage"
            ).fetchall()
        database.close()
        found = self.document(path)
        self.assertTrue(found["patched"])
        means = {
            (kernel["name"], dimensions(kernel["grid"]), dimensions(kernel["block"]), metric["name"]): metric
            for kernel in found["kernels"]
            for metric in kernel["metrics"]
        }  # fmt: skip
        self.assertEqual(len(means), len(rows))
        for *key, unit, measured, mean in rows:
            metric = means[tuple(key)]
            self.assertEqual((metric["unit"], metric["measured"]), (unit, measured))
            self.assertAlmostEqual(metric["mean"], mean, delta=1e-9 * abs(mean))
        # Bytes written were not measured.
        self.assertEqual({kernel["roofline"] for kernel in found["kernels"]}, {None})
        self.assertTrue(any("--set roofline" in sentence for sentence in found["missing"]))

    def matmul(self, path):
        (kernel,) = self.document(path, "--kernels", "^matmul")["kernels"]
        return kernel

    def test_roofline(self):
        path = self.with_metrics(ROOFLINE)
        kernel = self.matmul(path)
        roofline = kernel["roofline"]
        self.assertEqual((roofline["operations"], roofline["bytes"]), (12_000, 1000))
        self.assertEqual(roofline["operations_per_byte"], 12)
        self.assertEqual(roofline["duration_ns"], 2000)
        self.assertEqual(len(roofline["operation_metrics"]), 5)
        self.assertEqual(roofline["byte_metrics"], ["dram_read_bytes", "dram_write_bytes"])
        # The shares of the tensor cores add up: 15 %.
        self.assertEqual(roofline["compute_roof"]["percent"], 15)
        self.assertIn("bf16", roofline["compute_roof"]["metric"])
        self.assertEqual(roofline["memory_roof"]["percent"], 72)
        self.assertEqual(roofline["nearer_roof"], "memory")
        self.assertEqual(kernel["memory"]["percent"], 72)
        text = " ".join(self.run_it(path, "--kernels", "^matmul").split())
        self.assertIn("12 operations per byte, 6 Goperations/s, 500 Mbytes/s; memory is the nearer roof, at 72.0%", text)  # fmt: skip
        (row,) = self.by_docs("operations_per_byte", path)
        self.assertEqual(
            (row["operations"], row["bytes"], row["operations_per_byte"]), (12_000, 1000, 12)
        )

    def by_docs(self, column, path):
        """What the SQL of docs/kernels.md that has this column finds."""
        page = (TESTS.parent / "docs/kernels.md").read_text(encoding="utf-8")
        (sql,) = [
            text
            for text in re.findall("```sql\n(.*?)```", page, re.DOTALL)
            if f"AS {column}" in text
        ]
        with sqlite3.connect(path) as database:
            database.row_factory = sqlite3.Row
            rows = database.execute(sql).fetchall()
        database.close()
        return rows

    def test_roofs(self):
        compute = {**ROOFLINE, "flop_sp_efficiency": 80.0}
        self.assertEqual(
            self.matmul(self.with_metrics(compute))["roofline"]["nearer_roof"], "compute"
        )
        far = {**ROOFLINE, "dram__throughput.avg.pct_of_peak_sustained_elapsed": 20.0}
        text = " ".join(self.run_it(self.with_metrics(far), "--kernels", "^matmul").split())
        self.assertIn("both are far", text)
        unknown = {name: value for name, value in ROOFLINE.items() if "dram__" not in name}
        roofline = self.matmul(self.with_metrics(unknown))["roofline"]
        self.assertEqual((roofline["nearer_roof"], roofline["memory_roof"]), (None, None))
        still = {**ROOFLINE, "dram_read_bytes": 0.0, "dram_write_bytes": 0.0}
        roofline = self.matmul(self.with_metrics(still))["roofline"]
        self.assertIsNone(roofline["operations_per_byte"])
        self.assertIsNone(self.matmul(self.with_metrics({"flop_count_sp": 1.0}))["roofline"])

    def test_the_unit_nearest_to_its_peak(self):
        active, elapsed = ".avg.pct_of_peak_sustained_active", ".avg.pct_of_peak_sustained_elapsed"
        kernel = self.matmul(
            self.with_metrics(
                {
                    f"sm__inst_executed_pipe_fma{active}": 20.0,
                    "issue_slot_utilization": 31.0,
                    f"lts__t_sectors{elapsed}": 44.0,
                    f"dram__throughput{elapsed}": 40.0,
                    "achieved_occupancy": 0.75,
                }
            )
        )
        self.assertEqual(
            [kernel[key] for key in ("compute", "memory", "achieved_occupancy")],
            [
                {"percent": 31.0, "metric": "issue_slot_utilization"},
                {"percent": 44.0, "metric": f"lts__t_sectors{elapsed}"},
                {"percent": 75.0, "metric": "achieved_occupancy"},
            ],
        )

    def test_stalls_and_lines(self):
        path = self.profiles["pc_sampling"]
        found = self.document(path)
        sampled = [kernel for kernel in found["kernels"] if kernel["code"]]
        self.assertTrue(sampled)
        with sqlite3.connect(path) as database:
            for kernel in sampled:
                name = kernel["name"]
                stalls = database.execute(
                    "SELECT stall_reason, sum(samples) FROM pc_samples WHERE function = ? GROUP BY 1",
                    (name,),
                ).fetchall()
                lines = database.execute(
                    """SELECT coalesce(file || ':' || line, printf('+0x%x', pc)), sum(samples)
                       FROM pc_samples WHERE function = ? GROUP BY 1""",
                    (name,),
                ).fetchall()
                code = kernel["code"]
                self.assertEqual(code["samples"], sum(samples for _, samples in stalls))
                self.assertEqual({s["reason"]: s["samples"] for s in code["stalls"]}, dict(stalls))
                self.assertEqual({s["place"]: s["count"] for s in code["lines"]}, dict(lines))
                counts = [line["count"] for line in code["lines"]]
                self.assertEqual(counts, sorted(counts, reverse=True))
        database.close()
        rows = {(row["function"], row["stall_reason"]): row["share_of_samples"]
                for row in self.by_docs("share_of_samples", path)}  # fmt: skip
        for kernel in sampled:
            for stall in kernel["code"]["stalls"]:
                share = stall["samples"] / kernel["code"]["samples"]
                self.assertAlmostEqual(rows[kernel["name"], stall["reason"]], share)
        text = self.run_it(path)
        most = max(sampled[0]["code"]["stalls"], key=lambda stall: stall["samples"])
        share = 100 * most["samples"] / sampled[0]["code"]["samples"]
        self.assertIn(f"Stalls     {most['reason']} {share:.1f}%", text)
        self.assertNotIn("--set stalls", text)

    def test_counted_instructions(self):
        """As files of nvprof have them, next to kernels."""
        path = self.changed(
            "pc_sampling",
            """INSERT INTO CUPTI_ACTIVITY_KIND_INSTRUCTION_EXECUTION(functionId, sourceLocatorId,
                 pcOffset, executed, threadsExecuted, notPredOffThreadsExecuted, processId)
                 SELECT functionId, sourceLocatorId, pcOffset, 7, 7, 7, processId
                 FROM CUPTI_ACTIVITY_KIND_pc_sampling GROUP BY functionId, pcOffset, processId;
               DELETE FROM CUPTI_ACTIVITY_KIND_pc_sampling""",
        )
        counted = [kernel["code"] for kernel in self.document(path)["kernels"] if kernel["code"]]
        self.assertTrue(counted)
        for code in counted:
            self.assertEqual((code["samples"], code["stalls"]), (0, []))
            self.assertEqual(sum(line["count"] for line in code["lines"]), code["executed"])
            self.assertEqual(code["executed"] % 7, 0)
        self.assertIn("Shares are of instructions", self.run_it(path))

    def test_against_a_baseline(self):
        before = self.profiles["torch_step"]
        same = self.document(before, "--against", before)
        for kernel in same["kernels"]:
            shape = kernel["baseline"]["shape"]
            self.assertEqual(shape, {key: kernel[key] for key in shape})
            self.assertEqual(kernel["baseline"]["share"], kernel["share"])
        # Times twice as long; other blocks; another name.
        largest, second, third = (kernel["name"] for kernel in same["kernels"][:3])
        id_of = "(SELECT _id_ FROM StringTable WHERE demangled = '{}')".format
        after = self.changed(
            "torch_step",
            f"""UPDATE {KERNELS} SET "end" = start + 2 * ("end" - start) WHERE name = {id_of(largest)};
                UPDATE {KERNELS} SET gridX = 77 WHERE name = {id_of(second)};
                INSERT INTO StringTable(_id_, value) VALUES(7777777, 'renamed');
                UPDATE {KERNELS} SET name = 7777777 WHERE name = {id_of(third)}""",
        )
        found = self.document(after, "--against", before)
        by_name = {kernel["name"]: kernel for kernel in found["kernels"]}
        kernel = by_name[largest]
        self.assertEqual(kernel["median_ns"], 2 * kernel["baseline"]["shape"]["median_ns"])
        self.assertIsNone(by_name[second]["baseline"]["shape"])
        self.assertEqual(by_name["renamed"]["baseline"]["launches_of_all_shapes"], 0)
        text = " ".join(self.run_it(after, "--against", before, "--top", 50).split())
        self.assertIn("(+100.0%)", text)
        self.assertRegex(
            text,
            r"Baseline [0-9.]+us, now [0-9.]+us; median [0-9.]+us, now [0-9.]+us \(\+100.0%\); 2 launches, now 2; ",
        )
        launches = by_name[second]["baseline"]["launches_of_all_shapes"]
        self.assertIn(f"has no launch with this grid and block, and {launches} with others", text)
        self.assertIn("has no such kernel", text)

    def test_text_and_markdown(self):
        evil = "<b>|@all `x` \x1b[31m *bold* " + "long " * 100
        path = self.changed(
            "pc_sampling",
            ("UPDATE StringTable SET demangled = ?, display = NULL, short = NULL WHERE demangled NOT NULL", (evil,)),
            ("UPDATE PC_STALL_REASON SET reason = ?", (evil[:30],)),
        )  # fmt: skip
        text, markdown = self.run_it(path), self.run_it(path, "--markdown")
        for line in text.splitlines():
            self.assertLessEqual(len(line), 100, line)
        self.assertNotIn("\x1b", text + markdown)
        for character in "@", "`", "|", "*bold", "<b":
            self.assertNotIn(character, markdown)
        self.assertIn("\n### 1. ", markdown)
        for name, path in self.profiles.items():
            for line in self.run_it(path).splitlines():
                self.assertTrue(len(line) <= 100 or " " not in line.strip(), f"{name}: {line}")
        both = self.run_it(self.profiles["metrics"], "--json", "--markdown", code=5)
        self.assertIn("exclude one another", both)

    def test_what_is_missing_is_named(self):
        text = " ".join(self.run_it(self.profiles["torch_step"]).split())
        for option in "--set roofline", "--set stalls":
            self.assertIn(option, text)
        self.assertNotIn("gpuprof finish", text)
        unfinished = self.changed("torch_step", "DELETE FROM LAUNCH_SHAPE")
        text = " ".join(self.run_it(unfinished).split())
        self.assertIn("gpuprof finish", text)
        self.assertNotIn("Waves ", text)
        untimed = self.changed(
            "torch_step", 'UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET start = 0, "end" = 0'
        )
        self.assertIn("without times", self.run_it(untimed))
        self.assertIn("nothing spilled", self.run_it(self.profiles["torch_step"]))
        spilled = self.changed("torch_step", f"UPDATE {KERNELS} SET localMemoryPerThread = 24")
        self.assertIn("24 bytes of local memory a thread", self.run_it(spilled))
        unknown = self.changed("torch_step", f"UPDATE {KERNELS} SET localMemoryPerThread = NULL")
        self.assertNotIn("spilled", self.run_it(unknown))
        nothing = self.changed("torch_step", "DELETE FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL")
        self.assertEqual(self.run_it(nothing), "No kernel was recorded there.\n")
        self.assertEqual(self.document(nothing)["kernels"], [])
        self.assertIn("no kernel", self.run_it(self.profiles["torch_step"], "--kernels", "no such").lower())  # fmt: skip

    def test_files_of_nvprof(self):
        """They have no occupancy, no display names and no metrics by range."""
        profile, old = self.profiles["torch_step"], self.folder / "nvprof.sqlite"
        subprocess.run(
            [GPUPROF, "export", "-q", "--for", "nvprof", "-f", "-o", old, profile], check=True
        )
        found, expected = self.document(old), self.document(profile)
        self.assertEqual((found["total_ns"], found["launches"]), (expected["total_ns"], expected["launches"]))  # fmt: skip
        self.assertEqual(
            [kernel["total_ns"] for kernel in found["kernels"]],
            [kernel["total_ns"] for kernel in expected["kernels"]],
        )

    def test_wrong_words(self):
        path = self.profiles["torch_step"]
        for words, says in (
            ((path, "--kernels", "("), "parenthesis"),
            ((path, "--top", "0"), "--top"),
            ((path, "--nvtx", "nothing has this name"), "nothing has this name"),
        ):
            self.assertIn(says, self.run_it(*words, code=5))
        self.assertIn("none.sqlite", self.run_it(path, "--against", self.folder / "none.sqlite", code=20))  # fmt: skip

    @asan
    def test_forged_values(self):
        huge = 2**63 - 1
        for name, sql in (
            ("metrics", f'UPDATE {KERNELS} SET "end" = {huge}'),
            ("metrics", f"UPDATE {KERNELS} SET start = {-huge}"),
            ("metrics", f"UPDATE {KERNELS} SET gridX = {huge}, gridY = {huge}, blockX = -{huge}"),
            ("metrics", f"UPDATE {KERNELS} SET registersPerThread = {huge}, localMemoryPerThread = -1"),
            ("metrics", f"UPDATE {KERNELS} SET staticSharedMemory = {huge}, dynamicSharedMemory = {huge}"),
            ("metrics", f"UPDATE {KERNELS} SET name = -1, deviceId = rowid * 7919"),
            ("metrics", "UPDATE StringTable SET value = x'ff00fe', demangled = x'ff00fe'"),
            ("metrics", "UPDATE METRIC_VALUE SET value = 9e999"),
            ("metrics", "UPDATE METRIC_VALUE SET value = 'much'"),
            ("metrics", "UPDATE METRIC SET name = 'flop_count_sp', unit = x'ff'"),
            ("metrics", f"UPDATE METRIC_RANGE SET gridX = {huge}, name = NULL"),
            ("metrics", "DROP TABLE METRIC"),
            ("metrics", "DROP TABLE LAUNCH_SHAPE; CREATE TABLE LAUNCH_SHAPE(tailShare)"),
            ("metrics", "UPDATE LAUNCH_SHAPE SET waves = 9e999, tailShare = -9e999, occupancy = 'x'"),
            ("metrics", "UPDATE LAUNCH_SHAPE SET waves = -1, limiter = x'1b5b'"),
            ("pc_sampling", f"UPDATE CUPTI_ACTIVITY_KIND_pc_sampling SET samples = {huge}"),
            ("pc_sampling", "UPDATE CUPTI_ACTIVITY_KIND_pc_sampling SET samples = -5, stallReasonId = -1"),
            ("pc_sampling", f"UPDATE CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR SET lineNumber = {huge}, fileName = -1"),
            ("pc_sampling", "DROP TABLE CUPTI_ACTIVITY_KIND_FUNCTION"),
            ("pc_sampling", "UPDATE PC_STALL_REASON SET reason = x'00ff'"),
        ):  # fmt: skip
            with self.subTest(sql):
                forged = self.changed(name, sql)
                for words in ((), ("--json",), ("--markdown", "--against", self.profiles[name])):
                    ran = subprocess.run([GPUPROF, "kernels", forged, *words], timeout=120,
                                         capture_output=True, check=False)  # fmt: skip
                    self.assertIn(ran.returncode, (0, 20), ran.stderr)
                    self.assertNotIn(b"\x1b", ran.stdout)
                    self.assertNotIn(b"runtime error", ran.stderr)

    @asan
    def test_many_shapes(self):
        """More than are kept apart are counted."""
        path = self.changed(
            "metrics",
            """WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 70000)
               INSERT INTO CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL(start, "end", name, gridX, deviceId)
               SELECT i, 2 * i, 1, i, 0 FROM n""",
        )
        found = json.loads(self.run_it(path, "--json"))
        self.assertEqual(found["launches"], 70_010)
        self.assertEqual(found["shapes"], 1 << 16)
        self.assertEqual(found["launches_in_other_shapes"], 70_010 - (1 << 16) - 5)


if __name__ == "__main__":
    unittest.main()
