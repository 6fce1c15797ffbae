"""gpuprof slice, on files of gpuprof and of nvprof."""
# ctest-labels: plain

import contextlib
import fcntl
import functools
import json
import os
import re
import sqlite3
import subprocess
import time
import unittest

from fake_run import has_other_users
from profile_tools import (
    CAPTURES,
    DERIVED,
    GPU_WORK,
    GPUPROF,
    PREFIX,
    Tools,
    Whole,
    database,
    rows,
    schema,
)  # fmt: skip


@functools.lru_cache(maxsize=1)
def whole_of(path, content):
    """`content`: of the file, by which another file with its name is known."""
    return Whole(path)


class Slice(Tools):
    def check(self, path, begin, end):
        before = path.read_bytes()
        part = self.folder / "part.sqlite"
        self.gpuprof("slice", path, "--from", f"{begin}ns", "--to", f"{end}ns", "-f", "-o", part)
        self.assertEqual(path.read_bytes(), before)
        self.assert_sound(part)
        whole = whole_of(path, before)
        expected = whole.window(begin, end)
        with database(part) as connection:
            made = schema(connection)
            for key, sql in whole.schema.items():
                self.assertEqual(made[key], sql)
            for table, numbers in expected.items():
                if table in DERIVED:
                    continue
                there = rows(connection, table)
                if table == "RUN":
                    there = {i: row for i, row in there.items() if row["key"] != "derived_from"}
                self.assertEqual(set(there), numbers, table)
                for number, row in there.items():
                    self.assertEqual(tuple(row), tuple(whole.tables[table][number]))
        return part, expected

    def windows(self, path):
        info = self.info(path)
        length = info["last_ns"] - info["first_ns"] + 1
        yield 0, length
        yield length // 3, length // 2
        yield length // 2, length
        yield length // 2, length // 2 + 1

    def test_our_files(self):
        total = 0
        for name in CAPTURES:
            path = self.capture(name)
            for window in self.windows(path):
                with self.subTest(name=name, window=window):
                    _, kept = self.check(path, *window)
                    total += sum(len(kept[PREFIX + kind]) for kind in GPU_WORK[:6])
        self.assertGreater(total, 0)

    def test_nvprofs_files(self):
        for case in ("basic", "nvtx", "um", "metrics", "openacc", "cdp", "system", "cpusampling"):
            path = self.nvprof(case)
            for window in self.windows(path):
                with self.subTest(case=case, window=window):
                    self.check(path, *window)

    def test_launches_of_kept_kernels_are_kept(self):
        path = self.capture("streams_graph")
        with database(path) as connection:
            kernel, call = connection.execute(
                "SELECT k.start, r.start FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL k "
                "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r USING(correlationId) "
                "ORDER BY k.start - r.start DESC LIMIT 1").fetchone()  # fmt: skip
        self.assertGreater(kernel, call)
        first = Whole(path).first
        part, _ = self.check(path, kernel - first, kernel - first + 1)
        with database(part) as connection:
            launches = connection.execute("SELECT api_start FROM launches").fetchall()
        self.assertIn((call,), map(tuple, launches))

    def test_reports_of_the_part_are_those_of_the_window(self):
        for name in ("streams_graph", "torch_step"):
            path = self.capture(name)
            for begin, end in self.windows(path):
                window = ("--from", f"{begin}ns", "--to", f"{end}ns")
                part = self.folder / "part.sqlite"
                self.gpuprof("slice", path, *window, "-f", "-o", part)
                for report in ("--print-gpu-summary", "--print-gpu-trace"):
                    with self.subTest(name=name, window=window, report=report):
                        expected = self.gpuprof("-i", path, *window, report, "--csv").stderr
                        # The whole has more.
                        expected = re.sub("(?m)^.* left out all of .*\n", "", expected)
                        self.assertEqual(
                            self.gpuprof("-i", part, report, "--csv").stderr, expected)  # fmt: skip

    def test_times_that_are_shown_can_be_given_back(self):
        """Times count from the same zero in JSON, filters, the whole and its parts."""
        path = self.capture("torch_step")

        def rows(file, *words):
            printed = self.gpuprof("-i", file, "--print-gpu-trace", "--json", *words).stdout
            # The columns depend on what is printed.
            return [
                {name: value for name, value in row.items() if value is not None}
                for row in json.loads(printed)["tables"][0]["rows"]
            ]

        zero = self.info(path)["run"]["zero_ns"]
        with contextlib.closing(sqlite3.connect(path)) as connection:
            (earliest,) = connection.execute(
                "SELECT min(t) FROM (SELECT min(start) AS t FROM api_calls UNION ALL "
                "SELECT min(start) FROM gpu_activities UNION ALL "
                f"SELECT min(timestamp) FROM {PREFIX}MARKER)"
            ).fetchone()
        self.assertEqual(zero, earliest)
        whole = rows(path)
        row = whole[20]
        self.assertEqual(row["relative_start_ns"], row["start_ns"] - zero)
        window = ("--from", f"{row['relative_start_ns']}ns",
                  "--to", f"{row['relative_start_ns'] + 1}ns")  # fmt: skip
        self.assertEqual(rows(path, *window), [row])
        part = self.folder / "part.sqlite"
        self.gpuprof("slice", path, *window, "-o", part)
        self.assertEqual(rows(part), [row])
        self.assertEqual(rows(part, *window), [row])

    def test_window_of_a_range(self):
        path = self.capture("torch_step")
        with contextlib.closing(sqlite3.connect(path)) as connection:
            (start, end), *_ = connection.execute(
                "SELECT start, \"end\" FROM nvtx_ranges WHERE name = 'step 1' ORDER BY start"
            )

        def starts(file, *words):
            printed = self.gpuprof("-i", file, "--print-gpu-trace", "--json", *words).stdout
            return [row["start_ns"] for row in json.loads(printed)["tables"][0]["rows"]]

        inside = [time for time in starts(path) if start <= time < end]
        self.assertTrue(0 < len(inside) < len(starts(path)))
        self.assertEqual(starts(path, "--nvtx", "step 1"), inside)
        self.assertEqual(starts(path, "--from", "nvtx:step 1", "--to", "nvtx:step 1"), inside)
        self.assertEqual(starts(path, "--from", "nvtx:step 1"),
                         [time for time in starts(path) if start <= time])  # fmt: skip
        part = self.folder / "part.sqlite"
        self.gpuprof("slice", path, "--nvtx", "step 1", "-o", part)
        self.assertEqual(starts(part), inside)
        for command in (["-i", path, "--nvtx", "no"], ["slice", path, "--nvtx", "no", "-o", "x"]):
            told = self.gpuprof(*command, code=5).stderr
            self.assertIn("no NVTX range is called no\n", told)

    def test_units_of_time_and_open_ends(self):
        path = self.capture("nvtx_threads")
        kept = set()
        for words in (("--from", "0.2"), ("--from", "0.2s"), ("--from", "200ms"),
                      ("--from", "200000us"), ("--from", "200000000ns")):  # fmt: skip
            part = self.folder / "part.sqlite"
            self.gpuprof("slice", path, *words, "-f", "-o", part)
            kept.add(json.dumps(self.info(part)["records"]))
        self.assertEqual(len(kept), 1)
        later = self.info(part)["records"]["RUNTIME"]
        self.gpuprof("slice", path, "--to", "200ms", "-f", "-o", part)
        sooner = self.info(part)["records"]["RUNTIME"]
        self.assertTrue(0 < later < 48 and 0 < sooner < 48 <= later + sooner)
        self.gpuprof("slice", path, "-f", "-o", part, code=5)
        self.gpuprof("slice", path, "--from", "2", "--to", "1", "-f", "-o", part, code=5)
        self.gpuprof("slice", path, "--from", "soon", "-f", "-o", part, code=5)

    def test_records_without_times_are_counted(self):
        path = self.capture("die")
        with database(path) as connection:
            (without,) = connection.execute(
                "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL WHERE start = 0"
            ).fetchone()
        self.assertGreater(without, 0)
        ran = self.gpuprof("slice", path, "--from", "0", "-o", "part.sqlite")
        self.assertIn(f"{without} records of GPU work have no times", ran.stderr)

    def test_what_is_unknown_is_copied(self):
        path = self.nvprof("basic", """
            CREATE TABLE of_mine(id INTEGER PRIMARY KEY, text TEXT, twice AS (2 * id));
            INSERT INTO of_mine(id, text) VALUES(7, 'seven');
            CREATE INDEX of_mine_too ON of_mine(text);
            CREATE VIEW seen AS SELECT count(*) AS n FROM of_mine;
            CREATE TRIGGER changed AFTER INSERT ON of_mine BEGIN DELETE FROM of_mine; END;
            CREATE TABLE CUPTI_ACTIVITY_KIND_LATER(_id_ INTEGER PRIMARY KEY, start INT, what INT);
            INSERT INTO CUPTI_ACTIVITY_KIND_LATER VALUES(3, 5, 1);
            ALTER TABLE CUPTI_ACTIVITY_KIND_RUNTIME ADD COLUMN extra INT DEFAULT 9;
            PRAGMA user_version = 12;
            """)  # fmt: skip
        self.gpuprof("slice", path, "--from", "0", "-o", "part.sqlite")
        with database(self.folder / "part.sqlite") as connection:
            self.assertEqual(tuple(connection.execute("SELECT * FROM of_mine").fetchone()),
                             (7, "seven", 14))  # fmt: skip
            self.assertEqual(connection.execute("SELECT n FROM seen").fetchone()[0], 1)
            self.assertEqual(connection.execute("PRAGMA user_version").fetchone()[0], 12)
            self.assertEqual(rows(connection, PREFIX + "LATER"), {})
            self.assertEqual(
                connection.execute("SELECT sum(extra) > 0 FROM CUPTI_ACTIVITY_KIND_RUNTIME")
                .fetchone()[0], 1)  # fmt: skip
            self.assertIn(("index", "of_mine_too"), schema(connection))
            self.assertNotIn(("trigger", "changed"), schema(connection))

    def test_old_files_keep_their_version_and_get_the_missing_tables(self):
        path = self.nvprof("old_v11", "DROP TABLE CUPTI_ACTIVITY_KIND_DEVICE")
        self.gpuprof("slice", path, "--from", "0", "-o", "part.sqlite")
        with database(self.folder / "part.sqlite") as connection:
            self.assertEqual(connection.execute("SELECT * FROM Version").fetchone()[0], 11)
            self.assertIn(("table", PREFIX + "DEVICE"), schema(connection))
            self.assertIn(("table", PREFIX + "JIT"), schema(connection))

    def test_output_is_not_overwritten_by_accident(self):
        path = self.capture("vector_add")
        before = path.read_bytes()
        part = self.folder / "part.sqlite"
        part.write_text("something else")
        words = ("slice", path, "--from", "0", "-o")
        self.assertIn("-f", self.gpuprof(*words, part, code=21).stderr)
        self.assertEqual(part.read_text(), "something else")
        self.gpuprof(*words, path, "-f", code=21)
        self.gpuprof(*words, self.folder, "-f", code=21)
        self.gpuprof(*words, self.folder / "no" / "where", code=21)
        part.write_bytes(b"")
        self.log_of_another_file(self.folder / "part.sqlite-wal")
        self.gpuprof(*words, part, "-f")
        self.assert_sound(part)
        self.assertEqual(path.read_bytes(), before)

    def test_file_that_is_being_written(self):
        path = self.capture("vector_add")
        writer = sqlite3.connect(path)
        writer.execute("PRAGMA journal_mode = WAL")
        writer.execute("UPDATE RUN SET value = 0 WHERE key = 'finished'")
        writer.commit()
        writer.execute("DELETE FROM CUPTI_ACTIVITY_KIND_MEMCPY")  # not committed
        ran = self.gpuprof("slice", path, "--from", "0", "-o", "part.sqlite")
        self.assertIn("still being written", ran.stderr)
        writer.close()
        self.assert_sound(self.folder / "part.sqlite")
        self.assertEqual(self.info("part.sqlite")["records"]["MEMCPY"], 3)

    def check_pairing(self, older, stop):
        path = self.capture("nvtx_threads")
        connection = sqlite3.connect(path)
        ranges = connection.execute("SELECT count(*) FROM NVTX_RANGE").fetchone()[0]
        self.assertGreater(ranges, 0)
        connection.executescript(
            f"{older}DELETE FROM NVTX_RANGE; UPDATE RUN SET value = 0 WHERE key = 'finished'; "
            "DROP INDEX INDEX_CUPTI_ACTIVITY_KIND_RUNTIME")  # fmt: skip
        connection.close()
        self.gpuprof("slice", path, "--from", "0", "-o", "part.sqlite")
        with database(self.folder / "part.sqlite") as connection:
            self.assertEqual(
                connection.execute("SELECT count(*) FROM NVTX_RANGE").fetchone()[0], ranges
            )
            self.assertIn(("index", "INDEX_CUPTI_ACTIVITY_KIND_RUNTIME"), schema(connection))
            self.assertEqual(
                connection.execute(
                    f'SELECT count(*) FROM NVTX_RANGE WHERE "{stop}" > start'
                ).fetchone()[0],
                ranges,
            )

    def test_ranges_of_a_writer_that_was_ended_are_paired(self):
        self.check_pairing("", "stop")

    def test_ranges_of_an_older_writer_are_paired(self):
        self.check_pairing(
            'DROP VIEW nvtx_ranges; ALTER TABLE NVTX_RANGE RENAME COLUMN stop TO "end"; ', "end"
        )

    def test_a_part_of_a_part(self):
        path = self.capture("torch_step")
        self.gpuprof("slice", path, "--from", "1s", "-o", "later.sqlite")
        self.gpuprof("truncate", "later.sqlite", "--keep", "gpu", "-o", "least.sqlite")
        info = self.info("least.sqlite")
        self.assertEqual(info["run"]["derived_from"], "gpuprof truncate later.sqlite --keep gpu")
        self.assertEqual(info["format"], "gpuprof")
        self.assertNotIn("RUNTIME", info["records"])


