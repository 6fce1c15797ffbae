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


if __name__ == "__main__":
    unittest.main()
