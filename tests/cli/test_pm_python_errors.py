# ctest-labels: plain
"""gpuprof.pm_sampling: what is refused, and the examples of docs/counters-from-python.md."""

import re
import subprocess
import sys
import unittest

from fake_counters import ACTIVE_NAME, READ_NAME, SOURCE, Program
from fake_run import BARE_CUPTI, PATIENCE


class Errors(Program):
    def test_states(self):
        answer = self.ran(
            """
            c = Collector()
            c.disable()
            answer = [refused(call) for call in (c.start, c.stop, c.decode, c.state)]
            answer.append(refused(c.configure, metrics=[READ]))
            c.enable()
            answer += [refused(call) for call in (c.enable, c.start, c.stop, c.decode)]
            c.configure(metrics=[READ])
            answer.append(refused(c.stop))
            c.start()
            answer.append(refused(c.start))
            c.stop()
            answer.append(refused(c.stop))
            """
        )
        for each in answer:
            self.assert_refused(each, "RuntimeError", "")
        self.assertEqual(len({each["text"] for each in answer}), 5, answer)

    def test_values(self):
        answer = self.ran(
            """
            c = Collector()
            c.enable()
            answer = [refused(c.configure, metrics=[READ], **wrong) for wrong in (
                {"sampling_interval": 0}, {"sampling_interval": 1.5}, {"hardware_buffer_size": -1},
                {"trigger_mode": pm_sampling.TriggerMode.COUNT}, {"hw_buffer_append_mode": 9})]
            answer += [refused(c.configure, metrics=wrong)
                       for wrong in ([], READ, [3], ["dram__bytes_read"], ["nonsense.sum"])]
            answer.append(refused(c.configure, metrics=FIVE))
            c.configure(metrics=[READ])
            answer += [refused(c.decode, 0), refused(c.decode, "many"), refused(c.buffer_size_for, [READ], 0),
                       refused(Collector(7).enable)]
            """
        )
        for each in answer:
            self.assert_refused(each, "ValueError", "")
        texts = [each["text"] for each in answer]
        self.assertIn("cannot sample dram__bytes_read", texts[8])
        self.assertIn("roll-up", texts[8])
        self.assertIn("one pass (these can, each set in its own run: ", texts[10])
        self.assertIn("there is no device 7", texts[-1])

    def test_passes_beforehand(self):
        answer = self.ran(
            """
            answer = [pm_sampling.passes([READ, ACTIVE]), pm_sampling.passes(FIVE),
                      pm_sampling.passes(["sm__throughput.avg.pct_of_peak_sustained_elapsed"],
                                         chip="FAKE2"),
                      refused(pm_sampling.passes, [READ], chip="FAKE2"),
                      refused(pm_sampling.passes, [READ], device_index=9)]
            """
        )
        self.assertEqual(answer[:3], [1, 2, 3])
        self.assert_refused(answer[3], "ValueError", READ_NAME)
        self.assert_refused(answer[4], "ValueError", "there is no device 9")

    def enabling(self, **environment):
        return self.ran("answer = refused(Collector().enable)", **environment)

    def test_permissions(self):
        for result, text in (
            (35, "NVreg_RestrictProfilingToAdminUsers=0"),
            (40, "enable_profiling"),
        ):
            answer = self.enabling(FAKE_CUPTI_FAIL=f"cuptiPmSamplingEnable={result}")
            self.assert_refused(answer, "PermissionError", text)

    def test_busy(self):
        answer = self.enabling(FAKE_CUPTI_FAIL="cuptiPmSamplingEnable=7")
        self.assert_refused(answer, "RuntimeError", "dcgmi profiling --pause")
        answer = self.enabling(FAKE_CUPTI_FAIL="cuptiPmSamplingEnable=26")
        self.assert_refused(answer, "cuptiError", "dcgmi profiling --pause")
        self.assertEqual(answer["status"], 26)

    def test_no_memory(self):
        answer = self.enabling(FAKE_CUPTI_FAIL="cuptiPmSamplingEnable=8")
        self.assert_refused(answer, "MemoryError", "device 0 (Stand-in GPU)")

    def test_mig(self):
        answer = self.enabling(FAKE_CUPTI_FAIL="cuptiPmSamplingEnable=27",
                               FAKE_CUDA_NAME="NVIDIA A100 MIG 1g.5gb")  # fmt: skip
        self.assert_refused(answer, "cuptiError", "nvidia-smi -mig 0")

    def test_vgpu(self):
        answer = self.enabling(FAKE_CUPTI_UNSUPPORTED="vGpu")
        self.assert_refused(answer, "cuptiError", "a virtual GPU without the permission to profile")

    def test_overflow(self):
        """One MemoryError, and then sampling continues."""
        answer = self.ran(
            """
            c = enabled(READ, hardware_buffer_size=20 * 1024)
            c.start()
            time.sleep(0.1)
            wrong = refused(c.decode)
            parts = []
            while not parts:
                try:
                    parts += [p for p in [c.decode()] if len(p)]
                except MemoryError:
                    pass
            answer = [wrong, right(parts[0]), c.state()["overflows"] > 0]
            """
        )
        self.assert_refused(answer[0], "MemoryError", "hardware_buffer_size")
        self.assertEqual(answer[1:], [True, True])

    def test_no_driver(self):
        answer = self.enabling(LD_LIBRARY_PATH="")
        if "NVIDIA" not in answer["text"]:
            self.assert_refused(answer, "RuntimeError", "no CUDA driver")
            self.assertIn("NotSupportedError", answer["kinds"])

    def test_a_cupti_without_pm_sampling(self):
        answer = self.enabling(GPUPROF_CUPTI=str(BARE_CUPTI))
        self.assert_refused(answer, "RuntimeError", "libcupti")

    def test_no_cupti(self):
        answer = self.enabling(GPUPROF_CUPTI="/nowhere/libcupti.so.13")
        self.assert_refused(answer, "RuntimeError", "/nowhere/libcupti.so.13")

    def test_no_numpy_is_needed_to_import(self):
        code = (
            "import sys, gpuprof.pm_sampling, gpuprof.profiler_host; print('numpy' in sys.modules)"
        )
        done = subprocess.run([sys.executable, "-c", code], env=self.environment(),
                              capture_output=True, text=True, timeout=PATIENCE)  # fmt: skip
        self.assertEqual((done.stdout, done.stderr), ("False\n", ""))


class Examples(Program):
    def test_examples_of_the_docs(self):
        text = (SOURCE / "docs" / "counters-from-python.md").read_text(encoding="utf-8")
        examples = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
        self.assertEqual(len(examples), 3)
        answer = self.ran(
            "def work():\n    time.sleep(0.1)\nprint_, print = print, lambda *more: None\n"
            + "\n".join(examples)
            + "\nprint = print_\nanswer = [len(data) > 5, len(recent) > 5, data.metrics, chip]"
        )
        self.assertEqual(answer, [True, True, [ACTIVE_NAME, READ_NAME], "FAKE1"])


if __name__ == "__main__":
    unittest.main()
