# ctest-labels: plain
"""gpuprof.pm_sampling: samples, also in the background, and collectors that share a device."""

import unittest

from fake_counters import Program
from fake_run import PATIENCE


class Sampling(Program):
    def test_samples_of_a_collector(self):
        answer = self.ran(
            """
            c = enabled(ACTIVE, READ)
            size = c.buffer_size_for([ACTIVE, READ], 10), c.buffer_size_for([ACTIVE, READ], 1000)
            c.start()
            parts = decoded(c)
            c.stop()
            rest = c.decode()
            empty = c.decode()
            d = parts[-1]
            times = [t for part in parts + [rest] for t in part.timestamps().tolist()]
            one = d[0]
            answer = {
                "right": all(right(part, 1) for part in parts + [rest] if len(part)),
                "meet": all(a[1] == b[0] for a, b in zip(times, times[1:])),
                "length": {b - a for a, b in times} == {MS},
                "empty": [len(empty), list(empty), empty.to_numpy().shape],
                "size": size,
                "sample": [one.start_timestamp == d.timestamps()[0, 0],
                           one.metric_values == d.to_numpy()[0].tolist(), one == d[-len(d)]],
                "iterates": list(d) == d[:] == [d[i] for i in range(len(d))],
                "slice": d[::-2] == list(d)[::-2],
                "outside": [refused(d.__getitem__, i)["kinds"][0] for i in (len(d), -len(d) - 1, 1.0, "a")],
                "shape": d.to_numpy().shape == (len(d), 2),
                "metrics": d.metrics, "counts": [d.num_total_samples, d.num_completed_samples == len(d)],
                "at": d.at(one.start_timestamp + 5) == one, "nowhere": d.at(5), "state": c.state(),
                "repr": [repr(c), repr(d).startswith("<")],
            }
            c.disable()
            answer["disabled"] = repr(c)
            answer["afterwards"] = d[0] == one
            """
        )
        self.assertTrue(answer["right"] and answer["meet"] and answer["length"], answer)
        self.assertEqual(answer["empty"], [0, [], [0, 2]])
        self.assertGreater(answer["size"][1], 50 * answer["size"][0])
        self.assertEqual(answer["sample"], [True, True, True])
        self.assertTrue(answer["iterates"] and answer["slice"] and answer["shape"])
        self.assertEqual(answer["outside"], ["IndexError", "IndexError", "TypeError", "TypeError"])
        self.assertEqual(answer["counts"], [10000, True])
        self.assertTrue(answer["at"] and answer["afterwards"])
        self.assertIsNone(answer["nowhere"])
        self.assertEqual((answer["state"]["chip"], answer["state"]["lost"]), ("FAKE1", 0))
        self.assertIn("disabled", answer["disabled"])

    def test_the_first_sample_is_left_out(self):
        """It begins when the session was opened."""
        answer = self.ran(
            """
            c = enabled(READ)
            time.sleep(0.05)
            before = time.time_ns()
            c.start()
            parts = decoded(c, 5)
            c.stop(); c.decode(); c.start()
            again = decoded(c, 5)
            answer = [parts[0][0].start_timestamp > before,
                      sum(p.num_populated_samples for p in parts) - sum(map(len, parts)),
                      max(e - s for p in parts + again for s, e in p.timestamps().tolist())]
            """
        )
        self.assertEqual(answer, [True, 1, 1_000_000])

    def test_clocks(self):
        answer = self.ran(
            """
            c = enabled(READ)
            c.start()
            d = decoded(c, 5)[-1]
            now = {"cupti": time.time_ns(), "unix": time.time_ns(), "monotonic": time.monotonic_ns()}
            answer = {name: [int(now[name] - d.timestamps(name)[-1, 1]),
                             len(set((d.timestamps(name) - d.timestamps()).ravel().tolist()))] for name in now}
            answer["none"] = refused(d.timestamps, "tsc")
            answer["made"] = refused(CounterData(image=d._parts[0].image, metrics=d.metrics,
                chip_name="FAKE1", num_total_samples=9, num_populated_samples=1,
                num_completed_samples=1, start_timestamps=[1], end_timestamps=[2]).timestamps, "unix")
            """
        )
        for name in ("cupti", "unix", "monotonic"):
            self.assertGreater(answer[name][0], -1_000_000)
            self.assertLess(answer[name][0], PATIENCE * 1_000_000_000)
            self.assertEqual(answer[name][1], 1)
        self.assert_refused(answer["none"], "ValueError", "there is no clock 'tsc'")
        self.assert_refused(answer["made"], "ValueError", "only samples of a Collector")

    def test_frames(self):
        answer = self.ran(
            """
            c = enabled(ACTIVE, READ)
            c.start()
            d = decoded(c, 5)[-1]
            frame, table = d.to_pandas("unix"), d.to_arrow()
            answer = [list(frame.columns), [str(t) for t in frame.dtypes], len(frame) == len(d),
                      (frame["start"].to_numpy() == d.timestamps("unix")[:, 0]).all().item(),
                      (frame[READ].to_numpy() == d.to_numpy()[:, 1]).all().item(),
                      table.column_names, table.column(READ).to_pylist() == d.to_numpy()[:, 1].tolist(),
                      [str(f.type) for f in table.schema]]
            """
        )
        columns = ["start", "end", "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
                   "dram__bytes_read.sum.per_second"]  # fmt: skip
        self.assertEqual(answer, [columns, ["int64", "int64", "float64", "float64"], True, True, True,
                                  columns, True, ["int64", "int64", "double", "double"]])  # fmt: skip

    def test_pickled_and_made(self):
        answer = self.ran(
            """
            c = enabled(READ)
            c.start()
            d = decoded(c, 5)[-1]
            before = pickle.loads(pickle.dumps(d))
            equal = list(before) == list(d)
            after = pickle.loads(pickle.dumps(d))
            part = d._parts[0]
            made = CounterData(image=part.image, metrics=d.metrics, chip_name="FAKE1",
                num_total_samples=10, num_populated_samples=len(d), num_completed_samples=len(d),
                start_timestamps=d.timestamps()[:, 0].tolist(),
                end_timestamps=d.timestamps()[:, 1].tolist())
            answer = [equal, list(after) == list(d), made[0].start_timestamp == d[0].start_timestamp,
                      len(made) == len(d), before.metrics]
            """
        )
        self.assertEqual(answer, [True, True, True, True, ["dram__bytes_read.sum.per_second"]])

    def test_many_samples_are_evaluated_in_one_call(self):
        """On several threads the result is the same as on one, with each sample once."""
        answer = self.ran(
            """
            c = enabled(READ, ACTIVE, sampling_interval=20_000, hardware_buffer_size=1 << 30)
            c.start()
            time.sleep(0.3)
            c.stop()
            d = c.decode(20_000)
            host = profiler_host.ProfilerHost("FAKE1", profiler_host.ProfilerType.PM_SAMPLING)
            host.initialize()
            values = d.to_numpy()
            image = d._parts[0]
            singly = [host.evaluate_metric_values(image.image, d.metrics, int(i)).tolist()
                      for i in image.places[::97]]
            answer = [len(d) > 4000, len(d._parts), singly == values[::97].tolist(),
                      host.evaluate_samples(image.image, d.metrics, image.places).tolist()
                      == values.tolist()]
            """
        )
        self.assertEqual(answer, [True, 1, True, True])

    def test_trigger_and_append_modes(self):
        answer = self.ran(
            """
            c = enabled(READ, sampling_interval=MS // 2,
                        trigger_mode=pm_sampling.TriggerMode.GPU_SYSCLK_INTERVAL)
            c.start()
            d = decoded(c, 5)[-1]
            c.stop()
            c.configure(metrics=[READ], sampling_interval=MS, hardware_buffer_size=10 * 1024,
                hw_buffer_append_mode=pm_sampling.HardwareBuffer_AppendMode.KEEP_LATEST)
            c.start()
            time.sleep(0.1)
            latest = c.decode()
            answer = [d[0].end_timestamp - d[0].start_timestamp, len(latest) <= 10, c.state()["overflows"]]
            """
        )
        self.assertEqual(answer, [1_000_000, True, 0])  # a cycle of the stand-in takes 2 ns

    def test_a_single_pass_set(self):
        answer = self.ran(
            """
            c = enabled(READ, single_pass_metric_set_name="Memory")
            c.start()
            d = decoded(c, 5)[-1]
            c.stop()
            answer = [right(d),
                refused(c.configure, metrics=[ACTIVE], single_pass_metric_set_name="Memory"),
                refused(c.configure, metrics=[READ], single_pass_metric_set_name="Nonsense")]
            """
        )
        self.assertTrue(answer[0])
        self.assert_refused(answer[1], "ValueError", "in the set Memory")
        self.assert_refused(answer[2], "ValueError", "it has Memory, Compute")


