# ctest-cost: 30
"""gpuprof view: SQL queries, which are refused and what ends them."""

import contextlib
import http.client
import json
import os
import pathlib
import shutil
import sqlite3
import threading
import time
import unittest
import urllib.parse

import test_view
from builds import asan, load_tests  # noqa: F401
from growing import Growing
from test_view import GPUPROF, digest, serving

ENDLESS = "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT {} FROM n"


def path_of(server, sql, **more):
    return f"/{server.token}/api/sql?{urllib.parse.urlencode({'text': sql, **more})}"


def ask(server, sql, **more):
    """Status and answer, on a separate connection."""
    status, body, _ = server.ask(path_of(server, sql, **more), fresh=True)
    return status, json.loads(body)


def children(pid):
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").iterdir():
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):  # a thread that has ended
            found += (task / "children").read_text().split()
    return found


def value(cell):
    """As SQLite has it; for a blob, its length."""
    if not isinstance(cell, dict):
        return cell
    return int(cell["exact"]) if "exact" in cell else cell["blob"]


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Questions(test_view.Profiles):
    def rows(self, server, sql, **more):
        status, answer = ask(server, sql, **more)
        self.assertEqual(status, 200, answer)
        return [[value(cell) for cell in row] for row in answer["rows"]]

    def refused(self, server, sql, words, **more):
        status, answer = ask(server, sql, **more)
        self.assertEqual(status, 400, sql)
        self.assertRegex(answer["error"], words)

    def test_rows_are_sqlites(self):
        with serving(self.profiles["torch_step"]) as server:
            database = sqlite3.connect(self.profiles["torch_step"])
            for sql in (
                "SELECT start, end, duration, name, range_path FROM kernels",
                "SELECT name, count(*), sum(duration), avg(duration) FROM api_calls GROUP BY 1 ORDER BY 3",
                "WITH k AS (SELECT * FROM kernels) SELECT count(*) FROM k",
                "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n LIMIT 3) SELECT i FROM n",
                "VALUES (9007199254740991), (9007199254740992), (-9223372036854775807 - 1), (1.5), (NULL), ('')",
                "SELECT 1 WHERE 0",
                " -- a comment\n SELECT '\u00e4 & <b>' ;\n",
            ):
                with self.subTest(sql):
                    self.assertEqual(
                        self.rows(server, sql), [list(row) for row in database.execute(sql)]
                    )
            database.close()
            _, answer = ask(server, "SELECT value AS a, value AS a FROM RUN WHERE key = 'zero_ns'")
            self.assertEqual(answer["columns"], ["a", "a"])
            self.assertEqual(answer["rows"][0][0], {"exact": answer["zero"]})
            self.assertEqual(answer["ends_by"], "")
            _, answer = ask(server, "SELECT 1e999, -1e999, x'00ff', 0x7fffffffffffffff")
            self.assertEqual(
                answer["rows"],
                [[{"exact": "Infinity"}, {"exact": "-Infinity"}, {"blob": 2}, {"exact": f"{2**63 - 1}"}]],
            )  # fmt: skip

    def test_nothing_but_select(self):
        profile = self.profiles["vector_add"]
        other = self.folder / "other"
        before, folder = digest(profile), sorted(os.listdir(self.folder))
        with serving(profile) as server:
            for sql in (
                "INSERT INTO RUN VALUES ('a', 'b')",
                "INSERT INTO RUN VALUES ('a', 'b') RETURNING *",
                "UPDATE RUN SET value = 1",
                "UPDATE RUN SET value = 1 RETURNING *",
                "DELETE FROM RUN",
                "REPLACE INTO RUN VALUES ('a', 'b')",
                "WITH a AS (SELECT 1) DELETE FROM RUN RETURNING *",
                "CREATE TABLE a(b)",
                "CREATE TEMP TABLE a AS SELECT 1",
                "CREATE VIEW a AS SELECT 1",
                "CREATE VIRTUAL TABLE a USING fts5(b)",
                "CREATE TRIGGER a AFTER INSERT ON RUN BEGIN SELECT 1; END",
                "DROP TABLE RUN",
                "ALTER TABLE RUN RENAME TO a",
                "REINDEX",
                "ANALYZE",
                "VACUUM",
                f"VACUUM INTO '{other}'",
                f"ATTACH '{other}' AS other",
                "ATTACH ':memory:' AS other",
                "DETACH main",
                "BEGIN",
                "COMMIT",
                "SAVEPOINT a",
                "PRAGMA user_version",
                "PRAGMA table_info(RUN)",
                "PRAGMA journal_mode = WAL",
                "PRAGMA writable_schema = 1",
                "SELECT load_extension('x')",
                "SELECT * FROM pragma_table_info('RUN')",
                "SELECT * FROM generate_series(1, 3)",
                f"SELECT readfile('{profile}')",
                f"SELECT writefile('{other}', 'x')",
                "SELECT edit('x')",
            ):
                with self.subTest(sql):
                    self.refused(
                        server, sql, "only questions|not authorized|no such (function|table)"
                    )
            self.refused(server, "SELECT 1; SELECT 2", "one statement at a time")
            self.refused(server, "SELECT 1; DELETE FROM RUN", "only questions")
            self.refused(server, "SELECT 1 FRM RUN", 'near "RUN": syntax error')
            self.refused(server, "SELECT nosuch FROM RUN", "no such column: nosuch")
            self.refused(server, "SELECT ?1 FROM nosuch", "no such table: nosuch")
            self.refused(server, "-- nothing", "no SQL statement")
            self.refused(server, "", "text is needed")
            self.refused(server, "SELECT 1\0; DELETE FROM RUN", "a NUL in it")
            self.refused(server, "SELECT 1", "no such run", run=1)
            self.refused(server, "SELECT abs(-9223372036854775807 - 1)", "integer overflow")
            self.refused(server, "SELECT length(randomblob(100000000))", "too big")
            self.refused(server, "SELECT " + "(" * 500 + "1" + ")" * 500, "too large|overflow")
            self.refused(server, "SELECT " + "a" * 17_000, "longer than 16 KiB")
            self.assertEqual(self.rows(server, "SELECT count(*) > 0 FROM RUN"), [[1]])
            self.assertEqual(server.end(), (0, ""))
        self.assertEqual(digest(profile), before)
        self.assertEqual(sorted(os.listdir(self.folder)), folder)

    def test_what_is_long_is_cut(self):
        with serving(self.profiles["vector_add"]) as server:
            _, answer = ask(server, ENDLESS.format("i"))
            self.assertEqual(answer["ends_by"], "rows")
            self.assertEqual(answer["rows"], [[i + 1] for i in range(10_000)])
            _, answer = ask(server, ENDLESS.format("i") + " LIMIT 10000")
            self.assertEqual((answer["ends_by"], len(answer["rows"])), ("", 10_000))
            long = "printf('%02000d', i)"
            status, body, _ = server.ask(path_of(server, ENDLESS.format(long)), fresh=True)
            answer = json.loads(body)
            self.assertEqual((status, answer["ends_by"]), (200, "bytes"))
            self.assertLess(len(body), 8.1 * 2**20)
            self.assertGreater(len(body), 7.9 * 2**20)
            self.assertTrue(all(len(row[0]) == 2000 for row in answer["rows"]))
            _, answer = ask(server, "SELECT " + ", ".join([f"hex(zeroblob({10**6}))"] * 9))
            self.assertEqual((answer["ends_by"], len(answer["rows"])), ("", 1))
            for cell in answer["rows"][0]:
                self.assertEqual(cell["of"], 2 * 10**6)
                self.assertLessEqual(len(cell["cut"].encode()), 2000)
                self.assertRegex(cell["cut"], "^0+\u20260+$")
            _, answer = ask(server, f'SELECT 1 AS "{"n" * 5000}"')
            self.assertLessEqual(len(answer["columns"][0].encode()), 200)

    def test_an_endless_question_ends_and_holds_up_nothing(self):
        with serving(self.profiles["torch_step"]) as server:
            run = server.get("run")
            found = {}

            def endless():
                began = time.monotonic()
                found["answer"] = ask(server, ENDLESS.format("max(i)"))
                found["took"] = time.monotonic() - began

            thread = threading.Thread(target=endless)
            thread.start()
            tiles, slowest = 0, 0
            while thread.is_alive():
                began = time.monotonic()
                window = {"from": run["begin"], "to": run["end"]}
                self.assertTrue(server.get("tiles", tracks="0,1", width=1000, **window)["tracks"])
                slowest = max(slowest, time.monotonic() - began)
                tiles += 1
                time.sleep(0.02)
            thread.join()
            status, answer = found["answer"]
            self.assertEqual(status, 400)
            self.assertIn("longer than 5 s", answer["error"])
            self.assertGreater(found["took"], 4.9)
            self.assertGreater(tiles, 20)
            self.assertLess(slowest, 3)  # seconds, for a busy machine

    def test_the_newest_question_counts(self):
        profiles = [self.profiles["vector_add"], self.profiles["torch_step"]]
        with serving(profiles) as server:
            database = sqlite3.connect(profiles[1])
            kernels = database.execute("SELECT count(*) FROM kernels").fetchall()
            database.close()
            found = []
            thread = threading.Thread(
                target=lambda: found.append(ask(server, ENDLESS.format("count(*)"), run=0))
            )
            began = time.monotonic()
            thread.start()
            answers = []
            while not found:  # a query sent before the first had begun is ended by it
                answers.append(ask(server, "SELECT count(*) FROM kernels", run=1))
                time.sleep(0.05)
            self.assertEqual(answers[-1][1].get("rows"), [list(kernels[0])])
            thread.join()
            self.assertEqual(found[0][0], 400)
            self.assertIn("something else was asked", found[0][1]["error"])
            self.assertLess(time.monotonic() - began, 4.5)
            # So does a request for details, which are answered at once.
            thread = threading.Thread(
                target=lambda: found.append(ask(server, ENDLESS.format("count(*)"), run=1))
            )
            thread.start()
            time.sleep(0.3)
            began = time.monotonic()
            self.assertTrue(server.get("details", track=0, row=0, item=0)["sections"])
            thread.join()
            self.assertLess(time.monotonic() - began, 4)
            self.assertIn("something else was asked", found[1][1]["error"])
            # A client that disconnects ends its query: nothing runs any more.
            stat = pathlib.Path(f"/proc/{server.process.pid}/stat")

            def busy():  # CPU time of the server and of the answering processes
                used = sum(map(int, stat.read_text().rsplit(")")[-1].split()[11:15]))
                for child in children(server.process.pid):
                    with contextlib.suppress(FileNotFoundError):
                        text = pathlib.Path(f"/proc/{child}/stat").read_text(encoding="utf-8")
                        used += sum(map(int, text.rsplit(")")[-1].split()[11:13]))
                return used

            gone = http.client.HTTPConnection("127.0.0.1", server.port)
            gone.request("GET", path_of(server, ENDLESS.format("count(*)")))
            least, until = busy(), time.monotonic() + 10
            while busy() <= least + 4 and time.monotonic() < until:  # in hundredths of a second
                time.sleep(0.1)
                least = min(least, busy())
            self.assertLess(time.monotonic(), until)
            gone.close()
            time.sleep(0.5)
            before = busy()
            time.sleep(1)
            self.assertLess(busy(), before + 20)
            # The server can end while a query is running.
            gone = http.client.HTTPConnection("127.0.0.1", server.port)
            gone.request("GET", path_of(server, ENDLESS.format("count(*)")))
            time.sleep(0.3)
            began = time.monotonic()
            self.assertEqual(server.end(), (0, ""))
            self.assertLess(time.monotonic() - began, 4)
            gone.close()

    @asan
    def test_what_sqlite_does_not_look_up_from_ends_all_the_same(self):
        long = "replace(hex(zeroblob(4000000)), '0', 'a')"
        likes = ", ".join(f"x LIKE '{'%a' * 20}{i}b'" for i in range(100))
        with serving(self.profiles["vector_add"]) as server:
            for sql in (
                f"SELECT {likes} FROM (SELECT {long} AS x)",
                "SELECT length(randomblob(8000000)) FROM (" + ENDLESS.format("i") + ")",
                ENDLESS.format("i") + " ORDER BY 1",
            ):
                with self.subTest(sql[:40]):
                    began = time.monotonic()
                    found = []
                    thread = threading.Thread(target=lambda: found.append(ask(server, sql)))  # noqa: B023
                    thread.start()
                    slowest = 0
                    while thread.is_alive():
                        asked = time.monotonic()
                        server.get("growth")
                        server.get("run")
                        slowest = max(slowest, time.monotonic() - asked)
                        time.sleep(0.05)
                    thread.join()
                    if found[0][0] == 200:  # a machine fast enough to finish it
                        continue
                    self.assertRegex(found[0][1]["error"], "longer than 5 s|more memory")
                    self.assertLess(time.monotonic() - began, 12)
                    self.assertLess(slowest, 3)
            # While a query runs, drawing, details of records and the end of the server do not wait.
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            connection.request("GET", path_of(server, f"SELECT {likes} FROM (SELECT {long} AS x)"))
            time.sleep(0.5)
            began = time.monotonic()
            self.assertTrue(server.get("details", track=0, row=0, item=0)["sections"])
            self.assertLess(time.monotonic() - began, 3)
            connection.close()
            connection = http.client.HTTPConnection("127.0.0.1", server.port)
            connection.request("GET", path_of(server, f"SELECT {likes} FROM (SELECT {long} AS x)"))
            time.sleep(0.5)
            began = time.monotonic()
            self.assertEqual(server.end(), (0, ""))
            self.assertLess(time.monotonic() - began, 3)
            connection.close()

    @asan
    def test_a_question_has_limits_of_memory_and_functions(self):
        with serving(self.profiles["vector_add"]) as server:
            before = children(server.process.pid)
            many = ", ".join(["hex(zeroblob(4000000))"] * 150)  # 1.2 GB
            self.refused(server, f"SELECT {many}", "more memory|longer than 5 s")
            self.refused(server, "SELECT fts3_tokenizer('simple')", "not authorized")
            self.refused(server, "SELECT fts3_tokenizer('simple', x'4141414141414141')",
                         "not authorized")  # fmt: skip
            self.refused(server, "SELECT length(zeroblob(9000000))", "too big")
            self.assertEqual(self.rows(server, "SELECT 7"), [[7]])
            # The process of the last answer may still be ending.
            until = time.monotonic() + 10
            while set(children(server.process.pid)) > set(before) and time.monotonic() < until:
                time.sleep(0.05)
            self.assertLessEqual(set(children(server.process.pid)), set(before))

    def test_requests_behind_a_question_wait_for_it(self):
        with serving(self.profiles["vector_add"]) as server:
            connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=120)
            connection.connect()
            head = " HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            asked = [path_of(server, ENDLESS.format("i") + " LIMIT 300000, 1"), f"/{server.token}/api/growth",
                     path_of(server, "SELECT 7"), f"/{server.token}/palette.css"]  # fmt: skip
            text = "".join(f"GET {path}{head}\r\n" for path in asked[:-1])
            connection.sock.sendall(
                (text + f"GET {asked[-1]}{head}Connection: close\r\n\r\n").encode()
            )
            received = b""
            while more := connection.sock.recv(65536):
                received += more
            connection.close()
            places = [received.find(part) for part in
                      (b"[[300001]]", b'"grows"', b"[[7]]", b"color-scheme: light dark")]  # fmt: skip
            self.assertEqual(places, sorted(places))
            self.assertGreater(places[0], 0)
            self.assertEqual(received.count(b"HTTP/1.1 200 OK"), 4)

    @asan
    def test_hostile_files(self):
        forged = self.folder / "forged.db"
        shutil.copy(self.profiles["vector_add"], forged)
        with contextlib.closing(sqlite3.connect(forged)) as database:
            database.execute("CREATE VIEW big AS SELECT length(hex(zeroblob(1000))) AS n")
            database.execute("CREATE VIEW endless AS " + ENDLESS.format("i"))
            database.execute("CREATE TABLE odd(a)")
            database.executemany("INSERT INTO odd VALUES (?)",
                                 [("</script><img src=x onerror=alert(1)>",), ("\0\1\x1b[31m",), (b"\xff" * 3,)])  # fmt: skip
            database.execute("INSERT INTO odd VALUES (CAST(x'ff41fe' AS TEXT))")
            database.commit()
        before = digest(forged)
        with serving(forged) as server:
            self.refused(server, "SELECT * FROM big", "not authorized")
            self.refused(server, "SELECT * FROM endless", "only questions")
            self.assertEqual(
                self.rows(server, "SELECT a FROM odd"),
                [["</script><img src=x onerror=alert(1)>"], ["\0\1\x1b[31m"], [3], ["\ufffdA\ufffd"]],
            )  # fmt: skip
        self.assertEqual(digest(forged), before)
        forged.unlink()

    def test_damaged_and_growing_files(self):
        damaged = self.folder / "damaged.db"
        whole = self.profiles["torch_step"].read_bytes()
        damaged.write_bytes(whole[: len(whole) * 2 // 3])
        before = digest(damaged)
        with serving(damaged) as server:
            self.assertGreater(self.rows(server, "SELECT count(*) FROM StringTable")[0][0], 10)
            self.refused(server, "DELETE FROM RUN", "only questions")
            self.assertTrue(server.get("details", track=0, row=0, item=0)["sections"])
        self.assertEqual(digest(damaged), before)
        damaged.unlink()

        growing = Growing(self.profiles["streams_graph"], self.folder / "live.db")
        growing.hold_kernels()
        growing.add(0, 2)
        count = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL"
        with serving(growing.path, "--live", "--no-browser") as server:
            self.assertEqual(self.rows(server, count), [[2]])
            growing.add(2, 4)  # the current file, not the last reading
            self.assertEqual(self.rows(server, count), [[4]])
            # The writer is not held up during a query.
            thread = threading.Thread(target=ask, args=(server, ENDLESS.format("count(*)")))
            thread.start()
            time.sleep(0.3)
            began = time.monotonic()
            growing.add(4, 6)
            self.assertLess(time.monotonic() - began, 3)
            self.assertEqual(self.rows(server, count), [[6]])
            thread.join()
            growing.end()
            self.assertEqual(self.rows(server, count), [[6]])
        growing.path.unlink()


if __name__ == "__main__":
    unittest.main()