class Leftovers(Tools):
    """The next command removes temporary folders of killed commands, but not those of live ones."""

    def make(self, name, mode=0o700, files=("lock", "unfinished"), hours=0):
        folder = self.folder / name
        folder.mkdir()
        for file in files:
            (folder / file).write_text("")
        folder.chmod(mode)
        then = time.time() - 3600 * hours
        os.utime(folder, (then, then))
        return folder

    def test_what_goes(self):
        path = self.capture("die")
        elsewhere = self.make("elsewhere")
        ours = [self.make(".gpuprof-Killed"), self.make(".gpuprof-NoLock", files=(), hours=2),
                self.make(".gpuprof-NewLoc", files=("new-lock",), hours=2)]  # fmt: skip
        (self.folder / ".gpuprof-linked").symlink_to(elsewhere)
        others = [
            self.make(".gpuprof-anyone", mode=0o755), self.make(".gpuprof-longername"),
            self.make("gpuprof-inTmpd"), self.make(".gpuprof-starts", files=()),
            self.make(".gpuprof-theirs", files=("thesis",), hours=2), elsewhere,
            self.folder / ".gpuprof-linked",
        ]  # fmt: skip
        locked = self.make(".gpuprof-atwork")
        if has_other_users():
            others.append(self.make(".gpuprof-foreign"))
            os.chown(others[-1], 65534, 65534)
        with open(locked / "lock") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            self.gpuprof("slice", path, "--from", "0", "-o", "part.sqlite")
            for folder in (*others, locked):
                self.assertTrue(folder.exists(), folder)
                self.assertEqual(list(folder.iterdir()) == [], folder.name == ".gpuprof-starts")
            for folder in ours:
                self.assertFalse(folder.exists(), folder)
        self.gpuprof("slice", path, "--from", "0", "-o", "again.sqlite")
        self.assertFalse(locked.exists())

    def test_after_kills(self):
        path = self.capture("torch_step")
        for i in range(10):
            words = [GPUPROF, "slice", path, "--from", "0", "-f", "-o", "part.sqlite"]
            with subprocess.Popen(words, cwd=self.folder, stderr=subprocess.DEVNULL) as process:
                time.sleep(0.02 * i)
                process.kill()
        self.gpuprof("slice", path, "--from", "0", "-f", "-o", "part.sqlite")
        left = [each.name for each in self.folder.iterdir() if each.name.startswith(".gpuprof")]
        # A process killed before it had a lock left that at most, which goes after an hour.
        for name in left:
            self.assertIn(
                [each.name for each in (self.folder / name).iterdir()], ([], ["new-lock"])
            )


