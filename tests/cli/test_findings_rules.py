# ctest-cost: 12
# ctest-labels: plain
"""gpuprof findings: each rule finds what was made for it, to the nanosecond, and nothing in its mended
twin; the SQL gives the number that is printed.
"""

import re
import shutil
import subprocess
import unittest

from findings_made import (
    DTOH,
    GPUPROF,
    HTOD,
    KIND,
    PAGEABLE,
    PINNED,
    SOURCE,
    US,
    FindingsTest,
    gpuprof,
)


class Rules(FindingsTest):
    def test_allocations(self):
        for function in ("cudaMalloc", "cudaFree", "cudaHostAlloc"):
            self.check("allocations", self.in_a_gap(function, "runtime"), 50 * US,
                       {"host_away": 60 * US}, [("host_away", 10 * US)])  # fmt: skip

    def test_a_call_that_frees_waits_for_the_gpu(self):
        """Without it the host is ahead by the time that it waited in it."""

        def make(made, sound):
            made.kernel(100, 200, launched=(90, 95))
            if not sound:
                made.memory(110, -4096, made.call("cudaFree", 110, 203))
            made.kernel(300, 400, launched=(290, 295))

        # Of the gap 3 us in the call, 87 in no call, 10 from the launch on; the host was 90 us in
        # the call before.
        self.check("allocations", make, 93 * US, {"host_away": 100 * US}, [("host_away", 7 * US)])
        made = self.made()
        make(made, False)
        self.assertEqual(self.simulated(made.finish()),
                         {"allocations": (93, 93), "host_away": (7, 7)})  # fmt: skip

    def test_pool_growth(self):
        # Functions that are ordered in a stream are no allocations.
        for function in ("cudaMallocAsync", "cudaMemPoolTrimTo"):
            self.check("pool_growth", self.in_a_gap(function, "runtime"), 50 * US,
                       {"host_away": 60 * US}, [("host_away", 10 * US)])  # fmt: skip

    def test_a_synchronization_that_shrinks_a_pool(self):
        def make(made, sound):
            made.kernel(100, 200, launched=(90, 95))
            made.memory(99, -4096, 0, poolType=1, poolSize=4096, poolReleaseThreshold=4096 * sound)
            made.wait(110, 260)
            made.kernel(300, 400, launched=(290, 295))

        # Of the gap 60 us in the call, 30 in no call, 10 from the launch on.
        self.check("pool_growth", make, 60 * US, {"blocking_waits": 100 * US},
                   [("blocking_waits", 40 * US)])  # fmt: skip

    def test_module_loading(self):
        for function, domain in (
            ("cuLibraryLoadData", "driver"),
            ("cudaFuncGetAttributes", "runtime"),
        ):
            self.check("module_loading", self.in_a_gap(function, domain), 50 * US,
                       {"host_away": 60 * US}, [("host_away", 10 * US)])  # fmt: skip

    def test_blocking_waits(self):
        def make(made, sound):
            made.kernel(100, 200, launched=(90, 95))
            if not sound:
                made.wait(100, 203)
            made.kernel(*((300, 400) if not sound else (200, 300)),
                        launched=(290, 295) if not sound else (96, 99))  # fmt: skip

        # The gap is 100 us long: in the wait, in no call, in the launch.
        self.check("blocking_waits", make, 100 * US, {})

    def test_a_wait_saves_no_more_than_it_took(self):
        def make(made, begin):
            made.kernel(100, 200, launched=(80, 85))
            made.wait(begin, 203)
            made.kernel(300, 400, launched=(290, 295))
            made.wait(395, 403)
            made.kernel(500, 600, launched=(490, 495))

        # Each gap: 3 us in the wait, 87 in no call, 10 from the launch on.
        for begin, *saved in ((90, 100, 21), (190, 13, 8), (100, 100, 11), (199, 4, 8)):
            with self.subTest(begin):
                made = self.made()
                make(made, begin)
                path = made.finish()
                document = self.findings(path, "--min", "0")
                found = {each["rule"]: each["at_most_ns"] for each in document["findings"]}
                self.assertEqual(found["blocking_waits"], sum(saved) * US)
                away = sum(97 - min(97, each) for each in saved)
                self.assertEqual(found["host_away"], away * US)
                self.check_sql(path, document)
                self.check_account(path, document)

    def test_a_wait_of_another_process_is_not_its_own(self):
        made = self.made()
        other = 1 << 32
        made.kernel(100, 200, launched=(90, 95))
        made.insert("SYNCHRONIZATION", 100, 203, type=3, streamId=7, correlationId=other + 1)
        made.kernel(300, 400, launched=(290, 295))
        document = self.findings(made.finish(), "--min", "0")
        self.assertEqual([each["rule"] for each in document["findings"]], ["host_away"])

    def test_launch_bound(self):
        def make(made, sound):
            for i in range(20):
                begin = 100 + 30 * i
                made.kernel(begin, begin + (29 if sound else 10), launched=(begin - 8, begin - 1))

        # 19 gaps of 20 us; of 1 us they are less than a tenth.
        self.check("launch_bound", make, 19 * 20 * US, {})

    def test_launch_bound_with_more_gaps_than_are_listed(self):
        made = self.made()
        for i in range(10_500):
            made.kernel(100 + 3 * i, 101 + 3 * i)
        made.call("cudaLaunchKernel", 10, 90)
        path = made.finish()
        document = self.findings(path)
        # Without launch calls of these kernels, nothing is saved in the simulation.
        short, finding = document["findings"]
        self.assertEqual((short["rule"], finding["rule"]), ("short_kernels", "launch_bound"))
        self.assertEqual(finding["at_most_ns"], 10_499 * 2 * US)
        self.assertEqual({draw["part"] for draw in finding["draws"]}, {"no call", "short gap"})
        self.check_sql(path, document)

    def test_host_away(self):
        def make(made, sound):
            made.kernel(100, 200, launched=(90, 95))
            made.kernel(700, 800, launched=(690, 695) if not sound else (200, 700))

        # Away for 490 us, and then late with what takes 10 us.
        self.check("host_away", make, 500 * US, {})

    def test_waiting_work(self):
        def make(made, sound):
            made.kernel(100, 200, launched=(90, 95))
            begin = 200 if sound else 300
            made.kernel(begin, begin + 100, launched=(96, 99), streamId=13)

        self.check("waiting_work", make, 100 * US, {})

    def test_slow_steps(self):
        def make(made, sound, slow=7):
            begin = 1000
            for i in range(14):
                away = 200 if i == slow and not sound else 0
                made.step(begin, begin + 99 + away, f"step {i}")
                begin += away
                made.kernel(begin, begin + 100, launched=(begin - 10, begin - 5))
                begin += 100

        # The gap of 200 us is 190 in no call, then the launch and what it takes to arrive.
        self.check("slow_steps", make, 200 * US, {})
        made = self.made()
        make(made, False, slow=12)  # the last one that is judged
        document = self.findings(made.finish())
        (finding,) = document["findings"]
        self.assertEqual([(draw["part"], draw["duration_ns"]) for draw in finding["draws"]],
                         [("no call", 190 * US), ("launch", 10 * US)])  # fmt: skip

    def test_memory_that_grows_is_noted(self):
        for leak, notes in ((4096, 1), (0, 0)):
            made = self.made()
            made.call("cudaLaunchKernel", 10, 90)
            for i in range(8):
                made.step(1000 + 100 * i, 1099 + 100 * i, f"step {i}")
                made.kernel(1000 + 100 * i, 1100 + 100 * i)
                made.memory(1010 + 100 * i, 8192, 0)
                made.memory(1020 + 100 * i, leak - 8192, 0)
            path = made.finish()
            noted = self.findings(path)["notes"]
            self.assertEqual(len(noted), notes)
            if leak:
                self.assertIn("grew in 5 of 5 steps, by 4.0 KiB a step", noted[0])
                self.assertIn(noted[0], " ".join(gpuprof("findings", path).stdout.split()))
                self.assertIn(noted[0], gpuprof("findings", path, "--markdown").stdout)

    def copies(self, broken, sound):
        def make(made, is_sound):
            made.call("cudaMemcpyAsync", 10, 90)
            for begin in (100, 500):
                made.copy(begin, begin + 300, **(sound if is_sound else broken))
            made.kernel(700, 1000)
            made.kernel(400, 500)

        return make

    def test_pageable_copies(self):
        pageable, pinned = {"host": PAGEABLE}, {"host": PINNED}
        # The second copy is hidden by a kernel for 100 of its 300 us.
        for kind in (HTOD, DTOH):
            self.check("pageable_copies", self.copies({**pageable, "kind": kind}, {**pinned, "kind": kind}),
                       500 * US, {"unhidden_copies": 500 * US})  # fmt: skip

    def test_the_host_is_late_after_a_pageable_copy(self):
        def make(made, sound):
            made.copy(100, 200, host=PINNED if sound else PAGEABLE, size=5_100_000,
                      launched=(90, 98 if sound else 195))  # fmt: skip
            made.kernel(*((200, 400) if sound else (300, 500)),
                        launched=(99, 104) if sound else (290, 295))  # fmt: skip

        # After the copy 90 us in no call, 10 from the launch on. The copy was as fast as the link is.
        self.check("pageable_copies", make, 200 * US, {"unhidden_copies": 100 * US})
        made = self.made()
        make(made, False)
        self.assertEqual(self.simulated(made.finish()), {"pageable_copies": (200, 100)})

    def test_blocking_copies(self):
        self.check("blocking_copies", self.copies({"asynchronous": False}, {}), 500 * US,
                   {"unhidden_copies": 500 * US})  # fmt: skip

    def test_unhidden_copies(self):
        def make(made, sound):
            self.copies({}, {})(made, sound)
            if sound:
                made.kernel(100, 1000)

        self.check("unhidden_copies", make, 500 * US, {})

    def test_small_copies(self):
        def make(made, sound):
            made.call("cudaMemcpyAsync", 10, 90)
            made.copy(100, 110, size=1_000_000)  # 100 bytes per ns
            for i in range(1000 if sound else 1001):
                made.copy(110 + 2 * i, 112 + 2 * i, size=1000)

        # All copies are exposed; of the time that is left, unhidden_copies has less than 1 %.
        self.check("small_copies", make, 1001 * (2 * US - 10), {"unhidden_copies": 2010 * US})

    def test_memory_sets(self):
        def make(made, sound):
            made.call("cudaMemcpyAsync", 10, 90)
            for i in range(1000 if sound else 1001):
                made.set(100 + i, 101 + i)

        self.check("memory_sets", make, 1001 * US, {})

    def test_exposed_communication(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            made.kernel(100, 200, name="ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)")
            made.kernel(*((100, 200) if sound else (150, 180)))

        self.check("exposed_communication", make, 70 * US, {})

    def test_late_ranks(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            name = made.string("ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)")
            # The second GPU comes 60 us later to the first of two collectives.
            for device, first in ((0, 100), (1, 100 if sound else 160)):
                for begin, end in ((first, 200), (200, 300)):
                    made.kernel(begin, end, deviceId=device, name=name)

        self.check("late_ranks", make, 60 * US, {"exposed_communication": 200 * US},
                   {"exposed_communication": 140 * US}.items())  # fmt: skip

    def test_operations_of_nccl_say_what_communicates(self):
        """Kernels of any name, and who waited for whom."""
        made = self.made()
        made.call("cudaLaunchKernel", 10, 90)
        columns = "processId, communicator, communicatorName, rank, ranks, function, sequence, dataType, " \
                  "count, bytes, root, peer, algorithm, protocol, channels, graphNode, correlationId"  # fmt: skip
        view = (SOURCE / "schema/on_demand/10_collectives.sql").read_text(encoding="utf-8")
        made.later += [
            (f"CREATE TABLE NCCL_OPERATION(_id_ INTEGER PRIMARY KEY, {columns})", ()),
            ("CREATE TABLE NCCL_NODE(processId, node, source)", ()),
            (re.sub(r"\nUNION ALL\n\{types\}", "", view), ()),
        ]
        made.later.append(("INSERT INTO StringTable(_id_, value) VALUES(9999, 'AllReduce')", ()))
        for rank, first in ((0, 100), (1, 160)):
            made.kernel(first, 200, "ours", deviceId=rank, correlationId=700 + rank)
            made.later.append((
                "INSERT INTO NCCL_OPERATION(processId, communicator, rank, ranks, function, sequence, "
                "bytes, correlationId) VALUES(1, 7, ?, 2, 9999, 0, 4096, ?)",
                (rank, 700 + rank),
            ))  # fmt: skip
        path = made.finish()
        document = self.findings(path, "--min", "0")
        found = [(each["rule"], each["device_id"], each["at_most_ns"], each["draws"][0]["mostly"])
                 for each in document["findings"]]  # fmt: skip
        self.assertEqual(found, [("late_ranks", 0, 60 * US, "AllReduce of 4096 bytes"),
                                 ("exposed_communication", 0, 40 * US, "AllReduce of 4096 bytes"),
                                 ("exposed_communication", 1, 40 * US, "AllReduce of 4096 bytes")])  # fmt: skip
        self.check_sql(path, document)

    def test_small_graphs(self):
        def make(made, sound):
            made.kernel(100, 200, launched=(90, 95))
            launch = made.call("cudaGraphLaunch", 195, 298)
            for i in range(5 if sound else 4):
                made.kernel(300 + 10 * i, 310 + 10 * i, graphId=3, correlationId=launch)

        # Of the gap of 100 us all is in the launch or on its way.
        self.check("small_graphs", make, 100 * US, {})

    def test_short_kernels(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            made.kernel(100, 102, name="shortest")
            for i in range(999 if sound else 1000):
                made.kernel(102 + 5 * i, 107 + 5 * i)

        self.check("short_kernels", make, 2000 * US, {})

    def processors(self, made):
        return made.database.execute(f"SELECT numMultiprocessors FROM {KIND}DEVICE").fetchone()[0]

    def test_small_grids(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            has = self.processors(made)
            made.kernel(100, 100 + has, gridX=has if sound else has // 4, gridY=1)

        self.assertEqual(self.processors(self.made()), 132)
        self.check("small_grids", make, 99 * US, {})

    def test_low_occupancy(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            made.kernel(100, 200, registersPerThread=16 if sound else 255)

        # Of 64 warps the registers suffice for one block of 8.
        self.check("low_occupancy", make, round(100 * US * 7 / 8), {})

    def test_spills(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            made.kernel(100, 200, localMemoryPerThread=0 if sound else 64)
            made.kernel(200, 300)

        self.check("spills", make, 100 * US, {})

    def test_no_part_counts_twice(self):
        made = self.made()
        made.call("cudaMemcpyAsync", 10, 90)
        for i in range(1001):
            made.copy(100 + 2 * i, 102 + 2 * i, size=1000, host=PAGEABLE)
        made.copy(2102, 2112, size=1_000_000, host=PAGEABLE)
        path = made.finish()
        document = self.findings(path, "--min", "0")
        self.assertEqual([(each["rule"], each["at_most_ns"]) for each in document["findings"]],
                         [("pageable_copies", 2012 * US)])  # fmt: skip
        self.check_sql(path, document)

    def simulated(self, path):
        document = self.findings(path, "--min", "0")
        self.check_simulated(document)
        return {each["rule"]: (each["at_most_ns"] // US, each["simulated_ns"] // US)
                for each in document["findings"] if each["simulated_ns"] is not None}  # fmt: skip

    def test_what_is_simulated(self):
        """Of the bound, what the schedule saves when it runs again with that mended."""
        made = self.made()
        self.in_a_gap("cudaMalloc", "runtime")(made, False)
        self.assertEqual(self.simulated(made.finish()),
                         {"allocations": (50, 50), "host_away": (10, 10)})  # fmt: skip
        # After each kernel the host is late by 3 us of the wait and 17 us until the next is launched.
        # Without the waits it is there in time.
        made = self.made()
        for begin in range(100, 700, 120):
            made.kernel(begin + 10, begin + 110, launched=(begin, begin + 5))
            made.wait(begin + 6, begin + 113)
        self.assertEqual(self.simulated(made.finish()), {"blocking_waits": (80, 80)})
        # Nothing else is in the way of launches that are too slow.
        made = self.made()
        for begin in range(100, 400, 30):
            made.kernel(begin, begin + 10, launched=(begin - 10, begin - 5))
        self.assertEqual(self.simulated(made.finish()), {"launch_bound": (180, 180)})
        # A kernel that waits for something unknown, and one that uses a quarter of the GPU.
        made = self.made()
        made.kernel(100, 200, launched=(90, 95))
        made.kernel(300, 400, launched=(96, 99), streamId=13)
        self.assertEqual(self.simulated(made.finish()), {"waiting_work": (100, 100)})
        made = self.made()
        made.kernel(100, 232, launched=(90, 95), gridX=33)
        made.kernel(232, 332, launched=(96, 99))
        self.assertEqual(self.simulated(made.finish()), {"small_grids": (99, 99)})
        # Two streams that wait for each other.
        made = self.made()
        for i in range(8):
            stream, begin, call = (7, 14)[i % 2], 100 + 50 * i, 87 + 10 * i
            waits = made.call("cudaStreamWaitEvent", call, call + 1)
            made.insert("SYNCHRONIZATION", call, call + 1, type=2, streamId=stream, cudaEventId=5,
                        cudaEventSyncId=0, correlationId=waits)  # fmt: skip
            made.kernel(begin, begin + 50, launched=(call + 2, call + 8), streamId=stream, gridX=99)
        self.assertEqual(self.simulated(made.finish())["serial_streams"], (200, 190))
        # Copies to the device that are in the way of kernels that do not need them.
        made = self.made()
        for i in range(3):
            made.copy(30 + 300 * i, 130 + 300 * i, launched=(10 + 6 * i, 12 + 6 * i))
            made.kernel(130 + 300 * i, 330 + 300 * i, launched=(13 + 6 * i, 15 + 6 * i))
        path = made.finish()
        self.assertEqual(self.simulated(path), {"unhidden_copies": (300, 200)})
        self.assertIn("; simulated 200.00us; confidence", gpuprof("findings", path).stdout)
        self.assertIn("; simulated 200.00us; confidence",
                      gpuprof("findings", path, "--markdown").stdout)  # fmt: skip

    def in_steps(self, sound):
        """Each waits, or the host is ahead. One is held up, which says nothing of the others."""
        made = self.made()
        step, late = 100 if sound else 120, 0
        for i in range(10):
            late += 300 if i == 6 else 0
            begin = 1000 + step * i + late
            made.step(begin - late if i == 6 else begin, begin + step - 1, f"step {i}")
            made.kernel(begin + 10, begin + 110, launched=(begin, begin + 5))
            if not sound:
                made.wait(begin + 6, begin + 113)
        return made.finish()

    def test_steps_that_are_simulated(self):
        """The median of the steps, recorded and then. scripts/twins compares it with that of a mended program."""
        keep = self.folder / "twins"
        keep.mkdir()
        for sound in (False, True):
            shutil.move(self.in_steps(sound), keep / f"item_of_each_loss{sound}.sqlite")
        path = keep / "item_of_each_lossFalse.sqlite"
        document = self.findings(path, "--min", "0")
        self.assertEqual(document["median_step_ns"], 120 * US)
        (finding,) = (each for each in document["findings"] if each["rule"] == "blocking_waits")
        self.assertEqual(finding["simulated_step_ns"], 100 * US)
        ran = gpuprof("what-if", path, "--no-waits")
        self.assertIn(
            "  median of a step: 120.00us (120000 ns), then 100.00us (100000 ns)\n", ran.stdout
        )
        ran = subprocess.run([SOURCE / "scripts/twins", "--gpuprof", GPUPROF, "--keep", keep, "item_of_each_loss"],
                             capture_output=True, text=True, check=False)  # fmt: skip
        self.assertEqual(ran.stdout.splitlines()[2:], [
            "| item_of_each_loss | blocking_waits | first | 120.0 | 100.0 | 100.0 | 1.0 | 0.0% |",
            "", "1 of 1 found first, 1 twins without it, 1 of 1 simulated within 10 %, 1 within 20 %",
        ], ran.stderr)  # fmt: skip

    def test_all_together(self):
        """Two that help only where the other does not: together they save the sum, and not more."""
        made = self.made()
        self.in_a_gap("cudaMalloc", "runtime")(made, False)
        made.kernel(700, 800, launched=(690, 695), localMemoryPerThread=64)
        path = made.finish()
        document = self.findings(path, "--min", "0")
        self.check_simulated(document)
        (together,) = document["together"]
        self.assertEqual((together["findings"], together["simulated_findings"]), (3, 2))
        self.assertEqual(together["simulated_ns"], (50 + 10 + 300) * US)
        words = "together: at most 460.00us; simulated 360.00us with 2 of the 3 findings."
        self.assertIn(words, " ".join(gpuprof("findings", path).stdout.split()))
        self.assertIn(words, gpuprof("findings", path, "--markdown").stdout)

    def test_every_rule_has_such_a_test(self):
        rules = {path.stem for path in (SOURCE / "libprof/conclude/findings/rules").glob("*.cpp")}
        tests = "".join(path.read_text(encoding="utf-8")
                        for path in (SOURCE / "tests/cli").glob("test_findings_*.py"))  # fmt: skip
        self.assertEqual(rules - set(re.findall(r"def test_(\w+)\(", tests)), set())


if __name__ == "__main__":
    unittest.main()
