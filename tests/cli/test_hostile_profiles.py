# ctest-labels: asan
# ctest-cost: 25
"""Forged profiles: their content is data, and none of it is executed.

For each: no file is made, changed or removed except the requested one, the program ends, says
what is wrong in lines, and reports what can be reported.
"""

import contextlib
import functools
import json
import os
import pathlib
import signal
import sqlite3
import struct
import subprocess
import tempfile
import time
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
CASES = SOURCE / "tests" / "golden" / "nvprof"
PREFIX = "CUPTI_ACTIVITY_KIND_"
JOURNAL_MAGIC = bytes.fromhex("d9d505f920a163d7")


@functools.cache
def replayed(capture):
    """The profile of a capture, made once."""
    with tempfile.TemporaryDirectory(prefix="gpuprof-hostile-") as folder:
        path = pathlib.Path(folder) / "file.sqlite"
        subprocess.run([GPUPROF, "replay", SOURCE / "tests/captures" / f"{capture}.gpcap", "-q", "-o", path],
                       check=True, timeout=300)  # fmt: skip
        return path.read_bytes()


class Hostile(unittest.TestCase):
    maxDiff = None

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-hostile-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.temporary = self.folder / "temporary"
        self.temporary.mkdir()
        self.path = self.folder / "file.sqlite"

    def gpuprof(self, *words, code=None):
        ran = subprocess.run([GPUPROF, *map(str, words)], cwd=self.folder, capture_output=True,
                             text=True, timeout=300, errors="replace",
                             env={**os.environ, "TMPDIR": str(self.temporary)})  # fmt: skip
        self.assertEqual(list(self.temporary.iterdir()), [], "a temporary file is left")
        self.assertNotIn(str(self.temporary), ran.stdout + ran.stderr)
        if code is not None:
            self.assertEqual(ran.returncode, code, f"{words}\n{ran.stdout}{ran.stderr}")
        return ran

    def nvprof(self, case="basic"):
        text = json.loads((CASES / f"{case}.json").read_text(encoding="utf-8"))["database_sql"]
        self.change(text)

    def ours(self, capture="vector_add"):
        self.path.write_bytes(replayed(capture))

    def change(self, sql):
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            connection.executescript(sql)

    def forge(self, name, sql):
        """Puts a text into sqlite_master that SQLite itself would reject."""
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            connection.execute("PRAGMA writable_schema = ON")
            changed = connection.execute("UPDATE sqlite_master SET sql = ? WHERE name = ?",
                                         (sql, name))  # fmt: skip
            self.assertEqual(changed.rowcount, 1)
            connection.commit()

    def cut(self):
        """Removes the last page, so that the rest is rescued."""
        with contextlib.closing(sqlite3.connect(self.path)) as connection:
            (page,) = connection.execute("PRAGMA page_size").fetchone()
        os.truncate(self.path, self.path.stat().st_size - page)

    def all_commands(self):
        yield "-i", "file.sqlite"
        yield "info", "file.sqlite"
        yield "slice", "file.sqlite", "--from", "0", "-f", "-o", "part.sqlite"
        yield "truncate", "file.sqlite", "--keep", "gpu,api", "-f", "-o", "part.sqlite"
        yield "export", "file.sqlite", "--for", "nvprof", "-f", "-o", "part.sqlite"

    def names(self):
        return {path.name for path in self.folder.iterdir()}

    def part(self):
        with contextlib.closing(sqlite3.connect(self.folder / "part.sqlite")) as connection:
            return {name: (kind, sql) for kind, name, sql in connection.execute(
                "SELECT type, name, sql FROM sqlite_master")}  # fmt: skip


