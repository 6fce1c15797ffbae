# ctest-cost: 8
# ctest-labels: plain
"""gpuprof findings: rules about kernels, links, clocks and loading find what was made for them, to the
nanosecond, and nothing in its mended twin.
"""

import unittest

from findings_made import KIND, US, FindingsTest


class KernelRules(FindingsTest):
    def insert(self, made, table, **values):
        """Into the finished profile: an excerpt has no samples and metrics of all launches together."""
        made.later.append((
            f"INSERT INTO {table}({', '.join(f'[{name}]' for name in values)}) "
            f"VALUES({', '.join('?' * len(values))})",
            tuple(values.values()),
        ))  # fmt: skip

    def processors(self, made):
        return made.database.execute(f"SELECT numMultiprocessors FROM {KIND}DEVICE").fetchone()[0]

    def process(self, made):
        return made.database.execute(f"SELECT processId FROM {KIND}DEVICE").fetchone()[0]

    def test_loading_in_launches(self):
        def make(made, sound):
            made.kernel(100, 200, launched=(90, 95))
            # Of the gap of 100 us, the launch loads code for 60 us, in a function and, within it, a
            # module. In the mended program it does so before the first work.
            begin = 20 if sound else 210
            for kind, first, last in ((262144, begin, begin + 60), (1, begin, begin + 10)):
                self.insert(made, f"{KIND}OVERHEAD", overheadKind=kind, start=made.zero + first * US,
                            end=made.zero + last * US, processId=self.process(made))  # fmt: skip
            made.kernel(300, 400, launched=(195, 298) if not sound else (190, 198))

        # The mended one is launched long before its kernel begins.
        self.check("loading_in_launches", make, 60 * US, {"waiting_work": 92 * US})

    def test_slow_copies(self):
        def make(made, sound):
            made.database.execute(
                f"UPDATE {KIND}PCIE SET pcieGeneration = 4, linkWidth = 8, type = 0"
            )
            made.call("cudaMemcpyAsync", 10, 90)
            # 15.752 GB/s: 15,752,000 bytes take a millisecond.
            made.copy(100, 2000 if sound else 2200, size=15_752_000)
            made.kernel(100, 110)

        self.check("slow_copies", make, 1100 * US, {"unhidden_copies": 1890 * US},
                   {"unhidden_copies": 990 * US}.items())  # fmt: skip

    def test_throttled_clock(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            made.kernel(100, 1100)
            for time, clock, reasons in ((200, 1485, 4), (600, 1980, 0), (900, 990, 1)):
                self.insert(made, f"{KIND}ENVIRONMENT", deviceId=0, environmentKind=1,
                            timestamp=made.zero + time * US, smClock=clock,
                            clocksThrottleReasons=0 if sound else reasons)  # fmt: skip

        # Of three readings one is limited, by a quarter; the last is of an idle GPU.
        self.check("throttled_clock", make, 1000 * US // 12, {})

    def test_page_migrations(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            made.kernel(100, 1100)
            for i in range(2 if sound else 4):
                there = i % 2 == 0
                self.insert(made, f"{KIND}UNIFIED_MEMORY_COUNTER", counterKind=1 if there else 2,
                            value=65536, address=0x7F0000000000, start=made.zero + (200 + 20 * i) * US,
                            end=made.zero + (210 + 20 * i) * US, srcId=0 if not there else 255,
                            dstId=0 if there else 255, processId=self.process(made))  # fmt: skip

        self.check("page_migrations", make, 40 * US, {})

    def test_serial_streams(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            half = self.processors(made) // 2
            for i in range(4):
                begin = 100 + (60 if sound else 100) * i
                made.kernel(begin, begin + 60, streamId=7, gridX=half)
                made.kernel(begin + (0 if sound else 60), begin + (60 if sound else 100), streamId=13,
                            gridX=half)  # fmt: skip

        # Of the 400 us the longest stream has 240. All kernels use half of the multiprocessors.
        self.check("serial_streams", make, 160 * US, {"small_grids": 240 * US},
                   {"small_grids": 200 * US}.items())  # fmt: skip

    def test_partial_waves(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            # 8 blocks of 256 threads fit on a multiprocessor.
            wave = 8 * self.processors(made)
            made.kernel(100, 300, gridX=2 * wave if sound else wave + wave // 2,
                        registersPerThread=16)  # fmt: skip

        self.check("partial_waves", make, 50 * US, {})

    def test_uneven_launches(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            begin = 100
            for i in range(20):
                end = begin + (40 if i == 7 and not sound else 10)
                made.kernel(begin, end)
                begin = end

        self.check("uneven_launches", make, 30 * US, {})

    def test_fp32_matrix_products(self):
        def make(made, sound):
            made.call("cudaLaunchKernel", 10, 90)
            made.kernel(
                100, 180, name="ampere_s1688gemm_tf32_128x64" if sound else "ampere_sgemm_128x64_nn"
            )
            made.kernel(180, 200, name="softmax")

        self.check("fp32_matrix_products", make, 80 * US * 428 // 495, {})

    def samples(self, made, reason, share):
        """Of 200 samples of the kernel."""
        for number, each in ((90, reason), (91, "selected")):
            self.insert(made, "PC_STALL_REASON", id=number, name=each, reason=each)
        name = made.string("waits(float*)")
        process = self.process(made)
        self.insert(made, f"{KIND}FUNCTION", id=77, name=name, processId=process)
        for stall, count in ((90, 200 * share // 100), (91, 200 - 200 * share // 100)):
            self.insert(made, f"{KIND}PC_SAMPLING", functionId=77, pcOffset=stall, sourceLocatorId=0,
                        stallReasonId=stall, deviceId=0, correlationId=0, processId=process,
                        samples=count, latencySamples=count)  # fmt: skip
        made.call("cudaLaunchKernel", 10, 90)
        made.kernel(100, 200)
        made.database.execute(f"UPDATE {KIND}CONCURRENT_KERNEL SET name = ?", (name,))

    def test_memory_stalls(self):
        self.check("memory_stalls",
                   lambda made, sound: self.samples(made, "long_scoreboard", 30 if sound else 60),
                   60 * US, {})  # fmt: skip

    def test_barrier_stalls(self):
        self.check("barrier_stalls",
                   lambda made, sound: self.samples(made, "barrier", 10 if sound else 40),
                   40 * US, {})  # fmt: skip

    def stalls(self, rule, reason, few, many):
        self.check(rule, lambda made, sound: self.samples(made, reason, few if sound else many),
                   many * US, {})  # fmt: skip

    def test_shared_memory_stalls(self):
        self.stalls("shared_memory_stalls", "mio_throttle", 30, 40)

    def test_narrow_accesses(self):
        self.stalls("narrow_accesses", "lg_throttle", 10, 20)

    def test_busy_pipes(self):
        self.stalls("busy_pipes", "math_pipe_throttle", 30, 50)

    def test_fixed_latencies(self):
        self.stalls("fixed_latencies", "wait", 30, 60)

    def test_instruction_stalls(self):
        self.stalls("instruction_stalls", "no_instructions", 10, 20)

    def test_branch_stalls(self):
        self.stalls("branch_stalls", "branch_resolving", 10, 30)

    def test_draining_stores(self):
        self.stalls("draining_stores", "drain", 10, 20)

    def test_warps_that_were_not_selected_are_enough(self):
        """PC samples say that low occupancy is no harm where warps could go on and others did."""
        for share, found in ((30, []), (10, ["low_occupancy"])):
            made = self.made()
            self.samples(made, "not_selected", share)
            made.database.execute(f"UPDATE {KIND}CONCURRENT_KERNEL SET registersPerThread = 255")
            document = self.findings(made.finish(), "--min", "0")
            self.assertEqual([each["rule"] for each in document["findings"]], found)

    def metric(self, made, metric, percent):
        name = made.string("moves_gemm(float*)")
        made.call("cudaLaunchKernel", 10, 90)
        made.kernel(100, 200, registersPerThread=16)
        made.database.execute(f"UPDATE {KIND}CONCURRENT_KERNEL SET name = ?", (name,))
        self.insert(made, "METRIC_RANGE", _id_=601, kind="kernel", name=name, deviceId=0,
                    processId=self.process(made))  # fmt: skip
        self.insert(made, "METRIC", _id_=501, name=metric, unit="%")
        self.insert(made, "METRIC_VALUE", range=601, metric=501, value=percent)

    def test_scattered_accesses(self):
        for metric in ("gld_efficiency", "gst_efficiency"):
            self.check("scattered_accesses",
                       lambda made, sound, it=metric: self.metric(made, it, 50 if sound else 12.5),
                       87500, {})  # fmt: skip

    def test_time_of_measuring(self):
        """Where kernels were measured, the program waited for that: idle time is judged by nobody."""
        for measured, found in ((False, ["host_away"]), (True, ["scattered_accesses"])):
            made = self.made()
            if measured:
                self.metric(made, "gld_efficiency", 12.5)
            else:
                made.call("cudaLaunchKernel", 10, 90)
                made.kernel(100, 200, registersPerThread=16)
            made.call("cudaLaunchKernel", 9000, 9010)
            made.kernel(9020, 9120, registersPerThread=16)
            document = self.findings(made.finish(), "--min", "0")
            self.assertEqual([each["rule"] for each in document["findings"]][:1], found)
            (device,) = document["devices"]
            self.assertEqual(device["measured"], measured)
            self.assertEqual(device["time_ns"], 200 * US if measured else 9020 * US)
            self.assertEqual(device["idle_ns"], 0 if measured else 8820 * US)

    def measured(self, rule, metric, few, many, expected):
        self.check(rule, lambda made, sound: self.metric(made, metric, few if sound else many),
                   expected, {})  # fmt: skip

    def metrics(self, rule, few, many, expected):
        """Both are metrics of the same kernel, by name."""

        def make(made, sound):
            for number, (name, value) in enumerate((few if sound else many).items(), 502):
                self.insert(made, "METRIC", _id_=number, name=name)
                self.insert(made, "METRIC_VALUE", range=601, metric=number, value=value)
            self.metric(made, "gpu__time_duration.sum", 1)

        self.check(rule, make, expected, {})

    def units(self, rule, few, many, expected):
        names = ("dram__throughput.avg.pct_of_peak_sustained_elapsed",
                 "lts__t_sectors.avg.pct_of_peak_sustained_elapsed",
                 "sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_active")  # fmt: skip
        self.metrics(rule, *(dict(zip(names, each, strict=True)) for each in (few, many)), expected)

    def test_idle_units(self):
        self.units("idle_units", (30, 61, 20), (30, 40, 20), 60 * US)

    def test_busy_memory(self):
        self.units("busy_memory", (84, 50, 20), (90, 50, 20), 50 * US)

    def test_busy_caches(self):
        self.units("busy_caches", (60, 79, 20), (60, 85, 20), 40 * US)

    def test_local_traffic(self):
        few, many = ({"local_load_transactions": local, "gld_transactions": 100 - local}
                     for local in (5, 10))  # fmt: skip
        self.metrics("local_traffic", few, many, 10 * US)

    def test_many_atomics(self):
        few, many = ({"l2_atomic_transactions": atomics, "l2_read_transactions": 100,
                      "l2_write_transactions": 100} for atomics in (40, 50))  # fmt: skip
        self.metrics("many_atomics", few, many, 25 * US)

    def test_sampled_multiprocessors(self):
        def make(made, sound):
            self.insert(made, "PM_METRIC", name="sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
                        part=0, place=1)  # fmt: skip
            name = made.string("waits(float*)")
            self.insert(made, "PM_KERNEL", deviceId=0, name=name, start=made.zero + 100 * US,
                        stop=made.zero + 200 * US, samples=9, part=0, v1=30 if sound else 25)  # fmt: skip
            made.call("cudaLaunchKernel", 10, 90)
            made.kernel(100, 200, name)

        self.check("sampled_multiprocessors", make, 75 * US, {})

    def test_divergent_warps(self):
        self.measured("divergent_warps", "warp_execution_efficiency", 75, 50, 50 * US)

    def test_idle_multiprocessors(self):
        self.measured("idle_multiprocessors", "sm_efficiency", 80, 60, 40 * US)

    def test_missing_warps(self):
        # All 64 warps fit.
        self.measured("missing_warps", "achieved_occupancy", 0.8, 0.25, 75 * US)

    def test_latency_bound(self):
        self.measured("latency_bound", "issue_slot_utilization", 60, 25, 75 * US)

    def test_idle_tensor_cores(self):
        self.measured("idle_tensor_cores",
                      "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_active", 30, 20, 80 * US)  # fmt: skip

    def test_metrics_for_findings(self):
        """--metrics @findings measures what rules need, and they say so."""
        reasons = {rule["rule"]: rule["abstains"]
                   for rule in self.findings(self.replayed("vector_add"))["rules"]}  # fmt: skip
        for rule in ("scattered_accesses", "bank_conflicts", "divergent_warps", "idle_multiprocessors",
                     "missing_warps", "latency_bound", "idle_tensor_cores"):  # fmt: skip
            self.assertIn("--metrics @findings", reasons[rule])

    def test_bank_conflicts(self):
        self.check("bank_conflicts",
                   lambda made, sound: self.metric(made, "shared_efficiency", 50 if sound else 25),
                   75 * US, {})  # fmt: skip


if __name__ == "__main__":
    unittest.main()
