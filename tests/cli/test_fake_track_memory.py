# ctest-labels: tsan
"""--track-memory: memory calls without CUPTI records, calls that find no memory, and memory in use on
devices."""

import json
import os
import subprocess
import unittest

from fake_run import GPUPROF, FakeTest

MIB = 1 << 20
TIB = 1 << 40
CONTEXT, MODULE = 256 * MIB, MIB  # memory that the stand-in uses for them


class TrackMemory(FakeTest):
    def track(self, *words, options=()):
        return self.made_once(
            lambda: self.profile("memory", *words, options=["--track-memory", *options], check=0),
            words,
            tuple(options),
        )

    def tables(self, *options):
        ran = subprocess.run(
            [GPUPROF, "memory", self.output, "--json", *options],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stderr)
        return {table["table"]: table["rows"] for table in json.loads(ran.stdout)["tables"]}

    def calls(self, where="1"):
        return self.database().rows(f"""
            SELECT a.name, m.bytes, m.deviceId, m.result FROM MEMORY_CALL AS m
            JOIN API_NAME AS a ON a.cbid = m.cbid
             AND a.domain = CASE m.runtime WHEN 1 THEN 'runtime' ELSE 'driver' END
            WHERE {where} ORDER BY m.time, m._id_""")

    def test_each_call_is_a_row_with_its_size(self):
        self.track()
        self.assertEqual(
            self.calls(),
            [
                ("cuMemCreate", 64 * MIB, 0, 0),
                ("cuMemCreate", 32 * MIB, 0, 0),
                ("cuMemMap", 32 * MIB, 0, 0),
                ("cuMemMap", 32 * MIB, 0, 0),
                ("cuMemRelease", None, 0, 0),
                ("cuMemHostRegister_v2", 8 * MIB, None, 0),
                ("cuMemUnmap", 64 * MIB, 0, 0),
                ("cudaHostUnregister_v4000", None, None, 0),
                ("cuMemRelease", None, 0, 0),
            ],
        )
        # Each joins its call in the activity records.
        self.assertEqual(
            self.database().one("""
                SELECT count(*) FROM MEMORY_CALL AS m WHERE NOT EXISTS (
                  SELECT 1 FROM api_calls AS c WHERE c.correlation_id = m.correlationId)"""),
            0,
        )

    def test_summary_of_the_run(self):
        """--print-memory-summary records what --track-memory does, and prints what gpuprof memory does."""
        run = self.profile("memory", options=["--print-memory-summary"], check=0)
        self.assertGreater(len(self.calls()), 8)
        later = subprocess.run([GPUPROF, "memory", self.output], capture_output=True, text=True,
                               timeout=120, check=True)  # fmt: skip
        lines = later.stdout.splitlines()
        self.assertGreater(len(lines), 10)
        printed = run.stderr.splitlines()
        first = printed.index(lines[0])
        self.assertEqual(printed[first : first + len(lines)], lines)

    def test_peaks_are_exact_and_mapped_memory_outlives_its_handle(self):
        self.track()
        tables = self.tables()
        peaks = {row["memory"]: row["peak_bytes"] for row in tables["memory_peaks"]}
        self.assertEqual(peaks, {"Created": 96 * MIB, "Device": 16 * MIB, "Registered": 8 * MIB})
        ends = {row["memory"]: row["end_bytes"] for row in tables["memory_peaks"]}
        self.assertEqual(ends, {"Created": 0, "Device": 0, "Registered": 0})
        (virtual,) = tables["memory_virtual"]
        self.assertEqual(
            (virtual["made_peak_bytes"], virtual["mapped_peak_bytes"], virtual["allocations"]),
            (96 * MIB, 64 * MIB, 2),
        )
        (device,) = tables["memory_devices"]
        self.assertEqual(device["peak_bytes"], (96 + 16) * MIB)

    def test_a_call_that_finds_no_memory_has_its_size_and_whose_memory_it_was(self):
        run = self.track(3)
        self.assertEqual(
            self.calls("m.result <> 0"),
            [
                ("cuMemAlloc_v2", TIB, 0, 2),  # and not also cudaMalloc, which called it
                ("cuMemCreate", TIB + 1, 0, 2),
                ("cuMemAlloc_v2", TIB + 2, 0, 2),
            ],
        )
        tables = self.tables()
        failed = tables["memory_failed_calls"]
        self.assertEqual(
            [(row["function"], row["bytes"], row["in_use_bytes"]) for row in failed],
            [
                ("cuMemAlloc", TIB, 112 * MIB),
                ("cuMemCreate", TIB + 1, 112 * MIB),
                ("cuMemAlloc", TIB + 2, 112 * MIB),
            ],
        )
        first = [
            (row["memory"], row["owner"], row["bytes"])
            for row in tables["memory_failure_owners"]
            if row["time_ns"] == failed[0]["time_ns"]
        ]
        self.assertEqual(
            first, [("Created", None, 96 * MIB), ("Device", "libstandin.so", 16 * MIB)]
        )
        told = [line for line in run.stderr.splitlines() if "out of memory" in line]
        self.assertEqual(len(told), 1, run.stderr)
        self.assertIn(f"cuMemAlloc in process {failed[0]['process_id']} asked for {TIB} bytes "
                      "when the process had 112.00MB (96.000MB Created, 16.000MB libstandin.so); "
                      "2 calls more found none", told[0])  # fmt: skip
        self.assertGreaterEqual(
            self.database().one("SELECT count(*) FROM DEVICE_MEMORY WHERE reason = 3"), 1
        )

    def test_what_no_record_accounts_for_is_the_rest(self):
        self.track(2)
        tables = self.tables()
        last = tables["memory_readings"][-1]
        self.assertEqual(
            (last["reason"], last["used_bytes"], last["known_bytes"], last["unaccounted_bytes"]),
            ("end", CONTEXT + MODULE, 0, CONTEXT + MODULE),
        )
        self.assertEqual(last["total_bytes"], 80 << 30)
        appeared = tables["memory_unaccounted"]
        # Between readings memory may come and go.
        self.assertGreaterEqual(sum(row["bytes"] for row in appeared), CONTEXT + MODULE)
        # The stand-in makes its first context before the first call.
        for row in appeared:
            self.assertEqual(row["function"] is None, row["process_id"] is None, row)

    def test_its_own_questions_are_no_calls_of_the_program(self):
        self.track(2)
        self.assertEqual(
            self.database().one("SELECT count(*) FROM api_calls WHERE name LIKE 'cuMemGetInfo%'"), 0
        )
        self.assertGreaterEqual(self.database().one("SELECT count(*) FROM DEVICE_MEMORY"), 1)

    def test_calls_of_many_threads_at_once(self):
        self.track(0, 8)
        database = self.database()
        made = database.one("""
            SELECT count(*) FROM MEMORY_CALL WHERE bytes = 2097152 AND handle <> 0""")
        lost = database.one("SELECT sum(value) FROM STATISTIC WHERE name = 'memory_calls_lost'")
        self.assertEqual((made, lost), (1600, None))
        peaks = {row["memory"]: row for row in self.tables()["memory_peaks"]}
        self.assertEqual(peaks["Created"]["allocations"], 1602)
        self.assertEqual(peaks["Created"]["end_bytes"], 0)
        self.assertGreaterEqual(peaks["Created"]["peak_bytes"], 96 * MIB)
        self.assertLessEqual(peaks["Created"]["peak_bytes"], (96 + 16) * MIB)

    def test_stacks_name_the_functions_that_called(self):
        self.track(3, options=["--stacks"])
        database = self.database()
        (stack,) = database.rows("""
            SELECT correlationId FROM CUPTI_ACTIVITY_KIND_MEMORY2
            WHERE memoryOperationType = 1 AND bytes = 16 << 20""")
        names = [
            name
            for (name,) in database.rows(
                "SELECT function FROM call_stacks WHERE correlation_id = ? ORDER BY position",
                *stack,
            )
        ]
        self.assertEqual(
            names[:4], ["fake_malloc", "_Z10take_plainm", "_ZN7weights4loadEm", "main"]
        )
        modules = database.rows("""
            SELECT DISTINCT module FROM STACK_FRAME WHERE function = 'main'""")
        self.assertEqual([os.path.basename(module) for (module,) in modules], ["memory"])
        # Each call that allocates has one, including those that find no memory.
        self.assertEqual(
            database.one("""
                SELECT count(*) FROM MEMORY_CALL AS m JOIN API_NAME AS a ON a.cbid = m.cbid
                 AND a.domain = CASE m.runtime WHEN 1 THEN 'runtime' ELSE 'driver' END
                WHERE a.name NOT LIKE '%Release' AND a.name NOT LIKE '%Unmap'
                  AND a.name NOT LIKE '%Unregister%' AND NOT EXISTS (
                  SELECT 1 FROM call_stacks AS c WHERE c.correlation_id = m.correlationId)"""),
            0,
        )
        owners = {
            row["owner"]: row["at_peak_bytes"]
            for row in self.tables("--by", "stack")["memory_owners"]
            if row["memory"] == "Device"
        }
        self.assertEqual(owners, {"take_plain (memory) < load (memory) < main (memory)": 16 * MIB})

    def test_stacks_of_many_threads_at_once(self):
        self.track(0, 8, options=["--stacks"])
        database = self.database()
        self.assertEqual(
            database.rows("""
                SELECT count(*), count(DISTINCT c.stack) FROM MEMORY_CALL AS m
                JOIN CALL_STACK AS c ON c.correlationId = m.correlationId
                JOIN STACK_ENTRY AS e ON e.stack = c.stack AND e.position = 0
                WHERE m.bytes = 2097152 AND m.handle <> 0"""),
            [(1600, 1)],
        )
        self.assertEqual(
            database.one("SELECT count(*) FROM STATISTIC WHERE name = 'call_stacks_lost'"), 0
        )

    def test_without_stacks_there_are_none(self):
        self.track()
        self.assertEqual(self.database().one("SELECT count(*) FROM CALL_STACK"), 0)
        ran = subprocess.run(
            [GPUPROF, "memory", self.output, "--by", "stack"],
            capture_output=True, text=True, timeout=120,
        )  # fmt: skip
        self.assertEqual(ran.returncode, 5, ran.stderr)
        self.assertIn("--track-memory --stacks", ran.stderr)

    def test_without_it_there_is_none_of_this(self):
        self.profile("memory", 2, check=0)
        database = self.database()
        self.assertEqual(database.one("SELECT count(*) FROM MEMORY_CALL"), 0)
        self.assertEqual(database.one("SELECT count(*) FROM DEVICE_MEMORY"), 0)
        tables = self.tables()
        self.assertEqual(tables["memory_readings"], [])
        self.assertEqual([row["memory"] for row in tables["memory_peaks"]], ["Device"])

    def test_a_killed_process_leaves_what_was_sent(self):
        self.profile("leaks", "sigkill", options=["--track-memory"], check=128 + 9)
        tables = self.tables()
        self.assertEqual({row["class"] for row in tables["memory_leaks"]}, {"alive"})


if __name__ == "__main__":
    unittest.main()
