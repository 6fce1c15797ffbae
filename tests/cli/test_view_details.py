# ctest-cost: 60
"""gpuprof view: the details of a record match SQL, also for forged files."""

import collections
import contextlib
import json
import pathlib
import re
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
import unittest

from builds import asan, load_tests  # noqa: F401
from test_view import GPUPROF, SOURCE, facts, serving

# For memory errors a sample of the records is enough: with ASan each takes long.
STEP = 5


def records(server, kinds, step=1):
    """Place and answer of each record in tracks of these kinds, or of one in every `step`."""
    for number, track in enumerate(server.get("run")["tracks"]):
        if track["kind"] not in kinds:
            continue
        for row in range(track["rows"]):
            item = 0
            while True:
                place = f"track={number}&row={row}&item={item}"
                status, body, _ = server.ask(f"/{server.token}/api/details?{place}")
                if status == 404:
                    break
                if status != 200:
                    raise AssertionError(f"{place}: {status} {body[:500]}")
                answer = json.loads(body)
                answer["told"] = {each["title"]: each["rows"] for each in answer["sections"]}
                answer["facts"] = dict(answer["told"][""] + answer["told"].get("All columns", []))
                yield answer
                item += step


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Details(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="view-details-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for archive in sorted((SOURCE / "tests/captures").glob("*.tar.xz")):
            with tarfile.open(archive) as packed:
                packed.extractall(cls.folder)

    def profile(self, name):
        """A fresh copy, which tests may change."""
        capture = self.folder / f"{name}.gpcap"
        if not capture.exists():
            capture = SOURCE / "tests/captures" / capture.name
        made = self.folder / f"{name}.sqlite"
        if not made.exists():
            subprocess.run([GPUPROF, "replay", "-q", "-o", made, capture], check=True)
        return pathlib.Path(shutil.copy(made, tempfile.mkdtemp(dir=self.folder)))

    def change(self, path, sql):
        database = sqlite3.connect(path)
        database.executescript(sql)
        database.close()

    def ask(self, path, sql, *values):
        database = sqlite3.connect(path)
        found = database.execute(sql, values).fetchall()
        database.close()
        return found

    def all(self, path, *kinds):
        with serving(path, "--no-browser") as server:
            return list(records(server, kinds or ("stream",)))

    def kernels(self, path):
        return [answer for answer in self.all(path) if "grid" in answer["facts"]]


class Metrics(Details):
    def check(self, rows, expected):
        self.assertEqual([name for name, _ in rows], [name for name, _, _ in expected])
        for (name, text), (_, value, unit) in zip(rows, expected, strict=True):
            number, rest = text.rstrip("%").split(" ")[0], text.endswith("%")
            self.assertAlmostEqual(float(number), value, delta=1e-3 * abs(value) + 1e-6, msg=name)
            if unit == "%":
                self.assertTrue(rest, text)
            elif unit:
                self.assertTrue(text.endswith(f" {unit}"), text)

    def test_of_kernels_and_their_calls(self):
        path = self.profile("metrics")
        with_values = 0
        for answer in self.all(path, "stream", "api"):
            correlation = int(answer["facts"]["correlationId"])
            expected = self.ask(
                path, "SELECT metric, value, kernel_metrics.unit FROM kernel_metrics JOIN METRIC ON METRIC.name = metric"
                " WHERE correlation_id = ? ORDER BY METRIC._id_", correlation)  # fmt: skip
            self.check(answer["told"].get("Metrics", []), expected)
            with_values += len(expected) > 0
        self.assertGreaterEqual(with_values, 20)

    def test_a_file_with_nvprofs_tables_alone(self):
        path = self.profile("metrics")
        self.change(path, "DELETE FROM METRIC_RANGE")
        with_values = 0
        for answer in self.all(path):
            expected = self.ask(path, "SELECT id, hex(value) FROM CUPTI_ACTIVITY_KIND_METRIC WHERE correlationId = ?"
                                " ORDER BY id", int(answer["facts"]["correlationId"]))  # fmt: skip
            rows = answer["told"].get("Metrics", [])
            self.assertEqual([name for name, _ in rows], ["flop_count_sp", "ipc"][: len(expected)])
            if rows:
                count = int.from_bytes(bytes.fromhex(expected[0][1]), "little")
                self.assertEqual(int(rows[0][1]), count)
            with_values += len(expected) > 0
        self.assertEqual(with_values, 10)

    def test_why_some_are_missing(self):
        path = self.profile("metrics")
        self.change(
            path, "UPDATE METRIC_RANGE SET note = 'too <b>many</b> passes' WHERE ordinal = 1"
        )
        told = [answer["told"]["Metrics"][-1] for answer in self.kernels(path)]
        self.assertEqual(told[0], ["missing", "too <b>many</b> passes"])
        self.assertNotIn("missing", [name for name, _ in told[1:]])

    def test_of_each_instruction_by_launch(self):
        path = self.profile("instructions_by_launch")
        launches = 0
        for answer in self.all(path, "api"):
            expected = self.ask(path, "SELECT metric, sum(value) FROM sass_metrics JOIN SASS_METRIC USING(metric)"
                                " WHERE correlation_id = ? GROUP BY metric ORDER BY SASS_METRIC.id",
                                int(answer["facts"]["correlationId"]))  # fmt: skip
            rows = answer["told"].get("SASS metrics", [])
            self.assertEqual([(name, int(text)) for name, text in rows], expected)
            launches += len(expected) > 0
        self.assertGreaterEqual(launches, 3)

    @asan
    def test_forged(self):
        for sql, expected in (
            ("WITH RECURSIVE n(i) AS (SELECT 10 UNION ALL SELECT i + 1 FROM n WHERE i < 50000) "
             "INSERT INTO METRIC(_id_, name, unit) SELECT i, 'm' || i, '' FROM n; "
             "INSERT INTO METRIC_VALUE SELECT r._id_, m._id_, 1e300 FROM METRIC m, METRIC_RANGE r"
             " WHERE m._id_ >= 10 AND r._id_ = 1", ["m10", "and more"]),
            ("UPDATE METRIC SET name = printf('%.3000000c', 'x'), unit = name", ["xxx"]),
            ("UPDATE METRIC_VALUE SET value = 'a text'; UPDATE METRIC SET unit = x'ff', nvprofId = -1", ["ipc"]),
            ("UPDATE METRIC_VALUE SET value = 9e999; UPDATE METRIC SET isEvent = 'x'", ["ipc"]),
            ("DROP TABLE METRIC; CREATE TABLE METRIC(isEvent)", ["not read"]),
            ("DROP TABLE METRIC_VALUE; CREATE TABLE METRIC_VALUE(value)", ["not read"]),
            ("DROP TABLE METRIC_RANGE", ["flop_count_sp"]),
            ("DROP TABLE METRIC_RANGE; UPDATE CUPTI_ACTIVITY_KIND_METRIC SET value = 'x', id = 3e9", []),
        ):  # fmt: skip
            path = self.profile("metrics")
            self.change(path, sql)
            with self.subTest(sql), serving(path, "--no-browser") as server:
                answer = next(
                    each for each in records(server, ("stream",)) if "grid" in each["facts"]
                )
                told = answer["told"]
                text = json.dumps(told)
                for word in expected:
                    self.assertIn(word, text)
                self.assertLess(len(told.get("Metrics", [])), 203)
                self.assertLess(len(text), 1_000_000)
                self.assertEqual(server.end(), (0, ""))


class Stacks(Details):
    FRAMES = ("SELECT function, module, offset, line FROM call_stacks WHERE correlation_id = ?"
              " ORDER BY position LIMIT 100")  # fmt: skip

    def test_of_calls_for_memory(self):
        path = self.profile("stacks")
        calls = 0
        for answer in self.all(path, "api"):
            correlation = int(answer["facts"]["correlationId"])
            expected = self.ask(path, self.FRAMES, correlation)
            rows = answer["told"].get("Stack", [])
            self.assertEqual([place for _, place in rows],
                             [f"{module}+{offset:#x}" for _, module, offset, _ in expected])  # fmt: skip
            for (name, _), (function, *_) in zip(rows, expected, strict=True):
                if function is None:
                    self.assertEqual(name, "no symbol")
                elif function.startswith("_Z"):
                    self.assertIn("use(", name)
                else:
                    self.assertEqual(name, function)
            calls += len(rows) > 0
        self.assertGreater(calls, 90)

    def test_of_python_and_of_a_kernels_launch(self):
        path = self.profile("vector_add")
        [[launch, process]] = self.ask(path, "SELECT correlationId, processId"
                                       " FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL LIMIT 1")  # fmt: skip
        self.change(path, f"""
            INSERT INTO CALL_STACK(correlationId, stack, processId) VALUES({launch}, 7, {process});
            INSERT INTO STACK_ENTRY(stack, position, frame, processId)
              VALUES(7, 0, 9001, {process}), (7, 1, 9002, {process}), (7, 2, 9003, {process}), (7, 1, 1, 1);
            INSERT INTO STACK_FRAME(frame, module, offset, function, line, processId)
              VALUES(9001, '/src/train.py', NULL, 'Model.forward', 12, {process}),
                    (9002, NULL, 4096, NULL, NULL, {process})""")  # fmt: skip
        [answer] = [each for each in self.all(path)
                    if each["facts"]["correlationId"] == str(launch)]  # fmt: skip
        self.assertEqual(answer["told"]["Stack"], [["Model.forward", "/src/train.py:12"], ["no symbol", "0x1000"],
                                                   ["not known", "-"]])  # fmt: skip

    @asan
    def test_forged(self):
        for sql, expected in (
            # A function with endless recursion, and frames that occur many times.
            ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 100000) INSERT INTO"
             " STACK_ENTRY(stack, position, frame, processId) SELECT c.stack, 100 + i, 1, c.processId"
             " FROM n, (SELECT DISTINCT stack, processId FROM CALL_STACK) AS c;"
             "INSERT INTO STACK_FRAME(frame, module, offset, function, processId)"
             " SELECT f.frame, 'again', 0, 'again', f.processId FROM STACK_FRAME f, STACK_ENTRY LIMIT 300000", 100),
            ("UPDATE STACK_FRAME SET function = '_Z' || printf('%.2000000c', 'N'), module = x'00ff'", 7),
            ("UPDATE STACK_FRAME SET offset = 'x', function = 1e99", 7),
            ("UPDATE STACK_ENTRY SET position = NULL, frame = 'x'", 7),
            ("DELETE FROM STACK_FRAME", 7), ("DROP TABLE STACK_FRAME", 0), ("DROP TABLE STACK_ENTRY", 0),
            ("DROP TABLE CALL_STACK; CREATE TABLE CALL_STACK(stack)", 0),
        ):  # fmt: skip
            path = self.profile("stacks")
            [[most]] = self.ask(path, "SELECT max(position) + 1 FROM STACK_ENTRY")
            self.assertEqual(most, 7)
            self.change(path, sql)
            with self.subTest(sql), serving(path, "--no-browser") as server:
                answer = next(
                    each
                    for each in records(server, ("api",))
                    if each["facts"]["name"] == "cudaMalloc"
                )
                self.assertEqual(len(answer["told"].get("Stack", [])), expected)
                self.assertLess(len(json.dumps(answer)), 2_000_000)
                self.assertEqual(server.end(), (0, ""))


