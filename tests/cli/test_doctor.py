# ctest-cost: 15
# ctest-labels: plain
"""gpuprof doctor on made-up systems: broken ones are named with what mends them, and sound ones raise no
alarm.
"""

import json
import os
import pathlib
import shutil
import subprocess
import unittest

from doctor_system import ARM, CLOCK, LIBRARIES, OWN, DoctorTest, elf
from fake_run import GPUPROF, PATIENCE, has_other_users

BROKEN = {}  # name: what breaks it, check, answer, words of the text, words of what to type


def broken(name, check, answer, text, *types):
    def keep(change):
        assert name not in BROKEN
        BROKEN[name] = (change, check, answer, text, types)
        return change

    return keep


@broken("no driver", "driver", "cannot", "no CUDA driver", "sudo ubuntu-drivers install")
def _(s):
    s.no_module()
    s.no_library()


@broken("a container without GPUs", "driver", "cannot", "no CUDA driver", "docker run --gpus all")
def _(s):
    s.docker()
    s.no_module()
    s.no_library()


@broken(
    "module not loaded", "driver", "cannot", "kernel module is not loaded", "sudo modprobe nvidia"
)
def _(s):
    s.no_module()


@broken("nouveau", "driver", "cannot", "nouveau has the GPU", "blacklist nouveau", "sudo reboot")
def _(s):
    s.no_module()
    s.path("/sys/module/nouveau").mkdir(parents=True)


@broken("no libcuda", "driver", "cannot", "there is no libcuda.so.1", "libnvidia-compute-580")
def _(s):
    s.no_library()


@broken("a container without compute", "driver", "cannot", "NVIDIA_DRIVER_CAPABILITIES lacks compute",
        "NVIDIA_DRIVER_CAPABILITIES=compute,utility")  # fmt: skip
def _(s):
    s.docker()
    s.no_library()


@broken("driver updated, not rebooted", "driver", "cannot", "the driver was updated", "sudo reboot")
def _(s):
    s.driver("570.86.15", library="580.159.03")


@broken("a stub of libcuda", "driver", "cannot", "stub for linking", "unset LD_LIBRARY_PATH")
def _(s):
    s.write("/usr/local/cuda/lib64/stubs/libcuda.so.1")
    s.environment["LD_LIBRARY_PATH"] = "/usr/local/cuda/lib64/stubs"


@broken("compat older than the driver", "driver", "cannot", "older than the kernel module",
        "unset LD_LIBRARY_PATH")  # fmt: skip
def _(s):
    s.write("/usr/local/cuda/compat/libcuda.so.550.54.15")
    s.link("/usr/local/cuda/compat/libcuda.so.1", "libcuda.so.550.54.15")
    s.environment["LD_LIBRARY_PATH"] = "/usr/local/cuda/compat"


@broken("an old driver", "driver", "cannot", "470.256.02 is too old", "sudo ubuntu-drivers install")
def _(s):
    s.driver("470.256.02")


@broken("WSL without a GPU", "driver", "cannot", "Windows gives WSL no GPU", "wsl.exe --update")
def _(s):
    s.write("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")


@broken("a Linux driver in WSL", "driver", "cannot", "hides that of Windows", "sudo apt purge")
def _(s):
    s.write("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")
    s.write("/dev/dxg")
    s.write("/usr/lib/wsl/lib/libcuda.so.1")


@broken("no nvidia-uvm", "devices", "cannot", "/dev/nvidia-uvm does not exist", "nvidia-modprobe")
def _(s):
    s.remove("/dev/nvidia-uvm")


@broken("no GPU in the container", "devices", "cannot", "none of the machine's GPUs",
        "docker run --gpus all")  # fmt: skip
def _(s):
    s.docker()
    s.remove("/dev/nvidia0")


@broken("GPUs hidden", "devices", "cannot", "hides every GPU", "unset CUDA_VISIBLE_DEVICES")
def _(s):
    s.environment["CUDA_VISIBLE_DEVICES"] = ""


@broken("a GPU that does not exist", "devices", "cannot", "CUDA_VISIBLE_DEVICES=7",
        "unset CUDA_VISIBLE_DEVICES")  # fmt: skip
