"""Captures with metrics: into one database and into one for each process, and reports of them.

GPUPROF is the path of the gpuprof binary.
"""
# ctest-labels: plain

import contextlib
import os
import pathlib
import sqlite3
import struct
import subprocess
import tempfile
import unittest

GPUPROF = os.environ.get("GPUPROF")

HELLO, TABLE, BATCH, COUNTER_DATA, METRICS, ROWS = 1, 6, 8, 14, 15, 20
RUN_STREAM = 0xFFFFFFFF
U32, U64, F64, STRING, BLOB, TEXT = 6, 8, 9, 10, 11, 13


def text(value):
    return struct.pack("<I", len(value)) + value.encode()


def listed(values, pack):
    return struct.pack("<I", len(values)) + b"".join(map(pack, values))


def numbers(*values):
    return listed(values, lambda value: struct.pack("<I", value))


def frame(kind, stream, payload):
    return struct.pack("<IIQ", kind, stream, len(payload)) + payload


def hello(stream, process):
    fields = {"process_id": str(process), "command_line": "app"}
    return frame(
        HELLO,
        stream,
        struct.pack("<I", 1)
        + listed(fields.items(), lambda field: text(field[0]) + text(field[1])),
    )


def definition(number, name, columns):
    """Columns are name, type, role, width."""
    return (
        struct.pack("<I", number)
        + text(name)
        + text("")
        + listed(
            columns,
            lambda column: text(column[0]) + struct.pack("<BBHB", *column[1:], 1) + text(""),
        )
    )


def batch(*blocks):
    """A batch of blocks with one row each: pairs of the table's number and the row's bytes."""
    packed = struct.pack("<IIII", 0xFFFFFFFF, 0, len(blocks), 0)
    for block, data in blocks:
        packed += struct.pack("<IIQ", block, 1, len(data)) + data
    return packed


def kernel(stream):
    """A kernel with correlation id 5, from 100 to 150."""
    columns = [
        ("start", U64, 0, 8),
        ("end", U64, 0, 8),
        ("correlationId", U32, 1, 4),
        ("name", STRING, 0, 4),
    ]
    table = definition(10, "CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL", columns)
    name = struct.pack("<I", 1) + text("_Z3addPf")
    row = struct.pack("<QQII", 100, 150, 5, 1)
    return frame(TABLE, stream, table) + frame(BATCH, stream, batch((0, name), (10, row)))


def measured():
    """The kernel as a range, and its name."""
    grid = (1, 1, 1, 32, 1, 1)
    return (
        struct.pack("<I", 1)
        + struct.pack("<QqqIII6IBBH", 1, 0, 0, 5, 1, 7, *grid, 0, 1, 0)
        + listed(["_Z3addPf"], text)
        + listed([], text)
    )


def metrics():
    described = [("achieved_occupancy", 2002), ("sm__cycles_active.avg", 0)]
    group = (
        struct.pack("<I", 1)
        + text("GH100")
        + text("application")
        + text("")
        + text("SM")
        + struct.pack("<Id", 1, 780.0)
        + numbers(1, 2)
        + listed(["sm__cycles_active.avg"], text)
    )
    return frame(
        METRICS,
        RUN_STREAM,
        listed(
            described,
            lambda metric: (
                text(metric[0])
                + text("")
                + text("")
                + text("")
                + struct.pack("<IBB", metric[1], 1, 0)
            ),
        )
        + struct.pack("<I", 1)
        + group,
    )


