# ctest-cost: 40
# ctest-labels: plain
"""The Python package compared with what sqlite3 and pandas read from the same files.

Without pandas, polars and pyarrow (installed by scripts/setup), only what needs none of them is tested."""

import contextlib
import html
import io
import json
import os
import pathlib
import re
import shutil
import sqlite3
import subprocess
import sys
import tempfile
import threading
import unittest

BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD", ""))
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
GPUPROF = os.environ.get("GPUPROF", "")

sys.path.append(str(SOURCE / "tests" / "support"))

from packages import TOOLS  # noqa: E402

sys.path.insert(0, str(TOOLS / "frames"))
sys.path.insert(0, str(BUILD / "share" / "gpuprof" / "python"))

import gpuprof  # noqa: E402

try:
    import gpuprof._pandas
    import numpy
    import pandas
    import polars  # noqa: F401
    import pyarrow.parquet
except ImportError:
    pandas = None

CAPTURES = sorted((SOURCE / "tests" / "captures").glob("*.gpcap")) + sorted(
    (BUILD / "tests" / "captures").glob("*.gpcap")
)


def replay(capture, path):
    subprocess.run([GPUPROF, "replay", capture, "-q", "-f", "-o", path], check=True)


def select(connection, name, columns="*"):
    quoted = name.replace('"', '""')
    return connection.execute(f'SELECT {columns} FROM main."{quoted}"').fetchall()


def made(value, type_):
    """The value that a column of this type has for a value of the file."""
    return str(value) if type_ == "text" and value is not None else value


class Files(unittest.TestCase):
    maxDiff = 2000
    captures = ("vector_add",)  # if there are none, all of them

    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-python-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        cls.paths = []
        for capture in CAPTURES:
            if capture.stem in cls.captures or not cls.captures:
                cls.paths.append(cls.folder / f"{capture.stem}.sqlite")
                replay(capture, cls.paths[-1])
        cls.vector_add = cls.folder / "vector_add.sqlite"

    def copy(self, path=None):
        copy = self.folder / "copy.sqlite"
        shutil.copy(path or self.vector_add, copy)
        return copy

    def changed(self, sql):
        copy = self.copy()
        with contextlib.closing(sqlite3.connect(copy)) as connection:
            connection.executescript(sql)
        return copy

    def open(self, path):
        run = gpuprof.open(path)
        self.addCleanup(run.close)
        return run


