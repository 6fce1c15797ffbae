# ctest-labels: plain
"""Metrics of a Python process that records itself: gpuprof.trace(metrics=), range() and measure().

The stand-in's formulas are in fake_metrics.py: a launch of 64 blocks reads 65,536 bytes."""

import contextlib
import sqlite3
import textwrap
import unittest

from fake_metrics import MetricTest
from fake_run import CUPTI
from fake_trace import ScriptTest

HEAD = f"""
BYTES, BLOCKS = "dram__bytes_read.sum", "sm__ctas_launched.sum"
FLOPS, THREE_PASSES = "flop_count_sp", "sm__throughput.avg.pct_of_peak_sustained_elapsed"

def range(name, metrics=None, **more):
    return gpuprof.range(name, metrics, cupti={str(CUPTI)!r}, **more)

def ctypes_checkpoints():
    library = ctypes.CDLL({str(CUPTI.with_name("libcheckpoint.so"))!r})
    library.fake_checkpoint_memory.restype = ctypes.POINTER(ctypes.c_int64)
    return library

def refused(what, f, *args, **more):
    try:
        f(*args, **more)
    except (gpuprof.Error, ValueError) as error:
        assert what in str(error), error
        return error
    assert False, what
"""


class RangeTest(ScriptTest, MetricTest):
    def run_script(self, script, **environment):
        return super().run_script(HEAD + textwrap.dedent(script), **environment)

    def rows(self, name, sql):
        with contextlib.closing(sqlite3.connect(self.folder / name)) as connection:
            return connection.execute(sql).fetchall()


class Kernels(RangeTest):
    def test_each_kernel_by_kernel_replay(self):
        self.run_script(
            """
            for i in (0, 1):
                with trace(f"{i}.sqlite", metrics=[BYTES, THREE_PASSES]) as t:
                    assert t.passes == 1
                    work(4)
                assert t.metrics == [BYTES, THREE_PASSES]
                values = [(row["metric"], row["value"]) for row in t.run.kernel_metrics.dicts()]
                assert sorted(values) == [(BYTES, 65536.0)] * 4 + [(THREE_PASSES, 62.5)] * 4, values
                work(3)                                      # of nobody
            with trace("plain.sqlite") as t:                 # nothing of it is left
                work(5)
            assert len(t.run.kernel_metrics) == 0 and len(t.run.kernels) == 5
            assert [row["name"] for row in t.losses] == ["begun_late"], t.losses
            """
        )
        self.assertEqual(self.rows("1.sqlite", "SELECT mode FROM METRIC_GROUP"), [("kernel",)])

    def test_only_some_kernels(self):
        self.run_script(
            """
            with trace("run.sqlite", metrics=BYTES, options=["--kernels", "^other"]) as t:
                work(3)
                cuda.fake_launch(b"other", 2)
            names = [row["name"] for row in t.run.kernel_metrics.dicts()]
            assert names == ["other"] * 2, names
            """
        )

    def test_kernels_that_wait_for_others_are_not_measured(self):
        self.run_script(
            """
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                with trace("run.sqlite", metrics=BYTES) as t:
                    work(2)
                    cuda.fake_launch(b"ncclDevKernel_AllReduce", 3)
            assert len(t.run.kernels) == 5 and len(t.run.kernel_metrics) == 2
            (warning,) = caught
            assert "3 left out because they may wait for others" in str(warning.message), warning
            """
        )

    def test_ranges_of_nvtx(self):
        self.run_script(
            """
            options = ["--range", "nvtx:^step$", "--metrics", BYTES]
            for i in (0, 1):
                with trace(f"{i}.sqlite", options=options) as t:
                    work(2)
                    cuda.fake_launch(b"outside", 5)
                    work(1)
                values = [row["value"] for row in t.run.range_metrics.dicts()]
                assert values == [2 * 65536, 65536], values
            """
        )

    def test_threads_launch_through_begin_and_end(self):
        self.run_script(
            """
            done = threading.Event()
            def launch():
                while not done.wait(0.0002):
                    cuda.fake_launch(b"beside", 3)
            cuda.fake_kernel_time(ctypes.c_uint64(10))
            threads = [threading.Thread(target=launch, daemon=True) for _ in "three"]
            for thread in threads: thread.start()
            for i in [0, 1, 2, 3]:
                with trace(f"{i}.sqlite", metrics=BYTES) as t:
                    work(5)
                measured = t.run.sql("SELECT value FROM kernel_metrics WHERE name = 'kernel'")
                values = [value for value, in measured]
                notes = {row["note"] for row in t.run.metric_gaps.dicts()}
                # A launch that began long before CUPTI was asked, and did not come to its end.
                late = len(notes) == 1 and "ranges for" in notes.pop()
                assert values == [65536] * 5 or late, (i, t, values, notes)
                t.run.close()
            done.set()
            for thread in threads: thread.join()
            """
        )

    def test_what_cannot_be_measured(self):
        self.run_script(
            """
            error = refused("no metric dram__bytes_raed.sum", trace("a.sqlite", metrics="dram__bytes_raed.sum").__enter__)
            assert "did you mean dram__bytes_read.sum" in str(error) and error.code == 5, error
            refused("kernel, multiplex or range", trace, "a.sqlite", metrics=BYTES, replay="magic")
            error = refused("take 2 passes", trace(
                "a.sqlite", options=["--metrics", f"{BYTES},gpu__time_duration.sum"]).__enter__)
            assert not os.path.exists("a.sqlite")
            with trace("b.sqlite") as t:
                work(1)
            assert len(t.run.kernels) == 1
            """
        )

    def test_no_permission(self):
        self.run_script(
            """
            error = refused("no metrics can be collected", trace("a.sqlite", metrics=BYTES).__enter__)
            assert error.code == 22, error
            """,
            FAKE_CUPTI_FAIL="cuptiRangeProfilerEnable=35",
        )