def _(s):
    s.environment["CUDA_VISIBLE_DEVICES"] = "7"


@broken("counters for administrators", "permission", "cannot", "neither CAP_SYS_ADMIN",
        "NVreg_RestrictProfilingToAdminUsers=0", "sudo update-initramfs -u", "sudo reboot")  # fmt: skip
def _(s):
    s.only_administrators()


@broken("counters in Docker", "permission", "cannot", "only administrators", "--cap-add=SYS_ADMIN")
def _(s):
    s.docker()
    s.only_administrators()


@broken("counters in Kubernetes", "permission", "cannot", "only administrators",
        'capabilities: {add: ["SYS_ADMIN"]}')  # fmt: skip
def _(s):
    s.environment["KUBERNETES_SERVICE_HOST"] = "10.0.0.1"
    s.only_administrators()


@broken("counters configured, not in effect", "permission", "cannot", "not in effect yet",
        "sudo dracut --force")  # fmt: skip
def _(s):
    s.only_administrators()
    s.write("/etc/os-release", 'ID="rhel"\nID_LIKE="fedora"\n')
    s.write("/etc/modprobe.d/a.conf", "options nvidia NVreg_RestrictProfilingToAdminUsers=0\n")


@broken("CUPTI newer than the driver", "cupti", "cannot", "needs driver 580 or newer",
        "export GPUPROF_CUPTI=/usr/local/cuda-12.8/extras/CUPTI/lib64/libcupti.so.12")  # fmt: skip
def _(s):
    s.driver("570.86.15")
    s.write("/usr/local/cuda-12.8/extras/CUPTI/lib64/libcupti.so.12")


@broken("CUPTI newer, and no other", "cupti", "cannot", "this one is 570.86.15",
        "pip install nvidia-cuda-cupti-cu12")  # fmt: skip
def _(s):
    s.driver("570.86.15")


@broken("CUPTI only in the toolkit", "cupti", "cannot", "do not find the toolkit's",
        "export GPUPROF_CUPTI=/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13")  # fmt: skip
def _(s):
    s.remove(OWN + "/libcupti.so.13")
    s.write("/usr/local/cuda/extras/CUPTI/lib64/libcupti.so.13")


@broken("no CUPTI", "cupti", "cannot", "no libcupti", "pip install nvidia-cuda-cupti")
def _(s):
    s.remove(OWN + "/libcupti.so.13")


@broken("GPUPROF_CUPTI wrong", "cupti", "cannot", "/gone.so, which does not exist",
        "unset GPUPROF_CUPTI")  # fmt: skip
def _(s):
    s.environment["GPUPROF_CUPTI"] = "/gone.so"


@broken("no collector in the package", "installation", "cannot", "libgpuprof_collector.so is missing",
        "pip install --force-reinstall gpuprof_cuda-*.whl")  # fmt: skip
def _(s):
    python_package(s)
    s.remove("/home/me/venv/lib/python3.12/site-packages/gpuprof_cuda/lib/gpuprof/"
             "libgpuprof_collector.so")  # fmt: skip


@broken("no collector", "installation", "cannot", "libgpuprof_collector.so is missing",
        "sudo tar xzf gpuprof-*.tar.gz -C /")  # fmt: skip
def _(s):
    s.remove(OWN + "/libgpuprof_collector.so")


@broken("noexec", "installation", "cannot", "/opt is mounted noexec", "remount,exec /opt")
def _(s):
    s.mount("/opt", "ext4", options="rw,noexec")


@broken("gpuprof of PyPI", "names", "cannot", "another Python package", "pip uninstall gpuprof")
def _(s):
    s.environment["VIRTUAL_ENV"] = "/home/me/venv"
    s.path("/home/me/venv/lib/python3.12/site-packages/gpuprof-0.7.1.dist-info").mkdir(parents=True)


@broken("gpuprof of PyPI on PATH", "names", "cannot", "gpuprof on PATH is /usr/bin/gpuprof",
        'export PATH=/opt/gpuprof/bin:"$PATH"')  # fmt: skip
