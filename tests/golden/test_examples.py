"""The queries of examples/queries on captures of real runs: all run, and each finds something.

GPUPROF is the path of the gpuprof binary. The pandas file is skipped if pandas is missing.
"""
# ctest-labels: plain

import importlib.util
import json
import lzma
import os
import pathlib
import shutil
import sqlite3
import subprocess
import tempfile
import unittest

SOURCE = pathlib.Path(__file__).resolve().parent.parent.parent
# Packed ones are unpacked in the build tree.
BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", ""))
CAPTURES = sorted(
    capture
    for folder in (SOURCE, BUILD)
    for capture in (folder / "tests" / "captures").glob("*.gpcap")
)
SASS = SOURCE / "tests" / "golden" / "count_lines.sqlite.xz"
QUERIES = SOURCE / "examples" / "queries"
GPUPROF = os.environ.get("GPUPROF")


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Examples(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="examples-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.databases = {}
        for capture in CAPTURES:
            path = cls.folder / f"{capture.stem}.sqlite"
            subprocess.run([GPUPROF, "replay", "-q", "-o", path, capture], check=True)
            cls.databases[capture.stem] = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
            cls.addClassCleanup(cls.databases[capture.stem].close)
        # examples/count_lines 3 with -a global_access,… on an H200.
        path = cls.folder / "count_lines.sqlite"
        path.write_bytes(lzma.decompress(SASS.read_bytes()))
        cls.databases["count_lines"] = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        cls.addClassCleanup(cls.databases["count_lines"].close)

    def test_each_query_finds_something(self):
        files = sorted(QUERIES.glob("*.sql"))
        self.assertGreaterEqual(len(files), 5)
        for file in files:
            with self.subTest(query=file.name):
                text = file.read_text()
                if "3.25" in text.splitlines()[0] + text.splitlines()[1]:
                    if sqlite3.sqlite_version_info < (3, 25):
                        continue
                rows = {}
                for name, run in self.databases.items():
                    try:
                        rows[name] = len(run.execute(text).fetchall())
                    except sqlite3.OperationalError as error:
                        # `gpuprof query` completes files first: of an older gpuprof, or of runs
                        # without stacks.
                        if str(error) != "no such table: graph_nodes":
                            self.assertEqual(name, "count_lines", error)
                        self.assertRegex(str(error), "^no such (table|column)")
                self.assertTrue(any(rows.values()), rows)

    def test_what_the_lines_of_an_h200_did(self):
        """As in the comments of examples/count_lines.cu: 3 launches of 2,048 warps."""
        numbers = {}
        source = (SOURCE / "examples" / "count_lines.cu").read_text()
        for number, line in enumerate(source.splitlines(), 1):
            _, comment, name = line.partition("// counts: ")
            if comment:
                numbers[number] = name.strip()
        warps = 3 * 2048

        def counted(columns, table):
            return {
                numbers[row[0]]: row[1:]
                for row in self.databases["count_lines"].execute(
                    f"""SELECT lineNumber, {columns} FROM CUPTI_ACTIVITY_KIND_{table} AS t
                        JOIN CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR AS l ON l.id = t.sourceLocatorId"""
                )
                if row[0] in numbers
            }

        self.assertEqual(
            counted("executed, l2_transactions, theoreticalL2Transactions", "GLOBAL_ACCESS"),
            {
                "load": (warps, 4 * warps, 4 * warps),
                "store": (warps, 4 * warps, 4 * warps),
                "strided_load": (warps, 32 * warps, 4 * warps),
                "store_again": (warps, 4 * warps, 4 * warps),
            },
        )
        self.assertEqual(
            counted("executed, sharedTransactions, theoreticalSharedTransactions", "SHARED_ACCESS"),
            {"conflicting_store": (warps, 32 * warps, warps), "shared_load": (warps, warps, warps)},
        )
        self.assertEqual(
            counted("executed, threadsExecuted, diverged", "BRANCH"),
            {
                "divergent_branch": (warps, 32 * warps, warps),
                "divergent_loop": (3 * warps, 16 * 3 * warps, 0),
                "uniform_branch": (warps, 32 * warps, 0),
                "uniform_loop": (3 * warps // 2, 32 * 3 * warps // 2, 0),
            },
        )

    def test_report_of_lines_of_an_h200(self):
        """nvprof's tables and the report agree; the file has no names of source files."""
        run = subprocess.run(
            [GPUPROF, "-i", self.folder / "count_lines.sqlite", "--print-sass-metrics", "--json"],
            capture_output=True, text=True, check=True,
        )  # fmt: skip
        tables = {table["table"]: table["rows"] for table in json.loads(run.stdout)["tables"]}
        for table, kind, columns, keys in (
            (
                "sass_instructions",
                "INSTRUCTION_EXECUTION",
                ("executed", "threadsExecuted", "notPredOffThreadsExecuted"),
                ("executed", "threads", "threads_predicate_true"),
            ),
            ("sass_branches", "BRANCH", ("executed", "diverged"), ("branches", "diverged")),
            (
                "sass_global_accesses",
                "GLOBAL_ACCESS",
                ("l2_transactions", "theoreticalL2Transactions"),
                ("sectors", "sectors_ideal"),
            ),
            (
                "sass_shared_accesses",
                "SHARED_ACCESS",
                ("sharedTransactions", "theoreticalSharedTransactions"),
                ("wavefronts", "wavefronts_ideal"),
            ),
        ):
            with self.subTest(table=table):
                sums = ", ".join(f"sum({column})" for column in columns)
                wanted = self.databases["count_lines"].execute(
                    f"""SELECT lineNumber, {sums} FROM CUPTI_ACTIVITY_KIND_{kind} AS t
                        JOIN CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR AS l ON l.id = t.sourceLocatorId
                        GROUP BY functionId, lineNumber"""
                )
                rows = [tuple(row[key] for key in ("line", *keys)) for row in tables[table]]
                self.assertEqual(sorted(rows), sorted(wanted))

    def test_each_query_says_what_it_answers(self):
        for file in QUERIES.glob("*.sql"):
            with self.subTest(query=file.name):
                self.assertRegex(file.read_text().splitlines()[0], r"^-- [A-Z].*\?")

    def test_time_in_ranges_is_that_of_the_work_asked_for_inside(self):
        run = self.databases["vector_add"]
        text = (QUERIES / "nvtx_time.sql").read_text()
        rows = {path: (ranges, kernels, ms) for path, ranges, _, kernels, ms in run.execute(text)}
        kernels, gpu = run.execute("SELECT count(*), sum(duration) / 1e6 FROM kernels").fetchone()
        copies = run.execute(
            "SELECT sum(duration) / 1e6 FROM memcpys WHERE range_name = 'copy in'"
        ).fetchone()[0]
        self.assertEqual(rows["vector_add / compute"][:2], (1, kernels))
        self.assertAlmostEqual(rows["vector_add / compute"][2], gpu)
        self.assertEqual(rows["vector_add"][:2], (1, kernels))
        self.assertGreater(rows["vector_add"][2], gpu)
        self.assertEqual(rows["vector_add / copy in"][:2], (1, 0))
        self.assertAlmostEqual(rows["vector_add / copy in"][2], copies)

    def test_lost_names_what_is_missing(self):
        text = (QUERIES / "lost.sql").read_text()
        self.assertEqual(self.databases["vector_add"].execute(text).fetchone()[0], "nothing")
        names = {row[0] for row in self.databases["die"].execute(text)}
        self.assertNotIn("nothing", names)

    @unittest.skipUnless(importlib.util.find_spec("pandas"), "pandas is not installed")
    def test_pandas_queries(self):
        specification = importlib.util.spec_from_file_location(
            "pandas_queries", QUERIES / "pandas_queries.py"
        )
        module = importlib.util.module_from_spec(specification)
        specification.loader.exec_module(module)
        for query in module.QUERIES:
            with self.subTest(query=query.__name__):
                rows = {name: len(query(run)) for name, run in self.databases.items()}
                self.assertTrue(any(rows.values()), rows)


if __name__ == "__main__":
    unittest.main()
