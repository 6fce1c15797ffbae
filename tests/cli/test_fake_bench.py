# ctest-labels: plain
"""Features built on gpuprof.trace(): bench(), the pytest plug-in, the notebook's magic."""

import ctypes.util
import importlib.util
import os
import re
import subprocess
import sys
import textwrap
import unittest

from fake_metrics import MetricTest
from fake_run import BUILD, CUPTI, PATIENCE
from fake_trace import HEAD, ScriptTest

SETTINGS = {"PYTHONPATH": BUILD / "share" / "gpuprof" / "python", "GPUPROF_CUPTI": CUPTI,
            "GPUPROF_NO_CONFIG": ""}  # fmt: skip


class Bench(ScriptTest):
    def test_times_of_records(self):
        """The stand-in's kernels take as long as configured, one after the other."""
        self.run_script(
            f"""
            def step(launches, last="end"):
                for _ in range(launches):
                    cuda.fake_launch(b"first", 1)
                cuda.fake_launch(last.encode(), 1)

            cuda.fake_kernel_time(ctypes.c_uint64(2000))
            for flush in (True, False):
                b = gpuprof.bench(step, 3, last="other", runs=7, flush_l2=flush, cupti={str(CUPTI)!r})
                assert b.samples_ns == [8000] * 7, b.samples_ns
                assert (b.median_ns, b.mad_ns, b.min_ns, b.max_ns) == (8000, 0, 8000, 8000), b
                assert all(span >= 8000 for span in b.span_samples_ns), b.span_samples_ns
                first, other = b.kernels
                assert first == {{"name": "first", "count": 3, "median_ns": 6000, "min_ns": 6000,
                                 "max_ns": 6000}}, first
                assert other["name"] == "other" and other["median_ns"] == 2000, other
                text = "L2 flushed" if flush else "L2 warm"
                assert repr(b) == (f"<gpuprof bench step: 8 us ± 0 ns (median and MAD of 7 runs; 8 us to "
                                   f"8 us; 2 kernels; {{text}})>"), repr(b)
            """
        )

    def test_a_run_that_differs(self):
        self.run_script(
            f"""
            calls = []
            def step():
                calls.append(None)
                cuda.fake_kernel_time(ctypes.c_uint64(1000 * len(calls)))
                cuda.fake_launch(b"kernel", 1)
            b = gpuprof.bench(step, runs=5, warmup=2, cupti={str(CUPTI)!r})
            # Two to warm up, and the first of the trace.
            assert b.samples_ns == [4000, 5000, 6000, 7000, 8000], b.samples_ns
            assert (b.median_ns, b.mad_ns, b.min_ns, b.max_ns) == (6000, 1000, 4000, 8000)
            """
        )

    def test_what_cannot_be_measured(self):
        self.run_script(
            f"""
            def refused(what, f, **more):
                try:
                    gpuprof.bench(f, cupti={str(CUPTI)!r}, **more)
                except (gpuprof.Error, ValueError) as error:
                    assert what in str(error), error
                else:
                    assert False, what
            refused("no CUDA context", lambda: None)
            cuda.fake_launch(b"kernel", 1)
            refused("nothing to do", lambda: None)
            refused("at least one run", lambda: work(1), runs=0)
            refused("mine", lambda: (_ for _ in ()).throw(ValueError("mine")))
            refused("7 runs instead of 3", lambda: cuda.fake_set(ctypes.c_uint64(4099)), runs=3,
                    flush_l2=False)
            b = gpuprof.bench(lambda: work(1), runs=2, cupti={str(CUPTI)!r})  # after all that
            assert b.runs == 2
            """
        )


