# ctest-cost: 10
"""gpuprof findings: each rule finds what was made for it, to the nanosecond, and nothing in its mended
twin; no rule claims what the account does not have; the SQL gives the number that is printed.
"""

import collections
import contextlib
import json
import random
import re
import shutil
import sqlite3
import subprocess
import unittest

from builds import asan, load_tests  # noqa: F401
from findings_made import CAPTURES, GPUPROF, KIND, SOURCE, US, FindingsTest, Made, gpuprof


class Profiles(FindingsTest):
    def test_all_captures(self):
        chance = random.Random(33)
        for capture in CAPTURES:
            path = self.replayed(capture)
            rows = self.account(path)
            length = sum(row["duration_ns"] for row in rows if row["device_id"] == 0)
            windows = [()]
            for _ in range(4 if length else 0):
                begin, end = sorted(chance.sample(range(length), 2))
                windows.append(("--from", f"{begin}ns", "--to", f"{end}ns"))
            for window in windows:
                with self.subTest(capture, window=window):
                    document = self.findings(path, *window, "--min", "0")
                    self.check_sql(path, document, *window)
                    self.check_sums(path, document)
                    self.check_simulated(document)

    def check_sums(self, path, document):
        if not document["devices"]:
            return
        begin, end = (document["window"][f"relative_{edge}_ns"] for edge in ("begin", "end"))
        rows = self.account(path, "--from", f"{begin}ns", "--to", f"{end}ns")
        with contextlib.closing(sqlite3.connect(path)) as database:
            names = {name: value for value, name in database.execute(
                "SELECT value, name FROM ENUM_NAME WHERE enum = 'CUpti_ActivityMemcpyKind'")}  # fmt: skip
        left = collections.Counter()
        for row in rows:
            part = f"copy {names[row['cause']]}" if row["class"] == "copy" else row["class"]
            left[row["device_id"], part] += row["duration_ns"]
        for device in document["devices"]:
            mine = {part: ns for (each, part), ns in left.items() if each == device["device_id"]}
            self.assertEqual(device["time_ns"], sum(mine.values()) - mine.get("before", 0) -
                             mine.get("after", 0))  # fmt: skip
        for finding in document["findings"]:
            self.assertEqual(finding["at_most_ns"],
                             sum(draw["duration_ns"] for draw in finding["draws"]))  # fmt: skip
            for draw in finding["draws"]:
                left[finding["device_id"], draw["part"]] -= draw["duration_ns"]
        self.assertGreaterEqual(min(left.values(), default=0), 0)

    def test_text(self):
        path = self.replayed("torch_step")
        text = gpuprof("findings", path).stdout
        document = self.findings(path)
        self.assertRegex(text, r"^NVIDIA H200 \(0\) is hardly used: of the 20\d")
        self.assertIn("2 steps are judged; --from 0 judges the whole run.", text)
        self.assertIn("There are only 2 steps.", text)
        numbered = re.findall(r"(?m)^(\d+)\. (.*)$", text)
        self.assertEqual([title for _, title in numbered],
                         [finding["title"] for finding in document["findings"]])  # fmt: skip
        self.assertEqual(text.count("for each of 2 steps"), len(numbered))
        for finding in document["findings"]:
            self.assertIn(f"--explain {finding['rule']}\n", text)
            self.assertEqual(finding["at_most_ns_per_step"], finding["at_most_ns"] // 2)
        shares = [finding["share"] for finding in document["findings"]]
        self.assertEqual(shares, sorted(shares, reverse=True))
        self.assertGreaterEqual(shares[-1], 0.01)
        for line in text.splitlines():
            if "--explain" not in line:
                self.assertLessEqual(len(line), 100, line)
        few = gpuprof("findings", path, "--min", "50%").stdout
        self.assertIn(" of less than 50.00% ", few)
        self.assertNotIn("\n2. ", few)

    def test_steps(self):
        """Without a window the steps are judged, without the first of three or more."""
        made = Made(self.replayed("vector_add"), self.folder)
        for step in range(5):
            begin = 1000 * step + 100
            made.kernel(begin + 100, begin + 200, launched=(begin + 90, begin + 95))
            made.call("cudaMalloc", begin + 205, begin + (905 if step == 0 else 255))
            made.kernel(begin + 910, begin + 950, launched=(begin + 906, begin + 908))
            made.step(begin, begin + 960, f"step {step}")
        path = made.finish()
        document = self.findings(path)
        self.assertEqual(document["steps"], 3)
        self.assertEqual(document["window"], {"relative_begin_ns": 1100 * US,
                                              "relative_end_ns": 4100 * US, "of_steps": True})  # fmt: skip
        self.assertEqual(document["doubts"], [])
        found = {each["rule"]: each for each in document["findings"]}
        self.assertEqual(found["allocations"]["at_most_ns"], 3 * 50 * US)
        self.assertEqual(found["allocations"]["at_most_ns_per_step"], 50 * US)
        self.check_sql(path, document)
        text = gpuprof("findings", path).stdout
        self.assertIn("3 steps are judged, without the first; --from 0 judges the whole run.", text)
        whole = self.findings(path, "--from", "0")
        (malloc,) = [each for each in whole["findings"] if each["rule"] == "allocations"]
        self.assertEqual(malloc["at_most_ns"], (700 + 4 * 50) * US)
        self.assertEqual((whole["steps"], whole["window"]["of_steps"]), (5, False))
        one = gpuprof("findings", path, "--nvtx", "step 2").stdout
        self.assertIn("--from 'nvtx:step 2' --to 'nvtx:step 2' --explain allocations\n", one)
        self.assertIn("There is only 1 step.", one)

    def test_steps_that_have_no_names(self):
        """They are what the launches repeat; where these repeat nothing, the run is judged."""
        chance = random.Random(3)
        for repeats in (True, False):
            made = Made(self.replayed("vector_add"), self.folder)
            names = [made.string(f"kernel_{i}") for i in range(12)]
            for step in range(9):
                its = names if repeats else chance.choices(names, k=12)
                # The first two steps take longer.
                wait = 400 if step == 0 else 90 if step == 1 else 0
                for i, name in enumerate(its):
                    begin = 500 + 1000 * step + 20 * i + (wait if i > 6 else 0)
                    made.kernel(begin, begin + 5, launched=(begin - 8, begin - 4))
                    made.database.execute(f"UPDATE {KIND}CONCURRENT_KERNEL SET name = ?1 WHERE _id_ = "
                                          f"(SELECT max(_id_) FROM {KIND}CONCURRENT_KERNEL)", (name,))  # fmt: skip
            path = made.finish()
            with contextlib.closing(sqlite3.connect(path)) as database:
                steps = database.execute("SELECT name, start - (SELECT value FROM RUN WHERE key = 'zero_ns'), kernels, "
                                         "gpu_busy_ms FROM steps ORDER BY start").fetchall()  # fmt: skip
            document = self.findings(path)
            if not repeats:
                self.assertEqual((steps, document["window"]["of_steps"]), ([], False))
                continue
            self.assertEqual(steps, [("period of 12 launches, 100.0 % alike",
                                      (500 + 1000 * step) * US, 12, 0.06) for step in range(8)])  # fmt: skip
            self.assertEqual((document["window"], document["steps"]),
                             ({"relative_begin_ns": 1500 * US, "relative_end_ns": 7500 * US,
                               "of_steps": True}, 6))  # fmt: skip

    def test_markdown(self):
        text = gpuprof("findings", self.replayed("torch_step"), "--markdown").stdout
        document = self.findings(self.replayed("torch_step"))
        titles = re.findall(r"(?m)^### \d+\. (.*)$", text)
        self.assertEqual(titles, [finding["title"] for finding in document["findings"]])
        self.assertIn("([more](https://", text)

    def packet(self, path, *options):
        ran = gpuprof("findings", path, "--packet", *options)
        self.assertIn(ran.returncode, (0, 20), ran.stderr)
        self.assertLessEqual(len(ran.stdout.encode()), 4096)
        self.assertTrue(ran.stdout.isascii())
        return json.loads(ran.stdout)

    def test_packet(self):
        for capture in CAPTURES:
            with self.subTest(capture):
                path = self.replayed(capture)
                packet, document = self.packet(path), self.findings(path)
                self.assertEqual(packet["version"], 1)
                self.assertEqual([each["rule"] for each in packet["findings"]],
                                 [each["rule"] for each in document["findings"]][:3])  # fmt: skip
                self.assertEqual(packet["all_findings"], len(document["findings"]))
                self.assertEqual(packet["doubts"], document["doubts"])
                for short, finding in zip(packet["findings"], document["findings"]):
                    for name in ("title", "at_most_ns", "simulated_ns", "share", "confidence"):
                        self.assertEqual(short[name], finding[name])
                if not document["devices"]:
                    self.assertIsNone(packet["device"])
                    continue
                device = packet["device"]
                self.assertEqual(sum(each["duration_ns"] for each in device["account"]),
                                 device["time_ns"])  # fmt: skip
                self.assertIn(packet["verdict"], " ".join(gpuprof("findings", path).stdout.split()))
        path = self.replayed("torch_step")
        packet = self.packet(path)
        self.assertEqual(packet["next"], f"gpuprof findings {path} --explain module_loading")
        self.assertEqual(packet["findings"][0]["fix"],
                         "Run one step before what is measured or served.")  # fmt: skip
        few = self.packet(path, "--min", "50%", "--from", "0")
        self.assertEqual(few["next"], f"gpuprof findings {path} --from 0 --explain host_away")
        self.assertEqual((few["window"]["steps"], few["all_findings"]), (None, 1))

    def test_rules_are_listed_and_described(self):
        listed = gpuprof("findings").stdout
        document = self.findings(self.replayed("vector_add"))
        ids = [rule["rule"] for rule in document["rules"]]
        texts = re.split(r"(?m)\n(?=^\w+: )(?=" + "|".join(ids) + ")",
                         "\n" + gpuprof("findings", "--explain", "all").stdout)[1:]  # fmt: skip
        self.assertEqual(
            texts[3].rstrip(), gpuprof("findings", "--explain", ids[3]).stdout.rstrip()
        )
        pages = dict(zip(ids, texts, strict=True))
        for rule, page in pages.items():
            self.assertRegex(listed, rf"(?m)^{rule} +\S")
            self.assertTrue(page.startswith(rule + ": "), page)
            for word in ("Counts:", "Saves:", "Confidence:", "Fix:", "https://", "Mistaken:"):
                self.assertIn(word, page)
        files = {path.stem for path in (SOURCE / "libprof/conclude/findings/rules").glob("*.cpp")}
        self.assertEqual(files, set(ids))
        docs = (SOURCE / "docs/findings.md").read_text(encoding="utf-8")
        self.assertEqual(re.findall(r"(?m)^\| `(\w+)` \| (.*?) \|", docs),
                         re.findall(r"(?m)^(\w+)  +(.*)$", listed))  # fmt: skip
        for rule, share, confidence in re.findall(
            r"(?m)^\| `(\w+)` .* \| (\d+) % \| (\w+) \|$", docs
        ):
            self.assertIn(f"\nFinding:    From {share}.00% of the time", pages[rule])
            self.assertIn(f"\nConfidence: {confidence}. ", pages[rule])

    def test_a_rule_and_what_it_found(self):
        path = self.replayed("torch_step")
        documents = [
            self.findings(path, "--min", "0", "--explain", rule)
            for rule in ("all", "short_kernels")
        ]
        (alone,) = documents[1]["rules"]
        self.assertIn(alone, documents[0]["rules"])
        text = gpuprof("findings", path, "--explain", "short_kernels").stdout
        self.assertTrue(text.endswith("\n\n" + alone["sql"]), text)
        self.assertIn(text.rstrip(), gpuprof("findings", path, "--explain", "all").stdout)

    def test_rules_without_their_records_abstain(self):
        """A file of nvprof has no names of functions and nothing that gpuprof computes."""
        old = self.folder / "old.sqlite"
        case = json.loads((SOURCE / "tests/golden/nvprof/basic.json").read_text(encoding="utf-8"))
        with contextlib.closing(sqlite3.connect(old)) as database:
            database.executescript(case["database_sql"])
        document = self.findings(old)
        abstaining = {rule["rule"] for rule in document["rules"] if rule["abstains"]}
        self.assertEqual(abstaining, {
            "allocations", "module_loading", "loading_in_launches", "blocking_waits", "launch_bound",
            "host_away", "slow_copies", "throttled_clock", "page_migrations", "partial_waves",
            "low_occupancy", "scattered_accesses", "bank_conflicts", "memory_stalls", "barrier_stalls",
            "uneven_launches", "small_graphs", "late_ranks", "idle_multiprocessors", "missing_warps",
            "divergent_warps", "latency_bound", "idle_tensor_cores", "narrow_accesses",
            "shared_memory_stalls", "branch_stalls", "instruction_stalls", "draining_stores",
            "busy_pipes", "fixed_latencies", "short_kernels", "pool_growth", "slow_steps",
            "waiting_work", "sampled_multiprocessors", "local_traffic", "many_atomics", "busy_memory",
            "busy_caches", "idle_units"})  # fmt: skip
        self.assertNotEqual(document["findings"], [])
        self.check_sql(old, document)
        text = gpuprof("findings", old).stdout
        self.assertIn(
            "\nNot judged:\n  allocations, pool_growth, module_loading, small_graphs: ", text
        )

    def test_without_calls(self):
        made = Made(self.replayed("vector_add"), self.folder)
        made.kernel(100, 200)
        made.kernel(700, 800)
        path = made.finish()
        document = self.findings(path)
        self.assertEqual(document["findings"], [])
        reasons = {rule["rule"]: rule["abstains"] for rule in document["rules"]}
        for rule in ("host_away", "launch_bound", "blocking_waits", "allocations"):
            self.assertIn("Calls of CUDA are not in the file", reasons[rule])
        text = gpuprof("findings", path).stdout
        self.assertIn("No findings: no rule found much that could be saved.", text)

    def test_before_the_run_is_over(self):
        path = self.folder / "growing.sqlite"
        shutil.copyfile(self.replayed("vector_add"), path)
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            for table in ("DEVICE_TIME", "GPU_GAP", "LAUNCH_SHAPE"):
                database.execute(f"DELETE FROM {table}")
        document = self.findings(path)
        reasons = {rule["rule"]: rule["abstains"] for rule in document["rules"]}
        for rule in ("host_away", "launch_bound", "blocking_waits", "low_occupancy"):
            self.assertIn("when a run is over", reasons[rule])
        self.assertIn("pageable_copies", {finding["rule"] for finding in document["findings"]})

    def test_losses_lower_the_confidence(self):
        made = Made(self.replayed("vector_add"), self.folder)
        self.in_a_gap("cudaMalloc", "runtime")(made, False)
        path = made.finish()
        (before,) = [
            each for each in self.findings(path)["findings"] if each["rule"] == "allocations"
        ]
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            database.execute("UPDATE STATISTIC SET value = 3, severity = 'data_loss' "
                             "WHERE name = (SELECT min(name) FROM STATISTIC)")  # fmt: skip
        document = self.findings(path)
        (after,) = [each for each in document["findings"] if each["rule"] == "allocations"]
        self.assertEqual((before["confidence"], after["confidence"]), ("high", "medium"))
        self.assertEqual(len(document["doubts"]), 1)

    def test_a_run_without_work(self):
        empty = self.folder / "empty.sqlite"
        subprocess.run([GPUPROF, "-q", "-f", "-o", empty, "true"], check=True)
        for options in ((), ("--markdown",)):
            ran = gpuprof("findings", empty, *options)
            self.assertEqual((ran.returncode, ran.stdout),
                             (0, "No GPU work has times there: there is nothing to find.\n"))  # fmt: skip
        document = self.findings(empty)
        self.assertEqual((document["devices"], document["findings"]), ([], []))

    def test_wrong_words(self):
        path = self.replayed("vector_add")
        for words in (["--json", "--markdown"], ["--json", "--packet"],
                      ["--packet", "--explain", "spills"], ["--min", "x"], ["--min", "101%"], ["--min", "nan"],
                      ["--explain", "spils"], ["--explain", "x" * 99], ["--from", "x"],
                      ["--nvtx", "nothing has this name"]):  # fmt: skip
            ran = gpuprof("findings", path, *words)
            self.assertNotEqual(ran.returncode, 0, words)
            self.assertEqual(ran.stdout, "")
            self.assertIn("gpuprof: ", ran.stderr)
        self.assertIn(
            "did you mean spills?", gpuprof("findings", path, "--explain", "spils").stderr
        )


@asan
class ForgedProfiles(FindingsTest):
    NAMES = ("\x1b[2J\x07", "`](j:x)<b>|", "'); DROP", "\u202ex\x00y")

    def check(self, path):
        for options in ((), ("--markdown",), ("--json",), ("--explain", "spills"),
                        ("--explain", "pageable_copies"), ("--explain", "blocking_waits"),
                        ("--explain", "allocations", "--json")):  # fmt: skip
            ran = gpuprof("findings", path, "--min", "0", *options)
            self.assertIn(ran.returncode, (0, 20), ran.stderr)
            self.assertNotRegex(ran.stdout + ran.stderr, r"[\x00-\x09\x0b-\x1f\x7f-\x9f\u202e]")
            if "--json" in options:
                json.loads(ran.stdout)
        document = self.findings(path, "--min", "0")
        for finding in document["findings"]:
            time = next(each["time_ns"] for each in document["devices"]
                        if each["device_id"] == finding["device_id"])  # fmt: skip
            self.assertLessEqual(finding["at_most_ns"], time)
            self.assertGreater(finding["at_most_ns"], 0)
        return document

    def changed(self, capture, sql, *values):
        path = self.folder / "changed.sqlite"
        shutil.copyfile(self.replayed(capture), path)
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            for statement in sql.split(";"):
                database.execute(statement, values if "?" in statement else ())
        return path

    def test_names(self):
        made = Made(self.replayed("vector_add"), self.folder)
        made.kernel(100, 200, launched=(90, 95), localMemoryPerThread=9)
        made.call("cudaMalloc", 205, 285)
        made.kernel(290, 400, launched=(286, 288), gridX=1)
        path = made.finish()
        # Whatever is shown has each of them: names of kernels are cut after some forty characters.
        with contextlib.closing(sqlite3.connect(path)) as database, database:
            for table, column in (("StringTable", "value"), ("StringTable", "demangled"),
                                  ("StringTable", "short"), ("ENUM_NAME", "name")):  # fmt: skip
                database.execute(f"UPDATE {table} SET {column} = ?", ("".join(self.NAMES),))
            database.execute("UPDATE API_NAME SET name = 'cudaMalloc' || ?", ("".join(self.NAMES),))
        document = self.check(path)
        self.assertLessEqual({"spills", "small_grids", "allocations"},
                             {finding["rule"] for finding in document["findings"]})  # fmt: skip

    def test_packet_of_long_names(self):
        # Five times as long as the packet.
        long = ("n" * 20_000, "\x1b" * 20_000, "\u202e" * 20_000, "\\" * 20_000)
        for names in (long[:2], long[2:]):  # of every other row
            with self.subTest(names[0][:1]):
                made = Made(self.replayed("vector_add"), self.folder)
                made.kernel(100, 200, launched=(90, 95))
                made.call("cudaMalloc", 205, 285)
                made.kernel(290, 400, launched=(286, 288), localMemoryPerThread=9)
                made.kernel(500, 600, launched=(486, 488), gridX=1)
                for i in range(20):
                    made.copy(600 + i, 601 + i, kind=30 + i)
                path = made.finish()
                with contextlib.closing(sqlite3.connect(path)) as database, database:
                    for column in ("value", "demangled", "short"):
                        database.execute(
                            f"UPDATE StringTable SET {column} = iif(rowid % 2, ?, ?)", names
                        )
                    database.execute("UPDATE API_NAME SET name = 'cudaMalloc' || ?", (names[0],))
                    # No two parts of the account are alike.
                    database.execute(f"UPDATE {KIND}MEMCPY SET copyKind = 1000000000 + _id_")
                longer = self.folder / ("f" * 200 + ".sqlite")
                path.rename(longer)
                packet = Profiles.packet(self, longer)
                self.assertEqual(len(packet["findings"]), 3)
                self.assertNotIn("f" * 200, packet["next"])
                self.assertEqual(sum(each["duration_ns"] for each in packet["device"]["account"]),
                                 packet["device"]["time_ns"])  # fmt: skip

    def test_numbers(self):
        values = (
            "NULL",
            "'a text'",
            "x'00ff'",
            "-1",
            "0.5",
            "1e300",
            str(2**63 - 1),
            str(-(2**63)),
            "''",
        )
        columns = {
            "CONCURRENT_KERNEL": ("start", "[end]", "gridX", "localMemoryPerThread", "name", "deviceId",
                                  "correlationId"),
            "MEMCPY": ("start", "[end]", "bytes", "copyKind", "srcKind", "flags", "deviceId"),
            "SYNCHRONIZATION": ("start", "[end]", "correlationId", "type"),
            "RUNTIME": ("start", "[end]", "cbid", "correlationId", "processId"),
            "DEVICE": ("numMultiprocessors", "id"),
        }  # fmt: skip
        own = {"GPU_GAP": ("start", "stop", "noCallTime", "deviceId", "correlationId", "nameBehind"),
               "LAUNCH_SHAPE": ("occupancy", "waves"), "STEP": ("start", "processId"),
               "KERNEL_TIME": ("count", "timed")}  # fmt: skip
        all_columns = [(KIND + table, name) for table, names in columns.items() for name in names]
        all_columns += [(table, name) for table, names in own.items() for name in names]
        # One column of each table at a time.
        chance = random.Random(34)
        for _ in range(12):
            with self.subTest():
                statements = []
                for table in sorted({table for table, _ in all_columns}):
                    column = chance.choice([name for other, name in all_columns if other == table])
                    some = "" if table in ("LAUNCH_SHAPE", "KERNEL_TIME") else " WHERE rowid % 2"
                    statements.append(
                        f"UPDATE {table} SET {column} = {chance.choice(values)}{some}"
                    )
                path = self.changed("torch_step", ";".join(statements))
                document = self.findings(path, "--min", "0")
                for device in document["devices"]:
                    taken = sum(finding["at_most_ns"] for finding in document["findings"]
                                if finding["device_id"] == device["device_id"])  # fmt: skip
                    self.assertLessEqual(taken, device["time_ns"], statements)

    def test_other_tables_in_their_place(self):
        tables = ("GPU_GAP", "API_NAME", "LAUNCH_SHAPE", "ENUM_NAME", "STEP", "KERNEL_TIME",
                  KIND + "MEMCPY", KIND + "DEVICE", "losses", "blocking_calls", "api_calls")  # fmt: skip
        for other in ("CREATE TABLE {table}(other)",
                      "CREATE VIEW {table} AS SELECT randomblob(9) AS other",
                      "CREATE TABLE {table}(other); INSERT INTO {table} VALUES('x')"):  # fmt: skip
            for first in range(3):  # a third of them at a time, so that no loss hides all others
                with self.subTest(other, first=first):
                    sql = [f"DROP {'VIEW' if table[0].islower() else 'TABLE'} {table};"
                           + other.format(table=table) for table in tables[first::3]]  # fmt: skip
                    ran = gpuprof("findings", self.changed("torch_step", ";".join(sql)))
                    self.assertIn(ran.returncode, (0, 20), ran.stderr)


if __name__ == "__main__":
    unittest.main()