class Values(Files):
    captures = ()

    def test_every_table_and_view_has_the_rows_that_sqlite_gives(self):
        run = self.open(self.vector_add)
        with contextlib.closing(sqlite3.connect(self.vector_add)) as connection:
            for name in run.catalogue():
                with self.subTest(table=name):
                    table = run.table(name).raw()
                    types = list(table.schema().values())
                    should = [tuple(map(made, row, types)) for row in select(connection, name)]
                    self.assertEqual(list(iter(table)), should)

    @unittest.skipUnless(pandas, "there is no pandas")
    def test_pandas_has_the_values_of_every_capture(self):
        """Not those of read_sql(), which turns integers with NULL into floating-point numbers."""
        kinds = {"int64": {"int64", "Int64"}, "int32": {"int32", "Int32"},
                 "float64": {"float64"}, "bool": {"bool", "boolean"}, "text": {"category"},
                 "binary": {"object"}, "": {"object"}}  # fmt: skip
        compared = {}
        for path in self.paths:
            run = self.open(path)
            with contextlib.closing(sqlite3.connect(path)) as connection:
                for name in run.catalogue():
                    should = select(connection, name)
                    if not should and path != self.vector_add:
                        continue
                    # Tables of names and descriptions have the same rows in every file.
                    before = compared.setdefault(name, should)
                    if before is not should and before == should:
                        continue
                    stream = run.table(name).raw()._stream()
                    types = dict(stream.names_and_types())
                    frame = gpuprof._pandas.frame(stream, True)
                    with self.subTest(file=path.name, table=name):
                        self.assertEqual(len(frame), len(should))
                        self.assertEqual(list(frame), list(types))
                        for i, (column, type_) in enumerate(types.items()):
                            values, theirs = frame[column], [row[i] for row in should]
                            self.assertIn(str(values.dtype), kinds[type_], column)
                            ours = values.tolist()
                            if None in theirs:
                                missing = values.isna().tolist()
                                ours = [None if no else one for no, one in zip(missing, ours)]
                            if type_ == "text":  # numbers among texts: compared as numbers
                                ours = [
                                    ours_
                                    if ours_ is None or isinstance(one, str)
                                    else type(one)(ours_)
                                    for ours_, one in zip(ours, theirs)
                                ]
                            self.assertEqual(ours, theirs, column)

    @unittest.skipUnless(pandas, "there is no polars, or no pyarrow")
    def test_all_shapes_have_the_same(self):
        run = self.open(self.folder / "two_processes.sqlite")
        for name in ("kernels", "api_calls", "CUPTI_ACTIVITY_KIND_DEVICE", "devices", "losses"):
            table = run.table(name)
            rows = list(table)
            with self.subTest(table=name):
                self.assertEqual([tuple(row.values()) for row in table.dicts()], rows)
                self.assertEqual(table.polars().rows(), rows)
                arrow = table.arrow()
                self.assertEqual(arrow.num_rows, len(rows))
                self.assertIsNone(arrow.validate(full=True))
                self.assertEqual([tuple(row.values()) for row in arrow.to_pylist()], rows)
                for column, array in table.numpy().items():
                    self.assertIsInstance(array, numpy.ndarray)
                    index = list(table.schema()).index(column)
                    self.assertEqual(array.tolist(), [row[index] for row in rows])

    @unittest.skipUnless(pandas, "there is no pyarrow")
    def test_parquet_has_the_rows_of_every_capture(self):
        path = self.folder / "rows.parquet"
        for profile in (*self.paths, self.paths[:2]):
            run = self.open(profile)
            for name in ("kernels", "memcpys", "api_calls", "devices", "losses"):
                with self.subTest(file=profile, table=name):
                    table = run.table(name)
                    table.parquet(path, overwrite=True)
                    read = pyarrow.parquet.read_table(path)
                    self.assertEqual(read.column_names, list(table.schema()))
                    rows = [tuple(row.values()) for row in read.to_pylist()]
                    self.assertEqual(rows, list(table))

    @unittest.skipUnless(pandas, "there is no pyarrow")
    def test_parquet_replaces_nothing_else(self):
        folder = self.folder / "parquet"
        folder.mkdir()
        run = self.open(self.vector_add)
        before = self.vector_add.read_bytes()
        with self.assertRaisesRegex(gpuprof.QuestionError, "is not a Parquet file"):
            run.kernels.parquet(self.vector_add, overwrite=True)
        self.assertEqual(self.vector_add.read_bytes(), before)
        path = folder / "kernels.parquet"
        run.kernels.parquet(path)
        before = path.read_bytes()
        with self.assertRaisesRegex(FileExistsError, "overwrite=True"):
            run.devices.parquet(path)
        with self.assertRaises(gpuprof.QuestionError):
            run.kernels.columns("no_such").parquet(path, overwrite=True)
        self.assertEqual(path.read_bytes(), before)
        self.assertEqual(list(folder.iterdir()), [path])

    def test_dtypes_do_not_follow_from_the_rows(self):
        table = "CUPTI_ACTIVITY_KIND_MEMCPY"
        types = self.open(self.vector_add).table(table).schema()
        for sql in (f"DELETE FROM {table}",
                    f"UPDATE {table} SET bytes = NULL, deviceId = NULL, copyKind = NULL",
                    f"UPDATE {table} SET bytes = 'a text', copyKind = 2.5 WHERE _id_ % 2"):  # fmt: skip
            with self.subTest(sql):
                changed = self.open(self.changed(sql)).table(table)
                self.assertEqual(changed.schema(), types)
                if not pandas:
                    continue
                frame = changed.pandas()
                self.assertIn(str(frame["bytes"].dtype), ("int64", "Int64"))
                self.assertEqual(str(frame["copyKind"].dtype), "category")
        should = [None if i % 2 else 2 for i in range(1, 5)]
        values = self.changed(
            f"DELETE FROM {table}; INSERT INTO {table}(_id_, bytes, deviceId) "
            "VALUES(1, NULL, 0), (2, 2, 0), (3, 'three', 0), (4, 2, 0)"
        )
        frame = self.open(values).table(table)
        self.assertEqual([row[0] for row in frame.columns("bytes")], should)
        if pandas:
            self.assertEqual(frame.pandas()["bytes"].sum(), 4)