def _(s):
    s.write("/usr/bin/gpuprof", "#!/usr/bin/python3\nfrom gpuprof.cli import main\nmain()\n", 0o755)


@broken("two builds of gpuprof", "names", "unknown", "this one is /opt/gpuprof/bin/gpuprof",
        "export PATH=/opt/gpuprof/bin")  # fmt: skip
def _(s):
    s.write("/usr/bin/gpuprof", elf(), 0o755)


@broken("another tool is injected", "injection", "cannot", "libother.so, another tool",
        "unset CUDA_INJECTION64_PATH")  # fmt: skip
def _(s):
    s.write("/opt/other/libother.so")
    s.environment["CUDA_INJECTION64_PATH"] = "/opt/other/libother.so"


@broken("injection of nothing", "injection", "cannot", "which does not exist",
        "unset CUDA_INJECTION64_PATH")  # fmt: skip
def _(s):
    s.environment["CUDA_INJECTION64_PATH"] = "/gone/libother.so"


@broken("a shell of nsys", "injection", "cannot", "started by Nsight", "NSYS_PROFILING_SESSION_ID")
def _(s):
    s.environment["NSYS_PROFILING_SESSION_ID"] = "42"


@broken("compute-sanitizer", "injection", "cannot", "LD_PRELOAD has NVIDIA's", "unset LD_PRELOAD")
def _(s):
    s.environment["LD_PRELOAD"] = "/gone/libsanitizer-collection.so"


@broken("dynolog", "injection", "unknown", "when dynolog asks", "unset KINETO_USE_DAEMON")
def _(s):
    s.environment["KINETO_USE_DAEMON"] = "1"


@broken("NVTX is taken", "nvtx", "cannot", "another tool", "unset NVTX_INJECTION64_PATH")
def _(s):
    s.write("/opt/other/libother.so")
    s.environment["NVTX_INJECTION64_PATH"] = "/opt/other/libother.so"


@broken("NVTX has a hook file", "nvtx", "unknown", "announces a tool",
        "rm /run/nvidia/nvtx/nvtx-cuda.yaml")  # fmt: skip
def _(s):
    s.write("/run/nvidia/nvtx/nvtx-cuda.yaml")


@broken(
    "a user's NVTX hook file", "nvtx", "unknown", "announces a tool", "rm /run/user/1000/nvidia"
)
def _(s):
    s.environment["XDG_RUNTIME_DIR"] = "/run/user/1000"
    s.write("/run/user/1000/nvidia/nvtx/nvtx-cuda.yaml")


@broken("a plug-in in NCCL", "nccl", "unknown", "NCCL_PROFILER_PLUGIN=inspector",
        "unset NCCL_PROFILER_PLUGIN")  # fmt: skip
def _(s):
    s.environment["NCCL_PROFILER_PLUGIN"] = "inspector"


@broken("a plug-in that is gone", "nccl", "cannot", "/gone.so, which does not exist",
        "unset NCCL_PROFILER_PLUGIN")  # fmt: skip
def _(s):
    s.environment["NCCL_PROFILER_PLUGIN"] = "/gone.so"


@broken("ncu measures", "profilers", "cannot", "ncu (process 31) holds the counters", "kill 31")
def _(s):
    s.running(31, "ncu")


@broken("DCGM", "profilers", "unknown", "nv-hostengine (process 32)", "dcgmi profiling --pause")
def _(s):
    s.running(32, "nv-hostengine")


@broken("nsys runs", "profilers", "unknown", "nsys (process 33)", "nsys sessions list")
def _(s):
    s.running(33, "nsys")


@broken("MPS", "mps", "cannot", "MPS is running", "echo quit | nvidia-cuda-mps-control")
def _(s):
    s.running(34, "nvidia-cuda-mps-control"[:15])


@broken("MIG", "mig", "unknown", "GPU 0 is divided", "sudo nvidia-smi -i 0 -mig 0")
def _(s):
    s.path("/proc/driver/nvidia/capabilities/gpu0/mig/gi7").mkdir(parents=True)


@broken("a virtual GPU", "virtual-gpu", "unknown", "NVIDIA A100-10C is a virtual GPU",
        "enable_profiling=1")  # fmt: skip