class Background(Program):
    def test_decoding_goes_on_by_itself(self):
        """A buffer of 20 samples would otherwise be full."""
        answer = self.ran(
            """
            c = enabled(READ, hardware_buffer_size=200 * 1024)
            c.start(background=True)
            parts = decoded(c, 450)
            c.stop()
            rest = c.decode()
            times = [t for part in parts + [rest] for t in part.timestamps().tolist()]
            answer = [all(right(part) for part in parts + [rest] if len(part)), c.state(),
                      all(a[1] <= b[0] for a, b in zip(times, times[1:]))]
            """
        )
        self.assertTrue(answer[0] and answer[2])
        self.assertEqual(answer[1]["problem"], "")

    def test_the_ring_keeps_the_last(self):
        answer = self.ran(
            """
            c = enabled(READ)
            c.start(background=True, ring=7)
            until(lambda: c.state()["lost"] > 10)
            c.stop()
            d = c.decode()
            answer = [len(d), c.state()["lost"] > 10, right(d), len(c.decode()),
                      refused(c.start, ring=0)]
            """
        )
        self.assertEqual(answer[:4], [7, True, True, 0])
        self.assert_refused(answer[4], "ValueError", "ring")

    def test_callback(self):
        """All samples, in order, on another thread; an exception in the callback does not end it."""
        answer = self.ran(
            """
            got, threads = [], set()
            def take(data):
                got.append(data)
                threads.add(threading.current_thread().name)
                if len(got) == 1:
                    raise KeyError("mine")
            c = enabled(READ)
            c.start(on_samples=take)
            wrong = refused(c.decode)
            until(lambda: len(got) > 3)
            c.stop()
            times = [t for part in got for t in part.timestamps().tolist()]
            answer = [wrong, all(a[1] == b[0] for a, b in zip(times, times[1:])),
                      len(times) == c.state()["samples"], all(map(right, got)), sorted(threads),
                      len(c.decode())]
            """
        )
        self.assert_refused(answer[0], "RuntimeError", "on_samples")
        self.assertEqual(answer[1:], [True, True, True, ["gpuprof pm_sampling"], 0])
        self.assertIn("KeyError: 'mine'", self.stderr)

    def test_callback_may_disable(self):
        answer = self.ran(
            """
            c = enabled(READ)
            c.start(on_samples=lambda data: c.disable())
            until(lambda: "disabled" in repr(c))
            answer = refused(c.decode)
            """
        )
        self.assert_refused(answer, "RuntimeError", "not enabled")
        self.assertEqual(self.stderr, "")

    def test_a_process_may_end_while_it_samples(self):
        self.ran("c = enabled(READ); c.start(background=True); decoded(c, 5); answer = 0")
        self.assertEqual(self.stderr, "")

    def test_when_decoding_fails(self):
        answer = self.ran(
            """
            c = enabled(READ)
            c.start(background=True)
            until(lambda: c.state()["problem"])
            problem = None
            while not problem:
                try:
                    c.decode()
                except Exception as error:
                    problem = str(error)
            c.disable()
            c = enabled(READ)
            answer = [problem, c.state()["problem"]]
            """,
            FAKE_CUPTI_FAIL="cuptiPmSamplingDecodeData=999@3",
        )
        self.assertIn("ended: ", answer[0])
        self.assertIn("cuptiPmSamplingDecodeData 999", answer[0])
        self.assertEqual(answer[1], "")