@unittest.skipUnless(importlib.util.find_spec("pytest"), "there is no pytest")
class Pytest(ScriptTest):
    def run_pytest(self, tests, *words, head=HEAD):
        (self.folder / "test_it.py").write_text(
            "import pytest\n" + head + textwrap.dedent(tests), encoding="utf-8"
        )
        return subprocess.run(
            [sys.executable, "-m", "pytest", "-p", "gpuprof_cuda._pytest", "-p", "no:cacheprovider", "-rA",
             *map(str, words), "test_it.py"], cwd=self.folder, capture_output=True, text=True,
            env=self.environment({**SETTINGS, "XDG_CONFIG_HOME": self.folder}), timeout=PATIENCE)  # fmt: skip

    def test_limits(self):
        ran = self.run_pytest(
            """
            cuda.fake_kernel_time(ctypes.c_uint64(3_000_000))

            @pytest.mark.gpuprof(max_gpu_ms=10, max_idle=1, max_memory_mb=2)
            def test_within():
                cuda.fake_malloc(ctypes.c_uint64(1_500_000))
                work(3)

            @pytest.mark.gpuprof(max_gpu_ms=8.5)
            def test_too_long():
                work(3)

            @pytest.mark.gpuprof(max_memory_mb=1.2)
            @pytest.mark.gpuprof(max_gpu_ms=100)
            def test_too_much():
                cuda.fake_malloc(ctypes.c_uint64(1_500_000))
                work(1)

            @pytest.mark.gpuprof(max_idle=0.1)
            def test_idle():
                import time
                work(1)
                time.sleep(0.2)
                work(1)

            @pytest.mark.gpuprof(max_gpu_ms=1)
            def test_of_its_own():
                work(1)
                assert False, "mine"

            @pytest.mark.gpuprof(max_gpu_ms=1)
            def test_without_work():
                pass

            @pytest.mark.gpuprof(max_tea=1)
            def test_misspelt():
                pass

            def test_unmarked():
                work(1)
            """
        )
        self.assertEqual(ran.returncode, 1, ran.stdout + ran.stderr)
        for name in ("within", "without_work", "unmarked"):
            self.assertIn(f"PASSED test_it.py::test_{name}\n", ran.stdout)
        self.assertRegex(ran.stdout, r"gpuprof: GPUs worked 9\.\d+ ms; max_gpu_ms is 8\.5")
        self.assertIn(
            "gpuprof: 1.500 MB of device memory were in use; max_memory_mb is 1.2", ran.stdout
        )
        self.assertRegex(
            ran.stdout, r"gpuprof: a GPU was idle for 0\.9\d+ of its time; max_idle is 0\.1"
        )
        self.assertIn("AssertionError: mine", ran.stdout)
        self.assertIn("takes max_gpu_ms, max_idle, max_memory_mb, not max_tea", ran.stdout)
        self.assertIn("3 passed", ran.stdout)
        self.assertIn("5 failed", ran.stdout)
        self.assertEqual(list(self.folder.glob("**/*.sqlite")), [])

    def test_profiles_are_kept(self):
        ran = self.run_pytest(
            """
            @pytest.mark.parametrize("launches", [4, 6])
            def test_work(launches):
                work(launches)

            def test_nothing():
                pass
            """,
            "--gpuprof=kept",
        )
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        files = sorted(path.name for path in (self.folder / "kept").iterdir())
        self.assertEqual(len(files), 2, files)
        for name, launches in zip(files, (4, 6)):
            self.assertRegex(name, rf"^test_it\.py-test_work-{launches}--[0-9a-f]{{8}}\.sqlite$")
            database = self.database(self.folder / "kept" / name)
            self.assertEqual(database.count("CONCURRENT_KERNEL"), launches)

    def test_baselines(self):
        def run(ms, *words, code=0):
            """`ms`: how long a kernel takes, in the test of three of them."""
            os.environ["KERNEL_MS"] = str(ms)
            self.addCleanup(os.environ.pop, "KERNEL_MS", None)
            ran = self.run_pytest(
                """
                @pytest.mark.parametrize("launches", [2, 3])
                def test_work(launches):
                    ms = int(os.environ["KERNEL_MS"]) if launches == 3 else 20
                    cuda.fake_kernel_time(ctypes.c_uint64(ms * 1_000_000))
                    cuda.fake_launch(b"kernel", launches)
                    cuda.fake_synchronize()

                def test_nothing():
                    pass
                """,
                "--gpuprof-against=base", *words)  # fmt: skip
            self.assertEqual(ran.returncode, code, ran.stdout + ran.stderr)
            return ran.stdout

        self.assertEqual(run(20).count("has no baseline"), 2)
        run(20, "--gpuprof-update")
        files = sorted(os.listdir(self.folder / "base"))
        self.assertEqual(len(files), 2, files)
        self.assertRegex(files[0], r"^test-test_it-py-test_work-2--[0-9a-f]{8}\.json$")
        said = run(30, code=1)
        self.assertEqual(said.count("Same: the run takes"), 1, said)
        self.assertIn("gpuprof: Slower: the run takes 60.000ms in A and 90.000ms in B", said)
        self.assertIn("1 failed, 2 passed", said)
        run(30, "--gpuprof-threshold=60%")
        self.assertIn("takes a percentage", run(20, "--gpuprof-threshold=much", code=1))

    @unittest.skipIf(ctypes.util.find_library("cuda"), "there is a driver")
    def test_no_driver(self):
        """A test with limits is skipped, including its fixtures; others run, and one message says so."""
        tests = """
            @pytest.fixture
            def gpu():
                assert False, "there is none"

            @pytest.mark.gpuprof(max_gpu_ms=1)
            def test_marked(gpu):
                assert False

            def test_unmarked():
                pass

            def test_another():
                pass
            """
        lacks = "there is no CUDA driver (libcuda.so.1) on this machine"
        for words, warned in (((), 0), (("--gpuprof=kept",), 1)):
            ran = self.run_pytest(tests, *words, head="")
            self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
            self.assertIn("2 passed, 1 skipped", ran.stdout)
            self.assertRegex(ran.stdout, rf"SKIPPED .*gpuprof: {re.escape(lacks)}")
            self.assertEqual(ran.stdout.count(f"gpuprof keeps no profiles: {lacks}"), warned)
        self.assertFalse((self.folder / "kept").exists())

    def test_no_cupti_fails_the_test_that_wants_it(self):
        os.environ["FAKE_CUPTI_FAIL"] = "cuptiSubscribe=39"
        self.addCleanup(os.environ.pop, "FAKE_CUPTI_FAIL")
        ran = self.run_pytest(
            """
            @pytest.mark.gpuprof(max_gpu_ms=1)
            def test_marked():
                work(1)

            def test_unmarked():
                work(1)
            """
        )
        self.assertIn("1 failed, 1 passed", ran.stdout)
        self.assertIn("only one can", ran.stdout)