def _(s):
    s.gpu(0, "NVIDIA A100-10C")


@broken("gVisor", "container", "unknown", "gVisor", "--runtime=nvidia")
def _(s):
    s.docker()
    s.write("/proc/sentry-meminfo")


@broken("small /dev/shm", "shared-memory", "unknown", "/dev/shm has 64 MiB", "--shm-size=8g")
def _(s):
    s.mount("/dev/shm", "tmpfs", more="rw,size=65536k")


@broken(
    "little memory", "memory", "cannot", "the control group has 256 MiB", "--activity-buffers 16"
)
def _(s):
    s.write("/sys/fs/cgroup/user.slice/memory.max", "268435456\n")


@broken("little memory in a container", "memory", "cannot", "256 MiB of memory", "--memory=16g")
def _(s):
    s.docker()
    s.write("/sys/fs/cgroup/memory/memory.limit_in_bytes", "268435456\n")


@broken("few threads", "memory", "cannot", "room for 3 more threads, of 100", "--pids-limit=-1")
def _(s):
    s.docker()
    s.write("/sys/fs/cgroup/user.slice/pids.max", "100\n")
    s.write("/sys/fs/cgroup/user.slice/pids.current", "97\n")


@broken("ulimit -f", "limits", "cannot", "files may have 10 MiB", "ulimit -f unlimited")
def _(s):
    s.limits(files="10485760")


@broken("ulimit -n", "limits", "cannot", "may open 20 files", "ulimit -n 1024")
def _(s):
    s.limits(open="20")


@broken("ulimit -v", "limits", "cannot", "of addresses", "ulimit -v unlimited")
def _(s):
    s.limits(addresses="17179869184")


@broken(
    "ptrace forbidden", "ptrace", "unknown", "ptrace_scope 2", "sysctl kernel.yama.ptrace_scope=1"
)
def _(s):
    s.write("/proc/sys/kernel/yama/ptrace_scope", "2\n")


@broken("output on NFS", "output", "cannot", "is on nfs4 (/home)", "gpuprof -o /tmp/run.sqlite")
def _(s):
    s.mount("/home", "nfs4")


@broken("output mounted read-only", "output", "cannot", "mounted read-only", "-o /tmp/run.sqlite")
def _(s):
    s.mount("/home", "ext4", options="ro,relatime")


@broken("output in no folder", "output", "cannot", "does not exist", "mkdir -p '/home/me/new runs'")
def _(s):
    s.output = "/home/me/new runs/run.sqlite"


@broken("output on 9p", "output", "unknown", "is on 9p", "gpuprof -o /tmp/run.sqlite")
def _(s):
    s.mount("/home", "9p")


@broken("TMPDIR is gone", "temporary", "cannot", "/gone is not a folder", "unset TMPDIR")
def _(s):
    s.environment["TMPDIR"] = "/gone"


@broken("TMPDIR is long", "temporary", "cannot", "a socket in it has no name", "unset TMPDIR")
def _(s):
    s.environment["TMPDIR"] = "/tmp/" + 100 * "x"
    s.path(s.environment["TMPDIR"]).mkdir()


@broken("TMPDIR mounted read-only", "temporary", "cannot", "read-only", "unset TMPDIR")
def _(s):
    s.environment["TMPDIR"] = "/home/me"
    s.mount("/home", "ext4", options="ro")


@broken("musl", "glibc", "cannot", "this system has musl", "docker run --gpus all ubuntu")
def _(s):
    s.remove(LIBRARIES + "/libc.so.6")
    s.write("/lib/ld-musl-x86_64.so.1")


@broken("an old glibc", "glibc", "cannot", "glibc 2.17 is older", "scripts/build")
def _(s):
    s.write(LIBRARIES + "/libc.so.6", b"GNU C Library stable release version 2.17, by Roland\n")


@broken("a slow clock", "clock", "cannot", "the clock is hpet", "echo tsc | sudo tee " + CLOCK)
def _(s):
    s.write(CLOCK + "/current_clocksource", "hpet\n")


@broken("no such process", "process", "cannot", "there is no process 77", "ps -e")
def _(s):
    s.options = ["--pid", "77"]