class Sharing(Program):
    def test_two_collectors_of_one_device(self):
        answer = self.ran(
            """
            a, b = enabled(READ), enabled(WRITE, READ)
            consumers = a.state()["consumers"]
            a.start()
            first = decoded(a, 10)
            b.start(background=True)
            of_b = decoded(b, 10)
            of_a = decoded(a, 10)
            b.disable()
            after = decoded(a, 10)
            alone = a.state()["consumers"]
            a.stop()
            rest = a.decode()
            everything = first + of_a + after + [rest]
            times = [t for part in everything for t in part.timestamps().tolist()]
            answer = [consumers, alone, all(right(p) for p in everything if len(p)),
                      all(right(p, 1) for p in of_b if len(p)),
                      all(x[1] <= y[0] for x, y in zip(times, times[1:])),
                      sum(x[1] != y[0] for x, y in zip(times, times[1:])) <= 1,
                      {e - s for s, e in times} == {MS}]
            """
        )
        self.assertEqual(answer, [2, 1] + [True] * 5)

    def test_what_one_decodes_the_other_gets_too(self):
        answer = self.ran(
            """
            a, b = enabled(READ), enabled(READ)
            a.start(); b.start()
            d = decoded(a, 10)
            other = decoded(b, 10)
            same = set(d[-1].timestamps()[:, 0].tolist()) & {
                t for p in other for t in p.timestamps()[:, 0].tolist()}
            b.stop(); b.disable(); b.disable()
            answer = [len(same) == len(d[-1]), all(map(right, [p for p in other if len(p)])),
                      len(decoded(a, 5)) > 0]
            """
        )
        self.assertEqual(answer, [True, True, True])

    def test_two_devices_end_one_after_the_other(self):
        answer = self.ran(
            """
            a, b = enabled(ACTIVE), enabled(ACTIVE, device=1)
            a.start(); b.start()
            values = [decoded(c, 5)[-1].to_numpy()[-1].tolist() for c in (a, b)]
            a.disable()
            after = decoded(b, 5)[-1].to_numpy()
            b.disable()
            c = enabled(READ); c.start(); again = right(decoded(c, 5)[-1])
            import math
            answer = [len(v) for v in values] + [bool((after == after).all()), again]
            """,
            FAKE_CUDA_DEVICES="2",
        )
        self.assertEqual(answer, [1, 1, True, True])

    def test_what_does_not_go_together(self):
        answer = self.ran(
            """
            a, b = enabled(*FIVE[:3]), Collector()
            a.start()
            b.enable()
            answer = [refused(b.configure, metrics=FIVE[:1], sampling_interval=2 * MS),
                      refused(b.configure, metrics=FIVE[3:], sampling_interval=MS)]
            b.configure(metrics=FIVE[3:4], sampling_interval=MS)
            b.start()
            answer += [len(decoded(b, 5)) > 0, len(decoded(a, 5)) > 0,
                       refused(a.configure, metrics=[READ])]
            """
        )
        self.assert_refused(answer[0], "ValueError", "another consumer of this process")
        self.assert_refused(answer[1], "ValueError", "do not fit into one pass")
        self.assertEqual(answer[2:4], [True, True])
        self.assert_refused(answer[4], "RuntimeError", "stop() it first")


if __name__ == "__main__":
    unittest.main()