class ForgedSchema(Hostile):
    def test_statements_behind_a_create_table_are_not_run(self):
        victim = self.folder / "victim"
        orders = (
            f"COMMIT; ATTACH '{victim}' AS e; CREATE TABLE e.x AS SELECT 'owned' AS a; DETACH e; BEGIN",
            f"COMMIT; VACUUM INTO '{victim}'; BEGIN",
            "CREATE TABLE also(a)",
        )
        for order in orders:
            for damaged in (False, True):
                self.path.unlink(missing_ok=True)
                self.nvprof()
                self.change("CREATE TABLE zz(a); INSERT INTO zz VALUES(1)")
                self.forge("zz", "CREATE TABLE zz(a); " + order)
                if damaged:
                    self.cut()
                for command in self.all_commands():
                    with self.subTest(order=order, damaged=damaged, command=command[0]):
                        ran = self.gpuprof(*command, code=20 if damaged else 0)
                        self.assertLessEqual(
                            self.names(), {"temporary", "file.sqlite", "part.sqlite"}
                        )
                        if command[0] in ("slice", "truncate", "export"):
                            self.assertNotIn("zz", set(self.part()))
                            self.assertNotIn("also", set(self.part()))
                            self.assertIn("zz", ran.stderr)

    def test_a_text_may_make_nothing_but_what_it_is_listed_as(self):
        for sql in (
            "CREATE TABLE another(a)",
            "CREATE TABLE zz AS SELECT * FROM StringTable",
            "CREATE TEMP TABLE zz(a)",
            "CREATE TABLE temp.zz(a)",
            "create virtual table zz using fts5(a)",
            "CREATE TRIGGER zz AFTER INSERT ON Version BEGIN DELETE FROM Version; END",
            "CREATE TABLE zz(a, b AS (randomblob(a)))",
            "CREATE VIEW zz AS SELECT 1 AS a",
        ):
            with self.subTest(sql):
                self.path.unlink(missing_ok=True)
                self.nvprof()
                self.change("CREATE TABLE zz(a)")
                self.forge("zz", sql)
                for command in self.all_commands():
                    ran = self.gpuprof(*command)
                    self.assertIn(ran.returncode, (0, 20), ran.stderr)
                    if command[0] in ("slice", "truncate", "export"):
                        made = self.part()
                        self.assertNotIn("zz", set(made))
                        self.assertNotIn("another", set(made))
                        self.assertIn("StringTable", set(made))

    def test_triggers_and_virtual_tables_are_left_out_of_parts(self):
        self.nvprof()
        self.change(
            "CREATE TABLE mine(a); CREATE TRIGGER often AFTER INSERT ON mine "
            "BEGIN DELETE FROM StringTable; END; CREATE VIRTUAL TABLE found USING rtree(a, b, c)"
        )
        ran = self.gpuprof("slice", "file.sqlite", "--from", "0", "-o", "part.sqlite", code=0)
        self.assertIn("the trigger often is left out", ran.stderr)
        self.assertIn("the virtual table found is left out", ran.stderr)
        kinds = {kind for kind, _ in self.part().values()}
        self.assertEqual(kinds, {"table", "index"})
        self.assertIn("mine", self.part())

    def test_a_view_without_end_is_ended(self):
        # The limit is a number of SQLite's steps, of which an addition is among the shortest.
        endless = "SELECT sum(t0._rowid_" + " + 1" * 40 + ") FROM "
        endless += ", ".join(f"STATISTIC_DOC t{i}" for i in range(9))
        for select, word in (
            (endless, "more work"),
            ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT max(i) FROM n",
             "does more than hold records"),
            ("SELECT length(randomblob(9)) FROM RUN", "does more than hold records"),
        ):  # fmt: skip
            with self.subTest(select):
                self.path.unlink(missing_ok=True)
                self.ours()
                self.change("DROP VIEW losses; CREATE VIEW losses AS SELECT 1 AS process_id, '' AS "
                            f"kind, '' AS name, ({select}) AS value, '' AS help")  # fmt: skip
                ran = self.gpuprof("-i", "file.sqlite", code=20)
                self.assertRegex(ran.stderr, r"(?m)^gpuprof: file\.sqlite: .*" + word)
                if word != "more work":  # which takes ten seconds
                    self.gpuprof("info", "file.sqlite", code=20)
                # The part has the correct view.
                self.gpuprof(
                    "slice", "file.sqlite", "--from", "0", "-f", "-o", "part.sqlite", code=0
                )
                self.gpuprof("-i", "part.sqlite", code=0)

    # Each row takes seconds, during which SQLite calls no handler.
    SLOW = ("(SELECT count(*) FROM TABLE_DOC a, TABLE_DOC b, TABLE_DOC c, TABLE_DOC d WHERE "
            + " + ".join(f"length(upper(lower(hex(zz.x)))) > {i}" for i in range(80))
            + " > a._rowid_)")  # fmt: skip

    def slow(self):
        self.ours()
        self.change(
            "CREATE TABLE zz(x); INSERT INTO zz VALUES(zeroblob(4000000)); "
            "ALTER TABLE StringTable RENAME TO names; CREATE VIEW StringTable AS SELECT names._id_ AS "
            f"_id_, CASE WHEN {self.SLOW} = -1 THEN '' ELSE names.value END AS value FROM names, zz; "
            "DROP VIEW losses; CREATE VIEW losses AS SELECT 1 AS process_id, '' AS kind, '' AS name, "
            f"{self.SLOW} AS value, '' AS help FROM zz"
        )

    def test_signals_end_every_command(self):
        self.slow()
        before = self.path.read_bytes()
        for number, *command in (
            (signal.SIGTERM, "info"),
            (signal.SIGINT, "-i"),
            (signal.SIGTERM, "query", "file.sqlite", "losses"),
            (signal.SIGINT, "memory"),
            (signal.SIGTERM, "diff", "file.sqlite", "file.sqlite"),
            (signal.SIGTERM, "findings"),
            (signal.SIGTERM, "timeline"),
            (signal.SIGINT, "annotate"),
            (signal.SIGTERM, "top"),
            (signal.SIGINT, "report", "file.sqlite", "--html", "part.html"),
            (signal.SIGTERM, "report", "file.sqlite", "--markdown", "-"),
            (signal.SIGINT, "export", "file.sqlite", "--format", "perfetto", "-o", "part.json"),
            (signal.SIGTERM, "view", "file.sqlite", "--no-browser"),
        ):
            command = command if len(command) > 1 else [*command, "file.sqlite"]
            with self.subTest(command), subprocess.Popen(
                [GPUPROF, *command], cwd=self.folder, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, env={**os.environ, "TMPDIR": str(self.temporary)},
            ) as process:  # fmt: skip
                used = 0
                while process.poll() is None and used < os.sysconf("SC_CLK_TCK") / 4:
                    time.sleep(0.02)
                    text = pathlib.Path(f"/proc/{process.pid}/stat").read_text(encoding="utf-8")
                    used = sum(map(int, text.rsplit(")")[-1].split()[11:13]))
                process.send_signal(number)
                began = time.monotonic()
                code = process.wait(120)
                errors = process.stderr.read()
                self.assertIn(code, (128 + number, -number), errors)
                # 0.7 s, with a margin for a busy machine.
                self.assertLess(time.monotonic() - began, 8)
            self.assertEqual(list(self.temporary.iterdir()), [])
            self.assertEqual(self.names(), {"temporary", "file.sqlite"})
            self.assertEqual(self.path.read_bytes(), before)

    def test_functions_that_take_the_product_of_lengths(self):
        """A file of 6.6 MB kept `info` busy for three minutes, and Ctrl-C did not end it."""
        for call in ("instr(x, y)", "length(trim(x, y))", "length(rtrim(x, y))"):
            with self.subTest(call):
                self.path.unlink(missing_ok=True)
                self.ours()
                self.change(
                    "CREATE TABLE zz(x, y); INSERT INTO zz VALUES(replace(hex(zeroblob(2000000)), "
                    "'0', 'a'), replace(hex(zeroblob(1000000)), '0', 'b') || 'a'); DROP VIEW losses; "
                    "CREATE VIEW losses AS SELECT 1 AS process_id, '' AS kind, 'n' AS name, "
                    f"{call} AS value, '' AS help FROM zz"
                )
                self.gpuprof("info", "file.sqlite", code=0)

    def test_a_table_cannot_hide_what_sqlite_knows(self):
        self.nvprof()
        expected = self.gpuprof("-i", "file.sqlite", code=0).stderr
        self.change("CREATE TABLE pragma_table_info(name, a); CREATE TABLE pragma_table_list(a); "
                    "CREATE TABLE pragma_index_list(a)")  # fmt: skip
        self.assertEqual(self.gpuprof("-i", "file.sqlite", code=0).stderr, expected)
        self.gpuprof("slice", "file.sqlite", "--from", "0", "-o", "part.sqlite", code=0)
        self.assertEqual(self.gpuprof("-i", "part.sqlite", code=0).stderr, expected)

    def test_a_letter_in_another_case_is_the_same_name(self):
        for old, new in ((f"{PREFIX}RUNTIME(", f"{PREFIX}rUNTIME("), ("cbid INT", "Cbid INT"),
                         ("correlationId INT", "correlationID INT")):  # fmt: skip
            with self.subTest(new):
                self.path.unlink(missing_ok=True)
                self.ours()
                expected = self.gpuprof("-i", "file.sqlite", code=0).stderr
                with contextlib.closing(sqlite3.connect(self.path)) as connection:
                    (sql,) = connection.execute("SELECT sql FROM sqlite_master WHERE name = ?",
                                                (PREFIX + "RUNTIME",)).fetchone()  # fmt: skip
                self.assertIn(old, sql)
                self.forge(PREFIX + "RUNTIME", sql.replace(old, new))
                self.assertEqual(self.gpuprof("-i", "file.sqlite", code=0).stderr, expected)
                self.cut()
                ran = self.gpuprof("-i", "file.sqlite", code=20)
                self.assertIn("cudaLaunchKernel", ran.stderr)

    def test_a_view_in_place_of_a_table_of_ours(self):
        self.ours()
        self.change("ALTER TABLE STATISTIC RENAME TO s; CREATE VIEW STATISTIC AS SELECT * FROM s")
        self.cut()
        ran = self.gpuprof("-i", "file.sqlite", code=20)
        self.assertIn("cudaLaunchKernel", ran.stderr)

    def test_tables_that_go_together_and_do_not(self):
        self.ours()
        self.change("DROP TABLE METRIC; INSERT INTO METRIC_RANGE(_id_, kind) VALUES(1, 'kernel'); "
                    "INSERT INTO METRIC_VALUE VALUES(1, 1, 1)")  # fmt: skip
        ran = self.gpuprof("-i", "file.sqlite", code=20)
        self.assertIn("file.sqlite is incomplete: no such table: ", ran.stderr)
        self.assertIn("cudaLaunchKernel", ran.stderr)