@broken("a dead process", "process", "cannot", "has ended", "ps -o ppid= -p 77")
def _(s):
    s.process(State="Z (zombie)")


@broken("another user's process", "process", "cannot", "may not look into process 77 (python3)",
        "sudo gpuprof doctor --pid 77")  # fmt: skip
def _(s):
    s.process()
    s.remove("/proc/77/environ")


@broken("a debugged process", "process", "cannot", "process 55 (gdb) debugs", "kill 55")
def _(s):
    s.process(TracerPid="55")
    s.running(55, "gdb")


@broken("a process with an older driver", "its-driver", "cannot", "it was updated since", "kill 77")
def _(s):
    s.process([LIBRARIES + "/libcuda.so.570.86.15 (deleted)"])


@broken("two CUPTIs in a process", "its-cupti", "cannot", "2 copies, of which only one",
        "export LD_LIBRARY_PATH=/a")  # fmt: skip
def _(s):
    s.process(["/a/libcupti.so.12", "/b/libcupti.so.2025.3.1"])


@broken("CUPTI too new in a process", "its-cupti", "cannot", "needs driver 580",
        "pip install nvidia-cuda-cupti-cu12")  # fmt: skip
def _(s):
    s.driver("570.86.15")
    s.process(["/a/libcupti.so.13"])


@broken("a process with another tool", "its-injection", "cannot", "libother.so, which does not exist",
        "unset CUDA_INJECTION64_PATH")  # fmt: skip
def _(s):
    s.process(environment=b"A=b\0CUDA_INJECTION64_PATH=/opt/libother.so\0")


@broken("a process with nsys in it", "its-injection", "cannot", "libToolsInjection64.so", "kill 77")
def _(s):
    s.process(["/opt/nvidia/libToolsInjection64.so"])


@broken("a process without environment", "its-injection", "cannot", "empty environment",
        "GPUPROF_SOCKET=")  # fmt: skip
def _(s):
    s.process(environment=b"")


@broken("a process in a container without a place for files", "its-files", "cannot", "in a container without",
        "docker run --tmpfs /tmp:exec IMAGE")  # fmt: skip
def _(s):
    s.process()
    s.link("/proc/77/ns/mnt", "mnt:[2]")


@broken("a process with musl", "its-libc", "cannot", "it uses musl", "docker run --gpus all ubuntu")
def _(s):
    s.process(["/lib/ld-musl-x86_64.so.1"])


@broken("no such program", "program", "cannot", "trian was not found", "type -a trian")
def _(s):
    s.program("trian")


@broken(
    "a program that may not run",
    "program",
    "cannot",
    "may not be executed",
    "chmod +x '/home/me/my app'",
)
def _(s):
    s.write("/home/me/my app", elf())
    s.program("/home/me/my app")


@broken("a program of 32 bits", "program", "cannot", "has 32 bits", "nvcc -m64")
def _(s):
    s.write("/home/me/app", elf(bits=32), 0o755)
    s.program("/home/me/app")


@broken("a program for another processor", "program", "cannot", "another processor", "uname -m")
def _(s):
    s.write("/home/me/app", elf(machine=243), 0o755)  # RISC-V
    s.program("/home/me/app")


@broken("a static program", "program", "cannot", "statically linked", "nvcc -cudart static")
def _(s):
    s.write("/home/me/app", elf(loader=""), 0o755)
    s.program("/home/me/app")


@broken("a program with musl", "program", "cannot", "uses musl", "docker run --gpus all ubuntu")
def _(s):
    s.write("/home/me/app", elf("/lib/ld-musl-x86_64.so.1"), 0o755)
    s.program("/home/me/app")


@broken("a script from Windows", "program", "cannot", "line ends of Windows", "sed -i")
def _(s):
    s.write("/home/me/run.sh", "#!/bin/sh\r\ntrue\r\n", 0o755)
    s.program("/home/me/run.sh")


@broken("a script without its interpreter", "program", "cannot", "python2, which was not found",
        "head -1 /home/me/run.py")  # fmt: skip
