"""Shared by tests of metrics: the stand-in's values, and the values in a database.

The formulas are those of tests/fake_cupti/cupti/metrics.cpp and, for nvprof's names, of
schema/nvprof_metrics.hpp.
"""

import collections
import math

from fake_run import FAKE, PREFIX, FakeTest

KERNEL_NS = 1000  # duration of each of the stand-in's kernels

# Time is not measured in the first run if there is another one: two groups, two runs.
ONE = "dram__bytes_read.sum"
TIME = "gpu__time_duration.sum"
TWO_GROUPS = f"{ONE},{TIME}"
# Needs three passes.
THROUGHPUT = "sm__throughput.avg.pct_of_peak_sustained_elapsed"


def per_cycle(total, chip, ns):
    return total / INSTANCES[chip] / ns


INSTANCES = {"FAKE1": 4, "FAKE2": 8}

# For a launch or range with these blocks, warps, threads and duration in ns.
VALUES = {
    "dram__bytes_read.sum": lambda c, w, t, ns, chip: 1024 * c,
    "dram__bytes_write.sum": lambda c, w, t, ns, chip: 512 * c,
    "dram_read_bytes": lambda c, w, t, ns, chip: 1024 * c,
    "sm__ctas_launched.sum": lambda c, w, t, ns, chip: c,
    "sm__warps_launched.sum": lambda c, w, t, ns, chip: w,
    "inst_executed": lambda c, w, t, ns, chip: 10 * w,
    "flop_count_sp": lambda c, w, t, ns, chip: (1 + 3 + 2 * 2) * t,
    "gpu__time_duration.sum": lambda c, w, t, ns, chip: ns,
    "achieved_occupancy": lambda c, w, t, ns, chip: per_cycle(128 * ns, chip, ns) / 64,
    "ipc": lambda c, w, t, ns, chip: per_cycle(10 * w, chip, ns),
    THROUGHPUT: lambda c, w, t, ns, chip: 62.5,
}


def expected(metric, launches, chip="FAKE1"):
    """`launches`: (grid, block) of each, with three numbers or their product."""
    blocks = warps = threads = 0
    for grid, block in launches:
        grid = grid if isinstance(grid, int) else math.prod(grid)
        block = block if isinstance(block, int) else math.prod(block)
        blocks += grid
        warps += grid * ((block + 31) // 32)
        threads += grid * block
    return VALUES[metric](blocks, warps, threads, KERNEL_NS * len(launches), chip)


Measured = collections.namedtuple(
    "Measured", "metric value correlation name grid block device context process note"
)


class MetricTest(FakeTest):
    def environment(self, more):
        # gpuprof's own probe finds the stand-in driver like the real one.
        return super().environment({"LD_LIBRARY_PATH": FAKE, **more})

    def measure(self, *target, metrics=TWO_GROUPS, options=(), check=0, **more):
        """A run and its database; `options` come before the metrics."""
        options = ["-f", *options, *(["--metrics", metrics] if metrics else [])]
        run = self.profile(*target, options=options, check=check, **more)
        return run, self.database()

    def kernels(self, database, where="1"):
        """(correlation, process) to mangled name, grid, block and device of kernels that were
        launched individually."""
        rows = database.rows(f"""
            SELECT k.correlationId, k.processId, s.value, gridX * gridY * gridZ,
                   blockX * blockY * blockZ, deviceId
            FROM {PREFIX}CONCURRENT_KERNEL AS k JOIN StringTable AS s ON s._id_ = k.name
            WHERE coalesce(graphNodeId, 0) = 0 AND {where}""")
        kernels = {(row[0], row[1]): row[2:] for row in rows}
        self.assertEqual(len(kernels), len(rows))
        return kernels

    def values(self, database, kind="kernel"):
        rows = database.rows(
            """
            SELECT m.name, v.value, r.correlationId, s.value, gridX * gridY * gridZ,
                   blockX * blockY * blockZ, r.deviceId, r.contextId, r.processId, r.note
            FROM METRIC_RANGE AS r JOIN METRIC_VALUE AS v ON v.range = r._id_
            JOIN METRIC AS m ON m._id_ = v.metric JOIN StringTable AS s ON s._id_ = r.name
            WHERE r.kind = ?""",
            kind,
        )
        return [Measured(*row) for row in rows]

    def assert_right(self, values, chips=("FAKE1",)):
        """All values of these kernels match the stand-in's formulas."""
        for one in values:
            chip = chips[min(one.device, len(chips) - 1)]
            right = expected(one.metric, [(one.grid, one.block)], chip)
            self.assertAlmostEqual(one.value, right, delta=1e-9 * abs(right), msg=one)

    def assert_measured(self, database, kernels, metrics, chips=("FAKE1",)):
        """These kernels, and no others, have each of the metrics once, with the right value."""
        values = self.values(database)
        self.assert_right(values, chips)
        found = collections.Counter((v.correlation, v.process, v.metric) for v in values)
        self.assertEqual(set(found.values()) - {1}, set())
        self.assertEqual(
            set(found), {(*key, metric) for key in kernels for metric in metrics.split(",")}
        )
        for one in values:
            name, grid, block, device = kernels[one.correlation, one.process]
            self.assertEqual(
                (name, grid, block, device), (one.name, one.grid, one.block, one.device)
            )

    def assert_all_measured(self, database, metrics=TWO_GROUPS, chips=("FAKE1",)):
        kernels = self.kernels(database)
        self.assert_measured(database, kernels, metrics, chips)
        self.assertEqual(
            database.count(
                "CONCURRENT_KERNEL WHERE name IN (SELECT _id_ FROM "
                "StringTable WHERE value LIKE '%WaitNs%')"
            ),
            0,
        )
        return kernels

    def gaps(self, database):
        """The number of ranges that lack values, by note."""
        return dict(database.rows("SELECT note, count(*) FROM metric_gaps GROUP BY 1"))

    def measured_names(self, database):
        """The number of ranges with values for each kernel."""
        return dict(
            database.rows("""
            SELECT s.value, count(*) FROM METRIC_RANGE AS r JOIN StringTable AS s ON s._id_ = r.name
            WHERE r._id_ IN (SELECT range FROM METRIC_VALUE) GROUP BY 1""")
        )

    def notices(self, run):
        """Lines on stderr other than those that a run with metrics always has."""
        usual = (" measurements of launches", "metrics: run ", " records of ")
        return [line for line in run.stderr.splitlines() if not any(u in line for u in usual)]
