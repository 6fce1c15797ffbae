# ctest-labels: plain
"""What users install, in a root folder with only glibc for the .deb, and Python in addition for the wheel.

The .deb and the wheel are made from the build under test. Each is installed as a user would, by dpkg and
by pip, and run by chroot: there is no other library, no shell and no file of this machine.
"""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(os.environ.get("GPUPROF_BUILD") or ".")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
FAKE = BUILD / "tests" / "fake"
TOOLS = "/usr/sbin:/usr/bin:/sbin:/bin"
CAPTURE = SOURCE / "tests" / "captures" / "vector_add.gpcap"
# Of the build for Arm: Debian's packages, unpacked.
FOREIGN = SOURCE / ".aarch64" / "sysroot" if os.environ.get("GPUPROF_EMULATED") else None
PYTHON = ["python3.11-minimal", "libpython3.11-minimal", "libpython3.11-stdlib", "libffi8", "zlib1g",
          "libexpat1"]  # fmt: skip
SCRIPT = """
import gpuprof
print(len(gpuprof.open("/run.sqlite").kernels))
"""


def files_of(package):
    listed = subprocess.run(["dpkg", "-L", package], capture_output=True, text=True)
    return listed.stdout.split("\n")[:-1]


def for_arm(path):
    path = path.replace("x86_64-linux-gnu", "aarch64-linux-gnu").replace("/lib64/", "/lib/")
    return path.replace("ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1")


def make_root(root, packages):
    """A merged /usr, and the files of Debian's packages as installed on this machine; or the same for Arm."""
    for name in ("bin", "sbin", "lib", "lib64"):
        (root / "usr" / name).mkdir(parents=True)
        (root / name).symlink_to(f"usr/{name}")
    (root / "tmp").mkdir()
    (root / "dev").mkdir()
    for path in [path for package in packages for path in files_of(package)]:
        if FOREIGN:
            path = for_arm(path)
        copy = root / path.lstrip("/")
        path = f"{FOREIGN or ''}{path}"
        if os.path.isdir(path) and not os.path.islink(path):
            copy.mkdir(parents=True, exist_ok=True)
        elif os.path.lexists(path) and not os.path.lexists(copy):
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, copy, follow_symlinks=False)


@unittest.skipUnless(os.environ.get("GPUPROF_BUILD"), "GPUPROF_BUILD is not set")
@unittest.skipUnless(os.geteuid() == 0 and shutil.which("dpkg"), "takes root, and Debian's dpkg")
@unittest.skipUnless(
    BUILD.name.startswith("build-portable"), "other builds need what this system has"
)
class BareRoot(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-root-")
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.root = self.folder / "root"

    def run_there(self, *words):
        # qemu needs its own libraries, which no program for Arm can load.
        shared = "/proc /lib64 /lib/x86_64-linux-gnu" if FOREIGN else "/proc"
        inside = (
            f'for folder in {shared}; do mkdir -p "$0$folder" && mount --rbind "$folder" "$0$folder" || exit; '
            "done; exec env -i PATH=/usr/bin:/bin HOME=/tmp "
            'GPUPROF_NO_CONFIG=1 LD_LIBRARY_PATH=/fake /usr/sbin/chroot "$0" "$@"'
        )
        ran = subprocess.run(
            ["unshare", "--mount", "sh", "-c", inside, self.root, *words],
            capture_output=True, text=True, timeout=120, env={"PATH": TOOLS},
        )  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def run_gpuprof(self):
        """It loads a capture, answers, and records a program with the stand-ins for CUDA."""
        shutil.copy(CAPTURE, self.root / "run.gpcap")
        self.assertIn("gpuprof", self.run_there("gpuprof", "--version"))
        self.run_there("gpuprof", "replay", "/run.gpcap", "-q", "-o", "/run.sqlite")
        count = ["SELECT count(*) AS n FROM kernels", "--csv"]
        self.assertEqual(self.run_there("gpuprof", "query", "/run.sqlite", *count), '"n"\n10\n')
        fake = self.root / "fake"
        fake.mkdir()
        for name in ("libcuda.so.1", "libcupti.so.13", "hello"):
            shutil.copy(FAKE / name, fake / name)
        self.run_there("gpuprof", "--cupti", "/fake/libcupti.so.13", "-q", "-o", "/fake.sqlite",
                       "/fake/hello")  # fmt: skip
        self.assertNotEqual(self.run_there("gpuprof", "query", "/fake.sqlite", *count), '"n"\n0\n')

    def test_deb(self):
        make_root(self.root, ["libc6"])
        made = subprocess.run(
            [SOURCE / "scripts/package", "--build", BUILD, "--output", self.folder],
            check=True, capture_output=True, text=True)  # fmt: skip
        (deb,) = [line for line in made.stdout.splitlines() if line.endswith(".deb")]
        database = self.root / "var/lib/dpkg"
        (database / "info").mkdir(parents=True)
        (database / "updates").mkdir()
        (database / "status").touch()
        # dpkg's database there is empty, so it does not know that glibc is installed.
        force = "--force-depends,architecture" if FOREIGN else "--force-depends"
        installed = subprocess.run(
            ["dpkg", f"--root={self.root}", force, "-i", deb], capture_output=True, text=True
        )
        self.assertEqual(installed.returncode, 0, installed.stdout + installed.stderr)
        self.run_gpuprof()

    @unittest.skipUnless(files_of(PYTHON[0]), "takes Debian's Python 3.11")
    def test_wheel(self):
        make_root(self.root, ["libc6", *PYTHON])
        tree = self.folder / "tree"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", tree], check=True,
                       stdout=subprocess.DEVNULL)  # fmt: skip
        subprocess.run([sys.executable, SOURCE / "scripts/wheel", "--tree", tree, "--output",
                        self.folder], check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        (wheel,) = self.folder.glob("*.whl")
        packages = "usr/lib/python3/dist-packages"
        platform = ["--platform=manylinux_2_28_aarch64", "--only-binary=:all:"] if FOREIGN else []
        subprocess.run(
            [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check",
             "--no-deps", "--no-index", "--no-compile", *platform, "--target", self.root / packages,
             wheel],
            check=True, env={**os.environ, "PIP_ROOT_USER_ACTION": "ignore"})  # fmt: skip
        (self.root / "usr/bin/gpuprof").symlink_to(f"/{packages}/gpuprof_cuda/bin/gpuprof")
        self.run_gpuprof()
        self.assertEqual(self.run_there("python3.11", "-c", SCRIPT), "10\n")


if __name__ == "__main__":
    unittest.main()
