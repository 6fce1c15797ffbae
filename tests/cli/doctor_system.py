"""A made-up system for gpuprof doctor: a folder with the files that the checks read, which
GPUPROF_DOCTOR_ROOT names."""

import json
import os
import pathlib
import shutil
import struct
import subprocess
import tempfile
import unittest

from fake_run import GPUPROF, PATIENCE

MODULE = "NVRM version: NVIDIA UNIX x86_64 Kernel Module  {}  Thu Oct  2 00:00:00 UTC 2026\n"
LIMITS = """\
Limit                     Soft Limit           Hard Limit           Units
Max file size             {files}            unlimited            bytes
Max open files            {open}                 1048576              files
Max address space         {addresses}            unlimited            bytes
"""
LIBRARIES = "/usr/lib/x86_64-linux-gnu"
OWN = "/opt/gpuprof/lib/gpuprof"
CLOCK = "/sys/devices/system/clocksource/clocksource0"


def is_for_arm(program):
    with open(program, "rb") as file:
        return file.read(20)[18:] == b"\xb7\0"


ARM = bool(GPUPROF) and is_for_arm(GPUPROF)


def elf(loader="/lib64/ld-linux-x86-64.so.2", bits=64, machine=183 if ARM else 62):
    """The head of a program."""
    header = struct.pack("<4sBBBBQHHIQQQIHHHHHH", b"\x7fELF", bits // 32, 1, 1, 0, 0, 3, machine, 1,
                         0, 64, 0, 0, 64, 56, 1 if loader else 0, 0, 0, 0)  # fmt: skip
    if not loader:
        return header
    name = loader.encode() + b"\0"
    return header + struct.pack("<IIQQQQQQ", 3, 4, 120, 0, 0, len(name), len(name), 1) + name


