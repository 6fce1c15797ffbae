# ctest-cost: 15
"""gpuprof doctor does no harm on hostile systems, and does real work on this one, with the stand-ins as driver
and CUPTI.
"""

import json
import os
import pathlib
import signal
import struct
import subprocess
import sys
import tempfile
import time
import unittest

from builds import asan, load_tests  # noqa: F401
from doctor_system import DoctorTest, elf
from fake_metrics import MetricTest
from fake_run import FAKE, GPUPROF, PATIENCE, SANITIZED


@asan
class Hostile(DoctorTest):
    def check(self, system, *options):
        began = time.monotonic()
        for as_json in (False, True):
            ran = system.run(*options, json=as_json)
            self.assertIn(ran.returncode, (0, 25), ran.stderr)
            self.assertEqual(ran.stderr, "")
            self.assertNotIn("\x1b", ran.stdout)
            self.assertNotIn("\r", ran.stdout)
        if not SANITIZED:
            self.assertLess(time.monotonic() - began, 30)
        return self.findings(ran)

    def files(self, system):
        names = sorted(p for p in system.root.rglob("*") if p.is_file() and not p.is_symlink())
        return [p for p in names if "/proc/" in str(p) or "/etc/" in str(p) or "/sys/" in str(p)]

    def test_pipes_in_the_place_of_files(self):
        system = self.system()
        system.process()
        for path in self.files(system):
            path.unlink()
            os.mkfifo(path)
        system.mounts = []
        system.write = lambda *_: None  # mountinfo stays a pipe
        self.check(system)

    def test_folders_links_and_nothing(self):
        for kind in ("folder", "loop", "nothing", "device"):
            with self.subTest(kind):
                system = self.system()
                system.process()
                for path in self.files(system):
                    path.unlink()
                    if kind == "folder":
                        path.mkdir()
                    elif kind == "loop":
                        path.symlink_to(path.name)
                    elif kind == "device":
                        path.symlink_to("/dev/zero")
                self.check(system)

    def test_binary_and_huge(self):
        noise = bytes(range(256)) * 16
        for content in (noise, noise * 2048, b"\n" * (1 << 20), b"9" * (1 << 20), b""):
            with self.subTest(content[:2] * 2, size=len(content)):
                system = self.system()
                system.process()
                for path in self.files(system):
                    path.write_bytes(content)
                system.mounts = [content.decode("latin-1")]
                self.check(system)

    def test_escapes_in_names(self):
        system = self.system()
        system.gpu(0, "NVIDIA \x1b[2J\x1b]0;owned\x07 A100-10C")
        system.running(31, "ncu")
        system.environment["NCCL_PROFILER_PLUGIN"] = "\x1b[31mred\r\n"
        system.environment["CUDA_VISIBLE_DEVICES"] = "0\x1b[2J"
        system.environment["TMPDIR"] = "/tmp/$(touch hacked)\x1b[1m"
        found = self.check(system, "--pid", "77")
        self.assertIn("\x1b[2J", found["virtual-gpu"][0]["text"])  # in JSON, escaped

    def test_what_is_typed_is_quoted(self):
        system = self.system()
        system.output = "/home/me/$(touch x); rm -rf ~/run.sqlite"
        found = self.check(system)
        self.assertEqual(found["output"][0]["type"], ["mkdir -p '/home/me/$(touch x); rm -rf ~'"])

    def test_odd_programs(self):
        system = self.system()
        head = elf()
        contents = [head[:n] for n in (1, 4, 20, 63, 64, 100, 119)]
        contents += [
            head[:32] + struct.pack("<Q", at) + head[40:] for at in (2**64 - 1, 2**63, 130)
        ]
        contents += [head[:72] + struct.pack("<Q", 2**64 - 8) + head[80:], b"#!", b"#!\n", b"#!  \n",
                     b"#!" + b"/" * 70000, b"#!/usr/bin/env\n", b"#!/usr/bin/env -S\n"]  # fmt: skip
        for content in contents:
            with self.subTest(content[:20], size=len(content)):
                system.write("/home/me/app", content, 0o755)
                found = self.check(system, "--", "/home/me/app")
                self.assertEqual(found["program"][0]["answer"], "cannot")

    def test_many_processes_and_mounts(self):
        system = self.system()
        for process in range(1000, 3000):
            system.path(f"/proc/{process}").mkdir()
        system.mounts += [f"{i} 22 0:9 / /m{i} rw - tmpfs x rw" for i in range(30_000)]
        self.check(system)


