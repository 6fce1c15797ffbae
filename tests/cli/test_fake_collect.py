# ctest-labels: tsan
"""What is collected: groups, windows, NVTX, correlation ids that wrap, older versions of CUPTI."""

import struct
import unittest

from fake_run import PREFIX, SANITIZED, FakeTest


class Selection(FakeTest):
    def rows_of(self, trace, *more):
        self.profile("hello", 10, options=["-f", "--trace", trace, *more], check=0)
        database = self.database()
        self.assertEqual(database.losses(), {})
        return {
            kind: count
            for kind in ("CONCURRENT_KERNEL", "KERNEL", "MEMCPY", "MEMSET", "RUNTIME", "DRIVER",
                         "MEMORY2", "SYNCHRONIZATION", "DEVICE", "CONTEXT", "STREAM", "MODULE")
            if (count := database.count(kind))
        }  # fmt: skip

    WHERE = {"DEVICE": 1, "CONTEXT": 1, "STREAM": 1}
    GPU = {"CONCURRENT_KERNEL": 23, "MEMCPY": 10, "MEMSET": 10}
    API = {"RUNTIME": 34, "DRIVER": 11}

    def test_groups(self):
        groups = {
            "memory": {"MEMORY2": 2},
            "nvtx": {},
            "-api": {**self.GPU, "MEMORY2": 2, "SYNCHRONIZATION": 1},
            "gpu": self.GPU,
            "api": self.API,
            "gpu,api": {**self.GPU, **self.API},
        }
        for trace in [*groups][:3] if SANITIZED else groups:
            self.assertEqual(self.rows_of(trace), {**self.WHERE, **groups[trace]}, trace)

    def test_gpu_alone_has_correlation_ids(self):
        self.profile("hello", 10, options=["--trace", "gpu"], check=0)
        database = self.database()
        self.assertEqual(database.count("CONCURRENT_KERNEL WHERE correlationId = 0"), 0)
        # One for each launch, one for the whole graph.
        self.assertEqual(
            database.one(f"SELECT count(DISTINCT correlationId) FROM {PREFIX}CONCURRENT_KERNEL"), 21
        )

    def test_one_kernel_at_a_time(self):
        rows = self.rows_of("gpu", "--concurrent-kernels", "off")
        self.assertEqual(rows, {**self.WHERE, "KERNEL": 23, "MEMCPY": 10, "MEMSET": 10})

    def test_one_kernel_at_a_time_and_graphs_as_a_whole(self):
        """CUPTI would not go back to one kernel at a time after the launch of a graph."""
        run = self.profile("graphs", 4, 3, check=0,
                           options=["--concurrent-kernels", "off", "--trace", "+graph,+host"])  # fmt: skip
        database = self.database()
        self.assertEqual(database.kernels(), {"eager": 4, "node": 12})
        self.assertEqual(database.losses(), {})
        self.assertRegex(
            run.stderr, "GRAPH_TRACE.* stay empty: .* while kernels run one at a time\n"
        )

    def test_windows(self):
        for target, *traces in ((["windows"], [], ["--trace", "gpu"]),
                                (["windows", "runtime"], ["--trace", "gpu"], [])):  # fmt: skip
            for options in traces[:1] if SANITIZED else traces:
                with self.subTest(target=target, options=options):
                    self.profile(
                        *target, options=["-f", "--profile-from-start", "off", *options], check=0
                    )
                    database = self.database()
                    self.assertEqual(database.kernels(), {"inside": 14})
                    self.assertEqual(database.losses(), {})
                    # The place where it ran is still known, and reported once.
                    self.assertEqual(database.count("CONTEXT"), 1)
                    self.assertEqual(database.count("DEVICE"), 1)
                    self.assertEqual(database.count("STREAM"), 1)
                    if not options:
                        self.assert_correlated(database)

    def test_windows_are_nothing_when_all_is_collected(self):
        self.profile("windows", check=0)
        # cuProfilerStop ends collecting until the next start, as with nvprof.
        kernels = self.database().kernels()
        self.assertEqual(kernels["inside"], 14)
        self.assertEqual(kernels["outside"], 5)

    def batches(self, period):
        """How often the buffers of a run were emptied."""
        capture = self.folder / f"{period}.gpcap"
        self.profile(
            "steady",
            0.3,
            check=5,
            options=["-f", "--flush-period", period, "--save-capture", capture],
        )
        self.assertEqual(self.database().losses(), {})
        marker, batch = bytes.fromhex("f56672616d70b79f"), struct.pack("<I", 8)
        return capture.read_bytes().count(marker + batch)

    def test_flush_period(self):
        self.assertGreater(self.batches(1), 2 * self.batches(60000))

    def test_contexts(self):
        self.profile("contexts", check=0)
        database = self.database()
        self.assertEqual(database.kernels(), {"first": 3, "second": 3, "third": 3})
        self.assertEqual(database.count("CONTEXT"), 2)

    def test_kernel_still_running_at_the_end(self):
        self.profile("late", "unfinished", check=0)
        database = self.database()
        self.assertEqual(database.kernels(), {"before": 10, "last": 1})
        self.assertEqual(database.count("CONCURRENT_KERNEL WHERE start = 0"), 0)
        self.assertEqual(database.losses(), {})
        self.assertEqual(database.count("SYNCHRONIZATION"), 0)

    def test_calls_after_the_exit_handlers(self):
        """The driver is gone by then. They still have records, which salvage finds."""
        self.profile("late", "static", check=0)
        database = self.database()
        self.assertEqual(database.kernels(), {"before": 10, "last": 1})
        self.assertEqual(
            database.rows("SELECT name, return_value, count(*) FROM api_calls GROUP BY 1, 2"),
            [("cudaLaunchKernel", 0, 11), ("cudaLaunchKernel", 4, 3)],
        )
        self.assertEqual(database.rows("SELECT goodbye, salvaged FROM PROCESS"), [(1, 1)])
        self.assertEqual(database.losses(), {})