class HotLines(Details):
    TITLE = "Hot lines of all launches of this function"

    def check(self, rows, expected, reasons):
        """Compared with (place, samples) of all lines and {place: {reason: samples}}."""
        whole = sum(samples for _, samples in expected)
        shown = {place: text.split(", ") for place, text in rows if place}
        self.assertEqual(len(shown), min(10, len(expected)))
        least = sorted((samples for _, samples in expected), reverse=True)[len(shown) - 1]
        for place, samples in expected:
            if samples < least or place not in shown:
                self.assertLessEqual(samples, least)
                continue
            said = shown[place]
            self.assertEqual(said[0], f"{samples} samples")
            self.assertAlmostEqual(float(said[1].rstrip("%")), 100 * samples / whole, delta=0.01)
            stalls = {name: count for name, count in reasons[place].items() if name != "selected"}
            if stalls:
                self.assertEqual(stalls[said[2].removeprefix("mostly ")], max(stalls.values()))
            else:
                self.assertEqual(len(said), 2)

    def expected(self, path, name, place, rest=""):
        reasons = {}
        for where, reason, samples in self.ask(
            path, f"SELECT {place}, stall_reason, sum(samples) FROM pc_samples WHERE mangled_name = ? {rest}"
            " GROUP BY 1, 2", name):  # fmt: skip
            reasons.setdefault(where, {})[reason] = samples
        return [(where, sum(every.values())) for where, every in reasons.items()], reasons

    def test_with_lines_and_without(self):
        lines = "file || ':' || line"
        offsets = "printf('+0x%x', pc)"
        for sql, place in (
            ("", lines),
            ("DELETE FROM CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR", offsets),
        ):
            path = self.profile("pc_sampling")
            self.change(path, sql)
            kernels = self.kernels(path)
            self.assertEqual(len(kernels), 2)
            for answer in kernels:
                name = answer["facts"]["name"]  # the column
                rows = answer["told"][self.TITLE]
                self.check(rows, *self.expected(path, name, place))
                self.assertEqual(rows[-1][1].startswith("and "), place == offsets)
                samples = [int(text.split()[0]) for at, text in rows if at]
                self.assertEqual(samples, sorted(samples, reverse=True))

    def test_of_one_launch(self):
        path = self.profile("pc_sampling")
        self.change(path, "UPDATE CUPTI_ACTIVITY_KIND_PC_SAMPLING SET correlationId = (SELECT correlationId"
                    " FROM CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL WHERE name = 2) WHERE functionId ="
                    " (SELECT id FROM CUPTI_ACTIVITY_KIND_FUNCTION WHERE name = 2) AND _id_ % 2")  # fmt: skip
        titles = []
        for answer in self.kernels(path):
            [title] = [each for each in answer["told"] if each.startswith("Hot lines")]
            titles.append(title)
            name = answer["facts"]["name"]  # the column
            if title != self.TITLE:
                self.check(answer["told"][title], *self.expected(
                    path, name, "file || ':' || line", "AND correlation_id NOT NULL"))  # fmt: skip
        self.assertEqual(sorted(titles), [self.TITLE, "Hot lines of this launch"])

    def test_no_file_is_opened(self):
        path = self.profile("pc_sampling")
        secret = path.parent / "secret.cu"
        secret.write_text("precious\n" * 100)
        self.change(path, f"UPDATE StringTable SET value = '{secret}' WHERE value LIKE '%.cu'")
        for answer in self.kernels(path):
            self.assertIn("secret.cu:", json.dumps(answer))
            self.assertNotIn("precious", json.dumps(answer))

    @asan
    def test_forged(self):
        samples = "CUPTI_ACTIVITY_KIND_PC_SAMPLING"
        for sql in (
            f"UPDATE {samples} SET samples = {2**63 - 1}, latencySamples = -1",
            f"UPDATE {samples} SET samples = {2**63 - 1}",
            f"UPDATE {samples} SET samples = 'x', pcOffset = x'00', stallReasonId = 1e300",
            f"UPDATE {samples} SET sourceLocatorId = {-(2**63)}, pcOffset = {-(2**63)}",
            f"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000) INSERT INTO {samples}"
            "(sourceLocatorId, correlationId, functionId, latencySamples, samples, pcOffset, stallReasonId, deviceId,"
            f" processId) SELECT 0, 0, functionId, 0, 1, i, i, deviceId, processId FROM n, (SELECT * FROM {samples}"
            " LIMIT 1)",
            "UPDATE CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR SET id = 1, lineNumber = -5, fileName = -1",
            "UPDATE StringTable SET value = printf('%.3000000c', 'x') WHERE value LIKE '%.cu'",
            "DROP TABLE PC_STALL_REASON", "DROP TABLE CUPTI_ACTIVITY_KIND_FUNCTION",
            "DROP TABLE CUPTI_ACTIVITY_KIND_SOURCE_LOCATOR",
            f"DROP TABLE {samples}; CREATE TABLE {samples}(functionId, samples)",
        ):  # fmt: skip
            path = self.profile("pc_sampling")
            self.change(path, sql)
            with self.subTest(sql), serving(path, "--no-browser") as server:
                answers = list(records(server, ("stream",)))
                self.assertGreaterEqual(len(answers), 2)
                for answer in answers:
                    self.assertLess(len(answer["told"].get(self.TITLE, [])), 12)
                    self.assertLess(len(json.dumps(answer)), 1_000_000)
                self.assertEqual(server.end(), (0, ""))


