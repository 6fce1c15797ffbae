"""gpuprof query: what it prints, what it refuses, how it ends."""
# ctest-labels: plain

import contextlib
import csv
import fcntl
import io
import json
import os
import pathlib
import pty
import shutil
import signal
import sqlite3
import struct
import subprocess
import tempfile
import termios
import time
import unittest

GPUPROF = os.environ.get("GPUPROF", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
QUERIES = SOURCE / "examples" / "queries"
ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"


def wait_until_it_works(pid):
    """Waits until the process has used half a second of processor time."""
    while True:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            ticks = sum(map(int, file.read().rsplit(")")[-1].split()[11:13]))
        if ticks >= os.sysconf("SC_CLK_TCK") / 2:
            return
        time.sleep(0.02)


def run(*words, **more):
    return subprocess.run(
        [GPUPROF, "query", *map(str, words)], capture_output=True, text=True, timeout=120, **more
    )


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Query(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="query-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        cls.profile = cls.folder / "run.sqlite"
        capture = SOURCE / "tests/captures/vector_add.gpcap"
        subprocess.run([GPUPROF, "replay", "-q", "-o", cls.profile, capture], check=True)

    def ask(self, sql, *options, file=None):
        ran = run(file or self.profile, sql, *options)
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))
        return ran.stdout

    def refused(self, *words, message, code=5):
        ran = run(*words)
        self.assertEqual((ran.returncode, ran.stdout), (code, ""), ran.stderr)
        self.assertRegex(ran.stderr, message)

    def rows(self, sql):
        connection = sqlite3.connect(f"file:{self.profile}?mode=ro", uri=True)
        try:
            # As gpuprof does for a run without stacks.
            connection.execute(
                "CREATE TEMP TABLE GRAPH_NODE (processId, node, source, correlationId)"
            )
            return connection.execute(sql).fetchall()
        finally:
            connection.close()

    # Permitted queries

    def test_a_file_of_an_older_gpuprof_is_answered_too(self):
        """It lacks tables that queries use."""
        old = self.folder / "old.sqlite"
        shutil.copy(self.profile, old)
        self.addCleanup(old.unlink)
        connection = sqlite3.connect(old)
        for table in ("LAUNCH_TIME", "OCCUPANCY_TIME"):
            connection.execute(f"DROP TABLE {table}")
        connection.commit()
        connection.close()
        for name in ("launch_latency", "low_occupancy"):
            rows = self.ask(name, "--csv").splitlines()
            self.assertEqual(self.ask(name, "--csv", file=old).splitlines(), rows)
            self.assertGreater(len(rows), name == "launch_latency")

    def test_the_names_are_those_of_the_files_each_with_its_question(self):
        names = sorted(file.stem for file in QUERIES.glob("*.sql"))
        for words in ((), (self.profile,)):
            ran = run(*words)
            self.assertEqual((ran.returncode, ran.stderr), (0, ""))
            lines = ran.stdout.split("\n\n")[0].splitlines()
            self.assertEqual([line.split()[0] for line in lines], names)
            for line in lines:
                question = (QUERIES / f"{line.split()[0]}.sql").read_text().splitlines()[0]
                self.assertEqual(line.split(maxsplit=1)[1], question.removeprefix("-- "))

    def test_each_named_query_gives_what_sqlite_gives(self):
        for file in sorted(QUERIES.glob("*.sql")):
            with self.subTest(query=file.stem):
                table = json.loads(self.ask(file.stem, "--json"))["tables"][0]
                self.assertEqual(table["table"], file.stem)
                found = [[v for k, v in row.items() if not k.startswith("relative_")]
                         for row in table["rows"]]  # fmt: skip
                try:
                    rows = [list(row) for row in self.rows(file.read_text())]
                except sqlite3.OperationalError as error:  # a file without stacks lacks the view
                    self.assertEqual(str(error), "no such table: graph_nodes")
                    rows = []
                self.assertEqual(found, rows)

    def test_a_view_or_table_by_name_and_sql_from_standard_input(self):
        by_name = self.ask("kernels", "--csv")
        self.assertEqual(by_name, self.ask("SELECT * FROM kernels", "--csv"))
        self.assertEqual(
            by_name, run(self.profile, "-", "--csv", input="SELECT * FROM kernels\n;").stdout
        )
        self.assertEqual(len(self.ask("StringTable", "--csv").splitlines()) - 1,
                         self.rows("SELECT count(*) FROM StringTable")[0][0])  # fmt: skip

    def test_what_is_meant_is_suggested(self):
        self.refused(self.profile, "top_kernel", message="did you mean top_kernels")
        self.refused(self.profile, "xyzzy", message="gpuprof query lists")

    def test_names_in_sql_are_suggested(self):
        for sql, meant in (
            ("SELECT * FROM kernel", "no such table: kernel\n  did you mean kernels"),
            ("SELECT * FROM main.kernal", "did you mean kernels"),
            ("SELECT count(*) FROM Nvtx_range JOIN RUNS", "did you mean RUN"),
            ("SELECT duratoin FROM kernels", "no such column: duratoin\n  did you mean duration"),
            ("SELECT k.strat FROM kernels AS k", "did you mean start"),
        ):
            with self.subTest(sql=sql):
                self.refused(self.profile, sql, message=meant)
        ran = run(self.profile, "SELECT * FROM zzzzzzzz")
        self.assertEqual((ran.returncode, "did you mean" in ran.stderr), (5, False))

    def test_the_profile_comes_first(self):
        for words in (("top_kernels", self.profile), ("SELECT 1", self.profile)):
            ran = run(*words)
            self.assertEqual((ran.returncode, ran.stdout), (5, ""), ran.stderr)
            self.assertIn("the profile comes first, then what is asked\n", ran.stderr)
            self.assertIn(f"  gpuprof query {self.profile} ", ran.stderr)
        self.refused("top_kernels", message="gpuprof query FILE top_kernels")

    def test_sql_may_be_anything_that_only_reads(self):
        for sql in (
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT i FROM n",
            "WITH k AS (SELECT group_concat(name), row_number() OVER () FROM kernels) SELECT * FROM k",
            "VALUES (1, 2), (3, 4);  -- two rows",
            "SELECT printf('%08.3f', 3.14159)",
        ):
            with self.subTest(sql=sql):
                self.assertGreater(len(self.ask(sql, "--csv").splitlines()), 1)

    # Refused queries

    def test_nothing_is_changed_or_opened(self):
        before = self.profile.read_bytes()
        other = self.folder / "other"
        for sql in (
            "DELETE FROM RUN",
            "UPDATE RUN SET value = 1",
            "CREATE TABLE a(b)",
            "CREATE TEMP TABLE a(b)",
            "DROP VIEW kernels",
            "BEGIN IMMEDIATE",
            "PRAGMA user_version",
            "PRAGMA user_version = 7",
            "PRAGMA journal_mode = WAL",
            "PRAGMA writable_schema = 1",
            f"ATTACH '{other}' AS other",
            f"VACUUM INTO '{other}'",
            "SELECT load_extension('x')",
        ):
            with self.subTest(sql=sql):
                self.refused(self.profile, sql, message="only questions|not authorized")
        self.assertEqual(self.profile.read_bytes(), before)
        self.assertFalse(other.exists())
        self.assertEqual(sorted(path.name for path in self.folder.iterdir()), ["run.sqlite"])

    def test_what_is_no_question_is_told(self):
        self.refused(self.profile, "SELECT 1; SELECT 2", message="one statement at a time")
        self.refused(self.profile, "SELECT 1 FRM kernels", message="syntax error")
        self.refused(self.profile, "SELECT nosuch FROM kernels", message="no such column: nosuch")
        self.refused(self.profile, " -- nothing\n ", message="no SQL statement")
        ran = run(self.profile, "-", input="SELECT 1\0; SELECT 2")
        self.assertEqual(ran.returncode, 5)
        self.assertIn("there is a NUL in it", ran.stderr)
        self.refused(self.profile, "kernels", "--csv", "--json", message="exclude one another")
        self.refused(self.folder / "none.sqlite", "kernels", message="No such file", code=20)

    def test_views_of_others_call_nothing_that_takes_long(self):
        forged = self.folder / "forged.sqlite"
        shutil.copy(self.profile, forged)
        connection = sqlite3.connect(forged)
        connection.execute("CREATE VIEW big AS SELECT length(hex(zeroblob(1000))) AS n")
        connection.commit()
        connection.close()
        try:
            self.refused(forged, "SELECT * FROM big", message="not authorized")
            # In such a file the user's own WITH clauses have no more rights than its views.
            self.refused(forged, "WITH a AS (SELECT zeroblob(3)) SELECT * FROM a",
                         message="not authorized")  # fmt: skip
            self.assertIn("2", self.ask("SELECT length(zeroblob(2)) AS n", file=forged))
        finally:
            forged.unlink()

    # Formats

    MIXED = "SELECT 1 AS n, 'a|b' AS t, NULL AS x, 2.5 AS r, x'0aff' AS b UNION ALL SELECT 20, '', 3, 0.1, NULL"

    def test_text(self):
        self.assertEqual(self.ask(self.MIXED), (
            " n  t    x    r  b\n"
            "--  ---  -  ---  ----\n"
            " 1  a|b  -  2.5  0aff\n"
            "20       3  0.1  -\n"
        ))  # fmt: skip
        numbers = (
            "SELECT 356.274236 AS a, 0.00286993527 AS b, 1e20 AS c, 260053376.0 AS d, -2.0 AS e"
        )
        self.assertEqual(self.ask(numbers).splitlines()[2].split(),
                         ["356.274", "0.00286994", "1e+20", "260053376", "-2.0"])  # fmt: skip

    def test_markdown(self):
        self.assertEqual(self.ask(self.MIXED, "--markdown"), (
            "|  n | t    |  x |   r | b    |\n"
            "| -: | ---- | -: | --: | ---- |\n"
            "|  1 | a\\|b |  - | 2.5 | 0aff |\n"
            "| 20 |      |  3 | 0.1 | -    |\n"
        ))  # fmt: skip
        self.assertIn("\\<int\\>", self.ask("SELECT 'f<int>' AS t", "--markdown"))

    def test_csv_has_one_line_of_names(self):
        text = self.ask(self.MIXED, "--csv")
        self.assertEqual(list(csv.reader(io.StringIO(text))), [
            ["n", "t", "x", "r", "b"], ["1", "a|b", "", "2.5", "0aff"], ["20", "", "3", "0.1", ""],
        ])  # fmt: skip
        self.assertEqual(text.splitlines()[1], '1,"a|b",,2.5,"0aff"')
        kernels = list(csv.DictReader(io.StringIO(self.ask("kernels", "--csv"))))
        self.assertEqual(
            [(row["name"], int(row["start"])) for row in kernels],
            self.rows("SELECT name, start FROM kernels"),
        )

    def test_json_has_a_version_and_times_from_the_zero_of_the_run(self):
        zero = self.rows("SELECT value FROM RUN WHERE key = 'zero_ns'")[0][0]
        document = json.loads(
            self.ask("SELECT start, start, 5 AS n, NULL AS x FROM kernels", "--json")
        )
        self.assertEqual(document["version"], 1)
        self.assertEqual(document["warnings"], [])
        for row, (start,) in zip(
            document["tables"][0]["rows"], self.rows("SELECT start FROM kernels")
        ):
            self.assertEqual(row, {"start": start, "relative_start": start - zero, "start_2": start,
                                   "relative_start_2": start - zero, "n": 5, "x": None})  # fmt: skip
        self.assertEqual(json.loads(self.ask(self.MIXED, "--json"))["tables"], [
            {"table": "query", "rows": [{"n": 1, "t": "a|b", "x": None, "r": 2.5, "b": "0aff"},
                                        {"n": 20, "t": "", "x": 3, "r": 0.1, "b": None}]}
        ])  # fmt: skip
        # JSON has no infinity.
        self.assertIn(":null}", self.ask("SELECT 1e300 * 1e300 AS x", "--json"))

    def test_nothing_in_a_cell_steers_a_terminal_or_breaks_a_line(self):
        sql = "SELECT 'a' || char(27) || '[2J' || char(10) || 'b' AS \"c\x1b\nd\""
        for option in ((), ("--csv",), ("--markdown",), ("--json",)):
            text = self.ask(sql, *option)
            self.assertNotIn("\x1b", text)
            self.assertNotIn("\nb", text)

    def test_long_cells_are_cut_for_people_only(self):
        sql = "SELECT printf('%.*c', 200, 'é') AS t"
        self.assertEqual(self.ask(sql).splitlines()[2], "é" * 79 + "…")
        self.assertIn("é" * 200, self.ask(sql, "--csv"))

    def on_terminal(self, columns, *words):
        leader, follower = pty.openpty()
        fcntl.ioctl(follower, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([GPUPROF, "query", *map(str, words)], stdout=follower,
                                   stderr=subprocess.DEVNULL)  # fmt: skip
        os.close(follower)
        text = b""
        with contextlib.suppress(OSError):  # a terminal's end of file
            while block := os.read(leader, 65536):
                text += block
        os.close(leader)
        self.assertEqual(process.wait(timeout=60), 0)
        return text.decode().replace("\r\n", "\n")

    def test_on_a_terminal_a_line_fits_and_numbers_are_short(self):
        sql = ("SELECT 'name ' || n.name AS name, 12.3456789 AS a, 11134896.4872185 AS b, 0.0000041 AS c, "
               "1234567890123 AS d, hex(zeroblob(60)) AS long, 1 AS with_a_very_long_heading "
               "FROM kernels AS n")  # fmt: skip
        for columns in (75, 80, 100, 300):
            with self.subTest(columns=columns):
                lines = self.on_terminal(columns, self.profile, sql).splitlines()
                self.assertEqual(len(lines), 2 + self.rows("SELECT count(*) FROM kernels")[0][0])
                self.assertLessEqual(max(map(len, lines)), columns)
                for number in ("  12.35  ", " 11134896", "  4.1e-06  ", "  1234567890123  "):
                    self.assertIn(number, lines[2] + " ")
        wide = self.on_terminal(300, self.profile, sql).splitlines()
        self.assertIn("with_a_very_long_heading", wide[0])
        self.assertNotIn("…", wide[2][:60])
        # Programs receive everything, whatever the terminal.
        for option in ("--csv", "--json", "--markdown"):
            self.assertEqual(self.on_terminal(40, self.profile, sql, option), self.ask(sql, option))
        self.assertIn("12.3457", self.ask(sql))
        for name in ("top_kernels", "gpu_utilization", "copy_bandwidth"):
            if (QUERIES / f"{name}.sql").exists():
                for line in self.on_terminal(80, self.profile, name).splitlines():
                    self.assertLessEqual(len(line), 80, line)

    def test_many_rows_are_all_there(self):
        sql = ENDLESS.format("i") + " LIMIT 3000"
        self.assertEqual([int(line) for line in self.ask(sql).splitlines()[2:]],
                         list(range(1, 3001)))  # fmt: skip

    # How a query ends

    def test_a_reader_that_has_seen_enough(self):
        with subprocess.Popen(
            [GPUPROF, "query", self.profile, ENDLESS.format("i")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            self.assertTrue(process.stdout.readline())
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            self.assertEqual(process.wait(120), 128 + signal.SIGPIPE)

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "w") as full:
            ran = subprocess.run([GPUPROF, "query", self.profile, "kernels"], stdout=full,
                                 stderr=subprocess.PIPE, text=True, timeout=120)  # fmt: skip
        self.assertEqual(ran.returncode, 21)
        self.assertIn("No space left", ran.stderr)

    def test_ctrl_c_ends_what_takes_too_long(self):
        with subprocess.Popen(
            [GPUPROF, "query", self.profile, ENDLESS.format("max(i)")],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        ) as process:  # fmt: skip
            # Before its handler is installed, the signal ends it as well.
            time.sleep(0.3)
            process.send_signal(signal.SIGINT)
            self.assertIn(process.wait(120), (128 + signal.SIGINT, -signal.SIGINT))
            self.assertEqual(process.stdout.read() + process.stderr.read(), b"")

    def test_ctrl_c_ends_what_sqlite_does_not_look_up_from(self):
        """Each LIKE takes a second, and SQLite calls no handler for a thousand steps."""
        long = "replace(hex(zeroblob(4000000)), '0', 'a')"
        likes = ", ".join(f"x LIKE '{'%a' * 40}{i}b'" for i in range(300))
        for number in (signal.SIGINT, signal.SIGTERM):
            with self.subTest(number), subprocess.Popen(
                [GPUPROF, "query", self.profile, f"SELECT {likes} FROM (SELECT {long} AS x)"],
                stdout=subprocess.PIPE, stderr=subprocess.PIPE,
            ) as process:  # fmt: skip
                wait_until_it_works(process.pid)
                process.send_signal(number)
                began = time.monotonic()
                self.assertEqual(process.wait(120), 128 + number)
                # 0.7 s, with a margin for a busy machine.
                self.assertLess(time.monotonic() - began, 8)
                self.assertEqual(process.stdout.read() + process.stderr.read(), b"")

    def test_limits_of_values_memory_and_functions(self):
        self.refused(self.profile, "SELECT length(zeroblob(9000000))", message="too big", code=20)
        self.refused(
            self.profile, "SELECT printf('%.*c', 9000000, 'x')", message="too big", code=20
        )
        self.assertIn("8000000", self.ask("SELECT length(zeroblob(8000000))"))
        many = ", ".join(["hex(zeroblob(4000000))"] * 150)  # 1.2 GB
        self.refused(self.profile, f"SELECT {many}", message="more memory than", code=20)
        for call in ("fts3_tokenizer('simple')", "fts3_tokenizer('simple', x'4141414141414141')",
                     "load_extension('x')", "sqlite_log(1, 'x')", "json_patch('{}', '{}')"):  # fmt: skip
            self.refused(self.profile, f"SELECT {call}", message="not authorized|no such function")
        self.refused(self.profile, f"SELECT printf('{'%d' * 600}')", message="1,000 bytes", code=20)

    def test_what_is_long_in_a_file_is_in_nobodys_way(self):
        long = self.folder / "long.sqlite"
        shutil.copy(self.profile, long)
        connection = sqlite3.connect(long)
        # As in a run whose instructions were sampled or counted.
        connection.execute(
            "CREATE TABLE IF NOT EXISTS MODULE(_id_ INTEGER PRIMARY KEY, processId INT, cubinCrc INT,"
            " cubin BLOB)"
        )
        connection.execute("INSERT INTO MODULE(cubin) VALUES(zeroblob(20000000))")
        connection.commit()
        connection.close()
        try:
            for sql in ("SELECT count(*) FROM MODULE", "SELECT count(*) FROM kernels",
                        "SELECT max(_id_) FROM MODULE"):  # fmt: skip
                self.ask(sql, file=long)
            self.refused(long, "SELECT cubin FROM MODULE", message="too big", code=20)
            for words in (
                ["info"],
                ["-i"],
                ["slice", "--from", "0", "-o", self.folder / "part.sqlite"],
            ):
                ran = subprocess.run([GPUPROF, words[0], long, *words[1:]], capture_output=True,
                                     text=True, timeout=120, check=False)  # fmt: skip
                self.assertEqual(ran.returncode, 0, ran.stderr)
            with sqlite3.connect(self.folder / "part.sqlite") as part:
                (longest,) = part.execute("SELECT max(length(cubin)) FROM MODULE").fetchone()
            part.close()
            self.assertEqual(longest, 20000000)
        finally:
            long.unlink()
            (self.folder / "part.sqlite").unlink(missing_ok=True)

    def test_what_can_be_read_of_a_damaged_file_is_asked(self):
        damaged = self.folder / "damaged.sqlite"
        content = bytearray(self.profile.read_bytes())
        damaged.write_bytes(content[: len(content) - 4096])
        try:
            ran = run(damaged, "SELECT count(*) AS kernels FROM kernels")
            self.assertEqual(ran.returncode, 20)
            self.assertTrue(ran.stdout.startswith("kernels\n"), ran.stdout)
            self.assertTrue(ran.stderr)
        finally:
            damaged.unlink()


if __name__ == "__main__":
    unittest.main()