class Nvtx(FakeTest):
    def ranges(self, when, n=10):
        self.profile("nvtx", when, n, check=0)
        database = self.database()
        self.assertEqual(
            database.rows("""SELECT s.value, r.depth, count(*), sum(r.stop >= r.start)
                             FROM NVTX_RANGE AS r JOIN StringTable AS s ON s._id_ = r.name
                             GROUP BY 1, 2 ORDER BY 1"""),
            [("inner", 1, n, n), ("outer", 0, n, n)],
        )
        self.assertEqual(database.count("MARKER"), 5 * n)
        self.assertEqual(database.count("MARKER_DATA"), 3 * n)
        self.assertEqual(
            database.rows(f"SELECT DISTINCT color, payloadInt, category FROM {PREFIX}MARKER_DATA"),
            [(0xFF00FF00, 7, 2)],
        )
        self.assertEqual(database.losses(), {})
        return database

    def test_before_cuda(self):
        self.assertEqual(self.ranges("before").kernels(), {"annotated": 10})

    def test_after_cuda(self):
        self.assertEqual(self.ranges("after").kernels(), {"annotated": 11})

    def test_without_cuda(self):
        self.assertEqual(self.ranges("only").kernels(), {})


class Wrap(FakeTest):
    def test_ids_that_outgrow_32_bits(self):
        n = 2000
        first = (1 << 32) - n // 2
        self.profile("burst", n, FAKE_CUPTI_FIRST_CORRELATION=first, check=0)
        database = self.database()
        self.assertEqual(database.count("CONCURRENT_KERNEL"), n)
        self.assert_correlated(database)
        self.assertEqual(
            database.one(f"SELECT count(DISTINCT correlationId) FROM {PREFIX}CONCURRENT_KERNEL"), n
        )
        # One kernel after the other: those before the wrap have number 0, those after it number 1.
        # The place of the wrap depends on how many ids the collector's own calls used before.
        before, after = database.rows(f"""
            SELECT correlationId >> 32, count(*), min(correlationId & 0xffffffff),
                   max(correlationId & 0xffffffff), min(start), max(start)
            FROM {PREFIX}CONCURRENT_KERNEL GROUP BY 1 ORDER BY 1""")
        self.assertEqual((before[0], after[0]), (0, 1))
        self.assertTrue(0 < before[1] <= n // 2, before)
        self.assertEqual(before[1] + after[1], n)
        self.assertGreaterEqual(before[2], first)
        self.assertLess(after[3], n)
        self.assertLess(before[5], after[4])

    def test_with_threads(self):
        self.profile("burst", 2000, 4, FAKE_CUPTI_FIRST_CORRELATION=(1 << 32) - 4000, check=0)
        database = self.database()
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 8000)
        self.assert_correlated(database)

    def test_after_salvage(self):
        self.profile("die", "sigkill", 1000, FAKE_CUPTI_FIRST_CORRELATION=(1 << 32) - 500)
        database = self.database()
        self.assertEqual(database.kernels(), {"_Z5dyingPf": 1000})
        self.assert_correlated(database)