PREFIX = "CUPTI_ACTIVITY_KIND_"
CALLS = "RUNTIME", "DRIVER", "INTERNAL_LAUNCH_API"
WORK = "KERNEL", "CONCURRENT_KERNEL", "MEMCPY", "MEMCPY2", "MEMSET", "GRAPH_TRACE", "MEM_DECOMPRESS"


def when(place):
    return place["begin"], place["end"]


class Links(Details):
    def times(self, path, kinds, columns):
        """Start, end and columns of all rows that have times, in order."""
        [[zero]] = self.ask(path, "SELECT value FROM RUN WHERE key = 'zero_ns'")
        return sorted(row for kind in kinds for row in self.ask(
            path, f'SELECT start - ?1, "end" - ?1, {columns} FROM {PREFIX}{kind}'
            ' WHERE start > 0 AND "end" >= start', zero))  # fmt: skip

    def expected(self, path):
        """For GPU work, from its times: its call, and what it waited for. For calls, by correlation id:
        their work."""
        calls, streams, waited, work = {}, {}, {}, {}
        for start, end, correlation in self.times(path, CALLS, "correlationId"):
            calls.setdefault(correlation, (start, end))
        for start, end, *stream, correlation in self.times(
            path, WORK, "deviceId, processId, contextId, streamId, correlationId"):  # fmt: skip
            if end == start:
                continue
            work.setdefault(correlation, []).append((start, end))
            before = max(
                (over, begin)
                for begin, over in [(-1, -1), *streams.get(tuple(stream), [])]
                if over <= start
            )
            streams.setdefault(tuple(stream), []).append((start, end))
            call = calls.get(correlation)
            reason = None
            if call:
                is_running = before[0] > call[0]
                reason = ("stream", before[::-1]) if is_running else ("launch", call)
            waited[(start, end, *stream)] = call, reason
        return waited, work

    def test_are_what_sql_finds(self):
        reasons, calls = [], 0
        every = "stream", "api", "range", "range_on_gpu", "synchronization"
        for name, kinds in (("vector_add", every), ("streams_graph", every), ("two_processes", every),
                            ("nvtx_threads", every), ("torch_step", every[:1])):  # fmt: skip
            path = self.profile(name)
            waited, work = self.expected(path)
            seen = 0
            with self.subTest(name), serving(path, "--no-browser") as server:
                for answer in records(server, kinds):
                    links, told = answer["links"], answer["facts"]
                    correlation = int(told.get("correlationId", 0))
                    if "streamId" in told and "cudaEventId" not in told:
                        seen += 1
                        columns = ("deviceId", "processId", "contextId", "streamId")
                        call, reason = waited[
                            when(answer["place"]) + tuple(int(told[key]) for key in columns)
                        ]
                        self.assertEqual(links["work"], [])
                        self.assertEqual(when(links["launch"]) if call else None, call)
                        if reason is None:
                            self.assertEqual(links["waited"], [])
                            continue
                        [[why, place]] = [(each["why"], each) for each in links["waited"]]
                        self.assertEqual((why, when(place)), reason)
                        reasons.append(why)
                        if seen > 100:
                            continue
                        launch = {key: links["launch"][key] for key in ("track", "row", "item")}
                        other = dict(facts(server, **launch))
                        self.assertEqual((other["correlationId"], other["name"]),
                                         (told["correlationId"], told["launched by"]))  # fmt: skip
                    elif "cbid" in told:
                        shown = [when(place) for place in links["work"]]
                        self.assertEqual(shown, work.get(correlation, [])[:100])
                        calls += len(shown) > 0
                        self.assertEqual((links["waited"], "launch" in links), ([], False))
                    else:
                        self.assertEqual(links, {"work": [], "waited": []})
            self.assertEqual(seen, len(waited))
        self.assertGreater(reasons.count("stream"), 100)
        self.assertGreater(reasons.count("launch"), 100)
        self.assertGreater(calls, 200)

    def with_event(self, name, kernel=5):
        """A kernel whose stream was told to wait for an event after other work of another stream."""
        path = self.profile(name)
        self.change(path, "".join(f"UPDATE {PREFIX}{kind} SET correlationId = 100 * correlationId;"
                                  for kind in (*CALLS, *WORK)))  # fmt: skip
        [[number, correlation, context, stream, process, start, call]] = self.ask(
            path, f"SELECT k._id_, k.correlationId, k.contextId, k.streamId, k.processId, k.start, r.start FROM"
            f" {PREFIX}CONCURRENT_KERNEL AS k JOIN {PREFIX}RUNTIME AS r USING(correlationId)"
            " ORDER BY k.start LIMIT 1 OFFSET ?", kernel)  # fmt: skip
        columns = [
            name for _, name, *_ in self.ask(path, f"PRAGMA table_info({PREFIX}CONCURRENT_KERNEL)")
        ]
        columns = ", ".join(
            f'"{name}"'
            for name in columns
            if name not in ("_id_", "start", "end", "correlationId", "streamId")
        )
        for before, begin, end in ((90, call - 3000, call - 2000), (80, call - 1000, call + 10),
                                   (50, call + 20, start)):  # fmt: skip
            self.change(path, f"INSERT INTO {PREFIX}CONCURRENT_KERNEL(start, \"end\", correlationId, streamId, {columns})"
                        f" SELECT {begin}, {end}, {correlation - before}, 99, {columns} FROM {PREFIX}CONCURRENT_KERNEL"
                        f" WHERE _id_ = {number}")  # fmt: skip
        for before, event in ((85, 7), (70, 7), (60, 8), (40, 7)):
            self.change(path, f"INSERT INTO {PREFIX}CUDA_EVENT(correlationId, contextId, streamId, eventId, processId)"
                        f" VALUES({correlation - before}, {context}, 99, {event}, {process})")  # fmt: skip
        self.change(path, f"INSERT INTO {PREFIX}SYNCHRONIZATION(type, start, \"end\", correlationId, contextId,"
                    f" streamId, cudaEventId, processId) VALUES(2, {call - 5}, {call - 4}, {correlation - 45},"
                    f" {context}, {stream}, 7, {process})")  # fmt: skip
        return path, correlation, call

    def waited(self, path, correlation):
        [answer] = [
            each
            for each in self.kernels(path)
            if each["facts"]["correlationId"] == str(correlation)
        ]
        return [
            (each["why"], each["end"])
            for each in answer["links"]["waited"]
            if each["why"] != "stream"
        ]

    def test_events(self):
        path, correlation, call = self.with_event("vector_add")
        [[zero]] = self.ask(path, "SELECT value FROM RUN WHERE key = 'zero_ns'")
        self.assertEqual(self.waited(path, correlation), [("event", call + 10 - zero)])
        # It was over before the call.
        self.change(
            path,
            f'UPDATE {PREFIX}CONCURRENT_KERNEL SET "end" = {call - 1} WHERE "end" = {call + 10}',
        )
        self.assertNotIn("event", [why for why, _ in self.waited(path, correlation)])
        for sql in (f"UPDATE {PREFIX}SYNCHRONIZATION SET streamId = 98",
                    f"UPDATE {PREFIX}SYNCHRONIZATION SET correlationId = {correlation + 1}",
                    f"DELETE FROM {PREFIX}CUDA_EVENT WHERE eventId = 7",
                    f"DROP TABLE {PREFIX}CUDA_EVENT"):  # fmt: skip
            path, correlation, _ = self.with_event("vector_add")
            self.change(path, sql)
            self.assertNotIn("event", [why for why, _ in self.waited(path, correlation)], sql)

    def test_of_a_stored_timeline(self):
        path = self.profile("streams_graph")
        links = [(answer["place"], answer["links"]) for answer in self.all(path, "stream", "api")]
        self.assertGreater(len(links), 300)
        subprocess.run(
            [GPUPROF, "finish", "--timeline", "always", path], check=True, capture_output=True
        )
        self.assertGreater(self.ask(path, "SELECT count(*) FROM TIMELINE_BLOCK")[0][0], 0)
        stored = [(answer["place"], answer["links"]) for answer in self.all(path, "stream", "api")]
        # Names have different numbers.
        without = json.dumps([links, stored])
        self.assertEqual(*json.loads(re.sub(r'"name": \d+', '"name": 0', without)))

    def test_of_two_runs(self):
        paths = [self.profile("vector_add"), self.profile("streams_graph")]
        with serving(paths, "--no-browser") as server:
            for number, path in enumerate(paths):
                waited, _ = self.expected(path)
                run = server.get("run", run=number)
                track = next(i for i, each in enumerate(run["tracks"]) if each["kind"] == "stream")
                answer = server.get("details", track=track, row=0, item=1, run=number)
                [[call, _]] = [
                    found for key, found in waited.items() if key[:2] == when(answer["place"])
                ]
                self.assertEqual(when(answer["links"]["launch"]), call)

    @asan
    def test_forged(self):
        kernels, calls = f"{PREFIX}CONCURRENT_KERNEL", f"{PREFIX}RUNTIME"
        one_time = "; ".join(
            f'UPDATE {PREFIX}{kind} SET start = 5000, "end" = 5001' for kind in CALLS
        )
        for sql in (
            "; ".join(f"UPDATE {PREFIX}{kind} SET correlationId = 1" for kind in (*CALLS, *WORK)),
            f"UPDATE {kernels} SET correlationId = {-(2**63)}; UPDATE {calls} SET correlationId = {-(2**63)}",
            f"UPDATE {PREFIX}CUDA_EVENT SET correlationId = {-(2**63) + 5}; UPDATE {PREFIX}SYNCHRONIZATION SET"
            f" correlationId = {-(2**63) + 6}, type = 2, cudaEventId = 7; UPDATE {kernels} SET correlationId = 3",
            f"UPDATE {kernels} SET correlationId = 'x', streamId = x'00', contextId = 1e300",
            f"UPDATE {kernels} SET start = {2**63 - 3}, \"end\" = {2**63 - 2}",
            f"UPDATE {calls} SET start = {2**63 - 1}, \"end\" = 1",
            one_time,
            f"DROP TABLE {calls}; CREATE TABLE {calls}(_id_ INTEGER PRIMARY KEY, correlationId, cbid, start)",
            f"DROP TABLE {PREFIX}SYNCHRONIZATION; CREATE TABLE {PREFIX}SYNCHRONIZATION(correlationId)",
            f"DROP TABLE {PREFIX}CUDA_EVENT; CREATE VIEW {PREFIX}CUDA_EVENT AS SELECT 1 AS eventId",
        ):  # fmt: skip
            path, _, _ = self.with_event("vector_add")
            self.change(path, sql)
            with self.subTest(sql), serving(path, "--no-browser") as server:
                answers = list(records(server, ("stream", "api", "synchronization"), STEP))
                self.assertGreater(len(answers), 10)
                for answer in answers:
                    self.assertLessEqual(len(answer["links"]["work"]), 100)
                    for place in answer["links"]["work"][::STEP]:
                        server.get(
                            "details", **{key: place[key] for key in ("track", "row", "item")}
                        )
                self.assertEqual(server.end()[0], 0)

    def test_among_others_and_steady_steps(self):
        path = self.profile("torch_step")
        with contextlib.closing(sqlite3.connect(path)) as database:
            known = database.execute("SELECT count, median, p90 FROM KERNEL_TIME").fetchall()
            [[begin, zero]] = database.execute(
                "SELECT min(start), (SELECT CAST(value AS INTEGER) FROM RUN WHERE key = 'zero_ns') FROM kernels"
            )
            # A slow one before and after three steady ones.
            lengths, steps = (900, 10, 19, 11, 900, 10), []
            for length in lengths:
                steps.append((begin, begin + 1000 * length))
                begin = steps[-1][1] + 500
            database.execute("DELETE FROM STEP")
            database.executemany("INSERT INTO STEP (name, start, stop) VALUES (0, ?, ?)", steps)
            database.commit()
        with serving(path, "--no-browser") as server:
            view = server.get("run")["first_view"]
            self.assertEqual(view, {"from": steps[1][0] - zero, "to": steps[3][1] - zero})
            answers, lengths = list(records(server, ("stream",))), collections.defaultdict(list)
            for answer in answers:
                place = answer["place"]
                lengths[place["name"]].append(place["end"] - place["begin"])
            compared = 0
            for answer in answers:
                told, place = (
                    dict(answer["told"].get("Among all of this name", [])),
                    answer["place"],
                )
                all_of_it = sorted(lengths[place["name"]], reverse=True)
                self.assertEqual(bool(told), len(all_of_it) > 1)
                if not told:
                    continue
                rank = all_of_it.index(place["end"] - place["begin"]) + 1
                self.assertEqual(told["rank"], f"{rank} of {len(all_of_it)}, the longest first")
                shown = []
                for key in ("median", "p90"):
                    number, unit = told[key].split()
                    shown.append(float(number) * {"ms": 1e6, "µs": 1e3, "ns": 1}[unit])
                if "grid" in answer["facts"]:  # a kernel
                    compared += 1
                    near = [
                        count == len(all_of_it)
                        and all(abs(one / other - 1) < 0.001 for one, other in zip(shown, stored))
                        for count, *stored in known
                    ]
                    self.assertTrue(any(near), told)
            self.assertGreater(compared, 0)


if __name__ == "__main__":
    unittest.main()