def _(s):
    s.write("/home/me/run.py", "#!/usr/bin/env python2\n", 0o755)
    s.program("/home/me/run.py")


@broken("no program at all", "program", "cannot", "neither a program", "file /home/me/notes")
def _(s):
    s.write("/home/me/notes", "to do\n", 0o755)
    s.program("/home/me/notes")


@broken(
    "sudo",
    "its-start",
    "cannot",
    "sudo drops the variables",
    "sudo gpuprof -o run.sqlite ./app 'a b'",
)
def _(s):
    s.program("sudo", "./app", "a b")


@broken(
    "docker", "its-start", "cannot", "docker starts the program elsewhere", "gpuprof -o run.sqlite"
)
def _(s):
    s.program("docker", "run", "image", "./app")


@broken("env -i", "its-start", "cannot", "env -i drops", "env -i gpuprof")
def _(s):
    s.program("env", "-i", "./app")


@broken("srun without environment", "its-start", "cannot", "--export=NONE drops",
        "srun --export=ALL ./app")  # fmt: skip
def _(s):
    s.program("srun", "--export=NONE", "./app")


@broken("a setuid program", "its-privileges", "unknown", "is setuid", "cp /usr/bin/app .")
def _(s):
    s.write("/usr/bin/app", elf(), 0o4755)
    s.program("app")


SOUND = {}


def sound(change):
    SOUND[change.__name__] = change
    return change


@sound
def ubuntu(s):
    pass


@sound
def fedora_with_two_gpus_and_one_chosen(s):
    s.write("/etc/os-release", "ID=fedora\n")
    s.gpu(1, "NVIDIA H200")
    s.environment["CUDA_VISIBLE_DEVICES"] = "1"


@sound
def docker_with_permission(s):
    s.docker()
    s.only_administrators(capabilities=1 << 21)
    s.mount("/", "overlay")
    s.mount("/dev/shm", "tmpfs", more="rw,size=8388608k")


@sound
def kubernetes_with_limits_that_suffice(s):
    s.environment["KUBERNETES_SERVICE_HOST"] = "10.0.0.1"
    s.write("/sys/fs/cgroup/user.slice/memory.max", str(64 << 30) + "\n")
    s.write("/sys/fs/cgroup/user.slice/pids.max", "4096\n")
    s.write("/sys/fs/cgroup/user.slice/pids.current", "12\n")


@sound
def root_where_only_administrators_may(s):
    s.only_administrators()
    s.status(capabilities=(1 << 41) - 1, user=0)


@sound
def docker_in_wsl(s):
    s.docker()
    s.no_module()
    s.remove("/dev/nvidia0")
    s.write("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")
    s.write("/dev/dxg")


@sound
def an_older_library_of_32_bits(s):
    s.write("/etc/ld.so.conf.d/i386-linux-gnu.conf", "/usr/lib/i386-linux-gnu\n")
    s.write("/usr/lib/i386-linux-gnu/libcuda.so.550.54.15")
    s.link("/usr/lib/i386-linux-gnu/libcuda.so.1", "libcuda.so.550.54.15")


@sound
def wsl(s):
    s.no_module()
    s.no_library()
    s.remove("/dev/nvidia0")
    s.write("/proc/sys/kernel/osrelease", "5.15.167.4-microsoft-standard-WSL2\n")
    s.write("/dev/dxg")
    s.write("/usr/lib/wsl/lib/libcuda.so.1")
    s.write("/etc/ld.so.conf.d/ld.wsl.conf", "# written by WSL\n/usr/lib/wsl/lib\n")


@sound
def cuda_12(s):
    s.driver("550.54.15")
    s.remove(OWN + "/libcupti.so.13")
    s.write("/usr/local/cuda-12.8/extras/CUPTI/lib64/libcupti.so.12")
    s.write("/etc/ld.so.conf.d/cuda.conf", "/usr/local/cuda-12.8/extras/CUPTI/lib64\n")


@sound
def newer_compat_libraries(s):
    s.write("/usr/local/cuda/compat/libcuda.so.590.10.01")
    s.link("/usr/local/cuda/compat/libcuda.so.1", "libcuda.so.590.10.01")
    s.environment["LD_LIBRARY_PATH"] = "/usr/local/cuda/compat"