def values(stream, occupancy, cycles):
    """The kernel as the stream's only range, with the range's number."""
    sizes = [(name + axis, U32, 2, 4) for name in ("grid", "block") for axis in "XYZ"]
    ranges = definition(
        1,
        "METRIC_RANGE",
        [
            ("_id_", U64, 3, 8),
            ("correlationId", U32, 4, 4),
            ("kind", TEXT, 0, 4),
            ("name", STRING, 2, 4),
            *sizes,
            ("passGroup", U32, 0, 4),
        ],
    )
    value = [("range", U64, 0, 8), ("metric", U32, 0, 4), ("value", F64, 0, 8)]
    nvprofs = [("id", U32, 0, 4), ("value", BLOB, 0, 8), ("correlationId", U32, 4, 4)]
    tables = [
        ranges,
        definition(2, "METRIC_VALUE", value),
        definition(3, "CUPTI_ACTIVITY_KIND_METRIC", nvprofs),
    ]
    rows = batch(
        (0, struct.pack("<I", 1) + text("_Z3addPf")),
        (0xFFFFFFFF, struct.pack("<I", 1) + text("kernel")),
        (1, struct.pack("<QIII6II", stream, 5, 1, 1, 1, 1, 1, 32, 1, 1, 1)),
        (2, struct.pack("<QId", stream, 1, occupancy)),
        (2, struct.pack("<QId", stream, 2, cycles)),
        (3, struct.pack("<IdI", 2002, occupancy, 5)),
    )
    packed = listed(tables, lambda table: struct.pack("<I", len(table)) + table)
    return frame(ROWS, stream, packed + rows)


def counter_data(stream):
    return frame(
        COUNTER_DATA,
        stream,
        struct.pack("<IIIIQ", 1, 1, 0, 0, 0) + measured() + struct.pack("<Q", 1000) + bytes(1000),
    )


CAPTURE = (
    b"gpcap\r\n\x1a"
    + struct.pack("<I", 1)
    + hello(1, 100)
    + metrics()
    + hello(2, 200)
    + kernel(1)
    + kernel(2)
    + counter_data(1)
    + values(1, 0.25, 1000.0)
    + values(2, 0.75, 3000.0)
)


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class ReplayMetrics(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.capture = self.folder / "run.gpcap"
        self.capture.write_bytes(CAPTURE)

    def run_gpuprof(self, *arguments):
        ran = subprocess.run([GPUPROF, *arguments], capture_output=True, text=True, timeout=60)
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return ran.stdout + ran.stderr

    def query(self, file, sql):
        with contextlib.closing(sqlite3.connect(self.folder / file)) as connection:
            return connection.execute(sql).fetchall()

    def test_one_database(self):
        self.run_gpuprof("replay", "-q", self.capture, "-o", self.folder / "run.sqlite")
        self.assertEqual(
            self.query(
                "run.sqlite",
                "SELECT name, metric, avg(value), sum(duration) FROM kernel_metrics GROUP BY 1, 2",
            ),
            [
                ("add(float*)", "achieved_occupancy", 0.5, 100),
                ("add(float*)", "sm__cycles_active.avg", 2000.0, 100),
            ],
        )
        self.assertEqual(self.query("run.sqlite", "SELECT * FROM losses"), [])
        report = self.run_gpuprof("-i", self.folder / "run.sqlite", "--csv")
        self.assertIn(
            '"0","add(float*)",2,"achieved_occupancy","Achieved Occupancy",'
            "0.250000,0.750000,0.500000\n",
            report,
        )
        self.assertIn(
            '"0","add(float*)",2,"sm__cycles_active.avg","",1000.000000,3000.000000,2000.000000\n',
            report,
        )

    def test_a_database_for_each_process(self):
        self.run_gpuprof("replay", "-q", self.capture, "-o", self.folder / "run-%p.sqlite")
        for process, cycles in ((100, 1000.0), (200, 3000.0)):
            file = f"run-{process}.sqlite"
            self.assertEqual(
                self.query(
                    file,
                    "SELECT process_id, correlation_id, value, duration FROM "
                    "kernel_metrics WHERE metric = 'sm__cycles_active.avg'",
                ),
                [(process, 5, cycles, 50)],
            )
            self.assertEqual(
                self.query(file, "SELECT mode, metrics FROM METRIC_GROUP"),
                [("application", "achieved_occupancy, sm__cycles_active.avg")],
            )
            self.assertEqual(self.query(file, "SELECT * FROM losses"), [])


if __name__ == "__main__":
    unittest.main()
