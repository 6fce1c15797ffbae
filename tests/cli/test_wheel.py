# ctest-labels: plain
"""The wheel in an environment that has only Python."""

import ctypes.util
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
CUPTI_HOST = pathlib.Path(BUILD) / "lib" / "gpuprof" / "host" / "libcupti.so.13"
PIP = (
    subprocess.run([sys.executable, "-m", "pip", "--version"], capture_output=True).returncode == 0
)


@unittest.skipUnless(pathlib.Path(BUILD).name.startswith("build-portable") and shutil.which("cmake"),
                     "there is no portable build tree, or no cmake")  # fmt: skip
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
        metrics = tree / "lib" / "gpuprof" / "metrics.catalogue"
        if CUPTI_HOST.exists() and not metrics.exists():
            subprocess.run([SOURCE / "scripts/metric_catalogue", "--cupti", CUPTI_HOST.resolve(),
                            "--output", metrics, "--chips", "TU117"],
                           check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        subprocess.run([sys.executable, SOURCE / "scripts/wheel", "--tree", tree, "--output",
                        cls.folder], check=True, stdout=subprocess.DEVNULL)  # fmt: skip
        (cls.wheel,) = cls.folder.glob("*.whl")
        cls.python = cls.environment("env", cls.wheel)

    @classmethod
    def environment(cls, name, *wheels):
        """The python of a new environment, with these installed in this order."""
        folder = cls.folder / name
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
        python = folder / "bin" / "python"
        for wheel in wheels:
            subprocess.run(
                [sys.executable, "-m", "pip", "--python", python, "install", "--quiet", "--no-deps",
                 "--no-index", "--no-compile", wheel], check=True)  # fmt: skip
        return python

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
            self.assertEqual(wheel.read(entries), b"[pytest11]\ngpuprof = gpuprof_cuda._pytest\n")
        self.assertIn("gpuprof_cuda/lib/gpuprof/libgpuprof.so", names)
        self.assertIn("gpuprof_cuda/py.typed", names)
        self.assertIn("gpuprof/py.typed", names)
        self.assertIn("gpuprof_cuda/_cluster/command.py", names)
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
        # A process that records itself, using only the wheel's files.
        script = (
            f"import ctypes; cuda = ctypes.CDLL({str(FAKE / 'libcuda.so.1')!r}); import gpuprof\n"
            "with gpuprof.trace('own.sqlite') as t:\n"
            "    cuda.fake_launch(b'kernel', 3)\n"
            "print(len(t.run.kernels))"
        )
        self.assertEqual(self.run_there(self.python, "-c", script).stdout, "3\n")

    @unittest.skipUnless(CUPTI_HOST.exists(), "scripts/setup gets the libcupti that answers")
    @unittest.skipIf(ctypes.util.find_library("cuda"), "there is a driver")
    def test_metrics_of_chips_are_known_without_a_driver(self):
        program = self.python.parent / "gpuprof"
        listed = self.run_there(program, "--query-metrics", "--chip", "TU117").stdout
        self.assertIn("        ipc:  ", listed)
        self.assertIn("dram__bytes_read:  # of bytes read from DRAM (counter, dram, byte)", listed)
        script = (
            "from gpuprof_cuda import profiler_host as h\n"
            "assert 'TU117' in h.get_supported_chips()\n"
            "with h.ProfilerHost('TU117', h.ProfilerType.RANGE_PROFILER) as host:\n"
            "    assert 'dram__bytes_read' in host.get_base_metrics(h.MetricType.COUNTER)\n"
            "    assert host.get_metric_properties('dram__bytes_read.sum').hw_unit == 'dram'\n"
            "    assert '.sum' in host.get_sub_metrics('dram__bytes_read', h.MetricType.COUNTER)\n"
            "try:\n"
            "    h.get_single_pass_sets('TU117')\n"
            "except RuntimeError as error:\n"
            "    print(error)\n"
        )
        self.assertRegex(
            self.run_there(self.python, "-c", script).stdout,
            "^no CUPTI here can say which sets .* CUPTI up to 13.1 answers: pip install",
        )

    def stranger(self):
        """A wheel of another program that also has the command and the module gpuprof."""
        path = self.folder / "gpuprof-0.7.1-py3-none-any.whl"
        info = "gpuprof-0.7.1.dist-info"
        with zipfile.ZipFile(path, "w") as wheel:
            for name, text in (
                ("gpuprof/__init__.py", "theirs = True\n"),
                ("gpuprof/plot.py", "theirs = True\n"),
                ("gpuprof-0.7.1.data/scripts/gpuprof", "#!python\nprint('theirs')\n"),
                (f"{info}/METADATA", "Metadata-Version: 2.1\nName: gpuprof\nVersion: 0.7.1\n"),
                (f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n"),
                (f"{info}/RECORD", ""),
            ):
                entry = zipfile.ZipInfo(name)
                entry.external_attr = (0o100755 if "scripts" in name else 0o100644) << 16
                wheel.writestr(entry, text)
        return path

    BOTH_NAMES = """
import gpuprof, gpuprof.plot, gpuprof_cuda, gpuprof_cuda.plot, pickle, sys
from gpuprof.pm_sampling import CounterData
from gpuprof_cuda import pm_sampling
assert gpuprof is gpuprof_cuda and gpuprof.plot is gpuprof_cuda.plot is sys.modules["gpuprof.plot"]
assert CounterData is pm_sampling.CounterData and CounterData.__module__ == "gpuprof_cuda.pm_sampling"
assert gpuprof.plot.__spec__.name == "gpuprof_cuda.plot", gpuprof.plot.__spec__
assert pickle.loads(b"cgpuprof._counter_data\\nSample\\n.") is pm_sampling.Sample  # of an older gpuprof
try:
    import gpuprof.nothing
except ModuleNotFoundError as error:
    assert "gpuprof.nothing" in str(error)
else:
    raise AssertionError
"""

    def check_own_names(self, python):
        """What nothing overwrites: all of gpuprof under its long name."""
        capture = SOURCE / "tests" / "captures" / "vector_add.gpcap"
        command = python.parent / "gpuprof-cuda"
        self.run_there(command, "replay", capture, "-q", "-f", "-o", "both.sqlite")
        version = self.run_there(command, "--version").stdout
        self.assertEqual(self.run_there(python, "-m", "gpuprof_cuda", "--version").stdout, version)
        script = (
            "import pickle, gpuprof_cuda, gpuprof_cuda.plot\n"
            "from gpuprof_cuda.pm_sampling import Sample\n"
            "assert pickle.loads(pickle.dumps(Sample(1, 2, [3.0]))) == Sample(1, 2, [3.0])\n"
            "gpuprof_cuda.bench, gpuprof_cuda.measure, gpuprof_cuda.range, gpuprof_cuda.load_ipython_extension\n"
            "print(len(gpuprof_cuda.open('both.sqlite').kernels))\n"
        )
        self.assertEqual(self.run_there(python, "-c", script).stdout, "10\n")
        return version

    def test_short_name(self):
        version = self.check_own_names(self.python)
        self.run_there(self.python, "-c", self.BOTH_NAMES)
        self.assertEqual(self.run_there(self.python, "-m", "gpuprof", "--version").stdout, version)

    def test_another_gpuprof_is_installed_later(self):
        python = self.environment("later", self.wheel, self.stranger())
        self.check_own_names(python)
        self.assertEqual(self.run_there(python.parent / "gpuprof").stdout, "theirs\n")
        script = (
            "import gpuprof_cuda, gpuprof, gpuprof.plot; print(gpuprof.theirs, gpuprof.plot.theirs)"
        )
        self.assertEqual(self.run_there(python, "-c", script).stdout, "True True\n")

    def test_another_gpuprof_is_installed_before(self):
        python = self.environment("before", self.stranger(), self.wheel)
        version = self.check_own_names(python)
        self.run_there(python, "-c", self.BOTH_NAMES)
        self.assertEqual(self.run_there(python.parent / "gpuprof", "--version").stdout, version)


if __name__ == "__main__":
    unittest.main()