class Versions(FakeTest):
    # Column: table, version that first had it, value the stand-in writes there.
    NEWER = [
        ("CONCURRENT_KERNEL", "isDeviceLaunched", 130000, 0),
        ("CONCURRENT_KERNEL", "priority", 130100, -3),
        ("CONCURRENT_KERNEL", "executionModel", 130300, 0),
        ("CONCURRENT_KERNEL", "sourceGraphId", 130400, 0),
        ("CONCURRENT_KERNEL", "sourceGraphNodeId", 130400, 0),
        ("MEMCPY", "isDeviceLaunched", 130000, 0),
        ("MEMCPY", "copyCount", 26, 1),
        ("MEMCPY", "sourceGraphId", 130400, 0),
        ("MEMSET", "isDeviceLaunched", 130000, 0),
        ("MEMSET", "sourceGraphNodeId", 130400, 0),
        ("SYNCHRONIZATION", "returnValue", 26, 0),
        ("SYNCHRONIZATION", "cudaEventSyncId", 26, 0),
        ("DEVICE", "numTpcs", 130200, 66),
    ]  # fmt: skip
    # What is newer than some version is in the last, and what is older in the first.
    VERSIONS = (24, 130000, 130500) if SANITIZED else (24, 26, 28, 130000, 130100, 130300, 130500)

    def check_columns(self, database, version):
        for table, column, since, value in self.NEWER:
            expected = [(value,)] if version >= since else [(None,)]
            self.assertEqual(
                database.rows(f"SELECT DISTINCT {column} FROM {PREFIX}{table}"),
                expected,
                f"{table}.{column} with {version}",
            )

    def assert_no_poison(self, database):
        poisons = [int.from_bytes(b"\xab" * n, "little") for n in (1, 2, 4, 8)]
        poisons += [value - (1 << 8 * n) for value, n in zip(poisons, (1, 2, 4, 8))]
        for (table,) in database.rows("SELECT name FROM sqlite_master WHERE type = 'table'"):
            if not table.startswith(PREFIX):
                continue
            cursor = database.connection.execute(f'SELECT * FROM "{table}"')
            columns = [column[0] for column in cursor.description]
            for row in cursor:
                for column, value in zip(columns, row):
                    if isinstance(value, bytes):
                        self.assertNotIn(b"\xab\xab", value, f"{table}.{column}")
                    elif column != "_id_":
                        # 171 may occur as some number; longer ones may not.
                        self.assertFalse(value in poisons and abs(value) > 255, f"{table}.{column}")

    def test_columns(self):
        for version in self.VERSIONS:
            with self.subTest(version=version):
                self.profile("hello", 10, options=["-f"], check=0, FAKE_CUPTI_VERSION=version)
                database = self.database()
                self.assertEqual(database.count("CONCURRENT_KERNEL"), 23)
                self.assertEqual(database.losses(), {})
                self.assertEqual(database.rows("SELECT cupti_version FROM PROCESS"), [(version,)])
                self.assert_correlated(database)
                self.check_columns(database, version)
                self.assert_no_poison(database)

    def test_markers(self):
        for version in self.VERSIONS:
            with self.subTest(version=version):
                self.profile("nvtx", "before", options=["-f"], check=0, FAKE_CUPTI_VERSION=version)
                database = self.database()
                self.assertEqual(database.one("SELECT count(*) FROM NVTX_RANGE"), 20)
                self.assertEqual(
                    database.rows(f"SELECT DISTINCT cuptiDomainId FROM {PREFIX}MARKER_DATA"), [(1,)]
                )
                self.assert_no_poison(database)

    def test_salvage(self):
        for version in self.VERSIONS:
            with self.subTest(version=version):
                self.profile(
                    "die", "sigkill", 500, options=["-f"], check=137, FAKE_CUPTI_VERSION=version
                )
                database = self.database()
                self.assertEqual(database.kernels(), {"_Z5dyingPf": 500})
                self.assert_correlated(database)
                self.check_columns_of_kernels(database, version)
                self.assert_no_poison(database)

    def check_columns_of_kernels(self, database, version):
        for table, column, since, value in self.NEWER:
            if table != "CONCURRENT_KERNEL":
                continue
            expected = [(value,)] if version >= since else [(None,)]
            self.assertEqual(
                database.rows(f"SELECT DISTINCT {column} FROM {PREFIX}{table}"), expected
            )

    def test_unknown_newer_version(self):
        self.profile("hello", 10, check=0, FAKE_CUPTI_VERSION=140000)
        self.assertEqual(self.database().count("CONCURRENT_KERNEL"), 23)

    def test_kinds_that_a_version_lacks_are_no_loss(self):
        run = self.profile("hello", options=["--trace", "all"], check=0, FAKE_CUPTI_VERSION=24)
        database = self.database()
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 23)
        self.assertEqual(database.losses(), {})
        self.assertEqual(len(run.stderr.splitlines()), 1, run.stderr)


if __name__ == "__main__":
    unittest.main()