class ForgedJournal(Hostile):
    def test_a_file_that_a_journal_names_is_not_deleted(self):
        self.ours()
        victim = self.folder / "victim"
        victim.write_text("precious")
        header = self.path.read_bytes()[:100]
        (page,) = struct.unpack(">H", header[16:18])
        (pages,) = struct.unpack(">I", header[28:32])
        name = str(victim).encode()
        journal = (JOURNAL_MAGIC + struct.pack(">IIIII", 0, 1, pages, 512, page)).ljust(512, b"\0")
        journal += struct.pack(">I", 0x40000000 // page + 1) + name
        journal += struct.pack(">II", len(name), sum(name)) + JOURNAL_MAGIC
        (self.folder / "file.sqlite-journal").write_bytes(journal)
        for command in self.all_commands():
            self.gpuprof(*command)
            self.assertEqual(victim.read_text(), "precious", command)

    def test_a_hot_journal_is_no_truncation(self):
        self.nvprof()
        calls = self.gpuprof("-i", "file.sqlite", code=0).stderr
        journal = self.folder / "file.sqlite-journal"
        connection = sqlite3.connect(self.path, isolation_level=None)
        connection.execute("PRAGMA synchronous = OFF")
        connection.execute("PRAGMA cache_size = 1")
        connection.execute("BEGIN")
        connection.execute(f"DELETE FROM {PREFIX}RUNTIME")
        connection.execute("UPDATE StringTable SET value = value || '!'")
        for i in range(300):
            connection.execute("INSERT INTO StringTable(value) VALUES(?)", ("x" * 3000 + str(i),))
        kept = journal.read_bytes(), bytearray(self.path.read_bytes())
        connection.execute("ROLLBACK")
        connection.close()
        # As if the writer died after writing its first page but before the end of the file.
        content = kept[1]
        (pages,) = struct.unpack(">I", content[28:32])
        content[28:32] = struct.pack(">I", pages + 5000)
        content[92:96] = content[24:28]
        self.path.write_bytes(content)
        journal.write_bytes(kept[0])
        ran = self.gpuprof("-i", "file.sqlite", code=0)
        self.assertNotIn("truncated", ran.stderr)
        self.assertIn("in the middle of a transaction", ran.stderr)
        self.assertTrue(ran.stderr.endswith(calls), ran.stderr)


class ForgedRows(Hostile):
    def test_rows_that_cannot_be_read_behind_wide_gaps(self):
        """A row whose text is on a damaged page, after a wide gap in the ids."""
        self.nvprof()
        self.change(
            "DELETE FROM StringTable WHERE _id_ > 1;"
            + "".join(
                f"INSERT INTO StringTable(_id_, value) VALUES({i}, '{mark * 9000}');"
                for i, mark in ((10**9, "a"), (10**15, "b"), (2**62, "c"), (2**63 - 1, "d"))
            )
        )
        content = bytearray(self.path.read_bytes())
        for i in range(0, len(content), 4096):
            page = content[i : i + 4096]
            if any(page[100:].count(mark) > 3000 for mark in b"abcd"):
                # The pointer to the next page of the text.
                content[i : i + 4] = b"\xff\xff\xff\xff"
        self.path.write_bytes(content)
        for command in self.all_commands():
            # A report reads only the names that it shows.
            whole = command[0] in ("slice", "truncate", "export")
            ran = self.gpuprof(*command, code=20 if whole else None)
            self.assertIn(ran.returncode, (0, 20), ran.stderr)
            said = ran.stdout + ran.stderr
            if whole:
                self.assertRegex(said, r"\b\d rows? of StringTable cannot be read")

    def test_sums_of_forged_times_do_not_wrap(self):
        self.ours()
        self.change(
            f"UPDATE {PREFIX}RUNTIME SET start = 1, [end] = {2**63 - 1};"
            f"UPDATE {PREFIX}CONCURRENT_KERNEL SET start = 1, [end] = {2**63 - 1}"
        )
        ran = self.gpuprof("-i", "file.sqlite", "--json", code=0)
        for table in json.loads(ran.stdout)["tables"]:
            for row in table["rows"]:
                for key, value in row.items():
                    if key.endswith("_ns") and value is not None:
                        self.assertGreaterEqual(value, 0, row)

    def test_json_has_no_infinity(self):
        for case, table in (("metrics", "METRIC"),):
            self.path.unlink(missing_ok=True)
            self.nvprof(case)
            self.change(f"UPDATE {PREFIX}{table} SET value = x'000000000000f07f'")
            for report in ((), ("--print-gpu-trace",)):
                ran = self.gpuprof("-i", "file.sqlite", "--json", *report, code=0)

                def refuse(word):
                    raise AssertionError(word)

                self.assertIn("null", ran.stdout)
                json.loads(ran.stdout, parse_constant=refuse)


class ForgedForExport(Hostile):
    """Data that `export` changes, in unexpected forms."""

    def test_tables_that_it_would_change(self):
        for sql in (
            f"ALTER TABLE {PREFIX}RUNTIME ADD COLUMN cuptiCbid TEXT",
            f"ALTER TABLE {PREFIX}RUNTIME ADD COLUMN old INT; "
            f"ALTER TABLE {PREFIX}RUNTIME ADD COLUMN new INT",
            "CREATE TABLE correlation(correlationId INT); INSERT INTO correlation VALUES(1 << 40)",
            "CREATE TABLE device(processId INT, deviceId INT, id INT); "
            "INSERT INTO device VALUES(1, 0, 7)",
            f"DROP TABLE {PREFIX}DEVICE; CREATE TABLE {PREFIX}DEVICE(name, uuid, processId, id)",
            f"UPDATE {PREFIX}DRIVER SET cbid = 'a text', correlationId = x'00'",
            f"UPDATE {PREFIX}DRIVER SET cbid = {2**63 - 1}, correlationId = {-(2**63)}",
            "DROP VIEW IF EXISTS processes; ALTER TABLE PROCESS RENAME COLUMN processId TO pid",
            "DROP TABLE API_NAME; CREATE TABLE API_NAME(cbid)",
        ):
            with self.subTest(sql):
                self.path.unlink(missing_ok=True)
                self.ours("two_processes")
                with contextlib.closing(sqlite3.connect(self.path)) as connection:
                    views = connection.execute(
                        "SELECT name FROM sqlite_master WHERE type = 'view'"
                    ).fetchall()
                self.change("".join(f'DROP VIEW "{view}";' for (view,) in views) + sql)
                ran = self.gpuprof("export", "file.sqlite", "--for", "nvprof", "-f",
                                   "-o", "part.sqlite")  # fmt: skip
                self.assertEqual(ran.returncode, 0, ran.stderr)
                self.assertIn(f"{PREFIX}RUNTIME", self.part())
                self.assertLessEqual(self.names(), {"temporary", "file.sqlite", "part.sqlite"})


class Outputs(Hostile):
    def test_the_unfinished_part_has_no_name_that_can_be_known(self):
        self.nvprof()
        victim = self.folder / "victim"
        ran = subprocess.run(
            ["sh", "-c", 'ln -s victim part.sqlite.part-$$; exec "$@"', "sh", GPUPROF, "slice",
             "file.sqlite", "--from", "0", "-o", "part.sqlite"],
            cwd=self.folder, capture_output=True, text=True, timeout=300)  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertFalse(victim.exists())
        self.assertIn("StringTable", self.part())


if __name__ == "__main__":
    unittest.main()