class Ranges(RangeTest):
    def test_values_and_units(self):
        self.run_script(
            """
            work(2)
            for launches in (3, 4):
                with range("attention", metrics=[BYTES, BLOCKS]) as r:
                    assert r.passes == 1
                    refused("no values yet", lambda: r.values)
                    work(launches)
                assert r.values == {BYTES: launches * 65536.0, BLOCKS: launches * 64.0}, r.values
                assert r.units == {BYTES: "byte", BLOCKS: "cta"}, r.units
                assert r.notes == [] and r.path is None
                assert [row["device_id"] for row in r.rows] == [0, 0]
                assert f"attention\\n  {BYTES} {launches * 65536} byte\\n" in repr(r), r
                work(1)
            assert gpuprof._trace._active is None
            """
        )

    def test_it_is_in_the_file_too(self):
        self.run_script(
            """
            with range("attention", f"{BYTES},{BLOCKS}", path="run.sqlite", trace="gpu") as r:
                work(3)
            assert r.path.endswith("run.sqlite") and r.values[BYTES] == 3 * 65536
            refused("run.sqlite", range("again", BYTES, path="run.sqlite").__enter__)
            """
        )
        rows = self.rows("run.sqlite", "SELECT kind, name, metric, value, unit FROM range_metrics")
        self.assertEqual(rows, [("range", "attention", "dram__bytes_read.sum", 196608.0, "byte"),
                                ("range", "attention", "sm__ctas_launched.sum", 192.0, "cta")])  # fmt: skip
        self.assertEqual(self.rows("run.sqlite", "SELECT count(*) FROM kernels"), [(3,)])

    def test_several_passes_are_refused_and_what_one_takes_is_told(self):
        self.run_script(
            """
            r = range("attention", [BYTES, THREE_PASSES, BLOCKS], path="run.sqlite")
            error = refused("take 4 passes, and what is inside of `with` runs once", r.__enter__)
            assert f"one pass can take {BYTES}, {BLOCKS})" in str(error), error
            assert "run(f)" in error.hint and not os.path.exists("run.sqlite")
            refused("used once", r.__enter__)
            with range("attention", [BYTES, BLOCKS]) as r:
                work(1)
            assert r.values == {BYTES: 65536, BLOCKS: 64}
            """
        )

    def test_a_function_is_called_for_each_pass(self):
        self.run_script(
            """
            calls = []
            def f(launches, *, more):
                calls.append(launches)
                work(launches + more)
                return len(calls)
            for late in (False, True):                       # the first time CUDA begins in it
                r = range("attention", [BYTES, THREE_PASSES, FLOPS], path="run.sqlite", overwrite=True)
                assert r.run(f, 5, more=1) is r
                assert calls == [5] * 5 and r.passes == 5 and r.result == 5, (calls, r.passes)
                assert r.values == {BYTES: 6 * 65536, THREE_PASSES: 62.5, FLOPS: 6 * 64 * 256 * 8}, r.values
                assert r.notes == [], r.notes
                calls.clear()
            """
        )
        # The first pass is the traced one.
        self.assertEqual(self.rows("run.sqlite", "SELECT count(*) FROM kernels"), [(6,)])
        self.assertEqual(self.rows("run.sqlite", "SELECT count(*) FROM processes"), [(1,)])
        self.assertEqual(
            self.rows("run.sqlite", "SELECT DISTINCT ordinal FROM METRIC_RANGE"), [(1,)]
        )

    def test_a_checkpoint_puts_back_what_a_pass_has_changed(self):
        self.run_script(
            """
            seen = []
            def f():
                memory = ctypes_checkpoints().fake_checkpoint_memory()
                seen.append(memory[0])
                memory[0] += 1
                work(1)
            work(1)
            for place, wanted in ((True, [0] * 5), (False, [1, 2, 3, 4, 5])):
                seen.clear()
                r = range("attention", [BYTES, THREE_PASSES, FLOPS], checkpoint=place).run(f)
                assert r.passes == 5 and seen == wanted, (r.passes, seen)
                assert r.values[BYTES] == 65536, r.values
            seen.clear()
            range("attention", BYTES, checkpoint=True).run(f)  # one pass needs none
            assert len(seen) == 1
            refused("for run()", range("attention", BYTES, checkpoint=True).__enter__)
            """
        )

    def test_a_function_that_fails(self):
        self.run_script(
            """
            calls = []
            def f():
                calls.append(None)
                work(1)
                if len(calls) == 2:
                    raise ZeroDivisionError("mine")
            try:
                range("attention", [BYTES, THREE_PASSES], path="run.sqlite").run(f)
            except ZeroDivisionError as error:
                assert str(error) == "mine"
            else:
                assert False
            assert len(calls) == 2
            with range("again", BYTES) as r:
                work(1)
            assert r.values == {BYTES: 65536}
            assert len(gpuprof.open("run.sqlite").kernels) == 1
            try:
                with range("more", BYTES) as r:
                    raise ZeroDivisionError
            except ZeroDivisionError:
                pass
            refused("what is inside of it failed", lambda: r.values)
            """
        )

    def test_several_of_one_trace(self):
        self.run_script(
            """
            with trace("run.sqlite", metrics=[BYTES], replay="range") as t:
                ranges = []
                for launches in (1, 2, 3):
                    with gpuprof.range("step") as r:
                        work(launches)
                        refused("one range at a time", gpuprof.range("inner").__enter__)
                    ranges.append(r)
                    cuda.fake_profiler_start()               # is a range of its own
                    work(7)
                    cuda.fake_profiler_stop()
                refused("no values yet", lambda: r.values)
                refused("does not measure " + BLOCKS, gpuprof.range("other", BLOCKS).__enter__)
                refused("its own trace", gpuprof.range("other", BYTES).run, work, 1)
            assert [r.values for r in ranges] == [{BYTES: n * 65536} for n in (1, 2, 3)]
            assert r.path == t.path and r.metrics == [BYTES]
            names = [row["name"] for row in t.run.range_metrics.dicts()]
            assert names == ["step", "cudaProfilerStart"] * 3, names
            """
        )

    def test_the_profiler_window_of_the_program_does_not_end_it(self):
        self.run_script(
            """
            with range("attention", BYTES) as r:
                cuda.fake_profiler_start()
                work(2)
                cuda.fake_profiler_stop()
                work(3)
            assert r.values == {BYTES: 5 * 65536}, r.values
            """
        )

    def test_work_from_before_and_after_is_left_out(self):
        self.run_script(
            """
            cuda.fake_launch(b"before", 4)
            with range("attention", BYTES) as r:
                cuda.fake_launch(b"inside", 3)               # nobody waits for it
            cuda.fake_launch(b"after", 4)
            assert r.values == {BYTES: 3 * 65536}, r.values
            """
        )

    def test_what_cannot_be_measured(self):
        self.run_script(
            """
            refused("has no metrics", gpuprof.range("a").__enter__)
            refused("no metric nonsense", range("a", "nonsense").__enter__)
            with trace("run.sqlite") as t:
                refused("without metrics of ranges", range("a", BYTES).__enter__)
                work(1)
            with trace("kernels.sqlite", metrics=BYTES) as t:
                refused("without metrics of ranges", range("a", BYTES).__enter__)
                work(1)
            work(1)
            with range("odd \\0 name \\udcff", BYTES) as r:
                work(1)
            assert r.values == {BYTES: 65536}
            """
        )

    def test_without_cuda(self):
        self.run_script(
            """
            def nothing():
                with range("a", BYTES):
                    pass
            refused("has to use CUDA", nothing)
            """
        )

    def test_cupti_fails_meanwhile(self):
        """The reason for missing values is reported."""
        self.run_script(
            """
            warnings.simplefilter("ignore")
            def measured():
                with range("a", BYTES) as r:
                    work(2)
                return r
            error = refused("nothing was measured of the range 'a'", measured)
            assert "no more metrics" in str(error), error
            """,
            FAKE_CUPTI_FAIL="cuptiRangeProfilerPushRange=999",
        )

    def test_again_and_again(self):
        self.run_script(
            """
            import time
            def held():
                threads = len(os.listdir("/proc/self/task"))
                return threads, len(os.listdir("/proc/self/fd"))
            few = None
            for i in [0, 1, 2, 3, 4, 5]:
                with range("attention", BYTES) as r:
                    work(1 + i)
                assert r.values == {BYTES: (1 + i) * 65536}
                few = few or (i == 2 and held())
            until = time.monotonic() + 60
            while held()[0] > few[0] and time.monotonic() < until:
                time.sleep(0.01)
            assert held()[0] <= few[0] and held()[1] == few[1], (few, held())
            """
        )

    def test_two_contexts(self):
        """Values of each, with the device."""
        self.run_script(
            """
            cuda.fake_init()
            with range("attention", BYTES) as r:
                work(2)
                cuda.fake_device_set(1)
                work(3)
                cuda.fake_device_set(0)
            assert sorted((row["device_id"], row["value"]) for row in r.rows) == [
                (0, 2 * 65536), (1, 3 * 65536)], r.rows
            refused("several contexts: ", lambda: r.values)
            """,
            FAKE_CUDA_DEVICES=2,
        )