class Anonymous(Tools):
    """What README promises about `slice --anonymise`, checked by searching the part's bytes for words."""

    # Texts that the part should show, and descriptions by CUPTI and gpuprof of what was collected.
    KEPT = {
        "METRIC": {"name", "unit", "description", "formula"},
        "METRIC_GROUP": {"chip", "costClass", "metrics", "counters"},
        "METRIC_RANGE": {"note"},
        "NVTX_PAYLOAD": {"schema", "field"},
        "NVTX_PAYLOAD_ENTRY": {"schema", "field"},
        "PC_STALL_REASON": {"name", "reason"},
        "PM_DEVICE": {"chip", "leftOut"},
        "PM_METRIC": {"name", "unit", "description", "formula"},
        "SASS_METRIC": {"name", "metric", "description"},
        "STACK_FRAME": {"function"},
    }  # fmt: skip

    def plant(self, path):
        """Puts a distinct word into each column of each table, each column's name and default, and into
        keys, constraints, views, indexes and tables. Returns where each is."""
        places = {}

        def word(*place):
            places[f"Zanzibar{len(places):04}z"] = place
            return f"Zanzibar{len(places) - 1:04}z"

        connection = sqlite3.connect(path)
        run = connection.execute
        tables = [name for (name,) in run("SELECT name FROM sqlite_master WHERE type = 'table' "
                                          "AND name NOT LIKE 'sqlite_%' AND name <> 'CLOCK'")]  # fmt: skip
        for table in tables:
            # SQLite refuses a text as a row id.
            planted = [name for _, name, kind, _, _, key in run(f'PRAGMA table_info("{table}")')
                       if not (kind == "INTEGER" and key)]  # fmt: skip
            names = ", ".join(f'"{column}"' for column in planted)
            # Blobs that are kept are short and numeric, such as UUIDs: no word, but a few bytes of one.
            for values in ([word(table, column) for column in planted],
                           [word(table, column).encode() * 20 for column in planted]):  # fmt: skip
                run(f'INSERT INTO "{table}"({names}) VALUES({", ".join("?" * len(planted))})',
                    values)  # fmt: skip
            if "WITHOUT ROWID" not in self.sql(run, table):
                run(f'ALTER TABLE "{table}" ADD COLUMN "{word(table, "name of a column")}" TEXT '
                    f"DEFAULT '{word(table, 'default')}'")  # fmt: skip
        # A table of gpuprof's with somebody else's key and check.
        run("DROP TABLE CLOCK")
        run("CREATE TABLE CLOCK(processId INT, moment TEXT COLLATE NOCASE, realtime INT DEFAULT "
            f"'{word('CLOCK', 'default')}', cupti INT, CONSTRAINT {word('CLOCK', 'key')} "
            f"UNIQUE(processId, moment), CHECK (moment <> '{word('CLOCK', 'check')}'))")  # fmt: skip
        run("INSERT INTO CLOCK VALUES(1, 'first', 2, 3), (1, ?, 2, 3)",
            (word("CLOCK", "moment"),))  # fmt: skip
        run(f"CREATE TABLE {word('table')}(a)")
        run(f"CREATE VIEW {word('view')} AS SELECT '{word('text of a view')}' AS {word('column')}")
        run(f"CREATE INDEX {word('index')} ON {PREFIX}MEMCPY(bytes) "
            f"WHERE bytes <> '{word('condition')}'")  # fmt: skip
        run("DROP VIEW losses")
        run(f"CREATE VIEW losses AS SELECT '{word('view of ours')}' AS name")
        run(f"CREATE TRIGGER {word('trigger')} AFTER INSERT ON RUN BEGIN "
            f"SELECT '{word('text of a trigger')}'; END")  # fmt: skip
        run("INSERT INTO RUN(key, value) VALUES(?, 1), ('finished_by', ?)",
            (word("RUN", "key"), word("RUN", "value")))  # fmt: skip
        for key in ("zero_ns", "target_process_id", "loss"):
            run("INSERT OR REPLACE INTO RUN(key, value) VALUES(?, ?)", (key, word("RUN", key)))
        run("INSERT INTO STATISTIC(processId, kind, name, value) VALUES(0, ?, 'stream_cut', 1)",
            (word("STATISTIC", "kind"),))  # fmt: skip
        run("INSERT INTO DIAGNOSTIC(processId, severity, statistic, text) "
            "VALUES(1, 'notice', NULL, ?), (1, 'data_loss', 'stream_cut', ?)",
            (word("DIAGNOSTIC", "text"), "no PC samples: /home/" + word("DIAGNOSTIC", "path")))  # fmt: skip
        connection.commit()
        connection.close()
        return places

    @staticmethod
    def sql(run, table):
        return run("SELECT sql FROM sqlite_master WHERE name = ?", (table,)).fetchone()[0]

    def kept(self, path, places):
        """For a word that spans two pages of the file, the dump is searched."""
        with database(path) as connection:
            connection.row_factory = None
            dump = "\n".join(connection.iterdump())
        content = path.read_bytes()
        blobs = b"".join(map(bytes.fromhex, re.findall("X'((?:[0-9A-F]{2})+)'", dump)))
        there = b"\n".join((content, content.replace(b"\0", b""), dump.encode(), blobs))
        return {places[word.decode()] for word in re.findall(rb"Zanzibar\d{4}z", there)}

    def test_planted_words(self):
        path = self.capture("torch_step")
        places = self.plant(path)
        self.assertEqual(self.kept(path, places), set(places.values()))
        allowed = {(table, column) for table, columns in self.KEPT.items() for column in columns}
        for window in ([], ["--from", "1ns"]):
            with self.subTest(window=window):
                part = self.folder / "part.sqlite"
                self.gpuprof("slice", path, "--anonymise", *window, "-f", "-o", part)
                self.assert_sound(part)
                self.assertEqual(self.kept(part, places) - allowed, set())
                with database(part) as connection:
                    said = [tuple(row) for row in connection.execute(
                        "SELECT severity, statistic, text FROM DIAGNOSTIC")]  # fmt: skip
                    helped = connection.execute("SELECT help FROM STATISTIC_DOC "
                                                "WHERE name = 'stream_cut'").fetchone()[0]  # fmt: skip
                self.assertIn(("data_loss", "stream_cut", helped), said)
                self.assertTrue(any("left out" in text for _, _, text in said))
                for words in (["info"], ["-i"], ["query", "kernels"]):
                    self.gpuprof(*words[:1], part, *words[1:])

    def test_what_is_ours_stays(self):
        """In unmodified files all rows and values that identify nobody are kept, and the same tables,
        indexes and views."""
        gone = {
            "RUN": ("value",), "PROCESS": ("executable", "command_line", "cupti_path", "job"),
            PREFIX + "SOURCE_LOCATOR": ("fileName",), PREFIX + "MODULE": ("cubin",),
            PREFIX + "MEMORY2": ("source",), PREFIX + "MARKER_DATA": ("payloadData",),
            "NVTX_PAYLOAD": ("textValue",), "METRIC_GROUP": ("scope",), "DIAGNOSTIC": ("text",),
            "STACK_FRAME": ("module",), PREFIX + "JIT": ("cachePath",),
        }  # fmt: skip
        for name in CAPTURES:
            with self.subTest(name=name):
                path, part = self.capture(name), self.folder / "part.sqlite"
                self.gpuprof("slice", path, "--anonymise", "-f", "-o", part)
                self.assert_sound(part)
                with database(path) as whole, database(part) as made:
                    # nvprof's tables of CPU sampling, which gpuprof never fills, are left out.
                    self.assertEqual(set(schema(made)), {
                        key for key in schema(whole)
                        if key[0] != "table" or not key[1].startswith(("coll", "prof"))})  # fmt: skip
                    for kind, table in schema(whole):
                        if (kind, table) not in schema(made) or kind != "table" or table in (
                            *DERIVED, "StringTable", PREFIX + "NAME"):  # fmt: skip
                            continue
                        columns = [row["name"] for row in whole.execute(
                            f'PRAGMA table_info("{table}")')]  # fmt: skip
                        chosen = ", ".join(f'"{column}"' for column in columns
                                           if column not in gone.get(table, ()))  # fmt: skip
                        query = f'SELECT {chosen} FROM "{table}"'
                        there = sorted(map(tuple, made.execute(query)), key=str)
                        expected = sorted(map(tuple, whole.execute(query)), key=str)
                        if table == "RUN":
                            self.assertLessEqual({key for (key,) in there} - {"derived_from"},
                                                 {key for (key,) in expected})  # fmt: skip
                            continue
                        self.assertEqual(there, expected, table)


if __name__ == "__main__":
    unittest.main()
