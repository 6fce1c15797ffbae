# ctest-labels: plain
"""The .deb and the tar.gz, unpacked where no other part of gpuprof exists."""

import os
import pathlib
import shutil
import subprocess
import tarfile
import tempfile
import unittest

BUILD = os.environ.get("GPUPROF_BUILD", "")
SOURCE = pathlib.Path(os.environ.get("GPUPROF_SOURCE") or pathlib.Path(__file__).parents[2])
LINKED_IN = {"libcli11-dev", "libiberty-dev", "libpcre2-dev", "libsqlite3-dev", "nlohmann-json3-dev",
             "zlib1g-dev"}  # fmt: skip


@unittest.skipUnless(BUILD and shutil.which("cpack"), "there is no build tree, or no cpack")
class Package(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory(prefix="gpuprof-package-")
        cls.addClassCleanup(folder.cleanup)
        cls.folder = pathlib.Path(folder.name)
        made = subprocess.run(
            [SOURCE / "scripts/package", "--build", BUILD, "--output", cls.folder / "dist"],
            check=True, capture_output=True, text=True)  # fmt: skip
        cls.archive, cls.deb = map(pathlib.Path, made.stdout.splitlines())

    def check(self, prefix):
        """The unpacked tree is complete and replays a capture."""
        program = prefix / "bin" / "gpuprof"
        self.assertIn("gpuprof", self.run_there(program, "--version"))
        capture = SOURCE / "tests" / "captures" / "vector_add.gpcap"
        self.run_there(program, "replay", capture, "-q", "-f", "-o", "run.sqlite")
        self.assertEqual(self.run_there(program, "query", "run.sqlite",
                                        "SELECT count(*) AS n FROM kernels", "--csv"),
                         '"n"\n10\n')  # fmt: skip
        script = "import gpuprof; print(len(gpuprof.open('run.sqlite').kernels))"
        self.assertEqual(self.run_there("python3", "-c", script,
                                        PYTHONPATH=prefix / "share/gpuprof/python"), "10\n")  # fmt: skip
        names = [path.relative_to(prefix).as_posix() for path in prefix.rglob("*")]
        self.assertIn("lib/gpuprof/libgpuprof_collector.so", names)
        self.assertEqual([name for name in names if "cupti.so" in name or "nvperf" in name
                          or "pcsampling" in name or "NVIDIA" in name], [])  # fmt: skip
        self.assertIn("share/man/man1/gpuprof.1", names)
        self.assertIn("share/gpuprof/LICENSE", names)
        for package in LINKED_IN:
            if os.path.exists(f"/usr/share/doc/{package}/copyright"):
                self.assertIn(f"share/gpuprof/licenses/{package}", names)

    def run_there(self, *words, **environment):
        clean = {key: value for key, value in os.environ.items() if key.startswith("GPUPROF_NO")}
        ran = subprocess.run(
            [*map(str, words)], cwd=self.folder, capture_output=True, text=True, timeout=120,
            env={**clean, "PATH": "/usr/bin:/bin", "HOME": str(self.folder), **environment},
        )  # fmt: skip
        self.assertEqual(ran.returncode, 0, ran.stdout + ran.stderr)
        return ran.stdout

    def test_archive(self):
        self.assertRegex(self.archive.name, r"^gpuprof-[\d.]+-linux-x86_64\.tar\.gz$")
        with tarfile.open(self.archive) as archive:
            self.assertEqual({member.uid for member in archive}, {0})
            archive.extractall(self.folder / "archive")
        self.check(self.folder / "archive" / self.archive.name.removesuffix(".tar.gz"))

    @unittest.skipUnless(shutil.which("dpkg-deb"), "there is no dpkg-deb")
    def test_deb(self):
        self.assertRegex(self.deb.name, r"^gpuprof_[\d.]+_amd64\.deb$")
        subprocess.run(["dpkg-deb", "-x", self.deb, self.folder / "deb"], check=True)
        self.check(self.folder / "deb" / "usr")
        self.assertTrue((self.folder / "deb/usr/share/doc/gpuprof/copyright").exists())
        version = self.run_there(self.folder / "deb/usr/bin/gpuprof", "--version")
        self.assertIn(self.field("Version"), version)
        self.assertRegex(self.field("Depends"), r"^libc6( \(>= 2\.\d+\))?$")
        self.assertRegex(self.field("Suggests"), r"^cuda-cupti-\d+-\d+, python3$")

    def field(self, name):
        return subprocess.run(["dpkg-deb", "--field", self.deb, name], check=True,
                              capture_output=True, text=True).stdout.strip()  # fmt: skip

    def test_no_build(self):
        ran = subprocess.run([SOURCE / "scripts/package", "--build", self.folder],
                             capture_output=True, text=True)  # fmt: skip
        self.assertEqual(ran.returncode, 1)
        self.assertIn("scripts/build --portable makes", ran.stderr)


if __name__ == "__main__":
    unittest.main()