class Real(MetricTest):
    """On this machine, with the stand-ins as driver and CUPTI."""

    OVERDUE = "the driver did not answer in 2 s"
    ATTEMPTS = 10  # on a machine that is busy with other tests

    def once(self, *words, cupti=FAKE / "libcupti.so.13", **more):
        began = time.monotonic()
        ran = subprocess.run(
            [GPUPROF, "doctor", "--json", *words],
            env=self.environment({"GPUPROF_CUPTI": cupti, **more}), cwd=self.folder,
            capture_output=True, text=True, timeout=PATIENCE,
        )  # fmt: skip
        self.seconds = time.monotonic() - began
        self.assertIn(ran.returncode, (0, 25), ran.stderr)
        document = json.loads(ran.stdout)
        self.assertEqual(list(self.folder.iterdir()), [])
        return {c["name"]: [(f["answer"], f["text"], f["type"]) for f in c["findings"]]
                for c in document["checks"]}  # fmt: skip

    def doctor(self, *words, **more):
        for _ in range(self.ATTEMPTS):
            found = self.once(*words, **more)
            if not any(f[1] == self.OVERDUE for fs in found.values() for f in fs):
                break
        return found

    def test_a_kernel_and_a_metric(self):
        found = self.doctor(FAKE_CUDA_DEVICES=2)
        self.assertEqual(
            found["gpus"][0][:2], ("ok", "0 Stand-in GPU (FAKE1), 1 Stand-in GPU (FAKE1)")
        )
        self.assertEqual(
            found["recording"],
            [("ok", "a kernel and a CUDA graph were recorded, with their times", [])],
        )
        self.assertEqual(found["metrics"], [("ok", "a metric was collected on the first GPU", [])])
        self.assertEqual(found["pm-sampling"][0][0], "ok", found["pm-sampling"])
        self.assertRegex(found["pc-sampling"][0][1], "a kernel was sampled: [1-9][0-9]* samples")

        self.assertEqual(
            found["collectives"], [("unknown", "not tried: there is no NCCL (libnccl.so.2)", [])]
        )

    def test_a_library_that_is_not_nccl(self):
        with tempfile.TemporaryDirectory() as folder:
            library = pathlib.Path(folder) / "nvidia/nccl/lib/libnccl.so.2"
            library.parent.mkdir(parents=True)
            library.write_text("no library")
            found = self.doctor(FAKE_CUDA_DEVICES=2, PYTHONPATH=folder)
        ((answer, text, _),) = found["collectives"]
        self.assertEqual(answer, "unknown")
        self.assertRegex(text, "two ranks of .*libnccl.so.2: .*(too short|invalid ELF)")

    def test_samples_are_refused(self):
        found = self.doctor(FAKE_CUPTI_FAIL="cuptiPmSamplingSetConfig=26;cuptiPCSamplingEnable=35")
        self.assertEqual(found["metrics"][0][0], "ok")
        self.assertEqual(found["pm-sampling"][0][::2], ("cannot", ["dcgmi profiling --pause"]))
        self.assertEqual(found["pc-sampling"][0][0], "cannot")

    def test_no_permission(self):
        found = self.doctor(FAKE_CUPTI_FAIL="cuptiRangeProfilerStart=35")
        answer, text, typed = found["metrics"][0]
        self.assertEqual(answer, "cannot")
        self.assertIn("only administrators", text)
        self.assertRegex(typed[0], "NVreg_RestrictProfilingToAdminUsers=0|SYS_ADMIN")
        self.assertEqual(found["recording"][0][0], "ok")

    def test_counters_are_held(self):
        found = self.doctor(FAKE_CUPTI_FAIL="cuptiRangeProfilerStart=26")
        self.assertEqual((found["metrics"][0][0], found["metrics"][0][2]),
                         ("cannot", ["dcgmi profiling --pause"]))  # fmt: skip

    def test_not_supported(self):
        found = self.doctor(FAKE_CUPTI_UNSUPPORTED="vGpu")
        for check in ("metrics", "pm-sampling", "pc-sampling"):
            self.assertEqual(found[check][0][0], "cannot")
            self.assertIn("virtual GPU", found[check][0][1])

    def test_another_client_has_cupti(self):
        found = self.doctor(FAKE_CUPTI_FAIL="cuptiSubscribe=39")
        self.assertEqual(found["recording"][0][0], "cannot")
        self.assertIn("no record of it", found["recording"][0][1])

    def test_cupti_without_metrics(self):
        found = self.doctor(cupti=FAKE / "bare" / "libcupti.so.12")
        self.assertEqual(found["metrics"][0][0], "cannot")
        self.assertEqual(found["recording"][0][0], "ok")

    def test_a_driver_that_fails(self):
        found = self.doctor(FAKE_CUDA_INIT=802)
        self.assertEqual(
            found["gpus"][0][:2], ("cannot", "the CUDA driver finds no GPU: error 802")
        )
        self.assertEqual(found["metrics"][0][0], "unknown")
        found = self.doctor(FAKE_CUDA_INIT=100)
        self.assertEqual(found["recording"][0][0], "unknown")

    def test_a_driver_that_hangs(self):
        for _ in range(self.ATTEMPTS):
            found = self.once(FAKE_CUDA_HANG=1)
            for check in ("gpus", "recording", "metrics", "pm-sampling", "pc-sampling"):
                self.assertEqual(found[check][0][:2], ("unknown", self.OVERDUE))
            if self.seconds < 3:
                return
        self.fail("it took more than 3 s")

    def test_running_and_ended_processes(self):
        found = self.doctor("--pid", str(os.getpid()))
        self.assertEqual(found["process"][0][0], "ok", found["process"])
        self.assertEqual(found["its-files"][0][0], "ok")
        ended = subprocess.Popen([sys.executable, "-c", ""])
        os.waitid(os.P_PID, ended.pid, os.WEXITED | os.WNOWAIT)
        found = self.doctor("--pid", str(ended.pid))
        self.assertIn("has ended", found["process"][0][1])
        ended.wait()
        found = self.doctor("--pid", str(ended.pid))
        self.assertIn("there is no process", found["process"][0][1])

    def test_a_process_that_goes_away_meanwhile(self):
        for _ in range(3):
            short = subprocess.Popen(["/bin/sleep", "0.05"])
            found = self.doctor("--pid", str(short.pid))
            short.wait()
            self.assertEqual(len(found["its-libc"]), 1)

    def recorded_by(self, gpuprof):
        """The number of the process that it has started and that has loaded the collector."""
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            for folder in pathlib.Path("/proc").glob("[0-9]*"):
                try:
                    is_child = f"\nPPid:\t{gpuprof}\n" in (folder / "status").read_text()
                    if is_child and "libgpuprof_collector.so" in (folder / "maps").read_text():
                        return folder.name
                except OSError:
                    pass
            time.sleep(0.05)
        return self.fail("nothing is recorded")

    def test_a_recorded_process(self):
        process = self.start("steady", 1000, 2000)
        recorded = self.recorded_by(process.pid)
        ran = subprocess.run([GPUPROF, "doctor", "--json", "--pid", recorded], capture_output=True,
                             text=True, timeout=PATIENCE, check=False)  # fmt: skip
        found = {c["name"]: c["findings"] for c in json.loads(ran.stdout)["checks"]}
        self.assertEqual(found["its-injection"][0]["text"], "gpuprof's collector is in it")
        process.send_signal(signal.SIGINT)

    def test_a_program(self):
        found = self.doctor("--", self.program("hello"))
        self.assertEqual(found["program"][0][0], "ok", found["program"])
        self.assertEqual(found["its-start"][0][0], "ok")


if __name__ == "__main__":
    unittest.main()
