"""What the build for Arm writes equals what that for x86-64 writes, and what it refuses, it says.

GPUPROF is the program for Arm, which qemu emulates; GPUPROF_NATIVE that of this machine, of the same commit."""

import os
import pathlib
import subprocess
import sys
import tarfile
import tempfile
import unittest
import zipfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "cli"))
from fake_run import GPUPROF, FakeTest  # noqa: E402

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1] / "support"))
from scripts import load_script  # noqa: E402

TESTS = pathlib.Path(__file__).resolve().parents[1]
SOURCE = TESTS.parent
NATIVE = os.environ.get("GPUPROF_NATIVE", "")
AARCH64 = 183  # EM_AARCH64

make_expected = load_script(TESTS / "captures" / "make_expected")


def machine_of(header):
    return int.from_bytes(header[18:20], "little")


def bytes_of(profile):
    """Without SQLite's two counts of transactions, which depend on how fast the file was written."""
    content = bytearray(profile.read_bytes())
    content[24:28] = content[92:96] = bytes(4)
    return content


def output_of(*words):
    return subprocess.run([*map(str, words)], check=True, capture_output=True).stdout


@unittest.skipUnless(NATIVE, "GPUPROF_NATIVE is not set")
class Equal(FakeTest):
    def replayed(self, capture):
        """The profiles that both make of a capture."""
        profiles = []
        for name, program in (("arm", GPUPROF), ("native", NATIVE)):
            profile = self.folder / f"{name}-{capture.stem}.sqlite"
            output_of(program, "replay", "-q", "-f", "-o", profile, capture)
            profiles.append(profile)
        return profiles

    def assert_same_profiles(self, capture):
        arm, native = self.replayed(capture)
        self.assertTrue(bytes_of(arm) == bytes_of(native), capture.name)
        words = ("report", "--markdown", "-")
        self.assertEqual(output_of(GPUPROF, *words, native), output_of(NATIVE, *words, native))

    def test_profiles_of_recorded_captures_have_the_same_bytes(self):
        captures = list(make_expected.captures())
        self.assertGreater(len(captures), 10)
        for capture in captures:
            with self.subTest(capture=capture.name):
                self.assert_same_profiles(capture)

    def test_a_capture_made_on_arm_is_read_on_x86(self):
        capture = self.folder / "made.gpcap"
        for program in ("hello", "nvtx"):
            self.profile(program, 10, options=["-f", "--save-capture", capture], check=0)
            database = self.database()
            arm, native = self.replayed(capture)
            self.assertTrue(bytes_of(arm) == bytes_of(native))
            tables = "SELECT count(*) FROM CUPTI_ACTIVITY_KIND_{}"
            for kind in ("RUNTIME", "CONCURRENT_KERNEL", "MARKER"):
                here = self.database(native).one(tables.format(kind))
                self.assertEqual(here, database.one(tables.format(kind)))
            database.close()


class Arm(FakeTest):
    def test_programs_are_for_arm(self):
        folder = pathlib.Path(GPUPROF).parents[1] / "lib" / "gpuprof"
        names = ["libgpuprof.so", "libgpuprof_collector.so", "gpuprof-salvage", "gpuprof-sampler", "gpuprof-probe",
                 "libcupti.so.13", "libnvperf_host.so", "host/libcupti.so.13"]  # fmt: skip
        for path in (pathlib.Path(GPUPROF), *(folder / name for name in names)):
            with path.open("rb") as file:
                self.assertEqual(machine_of(file.read(20)), AARCH64, path)

    def test_attach_is_refused(self):
        run = subprocess.run(
            [GPUPROF, "attach", str(os.getpid()), "-o", self.output], capture_output=True, text=True
        )
        self.assertEqual(run.returncode, 13)
        self.assertIn("that works on x86-64 alone", run.stderr)
        self.assertIn("start the program with gpuprof", run.stderr)

    def test_doctor_says_where_it_was_tested(self):
        run = subprocess.run([GPUPROF, "doctor"], capture_output=True, text=True, cwd=self.folder)
        self.assertIn("built and tested under emulation, not on a real Grace", run.stdout)

    def test_nvidias_libraries_list_the_same_metrics(self):
        """So the packages for Arm may have the list that the library for x86-64 gave."""
        lists = []
        for name, python, library in (
            (
                "arm",
                SOURCE / ".aarch64/sysroot/usr/bin/python3",
                SOURCE / ".aarch64/host/lib/libcupti.so.13",
            ),
            ("native", sys.executable, SOURCE / ".cuda/host/lib/libcupti.so.13"),
        ):
            listed = self.folder / name
            output_of(python, SOURCE / "scripts/metric_catalogue", "--cupti", library, "--output", listed,
                      "--chips", "GH100")  # fmt: skip
            lists.append(listed.read_text(encoding="utf-8"))
        self.assertGreater(lists[0].count("\nmetric\t"), 1000)
        self.assertTrue(lists[0] == lists[1])


class Packages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-arm-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)

    def test_wheel(self):
        output_of(SOURCE / "scripts/wheel", "--arch", "aarch64", "--output", self.folder)
        (wheel,) = self.folder.glob("*-py3-none-manylinux_2_28_aarch64.whl")
        with zipfile.ZipFile(wheel) as content:
            for name in ("bin/gpuprof", "lib/gpuprof/libgpuprof.so"):
                self.assertEqual(machine_of(content.read("gpuprof_cuda/" + name)), AARCH64)
            content.extractall(self.folder / "site")
        # Where pip installs, it makes this executable.
        script = "import gpuprof_cuda as g; print(len(g.open('run.sqlite').kernels))"
        (self.folder / "site/gpuprof_cuda/bin/gpuprof").chmod(0o755)
        capture = TESTS / "captures" / "vector_add.gpcap"
        profile = self.folder / "run.sqlite"
        output_of(
            self.folder / "site/gpuprof_cuda/bin/gpuprof", "replay", "-q", "-o", profile, capture
        )
        ran = subprocess.run([SOURCE / ".aarch64/sysroot/usr/bin/python3", "-c", script], check=True, capture_output=True,
                             cwd=self.folder, env={**os.environ, "PYTHONPATH": str(self.folder / "site")})  # fmt: skip
        self.assertEqual(ran.stdout, b"10\n")

    def test_deb_and_archive(self):
        output_of(SOURCE / "scripts/package", "--arch", "aarch64", "--output", self.folder)
        (deb,) = self.folder.glob("gpuprof_*_arm64.deb")
        self.assertEqual(output_of("dpkg-deb", "--field", deb, "Architecture"), b"arm64\n")
        (archive,) = self.folder.glob("gpuprof-*-linux-aarch64.tar.gz")
        with tarfile.open(archive) as content:
            (program,) = (name for name in content.getnames() if name.endswith("/bin/gpuprof"))
            self.assertEqual(machine_of(content.extractfile(program).read(20)), AARCH64)


if __name__ == "__main__":
    unittest.main()