class Questions(Files):
    captures = ("vector_add", "torch_step", "die")

    def setUp(self):
        self.run_ = self.open(self.folder / "torch_step.sqlite")

    def test_conditions_are_those_of_sql(self):
        kernels = self.run_.kernels.columns("name", "start")
        connection = sqlite3.connect(self.folder / "torch_step.sqlite")
        self.addCleanup(connection.close)
        starts = [start for _, start in kernels]
        middle = sorted(starts)[len(starts) // 2]
        for table, where in (
            (kernels.where(start=middle), f"start >= {middle}"),
            (kernels.where(end=middle), f"start < {middle}"),
            (kernels.where(device=0, stream_id=[7, None]), "device_id = 0 AND stream_id = 7"),
            (kernels.where(name="gemm"), "name LIKE '%gemm%'"),
            (kernels.where(name="gemm").where(start=middle),
             f"name LIKE '%gemm%' AND start >= {middle}"),
            (kernels.where(grid=["(1,1,1)", "(2,1,1)"]), "grid IN ('(1,1,1)', '(2,1,1)')"),
            (kernels.where(process=1), "process_id = 1"),
        ):  # fmt: skip
            should = connection.execute(f"SELECT name, start FROM kernels WHERE {where}").fetchall()
            with self.subTest(where):
                self.assertEqual(list(table), should)
                self.assertEqual(len(table), len(should))
        self.assertGreater(len(kernels.where(name="gemm")), 0)

    def test_a_wrong_question_says_what_would_be_right(self):
        for ask, word in (
            (lambda: self.run_.kernels.columns("nam").schema(), "no column nam"),
            (lambda: len(self.run_.devices.where(start=3)), "no column start"),
            (lambda: self.run_.report("gpu-race"), "gpu-trace"),
            (lambda: list(self.run_.sql("DROP TABLE RUN")), "only questions"),
            (lambda: list(self.run_.sql("SELECT nothing")), "nothing"),
            (lambda: self.run_.table("kernel"), "did you mean kernels"),
            (lambda: self.run_.table("xyzzy"), "dir(run)"),
            (lambda: len(self.run_.kernels.where(name="(")), "("),
            (lambda: self.run_.kernels.where(start=1.5), "ns"),
            (lambda: len(self.run_.kernels.where(grid={"a": 1})), "equals"),
        ):
            with self.subTest(word), self.assertRaises(gpuprof.QuestionError) as raised:
                ask()
            self.assertIn(word, str(raised.exception))
            self.assertIsInstance(raised.exception, ValueError)
        for wrong in (None, 1, b"SELECT 1", ["SELECT 1"]):
            with self.subTest(wrong), self.assertRaisesRegex(TypeError, "takes a str, not"):
                self.run_.sql(wrong)
        for ask in (
            lambda: list(self.run_.sql("SELECT 1 AS a \0 nonsense")),
            lambda: gpuprof.open(f"{self.vector_add}\0.evil"),
            lambda: gpuprof.open([self.vector_add, os.fsencode(self.vector_add) + b"\0"]),
            lambda: self.run_.report("gpu-trace\0"),
        ):
            with self.assertRaisesRegex(ValueError, "NUL|null"):
                ask()
        with self.assertRaises(AttributeError):
            self.run_.kernel  # noqa: B018
        with self.assertRaises(gpuprof.FileError) as raised:
            gpuprof.open(self.folder / "nothing.sqlite")
        self.assertEqual(raised.exception.code, 20)

    def test_a_name_that_is_nearly_right(self):
        run = self.open(self.vector_add)
        for ask in (lambda: run.kernls, lambda: run.table("KERNLS"), lambda: run.Kernel):
            with self.assertRaisesRegex(
                (AttributeError, gpuprof.QuestionError), "did you mean kernels"
            ):
                ask()
        with self.assertRaisesRegex(
            gpuprof.QuestionError, r"there is no table .* \(dir\(run\) lists"
        ):
            run.table("xyzzy")
        with self.assertRaisesRegex(gpuprof.QuestionError, r"did you mean top_kernels\?"):
            run.query("top_kernel")

    def test_questions_that_have_a_name(self):
        run = self.open(self.vector_add)
        files = {path.stem: path for path in (SOURCE / "examples" / "queries").glob("*.sql")}
        self.assertEqual(set(run.queries()), set(files))
        self.assertIn("kernels", run.queries()["top_kernels"])
        for name, path in files.items():
            with self.subTest(name=name):
                self.assertEqual(list(run.query(name)), list(run.sql(path.read_text())))
        self.assertEqual(repr(run.query("top_kernels")), "<gpuprof answer: top_kernels>")
        self.assertEqual(repr(run.sql("SELECT\n  7")), "<gpuprof answer: SELECT 7>")

    def test_head(self):
        run = self.open(self.vector_add)
        for table in (run.kernels, run.CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL, run.RUN,
                      run.api_calls.where(name="Launch"), run.kernels.raw()):  # fmt: skip
            rows = list(table)
            self.assertGreater(len(rows), 4)
            for count in (0, 1, 3, len(rows), len(rows) + 5):
                self.assertEqual(list(table.head(count)), rows[:count])
                self.assertEqual(len(table.head(count)), min(count, len(rows)))
            self.assertEqual(list(table.head(3).head(7)), rows[:3])
            self.assertEqual(list(table.head(7).head(3)), rows[:3])
        with self.assertRaisesRegex(gpuprof.QuestionError, "head.. needs"):
            run.kernels.head(-1)
        both = self.open([self.vector_add, self.vector_add])
        self.assertEqual(len(both.kernels.head(2)), 4)

    def test_what_a_notebook_shows(self):
        path = self.copy()
        with sqlite3.connect(path) as connection:
            connection.execute("UPDATE StringTable SET value = '<b>&', demangled = '<b>&'")
        run = self.open(path)
        shown = run.kernels.columns("name", "duration")._repr_html_()
        self.assertEqual(shown.count("<tr>"), 11)
        self.assertTrue(
            shown.startswith('<table class="dataframe"><tr><th>name</th><th>duration</th>')
        )
        self.assertIn("<td>&lt;b&gt;&amp;</td>", shown)
        self.assertNotIn("<b>", shown)
        self.assertNotIn("the first", shown)
        self.assertTrue(run.api_calls._repr_html_().endswith("<p>the first 10 rows</p>"))
        self.assertIn("<td>0.333333</td><td></td>", run.sql("SELECT 1 / 3.0, NULL")._repr_html_())
        self.assertIn("<th>process_id</th>", run.memory.peak()._repr_html_())

    def test_a_run_in_a_notebook(self):
        hostile = "</pre></td><script>alert(1)</script><img src=x onerror=alert(1)>\"'&"
        path = self.copy()
        with sqlite3.connect(path) as connection:
            account = connection.execute(
                "SELECT device_id, class, sum(share) FROM account GROUP BY 1, 2"
            ).fetchall()
            connection.execute(
                "UPDATE StringTable SET value = ?1, demangled = ?1, display = ?1", (hostile,)
            )
            connection.execute("UPDATE PROCESS SET command_line = ?1", (hostile,))
            connection.execute("UPDATE STATISTIC SET name = ?1 WHERE value > 0", (hostile,))
        run = self.open(path)
        shown = run._repr_html_()
        self.assertIn("onerror", shown)
        self.assertNotIn("<script", shown)
        self.assertNotIn("<img", shown)
        self.assertEqual(
            len({device for device, _, _ in account}), shown.count("Where the time of GPU")
        )
        for _, _, share in account:
            self.assertIn(f" {100 * share:.1f} %</span>", shown)
        widths = re.findall(r'style="width:([0-9.]+)%', shown)
        self.assertAlmostEqual(sum(map(float, widths)), 100, delta=0.05)
        self.assertIn("gpuprof view ", shown)
        view = run.view(height=300)
        self.assertTrue(view.html.startswith("<!doctype html>\n<!-- gpuprof report -->"))
        [frame] = re.findall(r"<[^>]*>", view._repr_html_().replace("</iframe>", ""))
        self.assertIn('sandbox="allow-scripts"', frame)
        self.assertIn("height:300px", frame)
        self.assertEqual(html.unescape(re.search('srcdoc="([^"]*)"', frame)[1]), view.html)
        run.close()
        self.assertIn("closed", run._repr_html_())
        both = self.open([self.vector_add, self.vector_add])
        self.assertNotIn("gpuprof view", both._repr_html_())
        with self.assertRaisesRegex(gpuprof.QuestionError, "one file"):
            both.view()

    def test_what_a_run_says_of_itself(self):
        self.assertIn("train.py", repr(self.run_))
        self.assertIn("records", repr(self.run_))
        self.assertIn("kernels", dir(self.run_))
        self.assertIn("CUPTI_ACTIVITY_KIND_MEMCPY", dir(self.run_))
        self.assertIn("duration", self.run_.kernels.__doc__)
        self.assertIn("lost:", repr(self.open(self.folder / "die.sqlite")))
        for names, layout in (((), "text"), (("gpu-trace",), "text"), (("api-summary",), "csv")):
            text = self.run_.report(*names, layout=layout)
            self.assertIn("sgemm" if names != ("api-summary",) else "cudaLaunchKernel", text)
        json.loads(self.run_.report(layout="json"))
        self.assertEqual(self.run_.summary(), self.run_.report())

    def test_memory_has_the_rows_of_the_command(self):
        run = self.open(self.vector_add)
        ran = subprocess.run(
            [GPUPROF, "memory", self.vector_add, "--json", "--by", "nvtx", "--peak", "--leaks",
             "--timeline"], capture_output=True, check=True,
        )  # fmt: skip
        printed = {table["table"]: table["rows"] for table in json.loads(ran.stdout)["tables"]}
        memory = run.memory
        for name, rows in (
            ("memory_devices", memory.devices()),
            ("memory_peaks", memory.peak()),
            ("memory_owners", memory.by("nvtx")),
            ("memory_leaks", memory.leaks(by="nvtx")),
            ("memory_processes", memory.processes()),
            ("memory_timeline", memory.timeline()),
        ):
            self.assertEqual(list(rows.dicts()), printed[name], name)
        for rows in (memory.pools(), memory.steps(), memory.failures()):
            self.assertTrue(rows.schema())
        both = gpuprof.open([self.vector_add, self.vector_add])
        self.addCleanup(both.close)
        self.assertEqual(list(both.memory.peak().schema())[:2], ["rank", "host"])
        self.assertEqual(len(both.memory.peak()), 2 * len(memory.peak()))
        with self.assertRaisesRegex(gpuprof.QuestionError, "library, nvtx, stack, kind or pool"):
            list(memory.by("colour"))
        with self.assertRaisesRegex(gpuprof.QuestionError, "--track-memory --stacks"):
            list(memory.by("stack"))
        with self.assertRaisesRegex(gpuprof.QuestionError, "100000"):
            list(memory.timeline(points=-1))

    def test_several_files_are_one(self):
        for name in ("a", "b"):
            shutil.copy(self.vector_add, self.folder / f"part-{name}.sqlite")
        one = self.open(self.vector_add)
        both = self.open(str(self.folder / "part-*.sqlite"))
        rows = list(one.kernels)
        self.assertEqual([row[2:] for row in both.kernels], rows + rows)
        self.assertEqual(list(both.kernels.schema())[:2], ["rank", "host"])
        self.assertEqual(len(both.kernels), 2 * len(rows))
        with self.assertRaises(gpuprof.QuestionError):
            list(both.sql("SELECT 1"))
        if pandas:
            frame = both.kernels.pandas()
            self.assertEqual(list(frame["name"])[: len(rows)], [row[0] for row in rows])
            self.assertEqual(both.kernels.polars().height, 2 * len(rows))
        with self.assertRaises(gpuprof.FileError):
            gpuprof.open(str(self.folder / "nothing-*.sqlite"))


class Documents(Files):
    @unittest.skipUnless(pandas, "there is no pandas")
    def test_the_examples_of_docs_python(self):
        text = (SOURCE / "docs" / "python.md").read_text(encoding="utf-8")
        examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        # test_python_plot.py runs those about plots.
        examples = [example for example in examples if "gpuprof.plot" not in example]
        self.assertGreater(len(examples), 2)
        shutil.copy(self.vector_add, self.folder / "run.sqlite")
        here, names = os.getcwd(), {}
        os.chdir(self.folder)
        try:
            with contextlib.redirect_stdout(io.StringIO()) as printed:
                for example in examples:
                    exec(example, names)
        finally:
            os.chdir(here)
        self.assertIn("vector_add", printed.getvalue())
        self.assertEqual(len(names["kernels"]), 10)
        names["run"].close()
        names["both"].close()


class Lives(Files):
    def test_what_was_read_stays_when_the_run_is_closed(self):
        with gpuprof.open(self.vector_add) as run:
            table = run.kernels
            rows = list(table)
            taken = table.__arrow_c_stream__()
            iterator = iter(table)
            next(iterator)
            frame = table.pandas() if pandas else None
        self.assertTrue(run.closed)
        self.assertEqual(list(iterator), rows[1:])
        if pandas:
            self.assertEqual(list(frame["name"]), [row[0] for row in rows])
        with self.assertRaises(gpuprof.Error):
            list(table)
        self.assertIn("closed", repr(run))
        del taken  # an unconsumed stream is released on its own
        run.close()

    def test_threads_share_a_run(self):
        run = self.open(self.vector_add)
        should = list(run.kernels), run.summary()
        wrong = []

        def ask():
            for _ in range(5):
                if (list(run.kernels), run.summary()) != should:
                    wrong.append(1)

        threads = [threading.Thread(target=ask) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(wrong, [])

    def test_interrupted(self):
        """Ctrl-C ends a query that would take indefinitely."""
        script = (
            "import gpuprof, os, signal, sys, threading\n"
            "run = gpuprof.open(sys.argv[1])\n"
            "threading.Timer(0.3, os.kill, (os.getpid(), signal.SIGINT)).start()\n"
            "try:\n"
            "    list(run.sql('WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) "
            "SELECT max(i) FROM n'))\n"
            "except KeyboardInterrupt:\n"
            "    print(list(run.sql('SELECT 7')))\n"
        )
        ran = self.python(script, self.vector_add)
        self.assertEqual(ran.stdout, "[(7,)]\n", ran.stderr)

    def test_what_would_crash_or_hang_sqlite_is_refused(self):
        """fts3_tokenizer() ended the interpreter; the others took hours, ignoring Ctrl-C."""
        long = "replace(hex(zeroblob(4000000)), '0', 'a')"
        script = (
            "import gpuprof, sys\n"
            "run = gpuprof.open(sys.argv[1])\n"
            "for sql in sys.argv[2:]:\n"
            "    try:\n"
            "        print(list(run.sql(sql)))\n"
            "    except gpuprof.QuestionError as error:\n"
            "        print('refused:', error)\n"
            "    except gpuprof.Error as error:\n"
            "        print('error:', error)\n"
        )
        ran = self.python(script, self.vector_add,
                          "SELECT fts3_tokenizer('simple')",
                          "SELECT fts3_tokenizer('simple', x'4141414141414141')",
                          f"SELECT instr(substr({long}, 2), substr({long}, 5) || 'b')",
                          f"SELECT length(trim({long}, {long}))",
                          "SELECT length(zeroblob(9000000))",
                          "SELECT 7")  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stderr)
        lines = ran.stdout.splitlines()
        self.assertRegex(
            lines[0] + lines[1], "refused: .*fts3_tokenizer.*refused: .*fts3_tokenizer"
        )
        self.assertEqual(lines[2:4], ["[(0,)]", "[(0,)]"])
        self.assertRegex(lines[4], "error: .*too big")
        self.assertEqual(lines[5:], ["[(7,)]"])

    def test_import_needs_nothing_but_the_library(self):
        ran = self.python(
            "import sys, gpuprof\n"
            "list(gpuprof.open(sys.argv[1]).kernels)\n"
            "print([name for name in ('numpy', 'pandas', 'polars', 'pyarrow', 'sqlite3') "
            "if name in sys.modules])\n",
            self.vector_add,
        )
        self.assertEqual(ran.stdout, "[]\n", ran.stderr)

    def python(self, script, *arguments):
        path = os.pathsep.join((str(BUILD / "share/gpuprof/python"),))
        return subprocess.run([sys.executable, "-c", script, *map(str, arguments)],
                              capture_output=True, text=True, timeout=120,
                              env={**os.environ, "PYTHONPATH": path})  # fmt: skip


class Hostile(Files):
    """Forged files: an exception, or the readable part, and Python survives."""

    TABLES = ("kernels", "api_calls", "losses", "devices", "nvtx_gpu", "RUN", "StringTable",
              "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", "CUPTI_ACTIVITY_KIND_DRIVER")  # fmt: skip

    def read_all(self, path):
        try:
            run = self.open(path)
            repr(run)
        except gpuprof.Error:
            return
        for name in self.TABLES:
            with contextlib.suppress(gpuprof.Error):
                list(iter(run.table(name)))

    def test_forged_views(self):
        # The limit is a number of SQLite's steps, of which an addition is among the shortest.
        endless = "sum(t0._rowid_" + " + 1" * 150 + ") AS value FROM "
        endless += ", ".join(f"STATISTIC_DOC t{i}" for i in range(9))
        for select_, word in (
            (endless, "more work"),
            ("randomblob(9) AS value", "does more than hold records"),
            ("load_extension('x') AS value", "unsafe use of load_extension"),
        ):
            run = self.open(self.changed(f"CREATE VIEW zz AS SELECT {select_}"))
            with self.subTest(select_), self.assertRaisesRegex(gpuprof.Error, word):
                list(iter(run.zz))
            run.close()

    def test_forged_names(self):
        run = self.open(self.changed(
            'CREATE TABLE "a ""; DROP TABLE RUN" ("b "" c" INT, "b "" d"); '
            """INSERT INTO "a ""; DROP TABLE RUN" VALUES(1, 'x'); """
            "INSERT INTO StringTable(_id_, value) VALUES(99999, CAST(x'ff41fe' AS TEXT)); "
            "UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET name = 99999; "
            f"UPDATE CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL SET start = {-(2**63)}"
        ))  # fmt: skip
        self.assertEqual(list(run.table('a "; DROP TABLE RUN').dicts()),
                         [{'b " c': 1, 'b " d': "x"}])  # fmt: skip
        names = {row[0] for row in run.kernels.columns("name")}
        self.assertEqual(names, {"\ufffdA\ufffd"})
        self.assertEqual({row[0] for row in run.kernels.columns("start")}, {-(2**63)})
        if pandas:
            self.assertEqual(set(run.kernels.pandas()["name"]), names)
            self.assertEqual(set(run.kernels.polars()["name"]), names)

    def test_cut_and_damaged_files(self):
        content = self.vector_add.read_bytes()
        copy = self.folder / "copy.sqlite"
        for cut in (0, 100, len(content) // 2, len(content) - 1000):
            copy.write_bytes(content[:cut])
            self.read_all(copy)
        for start in range(100, len(content), len(content) // 4):
            damaged = bytearray(content)
            damaged[start : start + 600] = bytes(reversed(damaged[start : start + 600]))
            copy.write_bytes(damaged)
            self.read_all(copy)


if __name__ == "__main__":
    unittest.main()
