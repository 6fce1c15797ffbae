# ctest-labels: plain
"""The wheel in an environment that has nothing but Python."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest
import zipfile

BUILD = os.environ.get("GPUPROF_BUILD", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
FAKE = pathlib.Path(BUILD) / "tests" / "fake"
PIP = (
    subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0
)


@unittest.skipUnless(BUILD and shutil.which("cmake"), "there is no build tree, or no cmake")
@unittest.skipUnless(PIP and shutil.which("readelf"), "there is no pip, or no readelf")
class Wheel(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-wheel-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        tree = cls.folder / "tree"
        subprocess.run(["cmake", "--install", BUILD, "--prefix", tree],
                       check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        subprocess.run([sys.executable, SOURCE / "scripts/wheel", "--tree", tree, "--output",
                        cls.folder], check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        (cls.wheel,) = cls.folder.glob("*.whl")
        subprocess.run(
            [sys.executable, "-m", "venv", "--without-pip", cls.folder / "env"], check=True
        )
        cls.python = cls.folder / "env" / "bin" / "python"
        subprocess.run(
            [sys.executable, "-m", "pip", "--python", cls.python, "install", "--quiet", "--no-deps",
             "--no-index", "--no-compile", cls.wheel], check=True)  # fmt: skip

    def run_there(self, *words, **environment):
        clean = {key: value for key, value in os.environ.items() if key.startswith("GPUPROF_NO")}
        ran = subprocess.run(
            [*map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=120,
            env={**clean, "PATH": str(self.python.parent), "HOME": str(self.folder), **environment},
        )  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran

    def test_what_is_in_it(self):
        self.assertRegex(
            self.wheel.name, r"^gpuprof_cuda-[\d.]+-py3-none-manylinux_2_\d+_x86_64\.whl$"
        )
        with zipfile.ZipFile(self.wheel) as wheel:
            names = wheel.namelist()
            (metadata,) = [name for name in names if name.endswith("/METADATA")]
            self.assertIn(b"Requires-Dist: nvidia-cuda-cupti", wheel.read(metadata))
            (entries,) = [name for name in names if name.endswith("/entry_points.txt")]
            self.assertEqual(wheel.read(entries), b"[pytest11]\ngpuprof = gpuprof._pytest\n")
        self.assertIn("gpuprof/lib/gpuprof/libgpuprof.so", names)
        self.assertIn("gpuprof/py.typed", names)
        self.assertEqual([name for name in names if "cupti.so" in name or "nvperf" in name], [])

    def test_program_and_package(self):
        program = self.python.parent / "gpuprof"
        self.assertIn("gpuprof", self.run_there(program, "--version").stdout)
        capture = SOURCE / "tests" / "captures" / "vector_add.gpcap"
        self.run_there(program, "replay", capture, "-q", "-f", "-o", "run.sqlite")
        script = "import gpuprof; print(len(gpuprof.open('run.sqlite').kernels))"
        self.assertEqual(self.run_there(self.python, "-c", script).stdout, "10\n")
        self.assertEqual(self.run_there(program, "query", "run.sqlite",
                                        "SELECT count(*) AS n FROM kernels", "--csv").stdout,
                         '"n"\n10\n')  # fmt: skip

    @unittest.skipUnless((FAKE / "libcupti.so.13").exists(), "there are no stand-ins")
    def test_cupti_of_the_package_beside_it_is_found(self):
        (packages,) = self.folder.glob("env/lib/python*/site-packages")
        place = packages / "nvidia" / "cu13" / "lib"
        place.mkdir(parents=True)
        shutil.copy(FAKE / "libcupti.so.13", place)
        self.run_there(self.python.parent / "gpuprof", "-q", "-f", "-o", "fake.sqlite",
                       FAKE / "hello")  # fmt: skip
        script = "import gpuprof; print(len(gpuprof.open('fake.sqlite').kernels) > 0)"
        self.assertEqual(self.run_there(self.python, "-c", script).stdout, "True\n")
        # A process that records itself, with what the wheel brought.
        script = (
            f"import ctypes; cuda = ctypes.CDLL({str(FAKE / 'libcuda.so.1')!r}); import gpuprof\n"
            "with gpuprof.trace('own.sqlite') as t:\n"
            "    cuda.fake_launch(b'kernel', 3)\n"
            "print(len(t.run.kernels))"
        )
        self.assertEqual(self.run_there(self.python, "-c", script).stdout, "3\n")


if __name__ == "__main__":
    unittest.main()
