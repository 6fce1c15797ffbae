"""What is collected only on request: details of records, and kinds that need more than being enabled."""

import unittest

from fake_run import BARE_CUPTI, SANITIZED, FakeTest


class Details(FakeTest):
    def queued_and_submitted(self, *options):
        self.profile("hello", 10, options=["-f", *options], check=0)
        return set(
            self.database().rows(
                "SELECT start - queued, start - submitted FROM kernels WHERE queued > 0"
            )
        )

    def test_latency(self):
        self.assertEqual(self.queued_and_submitted("--kernel-latency-timestamps", "on"), {(20, 10)})
        self.assertEqual(self.queued_and_submitted("--kernel-latency-timestamps", "off"), set())
        self.assertEqual(self.queued_and_submitted(), set())

    def test_sources_of_allocations(self):
        source = """SELECT DISTINCT s.value FROM CUPTI_ACTIVITY_KIND_MEMORY2 AS m
                    JOIN StringTable AS s ON s._id_ = m.source AND m.source != 0"""
        self.profile("hello", 10, options=["--trace", "+allocation-source"], check=0)
        self.assertEqual(self.database().rows(source), [("libstandin.so",)])
        self.profile("hello", 10, options=["-f"], check=0)
        self.assertEqual(self.database().rows(source), [])

    def test_a_cupti_that_has_neither(self):
        run = self.profile(
            "hello",
            10,
            cupti=BARE_CUPTI,
            check=0,
            options=["--kernel-latency-timestamps", "on", "--trace", "+allocation-source"],
        )
        self.assertIn("nothing lost", run.stderr)
        for what in ("no times of queueing and submitting kernels", "no libraries that allocate"):
            self.assertIn(f"{what}: this libcupti is too old", run.stderr)
        self.assertEqual(
            self.database().rows(
                "SELECT DISTINCT kind FROM STATISTIC WHERE name = 'kind_unavailable'"
                " AND kind NOT LIKE 'CUPTI_ACTIVITY_KIND_%'"
            ),
            [],
        )


class Kinds(FakeTest):
    def test_environment(self):
        """CUPTI accepts it only once the driver is up."""
        self.profile("hello", 10, options=["--system-profiling", "on"], check=0)
        database = self.database()
        self.assertEqual(
            database.rows("SELECT DISTINCT gpuTemperature FROM CUPTI_ACTIVITY_KIND_ENVIRONMENT"),
            [(41,)],
        )
        self.assertEqual(database.losses(), {})

    @unittest.skipIf(SANITIZED, "a sanitizer wants to be preloaded first")
    def test_external_ids(self):
        """Also those that a program pushes into another copy of CUPTI."""
        for copy in (None, BARE_CUPTI):
            with self.subTest(copy=copy):
                preload = copy or self.command(["hello"])[2]
                self.profile("external_ids", options=["-f", "--trace", "+external"], check=0,
                             LD_PRELOAD=preload)  # fmt: skip
                self.assertEqual(
                    self.database().rows("""
                        SELECT e.externalId, count(*) FROM CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION AS e
                        JOIN kernels AS k ON k.correlation_id = e.correlationId GROUP BY 1"""),
                    [(1000, 2), (1001, 2), (1002, 2)],
                )

    @unittest.skipIf(SANITIZED, "a sanitizer wants to be preloaded first")
    def test_external_ids_that_nobody_asked_for(self):
        self.profile("external_ids", check=0, LD_PRELOAD=BARE_CUPTI)
        self.assertEqual(self.database().count("EXTERNAL_CORRELATION"), 0)


class Directives(FakeTest):
    def rows(self, *options, **environment):
        run = self.profile("directives", options=["-f", *options], check=0, **environment)
        database = self.database()
        self.assertEqual(database.count("CONCURRENT_KERNEL"), 1)
        return (
            run.stdout.decode().split("\n")[:-1],
            database.count("OPENACC_LAUNCH"),
            database.count("OPENMP"),
        )

    OURS = "libgpuprof_collector.so"

    def test_openacc(self):
        told, acc, omp = self.rows("--openacc-profiling", "on")
        self.assertEqual((told, acc, omp), ([f"ACC_PROFLIB {self.OURS}"], 3, 0))
        self.assertEqual(
            self.database().rows("""
                SELECT s.value, count(*) FROM CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH AS a
                JOIN StringTable AS s ON s._id_ = a.kernelName GROUP BY 1"""),
            [("saxpy", 3)],
        )

    def test_openmp(self):
        told, acc, omp = self.rows("--openmp-profiling", "on")
        self.assertEqual((told, acc, omp), ([f"OMP_TOOL_LIBRARIES {self.OURS}"], 0, 4))

    def test_others_stay(self):
        told, acc, omp = self.rows(
            "--trace", "+openacc,+openmp", ACC_PROFLIB="/a.so;/b.so", OMP_TOOL_LIBRARIES="/c.so"
        )
        self.assertEqual(
            told,
            [
                f"ACC_PROFLIB {self.OURS}",
                "ACC_PROFLIB a.so",
                "ACC_PROFLIB b.so",
                f"OMP_TOOL_LIBRARIES {self.OURS}",
                "OMP_TOOL_LIBRARIES c.so",
            ],
        )
        self.assertEqual((acc, omp), (3, 4))

    def test_nobody_asked(self):
        self.assertEqual(self.rows(), ([], 0, 0))


class Payloads(FakeTest):
    def test_fields(self):
        self.profile("payloads", 5, check=0)
        database = self.database()
        self.assertEqual(
            database.rows("""SELECT range_name, schema, field, value, int_value FROM nvtx_payloads
                             ORDER BY time LIMIT 6"""),
            [
                ("send", "Message", "peer", 0, 0),
                ("send", "Message", "operation", "send", 1),
                ("send", "Message", "bytes", 1 << 40, 1 << 40),
                ("receive", "Message", "peer", -1, -1),
                ("receive", "Message", "operation", "receive", 2),
                ("receive", "Message", "bytes", 1 << 40, 1 << 40),
            ],
        )
        self.assertEqual(database.one("SELECT count(*) FROM NVTX_PAYLOAD"), 15)
        self.assertEqual(database.one("SELECT count(*) FROM NVTX_PAYLOAD_ENTRY"), 5)
        self.assertEqual(database.losses(), {})


if __name__ == "__main__":
    unittest.main()