@sound
def python_package(s):
    packages = "/home/me/venv/lib/python3.12/site-packages"
    s.environment.update(VIRTUAL_ENV="/home/me/venv", PATH="/home/me/venv/bin:/usr/bin")
    s.write("/home/me/venv/bin/gpuprof", "#!/usr/bin/python3\nfrom gpuprof_cuda.__main__ import main\n",
            0o755)  # fmt: skip
    s.path(packages + "/gpuprof_cuda-0.1.0.dist-info").mkdir(parents=True)
    s.write(packages + "/gpuprof_cuda/__init__.py")
    s.write(packages + "/nvidia/cu13/lib/libcupti.so.13")
    shutil.copytree(s.path("/opt/gpuprof"), s.path(packages + "/gpuprof_cuda"), dirs_exist_ok=True)
    s.remove(packages + "/gpuprof_cuda/lib/gpuprof/libcupti.so.13")
    s.link("/proc/self/exe", packages + "/gpuprof_cuda/bin/gpuprof")


@sound
def debian_11_through_links(s):
    s.write("/etc/os-release", "ID=debian\n")
    s.write(LIBRARIES + "/libc.so.6", b"GNU C Library (Debian) stable release version 2.31.\n")
    s.link("/usr/local/bin/gpuprof", "../../../opt/gpuprof/bin/gpuprof")
    s.environment["PATH"] = "/usr/local/bin:/usr/bin"


@sound
def inside_a_run_of_gpuprof(s):
    for name in ("CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"):
        s.environment[name] = OWN + "/libgpuprof_collector.so"


@sound
def a_job_of_slurm(s):
    s.environment.update(SLURM_JOB_ID="7", CUDA_VISIBLE_DEVICES="GPU-5b1f", TMPDIR="/tmp/job7")
    s.path("/tmp/job7").mkdir()
    s.write("/proc/self/cgroup", "0::/system.slice/slurmstepd.scope/job_7\n")
    s.write("/sys/fs/cgroup/system.slice/slurmstepd.scope/job_7/memory.max", str(200 << 30))


@sound
def pytorch_under_gpuprof(s):
    s.process([LIBRARIES + "/libcuda.so.580.159.03", OWN + "/libcupti.so.13",
               "/home/me/nvidia/cu13/lib/libcupti.so.13", OWN + "/libgpuprof_collector.so"])  # fmt: skip


@sound
def pytorch_alone(s):
    s.process([LIBRARIES + "/libcuda.so.580.159.03", "/home/me/nvidia/cu13/lib/libcupti.so.13"])


@sound
def a_container(s):
    s.process()
    s.link("/proc/77/ns/mnt", "mnt:[2]")
    (s.path("/proc/77/root") / "tmp").mkdir(parents=True)


@sound
def a_worker_that_changed_its_title(s):
    s.process(environment=b"\0" * 400)


@sound
def a_script_of_python(s):
    s.write("/usr/bin/python3", elf(), 0o755)
    s.write("/home/me/train.py", "#!/usr/bin/env python3\n", 0o755)
    s.program("/home/me/train.py", "--lr", "1")


