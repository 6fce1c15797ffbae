# ctest-labels: plain
"""gpuprof.trace(): a Python process that records itself, with the stand-ins."""

import ctypes
import os
import pathlib
import re
import signal
import subprocess
import unittest

from fake_run import CUPTI, FAKE, PATIENCE
from fake_trace import ScriptTest

SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])

PR_SET_CHILD_SUBREAPER = 36


class Trace(ScriptTest):
    def kernels(self, name="run.sqlite"):
        return self.database(self.folder / name).count("CONCURRENT_KERNEL")

    def test_everything_from_before_cuda_on(self):
        out = self.run_script(
            """
            assert "CUDA_INJECTION64_PATH" not in os.environ
            with trace("run.sqlite") as t:
                assert repr(t).endswith("run.sqlite: recording>"), t
                work(20)
                cuda.fake_copy(1, ctypes.c_uint64(64))
                work(5)
            assert "CUDA_INJECTION64_PATH" not in os.environ
            assert t.losses == [] and len(t.run.kernels) == 25, t
            assert "1 process, nothing lost" in repr(t), t
            """,
            FAKE_CUPTI_LEDGER=self.folder / "ledger",
        )
        self.assertEqual((out, self.stderr), ("", ""))
        database = self.database()
        self.assertEqual(self.ledger()["CONCURRENT_KERNEL"], 25)
        self.assert_all_there(database)
        self.assert_correlated(database)
        self.assertEqual(database.count("MARKER"), 4)
        self.assertEqual(database.one("SELECT count(*) FROM contexts"), 1)
        self.assertIn("python", database.one("SELECT value FROM RUN WHERE key = 'command_line'"))

    def test_again_and_again(self):
        """Each file has its own records, and nothing grows but CUPTI's memory, which is the first one's."""
        self.run_script(
            """
            import time
            def held():
                threads = len(os.listdir("/proc/self/task"))
                files = len(os.listdir("/proc/self/fd"))
                arenas = open("/proc/self/maps").read().count("gpuprof-arena")
                return threads, files, arenas

            for i in range(6):
                with trace(f"run{i}.sqlite", "gpu,api,nvtx") as t:
                    work(3 + i)
                work(50)
                if i == 2:
                    few = held()
                kernels = len(t.run.kernels)
                assert kernels == 3 + i, (i, kernels)
                assert len(t.run.nvtx_ranges) == 1, i
                assert [loss["name"] for loss in t.losses] == ["begun_late"] * (i > 0), t.losses
                t.run.close()
            # A thread that has done its work is there a little longer.
            until = time.monotonic() + 60
            while held()[0] > few[0] and time.monotonic() < until:
                time.sleep(0.01)
            assert held()[0] <= few[0] and held()[1:] == few[1:], (few, held())
            """
        )
        for i in range(6):
            self.assertEqual(self.kernels(f"run{i}.sqlite"), 3 + i)

    def test_other_kinds_each_time(self):
        self.run_script(
            """
            for i, (kinds, calls, ranges) in enumerate([("gpu", 0, 0), ("gpu,api,nvtx", 1, 1),
                                                        ("gpu", 0, 0), ("nvtx", 0, 1)]):
                with trace(f"{i}.sqlite", kinds) as t:
                    work(4)
                assert len(t.run.kernels) == (0 if kinds == "nvtx" else 4), kinds
                assert bool(len(t.run.api_calls)) == calls, kinds
                assert bool(len(t.run.nvtx_ranges)) == ranges, kinds
            """
        )

    def test_after_cuda_began(self):
        self.run_script(
            """
            work(7)
            with trace("run.sqlite") as t:
                work(3)
            (loss,) = t.losses
            assert loss["name"] == "begun_late" and loss["severity"] == "notice", loss
            assert "before the trace began" in loss["reason"]
            assert "nothing lost" in t.messages[-1], t.messages
            assert len(t.run.contexts) == len(t.run.devices) == 1
            """
        )
        self.assertEqual(self.kernels(), 3)

    def test_contexts_that_go_between_two_traces(self):
        self.run_script(
            """
            cuda.fake_context_create.restype = ctypes.c_void_p
            with trace("0.sqlite"):
                work(1)
                context = ctypes.c_void_p(cuda.fake_context_create())
            cuda.fake_context_destroy(context)
            with trace("1.sqlite"):
                work(2)
            """
        )
        self.assertEqual(self.kernels("1.sqlite"), 2)

    def test_threads_launch_through_begin_and_end(self):
        self.run_script(
            """
            done = threading.Event()
            def launch():
                while not done.wait(0.0002):
                    cuda.fake_launch(b"beside", 3)
            cuda.fake_kernel_time(ctypes.c_uint64(10))
            threads = [threading.Thread(target=launch) for _ in range(3)]
            for thread in threads: thread.start()
            for i in range(6):
                with trace(f"{i}.sqlite") as t:
                    work(5)
                    cuda.fake_synchronize()
                assert len(t.run.kernels.where(name="kernel")) == 5, i
                assert [row["name"] for row in t.losses if row["severity"] != "notice"] == [], t.losses
            done.set()
            for thread in threads: thread.join()
            """
        )

    def test_exceptions_go_on_and_the_file_is_complete(self):
        self.run_script(
            """
            try:
                with trace("run.sqlite") as t:
                    work(6)
                    raise ZeroDivisionError("mine")
            except ZeroDivisionError as error:
                assert str(error) == "mine"
            assert len(t.run.kernels) == 6
            """
        )

    def test_killed_inside(self):
        """Delivered records are in the file, and those in CUPTI's buffers are salvaged."""
        self.assertEqual(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0)
        self.addCleanup(ctypes.CDLL(None).prctl, PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        process = self.start_script(
            """
            with trace("run.sqlite") as t:
                work(2000)
                print(t._helper.pid, flush=True)
                signal.pause()
            """,
            FAKE_CUPTI_LEDGER=self.folder / "ledger",
        )
        helper = int(process.stdout.readline())
        process.send_signal(signal.SIGKILL)
        process.wait()
        self.assertEqual(os.waitstatus_to_exitcode(os.waitpid(helper, 0)[1]), 0)
        self.assert_all_there(self.database())
        self.assertEqual(self.kernels(), 2000)

    def test_ended_without_leaving(self):
        """By os._exit(), and by a normal exit with the trace open."""
        self.assertEqual(ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0), 0)
        self.addCleanup(ctypes.CDLL(None).prctl, PR_SET_CHILD_SUBREAPER, 0, 0, 0, 0)
        for end in ("os._exit(0)", "sys.exit(0)"):
            with self.subTest(end=end):
                out = self.run_script(
                    f"""
                    t = trace("run.sqlite", overwrite=True).__enter__()
                    work(30)
                    print(t._helper.pid, flush=True)
                    {end}
                    """
                )
                os.waitpid(int(out), 0)
                self.assertEqual(self.kernels(), 30)

    def test_another_profiler_has_cupti(self):
        out = self.run_script(
            """
            for _ in range(2):
                try:
                    trace("run.sqlite").__enter__()
                except gpuprof.Error as error:
                    print(error)
            work(3)
            """,
            FAKE_CUPTI_FAIL="cuptiSubscribe=39",
        )
        first, second = out.splitlines()
        self.assertEqual(first, second)
        self.assertIn("another profiler", first)
        self.assertIn("only one can", first)
        self.assertEqual(list(self.folder.glob("run.sqlite*")), [])

    def test_what_cannot_be_begun(self):
        self.run_script(
            """
            def refused(what, *words, **more):
                try:
                    trace(*words, **more).__enter__()
                except gpuprof.Error as error:
                    assert what in str(error), error
                else:
                    assert False, what
            with trace("run.sqlite") as t:
                work(2)
                refused("traced already", "other.sqlite")
                try:
                    t.run
                except gpuprof.Error as error:
                    assert "recording" in str(error)
                else:
                    assert False
            refused("run.sqlite", "run.sqlite")              # it is there
            refused("no-folder", "no-folder/run.sqlite")
            refused("gpu", "else.sqlite", "nonsense")
            try:
                t.__enter__()
            except gpuprof.Error as error:
                assert "used once" in str(error)
            else:
                assert False
            with trace("50%p.sqlite") as t:                  # a name, and no pattern
                work(4)
            assert t.path.endswith("50%p.sqlite") and len(t.run.kernels) == 4
            os.environ["GPUPROF_SOCKET"] = "/nowhere"
            refused("records this process already", "else.sqlite")
            """
        )
        self.assertEqual(self.kernels(), 2)
        self.assertFalse((self.folder / "else.sqlite").exists())

    def test_a_fork_inside(self):
        self.run_script(
            """
            with trace("run.sqlite") as t:
                work(5)
                child = os.fork()
                if child == 0:
                    assert t.__exit__(None, None, None) is None
                    try:
                        trace("child.sqlite").__enter__()
                    except gpuprof.Error as error:
                        os._exit(0 if "forked" in str(error) else 1)
                    os._exit(2)
                assert os.waitpid(child, 0)[1] == 0
                work(6)
            assert len(t.run.kernels) == 11 and t.losses == [], t.losses
            """
        )

    def test_a_program_started_inside_is_not_recorded(self):
        self.run_script(
            f"""
            import subprocess
            with trace("run.sqlite") as t:
                work(5)
                subprocess.run([{str(FAKE / "hello")!r}], check=True, stdout=subprocess.DEVNULL)
            assert len(t.run.kernels) == 5 and len(t.run.info()[0]["processes"]) == 1
            """
        )

    def test_the_helper_dies(self):
        self.run_script(
            """
            try:
                with trace("run.sqlite") as t:
                    work(5)
                    os.kill(t._helper.pid, signal.SIGKILL)
                    t._helper.wait()
                    work(5)
            except gpuprof.Error as error:
                assert "ended by signal 9" in str(error) and "gpuprof finish" in str(error), error
            else:
                assert False
            with trace("again.sqlite") as t:
                work(8)
            assert len(t.run.kernels) == 8
            """
        )

    def test_threads_of_the_interpreter_go_on(self):
        """The GIL is not held while the GPU is waited for."""
        self.run_script(
            """
            ticks, done = [0], threading.Event()
            def tick():
                while not done.is_set():
                    ticks[0] += 1
                    done.wait(0.001)
            thread = threading.Thread(target=tick)
            with trace("run.sqlite") as t:
                cuda.fake_kernel_time(ctypes.c_uint64(300_000_000))
                cuda.fake_launch(b"long", 1)
                thread.start()
                before = ticks[0]
            assert ticks[0] > before
            done.set()
            thread.join()
            (row,) = t.run.kernels.dicts()
            assert row["duration"] == 300_000_000, row
            """
        )

    def test_the_examples_of_the_document(self):
        text = (SOURCE / "docs" / "recording-from-python.md").read_text(encoding="utf-8")
        examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertGreater(len(examples), 1)
        script = "def step():\n    work(9)\n\n" + "\n".join(examples)
        self.assertIn("run.sqlite: complete",
                      self.run_script(script, GPUPROF_CUPTI=CUPTI, GPUPROF_NO_CONFIG="",
                                      LD_LIBRARY_PATH=FAKE, XDG_CONFIG_HOME=self.folder))  # fmt: skip
        self.assertEqual(self.kernels(), 9)
        self.assertEqual(self.kernels("step2.sqlite"), 9)

    def test_listen_by_hand_says_what_it_is_for(self):
        ran = subprocess.run(
            [os.environ["GPUPROF"], "listen", "-o", self.output, "1"], capture_output=True,
            text=True, timeout=PATIENCE, stdin=subprocess.DEVNULL)  # fmt: skip
        self.assertNotEqual(ran.returncode, 0)
        self.assertIn("gpuprof.trace()", ran.stderr)
        self.assertFalse(pathlib.Path(self.output).exists())


if __name__ == "__main__":
    unittest.main()