class System:
    """A sound one: Ubuntu, one H200, driver 580, gpuprof in /opt."""

    def __init__(self, folder):
        self.root = pathlib.Path(folder)
        self.environment = {"PATH": "/usr/bin:/opt/gpuprof/bin", "HOME": "/home/me"}
        self.options = []
        self.output = "/home/me/run.sqlite"
        self.mounts = ["22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw",
                       "23 22 0:20 / /dev/shm rw - tmpfs tmpfs rw"]  # fmt: skip
        self.driver("580.159.03")
        self.write("/proc/driver/nvidia/params", "EnableMSI: 1\nRmProfilingAdminOnly: 0\n")
        self.gpu(0, "NVIDIA H200")
        self.write("/dev/nvidiactl")
        self.write("/dev/nvidia-uvm")
        self.write(LIBRARIES + "/libc.so.6", b"\0GNU C Library stable release version 2.39.\n\0")
        self.write("/lib64/ld-linux-x86-64.so.2")
        self.write("/etc/os-release", 'ID=ubuntu\nID_LIKE="debian"\n')
        self.status()
        self.limits()
        self.link("/proc/self/exe", "/opt/gpuprof/bin/gpuprof")
        self.link("/proc/self/ns/mnt", "mnt:[1]")
        for name in ("bin/gpuprof", "lib/gpuprof/libgpuprof_collector.so", "lib/gpuprof/gpuprof-probe",
                     "lib/gpuprof/gpuprof-salvage", "lib/gpuprof/gpuprof-sampler",
                     "lib/gpuprof/libcupti.so.13"):  # fmt: skip
            self.write(f"/opt/gpuprof/{name}", elf(), 0o755)
        self.write("/proc/self/cgroup", "0::/user.slice\n")
        self.write("/sys/fs/cgroup/user.slice/memory.max", "max\n")
        self.write(CLOCK + "/current_clocksource", "tsc\n")
        self.write(CLOCK + "/available_clocksource", "tsc hpet acpi_pm\n")
        self.write("/proc/sys/kernel/osrelease", "6.8.0-50-generic\n")
        self.write("/proc/sys/kernel/yama/ptrace_scope", "1\n")
        for name in ("/tmp", "/home/me"):
            self.path(name).mkdir(parents=True)
        self.path(self.root).chmod(0o755)

    def path(self, name):
        return self.root / str(name).lstrip("/") if name is not self.root else self.root

    def write(self, name, content="", mode=0o644):
        path = self.path(name)
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        path.chmod(mode)

    def link(self, name, target):
        self.remove(name)
        self.path(name).parent.mkdir(parents=True, exist_ok=True)
        self.path(name).symlink_to(target)

    def remove(self, name):
        path = self.path(name)
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)

    def driver(self, version, library=None):
        self.write("/proc/driver/nvidia/version", MODULE.format(version))
        file = f"libcuda.so.{library or version}"
        self.write(f"{LIBRARIES}/{file}")
        self.link(f"{LIBRARIES}/libcuda.so.1", file)

    def no_module(self):
        self.remove("/proc/driver")

    def no_library(self):
        self.remove(LIBRARIES + "/libcuda.so.1")

    def gpu(self, index, model):
        self.write(f"/proc/driver/nvidia/gpus/0000:{index:02}:00.0/information",
                   f"Model: \t\t {model}\nIRQ:   \t\t 100\n")  # fmt: skip
        self.write(f"/dev/nvidia{index}", mode=0o666)
        for name in ("/dev/nvidiactl", "/dev/nvidia-uvm"):
            self.write(name, mode=0o666)

    def only_administrators(self, capabilities=0):
        self.write("/proc/driver/nvidia/params", "RmProfilingAdminOnly: 1\n")
        self.status(capabilities)

    def status(self, capabilities=0, user=1000):
        self.write("/proc/self/status", f"Name:\tgpuprof\nUid:\t{user}\t{user}\t{user}\t{user}\n"
                   f"CapEff:\t{capabilities:016x}\nSeccomp:\t0\n")  # fmt: skip

    def limits(self, **soft):
        soft = {"files": "unlimited", "open": "1024", "addresses": "unlimited", **soft}
        self.write("/proc/self/limits", LIMITS.format(**soft))

    def docker(self):
        self.write("/.dockerenv")

    def mount(self, folder, kind, options="rw", more="rw"):
        self.mounts.append(f"{len(self.mounts) + 22} 22 0:9 / {folder} {options} - {kind} x {more}")

    def running(self, process, name):
        self.write(f"/proc/{process}/comm", name + "\n")

    def process(self, libraries=(), environment=b"PATH=/bin\0", **status):
        """Process 77, which --pid names."""
        self.options = ["--pid", "77"]
        self.running(77, "python3")
        status = {"State": "S (sleeping)", "TracerPid": "0", **status}
        self.write("/proc/77/status", "".join(f"{k}:\t{v}\n" for k, v in status.items()))
        files = ["/usr/bin/python3", LIBRARIES + "/libc.so.6", *libraries]
        self.write("/proc/77/maps", "".join(
            f"7f00{i:04x}000-7f00{i:04x}fff r-xp 00000000 08:01 {i}    {x}\n"
            for i, x in enumerate(files)))  # fmt: skip
        self.write("/proc/77/environ", environment)
        self.link("/proc/77/ns/mnt", "mnt:[1]")

    def program(self, *words):
        self.options = ["--", *words]

    def run(self, *options, json=False, user=None):
        self.write("/proc/self/mountinfo", "\n".join(self.mounts) + "\n")
        words = [GPUPROF, "doctor", "--output", self.output]
        kept = {
            k: v for k, v in os.environ.items() if k.endswith(("SAN_OPTIONS", "QEMU_LD_PREFIX"))
        }
        return subprocess.run(
            [*words, *(["--json"] if json else []), *options, *self.options],
            env={**kept, **self.environment, "GPUPROF_DOCTOR_ROOT": str(self.root),
                 "GPUPROF_NO_CONFIG": "1"},
            capture_output=True, text=True, timeout=PATIENCE, user=user,
        )  # fmt: skip


@unittest.skipUnless(GPUPROF, "GPUPROF is not set")
class DoctorTest(unittest.TestCase):
    maxDiff = None

    def system(self):
        folder = tempfile.mkdtemp(prefix="gpuprof-doctor-")
        self.addCleanup(shutil.rmtree, folder)
        return System(folder)

    def findings(self, ran):
        """Check to its findings."""
        document = json.loads(ran.stdout)
        self.assertEqual(document["version"], 1)
        found = {check["name"]: check["findings"] for check in document["checks"]}
        for answer in ("ok", "cannot", "unknown"):
            count = sum(f["answer"] == answer for fs in found.values() for f in fs)
            self.assertEqual(document[answer], count)
        self.assertEqual(ran.returncode, 25 if document["cannot"] else 0, ran.stderr)
        return found