class Broken(DoctorTest):
    # What follows from a broken thing, and is said too.
    FOLLOWS = {
        "an old driver": {"cupti"},
        "driver updated, not rebooted": {"cupti"},
        "TMPDIR mounted read-only": {"output"},
        "CUPTI too new in a process": {"cupti"},
        "sudo": {"program"},
        "docker": {"program"},
        "env -i": {"program"},
        "srun without environment": {"program"},
    }

    def test_each_is_named_with_what_mends_it_and_nothing_else(self):
        self.assertGreaterEqual(len(BROKEN), 30)
        for name, (change, check, answer, text, types) in BROKEN.items():
            with self.subTest(name):
                system = self.system()
                change(system)
                found = self.findings(system.run(json=True))
                (finding,) = found[check]
                self.assertEqual(finding["answer"], answer, finding)
                self.assertIn(text, finding["text"])
                for words in types:
                    self.assertIn(words, "\n".join(finding["type"]))
                wrong = {n for n, fs in found.items() if any(f["answer"] == "cannot" for f in fs)}
                expected = {check} if answer == "cannot" else set()
                self.assertEqual(wrong, expected | self.FOLLOWS.get(name, set()))

    def test_text(self):
        system = self.system()
        system.only_administrators()
        lines = system.run().stdout.splitlines()
        at = next(i for i, line in enumerate(lines) if line.startswith("cannot   permission      "))
        self.assertEqual(
            lines[at + 1 : at + 4],
            [
                " " * 25 + "type: echo 'options nvidia NVreg_RestrictProfilingToAdminUsers=0' | "
                "sudo tee /etc/modprobe.d/nvidia-profiling.conf",
                " " * 31 + "sudo update-initramfs -u",
                " " * 31 + "sudo reboot",
            ],
        )
        self.assertIn(" 1 cannot, ", lines[-1])

    def test_closed_devices(self):
        system = self.system()
        for name in ("nvidia0", "nvidiactl", "nvidia-uvm"):
            system.path(f"/dev/{name}").chmod(0o600)
        for path in system.root.rglob("*"):
            if path.is_dir():
                path.chmod(0o777)
        try:
            ran = system.run(json=True, user=65534 if has_other_users() else None)
        except PermissionError:
            self.skipTest("nobody may not run the program")
        if not has_other_users():
            self.skipTest("only root can be another user")
        (finding,) = self.findings(ran)["devices"]
        self.assertIn("this user may not open /dev/nvidiactl", finding["text"])
        self.assertEqual(finding["type"], ["sudo chmod a+rw /dev/nvidia*"])


class Sound(DoctorTest):
    def test_no_false_alarm(self):
        self.assertGreaterEqual(len(SOUND), 10)
        for name, change in SOUND.items():
            with self.subTest(name):
                system = self.system()
                change(system)
                found = self.findings(system.run(json=True))
                wrong = {
                    n: fs for n, fs in found.items() if any(f["answer"] == "cannot" for f in fs)
                }
                self.assertEqual(wrong, {})

    def test_a_copy_is_not_tried(self):
        found = self.findings(self.system().run(json=True))
        for check in ("gpus", "recording", "metrics", "pm-sampling", "pc-sampling"):
            self.assertEqual([f["answer"] for f in found[check]], ["unknown"])

    def test_text(self):
        ran = self.system().run()
        lines = ran.stdout.splitlines()
        self.assertIn("ok       driver          580.159.03, " + LIBRARIES + "/libcuda.so.1", lines)
        self.assertRegex(lines[-1], rf"^\d+ ok, 0 cannot, {6 if ARM else 5} unknown$")
        self.assertEqual((ran.returncode, ran.stderr), (0, ""))


class CommandLine(DoctorTest):
    def test_the_page_lists_the_checks(self):
        page = (pathlib.Path(os.environ["GPUPROF_SOURCE"]) / "docs" / "doctor.md").read_text(
            "utf-8"
        )
        system = self.system()
        system.process()
        system.options += ["--", "true"]
        checks = json.loads(system.run(json=True).stdout)["checks"]
        rows = [f"| `{check['name']}` | {check['question']} |" for check in checks]
        self.assertEqual([x for x in page.splitlines() if x.startswith("| `")], rows)

    def test_wrong_words(self):
        for words in (["--pid", "0"], ["--pid", "x"], ["--pid", "-3"], ["extra"], ["--pids", "3"]):
            with self.subTest(words):
                ran = self.system().run(*words)
                self.assertEqual((ran.returncode, ran.stdout), (5, ""))

    def test_reader_gone_and_full(self):
        system = self.system()
        with open("/dev/full", "w", encoding="utf-8") as full:
            ran = subprocess.run([GPUPROF, "doctor"], stdout=full, stderr=subprocess.PIPE, text=True,
                                 env={**os.environ, "GPUPROF_DOCTOR_ROOT": str(system.root)},
                                 timeout=PATIENCE, check=False)  # fmt: skip
        self.assertEqual(ran.returncode, 21, ran.stderr)


if __name__ == "__main__":
    unittest.main()