@unittest.skipUnless(importlib.util.find_spec("IPython"), "there is no IPython")
class Notebook(ScriptTest, MetricTest):
    def run_cells(self, script):
        head = textwrap.dedent(
            """
            from IPython.core.interactiveshell import InteractiveShell
            shell = InteractiveShell.instance()
            shell.history_manager.enabled = False
            shell.user_ns.update(work=work)
            shell.run_line_magic("load_ext", "gpuprof")
            """
        )
        return self.run_script(
            head + textwrap.dedent(script),
            HOME=self.folder,
            XDG_CONFIG_HOME=self.folder,
            **{name: value for name, value in SETTINGS.items() if name != "PYTHONPATH"},
        )

    def test_cells(self):
        """One that is recorded, one that is measured, and one that fails."""
        out = self.run_cells(
            """
            cell = shell.run_cell_magic("gpuprof", "--width 60", "work(5)\\nx = 7")
            assert shell.user_ns["x"] == 7
            assert len(cell.run.kernels) == 5 and cell.losses == []
            text = repr(cell)
            assert "kernel" in text and "GPU activities" in text and "Stand-in GPU" in text, text
            assert max(map(len, cell.timeline.splitlines()[1:])) <= 60, cell.timeline
            shell.run_cell_magic("gpuprof", "-o kept.sqlite --trace gpu", "work(3)")
            again = shell.run_cell_magic("gpuprof", "-o kept.sqlite", "work(4)")
            assert len(gpuprof.open("kept.sqlite").kernels) == 4
            assert "begun_late 1" in repr(again)

            line = "--metrics dram__bytes_read.sum,sm__ctas_launched.sum"
            cell = shell.run_cell_magic("gpuprof", line, "work(3)")
            values = sorted(row["value"] for row in cell.run.kernel_metrics.dicts())
            assert values == [64.0] * 3 + [65536.0] * 3, values
            text = repr(cell)
            assert "dram__bytes_read.sum" in text and "64.000000" in text and "None" not in text, text

            cell = shell.run_cell_magic("gpuprof", "", "work(2)\\n1 / 0")
            assert len(cell.run.kernels) == 2
            try:
                shell.run_cell_magic("gpuprof", "--tea", "work(2)")
            except gpuprof.Error as error:
                assert "--tea" in str(error), error
            else:
                assert False
            """
        )
        self.assertIn("ZeroDivisionError", out)


class Imports(ScriptTest):
    def test_nothing_else_is_loaded(self):
        script = (
            "import __future__, ctypes, glob, importlib.machinery, importlib.util, json, os, sys, threading, warnings; "
            "before = set(sys.modules); "
            "import gpuprof; print(sorted({name.partition('.')[0] for name in set(sys.modules) - before}))"
        )
        ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True,
                             env=self.environment(SETTINGS))  # fmt: skip
        self.assertEqual(ran.stdout, "['gpuprof', 'gpuprof_cuda']\n")


if __name__ == "__main__":
    unittest.main()
