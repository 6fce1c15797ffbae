"""gpuprof view: what is said of a record is what SQL finds, also of forged files."""

import json
import pathlib
import shutil
import sqlite3
import subprocess
import tarfile
import tempfile
import unittest

from test_view import GPUPROF, SOURCE, serving


def records(server, kinds):
    """Place and answer of each record in tracks of these kinds."""
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
                answer["facts"] = dict(answer["told"][""])
                yield answer
                item += 1


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class Details(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = pathlib.Path(tempfile.mkdtemp(prefix="view-details-"))
        cls.addClassCleanup(shutil.rmtree, cls.folder)
        for archive in sorted((SOURCE / "tests/captures").glob("*.tar.xz")):
            with tarfile.open(archive) as packed:
                packed.extractall(cls.folder, filter="data")

    def profile(self, name):
        """A fresh one: tests may change it."""
        capture = self.folder / f"{name}.gpcap"
        if not capture.exists():
            capture = SOURCE / "tests/captures" / capture.name
        path = pathlib.Path(tempfile.mkdtemp(dir=self.folder)) / f"{name}.sqlite"
        subprocess.run([GPUPROF, "replay", "-q", "-o", path, capture], check=True)
        return path

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
        return [answer for answer in self.all(path) if "gridX" in answer["facts"]]


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
                    each for each in records(server, ("stream",)) if "gridX" in each["facts"]
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

    def test_forged(self):
        for sql, expected in (
            # A function that calls itself without end, and frames that are there many times.
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
        """Against (place, samples) of all lines and {place: {reason: samples}}."""
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


if __name__ == "__main__":
    unittest.main()
