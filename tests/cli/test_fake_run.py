# ctest-labels: tsan
"""A whole run with the stand-ins: each record in its table, with the right values."""

import ctypes
import unittest

from fake_run import BARE_CUPTI, PREFIX, SANITIZED, FakeTest

VECTOR = "_Z6vectorPfi"
DIRECT = "_ZN3lib6directILi4EEEvPKf"
NODE = "_Z4nodev"
N = 25


class Hello(FakeTest):
    def hello(self, n=10, **arguments):
        self.profile_with_ledger("hello", n, check=0, **arguments)
        return self.database()

    def plain(self):
        self.made_once(lambda: self.hello(N).close())
        return self.database()

    def test_rows_and_values(self):
        database = self.plain()
        self.assertEqual(database.kernels(), {VECTOR: N, DIRECT: N, NODE: 3})
        counts = {kind: database.count(kind) for kind in self.ledger()}
        self.assertEqual(counts["CONCURRENT_KERNEL"], 2 * N + 3)
        self.assertEqual(counts["MEMCPY"], N)
        self.assertEqual(counts["MEMSET"], N)
        self.assertEqual(counts["MEMORY2"], 2)
        self.assertEqual(counts["DEVICE"], 1)
        self.assertEqual(counts["CONTEXT"], 1)
        self.assertEqual(counts["STREAM"], 1)
        # malloc, free, synchronize, graph; copy, set and launch N times each
        self.assertEqual(counts["RUNTIME"], 4 + 3 * N)
        # The direct launches and the loading of the module; none of the collector's own calls.
        self.assertEqual(counts["DRIVER"], N + 1)
        self.assertEqual(counts["SYNCHRONIZATION"], 1)
        self.assertEqual(
            database.rows(f"SELECT DISTINCT copyKind, bytes FROM {PREFIX}MEMCPY"), [(1, 4096)]
        )
        self.assertEqual(database.rows(f"SELECT DISTINCT bytes FROM {PREFIX}MEMSET"), [(1024,)])
        kernel = f"""SELECT DISTINCT registersPerThread, gridX, gridY, blockX, staticSharedMemory,
                     sharedMemoryExecuted, priority, executionModel, channelID, streamId, deviceId,
                     isDeviceLaunched FROM {PREFIX}CONCURRENT_KERNEL"""
        self.assertEqual(database.rows(kernel), [(32, 64, 1, 256, 128, 8192, -3, 0, 11, 7, 0, 0)])

    def test_times(self):
        database = self.plain()
        for kind in ("CONCURRENT_KERNEL", "MEMCPY", "MEMSET", "RUNTIME", "DRIVER"):
            self.assertEqual(
                database.count(f'{kind} WHERE start = 0 OR "end" < start OR start IS NULL'), 0, kind
            )
        # The device runs one thing after the other.
        self.assertEqual(
            database.one(f"""SELECT count(*) FROM (
                SELECT start, lag("end") OVER (ORDER BY start) AS before
                FROM {PREFIX}CONCURRENT_KERNEL) WHERE start < before"""),
            0,
        )
        # Nothing starts before it was requested.
        self.assertEqual(database.one("SELECT count(*) FROM launches WHERE launch_latency < 0"), 0)

    def test_correlation(self):
        database = self.plain()
        self.assert_correlated(database)
        self.assertEqual(
            database.rows(
                "SELECT api_domain, api_name, count(*) FROM launches GROUP BY 1, 2 ORDER BY 1, 2"
            ),
            [
                ("driver", "cuLaunchKernel", N),
                ("runtime", "cudaGraphLaunch", 3),
                ("runtime", "cudaLaunchKernel", N),
            ],
        )
        # A graph's kernels share its launch.
        self.assertEqual(
            database.one(f"""SELECT count(DISTINCT correlationId) FROM {PREFIX}CONCURRENT_KERNEL
                             WHERE graphId > 0"""),
            1,
        )
        self.assertEqual(
            database.one(f"""SELECT count(DISTINCT graphNodeId) FROM {PREFIX}CONCURRENT_KERNEL
                             WHERE graphId > 0"""),
            3,
        )

    def test_names(self):
        database = self.plain()
        self.assertEqual(
            database.rows("SELECT DISTINCT name, short_name FROM kernels ORDER BY 1"),
            [
                ("node()", "node"),
                ("vector(float*, int)", "vector"),
                ("void lib::direct<4>(float const*)", "direct"),
            ],
        )
        names = {name for (name,) in database.rows("SELECT DISTINCT name FROM api_calls")}
        self.assertEqual(
            names,
            {
                "cudaLaunchKernel", "cudaGraphLaunch", "cudaMemcpy", "cudaMemset", "cudaMalloc",
                "cudaFree", "cudaDeviceSynchronize", "cuLaunchKernel", "cuModuleLoadData",
            },
        )  # fmt: skip

    def test_process_and_run(self):
        database = self.plain()
        (process,) = database.rows(
            """SELECT number, executable, command_line, cupti_version, driver_version, exit_status,
                      exit_signal, goodbye, salvaged FROM PROCESS"""
        )
        hello = self.program("hello")
        self.assertEqual(process, (0, hello, f"{hello} {N}", 130500, 13000, 0, None, 1, 0))
        run = database.run()
        self.assertEqual(run["finished"], 1)
        self.assertEqual(run["loss"], 0)
        self.assertEqual(run["exit_status"], 0)
        self.assertLess(run["t0_realtime_ns"], run["t1_realtime_ns"])
        self.assertEqual(database.rows("SELECT moment FROM CLOCK"), [("first",), ("last",)])

    def test_place_in_a_job(self):
        job = {"RANK": "3", "WORLD_SIZE": "8", "LOCAL_RANK": "1", "MASTER_ADDR": "node1"}
        database = self.hello(3, MASTER_PORT="x" * 300, **job)
        self.assertEqual(
            database.rows("SELECT rank, worldSize, localRank, jobLauncher, job FROM PROCESS"),
            [(3, 8, 1, "torch", "MASTER_ADDR=node1")],
        )
        self.assertEqual(len(database.run()["boot_id"]), 36)

    def test_clocks(self):
        (first, last) = self.plain().rows(
            "SELECT realtime, monotonic, cupti, monotonicRaw, ticks FROM CLOCK"
        )
        self.assertTrue(all(before < after for before, after in zip(first, last)), (first, last))

    def test_what_keeps_the_clock(self):
        """What the kernel says of it, which grows by 500 us a second between two looks."""
        state = (ctypes.c_long * 64)()  # struct timex
        ctypes.CDLL(None).adjtimex(state)
        most, is_free = state[3] * 1000, ctypes.c_int(state[5]).value & 0x40
        stored = self.plain().run().get("clock_error_ns")
        if is_free:
            self.assertIsNone(stored)
        else:
            self.assertLess(abs(stored - most), 100_000_000)

    def test_statistics(self):
        database = self.plain()
        self.assert_all_there(database)
        self.assertEqual(database.losses(), {})
        for kind, written in self.ledger().items():
            received = database.statistics().get((kind, "records_received"), 0)
            self.assertEqual(received, database.count(kind), kind)
            self.assertEqual(received, written, kind)

    def test_device_attributes_are_not_the_targets_calls(self):
        database = self.hello(3, options=["--trace", "+queries"])
        self.assertEqual(database.count("DEVICE_ATTRIBUTE"), 120)
        self.assertEqual(
            database.rows(
                f"SELECT value FROM {PREFIX}DEVICE_ATTRIBUTE WHERE attribute = x'10000000'"
            ),
            [(b"\xa0\0\0\0\0\0\0\0",)],
        )
        self.assertEqual(database.own_calls(), 0)

    def test_modules(self):
        database = self.hello(3, options=["--trace", "gpu,module"])
        self.assertEqual(database.count("MODULE"), 1)
        self.assertEqual(
            database.rows(f"""SELECT s.value FROM {PREFIX}FUNCTION AS f
                              JOIN StringTable AS s ON s._id_ = f.name ORDER BY f._id_"""),
            [("first",), ("second",)],
        )

    def test_completed_in_the_flushing_thread(self):
        database = self.hello(200, FAKE_CUPTI_DELIVER="flush")
        self.assert_all_there(database)
        self.assertEqual(database.losses(), {})

    def test_cupti_without_optional_functions(self):
        database = self.hello(20, cupti=BARE_CUPTI)
        self.assertEqual(database.kernels(), {VECTOR: 20, DIRECT: 20, NODE: 3})
        self.assertEqual(database.losses(), {})
        self.assert_correlated(database)

    def test_kernel_name_calls_are_cuptis_own(self):
        database = self.hello(20, FAKE_CUPTI_NAME_CALLS="1")
        self.assertEqual(database.count("DRIVER"), 20 + 1)
        self.assert_correlated(database)


class Threads(FakeTest):
    def test_eight_threads(self):
        n = 500 if SANITIZED else 2000
        self.profile_with_ledger("threads", 8, n, check=0)
        database = self.database()
        self.assertEqual(database.kernels(), {f"thread_kernel_{i}": n for i in range(8)})
        self.assert_all_there(database)
        self.assert_correlated(database)
        self.assertEqual(database.losses(), {})
        self.assertEqual(
            database.rows(f"""SELECT count(*) FROM {PREFIX}RUNTIME GROUP BY threadId"""), [(n,)] * 8
        )
        self.assertEqual(
            database.one("SELECT count(*) FROM NVTX_RANGE WHERE stop > 0"), 8 * n // 10
        )


if __name__ == "__main__":
    unittest.main()