class Measure(RangeTest):
    def test_rows(self):
        out = self.run_script(
            f"""
            calls = []
            @gpuprof.measure(configs=[(2, "half"), (3, "full")], metrics=[BYTES, THREE_PASSES], runs=3,
                             warmup=2, path="run.sqlite", cupti={str(CUPTI)!r})
            def step(launches, kind):
                "What it does."
                calls.append((launches, kind))
                work(launches if kind == "half" else launches * 2)
            assert step.__name__ == "step" and step.__doc__ == "What it does." and calls == []
            cuda.fake_kernel_time(ctypes.c_uint64(2000))
            m = step()
            # Of each configuration 2 to warm up, 1 that is left out, 3 that count; and 3 in each of 4 passes.
            assert calls.count((2, "half")) == calls.count((3, "full")) == 6 + 3 * 4, len(calls)
            assert [(row["config"], row["metric"], row["unit"], row["median"]) for row in m.rows] == [
                ((2, "half"), "duration", "ns", 4000), ((2, "half"), BYTES, "byte", 2 * 65536),
                ((2, "half"), THREE_PASSES, "%", 62.5),
                ((3, "full"), "duration", "ns", 12000), ((3, "full"), BYTES, "byte", 6 * 65536),
                ((3, "full"), THREE_PASSES, "%", 62.5)], m.rows
            for row in m.rows:
                assert row["mad"] == 0 and row["min"] == row["max"] == row["median"], row
                assert row["runs"] == 3 and row["values"] == [row["median"]] * 3 and row["notes"] == [], row
            print(m)
            assert repr(m).startswith("<gpuprof measured step:\\nconfig")
            """
        )
        head, *lines = out.splitlines()
        self.assertEqual(head.split(), ["config", "metric", "unit", "median", "mad", "runs"])
        self.assertEqual(
            lines[1].split(), ["2,", "'half'", "dram__bytes_read.sum", "byte", "131072", "0", "3"]
        )
        names = self.rows("run.sqlite", "SELECT name, count(*) FROM range_metrics GROUP BY 1")
        self.assertEqual(names, [("step(2, 'half')", 6), ("step(3, 'full')", 6)])

    def test_runs_that_differ(self):
        self.run_script(
            f"""
            calls = []
            def step(first):
                calls.append(None)
                cuda.fake_kernel_time(ctypes.c_uint64(1000 * len(calls)))
                work(1)
            m = gpuprof.measure(configs=[7], runs=5, warmup=1, cupti={str(CUPTI)!r})(step)()
            (row,) = m.rows
            # One to warm up, and the first of the trace.
            assert row["values"] == [3000, 4000, 5000, 6000, 7000] and row["config"] == (7,), row
            assert (row["median"], row["mad"], row["min"], row["max"]) == (5000, 1000, 3000, 7000), row
            """
        )

    def test_what_cannot_be_measured(self):
        self.run_script(
            f"""
            def measured(f, **more):
                return gpuprof.measure(cupti={str(CUPTI)!r}, **more)(f)()
            refused("at least one run", gpuprof.measure, runs=0)
            refused("mine", measured, lambda: (_ for _ in ()).throw(ValueError("mine")))
            refused("no metric nonsense", measured, lambda: work(1), metrics=["nonsense"], runs=1)
            with trace("run.sqlite"):
                refused("traced already", measured, lambda: work(1))
                work(1)
            calls = []
            def fails_late():
                calls.append(None)
                work(1)
                if len(calls) > 6:
                    raise ZeroDivisionError
            try:
                measured(fails_late, metrics=[BYTES], runs=3, warmup=1)
            except ZeroDivisionError:
                pass
            assert len(calls) == 7, len(calls)
            assert measured(lambda: work(2), runs=2, metrics=BYTES).rows[1]["median"] == 2 * 65536
            """
        )


if __name__ == "__main__":
    unittest.main()
